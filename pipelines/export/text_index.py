"""The texts of entities, on disk: a few sampled sentences of each, its leads, or its labels, descriptions or aliases.

The texts of all entities are one array of bytes, ordered by entity (CSR). It is memory-mapped, so that memory does not
grow with it. It is built by a shuffle: rows TEXT_ROW, sorted by entity, become a piece for each ENTITIES_AT_ONCE
entities, and the pieces are concatenated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import Hashes, below, mix
from wikianchor.pipelines.arrays.tables import map_tables, open_tables, save_pieces, save_tables
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.engine.sorted_runs import KeyRange, Shard, Sorting, key_ranges
from wikianchor.pipelines.export.core_texts import text_keys

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# `rank` orders the texts of an entity: the first ones are kept. `language` and `wiki` are indices.
TEXT_ROW = pa.schema(
    [
        ("entity_id", pa.uint64()),
        ("rank", pa.uint64()),
        ("text", pa.string()),
        ("language", pa.int16()),
        ("wiki", pa.int16()),
        ("page_id", pa.int64()),
        ("rev_id", pa.int64()),
        ("sentence_id", pa.int64()),
    ]
)
BY_ENTITY = Sorting(TEXT_ROW, "entity_id")
# Entities of a piece, whose texts are in memory together.
ENTITIES_AT_ONCE = 1 << 15
# Wikidata's code of texts that are for every language.
EVERY_LANGUAGE = "mul"
# Columns of the index, one value for each text.
_COLUMNS = ("keys", "language", "wiki", "page_id", "rev_id", "sentence_id")


class IndexPiece(NamedTuple):
    """The texts of a range of entities: its first entity, the path of its tables, its numbers of texts and of bytes."""

    first: int
    path: WorkPath
    texts: int
    size: int


def plan_ranges(entities: int) -> list[KeyRange]:
    """Return the ranges of entity ids of the pieces."""
    return key_ranges("", range(ENTITIES_AT_ONCE, entities, ENTITIES_AT_ONCE))


def write_piece(wanted: KeyRange, shard: Shard, entities: int, most: int, work: Workspace) -> IndexPiece:
    """Write the texts of a range of entities.

    Args:
        wanted: the range.
        shard: its rows.
        entities: number of all entities.
        most: number of texts that an entity keeps: those of smallest rank; 0 keeps all. Of equal texts in one language
            the first is kept.
        work: the workspace of the run.
    """
    first = int(wanted.low or 0)
    last = entities if wanted.high is None else int(wanted.high)
    tables = [_first_of_each(rows, most) for rows in shard.windows()]
    rows = pa.concat_tables([TEXT_ROW.empty_table().append_column("keys", pa.array([], pa.uint64())), *tables])
    texts = rows["text"].combine_chunks().cast(pa.large_string())
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    lengths = pc.binary_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)
    counts = np.bincount(rows["entity_id"].to_numpy().astype(np.int64) - first, minlength=last - first)
    columns = {name: rows[name].to_numpy() for name in _COLUMNS}
    arrays = {"counts": counts, "lengths": lengths, "data": data[: int(lengths.sum())], **columns}
    path = save_tables(work.scratch, f"texts-{wanted.number:06d}", arrays)
    return IndexPiece(first, path, len(lengths), int(lengths.sum()))


def _first_of_each(rows: pa.Table, most: int) -> pa.Table:
    """Return the texts of smallest rank of each entity, by entity and rank, each text once, with their keys."""
    rows = rows.append_column("keys", pa.array(text_keys(rows["text"])))
    ids = rows["entity_id"].to_numpy()
    order = np.lexsort((rows["position"].to_numpy(), rows["rank"].to_numpy(), ids))
    same = mix(0, *(rows[name].to_numpy()[order].view(np.int64) for name in ("entity_id", "keys")))
    same = mix(0, same.view(np.int64), rows["language"].to_numpy()[order])
    order = order[np.sort(np.unique(same, return_index=True)[1])]
    _, starts, counts = np.unique(ids[order], return_index=True, return_counts=True)
    within = np.arange(len(order)) - np.repeat(starts, counts)
    return rows.take(pa.array(order[within < most] if most else order)).drop_columns(["position"])


def join_pieces(pieces: Iterable[IndexPiece], entities: int, name: str, work: Workspace) -> WorkPath:
    """Concatenate the pieces, one at a time in memory; return the path of the index."""
    ordered = sorted(pieces)
    texts, size = sum(piece.texts for piece in ordered), sum(piece.size for piece in ordered)
    lengths = {"starts": entities + 1, "offsets": texts + 1, "data": size, **dict.fromkeys(_COLUMNS, texts)}
    return save_pieces(work.scratch, name, lengths, _shifted(ordered, entities))


def _shifted(pieces: Sequence[IndexPiece], entities: int) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield the arrays of the pieces, with offsets into all of them; a range without texts has no piece."""
    zero = np.zeros(1, np.int64)
    # The names of these types are those of NumPy; Arrow's own conversion needs pandas.
    columns = {name: np.dtype(str(TEXT_ROW.field(name).type)) for name in _COLUMNS if name != "keys"}
    kinds: dict[str, Any] = {"data": np.uint8, "keys": np.uint64, **columns}
    yield {"starts": zero, "offsets": zero, **{name: np.zeros(0, kind) for name, kind in kinds.items()}}
    texts = size = done = 0
    for piece in pieces:
        tables = map_tables(piece.path)
        yield {"starts": np.full(piece.first - done, texts)}
        starts, offsets = texts + np.cumsum(tables["counts"]), size + np.cumsum(tables["lengths"])
        yield {"starts": starts, "offsets": offsets, **{name: tables[name] for name in kinds}}
        texts, size, done = texts + piece.texts, size + piece.size, piece.first + len(starts)
    yield {"starts": np.full(entities - done, texts)}


