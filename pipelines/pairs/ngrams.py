"""N-grams of texts as 64-bit hashes: find sentences that overlap with the texts of evaluation sets (`--exclude_text`).

Texts are compared after Unicode's NFKC, in lower case, without punctuation. A token is a word, or a character of a
script that is written without spaces, which counts as half a word. An n-gram is the shortest run of tokens from a given
token on that counts WORDS words; a text that counts fewer is one n-gram as a whole. So a sentence overlaps with a text
if both have WORDS words in a row in common, or if they are equal and short.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from wikianchor.io.errors import InputError
from wikianchor.io.storage import filesystem, reading
from wikianchor.pipelines.arrays.hashing import Hashes, hash_strings, mix_hashes
from wikianchor.pipelines.arrays.tables import distinct, find, save_tables
from wikianchor.pipelines.dataset.workspace import WorkPath

# GPT-3 was decontaminated by 13-grams, PaLM by 8-grams: most sentences of STS sets have fewer than 13 words.
WORDS = 8
# Texts of fewer words, such as labels and numbers in the columns of a file, are no n-gram.
SHORTEST = 4
# Units: a word is 2, a character of a script without spaces is 1.
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
# Texts of a file whose n-grams are made at a time.
BATCH = 10_000

TextNumbers = npt.NDArray[np.int64]


def hash_ngrams(texts: pa.Array) -> tuple[Hashes, TextNumbers]:
    """Return the hashes of the n-grams of texts, and the index of the text of each.

    >>> hashes, numbers = hash_ngrams(pa.array(["A bus, a tram and a train!", "the 8:15", "a bus a tram AND a train"]))
    >>> numbers.tolist(), bool(hashes[0] == hashes[1])
    ([0, 2], True)
    """
    tokens, numbers, units = _tokens(texts)
    ends = np.append(0, np.cumsum(units))
    firsts = np.searchsorted(numbers, np.arange(len(texts) + 1))
    # The token after the shortest run that is long enough.
    stops = np.searchsorted(ends, ends[:-1] + 2 * WORDS)
    starts = np.flatnonzero(stops <= firsts[numbers + 1])
    stops = stops[starts]
    sizes = ends[firsts[1:]] - ends[firsts[:-1]]
    short = np.flatnonzero((sizes < 2 * WORDS) & (sizes >= 2 * SHORTEST))
    starts, stops = np.append(starts, firsts[short]), np.append(stops, firsts[short + 1])
    return _hash_runs(tokens, starts, stops), np.append(numbers[starts[: len(starts) - len(short)]], short)


def _tokens(texts: pa.Array) -> tuple[Hashes, TextNumbers, npt.NDArray[np.int64]]:
    """Return the hashes of the tokens of texts, the index of the text of each, and its units."""
    plain = pc.utf8_lower(pc.utf8_normalize(texts, form="NFKC"))
    spaced = pc.replace_substring_regex(plain, r"[^\p{L}\p{M}\p{N}]+", " ")
    spaced = pc.replace_substring_regex(spaced, rf"({_UNSPACED}\p{{M}}*)", r" \1 ")
    lists = pc.utf8_split_whitespace(spaced)
    numbers, flat = pc.list_parent_indices(lists).to_numpy(), lists.flatten()
    nonempty = pc.not_equal(flat, "")
    numbers, flat = numbers[nonempty.to_numpy(zero_copy_only=False)], flat.filter(nonempty)
    words = flat.dictionary_encode()
    of_word = words.indices.to_numpy()
    units = np.where(pc.match_substring_regex(words.dictionary, f"^{_UNSPACED}").to_numpy(zero_copy_only=False), 1, 2)
    return hash_strings(words.dictionary)[of_word], numbers.astype(np.int64), units.astype(np.int64)[of_word]


def _hash_runs(tokens: Hashes, starts: TextNumbers, stops: TextNumbers) -> Hashes:
    """Return the hash of each run of tokens [start, stop), in time linear in the tokens (Karp and Rabin, 1987)."""
    with np.errstate(over="ignore"):
        count = len(tokens) + 1
        powers, inverses = (
            np.multiply.accumulate(np.append(np.uint64(1), np.full(count - 1, base, np.uint64)))
            for base in (_BASE, _INVERSE)
        )
        sums = np.append(np.uint64(0), np.cumsum(tokens * powers[:-1], dtype=np.uint64))
        return mix_hashes((sums[stops] - sums[starts]) * inverses[starts], stops - starts)


def overlapping(texts: pa.Array, ngrams: Hashes) -> npt.NDArray[np.bool_]:
    """Return for each text whether it has one of some n-grams.

    Args:
        texts: sentences.
        ngrams: hashes, ascending.
    """
    hashes, numbers = hash_ngrams(texts)
    # In ascending order, neighbouring look-ups read the same pages of the memory-mapped array.
    order = np.argsort(hashes)
    matches = find(ngrams, hashes[order]) >= 0
    return np.bincount(numbers[order[matches]], minlength=len(texts)) > 0


def save_ngrams(files: Sequence[str], directory: str) -> WorkPath:
    """Write the distinct n-grams of the texts in files, ascending, as the array `ngrams`; return the path.

    Raises:
        InputError: a file cannot be read, or holds no text.
    """
    hashes = [np.zeros(0, np.uint64)]
    for path in files:
        before = len(hashes)
        texts = read_texts(path)
        while batch := list(islice(texts, BATCH)):
            hashes.append(distinct(hash_ngrams(pa.array(batch, pa.string()))[0]))
        if not any(map(len, hashes[before:])):
            raise InputError(f"--exclude_text={path}: holds no text of {SHORTEST} words or more: is it the right file?")
    return save_tables(directory, "ngrams", {"ngrams": distinct(np.concatenate(hashes))})


def read_texts(path: str) -> Iterator[str]:
    """Yield the texts of a file: the strings of Parquet or of JSON lines, the fields of CSV, or the fields between the
    tabs of any other file. Compressed text is decompressed by its extension.

    Raises:
        InputError: the file cannot be read, or is not of the format that its extension says.
    """
    kind = path.removesuffix(".gz").removesuffix(".bz2").rpartition(".")[2].lower()
    files, inner = filesystem(path)
    try:
        with reading(path):
            if kind == "parquet":
                with files.open_input_file(inner) as source:
                    yield from _parquet_texts(pq.ParquetFile(source))
            else:
                with io.TextIOWrapper(files.open_input_stream(inner), "utf-8-sig", "replace", newline="") as lines:
                    yield from _READERS.get(kind, _fields)(lines)
    except (ValueError, csv.Error, pa.ArrowInvalid) as error:
        raise InputError(
            f"--exclude_text={path}: not {kind} ({str(error).splitlines()[0]}): rename it to .txt or mend it"
        ) from error


def _fields(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield from line.rstrip("\r\n").split("\t")


def _cells(lines: Iterable[str]) -> Iterator[str]:
    for row in csv.reader(lines):
        yield from row


def _json_texts(lines: Iterable[str]) -> Iterator[str]:
    for line in filter(str.strip, lines):
        values: list[Any] = [orjson.loads(line)]
        while values:
            value = values.pop()
            if isinstance(value, str):
                yield value
            elif isinstance(value, dict):
                values += value.values()
            elif isinstance(value, list):
                values += value


def _parquet_texts(file: pq.ParquetFile) -> Iterator[str]:
    columns = [
        field.name
        for field in file.schema_arrow
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
    ]
    for batch in file.iter_batches(columns=columns):
        for column in batch.columns:
            yield from column.drop_null().to_pylist()


_READERS = {"csv": _cells, "json": _json_texts, "jsonl": _json_texts, "ndjson": _json_texts}
