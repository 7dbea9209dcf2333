"""The core makes the same of texts as Python: keys, weak anchors, words in common."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wikianchor.pipelines.arrays.minhash import OF_ONE
from wikianchor.pipelines.export import core_texts

pytestmark = pytest.mark.skipif(not core_texts.comparer(), reason="NO COMPILED CORE: make core")

# Letters of all scripts, with several forms or folded to several; brackets, commas, dashes, numbers, white space.
TEXTS = st.one_of(
    st.text(alphabet="aB1 2-–:：,،、(（)）\u3000\t\n.", max_size=45),
    st.text(alphabet="aßİΐﬁ\u0301\u0390 \0\x1c,বাংলা中国アカ한국เแก٣㎏😀", max_size=45),
    st.text(max_size=20),
).map(lambda text: text.encode("utf-8", "replace").decode())
PAIRS = st.lists(st.tuples(TEXTS, st.integers(0, 45), st.integers(0, 45), TEXTS), max_size=8)


def pairs_of(rows: Sequence[tuple[str, int, int, str]]) -> pa.RecordBatch:
    """Return rows of pairs, whose links are in their sentences."""
    spans = [sorted((min(first, len(text)), min(last, len(text)))) for text, first, last, _ in rows]
    texts, titles = ([row[number] for row in rows] for number in (0, 3))
    starts, ends = ([span[number] for span in spans] for number in (0, 1))
    columns = [pa.array(texts, pa.string()), *(pa.array(column, pa.int32()) for column in (starts, ends))]
    return pa.record_batch([*columns, pa.array(titles, pa.string())], core_texts.ANCHOR)


@given(PAIRS, st.integers(0, 2))
@example([("1971 - In (Oslo), Bergen,", 11, 15, "Oslo (city)"), ("Anna (1901–1980)", 0, 4, "")], 0)
@example([("In 2011 a\u2003: b", 3, 4, "x"), ("a" * 24 + "1 - b", 0, 1, "a")], 0)
def test_the_core_makes_the_same_of_texts(rows: Sequence[tuple[str, int, int, str]], sliced: int) -> None:
    pairs = pairs_of(rows).slice(min(sliced, len(rows)))
    number = pairs.num_rows
    positives, scopes = pa.array([title for *_, title in rows] or [""], pa.string()), np.arange(number, dtype=np.uint64)
    of_pair = np.arange(number) % len(positives)

    def values() -> list[list[object]]:
        return [
            core_texts.text_keys(pairs.column("text")).tolist(),
            core_texts.text_keys(pa.chunked_array([positives, positives])).tolist(),
            core_texts.weak_anchors(pairs).tolist(),
            core_texts.lead_mask(pairs, np.arange(number) % 2 == 0).tolist(),
            core_texts.closeness(pairs, positives, of_pair).tolist(),
            core_texts.masked_keys(pairs, scopes, OF_ONE).tolist(),
        ]

    by_core = values()
    with patch.object(core_texts, "comparer", lambda: None):
        assert values() == by_core


def test_the_core_refuses_links_outside_the_text() -> None:
    compare = core_texts.comparer()
    offsets = np.array([0, 2], "<i4").tobytes()
    for start, end in ((0, 3), (-1, 1), (2, 1)):
        places = (np.array([edge], "<i4").tobytes() for edge in (start, end))
        with pytest.raises(ValueError, match="a text or a link is not in the data"):
            compare.weak(((b"ab", offsets), *places))
    with pytest.raises(ValueError, match="a text or a link is not in the data"):
        compare.text_keys((b"a", offsets))


def test_threads_share_no_comparer() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(core_texts.comparer).result() is not core_texts.comparer()
