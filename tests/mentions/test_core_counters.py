"""The core counts the same names as NumPy, of text that folding and cutting treat in every way."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stand_in import write_dataset
from wikianchor.aliases.folding import fold_all
from wikianchor.aliases.name_table import NameTable, nodes_of, table_of
from wikianchor.pipelines.arrays.tables import open_tables, save_tables
from wikianchor.pipelines.dataset.reader import shards_of
from wikianchor.pipelines.mentions import anchors, core_counters, occurrences
from wikianchor.pipelines.mentions.anchors import REASON
from wikianchor.pipelines.wikimedia.core_record import core_with
from wikianchor.schemas import sentences as schema
from wikianchor.schemas.choices import FRAGMENT_REGIONS

core = core_with("NameCharacters")
pytestmark = pytest.mark.skipif(core is None, reason="NO COMPILED CORE: make core")

# Words, marks, scripts with and without spaces, white space, quotation marks, a gap, characters that are folded.
TEXTS = st.one_of(
    st.text(alphabet="ab A1.-' «»\"„  \t\u3000\ufffc\u0301\u200d", max_size=30),
    st.text(alphabet="aÉé ß İﬁ中國国の アカー・ｱﾞ 한국이 เแก ក្ 𐍈😀\u0301\0\x85", max_size=30),
    st.text(max_size=12),
).map(lambda text: text.encode("utf-8", "replace").decode())
# A page, a region, a text, and where its links begin and end.
Row = tuple[int, str, str, tuple[int, int, int, int]]
ROWS = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(FRAGMENT_REGIONS), TEXTS, st.tuples(*[st.integers(0, 30)] * 4)),
    min_size=1,
    max_size=12,
)


class Targets:
    """Items and reasons that follow from the number of a link."""

    def __init__(self, links: dict[str, int]) -> None:
        self.links = links

    def of_links(self, shard: str) -> tuple[np.ndarray, np.ndarray]:
        numbers = np.arange(self.links[shard])
        kept = numbers % 3 > 0
        return np.where(kept, numbers % 2 + 1, 0), np.where(kept, REASON["kept"], REASON["red_link"])


def rows_of(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows of a config by page."""
    made = []
    for number, (page, region, text, places) in enumerate(sorted(rows, key=lambda row: row[0])):
        first, middle, later, last = sorted(min(place, len(text)) for place in places)
        links = [{"start": start, "end": end} for start, end in ((first, middle), (later, last)) if start < end]
        made.append(
            {
                "wiki": "enwiki",
                "page_id": page,
                "rev_id": 1,
                "title": "T",
                "region": region,
                "sentence_index": number,
                "text": text,
                "links": [{**link, "target": "A", "fragment": ""} for link in links],
            }
        )
    return made


@given(ROWS, ROWS, st.lists(TEXTS, max_size=6), st.booleans())
def test_the_core_counts_what_numpy_counts(
    sentences: Sequence[Row], fragments: Sequence[Row], names: Sequence[str], chinese: bool
) -> None:
    tables = [rows_of(rows) for rows in (sentences, fragments)]
    texts = [(row["text"], link) for rows in tables for row in rows for link in row["links"]]
    keys = {*fold_all([text[link["start"] : link["end"]] for text, link in texts], chinese), *fold_all(names, chinese)}
    with tempfile.TemporaryDirectory() as directory:
        configs = {"sentences": (schema.SCHEMA, [tables[0]]), "fragments": (schema.FRAGMENTS, [tables[1]])}
        write_dataset(Path(directory) / "s", "sentences", {"wiki": "enwiki"}, configs)
        shards = [path for name in configs for path in shards_of(f"{directory}/s", name)]
        links = {path: sum(len(row["links"]) for row in rows) for path, rows in zip(shards, tables, strict=True)}
        arguments = (shards, Targets(links), 8, FRAGMENT_REGIONS, chinese)
        by_core, by_numpy = core_counters.count_anchors(*arguments), anchors.count_anchors(*arguments)
        assert by_core.rows.to_pylist() == by_numpy.rows.to_pylist()
        assert by_core[1:] == by_numpy[1:]
        path = save_tables(directory, "names", table_of(nodes_of(sorted(keys - {""}))))
        in_text: list[pa.Table] = [
            core_counters.count_occurrences(shards, path, FRAGMENT_REGIONS, chinese),
            occurrences.count_occurrences(shards, NameTable(open_tables(path)), FRAGMENT_REGIONS, chinese),
        ]
        assert in_text[0].to_pydict() == in_text[1].to_pydict()


def test_the_core_refuses_links_outside_the_text(tmp_path: Path) -> None:
    counter = core.LinkCounter(core_counters.characters(False), 9)
    for offsets, row, start, end in (
        *(([0, 9], 0, 0, 1), ([2, 1], 0, 0, 1), ([0, 2], 0, 1, 3), ([0, 2], 0, -1, 1), ([0, 2], 0, 2, 1)),
        *(([0, 2], 1, 0, 1), ([0, 2], -1, 0, 1)),
    ):
        numbers = [np.array(column, "<i4").tobytes() for column in (offsets, [row], [0, 1], [start], [end])]
        with pytest.raises(ValueError, match="a text or a link is not in the data"):
            counter.add((b"ab", *numbers[:2], b"\1", *numbers[2:]), bytes(8), bytes(1))
    path = tmp_path / "other"
    path.write_bytes(b"no table of names")
    with pytest.raises(ValueError, match="other is no table of names"):
        core.NameCounter(str(path), core_counters.characters(False))
