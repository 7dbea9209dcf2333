"""The steps of `wikianchor export`: sample sentences of each entity, read texts of Wikidata, write rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.io.storage import file_size
from wikianchor.pipelines.arrays.hashing import Hashes, mix
from wikianchor.pipelines.arrays.spill import Spill, hash_range, rows_of
from wikianchor.pipelines.arrays.tables import distinct, find, open_tables, read_table, save_pieces, save_tables
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.dataset.text_part_writer import TextPartWriter
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.export.text_index import (
    EVERY_LANGUAGE,
    TEXT_ROW,
    Choice,
    Ints,
    LanguageRule,
    Mask,
    TextIndex,
    choose,
    text_keys,
)
from wikianchor.schemas import export
from wikianchor.schemas.choices import FORMATS

SENTENCE = "sentence"
# The column of `entities` that has the texts of a kind.
COLUMNS = {"label": "labels", "description": "descriptions", "alias": "aliases"}
# Why a row of `pairs` is or is not exported.
REASONS = ("kept", "no_positive_text", "no_negative_text", "equal_negative")
PAIR_COLUMNS = (
    *("text", "entity_id", "entity_qid", "hard_negative_ids", "hard_negative_qids", "sentence_id"),
    *("wiki", "page_id", "rev_id", "title"),
)
# Hashes that are sorted in memory at a time.
HASHES_AT_ONCE = 1 << 22
_HASH = np.dtype([("hash", np.uint64)])


class InputShard(NamedTuple):
    """A shard of `pairs` or `entities`, with its number among them."""

    order: int
    path: str


@dataclass(frozen=True)
class ExportTask:
    """How rows of pairs become rows of text.

    Attributes:
        work: the directories of the run.
        format: the format of the files, one of `schemas.choices.FORMATS`.
        positive, negative: kinds of text.
        language: accepted languages, one of `schemas.choices.LANGUAGES`.
        negatives: the number of negatives of a row.
        sentences: sampled sentences of an entity.
        seed: key of all choices.
        wikis: database names; texts name them by index.
        wiki_languages: the language of each wiki.
        languages: all languages, those of labels first and in the order of --labels.
        entities: number of entities.
        dataset: directory of `entities`, "" where labels are those of `pairs`.
    """

    work: Workspace
    format: str
    positive: str
    negative: str
    language: str
    negatives: int
    sentences: int
    seed: int
    wikis: tuple[str, ...]
    wiki_languages: tuple[str, ...]
    languages: tuple[str, ...]
    entities: int
    dataset: str

    def wiki_codes(self, wikis: pa.Array) -> npt.NDArray[np.int16]:
        """Return the index of each wiki."""
        codes = pc.index_in(wikis, value_set=pa.array(self.wikis))
        return codes.to_numpy(zero_copy_only=False).astype(np.int16)

    def language_codes(self, wiki_codes: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        """Return the index of the language of each wiki, given by index."""
        return np.array([self.languages.index(code) for code in self.wiki_languages], np.int16)[wiki_codes]

    def rule(self, kind: str) -> LanguageRule:
        """Return which languages of a kind of text are accepted."""
        every = self.languages.index(EVERY_LANGUAGE) if EVERY_LANGUAGE in self.languages else -1
        return LanguageRule(self.language, every, kind != SENTENCE)


class Exported(NamedTuple):
    """The files of a shard, and by wiki the number of rows for each of `REASONS`."""

    parts: tuple[Part, ...]
    counts: dict[str, tuple[int, ...]]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        totals = np.sum(list(self.counts.values()), axis=0).tolist()
        return {
            **{f"rows:{name}": number for name, number in zip(REASONS, totals, strict=True)},
            "bytes:written": sum(part.size for part in self.parts),
        }


def list_shards(directory: str, config: str) -> Iterator[InputShard]:
    """Yield the shards of a config."""
    for order, path in enumerate(shards_of(directory, config)):
        yield InputShard(order, path)


def count_rows(shard: InputShard, work: Workspace) -> WorkPath:
    """Count the rows of each entity in a shard of pairs; return the path of the table."""
    ids = [np.zeros(0, np.int32)]
    ids += [batch.column("entity_id").to_numpy() for batch in read_batches(shard.path, ["entity_id"])]
    entities, counts = np.unique(np.concatenate(ids), return_counts=True)
    return save_tables(work.scratch, f"count-{shard.order:06d}", {"entities": entities, "counts": counts})


def sum_counts(paths: Iterable[str], entities: int, work: Workspace) -> WorkPath:
    """Add up the rows of each entity in all shards; return the path of the table."""
    total = np.zeros(entities, np.int64)
    for path in paths:
        total[read_table(path, "entities")] += read_table(path, "counts")
    return save_tables(work.scratch, "rows", {"rows": total})


def sample_sentences(shard: InputShard, task: ExportTask, counts: str) -> Generator[pa.Table, None, int]:
    """Yield the sentences of a shard that may be in the sample of their entity, in TEXT_ROW; return their number.

    About twice as many as are needed pass the threshold of an entity, which follows from its number of rows, so that
    frequent entities do not go through the shuffle with all of their sentences.
    """
    rows, sampled = open_tables(counts)["rows"], 0
    for batch in read_batches(shard.path, ["text", "entity_id", "sentence_id", "wiki", "page_id"]):
        ids = batch.column("entity_id").to_numpy().astype(np.int64)
        rank = mix(task.seed, ids, batch.column("sentence_id").to_numpy())
        share = (2 * task.sentences + 8) / rows[ids]
        selected = pa.array((rank >> np.uint64(11)).astype(np.float64) < share * 2.0**53)
        wikis = task.wiki_codes(batch.column("wiki"))
        columns = {
            "entity_id": pa.array(ids.astype(np.uint64)),
            "rank": pa.array(rank),
            "text": batch.column("text"),
            "language": pa.array(task.language_codes(wikis)),
            "wiki": pa.array(wikis),
            "page_id": batch.column("page_id"),
            "sentence_id": batch.column("sentence_id"),
        }
        table = pa.table(columns, TEXT_ROW).filter(selected)
        sampled += table.num_rows
        yield table
    ProgressFile(task.work.scratch, f"sample-{shard.order}").write(file_size(shard.path), {})
    return sampled


def index_items(pairs: str, work: Workspace) -> WorkPath:
    """Save the items of the entities, to find a dense id; return the path of the table."""
    batches = [batch for path in shards_of(pairs, "entities") for batch in read_batches(path, ["qid"])]
    qids = np.concatenate([np.zeros(0, np.int64), *(batch.column("qid").to_numpy() for batch in batches)])
    order = np.argsort(qids)
    return save_tables(work.scratch, "items", {"qids": qids[order], "ids": order})


def read_texts(shard: InputShard, task: ExportTask, kind: str, items: str) -> Generator[pa.Table, None, int]:
    """Yield the labels, descriptions or aliases in a shard of entities, in TEXT_ROW; return their number."""
    tables, number = open_tables(items), 0
    column = COLUMNS[kind]
    for batch in read_batches(shard.path, ["qid", column] if task.dataset else ["qid", "label"]):
        index = find(tables["qids"], batch.column("qid").to_numpy())
        if task.dataset:
            lists = batch.column(column)
            owners = pc.list_parent_indices(lists).to_numpy()
            entries = lists.flatten()
            texts, languages = entries.field("text"), entries.field("language")
        else:
            # The label in `pairs` is in one language, and the dataset does not say which.
            owners = np.flatnonzero(batch.column("label").is_valid().to_numpy(zero_copy_only=False))
            texts = batch.column("label").drop_null()
            languages = pa.repeat(EVERY_LANGUAGE, len(texts))
        codes = pc.fill_null(pc.index_in(languages, value_set=pa.array(task.languages)), -1)
        codes = codes.to_numpy(zero_copy_only=False).astype(np.int16)
        known = (index[owners] >= 0) & (codes >= 0) & pc.not_equal(texts, "").to_numpy(zero_copy_only=False)
        # The order of a text among those of its entity, which are in one row.
        rank = np.arange(len(owners), dtype=np.uint64)
        none = np.zeros(len(owners), np.int64)
        ids = tables["ids"][index[owners[known]]].astype(np.uint64)
        columns = [rank[known], texts.filter(pa.array(known)), codes[known], none[known].astype(np.int16)]
        table = pa.table([pa.array(ids), *map(pa.array, columns), none[known], none[known]], TEXT_ROW)
        number += table.num_rows
        yield table
    return number


def sampled_sentences(index: str, work: Workspace) -> WorkPath:
    """Save the ids of all sampled sentences, ascending; return the path of the table."""
    return save_tables(work.scratch, "sampled", {"sentences": distinct(read_table(index, "sentence_id"))})


def find_links(shard: InputShard, sampled: str, work: Workspace) -> WorkPath:
    """Hash (sentence, entity) of the rows of a shard whose sentence is sampled; return the path of the table."""
    sentences, hashes = open_tables(sampled)["sentences"], [np.zeros(0, np.uint64)]
    for batch in read_batches(shard.path, ["sentence_id", "entity_id"]):
        ids = batch.column("sentence_id").to_numpy()
        is_sampled = find(sentences, ids) >= 0
        hashes.append(link_hashes(ids[is_sampled], batch.column("entity_id").to_numpy()[is_sampled]))
    return save_tables(work.scratch, f"linked-{shard.order:06d}", {"hashes": np.concatenate(hashes)})


def link_hashes(sentences: Ints, entities: npt.NDArray[Any]) -> Hashes:
    """Return a hash of each (sentence, linked entity)."""
    return mix(0, sentences, entities)


def join_links(paths: Sequence[str], work: Workspace) -> WorkPath:
    """Sort the hashes of all shards, one partition at a time in memory; return the path of the table."""
    ordered = sorted(paths)
    total = sum(len(open_tables(path)["hashes"]) for path in ordered)
    parts = max(1, -(-total // HASHES_AT_ONCE))
    with Spill(_HASH, parts, work.scratch) as spill:
        for path in ordered:
            hashes = read_table(path, "hashes")
            spill.add(rows_of(_HASH, hash=hashes), hash_range(hashes, parts))
        pieces = ({"hashes": np.sort(spill.read(part)["hash"])} for part in range(parts))
        return save_pieces(work.scratch, "linked", {"hashes": total}, pieces)


def export_shard(
    shard: InputShard, task: ExportTask, positive: str, negative: str | None, linked: str | None
) -> Exported:
    """Write the rows of a shard of pairs, in its order.

    Args:
        shard: the shard of pairs.
        task: how rows are made.
        positive: path of the index of the positives.
        negative: path of the index of the negatives; None for none.
        linked: path of the hashes of sampled sentences and entities; None where negatives are not sentences.
    """
    texts = _Texts(task, positive, negative, linked)
    counts: dict[str, npt.NDArray[np.int64]] = {}
    with (
        _writer(task, shard.order, export.rows_schema(task.negatives)) as rows_file,
        PartWriter(task.work.parts, "sources", shard.order, export.SOURCES) as sources_file,
    ):
        for batch in read_batches(shard.path, PAIR_COLUMNS):
            reasons, rows, sources = texts.rows(batch)
            rows_file.write(rows)
            sources_file.write(sources)
            wikis = task.wiki_codes(batch.column("wiki"))
            for wiki in np.unique(wikis):
                numbers = np.bincount(reasons[wikis == wiki], minlength=len(REASONS))
                name = task.wikis[wiki]
                counts[name] = counts.get(name, np.zeros(len(REASONS), np.int64)) + numbers
    parts = tuple(writer.part for writer in (rows_file, sources_file) if writer.part)
    totals = Counter({"rows": sum(int(numbers.sum()) for numbers in counts.values())})
    ProgressFile(task.work.scratch, f"export-{shard.order}").write(file_size(shard.path), totals)
    return Exported(parts, {name: tuple(numbers.tolist()) for name, numbers in sorted(counts.items())})


def _writer(task: ExportTask, order: int, schema: pa.Schema) -> PartWriter | TextPartWriter:
    if task.format == FORMATS[0]:
        # Texts of Wikidata repeat, sentences hardly ever do.
        kinds = {"positive": task.positive, **{f"negative_{n}": task.negative for n in range(1, 1 + task.negatives)}}
        repeating = [name for name, kind in kinds.items() if kind != SENTENCE]
        return PartWriter(task.work.parts, "export", order, schema, repeating)
    return TextPartWriter(task.work.parts, "export", order, task.format)


class _Texts:
    """Find positives and negatives for the rows of pairs; the arguments are those of `export_shard`."""

    def __init__(self, task: ExportTask, positive: str, negative: str | None, linked: str | None) -> None:
        self._task = task
        self._positive = _open_index(positive)
        self._negative = None if negative is None else _open_index(negative)
        self._linked = None if linked is None else open_tables(linked)["hashes"]

    def rows(self, batch: pa.RecordBatch) -> tuple[Ints, pa.Table, pa.Table]:
        """Return for each row of pairs the index of its reason, and the rows of both configs."""
        task = self._task
        anchors = text_keys(batch.column("text"))
        ids = batch.column("entity_id").to_numpy().astype(np.int64)
        sentences = batch.column("sentence_id").to_numpy()
        wikis = task.wiki_codes(batch.column("wiki"))
        languages = task.language_codes(wikis)

        def is_positive(rows: Ints, texts: Ints) -> Mask:
            index = self._positive
            other: Mask = (index.keys[texts] != anchors[rows]) & (index.sentence_ids[texts] != sentences[rows])
            return other

        hashes = mix(task.seed, sentences, ids, 0)
        positives = choose(self._positive, ids, languages, hashes, task.rule(task.positive), is_positive)
        reasons = np.where(positives.texts < 0, REASONS.index("no_positive_text"), 0)
        negatives, places = np.full((len(ids), 0), -1), np.zeros((len(ids), 0), np.int64)
        if self._negative is not None:
            of_row = _matrix(batch.column("hard_negative_ids"))
            choices = self._negatives(of_row, ids, sentences, languages, anchors)
            texts = np.stack([choice.texts for choice in choices], axis=1)
            has_text = np.stack([choice.has_text for choice in choices], axis=1).sum(axis=1)
            # The first that have a text, in the order of the row.
            places = np.argsort(texts < 0, axis=1, kind="stable")[:, : task.negatives]
            negatives = np.take_along_axis(texts, places, axis=1)
            lacking = (negatives < 0).any(axis=1) & (reasons == 0)
            no_text, equal = REASONS.index("no_negative_text"), REASONS.index("equal_negative")
            why = np.where(has_text < task.negatives, no_text, equal)
            reasons = np.where(lacking, why, reasons)
        kept = np.flatnonzero(reasons == 0)
        return reasons, *self._tables(batch, kept, positives.texts[kept], negatives[kept], places[kept])

    def _negatives(
        self, of_row: Ints, ids: Ints, sentences: Ints, languages: npt.NDArray[np.int16], anchors: Hashes
    ) -> list[Choice]:
        """Choose a text for each hard negative: one that is no text of the row's entity, not the anchor, not that of
        another negative, and no sentence that links to the row's entity."""
        task, index, linked = self._task, self._negative, self._linked
        assert index is not None
        every = np.arange(len(ids))
        taken = [_pair(every, anchors)]
        for own in (self._positive, index):
            rows, texts = own.texts_of(ids)
            taken.append(_pair(rows, own.keys[texts]))
        choices = []
        for number, negatives in enumerate(of_row.T):
            excluded = distinct(np.concatenate(taken))

            def is_negative(rows: Ints, texts: Ints, excluded: Hashes = excluded, of: Ints = negatives) -> Mask:
                allowed = (find(excluded, _pair(rows, index.keys[texts])) < 0) & (of[rows] >= 0)
                if linked is not None:
                    allowed &= find(linked, link_hashes(index.sentence_ids[texts], ids[rows])) < 0
                return allowed

            hashes = mix(task.seed, sentences, ids, 1 + number)
            # A row with too few negatives has -1 there, which stands for entity 0 and is never chosen.
            choice = choose(index, np.maximum(negatives, 0), languages, hashes, task.rule(task.negative), is_negative)
            choices.append(choice._replace(has_text=choice.has_text & (negatives >= 0)))
            chosen = np.flatnonzero(choice.texts >= 0)
            taken.append(_pair(chosen, index.keys[choice.texts[chosen]]))
        return choices

    def _tables(
        self, batch: pa.RecordBatch, kept: Ints, positives: Ints, negatives: Ints, places: Ints
    ) -> tuple[pa.Table, pa.Table]:
        """Return the rows of both configs, given the indices of the rows that are kept and of their texts."""
        task, pairs = self._task, batch.take(pa.array(kept))
        index, count = self._positive, len(kept)
        columns = [pairs.column("text"), index.texts(positives)]
        if self._negative is not None:
            columns += [self._negative.texts(column) for column in negatives.T]
        rows = pa.table(columns, schema=export.rows_schema(task.negatives))
        names = pa.array(task.wikis, pa.string())
        of_wikidata = np.full(count, task.positive != SENTENCE)
        qids = np.take_along_axis(_matrix(pairs.column("hard_negative_qids")), places, axis=1)
        is_sentence = task.negative == SENTENCE and self._negative is not None
        texts = negatives if is_sentence else negatives[:, :0]
        wikis, pages = (
            (self._negative.wikis[texts], self._negative.page_ids[texts])
            if self._negative is not None
            else (texts, texts)
        )
        sources = {
            **{name: pairs.column(name) for name in ("entity_qid", "wiki", "page_id", "rev_id", "title")},
            "positive_wiki": names.take(pa.array(index.wikis[positives], mask=of_wikidata)),
            "positive_page_id": pa.array(index.page_ids[positives], mask=of_wikidata),
            "negative_qids": _lists(pa.array(qids.ravel()), qids.shape),
            "negative_wikis": _lists(names.take(pa.array(wikis.ravel())), wikis.shape),
            "negative_page_ids": _lists(pa.array(pages.ravel()), pages.shape),
        }
        return rows, pa.table(sources, export.SOURCES)


@lru_cache(maxsize=4)
def _open_index(path: str) -> TextIndex:
    """Open an index; a process opens each one once."""
    return TextIndex(path)


def _pair(rows: Ints, keys: Hashes) -> Hashes:
    """Return a hash of each (row, text)."""
    return mix(0, rows, keys.view(np.int64))


def _matrix(lists: pa.ListArray) -> Ints:
    """Return lists as the rows of a matrix, with -1 after the end of a shorter one."""
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    matrix = np.full((len(lists), int(lengths.max(initial=0))), -1, np.int64)
    rows = np.repeat(np.arange(len(lists)), lengths)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    matrix[rows, within] = lists.flatten().to_numpy()
    return matrix


def _lists(values: pa.Array, shape: tuple[int, ...]) -> pa.ListArray:
    """Return the rows of a matrix as lists."""
    rows, columns = shape
    kind = pa.list_(pa.field("element", values.type, nullable=False))
    return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32) * columns), values, type=kind)