class TextIndex:
    """The texts of entities, read from disk.

    Attributes:
        keys: the keys of each text, see `text_keys`.
        languages, wikis: index of the language and of the wiki of each text.
        page_ids, rev_ids: the page and revision of each text; 0 for texts of Wikidata.
        sentence_ids: the sentence that each text is, 0 for other texts.

    Args:
        path: the path of the index.
    """

    def __init__(self, path: str) -> None:
        tables = open_tables(path)
        self.keys: Hashes = tables["keys"]
        self.languages, self.wikis = tables["language"], tables["wiki"]
        self.page_ids, self.rev_ids, self.sentence_ids = (tables[name] for name in ("page_id", "rev_id", "sentence_id"))
        self._starts = tables["starts"]
        buffers = [None, pa.py_buffer(tables["offsets"]), pa.py_buffer(tables["data"])]
        self._texts = pa.Array.from_buffers(pa.large_string(), len(self.keys), buffers)

    def texts(self, chosen: Ints) -> pa.Array:
        """Return texts by their index."""
        return self._texts.take(pa.array(chosen)).cast(pa.string())

    def keys_of(self, chosen: Ints) -> Hashes:
        """Return the hashes of texts by their index, 0 for -1."""
        return _at(self.keys, chosen)

    def languages_of(self, chosen: Ints) -> npt.NDArray[Any]:
        """Return the languages of texts by their index, 0 for -1."""
        return _at(self.languages, chosen)

    def counts_of(self, entities: Ints) -> Ints:
        """Return the number of texts of each entity."""
        counts: Ints = self._starts[entities + 1] - self._starts[entities]
        return counts

    def texts_of(self, entities: Ints) -> tuple[Ints, Ints]:
        """Return the texts of entities: for each text the index in `entities`, and the index of the text."""
        first, counts = self._starts[entities], self.counts_of(entities)
        rows = np.repeat(np.arange(len(entities)), counts)
        return rows, np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(len(rows))


def _at(values: npt.NDArray[Any], index: Ints) -> npt.NDArray[Any]:
    """Return values by their index, 0 for -1."""
    chosen = np.zeros(len(index), values.dtype)
    chosen[index >= 0] = values[index[index >= 0]]
    return chosen


class Choice(NamedTuple):
    """What `choose` returns, one array element for each row.

    Attributes:
        texts: index of the chosen text, -1 where there is none.
        has_text: whether the entity has a text in an accepted language.
    """

    texts: Ints
    has_text: Mask


class LanguageRule(NamedTuple):
    """Which languages are accepted.

    Attributes:
        name: one of `schemas.choices.LANGUAGES`.
        every: index of the language `EVERY_LANGUAGE`, -1 without it.
        is_ranked: with "any", take the anchor's language if there is a text in it, else the first one that has a text.
    """

    name: str
    every: int
    is_ranked: bool

    def accepts(self, languages: npt.NDArray[Any], anchors: npt.NDArray[Any]) -> Mask:
        """Return whether a text's language goes with that of its anchor."""
        if self.name == "any":
            return np.ones(len(languages), np.bool_)
        same: Mask = languages == anchors
        return same | (languages == self.every) if self.name == "same" else ~same & (languages != self.every)


def choose(
    index: TextIndex,
    entities: Ints,
    languages: npt.NDArray[Any],
    hashes: Hashes,
    rule: LanguageRule,
    is_allowed: Callable[[Ints, Ints], Mask],
) -> Choice:
    """Choose a text of an entity for each row, uniformly from those allowed.

    Args:
        index: the index of the texts.
        entities: (rows,) dense ids.
        languages: (rows,) index of the anchor's language.
        hashes: (rows,) from which the choice follows.
        rule: accepted languages.
        is_allowed: returns for (index of the row, index of the text) whether this text can be chosen.
    """
    rows, texts = index.texts_of(entities)
    accepted = rule.accepts(index.languages[texts], languages[rows])
    rows, texts = rows[accepted], texts[accepted]
    has_text = np.bincount(rows, minlength=len(entities)) > 0
    if rule.is_ranked and rule.name == "any":
        rank = np.where(index.languages[texts] == languages[rows], -1, index.languages[texts]).astype(np.int64)
        best = np.full(len(entities), np.iinfo(np.int64).max)
        np.minimum.at(best, rows, rank)
        is_best = rank == best[rows]
        rows, texts = rows[is_best], texts[is_best]
    # After the language: a text in another language is no substitute for one that is not allowed.
    allowed = is_allowed(rows, texts)
    rows, texts = rows[allowed], texts[allowed]
    counts = np.bincount(rows, minlength=len(entities))
    first, some = np.cumsum(counts) - counts, np.flatnonzero(counts)
    chosen = np.full(len(entities), -1, np.int64)
    chosen[some] = texts[first[some] + below(hashes[some], counts[some])]
    return Choice(chosen, has_text)
