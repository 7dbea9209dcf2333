"""What goes wrong while a stage runs, end to end: full disks, signals, deaths, two runs at once."""

import contextlib
import errno
import gc
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.dumps import export, item, json_dump, page
from wikianchor.pipelines.dataset import manifest
from wikianchor.pipelines.dataset import part_writer as parts
from wikianchor.pipelines.dataset.manifest import claim, damaged_shard, read_manifest

TEXT = "The [[Moon]] goes around the [[Earth]]. It is far away from the [[Sun|star]], as everybody knows."
WORKERS = {
    "one": [],
    "threads": ["--direct_num_workers=2", "--direct_running_mode=multi_threading"],
    "processes": ["--workers=2"],
}


def pages(count: int) -> list[bytes]:
    return [page(f"Page {number}", number, TEXT * 3) for number in range(1, count + 1)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a dump and Wikidata."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump.xml").write_bytes(export(pages(5)))
    (tmp_path / "wikidata.json").write_bytes(
        json_dump([item(number, {"enwiki": f"Page {number}"}) for number in range(1, 6)])
    )
    return tmp_path


SENTENCES = ["sentences", "--dumps=dump.xml", "--output=out"]
ENTITIES = ["entities", "--wikidata=wikidata.json", "--wikis=enwiki", "--output=out"]


