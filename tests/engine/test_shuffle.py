"""The shuffle: two implementations, one result, whatever the number of units, shards and open files."""

import os
import resource
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from tests.every_pipeline import all_digests
from tests.stand_in import small_wiki, work_of, write_entities, write_sentences
from wikianchor.io.errors import UsageError
from wikianchor.pipelines.cli import command_line as cli
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine import sorted_runs
from wikianchor.pipelines.engine.options import shuffle_of
from wikianchor.pipelines.engine.shuffle import Shuffle
from wikianchor.pipelines.engine.sorted_runs import KeyRange, Shard, Sorting, key_ranges

SCHEMA = pa.schema([pa.field("place", pa.uint64(), False), pa.field("text", pa.string(), False)])
BY_PLACE = Sorting(SCHEMA, "place")
PLACES = 50


class Unit(NamedTuple):
    order: int
    wiki: str
    rows: int


class Mapped(NamedTuple):
    order: int
    rows: int

    @property
    def metrics(self) -> dict[str, int]:
        return {"rows:mapped": self.rows}


class Written(NamedTuple):
    number: int
    group: str
    rows: list[tuple[int, str]]

    @property
    def metrics(self) -> dict[str, int]:
        return {"rows:written": len(self.rows)}


def rows_of(unit: Unit) -> list[tuple[int, str]]:
    """The rows of a unit, in the order in which it gives them; many have one key."""
    noise = np.random.default_rng(unit.order)
    return [
        (int(place), f"{unit.wiki} {unit.order} {n}") for n, place in enumerate(noise.integers(0, PLACES, unit.rows))
    ]


def map_rows(unit: Unit, portion: int) -> Generator[pa.Table, None, Mapped]:
    rows = rows_of(unit)
    for first in range(0, len(rows), portion):
        places, texts = zip(*rows[first : first + portion], strict=True)
        yield pa.table({"place": pa.array(places, pa.uint64()), "text": texts}, SCHEMA)
    return Mapped(unit.order, len(rows))


def write_rows(wanted: KeyRange, shard: Shard, name: str) -> Written:
    assert name == "side"
    unit_rows = [
        row for table in shard.windows(7) for row in zip(*table.drop(["position"]).to_pydict().values(), strict=True)
    ]
    assert len(unit_rows) == shard.rows
    return Written(wanted.number, wanted.group, unit_rows)


def run(units: list[Unit], bounds: list[int], work: Workspace) -> tuple[list[Written], dict[str, int]]:
    """Shuffle the rows of units of two wikis; return what was written, and Beam's counters."""
    ranges = [*key_ranges("enwiki", bounds), *key_ranges("jawiki", bounds, len(bounds) + 1)]
    collected = work.parts + "/collected"
    pipeline = beam.Pipeline(runner="FnApiRunner")
    _, shards = (
        pipeline
        | beam.Create(units)
        | "Shuffle"
        >> Shuffle(
            "rows",
            work,
            BY_PLACE,
            map_rows,
            (5,),
            lambda mapped: beam.pvalue.AsSingleton(
                mapped | beam.combiners.Count.Globally() | "Ranges" >> beam.Map(lambda _: ranges)
            ),
            write_rows,
            ("side",),
        )
    )
    _ = shards | "Text" >> beam.Map(lambda element: repr(tuple(element))) | beam.io.WriteToText(collected)
    result = pipeline.run()
    result.wait_until_finish()
    lines = [line for path in Path(work.parts).glob("collected*") for line in path.read_text().splitlines()]
    counters = {element.key.metric.name: element.committed for element in result.metrics().query()["counters"]}
    names = ("rows:mapped", "rows:written")
    import ast

    return sorted(Written(*ast.literal_eval(line)) for line in lines), {name: counters.get(name, 0) for name in names}


@pytest.mark.parametrize("shuffle", ["files", "beam"])
@pytest.mark.parametrize(("fan_in", "run_rows"), [(64, 100_000), (2, 10)])
def test_each_shard_gets_its_rows_by_key_unit_and_number(
    shuffle: str, fan_in: int, run_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorted_runs, "FAN_IN", fan_in)
    monkeypatch.setattr(sorted_runs, "RUN_ROWS", run_rows)
    # With a fan-in of 2, two passes and the reading of shards take 8 runs of a group.
    units = [Unit(order, ("enwiki", "jawiki")[order % 2], 5 + order) for order in range(8)] + [Unit(8, "enwiki", 0)]
    bounds = [10, 11, 40]
    written, counters = run(units, bounds, work_of(tmp_path)._replace(shuffle=shuffle))
    total = sum(unit.rows for unit in units)
    assert counters == {"rows:mapped": total, "rows:written": total}
    for wanted in [*key_ranges("enwiki", bounds), *key_ranges("jawiki", bounds, 4)]:
        low, high = wanted.low or 0, wanted.high or PLACES
        expected = sorted(
            ((place, unit.order, number, text) for unit in units if unit.wiki == wanted.group
             for number, (place, text) in enumerate(rows_of(unit)) if low <= place < high)
        )  # fmt: skip
        unit_rows = [element.rows for element in written if element.number == wanted.number]
        assert unit_rows == ([[(place, text) for place, _, _, text in expected]] if expected else [])


@contextmanager
def open_files_at_most(more: int) -> Iterator[None]:
    """Let this process open so many files more than it has now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc to count open files")
def test_pairs_of_many_shards_under_a_limit_of_open_files(tmp_path: Path) -> None:
    shards = 80
    pages, items = small_wiki(shards)
    sentences = write_sentences(tmp_path / "s", "enwiki", pages, shards)
    entities = write_entities(tmp_path / "e", ["enwiki"], items)
    command = ["pairs", f"--sentences={sentences}", f"--entities={entities}", "--max_repeats=30"]
    assert len(list((sentences / "data/sentences").iterdir())) == shards
    with open_files_at_most(110):
        assert cli.main([*command, "--min_links=0", f"--output={tmp_path}/limited"]) == 0
    assert cli.main([*command, "--min_links=0", f"--output={tmp_path}/free", "--shuffle=beam"]) == 0
    assert all_digests(f"{tmp_path}/limited") == all_digests(f"{tmp_path}/free")
    assert sum(pq.read_metadata(path).num_rows for path in tmp_path.glob("limited/data/pairs/*")) > shards


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], "files"),
        (["--runner=DirectRunner"], "files"),
        (["--runner=apache_beam.runners.portability.fn_api_runner.FnApiRunner"], "files"),
        (["--runner=PrismRunner"], "files"),
        (["--runner=FlinkRunner"], "beam"),
        (["--runner=SparkRunner"], "beam"),
        (["--runner=DataflowRunner"], "beam"),
        (["--runner=PortableRunner"], ""),
        (["--runner=PortableRunner", "--shuffle=files"], "files"),
        (["--runner=FlinkRunner", "--shuffle=files"], "files"),
        (["--shuffle=beam"], "beam"),
    ],
)
def test_the_runner_tells_how_rows_change_places(flags: list[str], expected: str) -> None:
    assert shuffle_of(PipelineOptions(flags)) == expected


def test_a_runner_that_does_not_tell_is_asked_for() -> None:
    def build() -> Any:
        return Shuffle("rows", Workspace("", "", ""), BY_PLACE, map_rows, (), lambda _: None, write_rows)

    with pytest.raises(
        UsageError, match=r"--shuffle: this runner may be one machine or a cluster: give --shuffle=files"
    ):
        build()
