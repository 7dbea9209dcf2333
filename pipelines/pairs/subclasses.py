"""Find the subclasses of excluded types, as far as the dataset `entities` has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.tables import distinct, find
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.pairs.excluded_types import GROUPS
from wikianchor.pipelines.titles.title_index import Ints

# Below a day or a date Wikidata has holidays and festivals too. They are more than a date, so they stay.
_STAY = (1445650, 1197685, 132241)


def excluded_classes(names: Sequence[str], shards: Sequence[str]) -> Ints:
    """Return the types that groups and items name, with all their subclasses, ascending.

    Args:
        names: as `types_named` returns them.
        shards: the shards of `entities`; a subclass is known if it has a page in one of the wikis.
    """
    if not names:
        return np.zeros(0, np.int64)
    named = [GROUPS[name] if name in GROUPS else (int(name[1:]),) for name in names]
    classes = distinct(np.array([qid for qids in named for qid in qids], np.int64))
    subclasses, superclasses = _superclasses(shards)
    while True:
        below = distinct(np.append(classes, subclasses[find(classes, superclasses) >= 0]))
        if len(below) == len(classes):
            return classes
        classes = below


def _superclasses(shards: Sequence[str]) -> tuple[Ints, Ints]:
    """Return all pairs of a class and its superclass, as two arrays."""
    parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for shard in shards:
        for batch in read_batches(shard, ["qid", "superclasses"]):
            column = batch.column("superclasses")
            qids = batch.column("qid").to_numpy()[pc.list_parent_indices(column).to_numpy()]
            stay = np.isin(qids, _STAY)
            parts.append((qids[~stay], column.flatten().to_numpy()[~stay]))
    subclasses, superclasses = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return subclasses, superclasses
