"""The buffers of Arrow's strings, as the compiled core takes them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def string_buffers(texts: pa.StringArray) -> tuple[bytes, bytes]:
    """Return the bytes of texts one after the other, and where each begins and the last one ends, int32.

    >>> string_buffers(pa.array(["a", "bc", "d"]).slice(1))[0]
    b'bcd'
    """
    offsets = np.frombuffer(texts.buffers()[1] or bytes(4), np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = memoryview(texts.buffers()[2] or b"")[offsets[0] : offsets[-1]]
    return bytes(data), (offsets - offsets[0]).tobytes()
