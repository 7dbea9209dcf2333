"""The plan of a build, its settings file, and what workers tell while it runs."""

import bz2
import gzip
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.dumps import export, page
from wikianchor.io.rules import stage_digest
from wikianchor.pipelines.commands.build import plan
from wikianchor.pipelines.commands.download.needs import NEEDS
from wikianchor.pipelines.engine import stage as engine_stage
from wikianchor.pipelines.engine.progress_file import ProgressFile, ProgressReader
from wikianchor.pipelines.wikimedia import dumps
from wikianchor.pipelines.wikimedia.inventory import Dumps
from wikianchor.pipelines.wikimedia.wiki_lists import wiki_named

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "demo" / "dumps"
Run = Callable[..., Any]


def test_a_plan_and_nothing_else(tmp_path: Path, wikianchor: Run) -> None:
    ended = wikianchor("build", f"--dumps={DEMO}", f"--output={tmp_path}/out", "--dry_run")
    assert ended.status == 0
    assert [line.split()[0] for line in ended.output.splitlines()[1:6]] == ["sentences"] * 3 + ["entities", "pairs"]
    assert re.search(r"sentences enwiki +\d+\.\d kB in 1 files +about \d+ s", ended.output)
    assert re.search(r"all of it: about \d+ s with 1 worker", ended.output)
    assert "NOT ENOUGH" not in ended.output
    assert not (tmp_path / "out").exists()


def test_what_is_done_is_told(demo_build: Path, wikianchor: Run) -> None:
    ended = wikianchor("build", f"--dumps={DEMO}", f"--output={demo_build}", "--min_links=2", "--dry_run")
    assert ended.output.count("  done") == 5
    assert "all of it" not in ended.output


def test_what_is_rebuilt_is_told_with_the_reason(demo_build: Path, wikianchor: Run, tmp_path: Path) -> None:
    base = ("build", f"--dumps={DEMO}", f"--output={demo_build}", "--dry_run")
    ended = wikianchor(*base, "--min_links=3", "--sample=7")
    assert ended.output.count("  done") == 4
    assert "rebuild, --sample was 0: about" in ended.output
    ended = wikianchor(*base, "--min_links=2", "--allow_truncated")
    assert ended.output.count("rebuild, --allow_truncated was false") == 4
    assert "rebuild, a dataset that it reads will be another one" in ended.output
    copy = shutil.copytree(demo_build, tmp_path / "copy")
    next((copy / "sentences/enwiki/data/titles").iterdir()).unlink()
    ended = wikianchor("build", f"--dumps={DEMO}", f"--output={copy}", "--min_links=2", "--dry_run")
    assert re.search(r"sentences enwiki .* rebuild, \S+parquet is missing or damaged: about", ended.output)


