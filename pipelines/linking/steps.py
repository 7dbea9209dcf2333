"""The steps of `wikianchor linking`, each for one shard of a dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.aliases.folding import fold_all, is_chinese, without_quotes
from wikianchor.pipelines.arrays.hashing import hash_string
from wikianchor.pipelines.arrays.splits import Split
from wikianchor.pipelines.arrays.tables import changes
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import NumberedShard, read_batches, read_rows
from wikianchor.pipelines.dataset.sections import section_paths
from wikianchor.pipelines.dataset.split_configs import split_config
from wikianchor.pipelines.dataset.text_parts import TextPartWriter
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.linking.formats import lines_of
from wikianchor.pipelines.linking.indexes import (
    CANDIDATES,
    Candidates,
    Ints,
    Names,
    Pages,
    WikiIndexes,
    are_known,
    link_counts,
    most_frequent,
)
from wikianchor.schemas import linking
from wikianchor.schemas.choices import LINKING_FORMATS
from wikianchor.schemas.pairs import SPLITS

# Characters of the context on each side of a mention: a paragraph of n links would be written n times.
CONTEXT = 600
ROW_GROUP = 10_000
DOCUMENT_COLUMNS = ("wiki", "page_id", "rev_id", "timestamp", "title", "qid", "sections", "blocks", "text", "links")
NAME_COLUMNS = ("wiki", "key", "surface", "qid", "links", "name_links", "occurrences")
_SCHEMAS = {"linking": linking.SCHEMA, "items": linking.ITEMS, "names": linking.NAMES}


class Written(NamedTuple):
    """The files of a shard, and counts: of links and of candidates by wiki, or of items or names."""

    order: int
    parts: tuple[Part, ...]
    counts: dict[str, int]


@dataclass(frozen=True)
class LinkingTask:
    """How rows are made and written.

    Attributes:
        work: the directories of the run.
        format: one of `LINKING_FORMATS`.
        split: which items and pages are held out.
        wikis: database names of the wikis of the documents.
    """

    work: Workspace
    format: str
    split: Split
    wikis: tuple[str, ...]

    def writer(self, config: str, order: int, split: str = SPLITS[0]) -> PartWriter | TextPartWriter:
        """Return the writer of a part."""
        name = split_config(config, split)
        if self.format == LINKING_FORMATS[0]:
            return PartWriter(self.work.parts, name, order, _SCHEMAS[config])
        return TextPartWriter(self.work.parts, name, order, "jsonl")

    def write(self, writer: PartWriter | TextPartWriter, config: str, rows: pa.Table) -> None:
        """Write rows of a config, which have further columns that formats read."""
        if isinstance(writer, PartWriter):
            writer.write(rows.select(_SCHEMAS[config].names).cast(_SCHEMAS[config]))
        else:
            writer.write(lines_of(self.format, config, rows.to_pylist(), len(self.wikis) > 1))


def write_links(shard: NumberedShard, task: LinkingTask, indexes: Mapping[str, WikiIndexes]) -> Written:
    """Write the links of a shard of documents to items, one row each; count those without an item."""
    counts = Counter[str]()
    with ExitStack() as stack:
        writers = [task.writer("linking", shard.order, name) for name in SPLITS]
        for writer in writers:
            stack.enter_context(writer)
        for rows in _in_groups(shard.path, counts):
            table, split = _link_table(rows, task, indexes)
            for number, writer in enumerate(writers):
                chosen = table.filter(pa.array(split == number))
                _count_candidates(chosen, SPLITS[number], counts)
                task.write(writer, "linking", chosen)
    parts = tuple(writer.part for writer in writers if writer.part)
    return Written(shard.order, parts, dict(sorted(counts.items())))


def _in_groups(path: str, counts: Counter[str]) -> Iterator[list[dict[str, Any]]]:
    """Yield the links of documents to items, about ROW_GROUP at a time; count all links by wiki."""
    rows: list[dict[str, Any]] = []
    for document in read_rows(path, DOCUMENT_COLUMNS):
        links = list(rows_of_document(document))
        numbers = {"kept": len(links), "no_item": len(document["links"]) - len(links), "seen": len(document["links"])}
        counts.update({f"links:{document['wiki']}:{name}": number for name, number in numbers.items()})
        rows += links
        if len(rows) >= ROW_GROUP:
            yield rows
            rows = []
    if rows:
        yield rows


def rows_of_document(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each link of a document to an item, without what look-up tables say."""
    text, blocks = document["text"], document["blocks"]
    paths = section_paths(document["sections"])
    head = {name: document[name] for name in ("wiki", "page_id", "rev_id", "timestamp", "title")}
    for link in document["links"]:
        if link["qid"] is None:
            continue
        start, end, block = link["start"], link["end"], blocks[link["block"]]
        yield {
            **head,
            "page_qid": document["qid"],
            "section": paths[link["section"]] if link["section"] >= 0 else [],
            "block": block["kind"],
            "start": start,
            "end": end,
            "left": text[max(block["start"], start - CONTEXT) : start],
            "surface": text[start:end],
            "right": text[end : max(end, min(block["end"], end + CONTEXT))],
            "target_wiki": link["wiki"],
            "target": link["target"],
            "fragment": link["fragment"],
            "qid": link["qid"],
        }


