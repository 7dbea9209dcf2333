"""Let each call of the C library fail once: `python -m tests.engine.failing_calls JOB DIRECTORY ...`, with the shim in
LD_PRELOAD and FAILING_CALLS (`run_cases`).

A job runs in a copy of this process, which has its packages loaded, and one of its calls below the output directory
fails (failing_calls.c). It must end with status 1 and one line, or do without the call; the old or the new dataset must
be readable; and the same job must then make the bytes of a run without a failure. With `--kill`, the process is killed
before the call.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

import wikianchor.pipelines.entities.graph
import wikianchor.pipelines.pairs.graph
import wikianchor.pipelines.sentences.graph
from tests.dumps import export, item, json_dump, page
from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.cli.command_line import main as wikianchor
from wikianchor.pipelines.dataset.manifest import claim, commit, damaged_shard, has_leftovers, read_manifest
from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.dataset.reader import Dataset, read_batches
from wikianchor.pipelines.dataset.workspace import RECORDS, workspace_of
from wikianchor.pipelines.engine.resume import save_record

ERRORS = (errno.EIO, errno.ENOSPC, errno.EACCES)
# In place of an errno: kill the process. As in failing_calls.c.
KILL = -1
SOURCE = Path(__file__).with_suffix(".c")
SCHEMA = pa.schema([("number", pa.int64())])
_PROGRESS = re.compile(r"\d\d:\d\d:\d\d ")
_RANDOM = re.compile(r"[0-9a-f]{16,}|tmp\w+|\d+")
TEXT = "The [[Page 1]] goes around the [[Page 2]]. It is far away from the [[Page 3|star]], as everybody knows."


class Outcome(NamedTuple):
    """How a job ended whose call failed.

    Attributes:
        call: its kind and path.
        error: name of the errno, or SIGKILL.
        status: the exit status of the job.
        problem: what is wrong, or "".
    """

    call: str
    error: str
    status: int
    problem: str


def compile_shim(directory: Path) -> Path | None:
    """Return the compiled shim, or None without a compiler."""
    target = directory / "failing_calls.so"
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", target, SOURCE, "-ldl"], check=True)
    return target


def run_cases(job: str, directory: Path, *arguments: str) -> list[Outcome]:
    """Run `main` of this module in a process with the shim, and return the outcomes.

    Raises:
        FileNotFoundError: there is no compiler.
    """
    directory.mkdir(parents=True, exist_ok=True)
    shim = compile_shim(directory)
    if shim is None:
        raise FileNotFoundError("cc")
    command = [sys.executable, "-m", "tests.engine.failing_calls", job, str(directory), *arguments]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "LD_PRELOAD": str(shim), "FAILING_CALLS": str(shim), "PYTHONPATH": os.pathsep.join(
        [str(root), os.environ.get("PYTHONPATH", "")])}  # fmt: skip
    ended = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [
        Outcome(call, error, int(status), problem)
        for call, error, status, problem in (line.split("\t") for line in ended.stdout.splitlines())
    ]


def main() -> None:
    """Print a line for each case: call, error, status and problem, between tabs."""
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("job", choices=JOBS)
    flags.add_argument("directory", type=Path)
    flags.add_argument("--older", action="store_true", help="another dataset is in the output")
    flags.add_argument("--every", action="store_true", help="each call with each error, not each call site once")
    flags.add_argument("--kill", action="store_true", help="kill the process at each call from the commit on")
    flags.add_argument("--sample", type=int, default=0, help="random calls with random errors besides (0)")
    flags.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    flags.add_argument("--first", type=int, default=0, help="number of the first case")
    flags.add_argument("--step", type=int, default=1, help="take each N-th case")
    arguments = flags.parse_args()
    place = arguments.directory.resolve() / f"{arguments.job}{'-older' if arguments.older else ''}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    os.chdir(place)
    for outcome in cases(Job(JOBS[arguments.job], place, arguments.older), arguments):
        print(*outcome, sep="\t", flush=True)


class Job:
    """A job in a directory of its own, with what it makes without a failure.

    Args:
        action: makes a dataset in a directory; with `older`, another one.
        place: directory for inputs and outputs.
        older: whether an older dataset is there when it begins.
    """

    def __init__(self, action: Callable[[Path, bool], int], place: Path, older: bool) -> None:
        self._action, self._shim = action, ctypes.CDLL(os.environ["FAILING_CALLS"])
        self.output, self._old, self._errors = place / "out", place / "old", place / "stderr"
        self._log = place / "calls"
        write_inputs(place)
        # Whatever is imported when it is first used is there for all copies.
        with open(os.devnull, "w") as null, redirect_stdout(null), redirect_stderr(null):
            action(self.output, False)
        assert (self.output / "manifest.json").exists()
        if older:
            shutil.rmtree(self.output)
            assert self.run(older=True)[0] == 0, self._errors.read_text()
            self.output.rename(self._old)
            self.old_digest = digest(self._old)
        self.begin()
        with self._log.open("wb") as log:
            status, lines = self.run(0, 0, log.fileno())
        assert (status, lines) == (0, []), lines
        self.calls = self._log.read_text().splitlines()
        self.digest = digest(self.output)

    def begin(self) -> None:
        """Put the output in the state before the job."""
        shutil.rmtree(self.output, ignore_errors=True)
        if self._old.exists():
            shutil.copytree(self._old, self.output)

    def run(self, number: int = 0, error: int = 0, log: int = -1, older: bool = False) -> tuple[int, list[str]]:
        """Run the job in a copy of this process, and return its status and the lines of its stderr, without progress.

        Args:
            number: the number of the call that fails; 0 for none.
            error: its errno, or KILL.
            log: file descriptor of the list of calls.
            older: whether it makes the older dataset.
        """
        child = os.fork()
        if not child:
            status = 70
            try:
                with self._errors.open("wb") as errors, open(os.devnull, "wb") as null:
                    os.dup2(errors.fileno(), 2)
                    os.dup2(null.fileno(), 1)
                self._shim.arm(str(self.output).encode(), number, error, log)
                status = self._action(self.output, older)
            except BaseException:
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        lines = self._errors.read_text("utf-8", "replace").splitlines()
        return status, [line for line in lines if not _PROGRESS.match(line)]

    def problem(self, number: int, error: int) -> tuple[int, str]:
        """Let a call fail, and return the status of the job and what is wrong afterwards, or ""."""
        self.begin()
        status, lines = self.run(number, error)
        while error == KILL and status == 0 and number > 1:
            # How often the launcher reads the files of progress depends on time, so this run has fewer calls.
            number -= 1
            self.begin()
            status, lines = self.run(number, error)
        text = " | ".join(lines)[-300:].replace("\t", " ")
        ends = ((-signal.SIGKILL, 0),) if error == KILL else ((0, 0), (1, 1))
        if (status, len(lines)) not in ends or not all(line.startswith("wikianchor: ") for line in lines):
            return status, f"ended with {status} and {len(lines)} lines: {text}"
        if whole := self.whole(must_be_new=status == 0):
            return status, f"{whole} after: {text}"
        if again := self.run()[0]:
            return status, f"the same command ends with {again}: {self._errors.read_text()[-300:]!r} after: {text}"
        if digest(self.output) != self.digest:
            return status, f"the same command leaves other bytes, after: {text}"
        return status, ""

    def whole(self, must_be_new: bool) -> str:
        """Return what is wrong with the dataset in the output, or ""."""
        manifest = read_manifest(str(self.output))
        if manifest is None:
            return "no dataset" if must_be_new or self._old.exists() else ""
        if damaged := damaged_shard(str(self.output), manifest):
            return f"{damaged} is damaged"
        listed = {
            shard["path"]: shard["sha256"] for config in manifest["configs"].values() for shard in config["shards"]
        }
        for path, sha256 in listed.items():
            if hashlib.sha256((self.output / path).read_bytes()).hexdigest() != sha256:
                return f"{path} has other bytes"
        for config in manifest["configs"]:
            for shard in Dataset(str(self.output), manifest).shards(config):
                for _ in read_batches(shard, []) if shard.endswith(".parquet") else ():
                    pass
        present = {str(path.relative_to(self.output)) for path in self.output.glob("data/*/*")}
        return f"unlisted shards {sorted(present - set(listed))}" if must_be_new and present != set(listed) else ""


def cases(job: Job, arguments: argparse.Namespace) -> Iterator[Outcome]:
    """Yield the outcome of each case."""
    sites: dict[str, int] = {}
    for number, call in enumerate(job.calls, 1):
        sites.setdefault(_RANDOM.sub("#", call), number)
    every = [(number, error) for number in range(1, len(job.calls) + 1) for error in ERRORS]
    if arguments.every:
        chosen = every
    elif arguments.kill:
        # The commit begins with the directories of the shards.
        begin = next(number for number, call in enumerate(job.calls, 1) if " /data" in call)
        chosen = [(number, KILL) for number in range(begin, len(job.calls) + 1)]
    else:
        chosen = [(number, ERRORS[index % len(ERRORS)]) for index, number in enumerate(sites.values())]
        chosen += random.Random(arguments.seed).sample(every, arguments.sample)
    for number, error in chosen[arguments.first :: arguments.step]:
        status, problem = job.problem(number, error)
        yield Outcome(job.calls[number - 1], errno.errorcode.get(error, "SIGKILL"), status, problem)


def digest(directory: Path) -> str:
    """Return one checksum for all files and directories of a directory."""
    total = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        total.update(f"{path.relative_to(directory)}\n".encode() + (path.read_bytes() if path.is_file() else b""))
    return total.hexdigest()


def write_inputs(place: Path) -> None:
    """Write a dump and Wikidata, and what `pairs` reads."""
    for name, count in (("old", 4), ("new", 6)):
        (place / f"{name}.xml").write_bytes(export([page(f"Page {n}", n, TEXT * 3) for n in range(1, count + 1)]))
        (place / f"{name}.json").write_bytes(json_dump([item(n, {"enwiki": f"Page {n}"}) for n in range(1, count + 1)]))


def commit_job(output: Path, older: bool) -> int:
    """What a stage does with its output: parts, records, commit."""
    work, scratch, _ = workspace_of(str(output), "run", "files")
    rows = 3 if older else 5
    try:
        # As `run_stage` does.
        head = {"dataset": "rows", "schema_version": "1.0", "options": {"rows": rows}, "ledger": {}, "inputs": []}
        manifest = read_manifest(str(output), is_output=True)
        if manifest is not None and manifest["options"] == head["options"]:
            if has_leftovers(str(output)):
                with claim(str(output), "rows"):
                    pass
            return 0
        with claim(str(output), "rows", "run"):
            parts = []
            for config in ("a", "b"):
                for order in range(2):
                    with PartWriter(work, config, order, SCHEMA) as writer:
                        writer.write(pa.table({"number": list(range(rows + order))}, schema=SCHEMA))
                    assert writer.part is not None
                    parts.append(writer.part)
                save_record(f"{scratch}/{RECORDS}/write-{config}", parts)
            commit(str(output), work, parts, head)
    except (InputError, UsageError) as error:
        print(f"wikianchor: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def sentences_job(output: Path, older: bool) -> int:
    """`wikianchor sentences` in one process."""
    return wikianchor(
        [
            "sentences",
            f"--dumps={'old' if older else 'new'}.xml",
            f"--output={output}",
            "--workers=1",
            "--engine=python",
        ]
    )


def entities_job(output: Path, older: bool) -> int:
    """`wikianchor entities` in one process."""
    return wikianchor(
        [
            "entities",
            f"--wikidata={'old' if older else 'new'}.json",
            "--wikis=enwiki",
            f"--output={output}",
            "--workers=1",
        ]
    )


def pairs_job(output: Path, older: bool) -> int:
    """`wikianchor pairs` in one process, on inputs that its first run makes."""
    place = output.parent
    for job, name in ((sentences_job, "sentences"), (entities_job, "entities")):
        if not (place / name / "manifest.json").exists() and job(place / name, False):
            return 1
    options = (f"--min_links={2 if older else 1}", "--workers=1", "--negatives=0")
    inputs = (f"--sentences={place}/sentences", f"--entities={place}/entities")
    return wikianchor(["pairs", *inputs, f"--output={output}", *options])


JOBS = {"commit": commit_job, "sentences": sentences_job, "entities": entities_job, "pairs": pairs_job}

if __name__ == "__main__":
    main()
