"""Running one stage: a pipeline, its inputs and options in; a finished dataset with its manifest out, or one clear
line.

A stage is skipped when the manifest in its output says that it was made by this program from the same inputs with the
same options.
"""

from __future__ import annotations

import argparse
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from pipelines.dataset.manifest import claim, clear, commit, read_manifest
from pipelines.dataset.parts import Part
from pipelines.errors import InputError, UsageError

if TYPE_CHECKING:
    import apache_beam as beam

_FAILURE = re.compile(
    r"^(?:[\w.]+\.)?(?:InputError|UsageError|Truncated): (.*?)(?: \[while running .*)?$", re.MULTILINE
)
_FULL_DISK = re.compile(r"^OSError: .*No space left on device.*$", re.MULTILINE)
# Prism and Docker are for those who ask for them: the direct runner here is the one that needs nothing started.
_DIRECT = "FnApiRunner"


def program_version() -> str:
    """Return the version that manifests carry."""
    try:
        return version("wikianchor")
    except PackageNotFoundError:
        return "uninstalled"


def run_stage(
    dataset: str,
    schema_version: str,
    output: str,
    inputs: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    build: Callable[[beam.Pipeline, Mapping[str, Any]], None],
    beam_args: Sequence[str],
) -> dict[str, Any]:
    """Run a stage unless it is done, and return its manifest.

    Args:
        dataset: name of the dataset.
        schema_version: of its rows.
        output: directory.
        inputs: what it reads, each with a sha1; they decide with `options` whether an earlier result still counts.
        options: every option that changes the output; none that does not.
        build: adds the graph to a pipeline, given the head of the manifest; its last step commits the dataset.
        beam_args: flags for Beam.

    Raises:
        InputError: an input is broken or the output cannot be written.
        UsageError: the output directory cannot be used.
    """
    import apache_beam as beam

    head = {
        "dataset": dataset,
        "schema_version": schema_version,
        "inputs": [dict(item) for item in inputs],
        "options": dict(options),
        "made_with": {"wikianchor": program_version(), "pyarrow": version("pyarrow")},
    }
    done = read_manifest(output)
    if done is not None and all(done.get(key) == value for key, value in head.items()):
        logging.getLogger("wikianchor").info("%s: up to date, skipped", output)
        return done
    with claim(output):
        clear(output)
        try:
            with beam.Pipeline(options=beam_options(beam_args)) as pipeline:
                build(pipeline, head)
        except (InputError, UsageError):
            raise
        except Exception as error:
            raise _clear(error, output) from error
    manifest = read_manifest(output)
    if manifest is None:
        raise InputError(f"{output}: the pipeline ended without a dataset: run the same command again")
    return manifest


def _clear(error: Exception, output: str) -> Exception:
    """Find the one line for the user in what a runner made of an error; an error that is not theirs to mend stays as
    it is."""
    found = _FAILURE.findall(str(error))
    if found:
        return InputError(found[-1])
    if _FULL_DISK.search(str(error)):
        return InputError(f"{output}: the disk is full: free some space and run the same command again")
    return error


def beam_options(args: Sequence[str]) -> Any:
    """Return Beam's options.

    Raises:
        UsageError: a flag that neither we nor Beam know.
    """
    from apache_beam.options.pipeline_options import PipelineOptions

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for options in PipelineOptions.__subclasses__():
        try:
            options._add_argparse_args(parser)
        except argparse.ArgumentError:
            continue
    _, unknown = parser.parse_known_args(list(args))
    if unknown:
        raise UsageError(f"unknown flag {unknown[0]}: --help lists ours, the rest is Beam's")
    flags = list(args)
    if not any(flag.startswith("--runner") for flag in flags):
        flags.append(f"--runner={_DIRECT}")
    return PipelineOptions([f"--runner={_DIRECT}" if flag == "--runner=DirectRunner" else flag for flag in flags])


def finish(
    output: str, head: Mapping[str, Any], parts: Iterable[Part], ledger: Mapping[str, Any], problems: Iterable[str]
) -> None:
    """Commit a dataset, or fail with what went wrong on the way: the last step of every graph.

    Raises:
        InputError: there were problems; or there is nothing to write.
    """
    found = sorted(set(problems))
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise InputError(found[0] + more)
    members = list(parts)
    if not members:
        raise InputError(f"{output}: nothing to write: the inputs hold no row for it")
    commit(output, members, {**head, "ledger": ledger})
