"""Files of entity vectors by name, read without executing code; `entity_vectors/options.py` lists the formats."""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from wikianchor.io.errors import InputError
from wikianchor.io.parsing import unreadable

TEXT = (".txt", ".vec", ".tsv")
PACKED = {".gz": gzip.open, ".bz2": bz2.open}
ENTITY = "ENTITY/"
# A title or the number of a Wikidata item, and its vector, (dim,).
NamedVector = tuple[str | int, NDArray[np.float32]]


class BrokenLines:
    """Counter of lines that are no vector."""

    lines = 0


def read_named_vectors(path: str, broken: BrokenLines) -> Iterator[NamedVector]:
    """Yield names and vectors, (dim,) float32, in the order of the file. Words of wikipedia2vec are left out.

    Args:
        path: the file's path.
        broken: counts malformed lines of text files.

    Raises:
        InputError: the file is missing, or of a format that is not supported.
    """
    stem, extension = os.path.splitext(path)
    kind = os.path.splitext(stem)[1] if extension in PACKED else extension
    if not os.path.isfile(path):
        raise InputError(f"{path}: no such file")
    if kind in TEXT:
        yield from _text(path, extension, broken)
    elif extension == ".npy":
        yield from zip(_titles(stem, path), _array(path), strict=False)
    elif extension == ".safetensors":
        yield from _safetensors(path, stem)
    elif extension in (".pkl", ".joblib", ".bin", ".model", ""):
        raise InputError(
            f"{path}: not read, since to read a pickle is to run what is in it: "
            "`wikianchor vectors --help` says how to turn it into .npy"
        )
    else:
        raise InputError(f"{path}: not .txt, .vec, .npy or .safetensors")


def _text(path: str, extension: str, broken: BrokenLines) -> Iterator[NamedVector]:
    opener: Any = PACKED.get(extension, open)
    try:
        with opener(path, "rt", encoding="utf-8", errors="replace", newline="\n") as stream:
            yield from _lines(stream, broken)
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: {error}") from error


def _lines(stream: IO[str], broken: BrokenLines) -> Iterator[NamedVector]:
    first = stream.readline()
    header = first.split()
    dim = 0
    word2vec = len(header) == 2 and all(part.isdecimal() for part in header)
    if word2vec:
        dim = int(header[1])
    lines: Iterable[str] = stream if word2vec else chain([first] if first else [], stream)
    # wikipedia2vec writes words too and marks entities; other files have entities alone.
    marked = False
    for line in lines:
        name, numbers = _split(line.rstrip("\n"), dim)
        vector = _numbers(numbers)
        dim = dim or len(vector)
        if len(vector) != dim or dim == 0:
            broken.lines += 1
            continue
        marked = marked or name.startswith(ENTITY)
        if marked and not name.startswith(ENTITY):
            continue
        title = name.removeprefix(ENTITY)
        yield (title.replace("_", " ") if word2vec else title), vector


def _split(line: str, dim: int) -> tuple[str, str]:
    """Split a line into name and numbers: at the tab, else before the last `dim` fields, else at the first space."""
    if "\t" in line:
        name, _, numbers = line.partition("\t")
        return name, numbers
    parts = line.rsplit(" ", dim) if dim else line.split(" ", 1)
    return parts[0], " ".join(parts[1:])


def _numbers(text: str) -> NDArray[np.float32]:
    try:
        return np.array(text.split(), np.float32)
    except ValueError:
        return np.empty(0, np.float32)


def _array(path: str) -> NDArray[Any]:
    with unreadable(f"{path}: not an array of numbers"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.ndim != 2:
        raise InputError(f"{path}: has shape {array.shape}, not (n, dim)")
    return array


def _titles(stem: str, path: str) -> list[str]:
    file = f"{stem}.titles.txt"
    try:
        with open(file, encoding="utf-8", newline="\n") as stream:
            return [line.rstrip("\n") for line in stream]
    except OSError as error:
        raise InputError(f"{file}: must name the rows of {path}, one on a line ({error.strerror})") from error


def _safetensors(path: str, stem: str) -> Iterator[NamedVector]:
    with unreadable(f"{path}: no `vectors` in it"), safe_open(path, "np") as stream:
        vectors = stream.get_tensor("vectors")
        qids = stream.get_tensor("qids") if "qids" in stream.keys() else None  # noqa: SIM118
    names: Iterable[str | int] = _titles(stem, path) if qids is None else (int(qid) for qid in qids)
    yield from zip(names, vectors, strict=False)
