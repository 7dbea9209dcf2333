"""`wikianchor completion bash` and `wikianchor completion zsh`: a script that completes commands and options.

    source <(wikianchor completion bash)

in ~/.bashrc, or with zsh in ~/.zshrc after `compinit`. The script is written from the declarations of the options, and
runs nothing of wikianchor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wikianchor.io.options import Option, declared, option, program, read_options
from wikianchor.pipelines.cli.commands import COMMANDS, SUMMARIES, TRAINER
from wikianchor.pipelines.engine.flags import EngineFlags
from wikianchor.trainer.options import OBJECTIVES

SHELLS = ("bash", "zsh")
# `train` has options by objective.
_COMMANDS = (
    *(name for name in (*COMMANDS, *TRAINER) if name != "train"),
    *(f"train {objective}" for objective in OBJECTIVES),
)
BASH = """\
_wikianchor() {
    local current=$2 before=$3 flag= words= command=${COMP_WORDS[1]}
    COMPREPLY=()
    # Bash takes the = after a flag for a word.
    if [[ $current == = ]]; then current= flag=$before
    elif [[ $before == = ]]; then flag=${COMP_WORDS[COMP_CWORD-2]}
    fi
    [[ $command == train && $COMP_CWORD -gt 2 ]] && command="train ${COMP_WORDS[2]}"
    [[ $COMP_CWORD == 1 ]] && command=
    case "$command $flag" in
%s
    esac
    if [[ $words ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    else
        compopt -o filenames
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}
complete -F _wikianchor wikianchor
"""
ZSH = """\
#compdef wikianchor
_wikianchor() {
    local command=
    while (( CURRENT > 2 )) && [[ $command == '' || $command == train ]]; do
        command="${command:+$command }$words[2]"
        shift words
        (( CURRENT-- ))
    done
    case $command in
%s
    esac
}
compdef _wikianchor wikianchor
"""


@dataclass(frozen=True, kw_only=True)
class CompletionOptions:
    """Options of the command."""

    shell: str = option(positional=True, choices=SHELLS, help="the shell that reads the script")


def parse(argv: Sequence[str]) -> CompletionOptions:
    """Return the options of a command line."""
    return read_options(
        CompletionOptions, program("wikianchor completion", __doc__ or "", CompletionOptions).parse_args(argv)
    )


def main(argv: Sequence[str]) -> int:
    """Print the script, and return the exit status."""
    print({"bash": bash, "zsh": zsh}[parse(argv).shell](), end="")
    return 0


def options_of(name: str) -> list[Option]:
    """Return the options of a command, or of "train OBJECTIVE"."""
    if command := COMMANDS.get(name):
        return [*command.declared, *(declared(EngineFlags) if command.is_pipeline else ())]
    return declared(TRAINER[name].options if name in TRAINER else OBJECTIVES[name.removeprefix("train ")])


def _values(declaration: Option) -> tuple[str, ...]:
    """Return the values among which an option chooses."""
    return tuple(declaration.presets or declaration.choices)


def bash() -> str:
    """Return the script for bash."""
    cases = {" ": " ".join([*COMMANDS, *TRAINER]), "train ": " ".join(OBJECTIVES)}
    for name in _COMMANDS:
        words = ["--help"]
        for declaration in options_of(name):
            values = _values(declaration)
            if declaration.positional:
                words += values
                continue
            words.append(f"--{declaration.flag}{'' if declaration.kind is bool else '='}")
            if values:
                cases[f"{name} --{declaration.flag}"] = " ".join(values)
        cases[f"{name} "] = " ".join(words)
    return BASH % "\n".join(
        f"        {case.replace(' ', chr(92) + ' ')}) words='{words}' ;;" for case, words in cases.items()
    )


def zsh() -> str:
    """Return the script for zsh."""
    cases = {"''": _described(SUMMARIES), "train": _described(dict.fromkeys(OBJECTIVES, "an objective"))}
    for name in _COMMANDS:
        specs = [_specification(declaration) for declaration in options_of(name)]
        cases[name.replace(" ", "\\ ")] = " \\\n            ".join(["_arguments", *specs, "'--help[all options]'"])
    return ZSH % "\n".join(f"    {case}) {body} ;;" for case, body in cases.items())


def _described(values: dict[str, Any]) -> str:
    items = " ".join(_quoted(f"{name}:{about}") for name, about in values.items())
    return f"local -a values=({items}); _describe value values"


def _specification(declaration: Option) -> str:
    """Return an option as `_arguments` of zsh takes it."""
    about = declaration.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    values = f"({' '.join(_values(declaration))})" if _values(declaration) else "_files"
    if declaration.positional:
        return _quoted(f"*:{declaration.name}:{values}")
    if declaration.kind is bool:
        return _quoted(f"--{declaration.flag}[{about}]")
    return _quoted(f"*--{declaration.flag}=[{about}]:{declaration.name}:{values}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
