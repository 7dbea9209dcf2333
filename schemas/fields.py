"""How a schema is written down: each field with its meaning, readable again from the Parquet file's own metadata."""

from __future__ import annotations

import pyarrow as pa


def field(name: str, kind: pa.DataType, meaning: str, nullable: bool = False) -> pa.Field:
    """Return a field that carries its meaning as metadata."""
    return pa.field(name, kind, nullable, {"description": meaning})


def schema(name: str, version: str, *fields: pa.Field) -> pa.Schema:
    """Return a schema that carries its dataset's name and version. Adding a nullable column raises the minor
    version."""
    return pa.schema(list(fields), {"wikianchor.dataset": name, "wikianchor.schema_version": version})


def strings() -> pa.DataType:
    """A list of strings that are never null."""
    return pa.list_(pa.field("element", pa.string(), False))


def integers(width: pa.DataType) -> pa.DataType:
    """A list of integers that are never null."""
    return pa.list_(pa.field("element", width, False))
