"""Helpers for schemas. Each field has a description, which Parquet files store in their metadata."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa


def field(name: str, kind: pa.DataType, description: str, *, nullable: bool = False) -> pa.Field:
    """Return a field with a description in its metadata.

    >>> field("qid", pa.int64(), "Number of the item").metadata
    {b'description': b'Number of the item'}
    """
    return pa.field(name, kind, nullable, {"description": description})


def schema(name: str, version: str, fields: Iterable[pa.Field]) -> pa.Schema:
    """Return a schema with the name and the version of its dataset in its metadata.

    A new nullable column raises the minor version.
    """
    return pa.schema(list(fields), {"wikianchor.dataset": name, "wikianchor.schema_version": version})


def list_of(kind: pa.DataType) -> pa.DataType:
    """Return the type of a list whose elements are never null."""
    return pa.list_(pa.field("element", kind, nullable=False))


def strings() -> pa.DataType:
    """Return the type of a list of strings that are never null."""
    return list_of(pa.string())


def integers(width: pa.DataType) -> pa.DataType:
    """Return the type of a list of integers that are never null."""
    return list_of(width)
