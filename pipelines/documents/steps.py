"""The step of `wikianchor documents`: give the pages and links of a shard their items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.titles.steps import IndexBuilt
from wikianchor.pipelines.titles.title_index import SECTION, Ints, TitleIndex
from wikianchor.schemas import documents


class DocumentShard(NamedTuple):
    """A shard of documents: its number among all, its wiki, and its path."""

    order: int
    wiki: str
    path: str


class Joined(NamedTuple):
    """The file of a shard, and the number of its links by whether they got an item."""

    order: int
    wiki: str
    parts: tuple[Part, ...]
    links: dict[str, int]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return {f"links:{name}": number for name, number in self.links.items()}


def list_shards(datasets: Sequence[tuple[str, str]]) -> Iterator[DocumentShard]:
    """Yield the shards of documents of datasets, given as (wiki, directory)."""
    shards = ((wiki, path) for wiki, directory in datasets for path in shards_of(directory, "documents"))
    for order, (wiki, path) in enumerate(shards):
        yield DocumentShard(order, wiki, path)


def join_shard(task: DocumentShard, indexes: Mapping[str, IndexBuilt], work: Workspace) -> Joined:
    """Write a shard with the items of its pages and links.

    All titles of the shard are looked up together, because each lookup reads the whole index.
    """
    titles: list[pa.Array] = []
    wikis: list[pa.Array] = []
    targets: list[pa.Array] = []
    for batch in read_batches(task.path, ["title", "links"]):
        links = batch["links"].flatten()
        titles.append(batch["title"])
        wikis.append(links.field("wiki"))
        targets.append(links.field("target"))
    of_pages = _items(indexes[task.wiki], titles)
    all_wikis, all_targets = (pa.chunked_array(column, pa.string()) for column in (wikis, targets))
    of_links = np.zeros(len(all_targets), np.int64)
    is_known = np.zeros(len(all_targets), bool)
    for wiki in sorted(indexes.keys() & set(pc.unique(all_wikis).to_pylist())):
        rows = pc.equal(all_wikis, wiki).to_numpy()
        of_links[rows] = _items(indexes[wiki], all_targets.filter(pa.array(rows)).chunks)
        is_known |= rows
    with PartWriter(work.parts, "documents", task.order, documents.SCHEMA) as writer:
        page = link = 0
        for batch in read_batches(task.path, documents.SCHEMA.names):
            pages, links = batch.num_rows, len(batch["links"].flatten())
            writer.write(_joined(batch, of_pages[page : page + pages], of_links[link : link + links]))
            page, link = page + pages, link + links
    counts = {
        "with_item": int((of_links > 0).sum()),
        "without_item": int((is_known & (of_links == 0)).sum()),
        "other_wiki": int((~is_known).sum()),
        "seen": len(of_links),
    }
    return Joined(task.order, task.wiki, (writer.part,) if writer.part else (), counts)


def _items(index: IndexBuilt, titles: Sequence[pa.Array]) -> Ints:
    """Return the item of each title, 0 for none and for a redirect to a section."""
    items, codes = TitleIndex(index.path).look_up(titles)
    return np.where(codes == SECTION, 0, items)


def _joined(batch: pa.RecordBatch, of_pages: Ints, of_links: Ints) -> pa.RecordBatch:
    """Return documents with the items of their pages and links, 0 for none."""
    links = batch["links"]
    flat, kind = links.flatten(), links.type
    values = pa.StructArray.from_arrays(
        [_qids(of_links) if member.name == "qid" else flat.field(member.name) for member in kind.value_type],
        fields=list(kind.value_type),
    )
    offsets = pc.subtract(links.offsets, links.offsets[0])
    columns = {
        "qid": _qids(of_pages),
        "links": pa.ListArray.from_arrays(offsets, values, type=kind),
    }
    arrays = [columns.get(name, batch[name]) for name in documents.SCHEMA.names]
    return pa.RecordBatch.from_arrays(arrays, schema=documents.SCHEMA)


def _qids(items: Ints) -> pa.Array:
    return pa.array(items, pa.int64(), mask=items == 0)
