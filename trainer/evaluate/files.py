"""The files of evaluation sets, found by their names anywhere under one directory.

Sets are published with fixed file names, so they are found wherever a user keeps them. An archive is a directory here.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa
from pyarrow import fs, parquet

from wikianchor.io.errors import InputError
from wikianchor.io.storage import exists, filesystem, read_bytes, reading
from wikianchor.trainer.evaluate.archives import ENDINGS, members
from wikianchor.trainer.evaluate.languages import asked

T = TypeVar("T")
K = TypeVar("K")


@dataclass
class SetSource:
    """The files that a set was read from, and counts of their rows.

    Attributes:
        files: sha256 of each file.
        rows: number of rows.
        blank: rows without a gold label, which are left out as the sets' makers say.
        broken: rows that cannot be parsed.
    """

    files: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    blank: int = 0
    broken: int = 0

    @property
    def kept(self) -> int:
        """Number of rows that are used."""
        return self.rows - self.blank - self.broken

    def __add__(self, other: SetSource) -> SetSource:
        return SetSource(
            {**self.files, **other.files}, self.rows + other.rows, self.blank + other.blank, self.broken + other.broken
        )

    def usable(self, name: str, rows: Iterable[Sequence[str | None] | None]) -> list[list[str]]:
        """Return the cells of the rows that have texts and a gold label; count all rows.

        Args:
            name: name of the set.
            rows: texts and, last, the gold label; None for what cannot be parsed.

        Raises:
            InputError: no row can be used.
        """
        usable = []
        for row in rows:
            self.rows += 1
            cells = ["" if cell is None else cell.strip() for cell in row or ()]
            if row is None or row[-1] is None or not all(cells[:-1]):
                self.broken += 1
            elif not cells[-1]:
                self.blank += 1
            else:
                usable.append(cells)
        self.check(name)
        return usable

    def check(self, name: str) -> None:
        """Raise InputError if no row can be used."""
        if self.kept <= 0:
            raise InputError(
                f"{', '.join(self.files)}: no row of {name} can be used ({self.rows} rows, {self.blank} without gold, "
                f"{self.broken} broken): look at the file"
            )


class EvaluationFiles:
    """The files under a directory, local or a URI. Hidden files and directories are ignored.

    Attributes:
        root: the directory.
        names: paths of the files relative to it, sorted; `ARCHIVE/NAME` for a file in an archive.
        failed: a line for each archive, and for each subset of a readable set, that cannot be read.
    """

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/") or "/"
        files, inner = filesystem(self.root)
        with reading(self.root):
            if files.get_file_info(inner).type != fs.FileType.Directory:
                raise InputError(f"{root}: no such directory: --data names where the evaluation sets are")
            infos = files.get_file_info(fs.FileSelector(inner, recursive=True))
        names = [os.path.relpath(info.path, inner) for info in infos if info.type == fs.FileType.File]
        self.failed: list[str] = []
        self._packed: dict[str, Callable[[], bytes]] = {}
        for name in filter(ENDINGS.fullmatch, _visible(names)):
            self._add_members(name)
        # An archive in an archive, and no deeper: a small one could hold itself.
        for name in filter(ENDINGS.fullmatch, _visible([*self._packed])):
            self._add_members(name, self._packed[name])
        self.names = sorted(_visible([*names, *self._packed]))

    def _add_members(self, name: str, inside: Callable[[], bytes] | None = None) -> None:
        try:
            packed = members(self.path(name), inside)
        except InputError as error:
            self.failed.append(str(error))
        else:
            self._packed |= {f"{name}/{member}": read for member, read in packed.items()}

    @classmethod
    def of_file(cls, path: str) -> EvaluationFiles:
        """Return one file and its directory.

        Raises:
            InputError: there is no such file.
        """
        files = cls.__new__(cls)
        files.failed, files._packed = [], {}
        folder, _, name = path.rpartition("/")
        files.root, files.names = folder or ("/" if path.startswith("/") else "."), [name]
        if not exists(files.path(name)):
            raise InputError(f"{path}: no such file")
        return files

    def match(self, pattern: str) -> dict[str, re.Match[str]]:
        """Return the files whose last path components match a regular expression, with their matches."""
        compiled = re.compile(rf"(?:.*/)?{pattern}")
        matches = ((name, compiled.fullmatch(name)) for name in self.names)
        return {name: match for name, match in matches if match}

    def find(self, pattern: str, title: str) -> str | None:
        """Return the file that matches, or None.

        Args:
            pattern: as for `match`.
            title: the file in words, for the error.

        Raises:
            InputError: several files match, and their contents differ.
        """
        return self.same(list(self.match(pattern)), title)

    def by_group(self, pattern: str, is_wanted: Callable[[str], bool] = lambda name: True) -> dict[str, list[str]]:
        """Return the files that match a pattern and are wanted by the pattern's first group, sorted by that."""
        groups: dict[str, list[str]] = {}
        wanted = [(match[1], name) for name, match in self.match(pattern).items() if is_wanted(name)]
        for group, name in sorted(wanted):
            groups.setdefault(group, []).append(name)
        return groups

    def by_language(
        self, pattern: str, title: str, languages: Iterable[str], read: Callable[[EvaluationFiles, str, str], T]
    ) -> list[T]:
        """Return what `read` makes of the file of each language that is asked for.

        Args:
            pattern: as for `match`; its first group is the code of the language.
            title: the set in words, for the error.
            languages: those asked for; none for all.
            read: takes these files, the path of the file, and the code.

        Raises:
            InputError: no language can be read.
        """
        groups = self.by_group(pattern)
        return self.read_each(
            (code for code in groups if asked(code, languages)),
            lambda code: read(self, str(self.same(groups[code], f"{title} {code}")), code),
        )

    def read_each(self, names: Iterable[K], read: Callable[[K], T]) -> list[T]:
        """Return what `read` makes of each name. One that cannot be read does not stop the others, but is in `failed`.

        Raises:
            InputError: none can be read.
        """
        parts, errors = [], []
        for name in names:
            try:
                parts.append(read(name))
            except InputError as error:
                errors.append(error)
        if errors and not parts:
            raise errors[0]
        # Two tasks may read the same files.
        self.failed += [str(error) for error in errors if str(error) not in self.failed]
        return parts

    def same(self, names: Sequence[str], title: str) -> str | None:
        """Return the first of several copies of a file, or None where there is none.

        Raises:
            InputError: the contents of the files differ.
        """
        if len(names) > 1 and len({self.sha256(name) for name in names}) > 1:
            raise InputError(
                f"{self.root}: {title} is there several times and differs: {', '.join(names)}: name one by --data"
            )
        return names[0] if names else None

    def path(self, name: str) -> str:
        """Return the path of a file."""
        return f"{self.root}/{name}"

    def bytes(self, name: str) -> bytes:
        """Return the content of a file."""
        return self._packed[name]() if name in self._packed else read_bytes(self.path(name))

    def sha256(self, name: str) -> str:
        """Return the sha256 of a file, in hexadecimal."""
        return hashlib.sha256(self.bytes(name)).hexdigest()

    def rows(
        self, name: str, source: SetSource, parse: Callable[[str], T | None], skip: int = 0, encoding: str = "utf-8"
    ) -> Iterator[T]:
        """Yield what `parse` makes of each line, and count the lines in `source`.

        Args:
            name: path of the file.
            source: record of the file, and of lines that cannot be decoded or of which `parse` makes None.
            parse: parser of a line.
            skip: lines of the header.
            encoding: the encoding of lines that are not UTF-8.
        """
        for line in self.lines(name, source, encoding)[skip:]:
            source.rows += 1
            row = None if line is None else parse(line)
            if row is None:
                source.broken += 1
            else:
                yield row

    def parquet(self, name: str) -> parquet.ParquetFile:
        """Return an open Parquet file.

        Raises:
            InputError: it is none.
        """
        with reading(self.path(name)):
            return parquet.ParquetFile(pa.BufferReader(self.bytes(name)))

    def lines(self, name: str, source: SetSource, encoding: str = "utf-8") -> list[str | None]:
        """Return a file's lines, None for a line that is neither UTF-8 nor in `encoding`; record it in `source`."""
        content = self.bytes(name)
        source.files[name] = hashlib.sha256(content).hexdigest()
        return split_lines(content, encoding)

    def aligned(self, names: Sequence[str], source: SetSource) -> list[list[str | None]]:
        """Return the lines of files that correspond line by line.

        Raises:
            InputError: they differ in their number of lines.
        """
        columns = [self.lines(name, source) for name in names]
        if len({len(column) for column in columns}) > 1:
            counts = ", ".join(f"{name} has {len(column)}" for name, column in zip(names, columns, strict=True))
            raise InputError(f"files that belong together line by line differ in lines: {counts}: get them again")
        return columns


def _visible(names: Iterable[str]) -> list[str]:
    return [name for name in names if not name.startswith(".") and "/." not in name]


def two_columns(line: str) -> tuple[str, str] | None:
    """Return what is before and after the first tab; None where either is empty.

    >>> two_columns("de-1\\tein Satz "), two_columns("de-2")
    (('de-1', 'ein Satz'), None)
    """
    first, _, second = line.partition("\t")
    return (first.strip(), second.strip()) if first.strip() and second.strip() else None


def split_lines(content: bytes, encoding: str = "utf-8") -> list[str | None]:
    """Split a file at line feeds alone; other characters at which `str.splitlines` splits are text in these files.

    >>> split_lines(b"a\\x0bb\\r\\nc\\n")
    ['a\\x0bb', 'c']
    """
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [_decode(line.removesuffix(b"\r"), ("utf-8", encoding)) for line in lines]


def _decode(line: bytes, encodings: Sequence[str]) -> str | None:
    for encoding in encodings:
        with suppress(UnicodeDecodeError):
            return line.decode(encoding)
    return None
