"""The files of evaluation sets: found by their names anywhere under one directory, read with what is broken counted.

Sets are released with fixed file names, so a set is found by them and not by where a user keeps it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyarrow import fs

from wikianchor.io.errors import InputError
from wikianchor.io.storage import exists, filesystem, read_bytes, reading


@dataclass
class Source:
    """What a set was read from: files with their sha256, and what became of their rows.

    `blank` rows have no gold label and are left out as the sets' makers ask; `broken` rows cannot be read.
    """

    files: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    blank: int = 0
    broken: int = 0

    @property
    def kept(self) -> int:
        return self.rows - self.blank - self.broken

    def __add__(self, other: Source) -> Source:
        return Source(
            {**self.files, **other.files}, self.rows + other.rows, self.blank + other.blank, self.broken + other.broken
        )

    def check(self, name: str) -> None:
        """Raise InputError if not one row is left."""
        if self.kept <= 0:
            raise InputError(
                f"{', '.join(self.files)}: no row of {name} can be used ({self.rows} rows, {self.blank} without gold, "
                f"{self.broken} broken): look at the file"
            )


class Data:
    """The files under a directory, local or gs://; hidden directories are left out."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/") or "/"
        files, inner = filesystem(self.root)
        with reading(self.root):
            if files.get_file_info(inner).type != fs.FileType.Directory:
                raise InputError(f"{root}: no such directory: --data names where the evaluation sets are")
            found = files.get_file_info(fs.FileSelector(inner, recursive=True))
        names = [os.path.relpath(info.path, inner) for info in found if info.type == fs.FileType.File]
        self.names = sorted(name for name in names if not name.startswith(".") and "/." not in name)

    @classmethod
    def of_file(cls, path: str) -> Data:
        """Return a directory of which only one file counts.

        Raises:
            InputError: there is no such file.
        """
        found = cls.__new__(cls)
        folder, _, name = path.rpartition("/")
        found.root, found.names = folder or ("/" if path.startswith("/") else "."), [name]
        if not exists(found.path(name)):
            raise InputError(f"{path}: no such file")
        return found

    def match(self, pattern: str) -> dict[str, re.Match[str]]:
        """Return the files whose path under the root ends in the pattern, after a slash or from the start."""
        compiled = re.compile(rf"(?:.*/)?{pattern}")
        matches = ((name, compiled.fullmatch(name)) for name in self.names)
        return {name: match for name, match in matches if match}

    def one(self, pattern: str, what: str) -> str | None:
        """Return the one file that ends in the pattern, or None.

        Raises:
            InputError: there are several, and they differ.
        """
        return self.same(list(self.match(pattern)), what)

    def same(self, names: Sequence[str], what: str) -> str | None:
        """Return the first of files that are all the same, or None where there is none."""
        if len(names) > 1 and len({self.sha256(name) for name in names}) > 1:
            raise InputError(
                f"{self.root}: {what} is there several times and differs: {', '.join(names)}: name one by --data"
            )
        return names[0] if names else None

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def bytes(self, name: str) -> bytes:
        return read_bytes(self.path(name))

    def sha256(self, name: str) -> str:
        return hashlib.sha256(self.bytes(name)).hexdigest()

    def lines(self, name: str, source: Source) -> list[str | None]:
        """Return a file's lines without their ends, None for one that is not UTF-8, and note the file."""
        content = self.bytes(name)
        source.files[name] = hashlib.sha256(content).hexdigest()
        return split_lines(content)


def split_lines(content: bytes) -> list[str | None]:
    """Cut at line feeds alone: the other characters that Python takes for ends of lines are text in these files."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [_decode(line.removesuffix(b"\r")) for line in lines]


def _decode(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


def aligned(names: Sequence[str], columns: Sequence[Sequence[str | None]]) -> None:
    """Raise InputError unless files that belong together line by line have the same number of lines."""
    if len({len(column) for column in columns}) > 1:
        counts = ", ".join(f"{name} has {len(column)}" for name, column in zip(names, columns, strict=True))
        raise InputError(f"files that belong together line by line differ in lines: {counts}: get them again")
