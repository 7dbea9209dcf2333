"""The buffers of Arrow's columns, as the compiled core takes and makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def string_buffers(texts: pa.StringArray) -> tuple[bytes, bytes]:
    """Return the bytes of texts one after the other, and where each begins and the last one ends, int32.

    >>> string_buffers(pa.array(["a", "bc", "d"]).slice(1))[0]
    b'bcd'
    """
    offsets = np.frombuffer(texts.buffers()[1] or bytes(4), np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = memoryview(texts.buffers()[2] or b"")[offsets[0] : offsets[-1]]
    return bytes(data), (offsets - offsets[0]).tobytes()


# The name of what is in a list of strings; else that of the list with ".item".
_ITEMS = {"flags": "flag", "links": "link", "categories": "category"}


def column_of(field: pa.Field, rows: int, buffers: Mapping[str, Any], of: str = "") -> pa.Array:
    """Return a column from the buffers that the core makes (https://arrow.apache.org/docs/format/Columnar.html).

    Args:
        field: that of the column.
        rows: number of its values.
        buffers: by the name of the column; what is in a list of documents has the name of the list and a dot before.
        of: what precedes the name.
    """
    kind, name = field.type, of + field.name
    if field.nullable and name not in buffers:
        return pa.nulls(rows, kind)
    column = buffers[name]
    if pa.types.is_list(kind):
        ends = pa.Array.from_buffers(pa.int32(), rows + 1, [None, pa.py_buffer(column)])
        size = ends[rows].as_py()
        if pa.types.is_struct(inner := kind.value_type):
            before = f"{name}." if f"{name}.{inner[0].name}" in buffers else ""
            arrays = [column_of(member, size, buffers, before) for member in inner]
            values: pa.Array = pa.StructArray.from_arrays(arrays, fields=[*inner])
        else:
            values = column_of(pa.field(_ITEMS.get(field.name, f"{name}.item"), inner, nullable=False), size, buffers)
        return pa.ListArray.from_arrays(ends, values, type=kind)
    if pa.types.is_string(kind):
        ends, data, *valid = column
        return pa.Array.from_buffers(
            kind, rows, [*(map(pa.py_buffer, valid) if valid else [None]), *map(pa.py_buffer, (ends, data))]
        )
    numbers = pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(column)])
    # In the core -1 is no number.
    return pc.if_else(pc.less(numbers, 0), None, numbers) if field.nullable else numbers
