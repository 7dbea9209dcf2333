"""Digests of the code and data files that decide the rows of a dataset.

A stage has the modules that its module `graph` imports, however deep. They are found from the import statements of the
sources, so nothing is imported. Comments, docstrings and formatting do not count; `INFRASTRUCTURE` does not either.
Parsing the sources takes long for the start of a command, so the results are kept in the user's cache directory, by the
SHA-256 of each source.
"""

from __future__ import annotations

import ast
import hashlib
import json
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from wikianchor.io.cache import cache_directory

PACKAGE = "wikianchor"
# The directory of the package.
ROOT = Path(__file__).parents[1]
# Modules, and packages with all below them, that decide no row, and why. So does every module `options`: it declares
# options, whose values the manifest records.
INFRASTRUCTURE = {
    "pipelines.cli": "reads the command line, and calls a stage with its options, which manifests record",
    "pipelines.commands": "plans, reports and checks datasets",
    "pipelines.dataset.card": "writes README.md beside the rows",
    "pipelines.dataset.changes": "compares manifests",
    "pipelines.dataset.manifest": "renames finished files",
    "pipelines.dataset.reasons": "explains the ledger to readers",
    "pipelines.dataset.summary": "prints what was made",
    "pipelines.dataset.temporary": "names temporary directories",
    "pipelines.dataset.workspace": "names temporary directories",
    "pipelines.engine": "runs steps, whose results do not depend on where and when they run",
    "pipelines.wikimedia.choices": "names the values of options, which manifests record",
    "pipelines.wikimedia.core_record": "decides which engine runs; both make the same rows",
    "pipelines.wikimedia.wiki_lists": "reads names of wikis on the command line",
    "io": "reads the command line, opens files, prints, names errors",
}
# Modules in packages of `INFRASTRUCTURE` that rows pass through.
ROWS = {"pipelines.engine.shuffle", "pipelines.engine.sorted_runs", "pipelines.engine.transforms", "io.package_data"}
_FOLDERS = {"corpus": "japanese.corpus", "negatives": "japanese.negatives"}
# What differs between versions of Python, or follows from the rest.
_NO_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


def stage_digest(dataset: str, root: Path = ROOT) -> str:
    """Return the digest of what decides the rows of a dataset: 16 hexadecimal digits, the same on every Python.

    Args:
        dataset: its name, such as "sentences".
        root: directory of the package.
    """
    return digest_of((_graph(dataset),), root)


def has_rules(dataset: str) -> bool:
    """Return whether this program makes datasets of a name."""
    return dataset.isidentifier() and _source(_graph(dataset), ROOT) is not None


def _graph(dataset: str) -> str:
    return f"pipelines.{_FOLDERS.get(dataset, dataset)}.graph"


@cache
def digest_of(names: tuple[str, ...], root: Path = ROOT) -> str:
    """Return the digest of modules with all that they import, as `files_of` finds them."""
    digest, kept = hashlib.sha256(), len(_cached())
    for path in files_of(names, root):
        content = path.read_bytes()
        decides = _sha256(content) if path.suffix == ".json" else _parsed(content).code
        digest.update(f"{path.relative_to(root).as_posix()} {decides}\n".encode())
    if len(_cached()) > kept:
        _save()
    return digest.hexdigest()[:16]


def files_of(names: Iterable[str], root: Path = ROOT) -> list[Path]:
    """Return the sources of modules and of all that they import, and the data files that they name, sorted.

    Args:
        names: the names of modules, without "wikianchor.".
        root: directory of the package.
    """
    sources = _sources(names, root)
    texts = {text for path in sources.values() for text in _parsed(path.read_bytes()).texts}
    return sorted({*sources.values(), *(path for path in _data_files(root) if path.name in texts)})


def modules_of(dataset: str) -> set[str]:
    """Return the modules that decide the rows of a dataset: import names."""
    return {f"{PACKAGE}.{name}" for name in _sources([_graph(dataset)], ROOT)}


