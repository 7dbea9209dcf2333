"""The texts of entities, for `text_index`: sampled sentences of each, and those of its item in Wikidata."""

from __future__ import annotations

from collections.abc import Generator, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.io.storage import file_size
from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.arrays.tables import find, open_tables, read_table, save_tables
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.export.task import ExportTask, InputShard
from wikianchor.pipelines.export.text_index import EVERY_LANGUAGE, TEXT_ROW
from wikianchor.pipelines.export.texts import COLUMNS


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
