"""Labels of the items that a report names."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from wikianchor.pipelines.commands.report.model import Item
from wikianchor.pipelines.dataset.reader import Dataset


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
    for dataset in datasets:
        if dataset.name == "entities":
            order = {language: rank for rank, language in enumerate(dataset.options.get("labels", ()))}
            for row in dataset.items("labels", qids):
                best = min(row["labels"], key=lambda label: order.get(label["language"], len(order)), default=None)
                if best:
                    labels.setdefault(row["qid"], best["text"])
        elif dataset.name == "pairs":
            labels |= {row["qid"]: row["label"] for row in dataset.items("label", qids) if row["label"]}
    return labels
