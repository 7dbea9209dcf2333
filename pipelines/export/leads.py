"""The lead and the title of each entity's own page, as texts of `text_index`.

A lead is the first sentences of a page. It is left out where the first sentence is not there, because it lost words to
a template: what follows begins with "It is a part of". So the first sentence kept must be the page's first, or name the
page's title.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.tables import find, open_tables
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.export.steps import LEAD, ExportTask
from wikianchor.pipelines.export.text_index import TEXT_ROW
from wikianchor.pipelines.titles.title_index import TitleIndex

_COLUMNS = ("page_id", "rev_id", "title", "region", "sentence_index", "text")


class SentenceShard(NamedTuple):
    """A shard of `sentences`, with its number among all of them, and its wiki."""

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


def list_sentence_shards(datasets: Sequence[tuple[str, str]]) -> Iterator[SentenceShard]:
    """Yield the shards of all datasets of sentences, given as (wiki, directory)."""
    shards = [(wiki, path) for wiki, directory in datasets for path in shards_of(directory, "sentences")]
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
    if first and name not in text.casefold():
        return ""
    return " ".join(text for number, (index, text) in enumerate(sentences[:most]) if index == first + number)


def page_leads(rows: Iterable[Mapping[str, Any]], most: int) -> Iterator[Lead]:
    """Yield the leads of pages, from their sentences in order."""
    for page_id, group in groupby(rows, itemgetter("page_id")):
        sentences = list(group)
        first = sentences[0]
        if text := lead_of(first["title"], [(row["sentence_index"], row["text"]) for row in sentences], most):
            yield Lead(page_id, first["rev_id"], first["title"], text)


def read_leads(
    shard: SentenceShard, task: ExportTask, kind: str, items: str, indexes: Mapping[str, Any]
) -> Generator[pa.Table, None, int]:
    """Yield the leads, or the titles of pages with a lead, of a shard of sentences in TEXT_ROW; return their number.

    Args:
        shard: the shard of sentences.
        task: how rows are made.
        kind: `LEAD`, or "title".
        items: path of the table of `index_items`.
        indexes: the title index of each wiki, an `IndexBuilt` of `titles.steps`, whose module imports Beam.
    """
    tables = open_tables(items)
    leads = list(page_leads(lead_sentences_of(shard.path), task.lead_sentences))
    qids, _ = TitleIndex(indexes[shard.wiki].path).look_up([pa.array([lead.title for lead in leads], pa.string())])
    index = find(tables["qids"], qids)
    known = np.flatnonzero(index >= 0)
    leads = [leads[row] for row in known]
    wiki = task.wikis.index(shard.wiki)
    language = task.languages.index(task.wiki_languages[wiki])
    zeros = np.zeros(len(leads), np.int64)
    columns = {
        "entity_id": tables["ids"][index[known]].astype(np.uint64),
        # Two pages of one item: the older one is its page.
        "rank": np.array([lead.page_id for lead in leads], np.uint64),
        "text": pa.array([lead.text if kind == LEAD else lead.title for lead in leads], pa.string()),
        "language": (zeros + language).astype(np.int16),
        "wiki": (zeros + wiki).astype(np.int16),
        "page_id": np.array([lead.page_id for lead in leads], np.int64),
        "rev_id": np.array([lead.rev_id for lead in leads], np.int64),
        "sentence_id": zeros,
    }
    yield pa.table({name: pa.array(column) for name, column in columns.items()}, TEXT_ROW)
    return len(leads)


def lead_sentences_of(path: str) -> Iterator[Mapping[str, Any]]:
    """Yield the sentences before the first heading of each page in a shard."""
    for batch in read_batches(path, _COLUMNS):
        yield from batch.filter(pc.equal(batch.column("region"), "lead")).to_pylist()
