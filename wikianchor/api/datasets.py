"""Finished datasets as Arrow tables, and as what pandas, polars and `datasets` make of them."""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from os.path import basename
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.flags import nearest_or_all
from wikianchor.io.storage import filesystem, local_path
from wikianchor.pipelines.dataset.entity_labels import LABELLED, entity_labels, labelled
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.dataset.reader import Dataset, opened_shard
from wikianchor.pipelines.dataset.split_configs import split_of

if TYPE_CHECKING:
    import datasets
    import pandas
    import polars
    import pyarrow.compute as arrow_compute
    import pyarrow.dataset as arrow_dataset

    from wikianchor.api.torch_rows import TorchRows


class OpenDataset:
    """A finished dataset.

    Attributes:
        manifest: what `manifest.json` says: options, versions, inputs, ledger, shards with their sha256.
        configs: the names of its tables; the first is the one that the methods read by default.

    >>> import wikianchor
    >>> pairs = wikianchor.open_dataset("out/demo/pairs")
    >>> pairs
    <pairs in out/demo/pairs: pairs: 1,064 rows, entities: 79 rows>
    >>> len(pairs), pairs.head(1)[0]["wiki"], sum(row["wiki"] == "enwiki" for row in pairs)
    (1064, 'enwiki', 546)
    """

    def __init__(self, directory: str, manifest: Mapping[str, Any]) -> None:
        self._dataset = Dataset(directory, dict(manifest))
        self.manifest = manifest
        name = str(manifest["dataset"])
        self.configs = tuple(sorted(manifest["configs"], key=lambda config: (config != name, config)))

    def __repr__(self) -> str:
        rows = ", ".join(f"{config}: {self.rows(config):,} rows" for config in self.configs)
        return f"<{self.manifest['dataset']} in {self._dataset.directory}: {rows}>"

    def __len__(self) -> int:
        return self.rows()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the first table, in order, as dicts."""
        return (row for batch in self.batches() for row in batch.to_pylist())

    def head(self, rows: int = 5) -> list[dict[str, Any]]:
        """Return the first rows of the first table."""
        if rows < 0:
            raise UsageError(f"head({rows}): must not be negative")
        return list(islice(self, rows))

    @property
    def splits(self) -> dict[str, str]:
        """The table of each split: {"train": "pairs"}, and those of "dev" and "test" where --split held rows out."""
        base = self.configs[0]
        return {split: config for config in self.configs for name, split in [split_of(config)] if name == base}

    def labels(self) -> dict[int, str]:
        """Return the label of each item of the table of entities by its number, "Q42" where it has none.

        >>> import wikianchor
        >>> wikianchor.open_dataset("out/demo/pairs").labels()[405]
        'Moon'
        """
        self._check_columns(["label"], self.scan("entities").schema.names)
        qids = (qid for batch in self.batches("entities", ["qid"]) for qid in batch["qid"].to_pylist())
        return dict(zip(qids, entity_labels(self._dataset).to_pylist(), strict=True))

    def filter(
        self,
        where: Mapping[str, Any] | arrow_compute.Expression,
        config: str = "",
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """Return some rows of a table; only the columns and row groups that are needed are read.

        Args:
            where: the value of a column by its name, or a list of values; or an expression of PyArrow.
            config: the config of the table.
            columns: those to return; None for all.

        >>> import wikianchor
        >>> pairs = wikianchor.open_dataset("out/demo/pairs")
        >>> pairs.filter({"wiki": "enwiki"}, columns=["text"]).num_rows
        546
        """
        from pyarrow import compute

        table = self.scan(config)
        self._check_columns([*(columns or ()), *(where if isinstance(where, Mapping) else ())], table.schema.names)
        if isinstance(where, Mapping):
            parts = [
                compute.field(name).isin(value if isinstance(value, list) else [value]) for name, value in where.items()
            ]
            where = functools.reduce(operator.and_, parts, compute.scalar(True))
        elif not isinstance(where, compute.Expression):
            raise TypeError(f"filter({where!r}): must be a mapping of columns to values, or an expression of PyArrow")
        return table.to_table(columns=None if columns is None else list(columns), filter=where)

    def rows(self, config: str = "") -> int:
        """Return the number of rows of a table."""
        return self._dataset.rows(self._config(config))

    def shards(self, config: str = "") -> list[str]:
        """Return the paths of the Parquet files of a table, in order."""
        return self._dataset.shards(self._config(config))

    def schema(self, config: str = "", columns: Sequence[str] | None = None) -> pa.Schema:
        """Return the schema of a table, with the meaning of each field in its metadata; `columns` as in `batches`."""
        return next((batch.schema for batch in self.batches(config, columns)), pa.schema([]))

    def batches(
        self, config: str = "", columns: Sequence[str] | None = None, shards: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a table, a row group at a time, so memory does not grow with the dataset.

        Args:
            config: the config of the table.
            columns: those to read; None for all. For `pairs`, "entity" and "hard_negatives" may be among them: labels
                of the entities (a string, a list of strings), "Q42" for an entity without a label.
            shards: some of `shards(config)`; None for all.

        Raises:
            InputError: a file is missing or damaged.
            UsageError: there is no such column.
        """
        stored = None if columns is None else list(columns)
        resolved = [name for name in LABELLED if stored and name in stored and self._lacks(name)]
        if stored and resolved:
            stored = [name for name in [*stored, *LABELLED.values()] if name not in resolved]
        labels = entity_labels(self._dataset) if resolved else None
        for path in self.shards(config) if shards is None else shards:
            if not path.endswith(".parquet"):
                raise InputError(f"{path}: not Parquet: read it as text, or export with --format=sentence-transformers")
            with opened_shard(path) as file:
                self._check_columns(columns or (), [*file.schema_arrow.names, *resolved])
                for group in range(file.num_row_groups):
                    table = file.read_row_group(group, columns=stored)
                    for name in resolved:
                        table = table.append_column(
                            name, labelled(table.column(LABELLED[name]).combine_chunks(), labels)
                        )
                    yield from (table if columns is None else table.select(list(columns))).to_batches()

    def scan(self, config: str = "") -> arrow_dataset.Dataset:
        """Return a table as a dataset of PyArrow, which reads only the columns and row groups that are asked for.

        >>> import wikianchor
        >>> wikianchor.open_dataset("out/demo/pairs").scan().schema.names[:2]
        ['text', 'mention_start']
        """
        import pyarrow.dataset as arrow_dataset

        opened = [filesystem(path) for path in self.shards(config)]
        if not opened:
            return arrow_dataset.dataset(self.to_arrow(config))
        return arrow_dataset.dataset([path for _, path in opened], filesystem=opened[0][0], format="parquet")

    def to_arrow(self, config: str = "", columns: Sequence[str] | None = None) -> pa.Table:
        """Return a table as Arrow; `columns` as in `batches`."""
        batches = list(self.batches(config, columns))
        return pa.Table.from_batches(batches) if batches else pa.table({})

    def to_pandas(self, config: str = "", columns: Sequence[str] | None = None) -> pandas.DataFrame:
        """Return a table as a pandas data frame; `columns` as in `batches`."""
        return self.to_arrow(config, columns).to_pandas()

    def to_polars(self, config: str = "", columns: Sequence[str] | None = None) -> polars.DataFrame:
        """Return a table as a polars data frame; `columns` as in `batches`."""
        import polars

        return polars.DataFrame(polars.from_arrow(self.to_arrow(config, columns)))

    def to_datasets(self, config: str = "", streaming: bool = False) -> datasets.Dataset | datasets.IterableDataset:
        """Return a table as a dataset of Hugging Face's `datasets`; streaming reads it row by row."""
        from datasets import load_dataset

        files = self.shards(config)
        builder = {"parquet": "parquet", "jsonl.gz": "json", "csv.gz": "csv"}[basename(files[0]).partition(".")[2]]
        return load_dataset(builder, data_files=files, split="train", streaming=streaming)

    def to_torch(self, config: str = "", columns: Sequence[str] | None = None) -> TorchRows:
        """Return a table as an iterable dataset of PyTorch, of rows as dicts; `columns` as in `batches`. The workers of
        a `torch.utils.data.DataLoader` share the files.

        >>> import wikianchor
        >>> rows = wikianchor.open_dataset("out/demo/pairs").to_torch(columns=["text", "entity"])
        >>> sorted(next(iter(rows)))
        ['entity', 'text']
        """
        from wikianchor.api.torch_rows import TorchRows

        return TorchRows(self, config, columns)

    def _check_columns(self, names: Sequence[str], known: Sequence[str]) -> None:
        if unknown := [name for name in names if name not in known]:
            nearest = nearest_or_all(unknown[0], known)
            raise UsageError(f"{self._dataset.directory}: no column {unknown[0]!r}{nearest}")

    def _lacks(self, column: str) -> bool:
        """Return whether a column is not in the rows, as that of labels is in those of a release."""
        return all(column not in pq.read_schema(path).names for path in self.shards()[:1])

    def _config(self, config: str) -> str:
        if config and config not in self.configs:
            raise InputError(f"{self._dataset.directory}: no table {config!r}: choose of {', '.join(self.configs)}")
        return config or self.configs[0]


def open_dataset(directory: str | os.PathLike[str]) -> OpenDataset:
    """Open a finished dataset.

    Args:
        directory: one with a `manifest.json`, as a pipeline or `wikianchor publish` wrote it; a path or a URI.

    Raises:
        InputError: there is no finished dataset.

    >>> import wikianchor
    >>> pairs = wikianchor.open_dataset("out/demo/pairs")
    >>> pairs.to_arrow(columns=["text", "entity", "hard_negatives"]).num_rows
    1064
    """
    path = local_path(directory).rstrip("/")
    if (manifest := read_manifest(path)) is None:
        raise InputError(f"{path}: no finished dataset here (no manifest.json): run its stage to the end")
    return OpenDataset(path, manifest)
