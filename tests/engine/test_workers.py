"""`--workers`: how many processes a stage has, what is answered to a wrong number, and the same bytes with any."""

import os
import re
import subprocess
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from wikianchor.pipelines.cli.commands import COMMANDS, command_parser
from wikianchor.pipelines.engine import local_workers, machine, progress
from wikianchor.pipelines.engine.local_workers import LocalWorkers
from wikianchor.pipelines.engine.machine import Load, default_workers, most_workers

DEMO = Path(__file__).parents[2] / "demo" / "dumps"
JAPANESE = str(next(DEMO.glob("jawiki-*.xml.bz2")))
Run = Callable[..., Any]

WRONG = {
    "negative": ("--workers=-1", f"--workers=-1: must be between 1 and {most_workers()}, for"),
    "none": ("--workers=0", f"--workers=0: must be between 1 and {most_workers()}, for"),
    "far too many": ("--workers=100000", f"--workers=100000: must be between 1 and {most_workers()}, for"),
    "no number": ("--workers=many", "argument --workers: invalid int value: 'many'"),
    "Beam's number": ("--workers=2 --direct_num_workers=2", "--workers=2 and --direct_num_workers decide the same"),
    "Beam's mode": (
        "--workers=2 --direct_running_mode multi_processing",
        "--workers=2 and --direct_running_mode decide the same",
    ),
    "a cluster": ("--workers=2 --runner=FlinkRunner", "--runner=FlinkRunner does not use them: leave --workers out"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_numbers(name: str, tmp_path: Path, wikianchor: Run) -> None:
    flags, words = WRONG[name]
    ended = wikianchor("sentences", f"--dumps={JAPANESE}", f"--output={tmp_path}/out", *flags.split())
    assert ended.status == 2
    assert len(ended.said) == 1
    assert words in ended.said[0]
    assert not (tmp_path / "out").exists()


@pytest.fixture
def sixteen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of sixteen cores and 8 GB."""
    monkeypatch.setattr(machine, "cores", lambda: 16)
    monkeypatch.setattr(machine, "available_memory", lambda: 8e9)


@pytest.mark.usefixtures("sixteen")
@pytest.mark.parametrize(
    ("load", "workers"),
    [
        (Load(), 1),
        (Load(19), 1),
        (Load(20), 2),
        (Load(100), 10),
        (Load(1e6), 16),
        (Load(1e6, 1e9), 8),
        (Load(1e6, 1e12), 1),
    ],
)
def test_the_default_follows_work_cores_and_memory(load: Load, workers: int) -> None:
    assert default_workers(load) == workers


def test_the_limits_of_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    free, usable = machine.available_memory(), machine.cores()
    assert free > 1e6
    files = {"/sys/fs/cgroup/cpu.max": "100000 100000", "/sys/fs/cgroup/memory.max": "1000000"}
    monkeypatch.setattr(machine, "_first_line", files.__getitem__)
    assert (machine.cores(), machine.available_memory()) == (1, 1e6)
    files |= {"/sys/fs/cgroup/cpu.max": "50000 100000", "/sys/fs/cgroup/memory.max": "max"}
    assert machine.cores() == 1
    assert machine.available_memory() > 1e6
    files["/sys/fs/cgroup/cpu.max"] = "max 100000"
    assert machine.cores() == usable


def test_memory_where_proc_does_not_tell_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*arguments: object, **settings: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(machine, "open", missing, raising=False)
    assert machine.available_memory() == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    assert machine.private_memory(os.getpid()) > 1e6
    with subprocess.Popen(["true"]) as ended:
        pass
    assert machine.private_memory(ended.pid) == 0


def test_the_plan_is_for_the_workers_that_are_started(
    tmp_path: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ("build", f"--dumps={DEMO}", f"--output={tmp_path}", "--wikis=jawiki", "--min_links=2")
    assert re.search(r"all of it: about \d+ s with 1 worker, see --workers", wikianchor(*flags, "--dry_run").output)
    assert "with 3 workers" in wikianchor(*flags, "--dry_run", "--workers=3").output
    # So little that for Python the sentences of a sample are worth two workers.
    started: list[int] = []
    start = LocalWorkers.__init__

    def noted(self: LocalWorkers, count: int, *more: Any, **named: Any) -> None:
        started.append(count)
        start(self, count, *more, **named)

    monkeypatch.setattr(LocalWorkers, "__init__", noted)
    monkeypatch.setattr(machine, "WORKER_SECONDS", 0.004)
    monkeypatch.setattr(machine, "cores", lambda: 2)
    ended = wikianchor(*flags, "--engine=python")
    assert ended.status == 0, ended.said
    assert "with 1 to 2 workers" in ended.output
    assert started == [2, 2]


def test_a_stage_tells_how_many_it_starts(tmp_path: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "WORKER_SECONDS", 0.004)
    monkeypatch.setattr(machine, "cores", lambda: 2)
    # On a busy machine the stage would also log how far it is.
    monkeypatch.setattr(progress, "LOG_SECONDS", float("inf"))
    ended = wikianchor("sentences", f"--dumps={JAPANESE}", f"--output={tmp_path}", "--engine=python")
    assert [line.partition(" ")[2] for line in ended.progress] == [f"{tmp_path}: 2 worker processes, see --workers"]


def test_a_worker_imports_the_steps_of_its_graph_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process may have run other graphs before."""
    steps = {name: f"wikianchor.pipelines.{name}.steps" for name in ("sentences", "templates", "entities")}
    for module in steps.values():
        import_module(module)
    requests: list[dict[str, Any]] = []
    monkeypatch.setattr(local_workers, "start", lambda told, descriptors: requests.append(told))
    LocalWorkers(1, dataset="sentences").start({})
    modules = requests[0]["modules"]
    assert {steps["sentences"], steps["templates"], "wikianchor.pipelines.engine.transforms"} <= set(modules)
    assert steps["entities"] not in modules


@pytest.mark.parametrize("flag", ["--workers=N", "--shuffle=auto|beam|files", "--verbose"])
@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.is_pipeline])
def test_help_names_the_flag(name: str, flag: str) -> None:
    assert flag in command_parser(name).format_help()
