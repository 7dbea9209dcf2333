"""Which sentences are left out whatever they link to: repeats, near-duplicates, texts of evaluation sets or two splits.

    shards -> check_shard -> an array for each property of a sentence -> limit_sentences -> limits -> dropped_links

These checks need the whole wiki, as a sentence is a near-duplicate of others, so they are made before links are decided
on, and only if an option asks for one. Repeated texts are found here where rows are sampled or capped, or where another
check reads the texts anyway; else where rows are written (`repeated_texts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.io.storage import file_size
from wikianchor.pipelines.arrays.hashing import Hashes, hash_string, hash_strings, mix, mix_hashes
from wikianchor.pipelines.arrays.spill import Rows, Spill, hash_range, rows_of
from wikianchor.pipelines.arrays.splits import Split
from wikianchor.pipelines.arrays.tables import distinct, find, map_tables, open_tables, read_table, save_tables
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.engine.transforms import CallOnce, RunStep
from wikianchor.pipelines.pairs.decisions import BUCKET, KEPT, hash_texts
from wikianchor.pipelines.pairs.ngrams import overlapping, save_ngrams
from wikianchor.pipelines.pairs.repeated_texts import TEXT, greatest_keys, smallest_keys
from wikianchor.pipelines.pairs.table_steps import SentenceShard
from wikianchor.pipelines.titles.title_index import Ints

COLUMNS = (
    *("page_id", "sentence_index", "title", "text"),
    *(f"links.list.element.{name}" for name in ("start", "end")),
)
# Stands for a link and for the title of the page in the pattern of a sentence.
_MASK = "\x01"
# Independent of the other uses of the seed.
_SENTENCE = 103
# The lowest bits of a text's hash are replaced by its split.
_SPLIT_BITS = np.uint64(3)
_TEXT = np.dtype([("text", np.uint64)])
# Rows in memory at a time, approximately.
ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class CheckTask:
    """What sentences are checked for.

    Attributes:
        work: the workspace of the run.
        seed: key of every choice.
        exclude_text: files of texts; sentences that overlap with them are left out.
        max_near_duplicates: sentences kept of each pattern in a wiki; 0 for any number.
        sentences_of_text: sentences kept of each text in all wikis, digits aside; 0 for any number.
        split: how pages are assigned to splits; a sentence stays in one split.
    """

    work: Workspace
    seed: int
    exclude_text: tuple[str, ...]
    max_near_duplicates: int
    sentences_of_text: int
    split: Split

    def __bool__(self) -> bool:
        return bool(self.exclude_text or self.max_near_duplicates or self.sentences_of_text or self.split)


class Checked(NamedTuple):
    """The sentences of a shard, checked.

    Attributes:
        order: number of the shard.
        path: the path of the arrays, with a value for each sentence: `links`, its number of links, and those of
            `overlaps`, `repeats` and `patterns`, with `keys`, and `texts` that the task asks for.
        sentences: number of sentences.
    """

    order: int
    path: WorkPath
    sentences: int


def check_shard(shard: SentenceShard, task: CheckTask, links: Mapping[int, str], ngrams: str | None) -> Checked:
    """Check the sentences of a shard, and save what the limits depend on.

    Args:
        shard: the shard of sentences.
        task: what they are checked for.
        links: by shard number, the path where `count_shard` saved the items of its pages.
        ngrams: the path of `save_ngrams`; None for no texts.
    """
    pages = _Pages(hash_string(shard.wiki), *(read_table(links[shard.order], name) for name in ("pages", "page_items")))
    table = open_tables(ngrams)["ngrams"] if ngrams is not None else None
    batches = [_check_batch(batch, pages, task, table) for batch in read_batches(shard.path, COLUMNS)]
    arrays = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
    path = save_tables(task.work.scratch, f"checked-{shard.order:06d}", arrays)
    ProgressFile(task.work.scratch, f"check-{shard.order}").write(file_size(shard.path), {})
    return Checked(shard.order, path, len(arrays["links"]))


class _Pages(NamedTuple):
    """The pages of a shard: hash of the wiki's name, page ids, ascending, and the item of each, 0 for none."""

    wiki: int
    ids: Ints
    items: Ints


