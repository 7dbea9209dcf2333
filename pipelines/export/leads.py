"""The texts of each entity's own page, for `text_index`: lead, title, first sentence, adjacent sentences, passages.

A lead is the first sentences of a page. It is left out where it does not say what the page is about: where the first
sentence has no part of the page's title, such as "It is a part of"; and where the page's first sentence lost words to a
template and the first one kept does not begin with the title, but for an article.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.arrays.tables import find, open_tables
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.export.task import ExportTask
from wikianchor.pipelines.export.text_index import TEXT_ROW
from wikianchor.pipelines.export.texts import ADJACENT, FIRST, HEADING, NEXT, OF_DOCUMENTS, TITLE
from wikianchor.pipelines.text.writing import MISSING
from wikianchor.pipelines.titles.title_index import Ints, TitleIndex

_PART = 4
# Characters of a longest article, with the space after it, that may precede a title.
_ARTICLE = 5
_DOCUMENT_COLUMNS = ("page_id", "rev_id", "title", "sections", "blocks", "text", "sentences")
_COLUMNS = ("page_id", "rev_id", "title", "region", "sentence_index", "text")


class SentenceShard(NamedTuple):
    """A shard of a config of `sentences`, with its number among all of them, and its wiki."""

    order: int
    wiki: str
    path: str


class Lead(NamedTuple):
    """The lead of a page.

    Attributes:
        page_id, rev_id: the page and the revision that was read.
        title: the page's title.
        text: the first sentences, with a space between.
    """

    page_id: int
    rev_id: int
    title: str
    text: str


def list_sentence_shards(datasets: Sequence[tuple[str, str]], config: str) -> Iterator[SentenceShard]:
    """Yield the shards of a config of all datasets of sentences, given as (wiki, directory)."""
    shards = [(wiki, path) for wiki, directory in datasets for path in shards_of(directory, config)]
    for order, (wiki, path) in enumerate(shards):
        yield SentenceShard(order, wiki, path)


def lead_of(title: str, sentences: Sequence[tuple[int, str]], most: int) -> str:
    """Return the first sentences of a page, "" if the first one is missing.

    Args:
        title: the page's title.
        sentences: number and text of the sentences before the first heading, in order.
        most: the largest number of sentences.

    >>> lead_of("Oslo", [(0, "Oslo is the capital of Norway."), (1, "It lies on a fjord."), (3, "It is old.")], 3)
    'Oslo is the capital of Norway. It lies on a fjord.'
    >>> lead_of("Oslo", [(1, "It lies on a fjord.")], 2)
    ''
    """
    first, text = sentences[0]
    # "Mercury (planet)" is named Mercury in its text.
    name = title.partition(" (")[0].casefold()
    if not (0 <= text.casefold().find(name) <= _ARTICLE if first else has_part(name, text.casefold())):
        return ""
    return " ".join(text for number, (index, text) in enumerate(sentences[:most]) if index == first + number)


def has_part(name: str, text: str) -> bool:
    """Return whether some _PART characters in a row of a word of a name are in a text, or a shorter word of it.

    Words are inflected, and a page about Michael Jackson may begin with "Michael Joseph Jackson". Words of one or two
    characters count where the name has no other.

    >>> has_part("michael jackson", "michael joseph jackson was"), has_part("ii", "it is"), has_part("東京", "東京は")
    (True, False, True)
    """
    words = name.split()
    longer = [word for word in words if len(word) > 2] or [name]
    return any(word[first : first + _PART] in text for word in longer for first in range(max(1, len(word) - _PART + 1)))


def page_leads(rows: Iterable[Mapping[str, Any]], most: int) -> Iterator[Lead]:
    """Yield the leads of pages, from their sentences in order."""
    for page_id, group in groupby(rows, itemgetter("page_id")):
        sentences = list(group)
        first = sentences[0]
        of_lead = [(row["sentence_index"], row["text"]) for row in sentences if row["region"] == "lead"]
        if of_lead and (text := lead_of(first["title"], of_lead, most)):
            yield Lead(page_id, first["rev_id"], first["title"], text)


def texts_of_page(kind: str, sentences: Sequence[Mapping[str, Any]], most: int) -> list[tuple[int, str]]:
    """Return the texts of a kind that a page has, each with a number: the anchor and the positive that belong together
    have the same.

    Args:
        kind: the kind of text, of those of `PAGE_TEXTS`.
        sentences: the rows of the page in `sentences`, in order.
        most: the largest number of sentences of a lead.
    """
    if kind in (ADJACENT, NEXT):
        neighbours = [
            (first, second)
            for first, second in pairwise(sentences)
            if second["sentence_index"] == first["sentence_index"] + 1 and first["region"] == second["region"] != "list"
        ]
        return [
            (first["sentence_index"], (first if kind == ADJACENT else second)["text"]) for first, second in neighbours
        ]
    most = 1 if kind == FIRST else most
    return [(0, lead.title if kind == TITLE else lead.text) for lead in page_leads(sentences, most)]


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
    pages: list[tuple[int, int]] = []
    numbers: list[list[int]] = []
    texts: list[str] = []
    wiki = task.wikis.index(shard.wiki)
    tables = open_tables(items)
    wanted, indices = _pages_of_items(shard.path, TitleIndex(indexes[shard.wiki].path), tables["qids"])
    for page, of_page in pages_with_texts(shard.path, kind, task.lead_sentences, wanted):
        if len(of_page) > task.sentences:
            hashes = mix(task.seed, wiki, page["page_id"], np.array([number for number, _ in of_page]))
            of_page = [of_page[row] for row in np.sort(np.argsort(hashes)[: task.sentences])]
        pages.append((page["page_id"], page["rev_id"]))
        numbers.append([number for number, _ in of_page])
        texts += [text for _, text in of_page]
    page_ids, rev_ids = zip(*pages, strict=True) if pages else ((), ())
    # One element for each text from here on.
    owners = np.repeat(np.arange(len(pages)), np.array([len(of_page) for of_page in numbers], np.int64))
    ids = np.array(page_ids, np.int64)[owners]
    columns = {
        "entity_id": tables["ids"][indices[np.searchsorted(wanted, ids)]].astype(np.uint64),
        # Two pages of one item: the older one is its page.
        "rank": ids.astype(np.uint64),
        "text": pa.array(texts, pa.string()),
        "language": np.full(len(ids), task.languages.index(task.wiki_languages[wiki]), np.int16),
        "wiki": np.full(len(ids), wiki, np.int16),
        "page_id": ids,
        "rev_id": np.array(rev_ids, np.int64)[owners],
        "sentence_id": mix(0, wiki, ids, np.array(list(chain.from_iterable(numbers)), np.int64)).view(np.int64),
    }
    yield pa.table({name: pa.array(column) for name, column in columns.items()}, TEXT_ROW)
    return len(ids)


def _pages_of_items(path: str, index: TitleIndex, qids: Ints) -> tuple[Ints, Ints]:
    """Return the ids of the pages in a shard that are of one of some items, ascending, and the index of each's item.

    All titles are looked up at once, since each look-up reads the whole index of titles.
    """
    batches = list(read_batches(path, ("page_id", "title")))
    ids, first = np.unique(
        np.concatenate([np.zeros(0, np.int64), *(batch["page_id"].to_numpy() for batch in batches)]), return_index=True
    )
    titles = pa.chunked_array([batch["title"] for batch in batches], pa.string()).take(pa.array(first))
    indices = find(qids, index.look_up(titles.chunks)[0])
    known = indices >= 0
    return ids[known], indices[known]


def config_of(kind: str) -> str:
    """Return the config of `sentences` that texts of a kind are read in."""
    return "documents" if kind in OF_DOCUMENTS else "sentences"


def pages_with_texts(
    path: str, kind: str, most: int, pages: Ints | None = None
) -> Iterator[tuple[Mapping[str, Any], list[tuple[int, str]]]]:
    """Yield the pages in a shard, as a row of theirs, with their texts of a kind.

    Args:
        path: the shard, of the config `config_of(kind)`.
        kind: the kind of text, of those of `PAGE_TEXTS`.
        most: the largest number of sentences of a lead or a passage.
        pages: the ids of the pages that are read, ascending; all by default.
    """

    def wanted(batch: pa.RecordBatch) -> list[dict[str, Any]]:
        if pages is not None:
            batch = batch.filter(pa.array(find(pages, batch["page_id"].to_numpy()) >= 0))
        rows: list[dict[str, Any]] = batch.to_pylist()
        return rows

    if kind in OF_DOCUMENTS:
        for batch in read_batches(path, _DOCUMENT_COLUMNS):
            yield from ((page, texts_of_document(kind, page, most)) for page in wanted(batch))
        return
    regions = pa.array(("lead", "body") if kind in (ADJACENT, NEXT) else ("lead",))
    batches = read_batches(path, _COLUMNS)
    rows = (row for batch in batches for row in wanted(batch.filter(pc.is_in(batch["region"], regions))))
    for _, group in groupby(rows, itemgetter("page_id")):
        sentences = list(group)
        yield sentences[0], texts_of_page(kind, sentences, most)


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
