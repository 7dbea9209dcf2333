"""The engines that a graph is run on: each a context that starts what it needs, yields the flags, and ends it.

What an engine needs that is not in a Python environment (a Go toolchain, jars) is fetched to $WIKIANCHOR_ENGINES or
`out/engines`, once; where that cannot be had the test is skipped with the reason.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
JARS = "https://repo.maven.apache.org/maven2/org/apache/beam"
PATIENCE_SECONDS = 60
# Given a directory of its own, the context that yields Beam's flags.
Start = Callable[[Path], AbstractContextManager[list[str]]]


@dataclass(frozen=True)
class Engine:
    """A way to run a graph.

    Attributes:
        start: what starts and ends it.
        nightly: it takes longer, or needs what is fetched: `make engines`.
        here: its workers are threads of this process, with its packages and with what a test has changed.
    """

    start: Start
    nightly: bool = False
    here: bool = True


def flags(*given: str) -> Start:
    """An engine that needs nothing started."""

    @contextmanager
    def start(directory: Path) -> Iterator[list[str]]:
        yield list(given)

    return start


@contextmanager
def job_service(directory: Path) -> Iterator[list[str]]:
    """Beam's job service in a process of its own, with the workers in ours."""
    module, port_file = "apache_beam.runners.portability.local_job_service_main", directory / "port"
    with process(directory, sys.executable, "-m", module, "--port=0", f"--port_file={port_file}"):
        until(lambda: port_file.exists() and port_file.read_text().strip() != "", "the job service to start")
        endpoint = f"--job_endpoint=localhost:{port_file.read_text().strip()}"
        yield ["--runner=PortableRunner", endpoint, "--environment_type=LOOPBACK", "--shuffle=files"]


@contextmanager
def worker_pool(directory: Path) -> Iterator[list[str]]:
    """Workers in a fresh environment that holds the built wheel and nothing of this one: what a cluster's are like."""
    with pool_of_workers(directory) as flags:
        yield ["--runner=PortableRunner", "--job_endpoint=embed", "--shuffle=beam", *flags]


@contextmanager
def pool_of_workers(directory: Path) -> Iterator[list[str]]:
    """A worker pool, and the flags that send work to it."""
    python = clean_environment(directory)
    port = free_port()
    # A pool starts its workers by the name `python`.
    surroundings = {"PATH": f"{python.parent}:{os.environ['PATH']}", "HOME": str(directory)}
    module = "apache_beam.runners.worker.worker_pool_main"
    with process(directory, str(python), "-m", module, f"--service_port={port}", environment=surroundings):
        until(lambda: answers(port), "the worker pool to start")
        yield ["--environment_type=EXTERNAL", f"--environment_config=localhost:{port}"]


@contextmanager
def prism(directory: Path) -> Iterator[list[str]]:
    """Beam's runner written in Go, of the same version."""
    release = version("apache-beam")
    binary = fetched() / f"prism-{release}" / "prism"
    if not binary.exists():
        go = shutil.which("go") or pytest.skip("NO GO: Prism is built by a Go toolchain")
        build = [go, "install", f"github.com/apache/beam/sdks/v2/go/cmd/prism@v{release}"]
        made = subprocess.run(
            build,
            env={**os.environ, "GOBIN": str(binary.parent), "GOFLAGS": "-mod=mod"},
            capture_output=True,
            text=True,
        )
        if made.returncode:
            pytest.skip(f"NO PRISM: {' '.join(build)}: {made.stderr[-300:]}")
    yield ["--runner=PrismRunner", f"--prism_location={binary}"]


def jar_engine(
    runner: str, artifact: str, flag: str, *more: str
) -> Callable[[Path], AbstractContextManager[list[str]]]:
    """An engine of Java that its job server starts inside itself, with the workers in our process."""

    @contextmanager
    def start(directory: Path) -> Iterator[list[str]]:
        if not shutil.which("java"):
            pytest.skip("NO JAVA: the job servers of Flink and Spark need one")
        jar = job_server(artifact)
        yield [f"--runner={runner}", f"--{flag}={jar}", "--environment_type=LOOPBACK", *more]

    return start


FLINK_JAR, SPARK_JAR = "beam-runners-flink-1.20-job-server", "beam-runners-spark-3-job-server"
# Started without Flink's own scripts, a TaskManager is told each share of its memory.
FLINK_MEMORY = {
    "framework.heap": "128m",
    "framework.off-heap": "128m",
    "task.heap": "256m",
    "task.off-heap": "0",
    "managed": "64m",
    "jvm-metaspace": "256m",
}


