"""Run one stage: a pipeline that makes a dataset with its manifest, or ends with an error of one line.

A stage is skipped if the manifest in its output names the same rules, which are the code that decides its rows, the
same inputs and the same options. A stage that was interrupted goes on with the steps that it had not finished. An
older dataset in the output stays valid until the new one is complete.
"""

from __future__ import annotations

import logging
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.rules import stage_digest
from wikianchor.io.version import package_version, program_version
from wikianchor.pipelines.dataset.changes import RULES, difference, left_out
from wikianchor.pipelines.dataset.manifest import (
    claim,
    commit,
    damaged_shard,
    discard,
    has_leftovers,
    read_manifest,
    tidy,
)
from wikianchor.pipelines.dataset.part_writer import Part
from wikianchor.pipelines.dataset.provenance import MADE_OF, dumps_of
from wikianchor.pipelines.dataset.workspace import RECORDS, Workspace, fingerprint_of, workspace_of
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.progress import Progress
from wikianchor.pipelines.engine.progress_file import ProgressReader
from wikianchor.pipelines.engine.retries import Retries
from wikianchor.pipelines.engine.runner import NO_LOAD, beam_options, make_pipeline, run_apart
from wikianchor.pipelines.engine.step_errors import find_error
from wikianchor.pipelines.engine.worker_status import WorkerDied

if TYPE_CHECKING:
    import apache_beam as beam

log = logging.getLogger("wikianchor")
# Inputs that a warning names.
SHOWN = 5
# A file in the workspace of a run that has left out pages.
SKIPPED = "skipped_pages"
# What a user can do about exceptions of a runner, by their texts.
_ADVICE = {
    r"^OSError: .*No space left on device": (
        "{output}: the disk is full: free some space and run the same command again"
    ),
    r"Unable to fetch remote job server jar at (?P<jar>\S+\.jar)\b": (
        "{jar}: Beam cannot fetch it: fetch it where there is a network, and name the file with "
        "--flink_job_server_jar or --spark_job_server_jar"
    ),
    r"^RuntimeError: Service failed to start up with error": (
        "the job server ended when it was started: see its log above, and check the jar and Java"
    ),
    r"^FileNotFoundError: .*: 'java'$": (
        "java: not installed, and the job servers of Flink and Spark need it: install Java 11 or later"
    ),
    r"Channel closed prematurely|StatusCode\.UNAVAILABLE|StatusCode\.CANCELLED": (
        "{output}: a worker or the job service died (killed, or out of memory?): run it again"
    ),
}


