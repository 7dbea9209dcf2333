"""Finished datasets as Arrow tables, and as what pandas, polars and `datasets` make of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from os.path import basename
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from wikianchor.io.errors import InputError
from wikianchor.io.storage import filesystem, local_path
from wikianchor.pipelines.dataset.entity_labels import LABELLED, entity_labels, labelled
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.dataset.reader import Dataset, opened_shard

if TYPE_CHECKING:
    import datasets
    import pandas
    import polars
    import pyarrow.dataset as arrow_dataset


class OpenDataset:
    """A finished dataset.

    Attributes:
        manifest: what `manifest.json` says: options, versions, inputs, ledger, shards with their sha256.
        configs: the names of its tables; the first is the one that the methods read by default.
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
        return list(islice(self, rows))

    def rows(self, config: str = "") -> int:
        """Return the number of rows of a table."""
        return self._dataset.rows(self._config(config))

    def shards(self, config: str = "") -> list[str]:
        """Return the paths of the Parquet files of a table, in order."""
        return self._dataset.shards(self._config(config))

    def schema(self, config: str = "", columns: Sequence[str] | None = None) -> pa.Schema:
        """Return the schema of a table, with the meaning of each field in its metadata; `columns` as in `batches`."""
        batches = self.batches(config, columns)
        return next((batch.schema for batch in batches), pa.schema([]))

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
                for group in range(file.num_row_groups):
                    table = file.read_row_group(group, columns=stored)
                    for name in resolved:
                        table = table.append_column(
                            name, labelled(table.column(LABELLED[name]).combine_chunks(), labels)
                        )
                    yield from (table if columns is None else table.select(list(columns))).to_batches()

    def scan(self, config: str = "") -> arrow_dataset.Dataset:
        """Return a table as a dataset of PyArrow, which reads only the columns and row groups that are asked for.

        Example:
            pairs.scan().to_table(columns=["text"], filter=pyarrow.dataset.field("wiki") == "enwiki")
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

    Example:
        pairs = wikianchor.open_dataset("out/pairs")
        frame = pairs.to_pandas(columns=["text", "entity", "hard_negatives"])
    """
    path = local_path(directory).rstrip("/")
    if (manifest := read_manifest(path)) is None:
        raise InputError(f"{path}: no finished dataset here (no manifest.json): run its stage to the end")
    return OpenDataset(path, manifest)