@contextmanager
def flink_cluster(directory: Path) -> Iterator[list[str]]:
    """A JobManager and a TaskManager of Flink on this machine, out of the job server's jar, and a worker pool beside
    it. One TaskManager: two would ask the pool for a worker of the same name."""
    if not shutil.which("java"):
        pytest.skip("NO JAVA: Flink needs one")
    jar, rpc, rest = job_server(FLINK_JAR), free_port(), free_port()
    sizes = {f"taskmanager.memory.{name}.size": size for name, size in FLINK_MEMORY.items()}
    for name, size in (("network", "256m"), ("jvm-overhead", "128m")):
        sizes |= {f"taskmanager.memory.{name}.{end}": size for end in ("min", "max")}
    settings = {
        "jobmanager.rpc.address": "localhost",
        "jobmanager.rpc.port": rpc,
        "rest.address": "localhost",
        "rest.port": rest,
        "taskmanager.host": "localhost",
        "taskmanager.numberOfTaskSlots": 2,
        "taskmanager.cpu.cores": 2.0,
        "taskmanager.resource-id": "only",
        # The classes of the jar are there already; a second set of them would not fit the first.
        "classloader.resolve-order": "parent-first",
        # Each shuffle of a batch job asks for 512 buffers else, and `pairs` has some dozens.
        "taskmanager.network.sort-shuffle.min-buffers": 16,
        "io.tmp.dirs": directory,
        **sizes,
    }
    for name in ("flink-conf.yaml", "config.yaml"):
        (directory / name).write_text("".join(f"{key}: {value}\n" for key, value in settings.items()))
    java, entry = ["java", "-Xmx1g", "-cp", str(jar)], "org.apache.flink.runtime"
    job_manager = [*java, f"{entry}.entrypoint.StandaloneSessionClusterEntrypoint", "--configDir", str(directory)]
    task_manager = [*java, f"{entry}.taskexecutor.TaskManagerRunner", "--configDir", str(directory)]
    homes = [directory / name for name in ("manager", "tasks", "workers")]
    for home in homes:
        home.mkdir()
    with process(homes[0], *job_manager), process(homes[1], *task_manager), pool_of_workers(homes[2]) as flags:
        until(lambda: slots(rest) == 2, "Flink to have its slots")
        flink_flags = ["--runner=FlinkRunner", f"--flink_job_server_jar={jar}", f"--flink_master=localhost:{rest}"]
        yield [*flink_flags, "--parallelism=2", *flags]


def slots(port: int) -> int:
    """Return how many slots a Flink has, 0 where none answers."""
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/overview", timeout=5) as answer:
            return int(json.load(answer)["slots-total"])
    except (OSError, ValueError):
        return 0


EMBEDDED = (
    *("--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=LOOPBACK"),
    # Beam would run `pip freeze` for each pipeline.
    "--experiments=disable_logging_submission_environment",
)
THREADS = ("--direct_num_workers=3", "--direct_running_mode=multi_threading", "--direct_runner_bundle_repeat=1")
ENGINES = {
    # Tests of each stage have it in threads.
    "threads, bundles repeated": Engine(flags(*THREADS), nightly=True),
    # `test_workers_share.py` has each stage on two processes, `test_faults.py` their line for what is broken.
    "processes": Engine(flags("--workers=2"), nightly=True, here=False),
    "portable": Engine(flags(*EMBEDDED, "--shuffle=beam")),
    "worker pool": Engine(worker_pool, nightly=True, here=False),
    "job service": Engine(job_service, nightly=True),
    "prism": Engine(prism, nightly=True),
    "flink": Engine(jar_engine("FlinkRunner", FLINK_JAR, "flink_job_server_jar", "--parallelism=2"), nightly=True),
    "flink cluster": Engine(flink_cluster, nightly=True, here=False),
    "spark": Engine(jar_engine("SparkRunner", SPARK_JAR, "spark_job_server_jar"), nightly=True),
}


def fetched() -> Path:
    """Where what was fetched or built for engines is kept."""
    return Path(os.environ.get("WIKIANCHOR_ENGINES", ROOT / "out/engines"))