def content(output: Path) -> dict[str, str]:
    """Every file with its checksum."""
    return {
        str(path.relative_to(output)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in output.rglob("*")
        if path.is_file()
    }


def check_whole(output: Path) -> None:
    manifest_read = read_manifest(str(output))
    assert manifest_read is not None
    shards = {
        shard["path"]: shard["sha256"] for config in manifest_read["configs"].values() for shard in config["shards"]
    }
    assert content(output).items() >= shards.items()
    assert content(output).keys() == {*shards, "manifest.json", "README.md"}


# --- outputs ----------------------------------------------------------------------------------------------------------


class FullDisk:
    """A file system with room for some bytes, else as the real one."""

    def __init__(self, files: Any, space: list[int]) -> None:
        self._files, self._room = files, space

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def open_output_stream(self, path: str) -> Any:
        return FullFile(self._files.open_output_stream(path), self._room)


class FullFile:
    def __init__(self, file: Any, space: list[int]) -> None:
        self._file, self._room = file, space

    def write(self, data: bytes) -> int:
        self._room[0] -= len(data)
        if self._room[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "FullFile":
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


@pytest.mark.parametrize("command", [SENTENCES, ENTITIES], ids=["sentences", "entities"])
@pytest.mark.parametrize("space", [0, 1500])
def test_a_full_disk(
    command: list[str], space: int, folder: Path, wikianchor: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first part, and in a later one; tests/engine/test_failing_calls.py has the commit."""
    left = [space]
    for module in (parts, manifest):
        real = module.filesystem
        monkeypatch.setattr(
            module, "filesystem", lambda path, real=real: (FullDisk(real(path)[0], left), real(path)[1])
        )
    ended = wikianchor(*command)
    assert ended.status == 1
    assert len(ended.said) == 1
    assert ended.said[0].startswith("wikianchor: out")
    assert ended.said[0].endswith(": the disk is full: free some space and run the same command again")
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert read_manifest("out") is None
    assert wikianchor(*command).status == 0
    check_whole(folder / "out")
    assert not (folder / "out" / "_unfinished").exists()


@contextlib.contextmanager
def mounted(directory: Path, *arguments: str) -> Iterator[None]:
    """A file system of our own, where the machine lets us have one."""
    directory.mkdir()
    try:
        done = subprocess.run(["mount", *arguments, directory], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("no mount")
    if done.returncode:
        pytest.skip("may not mount")
    try:
        yield
    finally:
        # Files that are still mapped would keep it busy.
        gc.collect()
        subprocess.run(["umount", directory], check=True)


def test_a_disk_that_is_really_full(folder: Path, wikianchor: Callable) -> None:
    noise = random.Random(1)
    words = ["".join(noise.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(20_000)]
    texts = [" ".join(words[first : first + 10]) for first in range(0, len(words), 10)]
    (folder / "dump.xml").write_bytes(export(page(f"P{n}", n, f"Here {text}.") for n, text in enumerate(texts, 1)))
    with mounted(folder / "disk", "-t", "tmpfs", "-o", "size=64k", "none"):
        ended = wikianchor("sentences", "--dumps=dump.xml", "--output=disk/out")
        assert ended.status == 1
        assert len(ended.said) == 1
        assert ended.said[0].startswith("wikianchor: disk/out/")
        assert ended.said[0].endswith(": the disk is full: free some space and run the same command again")
        # The finished step is kept for the next run, and nothing of the one that failed.
        left = content(folder / "disk")
        assert all(name.startswith("out/_unfinished/") for name in left)
        assert not [name for name in left if "/sentences-" in name or "/titles-" in name or "/ledger-" in name]


def test_a_disk_that_may_only_be_read(folder: Path, wikianchor: Callable) -> None:
    with mounted(folder / "disk", "-t", "tmpfs", "-o", "ro", "none"):
        ended = wikianchor("sentences", "--dumps=dump.xml", "--output=disk/out")
        assert (ended.status, ended.said) == (
            1, ["wikianchor: disk/out: cannot be written (the file system is read-only): choose another --output"]
        )  # fmt: skip


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission(folder: Path, wikianchor: Callable) -> None:
    (folder / "mine").mkdir(mode=0o500)
    ended = wikianchor("sentences", "--dumps=dump.xml", "--output=mine/out")
    assert (ended.status, ended.said) == (
        1, ["wikianchor: mine/out: cannot be written (permission denied): choose another --output"]
    )  # fmt: skip


def test_an_input_without_permission(folder: Path, wikianchor: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    ended = wikianchor(*SENTENCES)
    monkeypatch.undo()
    assert (ended.status, ended.said) == (
        1, ["wikianchor: dump.xml: cannot be read (Permission denied): check the path and the disk"]
    )  # fmt: skip


@pytest.mark.parametrize("output", ["/proc/out", "dump.xml/out", "dump.xml"])
def test_an_output_that_cannot_be(output: str, folder: Path, wikianchor: Callable) -> None:
    ended = wikianchor("sentences", "--dumps=dump.xml", f"--output={output}")
    assert ended.status == (2 if output == "dump.xml" else 1)
    assert len(ended.said) == 1
    assert output in ended.said[0]
    assert sorted(content(folder)) == ["dump.xml", "wikidata.json"]


def test_an_output_that_holds_something_else(folder: Path, wikianchor: Callable) -> None:
    for name in ("photos/a.jpg", "mine/data/b.csv", "repo/README.md"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("precious")
    assert wikianchor(*ENTITIES).status == 0
    before = content(folder)
    for output, named in (("photos", "a.jpg"), ("mine", "data/b.csv"), ("repo", "README.md"), ("out", "'entities'")):
        ended = wikianchor("sentences", "--dumps=dump.xml", f"--output={output}")
        assert ended.status == 2
        assert len(ended.said) == 1
        assert ended.said[0].startswith(f"wikianchor: --output={output} holds ")
        assert named in ended.said[0]
    assert content(folder) == before


# --- running again ----------------------------------------------------------------------------------------------------


def test_what_is_done_is_skipped(folder: Path, wikianchor: Callable) -> None:
    for command in (SENTENCES, ["entities", "--wikidata=wikidata.json", "--wikis=enwiki", "--output=items"]):
        assert wikianchor(*command).status == 0
    before, times = content(folder), {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    for command, output in ((SENTENCES, "out"), ([*ENTITIES[:-1], "--output=items"], "items")):
        ended = wikianchor(*command)
        assert (ended.status, ended.said) == (0, [])
        assert [line[9:] for line in ended.progress] == [f"{output}: up to date, skipped"]
    assert content(folder) == before
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == times


def test_another_option_or_input_makes_it_again_and_the_way_back_gives_the_same_bytes(
    folder: Path, wikianchor: Callable
) -> None:
    assert wikianchor(*SENTENCES).status == 0
    first = content(folder / "out")
    assert wikianchor(*SENTENCES, "--allow_truncated").status == 0
    manifest_read = read_manifest("out")
    assert manifest_read is not None
    assert manifest_read["options"]["allow_truncated"] is True
    assert wikianchor(*SENTENCES).status == 0
    assert content(folder / "out") == first
    (folder / "dump.xml").write_bytes(export(pages(6)))
    assert wikianchor(*SENTENCES).status == 0
    manifest_read = read_manifest("out")
    assert manifest_read is not None
    assert manifest_read["configs"]["titles"]["rows"] == 6
    check_whole(folder / "out")


def test_a_new_command_that_fails_leaves_the_old_dataset_and_who_reads_it_is_warned(
    folder: Path, wikianchor: Callable
) -> None:
    assert wikianchor(*SENTENCES).status == 0
    before = content(folder / "out")
    (folder / "dump.xml").write_bytes(export(pages(6))[:-300])
    assert wikianchor(*SENTENCES).status == 1
    assert content(folder / "out") == before
    assert wikianchor(*ENTITIES[:-1], "--output=items").status == 0
    ended = wikianchor("pairs", "--sentences=out", "--entities=items", "--output=pairs", "--min_links=0")
    warning = "--sentences=out: a rebuild of this dataset has not finished: the dataset that is there is used"
    assert warning in [line[9:] for line in ended.progress]


@pytest.mark.parametrize(
    "arguments",
    [
        [*SENTENCES, "--splitter=none"],
        [*SENTENCES, "--allow_truncated", "--bogus"],
        [*SENTENCES, "--allow_truncated", "--direct_num_workers=x"],
        [*SENTENCES, "--allow_truncated", "--runner=Bogus"],
        [*SENTENCES, "--bogus"],
        ["sentences", "--dumps=none.xml", "--output=out"],
        ["sentences", "--dumps=wikidata.json", "--output=out"],
        ["sentences", "--dumps=dump.xml", "--wikis=dewiki", "--output=out", "--runner=DataflowRunner"],
        ["entities", "--wikidata=wikidata.json", "--wikis=enwiki", "--output=out"],
    ],
)
def test_a_command_that_is_wrong_from_the_start_leaves_the_old_dataset(
    arguments: list[str], folder: Path, wikianchor: Callable
) -> None:
    assert wikianchor(*SENTENCES).status == 0
    before = content(folder)
    ended = wikianchor(*arguments)
    assert ended.status in (1, 2)
    assert len(ended.said) == 1
    assert content(folder) == before


@pytest.mark.parametrize("how", ["gone", "shorter", "all gone"])
def test_a_dataset_whose_shards_are_gone_is_not_done(how: str, folder: Path, wikianchor: Callable) -> None:
    assert wikianchor(*SENTENCES).status == 0
    before = content(folder / "out")
    (shard,) = (folder / "out/data/titles").iterdir()
    if how == "shorter":
        shard.write_bytes(shard.read_bytes()[:-1])
    else:
        shard.unlink()
    if how == "all gone":
        shard.parent.rmdir()
    ended = wikianchor(*SENTENCES)
    assert (ended.status, ended.said) == (0, [])
    assert f"{shard.name}: missing or damaged" in ended.progress[0]
    assert content(folder / "out") == before


def test_leftovers_of_a_killed_run_go_even_where_all_was_done(folder: Path, wikianchor: Callable) -> None:
    assert wikianchor(*SENTENCES).status == 0
    (folder / "out" / "_unfinished").mkdir()
    (folder / "out" / "_unfinished" / "titles-000000-x.parquet").write_text("x")
    (folder / "out" / "_lock").touch()
    ended = wikianchor(*SENTENCES)
    assert (ended.status, ended.said) == (0, [])
    assert "skipped" in ended.progress[0]
    check_whole(folder / "out")


def test_two_runs_on_one_output(folder: Path, wikianchor: Callable) -> None:
    with claim("out", "sentences"):
        ended = wikianchor(*SENTENCES)
    assert (ended.status, ended.said) == (
        2,
        ["wikianchor: --output=out: another run is writing there: wait for it, or name another directory"],
    )
    assert wikianchor(*SENTENCES).status == 0


def test_a_run_that_waited_while_another_made_the_dataset_takes_that(
    folder: Path, wikianchor: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wikianchor(*SENTENCES).status == 0
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    real, calls = manifest.read_manifest, []

    def read(directory: str, is_output: bool = False) -> Any:
        calls.append(directory)
        return None if len(calls) == 1 else real(directory, is_output)

    monkeypatch.setattr("wikianchor.pipelines.engine.stage.read_manifest", read)
    ended = wikianchor(*SENTENCES)
    assert (ended.status, ended.said) == (0, [])
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")} == before


# --- signals and deaths -----------------------------------------------------------------------------------------------


# Who runs the tests in the background of a shell has SIGINT ignored, and what is started inherits that.
COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from wikianchor.pipelines.cli.command_line import main
raise SystemExit(main())
"""


def start(python: Path, *arguments: str, before: str = "", **variables: str) -> "subprocess.Popen[str]":
    """Start the command as a user does, apart from this process and its signals; `before` is code that runs first."""
    return subprocess.Popen(
        [python, "-c", before + COMMAND, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), **variables},
    )


def wait_for(there: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    end = time.monotonic() + 30
    while not there():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.fixture(scope="module")
def long_export() -> bytes:
    return export(pages(15_000))


@pytest.fixture
def long_dump(folder: Path, long_export: bytes) -> Path:
    """A dump that takes some seconds."""
    (folder / "dump.xml").write_bytes(long_export)
    return folder


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """A directory for the temporary files of a command, of which none may be left."""
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def said(errors: str) -> list[str]:
    """Return the lines of a command but those of its progress, to which a slow machine comes."""
    return [line for line in errors.splitlines() if not re.match(r"\d\d:\d\d:\d\d sentences ", line)]


@pytest.mark.parametrize(
    ("workers", "number"),
    [
        ("one", signal.SIGINT),
        ("one", signal.SIGTERM),
        ("threads", signal.SIGINT),
        ("processes", signal.SIGTERM),
    ],
)
def test_an_interrupt_ends_a_run_at_once(
    workers: str, number: int, long_dump: Path, temporary: Path, programs: Path
) -> None:
    process = start(programs / "python", *SENTENCES, *WORKERS[workers], TMPDIR=str(temporary))
    wait_for(lambda: list(long_dump.glob("out/_unfinished/*")), process)
    process.send_signal(number)
    sent = time.monotonic()
    errors = process.communicate(timeout=20)[1]
    assert time.monotonic() - sent < 5
    assert process.returncode == 130
    assert said(errors) == [INTERRUPTED]
    assert read_manifest("out") is None
    assert list(temporary.iterdir()) == []
    if workers == "one":
        # Only the records of steps that are finished stay for the next run.
        assert {name.split("/")[0] for name in content(long_dump / "out")} <= {"_unfinished"}
        assert {name.split("/")[2] for name in content(long_dump / "out")} <= {"finished", "progress"}


INTERRUPTED = "wikianchor: interrupted; what was finished stays, run the same command again to go on"


@contextlib.contextmanager
def store_that_falls_silent() -> Iterator[tuple[int, threading.Event]]:
    """A store that answers HEAD and nothing else: its port, and whether another request has come."""
    silent = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(200)
            self.end_headers()

        def do_GET(self) -> None:
            silent.set()
            time.sleep(60)

        def log_message(self, *given: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.block_on_close = True, False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, silent
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("signals", "most"), [([signal.SIGINT], 5), ([signal.SIGTERM], 5), ([signal.SIGINT] * 2, 2)])
def test_an_interrupt_ends_a_command_that_waits_for_a_store(signals: list[int], most: float, programs: Path) -> None:
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    with store_that_falls_silent() as (port, silent):
        process = start(
            programs / "python", "verify", "s3://bucket/out", AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", **keys
        )
        assert silent.wait(30)
        sent = time.monotonic()
        for number in signals:
            process.send_signal(number)
            time.sleep(0.5)
        errors = process.communicate(timeout=20)[1]
        assert time.monotonic() - sent < most
    assert process.returncode == 130
    assert errors.splitlines() == [INTERRUPTED]


def command_that(body: str) -> str:
    """Return code that makes `wikianchor verify` run a function of ours, in which `place` is its first argument."""
    return f"""
import contextlib, os, signal, sys, threading, time
from wikianchor.pipelines.commands.verify import command as verify
from wikianchor.pipelines.engine import interrupt
def run(config, beam_args):
    place = sys.argv[2]
{textwrap.indent(body, "    ")}
verify.run = run
"""


READY = """
open(place + "/ready", "w").close()
while True:
    time.sleep(0.1)
"""


def interrupted(python: Path, folder: Path, body: str, number: int) -> tuple[float, int, str]:
    """Interrupt a command that runs some code, and return how long it took to end, its status and its stderr."""
    process = start(python, "verify", str(folder), before=command_that(body))
    wait_for((folder / "ready").exists, process)
    process.send_signal(number)
    sent = time.monotonic()
    errors = process.communicate(timeout=40)[1]
    return time.monotonic() - sent, process.returncode, errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_a_command_whose_library_keeps_it_to_itself(
    number: int, tmp_path: Path, programs: Path
) -> None:
    body = """
from wikianchor.pipelines.engine.progress import Progress
sys.stderr.isatty = lambda: True
bars = Progress().__enter__()
bars.begin("work", 100)
bars.advance("work", 50)
signal.signal(signal.SIGINT, lambda *given: None)
with contextlib.suppress(KeyboardInterrupt):
"""
    body += textwrap.indent(READY, "    ") + READY
    took, status, errors = interrupted(programs / "python", tmp_path, body, number)
    assert status == 130
    assert 2 < took < 5
    assert errors.endswith("\x1b[F\x1b[K" + INTERRUPTED + "\n"), errors
    assert errors.count(INTERRUPTED) == 1


SERVER = """
from apache_beam.runners.portability.job_server import StopOnExitJobServer
def note(line):
    with open(place + "/notes", "a") as file:
        file.write(line + chr(10))
class Server:
    def start(self):
        return "localhost:1"
    def stop(self):
        note("server stopped")
StopOnExitJobServer(Server()).start()
"""
JOB = """
def cancel():
    note("cancelling")
    time.sleep(4)
    note("cancelled")
with interrupt.cancelling(cancel):
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_cancels_a_job_before_its_server_stops(number: int, tmp_path: Path, programs: Path) -> None:
    body = SERVER + JOB + textwrap.indent(READY, "    ")
    _, status, errors = interrupted(programs / "python", tmp_path, body, number)
    assert (status, errors) == (130, INTERRUPTED + "\n")
    assert (tmp_path / "notes").read_text().split("\n") == ["cancelling", "cancelled", "server stopped", ""]


def test_an_interrupt_cancels_a_job_while_the_main_thread_hangs(tmp_path: Path, programs: Path) -> None:
    hang = """
    from pyarrow import fs
    threading.Timer(1, lambda: open(place + "/ready", "w").close()).start()
    files, _ = fs.FileSystem.from_uri("gs://anonymous@bucket?scheme=http&endpoint_override=127.0.0.1:9")
    files.get_file_info("bucket")
"""
    body = SERVER + JOB + hang
    took, status, errors = interrupted(programs / "python", tmp_path, body, signal.SIGINT)
    assert (status, errors) == (130, INTERRUPTED + "\n")
    assert (tmp_path / "notes").read_text().split("\n")[:2] == ["cancelling", "cancelled"]
    assert 6.5 < took < 10


def test_a_job_that_cannot_be_cancelled_is_reported(tmp_path: Path, programs: Path) -> None:
    body = JOB.replace('note("cancelling")', 'raise OSError("no route to host")')
    body += textwrap.indent(READY, "    ")
    took, status, errors = interrupted(programs / "python", tmp_path, body, signal.SIGINT)
    assert status == 130
    assert took < 5
    assert [line[9:] if line[2] == ":" else line for line in errors.splitlines()] == [
        "the job may still run: cancelling it failed (no route to host)", INTERRUPTED
    ]  # fmt: skip


def test_a_signal_of_a_forked_child_is_its_own(tmp_path: Path, programs: Path) -> None:
    body = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
child = os.fork()
if not child:
    with contextlib.suppress(KeyboardInterrupt):
        time.sleep(60)
    os._exit(7)
time.sleep(0.5)
os.kill(child, signal.SIGTERM)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
time.sleep(4)
"""
    process = start(programs / "python", "verify", str(tmp_path), before=command_that(body))
    assert process.communicate(timeout=40)[1] == ""
    assert process.returncode == 0


def test_worker_processes_end_with_a_killed_launcher(long_dump: Path, temporary: Path) -> None:
    process = start(Path(sys.executable), *SENTENCES, *WORKERS["processes"], TMPDIR=str(temporary))
    wait_for(lambda: list(long_dump.glob("out/_unfinished/*")), process)
    process.kill()
    # stderr is theirs too: it ends when the last of them has ended.
    assert said(process.communicate(timeout=10)[1]) == []
    assert list(temporary.iterdir()) == []


def test_threads_write_the_same(folder: Path, wikianchor: Callable) -> None:
    for output, workers in (("one", WORKERS["one"]), ("two", WORKERS["threads"])):
        ended = wikianchor("sentences", "--dumps=dump.xml", f"--output={output}", *workers)
        assert (ended.status, ended.said) == (0, [])
    assert content(folder / "one") == content(folder / "two")


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_workers_say_no_more_than_one_line(workers: str, folder: Path, programs: Path) -> None:
    (folder / "dump.xml").write_bytes(export(pages(5))[:-300])
    process = start(programs / "python", *SENTENCES, *WORKERS[workers])
    lines = said(process.communicate(timeout=180)[1])
    assert process.returncode == 1
    assert len(lines) == 1
    assert lines[0].startswith("wikianchor: dump.xml: cut off inside the page 'Page 5' near byte ")
    assert content(folder / "out") == {}


# A run in a child process that is killed after some time, many times over: importing Beam once makes that cheap.
KILLED = """
import os, signal, sys, time
import apache_beam
from wikianchor.pipelines.engine import stage
from wikianchor.pipelines.sentences import graph
from wikianchor.pipelines.cli.command_line import main
command, delays = sys.argv[1].split(), [float(part) for part in sys.argv[2].split(",")]
for delay in delays:
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        if delay:
            signal.setitimer(signal.ITIMER_REAL, delay)
        os._exit(main(command))
    status = os.waitpid(child, 0)[1]
    print(os.WIFSIGNALED(status), os.path.exists("out/manifest.json"), flush=True)
"""


def killed(command: list[str], delays: list[float]) -> list[tuple[bool, bool]]:
    """Run a command once for each delay, killed after it, and say of each whether it died and left a manifest."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, " ".join(command), ",".join(map(str, delays))],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    # A run that comes to its end prints its summary besides.
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(("True ", "False "))]
    return [(first == "True", second == "True") for first, second in lines]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_moment_and_run_again(folder: Path, wikianchor: Callable) -> None:
    assert wikianchor(*SENTENCES).status == 0
    expected = content(folder / "out")
    for path in sorted((folder / "out").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    # Each run finds what the one before it left; as soon as one comes to its end, the rest have nothing to do.
    ends = killed(SENTENCES, [0.05 + 0.03 * number for number in range(12)])
    assert any(died for died, _ in ends)
    if read_manifest("out") is not None:
        manifest_read = read_manifest("out")
        assert manifest_read is not None
        assert damaged_shard("out", manifest_read) is None
    ended = wikianchor(*SENTENCES)
    assert (ended.status, ended.said) == (0, [])
    assert content(folder / "out") == expected


# --- the terminal -----------------------------------------------------------------------------------------------------


def test_a_reader_that_has_had_enough_is_no_error(folder: Path, wikianchor: Callable, programs: Path) -> None:
    assert wikianchor(*SENTENCES).status == 0
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [programs / "python", "-c", COMMAND, "report", "out"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (process.returncode, process.stderr) == (1, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_report_onto_a_full_disk(folder: Path, wikianchor: Callable, programs: Path) -> None:
    assert wikianchor(*SENTENCES).status == 0
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [programs / "python", "-c", COMMAND, "report", "out"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert process.returncode == 1
    assert len(process.stderr.splitlines()) == 1
    assert "No space left on device" in process.stderr


def test_a_manifest_says_what_was_read(folder: Path, wikianchor: Callable) -> None:
    assert wikianchor(*SENTENCES).status == 0
    manifest_read = json.loads((folder / "out" / "manifest.json").read_text())
    data = (folder / "dump.xml").read_bytes()
    assert manifest_read["inputs"] == [{"path": "dump.xml", "bytes": len(data), "sha1": hashlib.sha1(data).hexdigest()}]


# --- what Beam says ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            RuntimeError("Unable to fetch remote job server jar at https://repo/a.jar: HTTP Error 404: Not Found."),
            "https://repo/a.jar: Beam cannot fetch it: fetch it where there is a network, and name the file with "
            "--flink_job_server_jar or --spark_job_server_jar",
        ),
        (RuntimeError("Service failed to start up with error 1"), "the job server ended when it was started: .*"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "java"), "java: not installed, .*"),
    ],
)
def test_a_job_server_that_cannot_be_had(
    error: Exception, said: str, folder: Path, wikianchor: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*some: object) -> None:
        raise error

    monkeypatch.setattr("wikianchor.pipelines.engine.stage.run_apart", fail)
    ended = wikianchor(*SENTENCES)
    assert ended.status == 1
    assert len(ended.said) == 1
    assert re.fullmatch(f"wikianchor: {said}", ended.said[0])


def test_the_manifest_of_an_output_that_cannot_be_read(
    folder: Path, wikianchor: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a directory of somebody else's; pyarrow states the reason in its text alone."""

    def refuse(*some: object) -> None:
        raise OSError("Failed stat()ing path 'out'. Detail: [errno 13] Permission denied")

    monkeypatch.setattr(
        "wikianchor.pipelines.dataset.manifest.filesystem",
        lambda path: (type("F", (), {"get_file_info": refuse})(), path),
    )
    ended = wikianchor(*SENTENCES)
    assert (ended.status, ended.said) == (
        1, ["wikianchor: out: cannot be written (permission denied): choose another --output"]
    )  # fmt: skip