def test_changed_rules_are_told_and_older_datasets_kept_if_asked(
    demo_build: Path, wikianchor: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(demo_build, tmp_path / "copy")
    base = ("build", f"--dumps={DEMO}", f"--output={copy}", "--min_links=2", "--engine=python")

    def digest(dataset: str) -> str:
        return "another" if dataset == "sentences" else stage_digest(dataset)

    monkeypatch.setattr(engine_stage, "stage_digest", digest)
    monkeypatch.setattr("wikianchor.pipelines.commands.verify.command.stage_digest", digest)
    ended = wikianchor(*base, "--dry_run")
    assert len(re.findall(r"sentences \w+ .* rebuild, rules of `sentences` changed: about \d+ s", ended.output)) == 3
    assert re.search(r"entities .* done", ended.output)
    assert "rebuild, a dataset that it reads will be another one" in ended.output
    assert "--keep_older uses finished datasets of other rules as they are" in ended.output
    assert "  engine: python" in ended.output
    # All of it is kept, and nothing runs.
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    ended = wikianchor(*base, "--keep_older")
    assert ended.output.count("kept, though rules of `sentences` changed") == 3
    assert sum("kept as it is, though rules of `sentences` changed" in line for line in ended.progress) == 3
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == before
    assert re.search(r"MB peak memory, engine: python", ended.output)
    # Pairs of other options are made of the older sentences, and their manifest says so.
    ended = wikianchor(*base[:3], "--min_links=3", "--engine=python", "--keep_older")
    assert ended.status == 0
    warning = (
        "made from datasets of other rules than those of this program, which its manifest names: sentences dewiki,"
    )
    assert sum(warning in line for line in ended.progress) == 1
    older = json.loads((copy / "pairs/manifest.json").read_bytes())["older_inputs"]
    assert [(source["wiki"], source["rules"]) for source in older] == [
        (wiki, stage_digest("sentences")) for wiki in ("dewiki", "enwiki", "jawiki")
    ]
    again = wikianchor(*base[:3], "--min_links=3", "--engine=python", "--keep_older")
    assert sum("up to date, skipped" in line for line in again.progress) == 2
    # `verify` fails, or accepts what is older.
    ended = wikianchor("verify", copy)
    assert (ended.status, ended.output.count("FAIL  made by the rules of this program")) == (1, 3)
    assert wikianchor("verify", copy, "--keep_older").status == 0


def test_the_scratch_disk_of_a_shuffle_is_told(tmp_path: Path, wikianchor: Run) -> None:
    ended = wikianchor("build", f"--dumps={DEMO}", f"--output={tmp_path}/out", "--dry_run")
    assert re.search(r"disk: about \d+ kB needed, about \d+ kB of it below _unfinished/ while it runs", ended.output)


def test_a_plan_for_several_workers_and_for_a_cluster(tmp_path: Path, wikianchor: Run) -> None:
    base = ("build", f"--dumps={DEMO}", f"--output={tmp_path}/out", "--dry_run")
    ended = wikianchor(*base, "--direct_num_workers=4", "--direct_running_mode=multi_processing")
    assert "with 4 workers" in ended.output
    ended = wikianchor(*base, "--runner=PortableRunner")
    assert ended.output.count("to do") == 5
    assert "all of it" not in ended.output


def test_the_cost_is_told_on_dataflow_and_where_a_price_is_given(tmp_path: Path, wikianchor: Run) -> None:
    base = ("build", f"--dumps={DEMO}", f"--output={tmp_path}/out", "--dry_run")
    assert "vCPU" not in wikianchor(*base).output
    ended = wikianchor(*base, "--price_per_vcpu_hour=1000")
    assert re.search(
        r"  cost: about 0\.\d+ vCPU-hours: about \d[.\d]* at 1000 for a vCPU-hour$", ended.output, re.MULTILINE
    )
    dataflow = wikianchor(*base, "--runner=DataflowRunner", "--project=p", "--region=r")
    assert re.search(
        r"  Dataflow: about \S+ vCPU-hours, \S+ GB-hours of memory, \d+ kB shuffled$", dataflow.output, re.MULTILINE
    )
    other = wikianchor(*base, "--runner=DataflowRunner", "--project=p", "--region=r", "--machine_type=n2-custom-4-8192")
    assert "GB-hours" not in other.output


def test_a_cost_is_that_of_the_stages_that_run() -> None:
    stages = [
        plan.PlannedStage(name="a", output="", seconds=36_000, disk=0, options={}, scratch=5e9),
        plan.PlannedStage(name="b", output="", seconds=3_600, disk=0, options={}),
    ]
    assert plan.cost_line(stages, "n2-highmem-2", 0.1) == (
        "Dataflow: about 11 vCPU-hours, 88 GB-hours of memory, 5.0 GB shuffled: about 1.1 at 0.1 for a vCPU-hour"
    )


def test_a_file_that_workers_cannot_share_is_told(
    tmp_path: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dumps, "SMALLEST_RANGE", 100)
    (tmp_path / "enwiki.xml.gz").write_bytes(gzip.compress(export([page("A", 1, "Text.")])))
    places = f"{tmp_path},{DEMO}/dewiki-*.bz2,{DEMO}/wikidata-*"
    ended = wikianchor("build", f"--dumps={places}", f"--output={tmp_path}/out", "--dry_run")
    assert [line for line in ended.output.splitlines() if "one task" in line] == [
        "    enwiki.xml.gz is one task for one worker: bzip2, or gzip in members, can be shared"
    ]


def test_a_full_disk_is_told(tmp_path: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(100, 90, 10))
    ended = wikianchor("build", f"--dumps={DEMO}", f"--output={tmp_path}/out", "--dry_run")
    assert "10 B free: NOT ENOUGH" in ended.output


def test_a_disk_that_is_hardly_enough_is_told(tmp_path: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is right to a factor of two."""
    command = ("build", f"--dumps={DEMO}", f"--output={tmp_path}/out", "--dry_run")
    need = int(re.search(r"disk: about (\d+) kB", wikianchor(*command).output)[1]) * 1000
    for free, verdict in ((1.3, ": MAY NOT BE ENOUGH"), (2.5, "")):
        monkeypatch.setattr(shutil, "disk_usage", lambda path, free=free: shutil._ntuple_diskusage(1, 1, free * need))
        assert re.search(rf"free{verdict}$", wikianchor(*command).output, re.MULTILINE)


def test_a_sample_needs_less_disk(tmp_path: Path) -> None:
    dump = tmp_path / "x.xml.bz2"
    dump.write_bytes(bytes(10_000_000))
    dumps = Dumps({"enwiki": (str(dump),)}, (), ())
    all_of_it, some = (plan.build_stages(dumps, "out", sample)[-1] for sample in (0, 100))
    assert some.disk < all_of_it.disk / 100


# --- --config ---------------------------------------------------------------------------------------------------------


# That of MewsC-16 builds no pairs: `tests/commands/test_release.py` runs it.
RECIPES = sorted({*(ROOT / "configs").glob("*.toml")} - {ROOT / "configs/release-mewsc16.toml"})


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_is_understood(path: Path, tmp_path: Path, wikianchor: Run) -> None:
    from wikianchor.io.config_file import tomllib

    tables = tomllib.loads(path.read_text("utf-8"))
    need = NEEDS[tables["download"]["for"]]
    wikis = [wiki_named(name, project=need.project) for name in tables["download"]["wikis"]]
    assert wikis == tables["build"]["wikis"]
    # Each wiki has a dump of one page: enough for the plan, which reads every flag.
    for wiki in wikis:
        (tmp_path / f"{wiki}-20260101-pages-articles.xml.bz2").write_bytes(
            bz2.compress(export([page("A", 1, "Text.")], wiki))
        )
    shutil.copy(next(DEMO.glob("wikidata*")), tmp_path)
    ended = wikianchor("build", f"--config={path}", f"--dumps={tmp_path}", f"--output={tmp_path}/out", "--dry_run")
    assert ended.status == 0, ended.said
    assert ended.output.count("\n  sentences ") == len(wikis)


def test_flags_typed_in_win(tmp_path: Path, wikianchor: Run) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[build]\nmin_links = 9999\nback_off = false\nallow_truncated = false\nlabels = ["de", "en"]\n')
    base = ("build", f"--dumps={DEMO}", f"--output={tmp_path}/out")
    assert wikianchor(*base, "--config", path, "--min_links=2").status == 0
    options = json.loads((tmp_path / "out" / "pairs" / "manifest.json").read_text())["options"]
    assert (options["min_links"], options["back_off"]) == (2, False)
    assert json.loads((tmp_path / "out" / "entities" / "manifest.json").read_text())["options"]["labels"] == [
        "de",
        "en",
    ]


WRONG = {
    "no table for the command": ("[download]\n", 2, "it needs a table [build]"),
    "no TOML": ("[build\n", 1, "not TOML"),
    "no flag": ("[build]\nsampel = 3\n", 2, "unknown flag --sampel"),
    "no name": ('[build]\n"--x y" = 3\n', 2, "is no flag"),
    "a table": ("[build.sample]\nx = 3\n", 2, "sample is neither a text"),
    "a wrong value": ('[build]\nsample = "many"\n', 2, "invalid int value"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_settings(name: str, tmp_path: Path, wikianchor: Run) -> None:
    text, status, words = WRONG[name]
    (tmp_path / "c.toml").write_text(text)
    ended = wikianchor("build", f"--dumps={DEMO}", f"--output={tmp_path}/out", f"--config={tmp_path}/c.toml")
    assert ended.status == status
    assert words in ended.said[0]
    assert len(ended.said) == 1
    assert wikianchor("build", "--config=none.toml").status == 1


# --- progress ---------------------------------------------------------------------------------------------------------


def test_progress_files_add_up(tmp_path: Path) -> None:
    reader = ProgressReader(str(tmp_path))
    assert reader.read() == (0, Counter())
    first, second = ProgressFile(str(tmp_path), "1"), ProgressFile(str(tmp_path), "2")
    assert first.is_due()
    first.write(10, {"pages": 1})
    assert not first.is_due()
    second.write(5, {"pages": 2, "links": 3})
    assert reader.read() == (15, Counter(pages=3, links=3))
    first.write(20, {"pages": 4})
    assert reader.read() == ProgressReader(str(tmp_path)).read() == (25, Counter(pages=6, links=3))
    ProgressFile(str(tmp_path), "2").write(1, {"pages": 1})
    assert reader.read() == ProgressReader(str(tmp_path)).read() == (21, Counter(pages=5))


def test_progress_that_has_not_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of hundreds of wikis, twice a second."""
    reads: list[Any] = []
    load = json.loads
    monkeypatch.setattr(
        "wikianchor.pipelines.engine.progress_file.json.loads", lambda text: reads.append(1) or load(text)
    )
    for number in range(9):
        ProgressFile(str(tmp_path), str(number)).write(1, {})
    reader = ProgressReader(str(tmp_path))
    for _ in range(3):
        assert reader.read() == (9, Counter())
    ProgressFile(str(tmp_path), "3").write(2, {})
    assert reader.read() == (10, Counter())
    assert len(reads) == 10


def test_nothing_is_told_to_a_store() -> None:
    progress_file = ProgressFile("gs://bucket/out", "1")
    assert not progress_file.is_due()
    progress_file.write(1, {})
    assert ProgressReader("gs://bucket/out").read() == (0, Counter())


@pytest.mark.parametrize("flags", [(), ("--workers=2",)])
def test_every_stage_tells_all_of_its_work(
    flags: tuple[str, ...], tmp_path: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch, demo_build: Path
) -> None:
    from wikianchor.pipelines.engine import stage

    # With worker processes only the sentences of one wiki are read: each stage starts its own.
    up_to_date = ("dewiki", "jawiki") if flags else ()
    for wiki in up_to_date:
        shutil.copytree(demo_build / "sentences" / wiki, tmp_path / "sentences" / wiki)

    tasks_shown: dict[str, tuple[int, int, str]] = {}

    class Recorded(stage.Progress):
        def __exit__(self, *error: object) -> None:
            tasks_shown.update({name: (task.done, task.total, task.note) for name, task in self._tasks.items()})
            super().__exit__(*error)

    shown_progress = stage.shown_progress

    @contextmanager
    def shown(*given: Any) -> Iterator[Callable[[], None]]:
        with shown_progress(*given) as look:
            yield look
            # The parts are still there when the stage ends.
            look()

    monkeypatch.setattr(stage, "Progress", Recorded)
    monkeypatch.setattr(stage, "shown_progress", shown)
    assert wikianchor("build", f"--dumps={DEMO}", f"--output={tmp_path}", "--min_links=2", *flags).status == 0
    wikis = {"dewiki", "enwiki", "jawiki"} - {*up_to_date}
    assert set(tasks_shown) == {*(f"sentences {wiki}" for wiki in wikis), "entities", "pairs"}
    for name, (done, total, _) in tasks_shown.items():
        assert name == "entities" or done == total, name
    assert "495 sentences, 779 links kept, 111 dropped" in tasks_shown["sentences enwiki"][2]
    assert tasks_shown["pairs"][2] == "1,468 links, 1,065 kept"
