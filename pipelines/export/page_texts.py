"""The texts of each entity's own page, for `text_index`: lead, title, first sentence, adjacent sentences, passages."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.arrays.tables import changes, find, open_tables
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.export.core_texts import lead_mask
from wikianchor.pipelines.export.task import ExportTask
from wikianchor.pipelines.export.text_index import TEXT_ROW
from wikianchor.pipelines.export.texts import ADJACENT, FIRST, HEADING, NEXT, OF_DOCUMENTS, TITLE
from wikianchor.pipelines.text.writing import MISSING
from wikianchor.pipelines.titles.title_index import Ints, TitleIndex

_DOCUMENT_COLUMNS = ("page_id", "rev_id", "title", "sections", "blocks", "text", "sentences")
_COLUMNS = ("page_id", "rev_id", "title", "region", "sentence_index", "text")
# A text of a page, with a number: the anchor and the positive that belong together have the same.
PAGE_TEXT = pa.schema(
    [*((name, pa.int64()) for name in ("page_id", "rev_id", "number")), ("title", pa.string()), ("text", pa.string())]
)


class SentenceShard(NamedTuple):
    """A shard of a config of `sentences`, with its number among all of them, and its wiki."""

    order: int
    wiki: str
    path: str


def list_sentence_shards(datasets: Sequence[tuple[str, str]], config: str) -> list[SentenceShard]:
    """Return the shards of a config of all datasets of sentences, given as (wiki, directory)."""
    shards = [(wiki, path) for wiki, directory in datasets for path in shards_of(directory, config)]
    return [SentenceShard(order, wiki, path) for order, (wiki, path) in enumerate(shards)]


def read_page_texts(
    shard: SentenceShard, task: ExportTask, kind: str, items: str, indexes: Mapping[str, Any]
) -> Generator[pa.Table, None, int]:
    """Yield the texts of a kind that the pages of a shard of sentences have, in TEXT_ROW; return their number.

    Args:
        shard: the shard of sentences.
        task: how rows are made.
        kind: the kind of text, of those of `PAGE_TEXTS`.
        items: path of the table of `index_items`.
        indexes: the title index of each wiki, an `IndexBuilt` of `titles.steps`, whose module imports Beam.
    """
    wiki = task.wikis.index(shard.wiki)
    tables = open_tables(items)
    pages, indices = _pages_of_items(shard.path, TitleIndex(indexes[shard.wiki].path), tables["qids"])
    number = 0
    for texts in texts_of_pages(shard.path, kind, task.lead_sentences, pages):
        ids, numbers = (texts[name].to_numpy() for name in ("page_id", "number"))
        # Of a page with too many texts, those of smallest hash.
        order = np.lexsort((mix(task.seed, wiki, ids, numbers), ids))
        starts = np.flatnonzero(changes(ids[order]))
        within = np.arange(len(ids)) - np.repeat(starts, np.diff(np.append(starts, len(ids))))
        sampled = np.sort(order[within < task.sentences])
        texts, ids, numbers = texts.take(pa.array(sampled)), ids[sampled], numbers[sampled]
        columns = {
            "entity_id": tables["ids"][indices[np.searchsorted(pages, ids)]].astype(np.uint64),
            # Two pages of one item: the older one is its page.
            "rank": ids.astype(np.uint64),
            "text": texts["text"],
            "language": np.full(len(ids), task.languages.index(task.wiki_languages[wiki]), np.int16),
            "wiki": np.full(len(ids), wiki, np.int16),
            "page_id": ids,
            "rev_id": texts["rev_id"],
            "sentence_id": mix(0, wiki, ids, numbers).view(np.int64),
        }
        yield pa.table(columns, TEXT_ROW)
        number += len(ids)
    return number


def _pages_of_items(path: str, index: TitleIndex, qids: Ints) -> tuple[Ints, Ints]:
    """Return the ids of the pages in a shard that are of one of some items, ascending, and the index of each's item.

    All titles are looked up at once, since each look-up reads the whole index of titles.
    """
    ids, titles = [np.zeros(0, np.int64)], []
    for batch in read_batches(path, ("page_id", "title")):
        first = np.flatnonzero(changes(batch["page_id"].to_numpy()))
        ids.append(batch["page_id"].to_numpy()[first])
        titles.append(batch["title"].take(pa.array(first)))
    pages, index_of_page = np.unique(np.concatenate(ids), return_index=True)
    indices = find(qids, index.look_up(titles)[0][index_of_page])
    known = indices >= 0
    return pages[known], indices[known]


def config_of(kind: str) -> str:
    """Return the config of `sentences` that texts of a kind are read in."""
    return "documents" if kind in OF_DOCUMENTS else "sentences"


def texts_of_pages(path: str, kind: str, most: int, pages: Ints) -> Iterator[pa.Table]:
    """Yield the texts of a kind of pages in a shard, PAGE_TEXT.

    Args:
        path: the shard, of the config `config_of(kind)`.
        kind: the kind of text, of those of `PAGE_TEXTS`.
        most: the largest number of sentences of a lead or a passage.
        pages: the ids of the pages, ascending.
    """
    regions = pa.array(("lead", "body") if kind in (ADJACENT, NEXT) else ("lead",))

    def wanted(batch: pa.RecordBatch) -> pa.RecordBatch:
        is_wanted = pa.array(find(pages, batch["page_id"].to_numpy()) >= 0)
        is_region = kind in OF_DOCUMENTS or pc.is_in(batch["region"], regions)
        return batch.filter(pc.and_(is_wanted, is_region))

    batches = map(wanted, read_batches(path, _DOCUMENT_COLUMNS if kind in OF_DOCUMENTS else _COLUMNS))
    if kind not in OF_DOCUMENTS:
        yield from (sentence_texts(kind, sentences, most) for sentences in _whole_pages(batches))
        return
    for batch in batches:
        rows = [
            {**{name: page[name] for name in PAGE_TEXT.names if name in page}, "number": number, "text": text}
            for page in batch.to_pylist()
            for number, text in texts_of_document(kind, page, most)
        ]
        yield pa.Table.from_pylist(rows, PAGE_TEXT)


def _whole_pages(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows of pages, all of a page together."""
    rest: list[pa.RecordBatch] = []
    for batch in batches:
        rows = pa.concat_batches([*rest, batch])
        last = int(np.flatnonzero(changes(rows["page_id"].to_numpy())).max(initial=0))
        yield rows.slice(0, last)
        rest = [rows.slice(last)]
    yield from rest


