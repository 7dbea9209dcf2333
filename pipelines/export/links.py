"""Which sampled sentences link to which entities: none is a negative of an entity that it links to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wikianchor.pipelines.arrays.hashing import Hashes, mix
from wikianchor.pipelines.arrays.spill import Spill, hash_range, rows_of
from wikianchor.pipelines.arrays.tables import distinct, find, open_tables, read_table, save_pieces, save_tables
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.export.task import InputShard
from wikianchor.pipelines.export.text_index import Ints

# Hashes that are sorted in memory at a time.
HASHES_AT_ONCE = 1 << 22

_HASH = np.dtype([("hash", np.uint64)])


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