def made_with(dataset: str) -> dict[str, str]:
    """Return what decides the bytes of a dataset besides inputs and options: the digest of its rules, the version of
    the writer of Parquet, and that of Python's Unicode tables, which split sentences and compare names. The version of
    the program is for readers alone."""
    return {
        "wikianchor": program_version(),
        "rules": stage_digest(dataset),
        "pyarrow": package_version("pyarrow"),
        "unicode": unicodedata.unidata_version,
    }


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What a stage makes, of what, and by which graph.

    Attributes:
        dataset: name of the dataset.
        schema_version: version of the schema of its rows.
        output: directory of the dataset.
        inputs: what the stage reads, each with a checksum.
        options: every option that changes the output, and no other: with `inputs` they identify the dataset.
        build: adds the graph, whose last step commits the dataset, to a pipeline: (pipeline, head of manifest, work).
        bytes_read: final sum of the progress files of the workers, in bytes; 0 for a stage without them.
        load: the work and memory of the stage, which decide the number of workers, unless the flags do.
    """

    dataset: str
    schema_version: str
    output: str
    inputs: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any]
    build: Callable[[beam.Pipeline, Mapping[str, Any], Workspace], None]
    bytes_read: int = 0
    load: Load = NO_LOAD

    @property
    def name(self) -> str:
        """The dataset, with its wiki if it has one."""
        return " ".join(filter(None, (self.dataset, self.options.get("wiki"))))

    def head(self) -> dict[str, Any]:
        """Return the head of a manifest: what identifies the dataset before it is made; `made_of` and `dumps`, what it
        comes from; and `older_inputs`, where it has inputs that other rules made than those of this program."""
        records = [
            {name: value for name, value in item.items() if name not in (RULES, MADE_OF)} for item in self.inputs
        ]
        older = [
            {**record, RULES: item[RULES]}
            for record, item in zip(records, self.inputs, strict=True)
            if RULES in item and item[RULES] != stage_digest(item["dataset"])
        ]
        made_of: list[dict[str, Any]] = []
        for stage in (stage for item in self.inputs for stage in item.get(MADE_OF, ())):
            made_of += [] if stage in made_of else [stage]
        head = {
            "dataset": self.dataset,
            "schema_version": self.schema_version,
            "inputs": records,
            "options": dict(self.options),
            "made_with": made_with(self.dataset),
            MADE_OF: made_of,
        }
        return {**head, "dumps": dumps_of(head), **({"older_inputs": older} if older else {})}

    def pipeline(self, beam_args: Sequence[str], retries: Retries | None = None) -> beam.Pipeline:
        """Return an empty pipeline for the graph."""
        return make_pipeline(beam_args, self.dataset, self.options.get("wiki"), self.output, self.load, retries)


def run_stage(stage: Stage, beam_args: Sequence[str], *, keep_older: bool = False) -> dict[str, Any]:
    """Run a stage unless it is done, and return its manifest.

    Args:
        stage: the stage.
        beam_args: flags for Beam.
        keep_older: whether a finished dataset may be of other rules or versions.

    Raises:
        InputError: an input is broken or the output cannot be written.
        UsageError: the output directory cannot be used, or a flag of Beam's is wrong.
    """
    dataset, output, head = stage.dataset, stage.output, stage.head()
    skips = skips_pages(beam_args)
    if (done := _done(output, head, keep_older, skips)) is not None:
        _remove_leftovers(output, dataset)
        return done
    from wikianchor.pipelines.engine.options import shuffle_of

    # Whatever can be wrong with the command is found before anything is written.
    pipeline = stage.pipeline(beam_args)
    shuffle = shuffle_of(pipeline.options)
    fingerprint = fingerprint_of(head, output, shuffle=shuffle)
    work = workspace_of(output, fingerprint, shuffle)
    stage.build(pipeline, head, work)
    old = read_manifest(output)
    if old is not None and old["dataset"] == dataset and (change := _change(old, head, skips)):
        log.info("%s: rebuild, %s; the dataset there stays until the new one is complete", output, change)
    if older := [
        " ".join(filter(None, (source["dataset"], source.get("wiki")))) for source in head.get("older_inputs", ())
    ]:
        log.warning(
            "%s: made from datasets of other rules than those of this program, which its manifest names: %s%s",
            output,
            ", ".join(older[:SHOWN]),
            f" and {len(older) - SHOWN} more" if len(older) > SHOWN else "",
        )
    with claim(output, dataset, fingerprint):
        # Another run may have made it while this one waited for the claim, or the claim completed its commit.
        if (done := _done(output, head, keep_older, skips)) is not None:
            return done
        retries = Retries(skips)
        if not skips and os.path.exists(f"{work.scratch}/{SKIPPED}"):
            log.info("%s: beginning again: an earlier run left pages out with --skip_bad_pages", output)
            discard(work)
        while True:
            try:
                _run_watched(pipeline, stage, work)
                break
            except WorkerDied as death:
                # It may have died in the commit, after the manifest was replaced.
                if (done := _done(output, head, keep_older, skips)) is not None:
                    log.warning("%s: the dataset is complete", death)
                    tidy(output, done)
                    return done
                log.warning("%s", retries.after(death))
                if retries.bad_pages:
                    os.makedirs(work.scratch, exist_ok=True)
                    Path(f"{work.scratch}/{SKIPPED}").touch()
            pipeline = stage.pipeline(beam_args, retries)
            stage.build(pipeline, head, work)
    return _result(pipeline, head, output)


def _result(pipeline: beam.Pipeline, head: Mapping[str, Any], output: str) -> dict[str, Any]:
    """Return the manifest of the dataset that a pipeline has made; an empty one if it only wrote a job template.

    Raises:
        InputError: there is no dataset.
    """
    manifest = read_manifest(output)
    if manifest is None and (template := pipeline.options.get_all_options().get("template_location")):
        log.info("%s: the graph of a job that is yet to run", template)
        return {**head, "configs": {}, "ledger": {}}
    if manifest is None:
        raise InputError(f"{output}: the pipeline ended without a dataset: run the same command again")
    return manifest


def _remove_leftovers(output: str, dataset: str) -> None:
    """Remove what a killed run has left beside a finished dataset."""
    if has_leftovers(output):
        # A run that is just ending removes them itself.
        with suppress(UsageError), claim(output, dataset):
            pass


def _run_watched(pipeline: beam.Pipeline, stage: Stage, work: Workspace) -> None:
    """Run a pipeline and show its progress.

    Raises:
        InputError, UsageError: a step raised it, or the runner failed in a way that the user can mend.
    """
    if os.path.isdir(f"{work.scratch}/{RECORDS}"):
        log.info("%s: going on where an earlier run stopped", stage.output)
    try:
        with shown_progress(stage.name, work.scratch, stage.bytes_read) as look:
            run_apart(pipeline, look)
    except Exception as error:
        raise _clear(error, stage.output) from error


def skips_pages(beam_args: Sequence[str]) -> bool:
    """Return whether the flags let a run leave out pages that end their worker process."""
    # Most runs do without Beam's parser, which takes a second, when a dataset is finished.
    if not any(arg.startswith("--skip_bad_pages") for arg in beam_args):
        return False
    from wikianchor.pipelines.engine.options import EngineOptions

    return bool(beam_options(beam_args)[0].view_as(EngineOptions).skip_bad_pages)


def _change(manifest: Mapping[str, Any], head: Mapping[str, Any], skips: bool) -> str:
    """Return why a finished dataset is not the one that a run makes, in a few words, or ""."""
    return difference(manifest, head) or ("" if skips else left_out(manifest))


def _done(output: str, head: Mapping[str, Any], keep_older: bool, skips: bool) -> dict[str, Any] | None:
    """Return the manifest of a finished dataset, or None.

    Args:
        output: its directory.
        head: the head of its manifest.
        keep_older: whether it may be of other rules or versions.
        skips: whether it may lack pages that end their worker process.
    """
    manifest = read_manifest(output, is_output=True)
    if manifest is None or manifest["dataset"] != head["dataset"]:
        return None
    change = _change(manifest, head, skips)
    if change and (not keep_older or _change({**manifest, "made_with": head["made_with"]}, head, skips)):
        return None
    if (damaged := damaged_shard(output, manifest)) is not None:
        log.info("%s: missing or damaged, so its dataset is made again", damaged)
        return None
    log.info("%s: %s", output, f"kept as it is, though {change}" if change else "up to date, skipped")
    return manifest


@contextmanager
def shown_progress(name: str, scratch: str, total: int) -> Iterator[Callable[[], None]]:
    """Show the progress of a stage; yield a function that reads the progress files of its workers again.

    Args:
        name: what is shown before the bar.
        scratch: the directory of the files.
        total: their final sum, bytes; 0 for a stage without them.
    """
    if not total:
        yield lambda: None
        return
    # What an interrupted run had read already.
    reader = ProgressReader(scratch)
    shown, _ = reader.read()

    def look() -> None:
        nonlocal shown
        done, counts = reader.read()
        note = ", ".join(f"{number:,} {name}" for name, number in counts.items())
        progress.advance(name, max(0, done - shown), note)
        shown = max(done, shown)

    with Progress() as progress:
        progress.begin(name, total, shown)
        yield look


def _clear(error: Exception, output: str) -> Exception:
    """Return an error whose message is one line that a user can act on, or the runner's exception unchanged."""
    text = f"{type(error).__name__}: {error}"
    if (marked := find_error(text)) is not None:
        return marked
    for pattern, advice in _ADVICE.items():
        if match := re.search(pattern, text, re.MULTILINE):
            return InputError(advice.format(output=output, **match.groupdict()))
    return error