def _link_table(
    rows: Sequence[Mapping[str, Any]], task: LinkingTask, indexes: Mapping[str, WikiIndexes]
) -> tuple[pa.Table, np.ndarray[Any, Any]]:
    """Return rows with what look-up tables say, and the index of the split of each."""
    names = list(rows[0])
    given = {name: pa.array([row[name] for row in rows], linking.SCHEMA.field(name).type) for name in names}
    qids, page_ids = given["qid"].to_numpy(), given["page_id"].to_numpy()
    wikis, target_wikis = (np.array(given[name].to_pylist(), object) for name in ("wiki", "target_wiki"))
    page_items = pc.fill_null(given["page_qid"], 0).to_numpy()
    split = np.zeros(len(rows), np.int8)
    columns: dict[str, list[Any]] = {
        name: [None] * len(rows) for name in ("key", "candidates", "rank", "held_out_rank", "date_split", "page")
    }
    columns |= {"target": given["target"].to_pylist(), "lead": [""] * len(rows)}
    for wiki in sorted(set(wikis.tolist())):
        chosen = np.flatnonzero(wikis == wiki)
        if task.split:
            split[chosen] = task.split.of_pages(hash_string(wiki), page_ids[chosen], page_items[chosen])
        # A link to a section of a page, and one to another wiki, is in no count of `mentions`.
        of_wiki = [rows[row] for row in chosen.tolist()]
        own_wiki = wiki if wiki == indexes[wiki].wiki_of_names else ""
        counted = np.fromiter((row["target_wiki"] == own_wiki and not row["fragment"] for row in of_wiki), np.bool_)
        keys = fold_all([without_quotes(row["surface"]) for row in of_wiki], is_chinese(wiki))
        of_rows = _ranked(indexes[wiki].names, pa.array(keys, pa.string()), qids[chosen], counted)
        if earlier := indexes[wiki].earlier:
            known = are_known(earlier, page_ids[chosen], qids[chosen])
            of_rows["date_split"] = np.where(known, SPLITS[0], SPLITS[2]).tolist()
        for name, values in ({"key": keys} | of_rows).items():
            for row, value in zip(chosen.tolist(), values, strict=True):
                columns[name][row] = value
    for wiki in sorted(set(target_wikis.tolist()) & indexes.keys()):
        pages = Pages(indexes[wiki].pages)
        chosen = np.flatnonzero(target_wikis == wiki)
        index = pages.find(qids[chosen])
        chosen, index = chosen[index >= 0], index[index >= 0]
        values = (
            pages.titles.take(index).to_pylist(),
            pages.page_ids[index].tolist(),
            pages.leads.take(index).to_pylist(),
        )
        for row, title, page, lead in zip(chosen.tolist(), *values, strict=True):
            columns["target"][row], columns["page"][row], columns["lead"][row] = title, page, lead
    item_split = task.split.of_items(qids) if task.split else np.zeros(len(rows), np.int8)
    columns["item_split"] = np.array(SPLITS)[item_split].tolist()
    kinds = {"page": pa.int64(), "lead": pa.string()}
    arrays = {
        name: pa.array(values, kinds.get(name) or linking.SCHEMA.field(name).type) for name, values in columns.items()
    }
    return pa.table(given | arrays), split


