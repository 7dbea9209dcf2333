"""What a build is going to do, told before it begins: stages, inputs, how long, and how much disk.

The rates are those of `benchmarks/RESULTS.md`, rounded down; a plan is right to a factor of two.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wikianchor.io.storage import file_size, free_bytes
from wikianchor.io.units import duration, size
from wikianchor.pipelines.dataset.changes import difference
from wikianchor.pipelines.dataset.manifest import damaged_shard, read_manifest
from wikianchor.pipelines.dataset.workspace import UNFINISHED, scratch_root
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import dump_seconds, ending_of, item_seconds, pair_seconds
from wikianchor.pipelines.engine.stage import made_with
from wikianchor.pipelines.wikimedia.dumps import is_one_task

# Bytes of a dataset for each byte of a bz2 dump; other packings are told by what they would be as bz2.
SENTENCES_DISK, AS_BZ2 = 0.9, {".bz2": 1.0, ".gz": 0.8, ".xz": 1.1, "": 0.28}
LINKS = 11e-3  # links in sentences for each byte of a bz2 dump
BYTES_PER_PAIR = 120
# Of the scratch directory: a row of `pairs` on its way through the shuffle, and what a link leads to.
BYTES_PER_SHUFFLED_ROW, BYTES_PER_LINK = 400, 14
ITEMS_DISK = 0.02
# What is needed may be so many times what the plan says.
UNCERTAINTY = 2


@dataclass(frozen=True)
class Stage:
    """A stage that is going to run.

    Attributes:
        name: what the user sees.
        output: directory of its dataset.
        inputs: paths of dumps; none for what reads datasets.
        seconds: of one worker, roughly.
        disk: bytes of its dataset, roughly.
        scratch: bytes that it needs besides while it runs, roughly.
        options: those that its manifest will carry.
    """

    name: str
    output: str
    inputs: tuple[str, ...]
    seconds: float
    disk: float
    scratch: float
    options: Mapping[str, Any]

    @property
    def load(self) -> Load:
        """What it asks of a machine."""
        return Load(self.seconds)


def build_stages(
    pages: dict[str, tuple[str, ...]],
    wikidata: Sequence[str],
    page_props: Sequence[str],
    output: str,
    sample: int,
    options: Sequence[Mapping[str, Any]] | None = None,
) -> list[Stage]:
    """Return the stages of a build, in order.

    Args:
        pages: dumps by wiki.
        wikidata, page_props: dumps of items.
        output: of the build.
        sample: rows of pairs at most, 0 for all.
        options: of each stage, in order; None where nothing is known of them.
    """
    stages = []
    total = 0.0
    known = iter(options or [{}] * (len(pages) + 2))
    for wiki, paths in pages.items():
        as_bz2 = sum(file_size(path) * AS_BZ2[ending_of(path)] for path in paths)
        total += as_bz2
        place = f"{output}/sentences/{wiki}"
        seconds = dump_seconds(paths)
        stages.append(Stage(f"sentences {wiki}", place, tuple(paths), seconds, as_bz2 * SENTENCES_DISK, 0, next(known)))
    inputs = (*wikidata, *page_props)
    bytes_ = sum(file_size(path) for path in wikidata)
    stages.append(
        Stage("entities", f"{output}/entities", inputs, item_seconds(inputs), bytes_ * ITEMS_DISK, 0, next(known))
    )
    links = total * LINKS
    rows = min(links, sample) if sample else links
    scratch = rows * BYTES_PER_SHUFFLED_ROW + links * BYTES_PER_LINK
    stages.append(
        Stage("pairs", f"{output}/pairs", (), pair_seconds(links), rows * BYTES_PER_PAIR, scratch, next(known))
    )
    return stages


def reason_to_run(stage: Stage, rebuilt: bool) -> str | None:
    """Return why a stage runs: "" where there is no dataset yet, else what has changed; None where it seems to be done.
    Inputs are told by their names and sizes; the stage itself looks closer.

    Args:
        stage: of the plan.
        rebuilt: whether a dataset that it reads will be another one.
    """
    manifest = read_manifest(stage.output, is_output=True)
    if manifest is None:
        return ""
    head: dict[str, Any] = {"made_with": made_with()}
    if stage.options:
        head["options"] = dict(stage.options)
    if change := difference(manifest, head):
        return change
    known = {(source.get("path"), source.get("bytes")) for source in manifest.get("inputs", ())}
    for path in stage.inputs:
        if (os.path.basename(path), file_size(path)) not in known:
            return f"{os.path.basename(path)} is new or has changed"
    if damaged := damaged_shard(stage.output, manifest):
        return f"{damaged} is missing or damaged"
    return "a dataset that it reads will be another one" if rebuilt and not stage.inputs else None


def plan_lines(stages: Sequence[Stage], output: str, workers: Sequence[int | None]) -> list[str]:
    """Return the plan as it is printed.

    Args:
        stages: in order.
        output: where the disk is.
        workers: that share the work of each stage; None where that is not known, on a cluster.
    """
    width = max(len(stage.name) for stage in stages)
    lines = ["plan"]
    left = need = scratch = wall = 0.0
    counts: set[int] = set()
    for stage, count in zip(stages, workers, strict=True):
        read = f"{size(sum(file_size(path) for path in stage.inputs))} in {len(stage.inputs)} files"
        reason = reason_to_run(stage, left > 0)
        if reason is None:
            about = "done"
        else:
            left += stage.seconds
            need += stage.disk
            scratch = max(scratch, stage.scratch)
            about = "to do"
            if count is not None:
                wall += stage.seconds / count
                counts.add(count)
                about = f"about {duration(stage.seconds / count)}"
            about = f"rebuild, {reason}: {about}" if reason else about
        lines.append(f"  {stage.name:{width}}  {read if stage.inputs else 'the datasets above':22}  {about}")
        if reason is not None:
            lines += [
                f"    {os.path.basename(path)} is one task for one worker: bzip2, or gzip in members, can be shared"
                for path in stage.inputs
                if is_one_task(path)
            ]
    if counts:
        fewest, most = min(counts), max(counts)
        shared = f"{most} worker{'s' if most > 1 else ''}" if fewest == most else f"{fewest} to {most} workers"
        lines.append(f"  all of it: about {duration(wall)} with {shared}, see --workers")
    return lines + (_disk_lines(output, need, scratch) if need else [])


def _disk_lines(output: str, need: float, scratch: float) -> list[str]:
    """Return the lines on the disk that datasets need, and the scratch directory of a shuffle on this machine."""
    if "://" in output:
        place = scratch_root(output)
        return [f"  scratch disk: about {size(scratch)} in {place}, {_free(place, scratch)}"]
    where = f"about {size(scratch)} of it below {UNFINISHED}/ while it runs"
    return [f"  disk: about {size(need + scratch)} needed, {where}, {_free(output, need + scratch)}"]


def _free(directory: str, need: float) -> str:
    free = free_bytes(directory)
    verdict = ": NOT ENOUGH" if free < need else ": MAY NOT BE ENOUGH" if free < need * UNCERTAINTY else ""
    return f"{size(free)} free{verdict}"
