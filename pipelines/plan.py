"""What a build is going to do, told before it begins: stages, inputs, how long, and how much disk.

The rates are those of `benchmarks/RESULTS.md`, rounded down; a plan is right to a factor of two.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.dataset.manifest import read_manifest
from pipelines.progress import duration, size
from pipelines.storage import file_size

# Bytes of a compressed dump that a worker reads in a second, by its ending.
SENTENCES = {".bz2": 1.5e6, ".gz": 1.3e6, ".xz": 1.0e6, "": 6.0e6}
ITEMS = {".bz2": 2.3e6, ".gz": 18e6, "": 200e6}
# Bytes of a dataset for each byte of a bz2 dump; other packings are told by what they would be as bz2.
SENTENCES_DISK, AS_BZ2 = 0.9, {".bz2": 1.0, ".gz": 0.8, ".xz": 1.1, "": 0.28}
LINKS = 11e-3  # links in sentences for each byte of a bz2 dump
LINKS_PER_SECOND, BYTES_PER_PAIR = 200_000, 120
# While it is made, `pairs` holds its rows and what its links lead to as well.
PAIRS_DISK = 2.5
ITEMS_DISK = 0.02


@dataclass(frozen=True)
class Stage:
    """A stage that is going to run.

    Attributes:
        name: what the user sees.
        output: directory of its dataset.
        inputs: paths of dumps; none for what reads datasets.
        seconds: of one worker, roughly.
        disk: bytes that it needs, roughly.
    """

    name: str
    output: str
    inputs: tuple[str, ...]
    seconds: float
    disk: float


def build_stages(
    pages: dict[str, tuple[str, ...]], wikidata: Sequence[str], page_props: Sequence[str], output: str, sample: int
) -> list[Stage]:
    """Return the stages of a build, in order."""
    stages = []
    total = 0.0
    for wiki, paths in pages.items():
        as_bz2 = sum(file_size(path) * AS_BZ2[_ending(path)] for path in paths)
        total += as_bz2
        seconds = sum(file_size(path) / SENTENCES[_ending(path)] for path in paths)
        place = f"{output}/sentences/{wiki}"
        stages.append(Stage(f"sentences {wiki}", place, tuple(paths), seconds, as_bz2 * SENTENCES_DISK))
    inputs = (*wikidata, *page_props)
    bytes_ = sum(file_size(path) for path in wikidata)
    seconds = sum(file_size(path) / ITEMS.get(_ending(path), ITEMS[""]) for path in inputs)
    stages.append(Stage("entities", f"{output}/entities", inputs, seconds, bytes_ * ITEMS_DISK))
    links = total * LINKS
    rows = min(links, sample) if sample else links
    disk = rows * BYTES_PER_PAIR * PAIRS_DISK
    stages.append(Stage("pairs", f"{output}/pairs", (), links / LINKS_PER_SECOND, disk))
    return stages


def _ending(path: str) -> str:
    ending = os.path.splitext(path)[1]
    return ending if ending in AS_BZ2 else ""


def looks_done(stage: Stage) -> bool:
    """Whether a stage seems to be done with these inputs, by their names and sizes; the stage itself looks closer."""
    manifest = read_manifest(stage.output)
    if manifest is None:
        return False
    known = {(source.get("path"), source.get("bytes")) for source in manifest.get("inputs", ())}
    return all((os.path.basename(path), file_size(path)) in known for path in stage.inputs)


def plan_lines(stages: Sequence[Stage], output: str, workers: int | None) -> list[str]:
    """Return the plan as it is printed.

    Args:
        stages: in order.
        output: where the disk is.
        workers: that share the work; None where that is not known, on a cluster.
    """
    width = max(len(stage.name) for stage in stages)
    lines = ["plan"]
    left = need = 0.0
    for stage in stages:
        read = f"{size(sum(file_size(path) for path in stage.inputs))} in {len(stage.inputs)} files"
        if looks_done(stage):
            about = "done"
        else:
            left += stage.seconds
            need += stage.disk
            about = f"about {duration(stage.seconds / workers)}" if workers else "to do"
        lines.append(f"  {stage.name:{width}}  {read if stage.inputs else 'the datasets above':22}  {about}")
    if workers and left:
        shared = f"with {workers} workers" if workers > 1 else "with 1 worker, see --direct_num_workers"
        lines.append(f"  all of it: about {duration(left / workers)} {shared}")
    if need and "://" not in output:
        free = free_bytes(output)
        enough = "" if free > need else ": NOT ENOUGH"
        lines.append(f"  disk: about {size(need)} needed, {size(free)} free{enough}")
    return lines


def free_bytes(directory: str) -> int:
    """Return the bytes that are free where a directory is or will be."""
    there = Path(directory).absolute()
    while not there.exists():
        there = there.parent
    return shutil.disk_usage(there).free