def job_server(artifact: str) -> Path:
    """Return a job server's jar: the newest one of the runner that is kept locally (the newest Beam first, then the
    newest Flink), else that of the installed Beam from Maven Central."""
    release = version("apache-beam")
    runner = "-".join(artifact.split("-")[:3])
    kept = [(numbers(path.stem), path) for path in fetched().glob(f"{runner}-*job-server-*.jar")]
    if kept:
        return max(kept)[1]
    jar = fetched() / f"{artifact}-{release}.jar"
    url = f"{JARS}/{artifact}/{release}/{jar.name}"
    jar.parent.mkdir(parents=True, exist_ok=True)
    unfinished = jar.with_suffix(".part")
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer, unfinished.open("wb") as file:
            shutil.copyfileobj(answer, file)
    except (urllib.error.URLError, TimeoutError) as error:
        pytest.skip(f"NO JAR: {url}: {error}")
    unfinished.rename(jar)
    return jar


def numbers(name: str) -> tuple[list[int], ...]:
    """Return the versions in a jar's name as numbers, the last one first.

    >>> numbers("beam-runners-flink-1.19-job-server-2.70.0")
    ([2, 70, 0], [1, 19])
    """
    versions = re.findall(r"\d[\d.]*", name)
    return tuple([int(part) for part in text.split(".")] for text in reversed(versions))


def clean_environment(directory: Path, extra: str = "") -> Path:
    """Return the Python of a new environment in which the wheel of this checkout is installed, with an extra such as
    "[gcp]"."""
    source = directory / "source"
    names = ("demo", "pipelines", "schemas", "trainer", "wikianchor", "setup.py", "pyproject.toml", "README.md")
    source.mkdir()
    for name in names:
        # Not the checkout itself: a build leaves directories behind, and an old one would end up in the wheel.
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", f"--wheel-dir={directory}", str(source)], check=True, capture_output=True
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory / "venv")], check=True)
    python = directory / "venv/bin/python"
    wheel = next(directory.glob("wikianchor-*.whl"))
    # The same Beam on both sides: a job does not cross versions.
    pinned = [f"{name}=={version(name)}" for name in ("apache-beam", "pyarrow", "numpy")]
    # Most of what comes is never imported: what is gets compiled then.
    install = [*pip, f"--python={python}", "install", "--no-compile", f"{wheel}{extra}", *pinned]
    # With this checkout on its path pip would find the package there, and install none.
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(install, capture_output=True, text=True, env=surroundings)
    if done.returncode:
        pytest.skip(f"NO PACKAGES: {' '.join(install)}: {done.stderr[-300:]}")
    return python


@contextmanager
def process(
    directory: Path, *command: str, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process for the time of a block; what it says is in `log`."""
    with (directory / "log").open("wb") as log:
        started = subprocess.Popen(command, stdout=log, stderr=log, cwd=directory, env=environment)
        try:
            yield started
        finally:
            started.terminate()
            try:
                started.wait(10)
            except subprocess.TimeoutExpired:
                started.kill()
                started.wait()


def until(true: Callable[[], bool], expected: str) -> None:
    """Wait for something."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while not true():
        if time.monotonic() > ends:
            pytest.fail(f"waited {PATIENCE_SECONDS} s for {expected}")
        time.sleep(0.1)


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return int(listener.getsockname()[1])


def answers(port: int) -> bool:
    """Whether someone listens at a port of this machine."""
    with socket.socket() as listener:
        return listener.connect_ex(("localhost", port)) == 0


def unstable_keys(pipeline: Any) -> list[str]:
    """Return the names of the transforms of a pipeline that group by keys without a deterministic coder."""
    from apache_beam import GroupByKey, coders
    from apache_beam.pipeline import PipelineVisitor
    from apache_beam.typehints import typehints

    names: list[str] = []

    class Visitor(PipelineVisitor):
        def enter_composite_transform(self, node: Any) -> None:
            self.visit_transform(node)

        def visit_transform(self, node: Any) -> None:
            if isinstance(node.transform, GroupByKey):
                pair = node.inputs[0].element_type
                typed = isinstance(pair, typehints.TupleHint.TupleConstraint) and len(pair.tuple_types) == 2
                key = pair.tuple_types[0] if typed else typehints.Any
                if not coders.registry.get_coder(key).is_deterministic():
                    names.append(node.full_label)

    pipeline.visit(Visitor())
    return names