def _ranked(path: str, keys: pa.Array, qids: Ints, counted: np.ndarray[Any, Any]) -> dict[str, list[Any]]:
    """Return the candidates of names, and the ranks of items among them.

    Args:
        path: that of the table of `Names`.
        keys: the folded names.
        qids: the items.
        counted: whether the link is among those of the counts.
    """
    all_of_names = Names(path).candidates(keys)
    is_gold = all_of_names.qids == qids[all_of_names.names]
    rank = np.full(len(keys), -1)
    rank[all_of_names.names[is_gold]] = all_of_names.ranks[is_gold]
    held_out = held_out_ranks(all_of_names, is_gold, counted, len(keys))
    kept = all_of_names.ranks < CANDIDATES
    lists: list[list[dict[str, Any]]] = [[] for _ in range(len(keys))]
    columns = (all_of_names.names, all_of_names.qids, all_of_names.priors)
    for name, qid, prior in zip(*(values[kept].tolist() for values in columns), strict=True):
        lists[name].append({"qid": qid, "prior": prior})
    return {"candidates": lists, "rank": _or_none(rank), "held_out_rank": _or_none(held_out)}


def held_out_ranks(
    candidates: Candidates, is_gold: np.ndarray[Any, Any], counted: np.ndarray[Any, Any], names: int
) -> Ints:
    """Return the rank of the item of each name if the link itself is not counted, -1 if it is no candidate then."""
    links = np.zeros(names, np.int64)
    links[candidates.names[is_gold]] = candidates.links[is_gold] - counted[candidates.names[is_gold]]
    qids = np.zeros(names, np.int64)
    qids[candidates.names[is_gold]] = candidates.qids[is_gold]
    stays = np.zeros(names, np.bool_)
    stays[candidates.names[is_gold]] = (links[candidates.names[is_gold]] > 0) | candidates.other[is_gold]
    of_gold = links[candidates.names]
    ahead = (candidates.links > of_gold) | ((candidates.links == of_gold) & (candidates.qids < qids[candidates.names]))
    return np.where(stays, np.bincount(candidates.names[ahead & ~is_gold], minlength=names), -1)


def _or_none(ranks: Ints) -> list[int | None]:
    return [rank if 0 <= rank < CANDIDATES else None for rank in ranks.tolist()]


def _count_candidates(rows: pa.Table, split: str, counts: Counter[str]) -> None:
    """Count for how many rows the item is the first candidate, and one of the candidates."""
    for wiki in pc.unique(rows["wiki"]).to_pylist():
        of_wiki = rows.filter(pc.equal(rows["wiki"], wiki))
        kind = f"candidates:{wiki}"
        counts[f"{kind}:{split}"] += of_wiki.num_rows
        for name, column in (("", of_wiki["rank"]), ("held_out_", of_wiki["held_out_rank"])):
            counts[f"{kind}:{name}first"] += pc.sum(pc.equal(column, 0)).as_py() or 0
            counts[f"{kind}:{name}among_30"] += len(column) - column.null_count


