"""Which datasets a flag names, and which row groups of a shard are read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.stand_in import write_dataset
from tests.t5 import write_corpus
from wikianchor.io.errors import InputError
from wikianchor.io.storage import filesystem
from wikianchor.pipelines.dataset import reader
from wikianchor.pipelines.dataset.reader import (
    groups_that_may_hold,
    open_datasets,
    opened_shard,
    read_batches,
)
from wikianchor.schemas import corpus


def opened(patterns: str) -> list[str]:
    return [Path(dataset.directory).name for dataset in open_datasets(patterns, "corpus", corpus.VERSION, "corpus")]


def test_a_directory_of_datasets_stands_for_all_of_them(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_corpus(tmp_path / "all" / name)
    (tmp_path / "all" / "_unfinished").mkdir()
    assert opened(f"{tmp_path}/all") == opened(f"{tmp_path}/all/") == opened(f"{tmp_path}/all/[ab]") == ["a", "b"]
    assert opened(f"{tmp_path}/all/b") == ["b"]


def test_an_unfinished_one_among_them_is_not_left_out(tmp_path: Path) -> None:
    write_corpus(tmp_path / "all" / "a")
    (tmp_path / "all" / "b").mkdir()
    with pytest.raises(InputError, match=r"--corpus=.*/all/b has no manifest.json: it is unfinished or no dataset"):
        opened(f"{tmp_path}/all")


def test_a_directory_of_several_kinds_is_none(tmp_path: Path) -> None:
    write_corpus(tmp_path / "out" / "corpus")
    write_dataset(tmp_path / "out" / "other", "other", {}, {}, "1.0")
    with pytest.raises(InputError, match=r"--corpus=.*/out has no manifest.json: did you mean .*/out/corpus"):
        opened(f"{tmp_path}/out")


def test_only_the_row_groups_that_may_hold_a_value_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when each of 300 wikis asks for its sitelinks: the file is read once for all of them."""
    wikis = [f"q{number}wiki" for number in range(5)]
    table = pa.table({"links": [[1]] * 10, "wiki": [wiki for wiki in wikis for _ in range(2)], "qid": list(range(10))})
    known, unknown = str(tmp_path / "known.parquet"), str(tmp_path / "unknown.parquet")
    pq.write_table(table, known, row_group_size=2)
    pq.write_table(table, unknown, row_group_size=2, write_statistics=False)
    monkeypatch.setattr(reader, "SMALL", 0)
    opens: list[str] = []

    def counted(path: str) -> object:
        opens.append(path)
        return filesystem(path)

    monkeypatch.setattr(reader, "filesystem", counted)
    assert [groups_that_may_hold(known, "wiki", wiki) for wiki in wikis] == [{number: 2} for number in range(5)]
    assert groups_that_may_hold(unknown, "wiki", wikis[0]) == dict.fromkeys(range(5), 2)
    for wiki in (*wikis, "another"):
        rows = [row for batch in read_batches(known, ["qid"], ("wiki", wiki)) for row in batch["qid"].to_pylist()]
        assert rows == [row["qid"] for row in table.to_pylist() if row["wiki"] == wiki]
    # It stays open while few other files are read.
    assert opens == [known, unknown]


@pytest.mark.parametrize("small", [0, 1 << 20])
def test_a_shard_that_stays_open_is_the_file_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    monkeypatch.setattr(reader, "SMALL", small)
    path = tmp_path / "a.parquet"

    def rows() -> list[int]:
        return [row for batch in read_batches(str(path), ["qid"]) for row in batch["qid"].to_pylist()]

    for qids in ([1, 2], [3, 4]):
        path.unlink(missing_ok=True)
        pq.write_table(pa.table({"qid": qids}), path)
        assert rows() == rows() == qids
    path.unlink()
    with pytest.raises(InputError, match="is gone"):
        rows()


def test_small_shards_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless they are large in memory: here a shard of thousands of equal texts."""
    read: list[str] = []

    class Counted(reader._SmallShard):
        def __init__(self, path: str) -> None:
            super().__init__(path)
            read.append(Path(path).stem)

    monkeypatch.setattr(reader, "_SmallShard", Counted)
    columns = ["links.list.element.end", "text", "missing"]
    for name, repeats in (("few", 1), ("many", 1000)):
        texts, links = sorted(["a", "a", "b", "b" * 99] * repeats), [[{"start": 1, "end": 2}]] * 4 * repeats
        table = pa.table({"text": texts, "links": links, "wiki": texts})
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=3 * repeats)
    for name, repeats in (("few", 1), ("many", 1000)) * 2:
        path = str(tmp_path / f"{name}.parquet")
        assert Path(path).stat().st_size < reader.SMALL
        rows = [(batch.schema.names, batch.num_rows) for batch in read_batches(path, columns)]
        assert rows == [(["links", "text"], 3 * repeats), (["links", "text"], repeats)]
        of_a = list(read_batches(path, ["links"], ("wiki", "a")))
        assert [(batch.schema.names, batch.num_rows) for batch in of_a] == [(["links"], 2 * repeats)]
        with opened_shard(path) as file:
            assert file.read_row_group(1).equals(pq.read_table(path).slice(3 * repeats))
    assert read == ["few", "many"]


def test_few_shards_stay_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SMALL", 0)
    for number in range(2 * reader.KEPT_OPEN + 2):
        pq.write_table(pa.table({"qid": [number]}), tmp_path / f"{number}.parquet")
    # One that is read while others are opened is read to its end.
    first, *others = (read_batches(str(path), ["qid"]) for path in sorted(tmp_path.iterdir()))
    next(first)
    before = len(list(Path("/dev/fd").iterdir()))
    for batches in others:
        assert len(list(batches)) == 1
    assert list(first) == []
    assert len(list(Path("/dev/fd").iterdir())) <= before + reader.KEPT_OPEN
