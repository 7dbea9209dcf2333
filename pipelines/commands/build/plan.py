"""The plan of a build: its stages, their inputs, how long they take and how much disk space they need.

The rates are those of `benchmarks/RESULTS.md`, rounded down. A plan is right to a factor of two.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wikianchor.io.storage import file_size, free_bytes, is_local
from wikianchor.io.units import duration, size
from wikianchor.pipelines.dataset.changes import RULES, difference, left_out
from wikianchor.pipelines.dataset.manifest import damaged_shard, read_manifest
from wikianchor.pipelines.dataset.workspace import UNFINISHED, scratch_root
from wikianchor.pipelines.engine.dataflow import memory_per_vcpu
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import (
    DOCUMENTS,
    STAGE_SECONDS,
    dump_seconds,
    ending_of,
    item_seconds,
    pair_seconds,
)
from wikianchor.pipelines.engine.stage import made_with
from wikianchor.pipelines.wikimedia.dumps import is_one_task
from wikianchor.pipelines.wikimedia.inventory import Dumps

# Bytes of a bz2 dump for each byte of a dump of another compression.
AS_BZ2 = {".bz2": 1.0, ".gz": 0.8, ".xz": 1.1, "": 0.28}
# For each byte of a bz2 dump: bytes of its sentences, and of its documents, and links in sentences.
SENTENCES_DISK, DOCUMENTS_DISK, LINKS = 0.9, 1.0, 11e-3
BYTES_PER_PAIR = 120
# In the scratch directory: a row of `pairs` in the shuffle, and the target of a link.
BYTES_PER_SHUFFLED_ROW, BYTES_PER_LINK = 400, 14
# The files of any dataset, and those of each wiki in the scratch directory of `pairs`: each takes a block of the disk.
DATASET_DISK, WIKI_SCRATCH = 50e3, 50e3
# Bytes of the dataset for each byte of a dump of Wikidata.
ITEMS_DISK = 0.02
# Seconds.
MINUTE = 60
# A plan is right to this factor.
UNCERTAINTY = 2


@dataclass(frozen=True, kw_only=True)
class PlannedStage:
    """A stage of a plan.

    Attributes:
        name: what the user calls it.
        output: directory of its dataset.
        inputs: paths of dumps; none for a stage that reads datasets.
        seconds: estimated seconds of one worker.
        disk: estimated bytes of its dataset.
        options: the options in its manifest; {} where they are not known.
        scratch: estimated further bytes that it needs while it runs.
    """

    name: str
    output: str
    seconds: float
    disk: float
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    scratch: float = 0

    def seconds_with(self, workers: int) -> float:
        """Return the estimated seconds of the stage with some workers."""
        return STAGE_SECONDS + self.seconds / workers

    @property
    def dataset(self) -> str:
        """The name of its dataset."""
        return self.name.partition(" ")[0]

    @property
    def load(self) -> Load:
        """The load on a machine, which decides the number of workers."""
        return Load(self.seconds)


def build_stages(
    dumps: Dumps,
    output: str,
    sample: int,
    options: Sequence[Mapping[str, Any]] | None = None,
    is_compiled: bool = False,
    with_documents: bool = False,
) -> list[PlannedStage]:
    """Return the stages of a build, in order.

    Args:
        dumps: that the build reads.
        output: directory of the build.
        sample: the largest number of pairs, 0 for all.
        options: the options of each stage, in order; None where they are not known.
        is_compiled: whether the compiled core reads the pages.
        with_documents: whether documents are written, and the stage `documents` comes last.
    """
    as_bz2 = {
        wiki: sum(file_size(path) * AS_BZ2[ending_of(path)] for path in paths) for wiki, paths in dumps.pages.items()
    }
    inputs = (*dumps.wikidata, *dumps.page_props)
    links, written = sum(as_bz2.values()) * LINKS, sum(as_bz2.values()) * DOCUMENTS_DISK
    rows = min(links, sample) if sample else links
    stages = [
        *(
            PlannedStage(
                name=f"sentences {wiki}",
                output=f"{output}/sentences/{wiki}",
                inputs=tuple(paths),
                seconds=dump_seconds(paths, is_compiled),
                disk=DATASET_DISK + as_bz2[wiki] * (SENTENCES_DISK + DOCUMENTS_DISK * with_documents),
            )
            for wiki, paths in dumps.pages.items()
        ),
        PlannedStage(
            name="entities",
            output=f"{output}/entities",
            inputs=inputs,
            seconds=item_seconds(inputs),
            disk=DATASET_DISK + sum(map(file_size, dumps.wikidata)) * ITEMS_DISK,
        ),
        PlannedStage(
            name="pairs",
            output=f"{output}/pairs",
            seconds=pair_seconds(links, len(dumps.pages)),
            disk=DATASET_DISK + rows * BYTES_PER_PAIR,
            scratch=len(dumps.pages) * WIKI_SCRATCH + rows * BYTES_PER_SHUFFLED_ROW + links * BYTES_PER_LINK,
        ),
    ]
    if with_documents:
        seconds, disk = written / DOCUMENTS, DATASET_DISK + written
        stages.append(PlannedStage(name="documents", output=f"{output}/documents", seconds=seconds, disk=disk))
    return [replace(stage, options=known) for stage, known in zip(stages, options, strict=False)] if options else stages


def reason_to_run(stage: PlannedStage, *, rebuilt: bool, keep_older: bool, skips_pages: bool) -> str | None:
    """Return why a stage runs: "" where there is no dataset yet, else what has changed; None where it is finished.

    Inputs are compared by name and size; the stage itself compares their checksums.

    Args:
        stage: a stage of the plan.
        rebuilt: whether an earlier stage of the plan runs.
        keep_older: whether the dataset may be of other rules or versions.
        skips_pages: whether it may lack pages that end their worker process.
    """
    manifest = read_manifest(stage.output, is_output=True)
    if manifest is None:
        return ""
    head: dict[str, Any] = {} if keep_older else {"made_with": made_with(stage.dataset)}
    if stage.options:
        head["options"] = dict(stage.options)
    if change := difference(manifest, head) or ("" if skips_pages else left_out(manifest)):
        return change
    known = {(source.get("path"), source.get("bytes")) for source in manifest.get("inputs", ())}
    for path in stage.inputs:
        if (os.path.basename(path), file_size(path)) not in known:
            return f"{os.path.basename(path)} is new or has changed"
    if damaged := damaged_shard(stage.output, manifest):
        return f"{damaged} is missing or damaged"
    return "a dataset that it reads will be another one" if rebuilt and not stage.inputs else None


def plan_lines(
    stages: Sequence[PlannedStage],
    *,
    output: str,
    workers: Sequence[int | None],
    machine_type: str = "",
    price: float = 0,
    keep_older: bool = False,
    skips_pages: bool = False,
    brief: bool = False,
) -> list[str]:
    """Return the lines of the plan.

    Args:
        stages: the stages, in order.
        output: directory of the build.
        workers: the number for each stage; None where the number is not known, on a cluster.
        machine_type: the type of Dataflow's workers; "" for another runner.
        price: what a vCPU costs for an hour; 0 where it is not known.
        keep_older: whether finished datasets may be of other rules or versions.
        skips_pages: whether they may lack pages that end their worker process.
        brief: leave out stages about which there is nothing to say.
    """
    width = max(len(stage.name) for stage in stages)
    lines = ["plan"]
    left_out = 0
    running: list[tuple[PlannedStage, int | None]] = []
    is_older = False
    for stage, count in zip(stages, workers, strict=True):
        read = f"{size(sum(file_size(path) for path in stage.inputs))} in {len(stage.inputs)} files"
        reason = reason_to_run(stage, rebuilt=bool(running), keep_older=keep_older, skips_pages=skips_pages)
        about = "done"
        if (
            keep_older
            and reason is None
            and (change := reason_to_run(stage, rebuilt=False, keep_older=False, skips_pages=skips_pages))
        ):
            about = f"kept, though {change}"
        is_older = is_older or (reason or "").startswith(RULES)
        if reason is not None:
            running.append((stage, count))
            about = "to do" if count is None else f"about {duration(stage.seconds_with(count))}"
            about = f"rebuild, {reason}: {about}" if reason else about
        if brief and ((reason == "" and stage.seconds_with(count or 1) < MINUTE) or about == "done"):
            left_out += 1
            continue
        lines.append(f"  {stage.name:{width}}  {read if stage.inputs else 'the datasets above':22}  {about}")
        if reason is not None:
            lines += [
                f"    {os.path.basename(path)} is one task for one worker: bzip2, or gzip in members, can be shared"
                for path in stage.inputs
                if is_one_task(path)
            ]
    totals = _total_lines(running, output, brief)
    if left_out == len(stages):
        return [f"plan: {'; '.join(line.strip() for line in totals) or 'all stages are done'}"]
    if left_out:
        lines.append(f"  {left_out} other stages that are done or take less than a minute, see --dry_run")
    if is_older:
        lines.append("  --keep_older uses finished datasets of other rules as they are")
    lines += totals
    if running and (machine_type or price):
        lines.append(f"  {cost_line([stage for stage, _ in running], machine_type, price)}")
    return lines


def cost_line(stages: Sequence[PlannedStage], machine_type: str, price: float) -> str:
    """Return the line with what stages use of a cloud, by the units of Dataflow's bill, and their cost.

    A worker of Dataflow has a process for each vCPU, so its vCPU-seconds are the seconds of a single worker. The
    minutes in which machines start are not in them. https://cloud.google.com/dataflow/pricing

    Args:
        stages: that run.
        machine_type: the type of Dataflow's workers; "" for another runner.
        price: what a vCPU costs for an hour, in any currency; 0 where it is not known.
    """
    hours = sum(stage.seconds for stage in stages) / 3600
    amounts = [f"about {_rounded(hours)} vCPU-hours"]
    if (memory := memory_per_vcpu(machine_type)) is not None:
        amounts.append(f"{_rounded(hours * memory)} GB-hours of memory")
    if machine_type:
        amounts.append(f"{size(sum(stage.scratch for stage in stages))} shuffled")
    cost = f": about {_rounded(hours * price)} at {price:g} for a vCPU-hour" if price else ""
    return f"{'Dataflow' if machine_type else 'cost'}: {', '.join(amounts)}{cost}"


def _rounded(number: float) -> str:
    """Return a number with two significant digits.

    >>> _rounded(1234.5), _rounded(0.01234), _rounded(0)
    ('1,200', '0.012', '0')
    """
    digits = 1 - math.floor(math.log10(number)) if number > 0 else 0
    return f"{round(number, digits):,.{max(0, digits)}f}"


def _total_lines(running: Sequence[tuple[PlannedStage, int | None]], output: str, brief: bool) -> list[str]:
    """Return the lines with the time and the disk space of the stages that run, with the workers of each."""
    if not running:
        return []
    lines = []
    if counts := [count for _, count in running if count is not None]:
        seconds = sum(stage.seconds_with(count) for stage, count in running if count is not None)
        fewest, most = min(counts), max(counts)
        shared = f"{most} worker{'s' if most > 1 else ''}" if fewest == most else f"{fewest} to {most} workers"
        about = f"about {duration(seconds)} with {shared}"
        lines.append(f"  {about if brief else f'all of it: {about}, see --workers'}")
    scratch = max(stage.scratch for stage, _ in running)
    if not is_local(output):
        directory = scratch_root(output)
        return [*lines, f"  scratch disk: about {size(scratch)} in {directory}, {_free(directory, scratch)}"]
    need = sum(stage.disk for stage, _ in running) + scratch
    below = "" if brief else f", about {size(scratch)} of it below {UNFINISHED}/ while it runs"
    return [*lines, f"  disk: about {size(need)} needed{below}, {_free(output, need)}"]


def _free(directory: str, need: float) -> str:
    free = free_bytes(directory)
    verdict = ": NOT ENOUGH" if free < need else ": MAY NOT BE ENOUGH" if free < need * UNCERTAINTY else ""
    return f"{size(free)} free{verdict}"
