"""A dataset is checked before anything is trained: one clear line for each fault."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wikianchor.schemas.pairs
from tests.trainer.pairs import pair_rows, write_pairs
from wikianchor.io.errors import InputError
from wikianchor.trainer.data.shards import open_pairs, read_batches, read_entities


def test_rows_and_entities_are_read(pairs_dir: Path) -> None:
    pairs = open_pairs(str(pairs_dir))
    assert (pairs.rows, pairs.entities) == (400, 24)
    batches = list(read_batches(pairs))
    assert sum(map(len, batches)) == 400
    assert batches[0].column("text")[0].as_py() == pair_rows(400)[0]["text"]
    assert read_entities(pairs)["qid"].to_pylist() == list(range(100, 124))


def test_the_fingerprint_is_that_of_the_rows(pairs_dir: Path, tmp_path: Path) -> None:
    same = open_pairs(str(write_pairs(tmp_path / "same", pair_rows(400))))
    other = open_pairs(str(write_pairs(tmp_path / "other", pair_rows(400, seed=1))))
    assert open_pairs(str(pairs_dir)).fingerprint == same.fingerprint != other.fingerprint


def change_manifest(directory: Path, **values: Any) -> None:
    manifest = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_text(json.dumps(manifest | values))


def cut_shard(directory: Path) -> None:
    shard = directory / "data/pairs/train-00001-of-00002.parquet"
    shard.write_bytes(shard.read_bytes()[:-100])


def corrupt_shard(directory: Path) -> None:
    shard = directory / "data/pairs/train-00001-of-00002.parquet"
    shard.write_bytes(b"\0" * shard.stat().st_size)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda directory: (directory / "manifest.json").unlink(), "no finished dataset"),
        (lambda directory: (directory / "manifest.json").write_text("{"), "not a manifest"),
        (lambda directory: (directory / "manifest.json").write_text("[]"), "not a manifest"),
        (lambda directory: change_manifest(directory, dataset="sentences"), "a dataset of sentences"),
        (lambda directory: change_manifest(directory, schema_version="2.0"), "pairs of version 2.0"),
        (lambda directory: change_manifest(directory, configs={}), "says nothing of the config pairs"),
        (lambda directory: (directory / "data/pairs/train-00000-of-00002.parquet").unlink(), "is not there"),
        (cut_shard, "not of the"),
        (corrupt_shard, "train-00001-of-00002.parquet"),
    ],
)
def test_a_broken_dataset_is_named(tmp_path: Path, spoil: Callable[[Path], Any], said: str) -> None:
    directory = write_pairs(tmp_path / "pairs", pair_rows(20))
    spoil(directory)
    with pytest.raises(InputError, match=said) as caught:
        open_pairs(str(directory))
    assert "\n" not in str(caught.value)


def test_a_stage_up_is_suggested(tmp_path: Path) -> None:
    write_pairs(tmp_path / "out" / "pairs", pair_rows(20))
    with pytest.raises(InputError, match="did you mean"):
        open_pairs(str(tmp_path / "out"))


def test_an_empty_dataset(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no pairs"):
        open_pairs(str(write_pairs(tmp_path / "pairs", [])))


def test_a_missing_column(tmp_path: Path) -> None:
    schema = wikianchor.schemas.pairs.SCHEMA
    without = schema.remove(schema.get_field_index("hard_negative_ids"))
    with pytest.raises(InputError, match="no column hard_negative_ids"):
        open_pairs(str(write_pairs(tmp_path / "pairs", pair_rows(20), schema=without)))


def test_a_column_of_another_type(tmp_path: Path) -> None:
    schema = wikianchor.schemas.pairs.SCHEMA
    other = schema.set(schema.get_field_index("entity_id"), pa.field("entity_id", pa.string()))
    rows = [row | {"entity_id": "Q1"} for row in pair_rows(20)]
    with pytest.raises(InputError, match="entity_id is string and not int32"):
        open_pairs(str(write_pairs(tmp_path / "pairs", rows, schema=other)))


@pytest.mark.parametrize("column", ["entity_id", "hard_negative_ids"])
def test_ids_out_of_range(tmp_path: Path, column: str) -> None:
    rows = pair_rows(20)
    rows[7][column] = 24 if column == "entity_id" else [24]
    pairs = open_pairs(str(write_pairs(tmp_path / "pairs", rows)))
    with pytest.raises(InputError, match=f"{column} 24 is out of range: there are 24 entities"):
        list(read_batches(pairs))


def loose(schema: pa.Schema) -> pa.Schema:
    """Return a schema that allows nulls everywhere, as that of a file that another program wrote."""
    kinds = [pa.list_(value.type.value_type) if pa.types.is_list(value.type) else value.type for value in schema]
    return pa.schema([pa.field(name, kind) for name, kind in zip(schema.names, kinds, strict=True)])


@pytest.mark.parametrize("row", [7, 13, 99])
@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("entity_id", None, "entity_id is null"),
        ("text", None, "text is null"),
        ("wiki", None, "wiki is null"),
        ("hard_negative_ids", None, "hard_negative_ids is null"),
        ("hard_negative_ids", [1, None, 2], "hard_negative_ids holds a null"),
    ],
)
def test_a_null_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: int, column: str, value: Any, said: str
) -> None:
    """Row 99 is in the second batch of the second row group of the second shard."""
    monkeypatch.setattr("wikianchor.trainer.data.shards.ROWS_PER_BATCH", 10)
    rows = pair_rows(100)
    rows[row][column] = value
    directory = write_pairs(tmp_path / "pairs", rows, schema=loose(wikianchor.schemas.pairs.SCHEMA))
    with pytest.raises(InputError) as caught:
        list(read_batches(open_pairs(str(directory))))
    shard, number = divmod(row, 50)
    path = f"{directory}/data/pairs/train-{shard:05d}-of-00002.parquet"
    assert str(caught.value) == f"{path}: {said} in row {number} (counted from 0): build it again"


def test_a_null_entity_is_named(tmp_path: Path) -> None:
    directory = write_pairs(tmp_path / "pairs", pair_rows(20))
    shard = directory / "data/entities/train-00000-of-00001.parquet"
    table = pq.read_table(shard).to_pylist()
    table[3]["qid"] = None
    pq.write_table(pa.Table.from_pylist(table, loose(wikianchor.schemas.pairs.ENTITIES)), shard)
    manifest = json.loads((directory / "manifest.json").read_text())
    manifest["configs"]["entities"]["shards"][0]["bytes"] = shard.stat().st_size
    (directory / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="qid is null in row 3"):
        read_entities(open_pairs(str(directory)))