def _check_batch(
    batch: pa.RecordBatch, pages: _Pages, task: CheckTask, ngrams: Hashes | None
) -> dict[str, npt.NDArray[Any]]:
    links = pc.list_value_length(batch.column("links")).to_numpy()
    page_ids = batch.column("page_id").to_numpy()
    arrays: dict[str, npt.NDArray[Any]] = {"links": links.astype(np.int32)}
    if task.max_near_duplicates or task.sentences_of_text:
        numbers = batch.column("sentence_index").to_numpy()
        arrays["keys"] = mix(task.seed, _SENTENCE, pages.wiki, page_ids, numbers)
    # A sentence without a link makes no row.
    rows = np.flatnonzero(links)
    linked = batch.take(pa.array(rows))
    if ngrams is not None:
        arrays["overlaps"] = np.zeros(len(links), np.bool_)
        arrays["overlaps"][rows] = overlapping(linked.column("text"), ngrams)
    if task.sentences_of_text:
        arrays["repeats"] = hash_texts(batch.column("text"), rows)
    if task.max_near_duplicates:
        arrays["patterns"] = np.zeros(len(links), np.uint64)
        arrays["patterns"][rows] = mix_hashes(hash_patterns(linked), pages.wiki)
    if task.split:
        splits = task.split.of_pages(pages.wiki, page_ids, pages.items[np.searchsorted(pages.ids, page_ids)])
        arrays["texts"] = hash_texts(batch.column("text"), rows) & ~_SPLIT_BITS | splits.astype(np.uint64)
    return arrays


def hash_patterns(sentences: pa.RecordBatch) -> Hashes:
    """Return the hash of the pattern of each sentence: its text without what differs between sentences of a bot, which
    are the links, the title of the page and digits."""
    texts, titles = (sentences.column(name).to_pylist() for name in ("text", "title"))
    links = sentences.column("links")
    starts, ends = (links.flatten().field(name).to_pylist() for name in ("start", "end"))
    bounds = pairwise(accumulate(pc.list_value_length(links).to_pylist(), initial=0))
    patterns = []
    for text, title, (first, last) in zip(texts, titles, bounds, strict=True):
        pieces = [
            text[end:start] for end, start in zip((0, *ends[first:last]), (*starts[first:last], None), strict=True)
        ]
        # A title such as "Springfield (Ohio)" or "Springfield, Ohio" is written without what tells it from others.
        name = title.partition(" (")[0].partition(", ")[0] or title
        patterns.append(_MASK.join(pieces).replace(name, _MASK))
    return hash_strings(pc.replace_substring_regex(pa.array(patterns, pa.string()), r"\p{Nd}+", "0"))


class SentenceLimits(NamedTuple):
    """Which sentences are left out.

    Attributes:
        path: of the arrays `patterns`, ascending, and `greatest_keys`, the greatest key of a sentence that is kept of
            each; `repeats` and `greatest_repeats` are the same of texts; and of `texts`, ascending, and `first_splits`,
            the split in which each is kept.
        shards: by number of a shard, the path that `check_shard` saved.
    """

    path: WorkPath
    shards: dict[int, WorkPath]


