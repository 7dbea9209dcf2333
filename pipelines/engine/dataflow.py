"""Defaults of the Dataflow runner, and checks of its flags before a job is submitted.

The defaults; a flag of the user takes precedence:

--job_name=wikianchor-STAGE[-WIKI]  one job for each stage, with a name that is valid on Dataflow
--labels=wikianchor=STAGE           shows the cost of a stage in the bill
--machine_type=n2-highmem-2         two workers of 8 GB each: a range of a dump needs 0.2, the look-up tables of `pairs`
                                    for English Wikipedia 0.6, and a T5 the rest
--number_of_worker_harness_threads=2  Python's threads share one core: the second reads while the first works
--disk_size_gb=50                   the look-up tables are copied to each machine once
--enable_hot_key_logging            names hot keys; none are expected, because keys of the data are grouped only to take
                                    the smallest hashes, which workers combine before the shuffle
--no_save_main_session              workers import the package, so the launching script has nothing to save
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from wikianchor.io.errors import UsageError

# https://cloud.google.com/dataflow/docs/reference/rest/v1b3/projects.jobs, and the rules for labels of Google Cloud.
_JOB_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL = re.compile(r"[a-z][-_a-z0-9]{0,62}=[-_a-z0-9]{0,63}")
_MACHINE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
_DEFAULTS = (
    "--machine_type=n2-highmem-2",
    "--number_of_worker_harness_threads=2",
    "--disk_size_gb=50",
    "--enable_hot_key_logging",
    "--no_save_main_session",
)
_MEMORY = {"highmem": 8.0, "standard": 4.0, "highcpu": 1.0}
# Other names of the same flags.
_SYNONYMS = {"--machine_type": "--worker_machine_type", "--no_save_main_session": "--save_main_session"}
# The resource hint of the step that runs a model.
ACCELERATOR = "type:nvidia-l4;count:1;install-nvidia-driver"


def is_dataflow(runner: str | None) -> bool:
    """Return whether a runner is Dataflow's."""
    return (runner or "").lower() in ("dataflowrunner", "dataflow")


def machine_type(options: Any) -> str:
    """Return the type of Dataflow's machines that Beam's options or our defaults choose, "" for another runner."""
    given = options.get_all_options()
    if not is_dataflow(given.get("runner")):
        return ""
    return str(given.get("machine_type") or _DEFAULTS[0].partition("=")[2])


def memory_per_vcpu(machine: str) -> float | None:
    """Return the GB of memory for each vCPU of a predefined machine type, None for any other.

    >>> memory_per_vcpu("n2-highmem-2"), memory_per_vcpu("n2-custom-4-8192")
    (8.0, None)
    """
    # https://cloud.google.com/compute/docs/general-purpose-machines; n1 and e2 differ by less than a fifth.
    return next((memory for family, memory in _MEMORY.items() if f"-{family}-" in machine), None)


def with_defaults(args: Sequence[str], dataset: str, wiki: str | None) -> list[str]:
    """Return the flags for Beam, and the defaults of those that the user has not given."""
    given = {arg.split("=")[0] for arg in args}
    defaults = (f"--job_name={job_name(dataset, wiki)}", f"--labels=wikianchor={dataset}", *_DEFAULTS)
    flags = {default.split("=")[0]: default for default in defaults}
    return [*args, *(flag for name, flag in flags.items() if name not in given and _SYNONYMS.get(name) not in given)]


def job_name(dataset: str, wiki: str | None) -> str:
    """Return a name for the job of a stage that is valid on Dataflow."""
    return re.sub("[^a-z0-9]+", "-", "-".join(filter(None, ("wikianchor", dataset, wiki))).lower())[:63].strip("-")


def check(options: Any, output: str) -> None:
    """Check options that Dataflow itself checks only after its machines have started, or never.

    Raises:
        UsageError: an option is missing or wrong.
    """
    given = options.get_all_options()
    name, machine = given["job_name"], given["machine_type"]
    if not _JOB_NAME.fullmatch(name):
        raise UsageError(f"--job_name={name}: lower-case letters, digits and hyphens, at most 63, a letter first")
    for label in given["labels"] or ():
        if not _LABEL.fullmatch(label):
            raise UsageError(
                f"--labels={label}: write key=value in lower-case letters, digits, hyphens and underscores"
            )
    if not _MACHINE.fullmatch(machine):
        raise UsageError(f"--machine_type={machine} is no type of machine: write one like n2-highmem-2")
    if not given["region"]:
        raise UsageError("--region is missing: where Dataflow runs, such as --region=europe-west4")
    if "://" not in output:
        raise UsageError(
            f"--output={output}: Dataflow's machines do not see this disk: name a place in a bucket, gs://..."
        )
    if given["save_main_session"]:
        raise UsageError("--save_main_session: there is nothing to save, and it can fail: leave it out")
