"""Labels of the items that a report names."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from wikianchor.pipelines.commands.report.model import Item
from wikianchor.pipelines.dataset.reader import Dataset, read_batches


class Labels(dict[int, str]):
    """Labels by number of the item."""

    def item(self, qid: int) -> Item:
        """Return an item with its label."""
        return Item(qid, self.get(qid, ""))


def labels_of(datasets: Iterable[Dataset], qids: Collection[int]) -> Labels:
    """Return the labels of items, from datasets of entities, and from the entity tables of datasets of pairs.

    In a dataset of entities, an item can have several labels: the language that comes first in --labels is taken.
    """
    labels = Labels()
    wanted = np.array(sorted(qids), np.int64)
    for dataset in datasets:
        if dataset.name == "entities":
            order = {language: rank for rank, language in enumerate(dataset.options.get("labels", ()))}
            for row in _rows(dataset, "labels", wanted):
                best = min(row["labels"], key=lambda label: order.get(label["language"], len(order)), default=None)
                if best:
                    labels.setdefault(row["qid"], best["text"])
        elif dataset.name == "pairs":
            labels |= {row["qid"]: row["label"] for row in _rows(dataset, "label", wanted) if row["label"]}
    return labels


def _rows(dataset: Dataset, column: str, wanted: Any) -> Iterable[dict[str, Any]]:
    for path in dataset.shards("entities"):
        for batch in read_batches(path, ["qid", column]):
            yield from batch.filter(pa.array(np.isin(batch["qid"].to_numpy(), wanted))).to_pylist()