def sentence_texts(kind: str, sentences: pa.RecordBatch, most: int) -> pa.Table:
    """Return the texts of a kind that are sentences or leads of pages, or the titles of pages with a lead, PAGE_TEXT.

    Args:
        kind: the kind of text.
        sentences: rows of `sentences`, all rows of a page together and in order: of its lead, or for adjacent sentences
            also of its body.
        most: the largest number of sentences of a lead.
    """
    ids, index = (sentences[name].to_numpy() for name in ("page_id", "sentence_index"))
    if kind in (ADJACENT, NEXT):
        regions = sentences["region"].dictionary_encode().indices.to_numpy()
        is_next = ~changes(ids, regions) & (np.diff(index, prepend=-1) == 1)
        first = np.flatnonzero(is_next) - 1
        texts = sentences["text"].take(pa.array(first if kind == ADJACENT else first + 1))
        return _page_texts(sentences, first, index[first], texts)
    starts = np.flatnonzero(changes(ids))
    says_what = lead_mask(sentences.select(("title", "text")).take(pa.array(starts)), index[starts] == 0)
    pages = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(ids))))
    within = np.arange(len(ids)) - starts[pages]
    # A sentence that is missing ends the lead.
    of_lead = (within < (1 if kind == FIRST else most)) & (index == index[starts[pages]] + within) & says_what[pages]
    first, texts = starts[says_what], sentences["text"].filter(pa.array(of_lead))
    bounds = pa.array(
        np.append(0, np.cumsum(np.bincount(pages[of_lead], minlength=len(starts))[says_what])), pa.int32()
    )
    leads = pc.binary_join(pa.ListArray.from_arrays(bounds, texts), " ")
    return _page_texts(sentences, first, np.zeros_like(first), None if kind == TITLE else leads)


def _page_texts(sentences: pa.RecordBatch, rows: Ints, numbers: Ints, texts: pa.Array | None) -> pa.Table:
    """Return texts with the pages of rows; by default their titles."""
    page_ids, rev_ids, titles = sentences.select(("page_id", "rev_id", "title")).take(pa.array(rows)).columns
    columns = [page_ids, rev_ids, pa.array(numbers, pa.int64()), titles, titles if texts is None else texts]
    return pa.table(columns, schema=PAGE_TEXT)


def texts_of_document(kind: str, page: Mapping[str, Any], most: int) -> list[tuple[int, str]]:
    """Return the headings or the passages of a page, each with the number of its section.

    A heading stands with those above it and the title of the page, since "History" alone is that of anything. A passage
    is the first sentences of the section's first paragraph, no word of which is missing.

    Args:
        kind: HEADING or PASSAGE.
        page: the row of the page in `documents`.
        most: the largest number of sentences of a passage.
    """
    texts: list[tuple[int, str]] = []
    path: list[Mapping[str, Any]] = []
    paragraphs = {block["section"]: block for block in reversed(page["blocks"]) if block["kind"] == "paragraph"}
    starts, ends = ([sentence[name] for sentence in page["sentences"]] for name in ("start", "end"))
    for number, section in enumerate(page["sections"]):
        path = [*(above for above in path if above["level"] < section["level"]), section]
        if (block := paragraphs.get(number)) is None:
            continue
        first, last = bisect_left(starts, block["start"]), bisect_left(starts, block["end"])
        end = ends[min(first + most, last) - 1] if first < last else block["start"]
        passage = page["text"][block["start"] : end]
        if passage and starts[first] == block["start"] and MISSING not in passage:
            heading = " > ".join((page["title"], *(above["title"] for above in path)))
            texts.append((number, heading if kind == HEADING else passage.replace("\n", " ")))
    return texts
