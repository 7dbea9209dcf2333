"""The steps of `wikianchor export`: sample sentences of each entity, read texts of Wikidata, write rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
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
from wikianchor.pipelines.export.anchors import closeness, is_weak, words_of
from wikianchor.pipelines.export.caps import is_over
from wikianchor.pipelines.export.minhash import OF_ANY, OF_ONE, band_keys
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
from wikianchor.pipelines.export.texts import COLUMNS, LEAD, NAMES, OF_PAGES, PAGE_TEXTS, SENTENCE, TITLE
from wikianchor.schemas import export
from wikianchor.schemas.choices import FORMATS

# Why a row of `pairs` is or is not exported.
REASONS = (
    *("kept", "no_anchor_text", "no_positive_text", "weak_anchor", "no_negative_text", "equal_negative"),
    *("near_duplicate", "over_cap"),
)
PAIR_COLUMNS = (
    *("text", "mention_start", "mention_end", "entity_id", "entity_qid", "hard_negative_ids", "hard_negative_qids"),
    *("sentence_id", "wiki", "page_id", "rev_id", "title"),
)
# Those of rows without an anchor or a positive: their entity is not eligible unless another row has both.
_LACKS_TEXT = (REASONS.index("no_anchor_text"), REASONS.index("no_positive_text"))
# Entities that are counted: of all rows; of those with an anchor and a positive; of those that are exported.
ENTITIES = ("seen", "eligible", "kept")
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
        anchor, positive, negative: kinds of text.
        language: accepted languages, one of `schemas.choices.LANGUAGES`.
        negatives: the number of negatives of a row.
        sentences: the number of sampled sentences of an entity.
        lead_sentences: the number of sentences of a lead.
        seed: key of all choices.
        wikis: database names; texts name them by index.
        wiki_languages: the language of each wiki.
        languages: all languages, those of labels first and in the order of --labels.
        entities: number of entities.
        dataset: directory of `entities`, "" where labels are those of `pairs`.
        near_duplicates: whether rows with nearly equal anchors are kept.
        max_per_positive: the largest number of rows of a positive, 0 for any number.
    """

    work: Workspace
    format: str
    anchor: str
    positive: str
    negative: str
    language: str
    negatives: int
    sentences: int
    lead_sentences: int
    seed: int
    wikis: tuple[str, ...]
    wiki_languages: tuple[str, ...]
    languages: tuple[str, ...]
    entities: int
    dataset: str
    near_duplicates: bool
    max_per_positive: int

    @property
    def caps(self) -> dict[str, int]:
        """How many rows of a key stay, by the column of the keys (`find_keys`). A text of an entity stands once as an
        anchor, whatever its near duplicates."""
        anchors = 0 if self.near_duplicates and self.anchor == SENTENCE else 1
        return {name: most for name, most in (("anchors", anchors), ("positives", self.max_per_positive)) if most}

    @property
    def bands(self) -> int:
        """The number of keys of an anchor (`minhash`)."""
        return OF_ONE if self.anchor == SENTENCE else OF_ANY

    @property
    def is_of_one_page(self) -> bool:
        """Whether anchor and positive are texts of one page, which belong together."""
        return self.language == "same" and {self.anchor, self.positive}.issubset(PAGE_TEXTS)

    def wiki_codes(self, wikis: pa.Array) -> npt.NDArray[np.int16]:
        """Return the index of each wiki."""
        codes = pc.index_in(wikis, value_set=pa.array(self.wikis))
        return codes.to_numpy(zero_copy_only=False).astype(np.int16)

    def language_codes(self, wiki_codes: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        """Return the index of the language of each wiki, given by index."""
        return np.array([self.languages.index(code) for code in self.wiki_languages], np.int16)[wiki_codes]

    def entity_keys(self, wiki_codes: npt.NDArray[np.int16], entities: npt.NDArray[Any]) -> Ints:
        """Return a number for each (wiki, entity), below `len(wikis) * entities`."""
        return wiki_codes.astype(np.int64) * self.entities + entities

    def rule(self, kind: str) -> LanguageRule:
        """Return which languages of a kind of text are accepted."""
        return LanguageRule(self.language, self.every_language, kind not in OF_PAGES)

    @property
    def every_language(self) -> int:
        """The index of `EVERY_LANGUAGE`, -1 without it."""
        return self.languages.index(EVERY_LANGUAGE) if EVERY_LANGUAGE in self.languages else -1

    def negative_rule(self) -> LanguageRule:
        """Return which languages of negatives go with the language of the positive: no other, so that the language does
        not tell the positive from them."""
        rule = self.rule(self.negative)
        return rule if rule.is_ranked and rule.name == "any" else rule._replace(name="same")


class Exported(NamedTuple):
    """What was made of a shard.

    Attributes:
        parts: its files.
        counts: by wiki the number of rows for each of `REASONS`.
        entities: path of the tables ENTITIES: the entities of its rows (`ExportTask.entity_keys`).
    """

    parts: tuple[Part, ...]
    counts: dict[str, tuple[int, ...]]
    entities: WorkPath

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
    for batch in read_batches(shard.path, ["text", "entity_id", "sentence_id", "wiki", "page_id", "rev_id"]):
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
            "rev_id": batch.column("rev_id"),
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
        table = pa.table([pa.array(ids), *map(pa.array, columns), *(none[known] for _ in range(3))], TEXT_ROW)
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


class RowKeys(NamedTuple):
    """The keys of the rows of a shard of pairs that have all their texts, in its order.

    Attributes:
        order: the number of the shard.
        path: path of the tables `anchors` and `positives`, (rows, keys of a row), and `ranks`; see `caps`.
    """

    order: int
    path: WorkPath


def find_keys(shard: InputShard, task: ExportTask, *paths: str | None) -> RowKeys:
    """Save the keys and ranks of the rows of a shard that have all their texts.

    Args:
        shard: the shard of pairs.
        task: how rows are made.
        paths: the fields of `Indexes`.
    """
    texts = _Texts(task, Indexes(*paths))  # type: ignore[arg-type]
    none = np.zeros((0, 1 if task.near_duplicates else task.bands), np.uint64)
    columns = {"anchors": [none], "positives": [none[:, :1]], "ranks": [none[:, 0]]}
    for batch in read_batches(shard.path, PAIR_COLUMNS):
        for name, values in texts.keys(batch).items():
            columns[name].append(values)
    arrays = {name: np.concatenate(pieces) for name, pieces in columns.items()}
    return RowKeys(shard.order, save_tables(task.work.scratch, f"keys-{shard.order:06d}", arrays))


def export_shard(
    shard: InputShard,
    task: ExportTask,
    keys: Mapping[int, RowKeys],
    anchor_cap: str | None,
    positive_cap: str | None,
    *paths: str | None,
) -> Exported:
    """Write the rows of a shard of pairs, in its order.

    Args:
        shard: the shard of pairs.
        task: how rows are made.
        keys: the keys of each shard; none without caps.
        anchor_cap, positive_cap: the paths of the tables of `caps.cap_rows`; None for no cap.
        paths: the fields of `Indexes`.
    """
    texts = _Texts(task, Indexes(*paths))  # type: ignore[arg-type]
    limits = {"positives": positive_cap, "anchors": anchor_cap}
    over = rows_over(keys[shard.order].path, limits) if any(limits.values()) else None
    counts: dict[str, npt.NDArray[np.int64]] = {}
    entities: dict[str, list[Ints]] = {name: [np.zeros(0, np.int64)] for name in ENTITIES}
    first = 0
    with (
        _writer(task, shard.order, export.rows_schema(task.negatives)) as rows_file,
        PartWriter(task.work.parts, "sources", shard.order, export.SOURCES) as sources_file,
    ):
        for batch in read_batches(shard.path, PAIR_COLUMNS):
            rows = texts.choose(batch)
            reasons, candidates = rows.reasons, np.flatnonzero(rows.reasons == 0)
            if over is not None:
                reasons[candidates] = over[first : first + len(candidates)]
            first += len(candidates)
            of_rows, of_sources = texts.tables(batch, rows, np.flatnonzero(reasons == 0))
            rows_file.write(of_rows)
            sources_file.write(of_sources)
            wikis = task.wiki_codes(batch.column("wiki"))
            of_entities = task.entity_keys(wikis, batch.column("entity_id").to_numpy())
            masks = (reasons >= 0, ~np.isin(reasons, _LACKS_TEXT), reasons == 0)
            for name, mask in zip(ENTITIES, masks, strict=True):
                entities[name].append(distinct(of_entities[mask]))
            for wiki in np.unique(wikis):
                numbers = np.bincount(reasons[wikis == wiki], minlength=len(REASONS))
                name = task.wikis[wiki]
                counts[name] = counts.get(name, np.zeros(len(REASONS), np.int64)) + numbers
    parts = tuple(writer.part for writer in (rows_file, sources_file) if writer.part)
    totals = Counter({"rows": sum(int(numbers.sum()) for numbers in counts.values())})
    ProgressFile(task.work.scratch, f"export-{shard.order}").write(file_size(shard.path), totals)
    tables = {name: distinct(np.concatenate(pieces)) for name, pieces in entities.items()}
    path = save_tables(task.work.scratch, f"entities-{shard.order:06d}", tables)
    return Exported(parts, {name: tuple(numbers.tolist()) for name, numbers in sorted(counts.items())}, path)


def rows_over(path: str, limits: Mapping[str, str | None]) -> Ints:
    """Return for each row of `find_keys` the index of the reason for which it is left out, 0 for those that stay.

    Args:
        path: the path of the row's keys.
        limits: the paths of the tables of `caps.cap_rows`, by the column of the keys; None for no cap.
    """
    ranks = read_table(path, "ranks")
    reasons = np.zeros(len(ranks), np.int64)
    for name, reason in (("positives", "over_cap"), ("anchors", "near_duplicate")):
        if limit := limits[name]:
            reasons[is_over(limit, read_table(path, name), ranks)] = REASONS.index(reason)
    return reasons


def count_entities(paths: Iterable[str], task: ExportTask) -> dict[str, dict[str, int]]:
    """Return for each wiki how many entities its pairs have, how many of these have an anchor and a positive, and how
    many have a row."""
    marks = {name: np.zeros(len(task.wikis) * task.entities, np.bool_) for name in ENTITIES}
    for path in paths:
        for name, mark in marks.items():
            mark[read_table(path, name)] = True
    totals = {name: mark.reshape(len(task.wikis), -1).sum(axis=1).tolist() for name, mark in marks.items()}
    return {wiki: {name: totals[name][code] for name in ENTITIES} for code, wiki in enumerate(task.wikis)}


def _writer(task: ExportTask, order: int, schema: pa.Schema) -> PartWriter | TextPartWriter:
    if task.format == FORMATS[0]:
        # Texts of Wikidata repeat, sentences hardly ever do.
        kinds = {
            "anchor": task.anchor,
            "positive": task.positive,
            **{f"negative_{n}": task.negative for n in range(1, 1 + task.negatives)},
        }
        repeating = [name for name, kind in kinds.items() if kind in (LEAD, *COLUMNS)]
        return PartWriter(task.work.parts, "export", order, schema, repeating)
    return TextPartWriter(task.work.parts, "export", order, task.format)


class _Chosen(NamedTuple):
    """The texts of a batch of pairs, (rows,) each.

    Attributes:
        ids, sentences: the linked entity and the sentence of the pair.
        languages: index of the anchor's language.
        anchors: hash of the anchor's text (`text_keys`).
        anchor_texts: index of the anchor's text; -1 for the sentence of the pair.
        positives: index of the positive; -1 for none.
        negatives: (rows, negatives) index of the negatives; -1 for none.
        positions: (rows, negatives) which hard negatives of the pair these are.
        reasons: index of the reason.
    """

    ids: Ints
    sentences: Ints
    languages: npt.NDArray[np.int16]
    anchors: Hashes
    anchor_texts: Ints
    positives: Ints
    negatives: Ints
    positions: Ints
    reasons: Ints


class _Texts:
    """Find anchors, positives and negatives for the rows of pairs."""

    def __init__(self, task: ExportTask, indexes: Indexes) -> None:
        self._task, self._indexes = task, indexes
        self._anchor = _open_index(indexes.anchor) if indexes.anchor else None
        self._positive = _open_index(indexes.positive)
        self._negative = _open_index(indexes.negative) if indexes.negative else None
        self._linked = open_tables(indexes.linked)["hashes"] if indexes.linked else None

    def choose(self, batch: pa.RecordBatch) -> _Chosen:
        """Choose the texts of each row, without a look at other rows."""
        task = self._task
        ids = batch.column("entity_id").to_numpy().astype(np.int64)
        sentences = batch.column("sentence_id").to_numpy()
        wikis, pages = task.wiki_codes(batch.column("wiki")), batch.column("page_id").to_numpy()
        languages = task.language_codes(wikis)
        reasons = np.zeros(len(ids), np.int64)
        anchor_texts = np.full(len(ids), -1)
        if self._anchor:
            # The anchor is a text of the entity in the wiki of the pair.
            of_anchor = choose(
                self._anchor,
                entities=ids,
                languages=languages,
                hashes=mix(task.seed, sentences, ids, -2),
                rule=LanguageRule("same", -1, is_ranked=False),
                is_allowed=lambda rows, texts: np.ones(len(rows), np.bool_),
            )
            anchor_texts = of_anchor.texts
            anchors = self._anchor.keys_of(anchor_texts)
            reasons[anchor_texts < 0] = REASONS.index("no_anchor_text")
        else:
            anchors = text_keys(batch.column("text"))

        def is_positive(rows: Ints, texts: Ints) -> Mask:
            index = self._positive
            is_other: Mask = index.keys[texts] != anchors[rows]
            if task.is_of_one_page and self._anchor:
                is_other &= index.sentence_ids[texts] == self._anchor.sentence_ids[anchor_texts[rows]]
            elif task.positive == SENTENCE:
                is_other &= index.sentence_ids[texts] != sentences[rows]
            elif task.positive == LEAD and not self._anchor:
                # The sentence may be one of the lead's.
                is_other &= (index.page_ids[texts] != pages[rows]) | (index.wikis[texts] != wikis[rows])
            return is_other

        positives = choose(
            self._positive,
            entities=ids,
            languages=languages,
            hashes=mix(task.seed, sentences, ids, 0),
            rule=task.rule(task.positive),
            is_allowed=is_positive,
        ).texts
        reasons[(positives < 0) & (reasons == 0)] = REASONS.index("no_positive_text")
        if self._anchor is None:
            is_weak_row = np.array([is_weak(*sentence) for sentence in _sentences(batch)], np.bool_)
            reasons[is_weak_row & (reasons == 0)] = REASONS.index("weak_anchor")
        rows = _Chosen(
            ids=ids,
            sentences=sentences,
            languages=languages,
            anchors=anchors,
            anchor_texts=anchor_texts,
            positives=positives,
            negatives=np.full((len(ids), 0), -1),
            positions=np.zeros((len(ids), 0), np.int64),
            reasons=reasons,
        )
        return self._with_negatives(batch, rows) if self._negative else rows

    def keys(self, batch: pa.RecordBatch) -> dict[str, Hashes]:
        """Return the keys and ranks of the rows that have all their texts; see `caps`.

        Nearly equal anchors have a key in common: sentences without their link and the title of their page, where they
        link to one entity; other anchors where they are in one language. Of a title, the positive is compared instead.
        """
        task, rows = self._task, self.choose(batch)
        kept = np.flatnonzero(rows.reasons == 0)
        pairs, positives = batch.take(pa.array(kept)), rows.positives[kept]
        ids, languages = rows.ids[kept], rows.languages[kept].astype(np.int64)
        scopes = mix(0, languages) if self._anchor else mix(0, ids)
        if task.near_duplicates:
            anchors = mix(0, languages, rows.anchors[kept].view(np.int64))[:, None]
        elif self._anchor is None:
            anchors = band_keys(_masked(pairs), scopes, task.bands)
        else:
            of_positives = task.anchor in NAMES
            texts = self._positive.texts(positives) if of_positives else self._anchor.texts(rows.anchor_texts[kept])
            anchors = band_keys(texts.to_pylist(), scopes, task.bands)
        ranks = mix(task.seed, rows.sentences[kept], ids, pairs.column("mention_start").to_numpy(), -1)
        if self._anchor is None:
            # Those closest to the positive have the smallest ranks.
            distinct_positives, index = np.unique(positives, return_inverse=True)
            words = list(map(words_of, self._positive.texts(distinct_positives).to_pylist()))
            farness = np.uint64(3) - closeness(_sentences(pairs), [words[number] for number in index])
            ranks = farness << np.uint64(62) | ranks >> np.uint64(2)
        return {"anchors": anchors, "positives": self._positive.keys_of(positives)[:, None], "ranks": ranks}

    def _with_negatives(self, batch: pa.RecordBatch, rows: _Chosen) -> _Chosen:
        """Return the rows with negatives; those with too few get a reason."""
        choices = self._negatives(_matrix(batch.column("hard_negative_ids")), rows)
        texts = np.stack([choice.texts for choice in choices], axis=1)
        has_text = np.stack([choice.has_text for choice in choices], axis=1).sum(axis=1)
        # The first that have a text, in the order of the row.
        positions = np.argsort(texts < 0, axis=1, kind="stable")[:, : self._task.negatives]
        negatives = np.take_along_axis(texts, positions, axis=1)
        lacking = (negatives < 0).any(axis=1) & (rows.reasons == 0)
        no_text, equal = REASONS.index("no_negative_text"), REASONS.index("equal_negative")
        why = np.where(has_text < self._task.negatives, no_text, equal)
        reasons = np.where(lacking, why, rows.reasons)
        return rows._replace(negatives=negatives, positions=positions, reasons=reasons)

    def _negatives(self, of_row: Ints, rows: _Chosen) -> list[Choice]:
        """Choose a text for each hard negative: one that is no text of the row's entity, not the anchor, not that of
        another negative, and no sentence that links to the row's entity."""
        task, index, linked = self._task, self._negative, self._linked
        assert index is not None
        ids = rows.ids
        taken = [_pair(np.arange(len(ids)), rows.anchors)]
        for texts_index in (self._positive, index):
            of_entity, texts = texts_index.texts_of(ids)
            taken.append(_pair(of_entity, texts_index.keys[texts]))
        # Texts for every language tell nothing of the language that negatives should have.
        languages = self._positive.languages_of(rows.positives)
        languages = np.where((rows.positives >= 0) & (languages != task.every_language), languages, rows.languages)
        choices = []
        for number, negatives in enumerate(of_row.T):
            excluded = distinct(np.concatenate(taken))

            def is_negative(row: Ints, texts: Ints, excluded: Hashes = excluded, of: Ints = negatives) -> Mask:
                allowed = (find(excluded, _pair(row, index.keys[texts])) < 0) & (of[row] >= 0)
                if linked is not None:
                    allowed &= find(linked, link_hashes(index.sentence_ids[texts], ids[row])) < 0
                return allowed

            choice = choose(
                index,
                # A row with too few negatives has -1 there, which stands for entity 0 and is never chosen.
                entities=np.maximum(negatives, 0),
                languages=languages,
                hashes=mix(task.seed, rows.sentences, ids, 1 + number),
                rule=task.negative_rule(),
                is_allowed=is_negative,
            )
            choices.append(choice._replace(has_text=choice.has_text & (negatives >= 0)))
            chosen = np.flatnonzero(choice.texts >= 0)
            taken.append(_pair(chosen, index.keys[choice.texts[chosen]]))
        return choices

    def tables(self, batch: pa.RecordBatch, rows: _Chosen, kept: Ints) -> tuple[pa.Table, pa.Table]:
        """Return the rows of both configs, given the indices of those that are kept."""
        task, pairs = self._task, batch.take(pa.array(kept))
        positive, positives = self._positive, rows.positives[kept]
        negatives, positions = rows.negatives[kept], rows.positions[kept]
        names = pa.array(task.wikis, pa.string())
        anchor = {name: pairs.column(name) for name in ("wiki", "page_id", "rev_id", "title")}
        text = pairs.column("text")
        if self._anchor:
            index, chosen = self._anchor, rows.anchor_texts[kept]
            text = index.texts(chosen)
            anchor |= {"page_id": pa.array(index.page_ids[chosen]), "rev_id": pa.array(index.rev_ids[chosen])}
            # The title of the entity's page is not in the index of leads.
            anchor["title"] = text if task.anchor == TITLE else pa.nulls(len(kept), pa.string())
        columns = [text, positive.texts(positives)]
        if self._negative:
            columns += [self._negative.texts(column) for column in negatives.T]
        of_wikidata = np.full(len(kept), task.positive not in OF_PAGES)
        qids = np.take_along_axis(_matrix(pairs.column("hard_negative_qids")), positions, axis=1)
        of_pages = negatives if task.negative in OF_PAGES and self._negative else negatives[:, :0]
        index = self._negative or positive
        sources = {
            "entity_qid": pairs.column("entity_qid"),
            **anchor,
            "positive_wiki": names.take(pa.array(positive.wikis[positives], mask=of_wikidata)),
            "positive_page_id": pa.array(positive.page_ids[positives], mask=of_wikidata),
            "positive_rev_id": pa.array(positive.rev_ids[positives], mask=of_wikidata),
            "negative_qids": _lists(pa.array(qids.ravel()), qids.shape),
            "negative_wikis": _lists(names.take(pa.array(index.wikis[of_pages].ravel())), of_pages.shape),
            "negative_page_ids": _lists(pa.array(index.page_ids[of_pages].ravel()), of_pages.shape),
            "negative_rev_ids": _lists(pa.array(index.rev_ids[of_pages].ravel()), of_pages.shape),
        }
        table = pa.table(columns, schema=export.rows_schema(task.negatives))
        return table, pa.table(sources, export.SOURCES)


def _masked(batch: pa.RecordBatch) -> list[str]:
    """Return each sentence without its link and the title of its page: the same for "Brest is a commune in [Finistère]"
    and "Plouguin is a commune in [Finistère]"."""
    titles = batch.column("title").to_pylist()
    return [
        (text[:start] + text[end:]).replace(title.partition(" (")[0], "")
        for (text, start, end), title in zip(_sentences(batch), titles, strict=True)
    ]


def _sentences(batch: pa.RecordBatch) -> list[tuple[str, int, int]]:
    """Return the sentences with the offsets of their links."""
    columns = (batch.column(name).to_pylist() for name in ("text", "mention_start", "mention_end"))
    return list(zip(*columns, strict=True))


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