def counts_by_kind(counts: Iterable[Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Add up the counts of results, and return them by kind.

    >>> counts_by_kind([{"links:kept": 1, "pages:seen": 1}, {"links:kept": 2}])
    {'links': {'kept': 3}, 'pages': {'seen': 1}}
    """
    total: Counter[str] = Counter()
    for of_result in counts:
        total.update(of_result)
    by_kind: dict[str, dict[str, int]] = {}
    for key, number in sorted(total.items()):
        kind, _, name = key.partition(":")
        by_kind.setdefault(kind, {})[name] = number
    return by_kind


def commit_dataset(
    output: str,
    work: Workspace,
    head: Mapping[str, Any],
    parts: Iterable[Part],
    ledger: Mapping[str, Any],
    problems: Iterable[str],
    may_be_empty: bool = False,
) -> None:
    """Commit a dataset, or fail with the problems that steps found: the last step of every graph.

    Args:
        output: directory of the dataset.
        work: the workspace of the run.
        head: the head of the manifest.
        parts: the files of the dataset.
        ledger: the ledger of the manifest.
        problems: that steps found in the inputs, one line each; repeated ones count once.
        may_be_empty: commit a dataset without rows too.

    Raises:
        InputError: there are problems, or there are no rows.
    """
    lines = list(dict.fromkeys(problems))
    members = list(parts)
    if not lines and not may_be_empty and not any(part.rows for part in members):
        lines = [f"{output}: nothing to write: the inputs hold no row for it"]
    if lines:
        # The same inputs give the same problems, so the next run cannot use the work of this one.
        discard(work)
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        raise InputError(lines[0] + more)
    commit(output, work.parts, members, {**head, "ledger": ledger})
