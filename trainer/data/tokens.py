"""Sentences tokenised once, into arrays that are mapped into memory, and batches taken out of them.

Tokenising while training would need many cores for one GPU: a core tokenises about ten thousand sentences a second
and gathers millions. So the first run with a dataset and a tokenizer writes

    tokens.raw     token ids of all rows end to end       starts.npy    (rows + 1,) where each row's begin
    entities.npy   (rows,) int32                          negatives.npy (rows, k) int32, -1 where there are fewer
    sentences.npy  (rows,) int64                          wikis.npy     (rows,) int16 into `wikis` of meta.json

under a name that is the hash of both, and later runs map them. Nothing but what is used is read from disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wikianchor.io.errors import InputError
from wikianchor.io.storage import writing
from wikianchor.trainer.data.shards import Pairs, read_batches

if TYPE_CHECKING:
    from wikianchor.trainer.models.encoder import Encoder

VERSION = 1
ARRAYS = ("tokens", "starts", "entities", "negatives", "sentences", "wikis")


@dataclass(frozen=True)
class Tokens:
    """A tokenised dataset; arrays as in the module's docstring, `names` the wikis."""

    tokens: NDArray[Any]
    starts: NDArray[np.int64]
    entities: NDArray[np.int32]
    negatives: NDArray[np.int32]
    sentences: NDArray[np.int64]
    wikis: NDArray[np.int16]
    names: tuple[str, ...]
    padding: int

    def __len__(self) -> int:
        return len(self.entities)

    def lengths(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of tokens of each row."""
        found: NDArray[np.int64] = self.starts[rows + 1] - self.starts[rows]
        return found

    def gather(self, rows: NDArray[np.int64], length: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return token ids and mask of the rows, (rows, length) each, padded and never cut: no row may be longer."""
        first, count = self.starts[rows], self.lengths(rows)
        places = np.arange(length)
        mask = places < count[:, None]
        # Past a row's end stand the next row's tokens; past the last row's, nothing does.
        index = np.minimum(first[:, None] + places, len(self.tokens) - 1)
        ids = np.where(mask, self.tokens[index], self.padding).astype(np.int32)
        return ids, mask


def open_tokens(pairs: Pairs, encoder: Encoder, max_length: int, cache: str) -> Tokens:
    """Return the tokenised dataset, made now if no earlier run has made it."""
    directory = os.path.join(cache, cache_key(pairs, encoder, max_length))
    if not os.path.isdir(directory):
        with writing(cache, "--cache"):
            os.makedirs(cache, exist_ok=True)
            unfinished = tempfile.mkdtemp(prefix="unfinished-", dir=cache)
            try:
                _write(pairs, encoder, max_length, unfinished)
                _take_name(unfinished, directory)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return _map(directory)


def cache_key(pairs: Pairs, encoder: Encoder, max_length: int) -> str:
    """Return a name that is the same for the same rows, tokenizer and length, and for nothing else."""
    tokenizer = encoder.tokenizer
    backend = getattr(tokenizer, "backend_tokenizer", None)
    stated = json.loads(backend.to_str()) if backend is not None else tokenizer.get_vocab()
    # These two are not the tokenizer's but its last caller's.
    rules = json.dumps({name: rule for name, rule in stated.items() if name not in ("truncation", "padding")})
    parts = (str(VERSION), pairs.fingerprint, type(tokenizer).__name__, rules, str(max_length), str(encoder.lower))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _take_name(unfinished: str, directory: str) -> None:
    try:
        os.rename(unfinished, directory)
    except OSError:
        # Another run was faster; what it wrote is the same.
        if not os.path.isdir(directory):
            raise


def _write(pairs: Pairs, encoder: Encoder, max_length: int, directory: str) -> None:
    """Tokenise all rows; the tokens go to disk batch by batch, the rest is small."""
    width = np.uint16 if len(encoder.tokenizer) <= 1 << 16 else np.uint32
    names: dict[str, int] = {}
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in ("lengths", *ARRAYS[2:])}
    with open(os.path.join(directory, "tokens.raw"), "wb") as stream:
        for batch in read_batches(pairs):
            rows = encoder.tokenize(batch.column("text").to_pylist(), max_length)
            np.fromiter(chain.from_iterable(rows), width).tofile(stream)
            columns["lengths"].append(np.fromiter(map(len, rows), np.int64, len(rows)))
            columns["entities"].append(batch.column("entity_id").to_numpy(zero_copy_only=False))
            columns["sentences"].append(batch.column("sentence_id").to_numpy(zero_copy_only=False))
            wikis = batch.column("wiki").to_pylist()
            columns["wikis"].append(np.array([names.setdefault(wiki, len(names)) for wiki in wikis], np.int16))
            columns["negatives"].append(_matrix(batch.column("hard_negative_ids")))
    lengths = np.concatenate(columns["lengths"])
    starts = np.concatenate(([0], np.cumsum(lengths)))
    most = max(part.shape[1] for part in columns["negatives"])
    wide = [np.pad(part, ((0, 0), (0, most - part.shape[1])), constant_values=-1) for part in columns["negatives"]]
    arrays = {"starts": starts, "negatives": np.concatenate(wide)}
    arrays |= {name: np.concatenate(columns[name]) for name in ("entities", "sentences", "wikis")}
    for name, array in arrays.items():
        np.save(os.path.join(directory, f"{name}.npy"), array)
    padding = encoder.tokenizer.pad_token_id or 0
    meta = {"names": list(names), "padding": padding, "width": np.dtype(width).name, "tokens": int(starts[-1])}
    with open(os.path.join(directory, "meta.json"), "w", encoding="utf-8") as out:
        json.dump(meta, out)


def _matrix(lists: pa.Array) -> NDArray[np.int32]:
    """Return a column of lists as (rows, longest) int32, filled up with -1."""
    flat = lists.flatten().to_numpy(zero_copy_only=False)
    ends = lists.offsets.to_numpy() - lists.offsets[0].as_py()
    counts = np.diff(ends)
    found = np.full((len(counts), int(counts.max(initial=0))), -1, np.int32)
    row = np.repeat(np.arange(len(counts)), counts)
    found[row, np.arange(len(flat)) - ends[:-1][row]] = flat
    return found


def _map(directory: str) -> Tokens:
    try:
        with open(os.path.join(directory, "meta.json"), encoding="utf-8") as stream:
            meta = json.load(stream)
        tokens = np.memmap(os.path.join(directory, "tokens.raw"), meta["width"], mode="r", shape=(meta["tokens"],))
        mapped = {name: np.load(os.path.join(directory, f"{name}.npy"), mmap_mode="r") for name in ARRAYS[1:]}
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise InputError(f"{directory}: a broken cache ({error}): remove it") from error
    # As plain arrays they are mapped still, and picking a batch's rows out of them takes a tenth of the time.
    arrays = {name: array.view(np.ndarray) for name, array in mapped.items()}
    return Tokens(tokens.view(np.ndarray), **arrays, names=tuple(meta["names"]), padding=int(meta["padding"]))
