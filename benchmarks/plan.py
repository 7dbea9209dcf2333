"""Is the plan of a build right to a factor of two, and what does `pairs` cost for each of many tiny wikis?

    WIKIANCHOR_DATA=data python benchmarks/plan.py

`plan`: the time and the disk of a build as its plan shows them, beside what it takes with one worker: hundreds of wikis
of six pages, and three wikis of --megabytes of XML. CPU is that of all processes, user and system. Disk and open files
are the highest of a look each second, those of the largest process.
`pairs`: CPU of `pairs` for each tiny wiki more, from a tenth of them to all, so without the start.
"""

import os
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lib import generate, slices
from lib.measure import apart, fresh, report, run_parts, table, wikianchor

from tests.many_wikis import write as write_tiny
from wikianchor.pipelines.commands.build.plan import UNCERTAINTY, PlannedStage, build_stages
from wikianchor.pipelines.sentences.compiled_reader import engine_of
from wikianchor.pipelines.wikimedia.inventory import find_dumps

LANGUAGES = ("en", "uk", "de")
MIN_LINKS = "--min_links=0"


def compare_plan(arguments: Namespace) -> None:
    """Print what builds were planned to take, and what they took."""
    rows: list[list[Any]] = []
    for name, dumps in {"tiny": tiny(arguments), "large": large(arguments)}.items():
        output = fresh(arguments.work / f"plan-{name}")
        stages = planned(dumps, output)
        seconds = sum(stage.seconds_with(1) for stage in stages)
        disk = sum(stage.disk for stage in stages) + max(stage.scratch for stage in stages)
        took = watched(wikianchor("build", f"--dumps={dumps}", f"--output={output}", MIN_LINKS), output)
        rows.append([f"{name}, {len(stages) - 2} wikis", seconds, *took[:2], disk / 1e6, took[2] / 1e6, took[3]])
        print(rows[-1], file=sys.stderr)
    head = ["build", "planned, s", "CPU, s", "wall, s", "planned, MB", "disk, MB", "open files"]
    last = f"Target: planned time and disk are right to a factor of {UNCERTAINTY}."
    report("plans of builds", f"{table(head, rows)}\n\n{last}")


def compare_pairs(arguments: Namespace) -> None:
    """Print what `pairs` costs for each tiny wiki."""
    build = arguments.work / "plan-tiny"
    if not (build / "entities/manifest.json").exists():
        watched(wikianchor("build", f"--dumps={tiny(arguments)}", f"--output={build}", MIN_LINKS), build)
    wikis = sorted((build / "sentences").iterdir())
    output = arguments.work / "plan-pairs"
    counts = (len(wikis) // 10, len(wikis))
    costs = []
    for count in counts:
        inputs = [f"--sentences={','.join(map(str, wikis[:count]))}", f"--entities={build}/entities", MIN_LINKS]
        costs.append(watched(wikianchor("pairs", *inputs, f"--output={fresh(output)}"), output)[0])
    each = 1000 * (costs[1] - costs[0]) / (counts[1] - counts[0])
    head = ["wikis", "CPU, s", "wikis", "CPU, s", "CPU of a wiki, ms"]
    last = "Target: at most 15 ms of CPU for a wiki."
    report("pairs of tiny wikis", f"{table(head, [[str(counts[0]), costs[0], counts[1], costs[1], each]])}\n\n{last}")


def tiny(arguments: Namespace) -> Path:
    """Return the directory of the dumps of tiny wikis."""
    return generate.kept(arguments.work / f"tiny-{arguments.wikis}", lambda path: write_tiny(path, arguments.wikis))


def large(arguments: Namespace) -> Path:
    """Return the directory of the dumps of three large wikis."""
    directory: Path = arguments.work / f"large-{arguments.megabytes:g}"
    apart(write_large, directory, arguments.megabytes)
    return directory


def write_large(directory: Path, megabytes: float) -> None:
    """Write the dumps of three large wikis, and their items, unless they exist."""
    dumps = [str(slices.dump(directory, language, megabytes, closed=True)) for language in LANGUAGES]
    items = directory / "wikidata-20260101-all.json.gz"
    generate.kept(items, lambda path: generate.write_items(generate.items_of(generate.articles(dumps)), path))


def planned(dumps: Path, output: Path) -> list[PlannedStage]:
    """Return the stages of a plan."""
    is_compiled = engine_of(None, "wikianchor", "rules") == "core"
    return build_stages(find_dumps(str(dumps), ()), str(output), 0, is_compiled=is_compiled)


def watched(command: Sequence[str | Path], output: Path) -> tuple[float, float, int, int]:
    """Run a command; return its CPU and wall time in seconds, and the highest number of bytes of its output on the disk
    and of open files of a process."""
    start, before, disk, files = time.monotonic(), os.times(), 0, 0
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=sys.stderr) as process:
        while process.poll() is None:
            time.sleep(1)
            disk, files = max(disk, on_disk(output)), max(files, open_files(process.pid))
    if process.returncode:
        raise SystemExit(f"{command[:4]} ended with {process.returncode}")
    after = os.times()
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return cpu, time.monotonic() - start, disk, files


def on_disk(directory: Path) -> int:
    """Return the bytes that the blocks of the files below a directory have."""
    size = 0
    # Unlike `rglob`, it goes on where a directory has gone.
    for folder, _, files in os.walk(directory):
        for name in files:
            with suppress(OSError):
                size += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return size


def open_files(pid: int) -> int:
    """Return the number of open files of a process, 0 where it has ended."""
    with suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/fd"))
    return 0


if __name__ == "__main__":
    flags: dict[str, tuple[Any, str]] = {
        "--wikis": (310, "number of tiny wikis"),
        "--megabytes": (100.0, "XML of each large wiki"),
    }
    run_parts(__doc__, {"plan": compare_plan, "pairs": compare_pairs}, flags, rounds=1)
