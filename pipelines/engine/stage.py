"""Running one stage: a pipeline, its inputs and options in; a finished dataset with its manifest out, or one clear
line.

A stage is skipped when the manifest in its output says that it was made by this program from the same inputs with the
same options. A stage that was interrupted goes on with the steps that it had not finished. An older dataset in the
output stays valid until the new one is complete.
"""

from __future__ import annotations

import logging
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.dataset.changes import difference
from wikianchor.pipelines.dataset.manifest import claim, commit, damaged_shard, discard, has_leftovers, read_manifest
from wikianchor.pipelines.dataset.part_writer import Part
from wikianchor.pipelines.dataset.workspace import RECORDS, Workspace, fingerprint_of, workspace_of
from wikianchor.pipelines.engine import dataflow
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.progress import Progress
from wikianchor.pipelines.engine.progress_file import read_progress
from wikianchor.pipelines.engine.runner import NO_LOAD, make_pipeline, run_apart, runner_of

if TYPE_CHECKING:
    import apache_beam as beam

log = logging.getLogger("wikianchor")
_FAILURE = re.compile(
    r"^(?:[\w.]+\.)?(?:InputError|UsageError|Truncated): (.*?)(?: \[while running .*)?$", re.MULTILINE
)
_DEATH = re.compile(r"Channel closed prematurely|StatusCode\.UNAVAILABLE|StatusCode\.CANCELLED")
_NO_JAR = re.compile(r"Unable to fetch remote job server jar at (\S+\.jar)\b")
_NO_SERVICE = re.compile(r"^RuntimeError: Service failed to start up with error", re.MULTILINE)
_FULL_DISK = re.compile(r"^OSError: .*No space left on device.*$", re.MULTILINE)


def program_version() -> str:
    """Return the version that manifests carry."""
    try:
        return version("wikianchor")
    except PackageNotFoundError:
        return "uninstalled"


def made_with() -> dict[str, str]:
    """Return the versions that decide what a dataset's bytes are: of this program, of the writer of Parquet, and of
    Python's Unicode tables, by which sentences are split and names compared."""
    return {
        "wikianchor": program_version(),
        "pyarrow": version("pyarrow"),
        "unicode": unicodedata.unidata_version,
    }


def run_stage(
    dataset: str,
    schema_version: str,
    output: str,
    inputs: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    build: Callable[[beam.Pipeline, Mapping[str, Any], Workspace], None],
    beam_args: Sequence[str],
    bytes_read: int = 0,
    load: Load = NO_LOAD,
) -> dict[str, Any]:
    """Run a stage unless it is done, and return its manifest.

    Args:
        dataset: name of the dataset.
        schema_version: of its rows.
        output: directory.
        inputs: what it reads, each with a sha1; they decide with `options` whether an earlier result still counts.
        options: every option that changes the output; none that does not.
        build: adds the graph to a pipeline, given the head of the manifest and the workspace of the run; its last step
            commits the dataset.
        beam_args: flags for Beam.
        bytes_read: bytes that the workers' progress files add up to in the end; 0 where they report none.
        load: what the stage asks of a machine; decides how many workers it gets there, unless the flags do.

    Raises:
        InputError: an input is broken or the output cannot be written.
        UsageError: the output directory cannot be used, or a flag of Beam's is wrong.
    """
    head = {
        "dataset": dataset,
        "schema_version": schema_version,
        "inputs": [dict(item) for item in inputs],
        "options": dict(options),
        "made_with": made_with(),
    }
    if (done := _done(output, head)) is not None:
        if has_leftovers(output):
            # A run that is just ending removes them itself; where they cannot be removed they do no harm.
            with suppress(UsageError, InputError), claim(output, dataset):
                pass
        return done
    from wikianchor.pipelines.engine.options import shuffle_of

    # Whatever can be wrong with the command is found before anything is written.
    pipeline = make_pipeline(beam_args, dataset, options.get("wiki"), output, load)
    shuffle = shuffle_of(pipeline.options)
    fingerprint = fingerprint_of(head, output, shuffle=shuffle)
    work = workspace_of(output, fingerprint, shuffle)
    build(pipeline, head, work)
    if dataflow.is_dataflow(runner_of(pipeline.options)):
        dataflow.check_keys(pipeline)
    if (old := read_manifest(output)) is not None and (change := difference(old, head)):
        log.info("%s: rebuild, %s; the dataset there stays until the new one is complete", output, change)
    with claim(output, dataset, fingerprint):
        # Another run may have made it while this one waited to begin, or this one completed its commit.
        if (done := _done(output, head)) is not None:
            return done
        if os.path.isdir(f"{work.scratch}/{RECORDS}"):
            log.info("%s: going on where an earlier run stopped", output)
        try:
            with Watch(dataset, options.get("wiki"), work.scratch, bytes_read) as watch:
                run_apart(pipeline, watch.look)
        except Exception as error:
            raise _clear(error, output) from error
    manifest = read_manifest(output)
    if manifest is None and (template := pipeline.options.get_all_options().get("template_location")):
        log.info("%s: the graph of a job that is yet to run", template)
        return {**head, "configs": {}, "ledger": {}}
    if manifest is None:
        raise InputError(f"{output}: the pipeline ended without a dataset: run the same command again")
    return manifest