def _sources(names: Iterable[str], root: Path) -> dict[str, Path]:
    """Return the sources of modules and of all that they import, by their names without "wikianchor."."""
    todo, sources = list(names), dict[str, Path]()
    while todo:
        name = todo.pop()
        if not name or name in sources or is_infrastructure(name) or (path := _source(name, root)) is None:
            continue
        sources[name] = path
        # Importing a module runs the packages that it is in.
        todo += (*_parsed(path.read_bytes()).imports, name.rpartition(".")[0])
    return sources


@cache
def _data_files(root: Path) -> list[Path]:
    return [path for side in ("aliases", "pipelines", "schemas") for path in (root / side).rglob("data/*.json")]


def is_infrastructure(name: str) -> bool:
    """Return whether a module, named without "wikianchor.", decides no row."""
    parents = (name[:end] for end in (*(at for at, char in enumerate(name) if char == "."), len(name)))
    return name not in ROWS and (name.endswith(".options") or any(parent in INFRASTRUCTURE for parent in parents))


def _source(name: str, root: Path) -> Path | None:
    path = root.joinpath(*name.split("."))
    return next((existing for existing in (path / "__init__.py", path.with_suffix(".py")) if existing.is_file()), None)


class _Module(NamedTuple):
    """A parsed module: the SHA-256 of its code without comments, docstrings and formatting, the names that it imports
    without "wikianchor.", and its texts that end like a data file."""

    code: str
    imports: Sequence[str]
    texts: Sequence[str]


def _parsed(source: bytes) -> _Module:
    if (key := _sha256(source)) not in _cached():
        words: list[str] = []
        imports: list[str] = []
        texts: set[str] = set()
        _describe(ast.parse(source), words, imports, texts)
        inner = [name.removeprefix(f"{PACKAGE}.") for name in imports if name.startswith(f"{PACKAGE}.")]
        _cached()[key] = _Module(_sha256("\n".join(words).encode()), inner, sorted(texts))
    return _cached()[key]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@cache
def _cached() -> dict[str, _Module]:
    """Return the parsed modules in the cache, by the SHA-256 of their sources; none if the cache cannot be read."""
    try:
        entries = json.loads(_cache_file().read_bytes())
        return {source: _Module(str(code), [*imports], [*texts]) for source, (code, imports, texts) in entries.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _save() -> None:
    """Write all parsed modules to the cache; if it cannot be written, the next command parses them again."""
    path = _cache_file()
    unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(json.dumps(_cached()))
        unfinished.replace(path)


def _cache_file() -> Path:
    # Another version of this module may get other results from a source.
    return Path(cache_directory(), f"rules-{_sha256(Path(__file__).read_bytes())[:16]}.json")


def _describe(value: Any, words: list[str], imports: list[str], texts: set[str]) -> None:
    """Append the words of a syntax tree, the names that it imports, and its texts that may name data files.

    `ast.dump` and `ast.unparse` write other text in other versions of Python; the `repr` of a string, too, follows the
    Unicode tables of the version.
    """
    if isinstance(value, ast.AST):
        if isinstance(value, ast.Import):
            imports += (alias.name for alias in value.names)
        elif isinstance(value, ast.ImportFrom):
            imports += (str(value.module), *(f"{value.module}.{alias.name}" for alias in value.names))
        words.append(type(value).__name__)
        for field in value._fields:
            content = None if field in _NO_FIELDS else getattr(value, field, None)
            # A field of a newer Python is empty in code that an older one can read.
            if content is not None and content != []:
                words.append(field)
                _describe(content, words, imports, texts)
        words.append(")")
    elif isinstance(value, list):
        for item in value:
            if not _decides_nothing(item):
                _describe(item, words, imports, texts)
        words.append("]")
    else:
        if isinstance(value, str) and value.endswith(".json"):
            texts.add(value)
        words.append(ascii(value))


def _decides_nothing(statement: Any) -> bool:
    """Return whether a statement is a docstring, or imports for type checkers alone."""
    if isinstance(statement, ast.If):
        return isinstance(statement.test, ast.Name) and statement.test.id == "TYPE_CHECKING"
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
