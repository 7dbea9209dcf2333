"""The rows of an export as arrays, their texts with their origins, and rows with other negatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.arrays.hashing import hash_strings, mix
from wikianchor.pipelines.dataset.inputs import fingerprint
from wikianchor.pipelines.dataset.reader import Dataset, open_one, read_batches
from wikianchor.pipelines.export.core_texts import text_keys
from wikianchor.schemas import export, pairs
from wikianchor.schemas.fields import list_of

Arrays = Mapping[str, npt.NDArray[Any]]
# The columns of `sources` that say where positives and negatives are from.
ORIGINS = {
    "entity_qid": "negative_qids",
    "positive_wiki": "negative_wikis",
    "positive_page_id": "negative_page_ids",
    "positive_rev_id": "negative_rev_ids",
}


def open_export(directory: str) -> Dataset:
    """Open a dataset of exported rows; raises UsageError or InputError if there is not one, as Parquet."""
    dataset = open_one(directory, "export", export.VERSION, "data")
    if dataset.options["format"] != "sentence-transformers":
        raise UsageError(f"--data={directory} is no Parquet: export it with --format=sentence-transformers")
    return dataset


def open_pairs(directory: str, exported: Dataset) -> Dataset:
    """Open the pairs that an export was made from; raises UsageError or InputError if they are not in the directory."""
    dataset = open_one(directory, "pairs", pairs.VERSION, "pairs")
    if fingerprint(dataset) not in [source.get("sha256") for source in exported.manifest["inputs"]]:
        raise InputError(f"{exported.directory} was exported from other pairs than --pairs={directory}: name those")
    return dataset


class Shard(NamedTuple):
    """A shard of an export: anchor, positive and negatives, and where they are from."""

    rows: pa.Table
    sources: pa.Table

    @staticmethod
    def read(dataset: Dataset, number: int) -> Shard:
        """Read a shard, given its number."""
        schemas = {"export": export.rows_schema(int(dataset.options["negatives"])), "sources": export.SOURCES}
        paths = {config: dataset.shards(config)[number] for config in schemas}
        return Shard(*(pa.Table.from_batches(read_batches(paths[name], of.names)) for name, of in schemas.items()))

    def arrays(self) -> Arrays:
        """Return arrays by row: `keys` of all texts, `folded` keys of anchor and positive, which are the same for equal
        texts, `items`, `pages`, `wikis`, and `groups`: the wiki of the positive, of the anchor where it is a text of
        Wikidata."""
        groups = pc.coalesce(self.sources["positive_wiki"], self.sources["wiki"])
        return {
            "keys": np.stack([hash_strings(column.combine_chunks()) for column in self.rows.columns], axis=1),
            "folded": np.stack([text_keys(column) for column in self.rows.columns[:2]], axis=1),
            "items": self.sources["entity_qid"].to_numpy(),
            "pages": page_keys(self.sources),
            "groups": hash_strings(groups.combine_chunks()),
            "wikis": hash_strings(self.sources["wiki"].combine_chunks()),
        }

    def texts(self) -> pa.Table:
        """Return the positives, then the first negatives of all rows, the second ones, and so on, as a column `text`
        and columns of origins with the names of the positives'; these are null for texts of Wikidata."""
        width = self.rows.num_columns - 2
        order = pa.array(np.arange(len(self.rows) * width).reshape(len(self.rows), -1).T.ravel())
        columns = {"text": joined(self.rows.columns[1:])}
        for positive, negative in ORIGINS.items():
            values = pc.list_flatten(self.sources[negative])
            values = values.take(order) if len(values) else pa.chunked_array([pa.nulls(len(order), values.type)])
            columns[positive] = joined([self.sources[positive], values])
        return pa.table(columns)

    def with_negatives(self, kept: npt.NDArray[np.int64], texts: pa.Table, scores: npt.NDArray[np.float32]) -> Shard:
        """Return some rows, with other negatives and the column of scores.

        Args:
            kept: the indices of the rows.
            texts: their negatives, as `texts` returns them.
            scores: (rows, 1 + negatives), the cosines of positives and negatives.
        """
        count, width = len(kept), scores.shape[1] - 1
        order = pa.array(np.arange(count * width).reshape(width, -1).T.ravel())
        rows, sources = self.rows.take(pa.array(kept)), self.sources.take(pa.array(kept))
        negatives = [texts["text"].slice(number * count, count) for number in range(width)]
        columns = [*rows.columns[:2], *negatives, _lists(pa.array(scores.ravel()), count, 1 + width)]
        for positive, negative in ORIGINS.items():
            values = texts[positive].take(order).combine_chunks().drop_null()
            number = export.SOURCES.get_field_index(negative)
            of_rows = _lists(values, count, width if len(values) else 0)
            sources = sources.set_column(number, export.SOURCES.field(number), of_rows)
        return Shard(pa.table(columns, schema=export.rows_schema(width, scored=True)), sources)


def page_keys(rows: pa.Table) -> npt.NDArray[np.uint64]:
    """Return a hash of the page of each row, given by `wiki` and `page_id`."""
    return mix(0, hash_strings(rows["wiki"].combine_chunks()).view(np.int64), rows["page_id"].to_numpy())


def joined(columns: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Return columns one after the other."""
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks])


def _lists(values: pa.Array, rows: int, width: int) -> pa.ListArray:
    """Return values as lists of one length."""
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * np.int32(width))
    return pa.ListArray.from_arrays(offsets, values, type=list_of(values.type))
