"""Tokenised datasets: token ids in memory-mapped arrays, and padded batches gathered from them.

A CPU core tokenises about ten thousand sentences a second and gathers millions, so to tokenise during training would
need many cores for one GPU. The first run with a dataset and a tokenizer writes

    tokens.raw     token ids of all rows, concatenated    starts.npy    (rows + 1,) where each row's ids begin
    entities.npy   (rows,) int32                          negatives.npy (rows, k) int32, padded with -1
    sentences.npy  (rows,) int64                          wikis.npy     (rows,) int16, indices of `names` in meta.json

into a directory named by the hash of both, and later runs map these files into memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wikianchor.io.cache import open_cache
from wikianchor.io.parsing import unreadable
from wikianchor.trainer.data.cache import map_arrays, save_arrays
from wikianchor.trainer.data.shards import PairDataset, read_batches

if TYPE_CHECKING:
    from wikianchor.trainer.models.encoder import Encoder

VERSION = 1
# Packed batches have a multiple of so many tokens.
STEP = 64
ARRAYS = ("starts", "entities", "negatives", "sentences", "wikis")


@dataclass(frozen=True, kw_only=True)
class PackedTokens:
    """Base class of tokenised datasets: token ids of all rows, concatenated.

    Attributes:
        tokens: (total,) uint16 or uint32, token ids.
        starts: (rows + 1,) where each row begins.
        padding: the token id of padding.
    """

    tokens: NDArray[Any]
    starts: NDArray[np.int64]
    padding: int

    def lengths(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of tokens of each row, (rows,)."""
        return self.starts[rows + 1] - self.starts[rows]

    def gather(self, rows: NDArray[np.int64], length: int) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return token ids and mask of rows, (rows, length) each. No row may be longer: rows are padded, never cut."""
        positions = np.arange(length)
        mask = positions < self.lengths(rows)[:, None]
        # The positions after a row's end are those of the next row; the last row has none after it.
        index = np.minimum(self.starts[rows][:, None] + positions, len(self.tokens) - 1)
        ids = np.where(mask, self.tokens[index], self.padding).astype(np.int32)
        return ids, mask


def places_of_tokens(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where the tokens of a padded batch are, for layers without padding.

    So that there are few shapes, their number is rounded up to a multiple of about a 32nd of the batch: the first
    places of padding follow, as sentences that are no longer than the others.

    Args:
        mask: (rows, length).

    Returns:
        places in the flattened batch, (total,), tokens first; and where each sentence ends among them, (sentences,), of
        which there are equally many in all batches of this shape.

    >>> places, ends = places_of_tokens(np.arange(40) < np.array([[3], [39], [2]]))
    >>> len(places), places[:4].tolist(), places[44:47].tolist(), ends.tolist()
    (64, [0, 1, 2, 40], [3, 4, 5], [3, 42, 44, 64, 64])
    """
    step = -(-mask.size // (32 * STEP)) * STEP
    places = np.flatnonzero(mask)
    total = min(-(-len(places) // step) * step, mask.size)
    padding = np.flatnonzero(~mask)[: total - len(places)]
    more = len(places) + mask.shape[1] * np.arange(1, -(-step // mask.shape[1]) + 1)
    ends = np.concatenate((mask.sum(1).cumsum(), np.minimum(more, total)))
    return np.concatenate((places, padding)), ends.astype(np.int32)


def id_type(ids: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest integer type that holds this number of token ids.

    >>> id_type(50_000).__name__, id_type(250_002).__name__
    ('uint16', 'uint32')
    """
    return np.uint16 if ids <= 1 << 16 else np.uint32


def pack(rows: Sequence[Sequence[int]], ids: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the `tokens` and `starts` of `PackedTokens`.

    Args:
        rows: token ids of each row.
        ids: size of the vocabulary.

    >>> [array.tolist() for array in pack([[5, 6], [], [7]], 100)]
    [[5, 6, 7], [0, 2, 2, 3]]
    """
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    return np.fromiter(chain.from_iterable(rows), id_type(ids), int(starts[-1])), starts


@dataclass(frozen=True, kw_only=True)
class Tokens(PackedTokens):
    """A tokenised `pairs` dataset: the arrays of the module's docstring; `names` are the wikis."""

    entities: NDArray[np.int32]
    negatives: NDArray[np.int32]
    sentences: NDArray[np.int64]
    wikis: NDArray[np.int16]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.entities)


def open_tokens(pairs: PairDataset, encoder: Encoder, max_length: int, cache: str) -> Tokens:
    """Return the tokenised dataset; if no earlier run wrote it, tokenise it now.

    Args:
        pairs: the dataset.
        encoder: has the tokenizer.
        max_length: tokens kept of a sentence, special tokens included.
        cache: directory of tokenised datasets.

    Raises:
        InputError: the dataset or the cache is damaged, or the cache cannot be written.
    """
    key = cache_key(pairs, encoder, max_length)
    directory = open_cache(cache, key, lambda unfinished: _write(pairs, encoder, max_length, unfinished))
    with unreadable(f"{directory}: a broken cache", "remove it"):
        meta = json.loads(Path(directory, "meta.json").read_text("utf-8"))
        tokens = np.memmap(Path(directory, "tokens.raw"), meta["width"], mode="r", shape=(meta["tokens"],))
        names, padding = tuple(meta["names"]), int(meta["padding"])
    return Tokens(tokens=tokens.view(np.ndarray), **map_arrays(directory, ARRAYS), names=names, padding=padding)


def cache_key(pairs: PairDataset, encoder: Encoder, max_length: int) -> str:
    """Return the hash of everything that the token ids depend on: rows, tokenizer and length."""
    tokenizer = encoder.tokenizer
    backend = getattr(tokenizer, "backend_tokenizer", None)
    stated = json.loads(backend.to_str()) if backend is not None else tokenizer.get_vocab()
    # Truncation and padding are settings of the tokenizer's last call.
    rules = json.dumps({name: rule for name, rule in stated.items() if name not in ("truncation", "padding")})
    settings = (str(max_length), str(encoder.lower), encoder.prompt)
    parts = (str(VERSION), pairs.fingerprint, type(tokenizer).__name__, rules, *settings)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _write(pairs: PairDataset, encoder: Encoder, max_length: int, directory: str) -> None:
    """Tokenise all rows. Token ids are written batch by batch; the other arrays are small and held in memory."""
    width = id_type(len(encoder.tokenizer))
    names: dict[str, int] = {}
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in ("lengths", *ARRAYS[1:])}
    with Path(directory, "tokens.raw").open("wb") as stream:
        for batch in read_batches(pairs):
            rows = encoder.tokenize(batch.column("text").to_pylist(), max_length)
            np.fromiter(chain.from_iterable(rows), width).tofile(stream)
            columns["lengths"].append(np.fromiter(map(len, rows), np.int64, len(rows)))
            columns["entities"].append(batch.column("entity_id").to_numpy(zero_copy_only=False))
            columns["sentences"].append(batch.column("sentence_id").to_numpy(zero_copy_only=False))
            wikis = batch.column("wiki").to_pylist()
            columns["wikis"].append(np.array([names.setdefault(wiki, len(names)) for wiki in wikis], np.int16))
            columns["negatives"].append(_matrix(batch.column("hard_negative_ids")))
    widest = max(part.shape[1] for part in columns["negatives"])
    columns["negatives"] = [
        np.pad(part, ((0, 0), (0, widest - part.shape[1])), constant_values=-1) for part in columns["negatives"]
    ]
    arrays = {name: np.concatenate(parts) for name, parts in columns.items()}
    arrays["starts"] = np.concatenate(([0], np.cumsum(arrays.pop("lengths"))))
    save_arrays(directory, arrays)
    padding, total = encoder.tokenizer.pad_token_id or 0, int(arrays["starts"][-1])
    meta = {"names": list(names), "padding": padding, "width": np.dtype(width).name, "tokens": total}
    Path(directory, "meta.json").write_text(json.dumps(meta), "utf-8")


def _matrix(lists: pa.Array) -> NDArray[np.int32]:
    """Return a column of lists as (rows, longest) int32, padded with -1."""
    values = lists.flatten().to_numpy(zero_copy_only=False)
    ends = lists.offsets.to_numpy() - lists.offsets[0].as_py()
    counts = np.diff(ends)
    matrix = np.full((len(counts), int(counts.max(initial=0))), -1, np.int32)
    row = np.repeat(np.arange(len(counts)), counts)
    matrix[row, np.arange(len(values)) - ends[:-1][row]] = values
    return matrix