def limit_sentences(task: CheckTask, checked: Iterable[Checked]) -> SentenceLimits:
    """Find the patterns and texts with too many sentences, and the texts that are on pages of several splits.

    Rows are partitioned to disk by hash, so memory does not grow with the wikis, and a partition has at most
    `max_near_duplicates` + 1 rows of a pattern from each shard.
    """
    shards = sorted(checked)
    sentences = sum(shard.sentences for shard in shards)
    tables: dict[str, npt.NDArray[Any]] = {}
    scratch = task.work.scratch
    if most := task.max_near_duplicates:
        # One more than is kept shows that there are too many. Without this, a sentence that a bot has written on every
        # page of a wiki would be one large partition.
        few = (smallest_keys(_sentences(map_tables(shard.path), "patterns"), most + 1) for shard in shards)
        tables["patterns"], tables["greatest_keys"] = greatest_keys(few, sentences, most, scratch)
    if task.split:
        parts = max(1, -(-sentences // ROWS_AT_ONCE))
        with Spill(_TEXT, parts, scratch) as texts:
            for shard in shards:
                arrays = map_tables(shard.path)
                rows = rows_of(_TEXT, text=distinct(arrays["texts"][_linked(arrays)]))
                texts.add(rows, hash_range(rows["text"], parts))
            firsts = [_first_splits(texts.read(part)) for part in range(parts)]
        tables["texts"], tables["first_splits"] = map(np.concatenate, zip(*firsts, strict=True))
    if task.sentences_of_text:
        repeats = (_sentences(map_tables(shard.path), "repeats") for shard in shards)
        limits = greatest_keys(repeats, sentences, task.sentences_of_text, scratch)
        tables["repeats"], tables["greatest_repeats"] = limits
    path = save_tables(task.work.scratch, "sentence-limits", tables)
    return SentenceLimits(path, {shard.order: shard.path for shard in shards})


def _linked(arrays: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """Return which sentences of a shard have links, without those that overlap with evaluation sets."""
    linked: npt.NDArray[np.bool_] = arrays["links"] > 0
    return linked & ~arrays["overlaps"] if "overlaps" in arrays else linked


def _sentences(arrays: Mapping[str, npt.NDArray[Any]], texts: str) -> Rows:
    """Return the sentences of a shard with links as of `repeated_texts.TEXT`, given the name of the hashes of texts."""
    linked = _linked(arrays)
    return rows_of(TEXT, text=arrays[texts][linked], key=arrays["keys"][linked])


def _first_splits(rows: Rows) -> tuple[Hashes, Hashes]:
    """Return the texts that are in several splits, ascending, and the first of these splits."""
    ascending = distinct(rows["text"])
    texts, starts, counts = np.unique(ascending & ~_SPLIT_BITS, return_index=True, return_counts=True)
    several = counts > 1
    return texts[several], ascending[starts[several]] & _SPLIT_BITS


def dropped_links(shard: SentenceShard, limits: SentenceLimits) -> Ints:
    """Return for each link of a shard the bucket of its sentence: `kept`, or the reason why it is left out."""
    arrays, tables = map_tables(limits.shards[shard.order]), open_tables(limits.path)
    buckets = np.full(len(arrays["links"]), KEPT)
    for name, limit, bucket in (
        ("repeats", "greatest_repeats", "repeated_text"),
        ("patterns", "greatest_keys", "near_duplicate"),
    ):
        if name in arrays:
            index = find(tables[name], arrays[name])
            many = np.flatnonzero(index >= 0)
            buckets[many[arrays["keys"][many] > tables[limit][index[many]]]] = BUCKET[bucket]
    if "texts" in arrays:
        index = find(tables["texts"], arrays["texts"] & ~_SPLIT_BITS)
        several = np.flatnonzero(index >= 0)
        later = (arrays["texts"][several] & _SPLIT_BITS) > tables["first_splits"][index[several]]
        buckets[several[later]] = BUCKET["text_in_other_split"]
    if "overlaps" in arrays:
        buckets[arrays["overlaps"]] = BUCKET["evaluation_text"]
    return np.repeat(buckets, arrays["links"])


@dataclass
class CheckSentences(beam.PTransform):
    """Check the sentences of all shards.

    Attributes:
        task: what they are checked for.
        links: side input, by shard number the path where `count_shard` saved the items of its pages.
    """

    task: CheckTask
    links: Any

    def expand(self, shards: beam.PCollection[SentenceShard]) -> beam.PCollection[SentenceLimits]:
        task = self.task
        ngrams: Any = None
        if task.exclude_text:
            saved = shards.pipeline | "Save n-grams" >> CallOnce(
                save_ngrams, task.exclude_text, task.work.scratch, work=task.work, name="ngrams"
            )
            ngrams = beam.pvalue.AsSingleton(saved)
        checked = shards | "Check" >> RunStep(check_shard, task.work, "check", task, self.links, ngrams)  # Checked
        return shards.pipeline | "Limit" >> CallOnce(limit_sentences, task, checked, work=task.work, name="limits")
