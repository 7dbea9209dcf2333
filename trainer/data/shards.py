"""The `pairs` dataset as the trainer sees it: checked against its schema once, then read shard by shard."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

import wikianchor.schemas.pairs
from wikianchor.io.errors import InputError
from wikianchor.io.storage import exists, filesystem, read_bytes, reading

COLUMNS = ("text", "entity_id", "hard_negative_ids", "sentence_id", "wiki")
ENTITY_COLUMNS = ("entity_id", "qid", "count", "label")
BATCH = 65_536
_MADE_BY = {
    "pairs": "wikianchor build",
    "mentions": "wikianchor mentions",
    "interlanguage": "wikianchor interlanguage",
}


@dataclass(frozen=True)
class Pairs:
    """A finished dataset: where its shards lie, and how many rows and entities they hold."""

    path: str
    manifest: dict[str, Any]
    shards: tuple[str, ...]
    rows: int
    entities: int
    # Of the shards' own sha256: equal for equal rows, wherever they lie.
    fingerprint: str


def open_pairs(path: str) -> Pairs:
    """Check a dataset's manifest and the schema of each of its shards.

    Raises:
        InputError: it is no finished `pairs` dataset of a version that is known here, or it is empty.
    """
    path = path.rstrip("/")
    manifest = read_manifest(path, "pairs", wikianchor.schemas.pairs.VERSION)
    configs = {name: list_shards(path, manifest, name) for name in ("pairs", "entities")}
    shards, rows, fingerprint = configs["pairs"]
    if rows == 0:
        raise InputError(f"{path}: holds no pairs: see its ledger for what became of the links")
    for shard in shards:
        check_columns(shard, wikianchor.schemas.pairs.SCHEMA, COLUMNS)
    for shard in configs["entities"][0]:
        check_columns(shard, wikianchor.schemas.pairs.ENTITIES, ENTITY_COLUMNS)
    return Pairs(path, manifest, tuple(shards), rows, configs["entities"][1], fingerprint)


def read_batches(pairs: Pairs, columns: Sequence[str] = COLUMNS) -> Iterator[pa.RecordBatch]:
    """Yield the rows in the order of the dataset; nulls and entity ids are checked on the way."""
    count = 0
    for shard in pairs.shards:
        for batch in read_shard(shard, wikianchor.schemas.pairs.SCHEMA, columns):
            _check_ids(batch, pairs.entities, shard)
            count += len(batch)
            yield batch
    if count != pairs.rows:
        raise InputError(f"{pairs.path}: holds {count} rows and its manifest says {pairs.rows}: build it again")


def read_shard(shard: str, expected: pa.Schema, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a shard, some columns of it.

    Raises:
        InputError: the shard cannot be read, or a value is null that the schema wants.
    """
    files, inner = filesystem(shard)
    with reading(shard), files.open_input_file(inner) as stream:
        row = 0
        for batch in pq.ParquetFile(stream).iter_batches(BATCH, columns=list(columns)):
            check_nulls(batch, expected, shard, row)
            row += len(batch)
            yield batch


def read_table(shard: str, expected: pa.Schema, columns: Sequence[str]) -> pa.Table:
    """Return a whole shard, some columns of it; raises as `read_shard`."""
    files, inner = filesystem(shard)
    with reading(shard), files.open_input_file(inner) as stream:
        table = pq.ParquetFile(stream).read(columns=list(columns))
    check_nulls(table, expected, shard)
    return table


def read_wikis(pairs: Pairs) -> list[str]:
    """Return the wikis that rows are of, sorted."""
    found: set[str] = set()
    for batch in read_batches(pairs, ("wiki",)):
        found.update(batch.column("wiki").unique().to_pylist())
    return sorted(found)


def read_entities(pairs: Pairs) -> pa.Table:
    """Return the table of entities, row i for the entity with id i."""
    shards, _, _ = list_shards(pairs.path, pairs.manifest, "entities")
    tables = []
    for shard in shards:
        tables.append(read_table(shard, wikianchor.schemas.pairs.ENTITIES, ENTITY_COLUMNS))
    table = pa.concat_tables(tables).sort_by("entity_id")
    if table["entity_id"].to_numpy().tolist() != list(range(len(table))):
        raise InputError(f"{pairs.path}/data/entities: entity_id does not count from 0 without gaps: build it again")
    return table


