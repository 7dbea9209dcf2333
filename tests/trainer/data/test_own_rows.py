"""Rows of one's own: each format gives the same pairs, and a row that cannot be read is named."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wikianchor
from tests.trainer.pairs import pair_rows
from wikianchor.io.errors import InputError
from wikianchor.trainer.data.own_rows import open_rows
from wikianchor.trainer.data.shards import PairDataset, read_batches, read_entities
from wikianchor.trainer.task import main

Row = dict[str, Any]
ROWS: list[Row] = [
    {"text": "Oslo is cold, and\nwet.", "entity": "Q585", "negatives": ["Bergen", "Q1748"], "language": "en"},
    {"text": "Bergen ist nass.", "entity": "Bergen", "negatives": [], "language": "de"},
    {"text": " Oslo is far. ", "entity": "Q585", "negatives": ["Q585", "Bergen", "Bergen"], "language": "en"},
]


def write_csv(path: Path, rows: list[Row]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(
            {**row, **({"negatives": "|".join(row["negatives"])} if "negatives" in row else {})} for row in rows
        )
    return path


def write_json(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def write_parquet(path: Path, rows: list[Row]) -> Path:
    # A column that is not read, and may be of any type.
    pq.write_table(pa.Table.from_pylist([{**row, "other": b"x"} for row in rows]), path)
    return path


def save_dataset(path: Path, rows: list[Row]) -> Path:
    datasets = pytest.importorskip("datasets", reason="NO DATASETS: pip install '.[hub-dev]'")
    of_rows = datasets.Dataset.from_list(rows)
    datasets.DatasetDict({"train": of_rows, "test": of_rows.select([0])}).save_to_disk(path)
    return path


FORMATS: dict[str, Callable[[Path, list[Row]], Path]] = {
    "rows.csv": write_csv,
    "rows.tsv": write_csv,
    "rows.jsonl": write_json,
    "rows.parquet": write_parquet,
    "saved": save_dataset,
}


def contents(pairs: PairDataset) -> list[tuple[str, str, list[str], str]]:
    """Return the rows with the names of their entities."""
    names = read_entities(pairs)["label"].to_pylist()
    return [
        (row["text"], names[row["entity_id"]], [names[other] for other in row["hard_negative_ids"]], row["wiki"])
        for batch in read_batches(pairs)
        for row in batch.to_pylist()
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_pairs(tmp_path: Path, name: str) -> None:
    path = FORMATS[name](tmp_path / name, ROWS)
    pairs = open_rows(str(path), str(tmp_path / "cache"), True)
    assert contents(pairs) == [
        ("Oslo is cold, and\nwet.", "Q585", ["Bergen", "Q1748"], "en"),
        ("Bergen ist nass.", "Bergen", [], "de"),
        ("Oslo is far.", "Q585", ["Bergen"], "en"),
    ]
    entities = read_entities(pairs).to_pydict()
    assert (entities["qid"], entities["count"]) == ([585, 0, 1748], [2, 1, 0])
    assert (pairs.rows, pairs.entities, pairs.source, pairs.is_own) == (3, 3, str(path), True)
    # The second time they are read from the cache.
    path.rename(tmp_path / f"moved.{name}")
    assert open_rows(f"{tmp_path}/moved.{name}", str(tmp_path / "cache"), True).path == pairs.path


def test_several_files_and_directories(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, row in enumerate(ROWS):
        write_json(tmp_path / "in" / f"{number}.jsonl", [row])
    cache, folder = str(tmp_path / "cache"), f"{tmp_path}/in"
    expected = contents(open_rows(folder, cache, True))
    assert len(expected) == 3
    assert contents(open_rows(f"{folder}/*.jsonl", cache, True)) == expected
    assert contents(open_rows(f"{folder}/0.jsonl,{folder}/1.jsonl,{folder}/2.jsonl", cache, True)) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"text": "a", "entity": "b"}\n{"text": "a"}', "row 2 has no entity: the columns are text, entity"),
        ('{"sentence": "a", "entity": "b"}', "row 1 has no text: .* and it has sentence, entity"),
        ('{"text": "a", "entity": "b", "negatives": "c"}', "row 1: negatives is no list of names: 'c'"),
        ("[1]", "line 1 is no object of"),
        ("", "the files hold no rows"),
    ],
)
def test_a_row_that_cannot_be_read(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "rows.jsonl").write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        open_rows(f"{tmp_path}/rows.jsonl", f"{tmp_path}/cache", True)
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "cache").iterdir())


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no finished dataset"):
        open_rows(f"{tmp_path}/rows.jsonl", f"{tmp_path}/cache", True)


def own(rows: int) -> list[Row]:
    """Rows with names in place of ids."""
    return [
        {
            "text": row["text"],
            "entity": f"Q{row['entity_qid']}",
            "negatives": [f"Q{100 + number}" for number in row["hard_negative_ids"]],
        }
        for row in pair_rows(rows)
    ]


def test_rows_of_ones_own_train_ease(
    options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_csv(tmp_path / "rows.csv", own(80))
    flags = [f"--{name}={value}" for name, value in (options | {"data": path, "held_out": 16}).items()]
    assert main(["ease", *flags]) == 0
    output, errors = capsys.readouterr()
    assert f"on 64 rows with 24 entities in {path}. 4 steps" in " ".join(errors.split())
    assert "entity 0" in errors or "entity 1" in errors or "entity 2" in errors or "entity 3" in errors
    card = Path(output.strip(), "README.md").read_text()
    assert 'license: "other"' in card
    assert "The licence is that of these texts" in card
    assert "language:" not in card


def test_sentences_alone_train_simcse(options: dict[str, Any], tmp_path: Path) -> None:
    rows = [{"text": row["text"]} for row in own(64)]
    directory = wikianchor.train("simcse", **{**options, "data": rows})
    assert Path(directory, "model.safetensors").exists()
    assert Path(options["output"], "rows.jsonl").exists()
