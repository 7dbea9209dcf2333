"""Finished datasets: their manifests are checked, and their shards are read with checks of types, nulls and ids."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

import wikianchor.schemas.pairs
from wikianchor.io.errors import InputError
from wikianchor.io.manifests import MANIFEST, is_inside, reread
from wikianchor.io.parsing import malformed
from wikianchor.io.storage import exists, file_info, filesystem, read_bytes, reading

COLUMNS = ("text", "entity_id", "hard_negative_ids", "sentence_id", "wiki")
ENTITY_COLUMNS = ("entity_id", "qid", "count", "label")
ROWS_PER_BATCH = 65_536
_COMMANDS = {
    "pairs": "wikianchor build",
    "export": "wikianchor export",
    "entities": "wikianchor entities",
    "mentions": "wikianchor mentions",
    "interlanguage": "wikianchor interlanguage",
    "linking": "wikianchor linking",
}


@dataclass(frozen=True)
class DatasetFiles:
    """A dataset or a file that passed the checks of its manifest and columns.

    Attributes:
        path: where it is.
        manifest: the dataset's manifest; for a file, its name as `dataset`.
        shards: paths of the shards of its rows; a file is its only shard.
        rows: number of rows; 0 for a file, whose rows are not counted before it is read.
        fingerprint: equal for equal rows wherever they are stored.
    """

    path: str
    manifest: dict[str, Any]
    shards: tuple[str, ...]
    rows: int
    fingerprint: str


@dataclass(frozen=True)
class PairDataset(DatasetFiles):
    """A dataset `pairs`.

    Attributes:
        entities: number of entities, whose ids are 0 to `entities - 1`.
        source: what the user named: the directory, or files of one's own that the dataset was written from.
    """

    entities: int
    source: str

    @property
    def is_own(self) -> bool:
        """Whether the rows are one's own, and not of Wikipedia."""
        return bool(self.manifest.get("own_rows"))


@reread
def open_pairs(path: str) -> PairDataset:
    """Check a dataset's manifest and the schema of each of its shards.

    Raises:
        InputError: the directory holds no finished `pairs` dataset of a supported version, or one without rows.
    """
    manifest = read_manifest(path, {"pairs": wikianchor.schemas.pairs.VERSION})
    shards, rows, fingerprint = list_shards(path, manifest, "pairs")
    entity_shards, entities, _ = list_shards(path, manifest, "entities")
    if rows == 0:
        raise InputError(f"{path}: holds no pairs: see its ledger for what became of the links")
    check_columns(shards, wikianchor.schemas.pairs.SCHEMA, COLUMNS)
    check_columns(entity_shards, wikianchor.schemas.pairs.ENTITIES, ENTITY_COLUMNS)
    return PairDataset(
        path=path,
        manifest=manifest,
        shards=tuple(shards),
        rows=rows,
        entities=entities,
        fingerprint=fingerprint,
        source=path,
    )


def read_batches(pairs: PairDataset, columns: Sequence[str] = COLUMNS) -> Iterator[pa.RecordBatch]:
    """Yield the rows in the order of the dataset, after checks of nulls, entity ids and the number of rows."""
    count = 0
    for shard in pairs.shards:
        for batch in read_shard(shard, wikianchor.schemas.pairs.SCHEMA, columns):
            _check_ids(batch, pairs.entities, shard)
            count += len(batch)
            yield batch
    if count != pairs.rows:
        raise InputError(f"{pairs.path}: holds {count} rows and its manifest says {pairs.rows}: build it again")


def read_texts(pairs: PairDataset) -> Iterator[str]:
    """Yield the text of each row, in the order of the shards; raises as `read_batches`."""
    for batch in read_batches(pairs, ("text",)):
        yield from batch.column("text").to_pylist()


