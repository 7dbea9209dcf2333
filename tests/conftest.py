"""Fixtures for all tests: the folder of real dumps, and the command line."""

import atexit
import fcntl
import gc
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings

from tests.core_sources import core_sources
from tests.fork_server import start
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.engine.beam_import import own_process
from wikianchor.pipelines.engine.machine import raise_gc_threshold
from wikianchor.pipelines.wikimedia.core import installed_core

# Two workers of pytest with two threads each wait for one another most of the time on two cores, where the models here
# are so small that one thread is quicker anyway. Read when torch is loaded, and by every process that a test starts.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Lines of output are not broken, but where a test says how wide they are.
os.environ["COLUMNS"] = "400"
# numba would set OpenMP's threads back to the number of cores, and compiles for longer than these tests run.
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

# Tests leave nothing in the caches of their user. Workers of pytest share the first one's directory.
if "WIKIANCHOR_CACHE" not in os.environ:
    os.environ["WIKIANCHOR_CACHE"] = tempfile.mkdtemp(prefix="wikianchor-cache-")
    atexit.register(shutil.rmtree, os.environ["WIKIANCHOR_CACHE"], ignore_errors=True)

# Tests compare the core of this checkout with Python, whatever it was compared with before.
if getattr(installed_core(), "sources", None) == core_sources():
    os.environ.setdefault("WIKIANCHOR_ANY_CORE", "1")

# Beam as commands have it.
own_process()

# No test loses power; waiting for the disk would be most of the time of many of them.
os.fsync = lambda descriptor: None

# How long an example takes says more of the machine's other work than of ours.
settings.register_profile("wikianchor", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=5)
settings.load_profile("wikianchor")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that hold slow tests: one that is met at the end leaves all workers but one without work.
    Whole files, so that what a file's tests share is made once."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Spare the tests what a process of a command does not have either: searches for cycles among the objects of all
    imported packages."""
    raise_gc_threshold()
    gc.freeze()


# A line of progress, which is not what a command has to say at its end.
PROGRESS = re.compile(r"\d\d:\d\d:\d\d .*")


class Ended(NamedTuple):
    """How a command ended: its exit status, its stdout, and the lines of its stderr that tell of no progress."""

    status: int
    output: str
    said: list[str]
    progress: list[str]


@pytest.fixture
def wikianchor(capfd: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Runs a command as the user does, in this process; what anything writes to stdout and stderr is seen."""

    def run(*arguments: object) -> Ended:
        capfd.readouterr()
        status = main([str(argument) for argument in arguments])
        output, errors = capfd.readouterr()
        lines = errors.splitlines()
        progress = [line for line in lines if PROGRESS.fullmatch(line)]
        return Ended(status, output, [line for line in lines if line not in progress], progress)

    return run


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a directory that the first worker of pytest that needs it makes, and that all of them only read."""
    base = factory.getbasetemp()
    # A pytest that a test starts has the variables of its worker, but a directory of its own.
    if base.name == f"popen-{os.environ.get('PYTEST_XDIST_WORKER')}":
        base = base.parent
    with (base / f"{name}.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Not `lock.tell()`: that is where the file ended when it was opened, before another worker wrote to it.
        if os.fstat(lock.fileno()).st_size == 0:
            shutil.rmtree(base / name, ignore_errors=True)
            (base / name).mkdir()
            make(base / name)
            lock.write("made")
    return base / name


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with programs `wikianchor` and `python` that start without loading Beam (`tests/fork_server.py`)."""
    return made_once(tmp_path_factory, "beam_programs", lambda directory: start(directory, {})) / "bin"


DEMO = Path(__file__).parents[1] / "demo" / "dumps"


@pytest.fixture(scope="session")
def demo_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `wikianchor build --min_links=2` makes of the demo's dumps, to be read only; what it prints is in the file
    `printed` beside it."""

    def build(directory: Path) -> None:
        flags = ["--dumps=demo/dumps", "--output=out/demo", "--min_links=2", "--workers=1"]
        (directory / "out").mkdir()
        (directory / "demo").symlink_to(DEMO.parent)
        with pytest.MonkeyPatch.context() as patched:
            # As the tutorial shows it.
            patched.chdir(directory)
            patched.setenv("COLUMNS", "80")
            with (directory / "out" / "printed").open("w") as printed, redirect_stdout(printed):
                assert main(["build", *flags]) == 0

    return made_once(tmp_path_factory, "demo_build", build) / "out" / "demo"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder $WIKIANCHOR_DATA names; without it the tests marked `real` are skipped."""
    value = os.environ.get("WIKIANCHOR_DATA")
    if not value:
        pytest.skip("NO REAL DATA: set WIKIANCHOR_DATA to the folder with wikipedia-xml/ to check against real dumps")
    path = Path(value)
    if not path.is_dir():
        pytest.fail(f"WIKIANCHOR_DATA={value} is not a folder")
    return path
