"""Compare texts with the compiled core, where it is installed (`core/engine/src/anchors.rs`), and else in Python.

The values are those of `anchors` and `minhash`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from threading import get_ident
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wikianchor.pipelines.arrays.hashing import Hashes, hash_strings
from wikianchor.pipelines.arrays.minhash import band_keys
from wikianchor.pipelines.arrays.strings import string_buffers
from wikianchor.pipelines.export import anchors
from wikianchor.pipelines.export.anchors import SCRIPTS
from wikianchor.pipelines.wikimedia.core_record import core_with

# The columns of pairs that are the anchor: the sentence, its link and the title of its page.
ANCHOR = ("text", "mention_start", "mention_end", "title")
# Patterns of the properties of a character, from the lowest bit above it on.
_PROPERTIES = (r"\s", r"\d", *(characters for characters, _, _ in SCRIPTS))
_POINT_BITS = 21


def comparer() -> Any:
    """Return what compares texts in the core for the thread that asks; None without the core."""
    return _comparer_of(get_ident())


# Beam may run steps in threads of one process.
@lru_cache(maxsize=64)
def _comparer_of(_thread: int) -> Any:
    return core.SentenceComparer(_describe) if (core := core_with("SentenceComparer")) else None


def _describe(character: str) -> tuple[bool, list[int]]:
    """Return whether a character has a case; and the characters that it is folded to, with their properties."""
    folded = [
        ord(char)
        | sum((re.match(pattern, char) is not None) << bit for bit, pattern in enumerate(_PROPERTIES, _POINT_BITS))
        for char in character.casefold()
    ]
    return character.lower() != character.upper(), folded


def text_keys(texts: pa.Array | pa.ChunkedArray) -> Hashes:
    """Return a hash of each text. Texts that differ in case or white space only have the same."""
    if compare := comparer():
        chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
        keys = b"".join(compare.text_keys(string_buffers(chunk.cast(pa.string()))) for chunk in chunks)
        return np.frombuffer(keys, np.uint64)
    return hash_strings(pa.array([" ".join(text.casefold().split()) for text in texts.to_pylist()], pa.string()))


def weak_anchors(pairs: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Return which sentences of pairs say too little of the entity that their link leads to (`anchors.is_weak`)."""
    if compare := comparer():
        return np.frombuffer(compare.weak(_linked(pairs)), np.bool_)
    return np.array([anchors.is_weak(*sentence) for sentence in _sentences(pairs)], np.bool_)


def closeness(pairs: pa.RecordBatch, positives: pa.Array, of_pair: npt.NDArray[np.int64]) -> Hashes:
    """Return how many words each sentence of pairs has in common with its positive; see `anchors.closeness`."""
    if compare := comparer():
        arguments = _linked(pairs), string_buffers(positives), of_pair.tobytes()
        return np.frombuffer(compare.closeness(*arguments), np.uint8).astype(np.uint64)
    return anchors.closeness(_sentences(pairs), positives.to_pylist(), of_pair)


def masked_keys(pairs: pa.RecordBatch, scopes: Hashes, bands: int) -> Hashes:
    """Return the keys of nearly equal sentences of pairs, of which links and titles do not count (`minhash.band_keys`).

    Sentences are compared without their link and the title of their page: "Brest is a commune in [Finistère]" and
    "Plouguin is a commune in [Finistère]" are the same.
    """
    if compare := comparer():
        keys = compare.masked_keys(_linked(pairs), string_buffers(pairs.column("title")), scopes.tobytes(), bands)
        return np.frombuffer(keys, np.uint64).reshape(-1, bands)
    masked = [
        (text[:start] + text[end:]).replace(title.partition(" (")[0], "")
        for (text, start, end), title in zip(_sentences(pairs), pairs.column("title").to_pylist(), strict=True)
    ]
    return band_keys(masked, scopes, bands)


def lead_mask(sentences: pa.RecordBatch, is_first: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which sentences say what their page is about (`anchors.begins_lead`).

    Args:
        sentences: the texts and titles of the pages.
        is_first: whether no sentence of the page before it was lost.
    """
    titles, texts = (sentences[name] for name in ("title", "text"))
    if compare := comparer():
        return np.frombuffer(compare.leads(string_buffers(titles), string_buffers(texts), is_first.tobytes()), np.bool_)
    rows = zip(titles.to_pylist(), texts.to_pylist(), is_first.tolist(), strict=True)
    return np.array([anchors.begins_lead(title, text, is_first=first) for title, text, first in rows], np.bool_)


def _linked(pairs: pa.RecordBatch) -> tuple[Any, ...]:
    """Return the sentences of pairs with their links, as the core takes them."""
    places = (pairs.column(name).to_numpy().astype(np.int32).tobytes() for name in ANCHOR[1:3])
    return string_buffers(pairs.column("text")), *places


def _sentences(pairs: pa.RecordBatch) -> Sequence[tuple[str, int, int]]:
    """Return the sentences of pairs, with the offsets of their links."""
    return list(zip(*(pairs.column(name).to_pylist() for name in ANCHOR[:3]), strict=True))