def read_manifest(path: str, name: str, known: str) -> dict[str, Any]:
    """Return the manifest of a finished dataset.

    Args:
        path: directory of the dataset.
        name: what it must be, such as pairs.
        known: version of the schema that is read here; the major version must agree.

    Raises:
        InputError: it is not there, another dataset, or of another version.
    """
    place = f"{path}/manifest.json"
    if not exists(place):
        inner = f"{path}/{name}"
        hint = f": did you mean {inner}?" if exists(f"{inner}/manifest.json") else f": {_MADE_BY[name]} makes one"
        raise InputError(f"{place}: not there, so this is no finished dataset{hint}")
    try:
        manifest = json.loads(read_bytes(place))
        found, version = str(manifest["dataset"]), str(manifest["schema_version"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{place}: not a manifest of wikianchor ({error})") from error
    if found != name:
        raise InputError(f"{path}: a dataset of {found}: the trainer reads {name} here")
    if version.partition(".")[0] != known.partition(".")[0]:
        raise InputError(f"{path}: {name} of version {version}, and this trainer reads {known}: build it again")
    return dict(manifest)


def list_shards(path: str, manifest: dict[str, Any], config: str) -> tuple[list[str], int, str]:
    """Return the shards of a config, its rows, and a digest of the shards' own; each shard must have its size."""
    try:
        stated = manifest["configs"][config]
        listed = [(f"{path}/{shard['path']}", int(shard["bytes"]), str(shard["sha256"])) for shard in stated["shards"]]
        rows = int(stated["rows"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}/manifest.json: says nothing of the config {config} ({error})") from error
    for place, size, _ in listed:
        files, inner = filesystem(place)
        with reading(place):
            info = files.get_file_info(inner)
        if info.type != fs.FileType.File or info.size != size:
            raise InputError(f"{place}: is not there, or not of the {size} bytes in the manifest: build it again")
    digest = hashlib.sha256("".join(digest for _, _, digest in listed).encode()).hexdigest()
    return [place for place, _, _ in listed], rows, digest


def check_columns(shard: str, expected: pa.Schema, columns: Sequence[str]) -> None:
    """Raise InputError if a shard lacks one of these columns, or has it in another type."""
    files, inner = filesystem(shard)
    with reading(shard), files.open_input_file(inner) as stream:
        found = pq.ParquetFile(stream).schema_arrow
    for name in columns:
        if name not in found.names:
            raise InputError(f"{shard}: has no column {name}: build it again")
        if not _alike(found.field(name).type, expected.field(name).type):
            raise InputError(f"{shard}: {name} is {found.field(name).type} and not {expected.field(name).type}")


def check_nulls(rows: pa.RecordBatch | pa.Table, expected: pa.Schema, shard: str, first: int = 0) -> None:
    """Raise InputError if a value is null, or an element of a list, in a column where the schema allows none.

    Args:
        rows: of a shard.
        expected: the schema of the dataset.
        shard: its path, for the message.
        first: number of the first of the rows in the shard.
    """
    for name in rows.schema.names:
        column = rows.column(name)
        if column.null_count and not expected.field(name).nullable:
            place = first + pc.index(column.is_null(), True).as_py()
            raise InputError(f"{shard}: {name} is null in row {place} (counted from 0): build it again")
        if pa.types.is_list(column.type) and (elements := pc.list_flatten(column)).null_count:
            owner = pc.list_parent_indices(column)[pc.index(elements.is_null(), True).as_py()]
            place = first + owner.as_py()
            raise InputError(f"{shard}: {name} holds a null in row {place} (counted from 0): build it again")


def _alike(found: pa.DataType, expected: pa.DataType) -> bool:
    """Whether types are equal but for the names of list elements and for dictionaries, which readers are free in."""
    if pa.types.is_dictionary(found):
        found = found.value_type
    if pa.types.is_list(found) and pa.types.is_list(expected):
        return bool(found.value_type == expected.value_type)
    return bool(found == expected)


def _check_ids(batch: pa.RecordBatch, entities: int, shard: str) -> None:
    for name in ("entity_id", "hard_negative_ids"):
        if name not in batch.schema.names:
            continue
        column = batch.column(name)
        ids = (column.flatten() if pa.types.is_list(column.type) else column).to_numpy(zero_copy_only=False)
        if len(ids) and (ids.min() < 0 or ids.max() >= entities):
            bad = ids[(ids < 0) | (ids >= entities)][0]
            raise InputError(f"{shard}: {name} {bad} is out of range: there are {entities} entities")
