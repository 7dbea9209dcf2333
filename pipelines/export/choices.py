"""Choose the texts of rows: anchor, positive, negatives.

`choose_texts` saves what it chose for each row of pairs, with the keys by which others are left out (`caps`), and
`rows.export_shard` writes the rows that stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.io.storage import file_size
from wikianchor.pipelines.arrays.hashing import Hashes, mix
from wikianchor.pipelines.arrays.minhash import band_keys
from wikianchor.pipelines.arrays.tables import HashSet, distinct, open_tables, read_table, save_tables
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.dataset.workspace import WorkPath
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.export.anchors import closest_first
from wikianchor.pipelines.export.core_texts import ANCHOR, closeness, masked_keys, text_keys, weak_anchors
from wikianchor.pipelines.export.links import link_hashes
from wikianchor.pipelines.export.task import REASONS, ExportTask, InputShard
from wikianchor.pipelines.export.text_index import Choice, Ints, LanguageRule, Mask, TextIndex, choose
from wikianchor.pipelines.export.texts import LEAD, NAMES, SENTENCE

_COLUMNS = (
    *("text", "mention_start", "mention_end", "entity_id", "hard_negative_ids"),
    *("sentence_id", "wiki", "page_id", "title"),
)
# Those of keys.
_OF_KEYS = (*ANCHOR, "entity_id", "sentence_id")


class Indexes(NamedTuple):
    """The paths of the look-up tables that rows are made with.

    Attributes:
        anchor: the texts of the anchors; None for the sentences of pairs.
        positive: the texts of the positives.
        negative: the texts of the negatives; None for no negatives.
        linked: the hashes of sampled sentences and entities; None where negatives are not sentences.
    """

    anchor: str | None
    positive: str
    negative: str | None = None
    linked: str | None = None


class ShardChoices(NamedTuple):
    """What was chosen for the rows of a shard of pairs, in its order.

    Attributes:
        order: the number of the shard.
        texts: path of the tables of `Chosen`.
        keys: path of the tables of `RowKeys`; that of `texts` without a cap.
        anchors: path of the tables of `compare_anchors`; that of `texts` before that.
    """

    order: int
    texts: WorkPath
    keys: WorkPath
    anchors: WorkPath


class Chosen(NamedTuple):
    """The texts of rows of pairs, (rows,) each.

    Attributes:
        reasons: index of the reason, 0 for rows that have all their texts.
        anchors: index of the anchor's text; -1 for the sentence of the pair.
        positives: index of the positive; -1 for none.
        negatives: (rows, negatives) index of the negatives; -1 for none.
        positions: (rows, negatives) which hard negatives of the pair these are.
    """

    reasons: Ints
    anchors: Ints
    positives: Ints
    negatives: Ints
    positions: Ints

    def slice(self, first: int, last: int) -> Chosen:
        """Return the rows [first, last)."""
        return Chosen._make(column[first:last] for column in self)


class RowKeys(NamedTuple):
    """The keys of rows that have all their texts; see `caps`.

    Attributes:
        entities: (rows,) the linked entities.
        positives: (rows, 1) keys of the positives.
        ranks: (rows,) ranks.
    """

    entities: npt.NDArray[np.int32]
    positives: Hashes
    ranks: Hashes


class _Pairs(NamedTuple):
    """Rows of pairs, (rows,) each.

    Attributes:
        ids, sentences: the linked entity and the sentence.
        languages: index of the sentence's language.
        wikis, pages: the page of the sentence.
        keys: hash of the anchor's text (`text_keys`); 0 where no text is a positive of the entity.
    """

    ids: Ints
    sentences: Ints
    languages: npt.NDArray[np.int16]
    wikis: npt.NDArray[np.int16]
    pages: Ints
    keys: Hashes

    def at(self, rows: Ints) -> _Pairs:
        """Return the rows at indices."""
        return _Pairs._make(column[rows] for column in self)


def choose_texts(
    shard: InputShard, task: ExportTask, anchor: str | None, positive: str, negative: str | None, linked: str | None
) -> ShardChoices:
    """Choose the texts of the rows of a shard, and save them.

    Args:
        shard: the shard of pairs.
        task: how rows are made.
        anchor, positive, negative, linked: the paths of `Indexes`.
    """
    chooser = _TextChooser(task, Indexes(anchor, positive, negative, linked))
    chosen, keys = list[Chosen](), list[RowKeys]()
    for batch in read_batches(shard.path, _COLUMNS):
        chosen.append(chooser.choose(batch))
        if task.caps:
            keys.append(chooser.keys(batch, chosen[-1]))
    totals = {"rows": sum(len(piece.reasons) for piece in chosen)}
    ProgressFile(task.work.scratch, f"choose-{shard.order}").write(file_size(shard.path), totals)
    texts = _save(task, f"chosen-{shard.order:06d}", chosen)
    return ShardChoices(shard.order, texts, _save(task, f"keys-{shard.order:06d}", keys) if keys else texts, texts)


def _save(task: ExportTask, name: str, pieces: Sequence[Chosen] | Sequence[RowKeys]) -> WorkPath:
    columns = {field: np.concatenate([getattr(piece, field) for piece in pieces]) for field in pieces[0]._fields}
    return save_tables(task.work.scratch, name, columns)


def compare_anchors(
    shard: InputShard,
    task: ExportTask,
    choices: Mapping[int, ShardChoices],
    positive_cap: str | None,
    anchor: str | None,
    positive: str,
) -> ShardChoices:
    """Save the keys of the anchors of a shard.

    Most sentences of a large entity have too common a positive. Of nearly equal ones that of smallest rank stays, so
    that only those are compared whose rank is not above all ranks that positives of the entity leave.

    The tables are `rows`, (compared,) indices among the rows of `RowKeys`; `anchors`, (compared, bands) keys, of which
    nearly equal anchors have one in common; and `ranks`.

    Args:
        shard: the shard of pairs.
        task: how rows are made.
        choices: what was chosen for the rows of each shard.
        positive_cap: the path of the table of `caps.cap_rows`; None for no cap.
        anchor, positive: the paths of `Indexes`.
    """
    chooser, paths_of = _TextChooser(task, Indexes(anchor, positive)), choices[shard.order]
    chosen = Chosen(*(read_table(paths_of.texts, name) for name in Chosen._fields))
    ranks, compared = read_table(paths_of.keys, "ranks"), np.flatnonzero(chosen.reasons == 0)
    numbers = np.arange(len(ranks))
    if positive_cap and task.unrelated is not None:
        entities = read_table(paths_of.keys, "entities")
        numbers = np.flatnonzero(ranks <= _greatest_ranks(positive_cap, open_index(positive), entities))
        compared = compared[numbers]
    keys, first = [np.zeros((0, 1 if task.near_duplicates else task.bands), np.uint64)], 0
    for batch in read_batches(shard.path, (*ANCHOR, "entity_id", "wiki")):
        rows = compared[slice(*np.searchsorted(compared, (first, first + batch.num_rows)))]
        pairs = batch.take(pa.array(rows - first))
        keys.append(chooser.anchor_keys(pairs, chosen.anchors[rows], chosen.positives[rows]))
        first += batch.num_rows
    ProgressFile(task.work.scratch, f"compare-{shard.order}").write(file_size(shard.path), {"rows": first})
    tables = {"rows": numbers, "anchors": np.concatenate(keys), "ranks": ranks[numbers]}
    return paths_of._replace(anchors=save_tables(task.work.scratch, f"anchors-{shard.order:06d}", tables))


def _greatest_ranks(path: str, positives: TextIndex, entities: npt.NDArray[np.int32]) -> Hashes:
    """Return the greatest rank that the cap of positives leaves to a row of each of some entities.

    Args:
        path: the path of the table of `caps.cap_rows`.
        positives: the texts that positives are chosen from.
        entities: the entities.
    """
    full = open_tables(path)
    rows, texts = positives.texts_of(entities.astype(np.int64))
    ranks = np.zeros(len(entities), np.uint64)
    # A positive with few rows, of index -1, leaves them all.
    of_full = np.append(full["ranks"], np.uint64(2**64 - 1))
    np.maximum.at(ranks, rows, of_full[HashSet(full["keys"]).find(positives.keys[texts])])
    return ranks


class _TextChooser:
    """Choose anchors, positives and negatives for the rows of pairs."""

    def __init__(self, task: ExportTask, indexes: Indexes) -> None:
        self._task = task
        self._anchor = open_index(indexes.anchor) if indexes.anchor else None
        self._positive = open_index(indexes.positive)
        self._negative = open_index(indexes.negative) if indexes.negative else None
        self._linked = HashSet(open_tables(indexes.linked)["hashes"]) if indexes.linked else None

    def choose(self, batch: pa.RecordBatch) -> Chosen:
        """Choose the texts of each row, without a look at other rows."""
        task = self._task
        wikis = task.wiki_codes(batch.column("wiki"))
        pairs = _Pairs(
            ids=batch.column("entity_id").to_numpy().astype(np.int64),
            sentences=batch.column("sentence_id").to_numpy(),
            languages=task.language_codes(wikis),
            wikis=wikis,
            pages=batch.column("page_id").to_numpy(),
            keys=np.zeros(batch.num_rows, np.uint64),
        )
        reasons = np.zeros(len(pairs.ids), np.int64)
        anchors = np.full(len(pairs.ids), -1)
        if self._anchor:
            # The anchor is a text of the entity in the wiki of the pair.
            of_anchor = choose(
                self._anchor,
                entities=pairs.ids,
                languages=pairs.languages,
                hashes=mix(task.seed, pairs.sentences, pairs.ids, -2),
                rule=LanguageRule("same", -1, is_ranked=False),
                is_allowed=lambda rows, texts: np.ones(len(rows), np.bool_),
            )
            anchors = of_anchor.texts
            pairs = pairs._replace(keys=self._anchor.keys_of(anchors))
            reasons[anchors < 0] = REASONS.index("no_anchor_text")
        else:
            # Rows without a positive need no key.
            has_text = self._positive.counts_of(pairs.ids) > 0
            pairs.keys[has_text] = text_keys(batch.column("text").filter(pa.array(has_text)))
        positives = self._positives(pairs, anchors)
        reasons[(positives < 0) & (reasons == 0)] = REASONS.index("no_positive_text")
        rest = np.flatnonzero(reasons == 0)
        if self._anchor is None:
            weak = weak_anchors(batch.select(ANCHOR).take(pa.array(rest)))
            reasons[rest[weak]] = REASONS.index("weak_anchor")
            rest = rest[~weak]
        negatives = np.full((len(reasons), task.negatives), -1)
        positions = np.zeros_like(negatives)
        if self._negative:
            hard_negatives = list_matrix(batch.column("hard_negative_ids"))[rest]
            negatives[rest], positions[rest], reasons[rest] = self._negatives(
                hard_negatives, pairs.at(rest), positives[rest]
            )
        return Chosen(reasons, anchors, positives, negatives, positions)

    def _positives(self, pairs: _Pairs, anchors: Ints) -> Ints:
        """Choose the positives of rows, given the indices of their anchors."""
        task, index = self._task, self._positive

        def is_positive(rows: Ints, texts: Ints) -> Mask:
            is_other: Mask = index.keys[texts] != pairs.keys[rows]
            if task.is_of_one_page and self._anchor:
                is_other &= index.sentence_ids[texts] == self._anchor.sentence_ids[anchors[rows]]
            elif task.positive == SENTENCE:
                is_other &= index.sentence_ids[texts] != pairs.sentences[rows]
            elif task.positive == LEAD and not self._anchor:
                # The sentence may be one of the lead's.
                is_other &= (index.page_ids[texts] != pairs.pages[rows]) | (index.wikis[texts] != pairs.wikis[rows])
            return is_other

        return choose(
            index,
            entities=pairs.ids,
            languages=pairs.languages,
            hashes=mix(task.seed, pairs.sentences, pairs.ids, 0),
            rule=task.rule(task.positive),
            is_allowed=is_positive,
        ).texts

    def keys(self, batch: pa.RecordBatch, chosen: Chosen) -> RowKeys:
        """Return the keys and ranks of the rows that have all their texts; see `caps`.

        Args:
            batch: rows of pairs.
            chosen: their texts.
        """
        kept = np.flatnonzero(chosen.reasons == 0)
        pairs, positives = batch.select(_OF_KEYS).take(pa.array(kept)), chosen.positives[kept]
        columns = (pairs.column(name).to_numpy() for name in ("sentence_id", "entity_id", "mention_start"))
        ranks = mix(self._task.seed, *columns, -1)
        if self._anchor is None:
            distinct_positives, index = np.unique(positives, return_inverse=True)
            ranks = closest_first(closeness(pairs, self._positive.texts(distinct_positives), index), ranks)
        return RowKeys(pairs.column("entity_id").to_numpy(), self._positive.keys_of(positives)[:, None], ranks)

    def anchor_keys(self, pairs: pa.RecordBatch, anchors: Ints, positives: Ints) -> Hashes:
        """Return (rows, bands) keys of anchors.

        Nearly equal anchors have a key in common: sentences without their link and the title of their page, where they
        link to one entity; other anchors where they are in one language. Of a title, the positive is compared instead.

        Args:
            pairs: rows of pairs.
            anchors, positives: the indices of their texts.
        """
        task = self._task
        languages = task.language_codes(task.wiki_codes(pairs.column("wiki")))
        if task.near_duplicates:
            texts = self._anchor.texts(anchors) if self._anchor else pairs.column("text")
            return mix(0, languages, text_keys(texts).view(np.int64))[:, None]
        if self._anchor is None:
            return masked_keys(pairs, mix(0, pairs.column("entity_id").to_numpy()), task.bands)
        texts = self._positive.texts(positives) if task.anchor in NAMES else self._anchor.texts(anchors)
        return band_keys(texts.to_pylist(), mix(0, languages), task.bands)

    def _negatives(self, of_row: Ints, pairs: _Pairs, positives: Ints) -> tuple[Ints, Ints, Ints]:
        """Choose the negatives of rows; return their texts, their positions, and the reason of each row.

        Args:
            of_row: (rows, any) the hard negatives of each row; -1 for none.
            pairs: the rows.
            positives: the indices of their positives.
        """
        choices = self._negative_texts(of_row, pairs, positives)
        texts = np.stack([choice.texts for choice in choices], axis=1)
        has_text = np.stack([choice.has_text for choice in choices], axis=1).sum(axis=1)
        # The first that have a text, in the order of the row.
        positions = np.argsort(texts < 0, axis=1, kind="stable")[:, : self._task.negatives]
        negatives = np.take_along_axis(texts, positions, axis=1)
        no_text, equal = REASONS.index("no_negative_text"), REASONS.index("equal_negative")
        why = np.where(has_text < self._task.negatives, no_text, equal)
        return negatives, positions, np.where((negatives < 0).any(axis=1), why, 0)

    def _negative_texts(self, of_row: Ints, pairs: _Pairs, positives: Ints) -> list[Choice]:
        """Choose a text for each hard negative: one that is no text of the row's entity, not the anchor, not that of
        another negative, and no sentence that links to the row's entity."""
        task, index, linked = self._task, self._negative, self._linked
        assert index is not None
        ids = pairs.ids
        taken = [_pair(np.arange(len(ids)), pairs.keys)]
        for texts_index in dict.fromkeys((self._positive, index)):
            of_entity, texts = texts_index.texts_of(ids)
            taken.append(_pair(of_entity, texts_index.keys[texts]))
        # Texts for every language tell nothing of the language that negatives should have.
        languages = self._positive.languages_of(positives)
        languages = np.where(languages != task.every_language, languages, pairs.languages)
        choices = []
        for number, negatives in enumerate(of_row.T):
            excluded = HashSet(distinct(np.concatenate(taken)))

            def is_negative(row: Ints, texts: Ints, excluded: HashSet = excluded, of: Ints = negatives) -> Mask:
                allowed: Mask = (excluded.find(_pair(row, index.keys[texts])) < 0) & (of[row] >= 0)
                if linked is not None:
                    allowed &= linked.find(link_hashes(index.sentence_ids[texts], ids[row])) < 0
                return allowed

            choice = choose(
                index,
                # A row with too few negatives has -1 there, which stands for entity 0 and is never chosen.
                entities=np.maximum(negatives, 0),
                languages=languages,
                hashes=mix(task.seed, pairs.sentences, ids, 1 + number),
                rule=task.negative_rule(),
                is_allowed=is_negative,
            )
            choices.append(choice._replace(has_text=choice.has_text & (negatives >= 0)))
            chosen = np.flatnonzero(choice.texts >= 0)
            taken.append(_pair(chosen, index.keys[choice.texts[chosen]]))
        return choices


@lru_cache(maxsize=4)
def open_index(path: str) -> TextIndex:
    """Open an index; a process opens each one once."""
    return TextIndex(path)


def _pair(rows: Ints, keys: Hashes) -> Hashes:
    """Return a hash of each (row, text)."""
    return mix(0, rows, keys.view(np.int64))


def list_matrix(lists: pa.ListArray) -> Ints:
    """Return lists as the rows of a matrix, with -1 after the end of a shorter one."""
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    matrix = np.full((len(lists), int(lengths.max(initial=0))), -1, np.int64)
    rows = np.repeat(np.arange(len(lists)), lengths)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    matrix[rows, within] = lists.flatten().to_numpy()
    return matrix
