"""`--help` of each command: there at once, complete, and without what the command itself needs. So is a mistake in its
command line."""

import re
import subprocess
import sys
from contextlib import nullcontext

import pytest

from wikianchor.__main__ import main
from wikianchor.pipelines.cli.commands import COMMANDS
from wikianchor.pipelines.cli.commands import TRAINER as TRAINER_COMMANDS

WORDS = [[], *([name] for name in (*COMMANDS, *TRAINER_COMMANDS)), ["train", "ease"], ["train", "mboe"]]
WORDS += [["papers", "tables", "table1"]]
WIKIANCHOR = [[sys.executable, "-m", "wikianchor", *words] for words in WORDS]
# Each takes longer to import than all the help there is to print.
HEAVY = {
    *("apache_beam", "numpy", "pyarrow", "requests", "scipy", "sklearn", "matplotlib"),
    *("torch", "transformers", "spacy", "ginza", "datasets", "mteb"),
}


def run(command: list[str]) -> tuple[int, str, list[str], set[str]]:
    """Return the exit status of a command, what it prints, what it says besides, and the modules that it imports."""
    python, *rest = command
    ended = subprocess.run([python, "-X", "importtime", *rest], capture_output=True, text=True)
    lines = ended.stderr.splitlines()
    imported = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    assert "argparse" in imported
    return ended.returncode, ended.stdout, [line for line in lines if not line.startswith("import time:")], imported


@pytest.mark.parametrize("command", WIKIANCHOR, ids=lambda command: " ".join(command[2:]))
def test_help_is_there_without_what_the_command_needs(command: list[str]) -> None:
    status, printed, said, imported = run([*command, "--help"])
    assert (status, said) == (0, [])
    assert printed.startswith("usage: ")
    assert imported & HEAVY == set()


MISTAKES = [
    *([name] for name in COMMANDS if name not in ("demo", "doctor")),
    ["demo", "--output="],
    ["doctor", "--nosuch=x"],
    ["download", "--wikis=zzz1", "--output=dumps"],
    ["build", "--dumps=dumps", "--wikis=zzz1", "--output=out"],
    ["sentences", "--dumps=nosuch.bz2", "--output=out"],
    ["entities", "--wikis=enwiki", "--wikidata=nosuch.json", "--output=out"],
    ["pairs", "--sentences=s", "--entities=e", "--output=out", "--sample=-1"],
    ["corpus", "--input=nosuch.txt", "--output=out"],
    ["mewsc16", "--dumps=nosuch.bz2", "--output=out"],
]


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_a_mistake_is_told_without_what_the_command_needs(words: list[str]) -> None:
    status, printed, said, imported = run([sys.executable, "-m", "wikianchor", *words])
    assert status in (1, 2)
    assert printed == ""
    assert [line.partition(" ")[0] for line in said] == ["wikianchor:"]
    assert imported & HEAVY == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_each_flag_is_explained(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    flags = re.findall(r"^  (-\S.*(?:\n {10,}\S.*)?)$", text, re.MULTILINE)
    assert len(flags) >= 2
    assert [flag for flag in flags if not re.search(r"\S(?:  +|\n +)\S", flag)] == []
    assert re.search(rf"examples?:\s+wikianchor {name}", text)


@pytest.mark.parametrize(
    "words", [["train"], ["train", "eas"], ["train", "ease", "--nosuch=x"], ["evaluate"]], ids=" ".join
)
def test_a_mistake_in_the_trainers_flags_is_told_without_torch(words: list[str]) -> None:
    status, printed, said, imported = run([sys.executable, "-m", "wikianchor", *words])
    assert (status, printed) == (2, "")
    assert said[-1].startswith(("trainer: ", "evaluate: "))
    assert imported & HEAVY == set()


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["train", "ease", "--data=x", "--model=y", "--output=z"], "train"),
        (["evaluate", "--model=x", f"--sts={__file__}"], "train,eval"),
        (["mteb", "--data=x", "--output=y"], "mteb"),
        (["papers", "tables", "table1", "--data=x", "--output=y", "--evaluation=z"], "train,eval"),
    ],
)
def test_without_torch_the_extra_is_named(
    words: list[str], extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("wikianchor.trainer.command.find_spec", lambda name: None if name == "torch" else name)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == f"trainer: needs torch: pip install 'wikianchor[{extra}]'"


@pytest.mark.parametrize("words", [[], ["build"], ["extract"], ["verify"], ["completion"]], ids=" ".join)
def test_help_fits_the_terminal(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) if words else nullcontext():
        main([*words, "--help"])
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


def test_the_overview_names_all_commands() -> None:
    _, printed, _, _ = run([sys.executable, "-m", "wikianchor", "--help"])
    names = re.findall(r"^  (\w+) ", printed, re.MULTILINE)
    assert names == [*COMMANDS, *TRAINER_COMMANDS]
    status, _, said, _ = run([sys.executable, "-m", "wikianchor", "nosuch"])
    assert (status, said[0]) == (2, "wikianchor: no command 'nosuch': see wikianchor --help")