def write_items(shard: NumberedShard, task: LinkingTask, indexes: Mapping[str, WikiIndexes]) -> Written:
    """Write the items of a shard of `entities` that have a page in the documents or a link."""
    counts = Counter({"items:kept": 0, "items:no_page": 0})
    tables = {wiki: Pages(index.pages) for wiki, index in sorted(indexes.items())}
    # Two wikis may have the names of one.
    of_links = {index.wiki_of_names: index.links for _, index in sorted(indexes.items())}.values()
    columns = ["qid", "types", "labels", "descriptions", "aliases"]
    with task.writer("items", shard.order) as writer:
        for batch in read_batches(shard.path, columns):
            qids = batch["qid"].to_numpy()
            links = sum((link_counts(path, qids) for path in of_links), np.zeros(len(qids), np.int64))
            pages: list[list[dict[str, Any]]] = [[] for _ in range(len(qids))]
            for wiki, table in tables.items():
                index = table.find(qids)
                rows = np.flatnonzero(index >= 0)
                index = index[rows]
                values = (table.page_ids[index], table.titles.take(index), table.leads.take(index))
                for row, page_id, title, lead in zip(rows.tolist(), *(value.tolist() for value in values), strict=True):
                    pages[row].append({"wiki": wiki, "page_id": page_id, "title": title, "lead": lead})
            kept = (links > 0) | np.array([bool(of_item) for of_item in pages], bool)
            counts.update({"items:kept": int(kept.sum()), "items:no_page": int((~kept).sum())})
            given = {name: batch[name] for name in columns}
            of_pages = pa.array(pages, linking.ITEMS.field("pages").type)
            table_of_items = pa.table({**given, "links": pa.array(links), "pages": of_pages})
            task.write(writer, "items", table_of_items.filter(pa.array(kept)))
    return Written(shard.order, (writer.part,) if writer.part else (), dict(counts))


def write_names(shard: NumberedShard, task: LinkingTask) -> Written:
    """Write the names of a shard of `mentions`, one row each, with their candidates."""
    counts = Counter({"names:kept": 0, "names:candidates": 0})
    with task.writer("names", shard.order) as writer:
        for rows in _whole_names(shard.path):
            table = _name_table(rows)
            candidates = len(table["candidates"].combine_chunks().flatten())
            counts.update({"names:kept": table.num_rows, "names:candidates": candidates})
            task.write(writer, "names", table)
    return Written(shard.order, (writer.part,) if writer.part else (), dict(counts))


def _whole_names(path: str) -> Iterator[pa.Table]:
    """Yield the rows of `mentions` in portions of whole names: the rows of a name follow each other."""
    held: list[pa.RecordBatch] = []
    for batch in read_batches(path, NAME_COLUMNS):
        starts = np.flatnonzero(_begins(batch["key"]))
        if held and batch["key"][0] != held[-1]["key"][-1]:
            yield pa.Table.from_batches(held)
            held = []
        if len(starts) > 1:
            yield pa.Table.from_batches([*held, batch.slice(0, starts[-1])])
            held = []
        held.append(batch.slice(starts[-1] if len(starts) > 1 else 0))
    if held:
        yield pa.Table.from_batches(held)


def _begins(keys: pa.Array) -> np.ndarray[Any, Any]:
    """Return whether a name begins at each row."""
    return changes(keys.dictionary_encode().indices.to_numpy())


def _name_table(rows: pa.Table) -> pa.Table:
    """Return a row for each name, given those of its items."""
    begins = _begins(rows["key"].combine_chunks())
    names, starts = np.cumsum(begins) - 1, np.flatnonzero(begins)
    columns = {name: rows[name].to_numpy() for name in ("qid", "links", "name_links")}
    top = most_frequent(names, columns["links"], columns["qid"], CANDIDATES)
    priors = (columns["links"] / np.maximum(columns["name_links"], 1)).astype(np.float32)
    surfaces: list[dict[str, None]] = [{} for _ in starts]
    candidates: list[list[dict[str, Any]]] = [[] for _ in starts]
    values = (names[top], columns["qid"][top], priors[top], rows["surface"].take(pa.array(top)))
    for name, qid, prior, surface in zip(*(value.tolist() for value in values[:3]), values[3].to_pylist(), strict=True):
        candidates[name].append({"qid": qid, "prior": prior})
        surfaces[name][surface] = None
    of_names = rows.take(pa.array(starts)).select(["wiki", "key", "name_links", "occurrences"])
    lists = {"surfaces": [list(of_name) for of_name in surfaces], "candidates": candidates}
    for name, values_of in lists.items():
        of_names = of_names.append_column(name, pa.array(values_of, linking.NAMES.field(name).type))
    return of_names
