"""What a comparison changes in a dataset of pairs: whose entities rows have, or which hard negatives."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import wikianchor.schemas.pairs
from wikianchor.trainer.data.own_rows import write_manifest, write_shard
from wikianchor.trainer.data.shards import PairDataset, list_shards, read_table
from wikianchor.trainer.evaluate.metrics import unit
from wikianchor.trainer.models.encoder import Encoder

Ints = NDArray[np.int64]
SEED = 20_220_705
SCHEMA = wikianchor.schemas.pairs.SCHEMA
COLUMNS = (
    "text",
    "mention_start",
    "mention_end",
    "entity_id",
    "entity_qid",
    "hard_negative_ids",
    "type_qid",
    "sentence_id",
    "wiki",
    "page_id",
)
# Of an entity's sentences, those whose mean is its vector where negatives are mined.
SENTENCES = 4
# One entity of five is held out.
HELD_OUT = 5


def read_pairs(pairs: PairDataset) -> pa.Table:
    """Return the rows of a dataset that fits into memory."""
    return pa.concat_tables([read_table(shard, SCHEMA, COLUMNS) for shard in pairs.shards]).combine_chunks()


def read_types(pairs: PairDataset) -> pa.Table:
    """Return the table of entities with all of its columns."""
    shards, expected = list_shards(pairs.path, pairs.manifest, "entities")[0], wikianchor.schemas.pairs.ENTITIES
    return pa.concat_tables(read_table(shard, expected, expected.names) for shard in shards)


def is_held_out(rows: pa.Table) -> NDArray[np.bool_]:
    """Return (rows,) whether the entity of a row is kept for the judges, by a hash of its item alone."""
    mixed = rows["entity_qid"].to_numpy().astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(33)) % np.uint64(HELD_OUT) == 0


def shuffled(rows: pa.Table, pairs: PairDataset, model: str) -> pa.Table:
    """Give the rows of each wiki each other's entities and negatives, so that an entity has as many rows as before."""
    wikis, order, random = rows["wiki"].to_numpy(), np.arange(len(rows)), np.random.default_rng(SEED)
    for wiki in sorted(set(wikis)):
        of_wiki = np.flatnonzero(wikis == wiki)
        order[of_wiki] = random.permutation(of_wiki)
    for name in ("entity_id", "hard_negative_ids"):
        rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), rows[name].take(order))
    return rows


def with_negatives(rows: pa.Table, candidates: Callable[[int], Ints]) -> pa.Table:
    """Replace each row's hard negatives by as many of its candidates, without entities that its page links to.

    Args:
        rows: those of `read_pairs`.
        candidates: returns the entities that may stand beside a row, the first the best.
    """
    pages: dict[tuple[str, int], set[int]] = {}
    keys = list(zip(rows["wiki"].to_pylist(), rows["page_id"].to_pylist(), strict=True))
    for key, entity in zip(keys, rows["entity_id"].to_pylist(), strict=True):
        pages.setdefault(key, set()).add(entity)
    counts = pc.list_value_length(rows["hard_negative_ids"]).to_pylist()
    chosen = [
        [entity for entity in candidates(row).tolist() if entity not in pages[key]][:count]
        for row, (key, count) in enumerate(zip(keys, counts, strict=True))
    ]
    field = SCHEMA.field("hard_negative_ids")
    return rows.set_column(rows.schema.get_field_index(field.name), field, pa.array(chosen, field.type))


def random_negatives(rows: pa.Table, pairs: PairDataset, model: str) -> pa.Table:
    """Replace typed negatives by entities of any type, drawn with equal chances."""
    random = np.random.default_rng(SEED)
    draws = random.integers(0, pairs.entities, (len(rows), 16))
    return with_negatives(rows, lambda row: draws[row])


def mined_negatives(rows: pa.Table, pairs: PairDataset, model: str) -> pa.Table:
    """Replace typed negatives by those entities of the row's type that the model holds nearest to its entity."""
    encoder = Encoder.load(model)
    ids = rows["entity_id"].to_numpy()
    order = np.argsort(ids, kind="stable")
    starts = np.searchsorted(ids[order], ids[order])
    few = order[np.arange(len(order)) - starts < SENTENCES]
    sums = np.zeros((pairs.entities, encoder.dim), np.float32)
    np.add.at(sums, ids[few], encoder.encode(rows["text"].take(few).to_pylist()))
    units, known = unit(sums), set(ids.tolist())
    members: dict[int, list[int]] = defaultdict(list)
    table = read_types(pairs)
    for entity, types in zip(table["entity_id"].to_pylist(), table["types"].to_pylist(), strict=True):
        for kind in types if entity in known else ():
            members[kind].append(entity)
    pools = {kind: np.array(of_kind) for kind, of_kind in members.items()}
    kinds = rows["type_qid"].to_pylist()

    def nearest(row: int) -> Ints:
        pool: Ints = pools.get(kinds[row], np.empty(0, np.int64))
        return pool[np.argsort(-(units[pool] @ units[ids[row]]), kind="stable")][:64]

    return with_negatives(rows, nearest)


VARIANTS: Mapping[str, Callable[[pa.Table, PairDataset, str], pa.Table]] = {
    "shuffled": shuffled,
    "random": random_negatives,
    "mined": mined_negatives,
}


def write_variant(pairs: PairDataset, rows: pa.Table, directory: str) -> None:
    """Write rows as a dataset of pairs with the entities of another."""
    unfinished = f"{directory}.new"
    tables = {"pairs": rows, "entities": read_types(pairs)}
    shards = {name: [write_shard(table, unfinished, f"data/{name}/0.parquet")] for name, table in tables.items()}
    write_manifest(unfinished, shards, {"inputs": [], "variant_of": pairs.fingerprint})
    os.replace(unfinished, directory)
