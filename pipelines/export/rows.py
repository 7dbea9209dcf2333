"""Write the rows of a shard of pairs, and count those that are left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from wikianchor.io.storage import file_size
from wikianchor.pipelines.arrays.tables import distinct, read_table, save_tables
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.dataset.text_parts import TextPartWriter
from wikianchor.pipelines.dataset.workspace import WorkPath
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.export.caps import is_over
from wikianchor.pipelines.export.choices import Chosen, Indexes, ShardChoices, list_matrix, open_index
from wikianchor.pipelines.export.task import REASONS, ExportTask, InputShard
from wikianchor.pipelines.export.text_index import Ints
from wikianchor.pipelines.export.texts import COLUMNS, LEAD, OF_PAGES, TITLE
from wikianchor.schemas import export
from wikianchor.schemas.choices import FORMATS

_COLUMNS = (
    *("text", "entity_id", "entity_qid", "hard_negative_qids"),
    *("wiki", "page_id", "rev_id", "title"),
)
# Those of rows without an anchor or a positive: their entity is not eligible unless another row has both.
_LACKS_TEXT = (REASONS.index("no_anchor_text"), REASONS.index("no_positive_text"))
# Entities that are counted: of all rows; of those with an anchor and a positive; of those that are exported.
ENTITIES = ("seen", "eligible", "kept")


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


def export_shard(
    shard: InputShard,
    task: ExportTask,
    choices: Mapping[int, ShardChoices],
    anchor_cap: str | None,
    positive_cap: str | None,
    anchor: str | None,
    positive: str,
    negative: str | None,
    linked: str | None,
) -> Exported:
    """Write the rows of a shard of pairs, in its order.

    Args:
        shard: the shard of pairs.
        task: how rows are made.
        choices: what was chosen for the rows of each shard.
        anchor_cap, positive_cap: the paths of the tables of `caps.cap_rows`; None for no cap.
        anchor, positive, negative, linked: the paths of `Indexes`.
    """
    indexes = Indexes(anchor, positive, negative, linked)
    paths_of = choices[shard.order]
    every = Chosen(*(read_table(paths_of.texts, name) for name in Chosen._fields))
    limits = {"positives": positive_cap, "anchors": anchor_cap}
    if any(limits.values()):
        every.reasons[every.reasons == 0] = rows_over(paths_of, limits, task.unrelated)
    counts = np.zeros((len(task.wikis), len(REASONS)), np.int64)
    entities: dict[str, list[Ints]] = {name: [np.zeros(0, np.int64)] for name in ENTITIES}
    first = 0
    with (
        _writer(task, shard.order, export.rows_schema(task.negatives)) as rows_file,
        PartWriter(task.work.parts, "sources", shard.order, export.SOURCES) as sources_file,
    ):
        for batch in read_batches(shard.path, _COLUMNS):
            chosen = every.slice(first, first + batch.num_rows)
            first += batch.num_rows
            reasons = chosen.reasons
            of_rows, of_sources = _tables(batch, chosen, task, indexes)
            rows_file.write(of_rows)
            sources_file.write(of_sources)
            wikis = task.wiki_codes(batch.column("wiki"))
            of_entities = task.entity_keys(wikis, batch.column("entity_id").to_numpy())
            masks = (reasons >= 0, ~np.isin(reasons, _LACKS_TEXT), reasons == 0)
            for name, mask in zip(ENTITIES, masks, strict=True):
                entities[name].append(distinct(of_entities[mask]))
            np.add.at(counts, (wikis, reasons), 1)
    parts = tuple(writer.part for writer in (rows_file, sources_file) if writer.part)
    ProgressFile(task.work.scratch, f"export-{shard.order}").write(file_size(shard.path), {"rows": int(counts.sum())})
    tables = {name: distinct(np.concatenate(pieces)) for name, pieces in entities.items()}
    path = save_tables(task.work.scratch, f"entities-{shard.order:06d}", tables)
    by_wiki = {name: tuple(row.tolist()) for name, row in zip(task.wikis, counts, strict=True) if row.any()}
    return Exported(parts, by_wiki, path)


def rows_over(paths: ShardChoices, limits: Mapping[str, str | None], unrelated: np.uint64 | None) -> Ints:
    """Return for each row of `RowKeys` the index of the reason for which it is left out, 0 for those that stay.

    Args:
        paths: the keys of the rows.
        limits: the paths of the tables of `caps.cap_rows`, by the column of the keys; None for no cap.
        unrelated: see `Cap`.
    """
    ranks = read_table(paths.keys, "ranks")
    reasons = np.zeros(len(ranks), np.int64)
    if limit := limits["anchors"]:
        compared, keys = (read_table(paths.anchors, name) for name in ("rows", "anchors"))
        reasons[compared[is_over(limit, keys, ranks[compared])]] = REASONS.index("near_duplicate")
    if limit := limits["positives"]:
        over = is_over(limit, read_table(paths.keys, "positives"), ranks)
        reasons[over] = REASONS.index("over_cap")
        if unrelated is not None:
            reasons[over & (ranks >= unrelated)] = REASONS.index("unrelated")
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


def _tables(batch: pa.RecordBatch, chosen: Chosen, task: ExportTask, indexes: Indexes) -> tuple[pa.Table, pa.Table]:
    """Return the rows of both configs, of the pairs with the reason "kept"."""
    kept = np.flatnonzero(chosen.reasons == 0)
    pairs, positives = batch.take(pa.array(kept)), chosen.positives[kept]
    positive, negative = open_index(indexes.positive), open_index(indexes.negative) if indexes.negative else None
    negatives, positions = chosen.negatives[kept], chosen.positions[kept]
    names = pa.array(task.wikis, pa.string())
    anchor = {name: pairs.column(name) for name in ("wiki", "page_id", "rev_id", "title")}
    text = pairs.column("text")
    if indexes.anchor:
        index, anchors = open_index(indexes.anchor), chosen.anchors[kept]
        text = index.texts(anchors)
        anchor |= {"page_id": pa.array(index.page_ids[anchors]), "rev_id": pa.array(index.rev_ids[anchors])}
        # The title of the entity's page is not in the index of leads.
        anchor["title"] = text if task.anchor == TITLE else pa.nulls(len(kept), pa.string())
    columns = [text, positive.texts(positives)]
    if negative:
        columns += [negative.texts(column) for column in negatives.T]
    of_wikidata = np.full(len(kept), task.positive not in OF_PAGES)
    qids = np.take_along_axis(list_matrix(pairs.column("hard_negative_qids")), positions, axis=1)
    of_pages = negatives if task.negative in OF_PAGES and negative else negatives[:, :0]
    index = negative or positive
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


def _lists(values: pa.Array, shape: tuple[int, ...]) -> pa.ListArray:
    """Return the rows of a matrix as lists."""
    rows, columns = shape
    kind = pa.list_(pa.field("element", values.type, nullable=False))
    return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32) * columns), values, type=kind)