def read_shard(shard: str, expected: pa.Schema, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a shard.

    Args:
        shard: path of a Parquet file.
        expected: the dataset's schema.
        columns: names of columns.

    Raises:
        InputError: the shard cannot be read, or a value is null where the schema allows none.
    """
    files, inner = filesystem(shard)
    with reading(shard), files.open_input_file(inner) as stream:
        row = 0
        for batch in pq.ParquetFile(stream).iter_batches(ROWS_PER_BATCH, columns=list(columns)):
            check_nulls(batch, expected, shard, row)
            row += len(batch)
            yield batch


def read_table(shard: str, expected: pa.Schema, columns: Sequence[str]) -> pa.Table:
    """Return some columns of a whole shard; arguments and errors as for `read_shard`."""
    files, inner = filesystem(shard)
    with reading(shard), files.open_input_file(inner) as stream:
        table = pq.ParquetFile(stream).read(columns=list(columns))
    check_nulls(table, expected, shard)
    return table


def read_wikis(pairs: PairDataset) -> list[str]:
    """Return the wikis that the rows come from, sorted."""
    wikis: set[str] = set()
    for batch in read_batches(pairs, ("wiki",)):
        wikis.update(batch.column("wiki").unique().to_pylist())
    return sorted(wikis)


def read_entities(pairs: PairDataset) -> pa.Table:
    """Return the table of entities; row i is the entity with id i.

    Raises:
        InputError: the ids are not 0, 1, 2, ...
    """
    shards, _, _ = list_shards(pairs.path, pairs.manifest, "entities")
    tables = [read_table(shard, wikianchor.schemas.pairs.ENTITIES, ENTITY_COLUMNS) for shard in shards]
    table = pa.concat_tables(tables).sort_by("entity_id")
    if table["entity_id"].to_numpy().tolist() != list(range(len(table))):
        raise InputError(f"{pairs.path}/data/entities: entity_id does not count from 0 without gaps: build it again")
    return table


def read_manifest(path: str, versions: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest of a finished dataset.

    Args:
        path: directory of the dataset.
        versions: supported datasets, with the version of their schema; the major version must agree.

    Raises:
        InputError: there is no manifest, or it is of another dataset or of another version.
    """
    file = f"{path}/{MANIFEST}"
    name = next(iter(versions))
    if not exists(file):
        inner = f"{path}/{name}"
        hint = f"did you mean {inner}?" if exists(f"{inner}/{MANIFEST}") else f"{_COMMANDS[name]} makes one"
        raise InputError(f"{file}: not there, so this is no finished dataset: {hint}")
    with malformed(f"{file}: not a manifest of wikianchor"):
        manifest = dict(json.loads(read_bytes(file)))
        dataset, version = str(manifest["dataset"]), str(manifest["schema_version"])
    if dataset not in versions:
        raise InputError(f"{path}: a dataset of {dataset}: the trainer reads {', '.join(versions)} here")
    if version.partition(".")[0] != versions[dataset].partition(".")[0]:
        known = versions[dataset]
        raise InputError(f"{path}: {dataset} of version {version}, and this trainer reads {known}: build it again")
    return manifest


def list_shards(path: str, manifest: dict[str, Any], config: str) -> tuple[list[str], int, str]:
    """Return the shards of a config, its number of rows, and a hash of the shards' sha256.

    Raises:
        InputError: the manifest does not list them, or a shard is missing or not of the size in the manifest.
    """
    with malformed(f"{path}/{MANIFEST}: says nothing of the config {config}"):
        stated = manifest["configs"][config]
        listed = [(f"{path}/{shard['path']}", int(shard["bytes"]), str(shard["sha256"])) for shard in stated["shards"]]
        rows = int(stated["rows"])
    for shard, size, _ in listed:
        if not is_inside(path, shard):
            raise InputError(f"{path}/{MANIFEST}: {shard!r} is outside of the dataset: build it again")
        info = file_info(shard)
        if info.type != fs.FileType.File or info.size != size:
            raise InputError(f"{shard}: is not there, or not of the {size} bytes in the manifest: build it again")
    fingerprint = hashlib.sha256("".join(digest for _, _, digest in listed).encode()).hexdigest()
    return [shard for shard, _, _ in listed], rows, fingerprint


def check_columns(shards: Iterable[str], expected: pa.Schema, columns: Sequence[str]) -> None:
    """Raise InputError if a shard lacks one of these columns, or has it with another type."""
    for shard in shards:
        files, inner = filesystem(shard)
        with reading(shard), files.open_input_file(inner) as stream:
            schema = pq.ParquetFile(stream).schema_arrow
        for name in columns:
            if name not in schema.names:
                raise InputError(f"{shard}: has no column {name}: build it again")
            if not _same_type(schema.field(name).type, expected.field(name).type):
                raise InputError(f"{shard}: {name} is {schema.field(name).type} and not {expected.field(name).type}")


def check_nulls(rows: pa.RecordBatch | pa.Table, expected: pa.Schema, shard: str, first: int = 0) -> None:
    """Raise InputError if a value, or an element of a list, is null in a column where the schema allows none.

    Args:
        rows: rows of a shard.
        expected: the dataset's schema.
        shard: its path, for the message.
        first: number of the first of the rows in the shard.
    """
    for name in rows.schema.names:
        column = rows.column(name)
        if column.null_count and not expected.field(name).nullable:
            row = first + pc.index(column.is_null(), value=True).as_py()
            raise InputError(f"{shard}: {name} is null in row {row} (counted from 0): build it again")
        if pa.types.is_list(column.type) and (elements := pc.list_flatten(column)).null_count:
            row = first + pc.list_parent_indices(column)[pc.index(elements.is_null(), value=True).as_py()].as_py()
            raise InputError(f"{shard}: {name} holds a null in row {row} (counted from 0): build it again")


def _same_type(actual: pa.DataType, expected: pa.DataType) -> bool:
    """Compare types without dictionary encoding and without names of list elements, which depend on the writer."""
    if pa.types.is_dictionary(actual):
        actual = actual.value_type
    return (
        bool(actual.value_type == expected.value_type)
        if pa.types.is_list(actual) and pa.types.is_list(expected)
        else bool(actual == expected)
    )


def _check_ids(batch: pa.RecordBatch, entities: int, shard: str) -> None:
    for name in [name for name in ("entity_id", "hard_negative_ids") if name in batch.schema.names]:
        column = batch.column(name)
        ids = (column.flatten() if pa.types.is_list(column.type) else column).to_numpy(zero_copy_only=False)
        if len(ids) and (ids.min() < 0 or ids.max() >= entities):
            bad = ids[(ids < 0) | (ids >= entities)][0]
            raise InputError(f"{shard}: {name} {bad} is out of range: there are {entities} entities")
