"""Steps whose results are kept: what finished is not done again by the same command, and gives the same bytes."""

import json
import os
import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest

from tests.every_pipeline import all_digests
from tests.stand_in import work_of
from wikianchor.io import storage
from wikianchor.io.storage import SYNCED_BYTES
from wikianchor.pipelines.arrays.tables import save_tables
from wikianchor.pipelines.cli import command_line as cli
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.workspace import WorkPath, fingerprint_of
from wikianchor.pipelines.engine import resume
from wikianchor.pipelines.engine.resume import CachedStep, load_record, result_type, save_record
from wikianchor.pipelines.engine.sorted_runs import SortedRun
from wikianchor.pipelines.engine.transforms import RunStep
from wikianchor.pipelines.pairs import steps as rows
from wikianchor.pipelines.sentences import steps as dump

DEMO = Path(__file__).parent.parent.parent / "demo/dumps"


class Element(NamedTuple):
    order: int
    value: str


class Result(NamedTuple):
    order: int
    parts: tuple[Part, ...]
    counts: dict[str, int]
    words: dict[tuple[str, str], int]
    tail: bytes
    best: str | None

    @property
    def metrics(self) -> dict[str, int]:
        return self.counts


def logged(name: str, log: Path, step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a step that writes a line for each call into a file, which workers of any kind share."""

    def call(element: Any, *args: Any) -> Any:
        with log.open("a") as file:
            file.write(f"{name} {element.order}\n")
        return step(element, *args)

    return call


# --- records ----------------------------------------------------------------------------------------------------------


def test_a_record_is_what_was_saved(tmp_path: Path) -> None:
    result = Result(1, (), {"pages:kept": 2}, {("a", "b"): 3}, b"\xff\x00", None)
    save_record(f"{tmp_path}/finished/read-1", result)
    assert load_record(f"{tmp_path}/finished/read-1", Result, work_of(tmp_path)) == result
    assert [path.name for path in (tmp_path / "finished").iterdir()] == ["read-1"]


@pytest.mark.parametrize("data", [b"", b"\xff", b"\x93\x01", b"\x93\x01\xa1x\xc0"])
def test_a_record_that_cannot_be_read_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "record").write_bytes(data)
    assert load_record(f"{tmp_path}/record", Result, work_of(tmp_path)) is None
    assert load_record(f"{tmp_path}/none", Result, work_of(tmp_path)) is None


def test_a_record_counts_only_with_its_parts(tmp_path: Path) -> None:
    schema = pa.schema([("number", pa.int64())])
    with PartWriter(work_of(tmp_path).parts, "rows", 0, schema) as writer:
        writer.write(pa.table({"number": [1]}, schema=schema))
    assert writer.part is not None
    result = Result(1, (writer.part,), {}, {}, b"", "x")
    save_record(f"{tmp_path}/record", result)
    assert load_record(f"{tmp_path}/record", Result, work_of(tmp_path)) == result
    Path(writer.part.path).write_bytes(b"")
    assert load_record(f"{tmp_path}/record", Result, work_of(tmp_path)) is None
    Path(writer.part.path).unlink()
    assert load_record(f"{tmp_path}/record", Result, work_of(tmp_path)) is None


class Planted(NamedTuple):
    order: int
    path: WorkPath
    parts: tuple[Part, ...] = ()
    shards: dict[int, WorkPath] = {}  # noqa: RUF012 of a test
    other: str | None = None


def test_a_record_that_names_a_file_outside_of_the_workspace_does_not_count(tmp_path: Path) -> None:
    """Whoever can write to the workspace must not choose which files a run reads, publishes or deletes."""
    work = work_of(tmp_path)
    (tmp_path / "victim").write_text("precious")
    inside, outside = f"{work.parts}/a", [f"{tmp_path}/victim", f"{work.parts}/../../victim", "victim", "/etc/passwd"]
    part = Part("rows", 0, outside[0], 1, 8, "0" * 64)
    good = Planted(1, inside, (), {2: inside}, "/not/a/path/of/ours")
    bad = [good._replace(path=path) for path in outside] + [good._replace(shards={1: path}) for path in outside]
    bad += [good._replace(parts=(part._replace(path=path),)) for path in outside]
    for record, counts in ((good, True), (good._replace(path=""), True), *((record, False) for record in bad)):
        save_record(f"{work.scratch}/record", record)
        assert load_record(f"{work.scratch}/record", Planted, work) == (record if counts else None)
    save_record(f"{work.scratch}/record", (1, (SortedRun((1,), "", f"{tmp_path}/victim", 1),)))
    assert load_record(f"{work.scratch}/record", tuple[int, tuple[SortedRun, ...]], work) is None


def test_after_a_power_failure_only_what_was_forced_to_the_disk_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    work = work_of(tmp_path)
    small, large = (
        Planted(1, save_tables(work.scratch, "numbers", {"numbers": np.zeros(size, np.uint8)}))
        for size in (SYNCED_BYTES // 2, SYNCED_BYTES)
    )
    assert len(synced) == 1
    records = {"small": small, "large": large, "none": Planted(1, "")}
    for name, record in records.items():
        save_record(f"{work.scratch}/{name}", record)

    def kept() -> set[str]:
        return {name for name in records if load_record(f"{work.scratch}/{name}", Planted, work) is not None}

    assert kept() == {"small", "large", "none"}
    monkeypatch.setattr(resume, "boot_id", lambda: "another start")
    assert kept() == {"large", "none"}
    Path(large.path).unlink()
    assert kept() == {"none"}


def test_where_no_start_is_known_every_file_is_forced_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    for module in (storage, resume):
        monkeypatch.setattr(module, "boot_id", lambda: "")
    work = work_of(tmp_path)
    record = Planted(1, save_tables(work.scratch, "numbers", {"numbers": np.zeros(8, np.uint8)}))
    save_record(f"{work.scratch}/record", record)
    assert len(synced) == 1
    monkeypatch.setattr(resume, "boot_id", lambda: "a start")
    assert load_record(f"{work.scratch}/record", Planted, work) == record


def test_the_type_of_a_result_is_that_of_the_annotation() -> None:
    def plain(element: Element) -> Result: ...

    def rows_of(element: Element) -> Generator[pa.Table, None, Result]: ...

    class Step:
        def __call__(self, element: Element) -> list[Result]: ...

    assert result_type(plain) is Result
    assert result_type(rows_of) is Result
    assert result_type(Step()) == list[Result]


def test_a_step_runs_once_for_each_element_and_workspace(tmp_path: Path) -> None:
    calls: list[int] = []

    def step(element: Element) -> Result:
        calls.append(element.order)
        return Result(element.order, (), {element.value: 1}, {}, b"", None)

    first = CachedStep(step, work_of(tmp_path / "a"), "step")
    for _ in range(2):
        assert [first(Element(order, "x")).order for order in range(3)] == [0, 1, 2]
    assert calls == [0, 1, 2]
    CachedStep(step, work_of(tmp_path / "a"), "another")(Element(0, "x"))
    CachedStep(step, work_of(tmp_path / "b"), "step")(Element(0, "x"))
    assert calls == [0, 1, 2, 0, 0]


def test_a_fingerprint_is_of_everything_that_decides() -> None:
    head = {"inputs": [{"sha1": "x"}], "options": {"a": 1}}
    every = {
        fingerprint_of(head, "out", shuffle="files"),
        fingerprint_of(head, "out", shuffle="beam"),
        fingerprint_of(head, "other", shuffle="files"),
        fingerprint_of({**head, "options": {"a": 2}}, "out", shuffle="files"),
        fingerprint_of({**head, "inputs": []}, "out", shuffle="files"),
    }
    assert len(every) == 5
    assert fingerprint_of(head, "out", shuffle="files") in every


def test_other_rules_are_another_program_and_another_version_is_not() -> None:
    made = [{"wikianchor": "1", "rules": "a"}, {"wikianchor": "2", "rules": "a"}, {"wikianchor": "2", "rules": "b"}]
    first, same, other = (fingerprint_of({"made_with": made_with}, "out") for made_with in made)
    assert first == same != other


# --- Beam -------------------------------------------------------------------------------------------------------------


def test_counters_are_those_of_the_results_found_again_too(tmp_path: Path) -> None:
    def step(element: Element) -> Result:
        return Result(element.order, (), {"pages:kept": element.order, "pages:none": 0}, {}, b"", None)

    for _ in range(2):
        pipeline = beam.Pipeline(runner="FnApiRunner")
        elements = pipeline | beam.Create([Element(order, "") for order in range(5)])
        _ = elements | RunStep(step, work_of(tmp_path), "step")
        result = pipeline.run()
        result.wait_until_finish()
        counters = {one.key.metric.name: one.committed for one in result.metrics().query()["counters"]}
        assert counters == {"pages:kept": 10}


# --- stages -----------------------------------------------------------------------------------------------------------


def interrupted_after(number: int, log: Path, step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a step that fails, as a killed worker does, when it was called so often."""

    def call(element: Any, *args: Any) -> Any:
        if log.exists() and len(log.read_text().splitlines()) >= number:
            raise RuntimeError("killed")
        return step(element, *args)

    return call


def test_finished_ranges_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.dumps import export, page
    from wikianchor.pipelines.wikimedia import dumps

    source = tmp_path / "dump.xml"
    source.write_bytes(export([page(f"P{n}", n, "The [[Moon]] is far away. " * 20) for n in range(1, 200)]))
    monkeypatch.setattr(dumps, "SMALLEST_RANGE", 10_000)
    assert cli.main(["sentences", f"--dumps={source}", f"--output={tmp_path}/whole"]) == 0
    command = ["sentences", f"--dumps={source}", f"--output={tmp_path}/out"]
    log = tmp_path / "log"
    real = dump.read_dump
    monkeypatch.setattr(dump, "read_dump", interrupted_after(4, log, logged("read", log, real)))
    with pytest.raises(RuntimeError, match="killed"):
        cli.main(command)
    assert not (tmp_path / "out/manifest.json").exists()
    done = log.read_text().split("\n")
    monkeypatch.setattr(dump, "read_dump", logged("read", log, real))
    assert cli.main(command) == 0
    every = log.read_text().split("\n")
    assert len(every) == len(set(every)) > len(done), "no range twice"
    assert all_digests(f"{tmp_path}/out") == all_digests(f"{tmp_path}/whole")
    assert not (tmp_path / "out/_unfinished").exists()


@pytest.mark.parametrize("shuffle", ["files", "beam"])
def test_pairs_goes_on_where_it_stopped(shuffle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = ["build", f"--dumps={DEMO}", "--min_links=2", f"--shuffle={shuffle}"]
    assert cli.main([*base, f"--output={tmp_path}/whole"]) == 0
    log = tmp_path / "log"
    decide, write = rows.decide_shards, rows.write_shard

    def failing(*args: Any) -> rows.ShardWritten:
        raise RuntimeError("killed")

    def decided(group: Any, *args: Any) -> Generator[pa.Table, None, rows.Decided]:
        with log.open("a") as file:
            file.write(f"decide {group.order}\n")
        return (yield from decide(group, *args))

    monkeypatch.setattr(rows, "decide_shards", decided)
    monkeypatch.setattr(rows, "write_shard", failing)
    with pytest.raises(RuntimeError, match="killed"):
        cli.main([*base, f"--output={tmp_path}/out"])
    first = log.read_text()
    monkeypatch.setattr(rows, "write_shard", write)
    assert cli.main([*base, f"--output={tmp_path}/out"]) == 0
    # Through Beam's own shuffle rows are made again; files of an earlier run are there.
    assert log.read_text() == (first if shuffle == "files" else first + first)
    assert all_digests(f"{tmp_path}/out") == all_digests(f"{tmp_path}/whole")


def test_another_option_begins_anew_and_the_old_dataset_stays_until_then(
    demo_build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wikianchor: Callable[..., Any]
) -> None:
    base = ("build", f"--dumps={DEMO}", f"--output={tmp_path}/out")
    shutil.copytree(demo_build, tmp_path / "out")
    before = (tmp_path / "out/pairs/manifest.json").read_bytes()
    write = rows.write_shard

    def failing(*args: Any) -> rows.ShardWritten:
        raise RuntimeError("killed")

    monkeypatch.setattr(rows, "write_shard", failing)
    with pytest.raises(RuntimeError, match="killed"):
        cli.main([*base, "--min_links=3"])
    assert (tmp_path / "out/pairs/manifest.json").read_bytes() == before
    assert wikianchor("verify", f"{tmp_path}/out/pairs").status == 0
    monkeypatch.setattr(rows, "write_shard", write)
    ended = wikianchor(*base, "--min_links=3")
    assert ended.status == 0
    assert any("pairs: rebuild, --min_links was 2; the dataset there stays" in line for line in ended.progress)
    assert json.loads((tmp_path / "out/pairs/manifest.json").read_text())["options"]["min_links"] == 3


def test_a_dataset_beside_a_failed_rebuild_is_used_with_a_warning(
    demo_build: Path, tmp_path: Path, wikianchor: Callable[..., Any]
) -> None:
    out = Path(shutil.copytree(demo_build, tmp_path / "out"))
    (out / "sentences/enwiki/_unfinished/other").mkdir(parents=True)
    given = (f"--sentences={out}/sentences/*", f"--entities={out}/entities", f"--output={tmp_path}/pairs")
    ended = wikianchor("pairs", *given, "--min_links=2")
    assert ended.status == 0
    assert any("a rebuild of this dataset has not finished" in line for line in ended.progress), ended.progress
