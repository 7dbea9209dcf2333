"""Print how large and how plain the code is, and fail where a bound of `budget.toml` does not hold (`make lint`).

python -m tools.budget                          # every measure, for the whole tree
python -m tools.budget pipelines/mewsc16        # for one folder, without bounds
python -m tools.budget --list fragments tests   # each place of one measure
"""

from __future__ import annotations

import argparse
import ast
import gc
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from wikianchor.io.config_file import tomllib

BOUNDS = Path(__file__).with_name("budget.toml")
# Names that say nothing of what they hold.
_VAGUE = frozenset(["found", "lot", "one", "own", "place", "pulse", "room", "told", "what"])
# A description that begins with a preposition only reads on from the name before it, as "config: of the dataset".
_FRAGMENT = re.compile(
    r"(about|above|after|at|before|below|beside|between|by|for|from|in|into|of|on|over|than|to|under|with|within|"
    r"without)\b"
)
_ENTRY = re.compile(r"\s+\*{0,2}(?P<names>\w+(?:, \*{0,2}\w+)*): (?P<text>.+)")
_RUST_STRING = re.compile(r'(?<![\w\\\'])b?"((?:[^"\\\n]|\\.)*)"')
# What the options of a command are called where they are read, and the modules that declare them.
_OPTIONS = frozenset(["config", "options", "flags", "choices"])
_OPTION_MODULES = frozenset(["options", "option_groups", "config"])
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# Shorter literals are punctuation of wikitext and of messages.
_WORD = re.compile(r"[A-Za-z]{2}")


class Place(NamedTuple):
    """Where something was counted.

    Attributes:
        file: its path.
        line: number of the line.
        text: what is there.
    """

    file: str
    line: int
    text: str


