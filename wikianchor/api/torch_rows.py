"""The rows of a dataset for PyTorch; imported where they are asked for, since torch takes seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from torch.utils.data import IterableDataset, get_worker_info

if TYPE_CHECKING:
    from wikianchor.api.datasets import OpenDataset


class TorchRows(IterableDataset[dict[str, Any]]):
    """The rows of a table as dicts. Each worker of a `DataLoader` reads files of its own.

    Args:
        dataset: the dataset.
        config: the config of the table.
        columns: those to read; None for all.
    """

    def __init__(self, dataset: OpenDataset, config: str, columns: Sequence[str] | None) -> None:
        self._dataset, self._config, self._columns = dataset, config, columns
        self._shards = dataset.shards(config)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        worker = get_worker_info()
        shards = self._shards[worker.id :: worker.num_workers] if worker else self._shards
        for batch in self._dataset.batches(self._config, self._columns, shards):
            yield from batch.to_pylist()
