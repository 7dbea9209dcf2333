"""Transforms for other people's pipelines: the same rows as the pipelines and the Python API give."""

from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.testing.util import assert_that, equal_to

import wikianchor
from tests.dumps import item, json_dump
from wikianchor.beam import ReadDataset, ReadItems, ReadPages

DEMO = Path(__file__).parents[2] / "demo" / "dumps"
DUMP = next(DEMO.glob("enwiki*.xml*"))


@pytest.fixture(scope="module")
def pairs(demo_build: Path) -> str:
    return f"{demo_build}/pairs"


def run(transform: Any, expected: list[Any], key: Any = None) -> None:
    with beam.Pipeline() as pipeline:
        rows = pipeline | transform
        assert_that(rows | beam.Map(key) if key else rows, equal_to(expected))


def test_pages() -> None:
    expected = [page.title for page in wikianchor.read_pages(str(DUMP))]
    run(ReadPages(str(DUMP)), expected, lambda row: row.title)


def test_items(tmp_path: Path) -> None:
    lines = [item(42, {"enwiki": "Ada"}, types=[5], labels={"en": "Ada L."}), item(43, {"dewiki": "Bob"})]
    (tmp_path / "w.json").write_bytes(json_dump(lines))
    run(
        ReadItems(f"{tmp_path}/w.json", ["enwiki"]),
        [(42, (5,), [("en", "Ada L.")])],
        lambda row: (row.qid, tuple(row.types), [tuple(label) for label in row.labels]),
    )


def test_a_dataset_as_rows_and_as_batches(pairs: str) -> None:
    table = wikianchor.open_dataset(pairs).to_arrow(columns=["text", "entity", "hard_negatives"])
    expected = [(row["text"], row["entity"], tuple(row["hard_negatives"])) for row in table.to_pylist()]
    run(
        ReadDataset(pairs, columns=["text", "entity", "hard_negatives"]),
        expected,
        lambda row: (row.text, row.entity, tuple(row.hard_negatives)),
    )
    run(ReadDataset(pairs, as_batches=True), [pa.RecordBatch.__name__], lambda batch: type(batch).__name__)