def main() -> int:
    """Print the measures and return the exit status."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("folders", nargs="*", help="paths that files begin with (all)")
    flags.add_argument("--list", metavar="MEASURE", help="print each place of a measure")
    arguments = flags.parse_args()
    # Syntax trees of all files are kept: the collector would look through them again and again.
    gc.disable()
    files = tracked(arguments.folders)
    if arguments.list:
        print(
            "\n".join(f"{counted.file}:{counted.line}: {counted.text}" for counted in MEASURES[arguments.list](files))
        )
        return 0
    bounds = {} if arguments.folders else tomllib.loads(BOUNDS.read_text("utf-8"))["at_most"]
    lines, status = judge({name: sum(1 for _ in measure(files)) for name, measure in MEASURES.items()}, bounds)
    print("\n".join(lines))
    return status


def judge(counts: Mapping[str, int], bounds: Mapping[str, int]) -> tuple[list[str], int]:
    """Return the lines to print, and the exit status: 1 if a count is above its bound.

    >>> judge({"statements": 7, "options": 2}, {"statements": 6})
    (['statements: 7 (at most 6): TOO MANY', 'options: 2'], 1)
    """
    missed = {name for name, count in counts.items() if count > bounds.get(name, count)}
    notes = {name: f" (at most {bound}){': TOO MANY' if name in missed else ''}" for name, bound in bounds.items()}
    return [f"{name}: {count}{notes.get(name, '')}" for name, count in counts.items()], int(bool(missed))


def tracked(folders: Iterable[str]) -> list[str]:
    """Return the files of the checkout whose paths begin with one of these, without symbolic links."""
    listed = subprocess.run(["git", "ls-files", *folders], capture_output=True, text=True, check=True).stdout
    return [name for name in listed.splitlines() if os.path.isfile(name) and not os.path.islink(name)]


def statements(files: Iterable[str]) -> Iterator[Place]:
    """Yield the statements of Python outside tests and demo, docstrings not among them."""
    for name, node in _nodes_of(files, ast.stmt, tests=False):
        if not _is_docstring(node):
            yield Place(name, node.lineno, type(node).__name__)


def shared_words(files: Iterable[str]) -> Iterator[Place]:
    """Yield the string literals of the core that stand in Python too: facts that are written twice."""
    sources = tracked(["pipelines/wikimedia", "pipelines/text", "pipelines/sentences"])
    python = {node.value for _, node in _nodes_of(sources, ast.Constant, tests=False) if isinstance(node.value, str)}
    seen = set()
    for name in files:
        if not name.startswith("core/engine/src/") or not name.endswith(".rs"):
            continue
        for number, line in enumerate(_rust_code(name), 1):
            for match in _RUST_STRING.finditer(line):
                word = match[1]
                if word not in seen and _WORD.search(word) and word in python:
                    seen.add(word)
                    yield Place(name, number, word)


def options(files: Iterable[str]) -> Iterator[Place]:
    """Yield the declarations of options: `option(...)` and `add_argument("--...")`, outside tests and benchmarks."""
    for name, node in _nodes_of(files, ast.Call, tests=False):
        if name.startswith("benchmarks/"):
            continue
        function = _last_name(node.func)
        if function == "option" or (function == "add_argument" and name.split("/")[0] not in ("tools", "docker")):
            yield Place(name, node.lineno, ast.unparse(node)[:60])


def option_files(files: Iterable[str]) -> Iterator[Place]:
    """Yield the options that stand in more than four files outside tests and docs: as a field of the options of a
    command, which have modules of their own, or as an attribute of these options. A table, or a parameter of another
    library, may have the name of an option by chance."""
    where: dict[str, set[str]] = defaultdict(set)
    sources = tracked(["pipelines", "trainer", "wikianchor"])
    for name, attribute in _nodes_of(sources, ast.Attribute, tests=False):
        if _last_name(attribute.value).lstrip("_") in _OPTIONS:
            where[attribute.attr].add(name)
    for name, field in _nodes_of(sources, ast.AnnAssign, tests=False):
        if Path(name).stem in _OPTION_MODULES:
            where[_last_name(field.target)].add(name)
    for name, field in _nodes_of(files, ast.AnnAssign, tests=False):
        # An option of a pipeline is another one than that of the trainer with its name; both sides share some groups.
        side, option = name.partition("/")[0].removeprefix("wikianchor"), _last_name(field.target)
        users = sorted(user for user in where[option] if user.startswith(side))
        # Words such as `output` are the names of many options.
        if _last_name(getattr(field.value, "func", None)) == "option" and len(users) > 4 and "_" in option:
            yield Place(name, field.lineno, f"{option}: {len(users)} files: {' '.join(users)}")


def positional(files: Iterable[str]) -> Iterator[Place]:
    """Yield the calls with six or more positional arguments, outside tests."""
    for name, node in _nodes_of(files, ast.Call, tests=False):
        if len(node.args) >= 6 and not any(isinstance(argument, ast.Starred) for argument in node.args):
            yield Place(name, node.lineno, ast.unparse(node)[:100])


def booleans(files: Iterable[str]) -> Iterator[Place]:
    """Yield the positional arguments that are a bare True or False, outside tests."""
    for name, node in _nodes_of(files, ast.Call, tests=False):
        for argument in node.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, bool):
                yield Place(name, node.lineno, ast.unparse(node)[:100])


def fragments(files: Iterable[str]) -> Iterator[Place]:
    """Yield the entries of `Args` and `Attributes` that begin with no noun, as "config: of the dataset"."""
    for entry in entries(files):
        if _FRAGMENT.match(entry.text.partition(": ")[2]):
            yield entry


def entries(files: Iterable[str]) -> Iterator[Place]:
    """Yield all entries of `Args` and `Attributes`."""
    for name, node in _nodes_of(files, _DOCUMENTED, tests=None):
        section, indent = "", 0
        for number, line in enumerate((ast.get_docstring(node, clean=False) or "").splitlines()):
            if re.fullmatch(r"\s*(Args|Attributes|Returns|Raises|Yields|Examples?):", line):
                section, indent = line.strip()[:-1], len(line) - len(line.lstrip())
            elif section not in ("Args", "Attributes") or len(line) - len(line.lstrip()) != indent + 4:
                continue
            elif match := _ENTRY.match(line):
                yield Place(name, node.body[0].lineno + number, f"{match['names']}: {match['text']}")


def vague_names(files: Iterable[str]) -> Iterator[Place]:
    """Yield where a name that says nothing is given to a variable or an argument, in tests too."""
    for name, variable in _nodes_of(files, ast.Name, tests=None):
        if isinstance(variable.ctx, ast.Store) and variable.id in _VAGUE:
            yield Place(name, variable.lineno, variable.id)
    for name, argument in _nodes_of(files, ast.arg, tests=None):
        if argument.arg in _VAGUE:
            yield Place(name, argument.lineno, argument.arg)


MEASURES = {
    "statements": statements,
    "shared_words": shared_words,
    "options": options,
    "option_files": option_files,
    "positional": positional,
    "booleans": booleans,
    "entries": entries,
    "fragments": fragments,
    "vague_names": vague_names,
}


def _nodes_of(files: Iterable[str], kind: Any, *, tests: bool | None) -> Iterator[tuple[str, Any]]:
    """Yield the syntax nodes of a kind, each with its file: one of tests and demo, any other, or either."""
    for name in files:
        if name.endswith(".py") and tests in (None, name.startswith(("tests/", "demo/"))):
            yield from ((name, node) for node in _nodes(name) if isinstance(node, kind))


# Walking a tree takes longer than parsing it.
@cache
def _nodes(name: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(Path(name).read_text("utf-8"))))


def _last_name(node: ast.expr | None) -> str:
    """Return the name that a name or an attribute ends with, "" for any other expression."""
    return node.attr if isinstance(node, ast.Attribute) else str(getattr(node, "id", ""))


def _is_docstring(node: ast.stmt) -> bool:
    """Return whether a statement is a string that nothing is done with."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _rust_code(name: str) -> list[str]:
    """Return the lines of a Rust file before its tests, without comments."""
    code, _, _ = Path(name).read_text("utf-8").partition("#[cfg(test)]")
    return [re.sub(r"(^|\s)//.*", "", line) for line in code.splitlines()]


if __name__ == "__main__":
    sys.exit(main())