def _done(output: str, head: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the manifest of a finished dataset that is what a stage would make, or None."""
    manifest = read_manifest(output, is_output=True)
    if manifest is None or any(manifest.get(key) != value for key, value in head.items()):
        return None
    if (damaged := damaged_shard(output, manifest)) is not None:
        log.info("%s: missing or damaged, so its dataset is made again", damaged)
        return None
    log.info("%s: up to date, skipped", output)
    return manifest


class Watch:
    """Shows how far a stage has come."""

    def __init__(self, dataset: str, wiki: object, scratch: str, total: int) -> None:
        self._name = f"{dataset} {wiki}" if wiki else dataset
        self._scratch, self._total = scratch, total
        # What an interrupted run had read already.
        self._done = read_progress(scratch)[0] if total else 0
        self._progress = Progress()

    def __enter__(self) -> Watch:
        self._progress.__enter__()
        if self._total:
            self._progress.begin(self._name, self._total, self._done)
        return self

    def look(self) -> None:
        """Look at what the workers tell, and show it."""
        if self._total:
            done, counts = read_progress(self._scratch)
            note = ", ".join(f"{number:,} {name}" for name, number in counts.items())
            self._progress.advance(self._name, max(0, done - self._done), note)
            self._done = max(done, self._done)

    def __exit__(self, *error: object) -> None:
        self._progress.__exit__()


def _clear(error: Exception, output: str) -> Exception:
    """Find the one line for the user in what a runner made of an error; an error that is not theirs to mend stays as
    it is."""
    text = f"{type(error).__name__}: {error}"
    if found := _FAILURE.findall(text):
        return InputError(found[-1])
    if _FULL_DISK.search(text):
        return InputError(f"{output}: the disk is full: free some space and run the same command again")
    if match := _NO_JAR.search(text):
        return InputError(
            f"{match[1]}: Beam cannot fetch it: fetch it where there is a network, and name the file with "
            "--flink_job_server_jar or --spark_job_server_jar"
        )
    if _NO_SERVICE.search(text):
        return InputError("the job server ended when it was started: see its log above, and check the jar and Java")
    if isinstance(error, FileNotFoundError) and error.filename == "java":
        return InputError(
            "java: not installed, and the job servers of Flink and Spark need it: install Java 11 or later"
        )
    if _DEATH.search(text):
        return InputError(f"{output}: a worker or the job service died (killed, or out of memory?): run it again")
    return error


def finish(
    output: str,
    work: Workspace,
    head: Mapping[str, Any],
    parts: Iterable[Part],
    ledger: Mapping[str, Any],
    problems: Iterable[str],
) -> None:
    """Commit a dataset, or fail with the problems that steps found: the last step of every graph.

    Raises:
        InputError: there were problems; or there is nothing to write.
    """
    found = list(dict.fromkeys(problems))
    members = list(parts)
    if not found and not any(part.rows for part in members):
        found = [f"{output}: nothing to write: the inputs hold no row for it"]
    if found:
        # The same inputs give the same problems: nothing of this run is of use to the next.
        discard(work)
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise InputError(found[0] + more)
    commit(output, work.parts, members, {**head, "ledger": ledger})
