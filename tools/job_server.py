"""Put a Beam job server together out of its parts, for `make engines` where the whole one cannot be fetched.

    python tools/job_server.py flink --version=2.62.0

Maven fetches the runner and what it needs; the jar that is written names these files and starts the server. Needs
Maven and Java. The newest release whose parts are all there is often older than your Beam: the protocol between job
server and workers has not changed for years.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

LINE_BYTES = 70


class Server(NamedTuple):
    """A job server: Beam's artifact, the class that starts it, and what Beam's own list of needs leaves to the cluster,
    as group:artifact:version."""

    artifact: str
    main: str
    more: tuple[str, ...] = ()


SERVERS = {
    "flink": Server(
        "beam-runners-flink-1.19",
        "org.apache.beam.runners.flink.FlinkJobServerDriver",
        ("org.slf4j:slf4j-simple:1.7.36",),
    ),
    "spark": Server(
        "beam-runners-spark-3",
        "org.apache.beam.runners.spark.SparkJobServerDriver",
        tuple(f"org.apache.spark:spark-{part}_2.12:3.5.0" for part in ("core", "streaming", "sql")),
    ),
}
# What Spark reaches into on Java 17.
OPENED = ("lang", "lang.invoke", "net", "nio", "util", "util.concurrent")
OPENS = " ".join(
    [*(f"java.base/java.{name}" for name in OPENED), "java.base/sun.nio.ch", "java.base/sun.security.action"]
)


def main() -> None:
    """Fetch and write what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runner", choices=SERVERS)
    parser.add_argument("--version", required=True, help="of Beam")
    parser.add_argument(
        "--output",
        type=Path,
        default=os.environ.get("WIKIANCHOR_ENGINES", "out/engines"),
        help="directory (out/engines)",
    )
    found = parser.parse_args()
    server = SERVERS[found.runner]
    found.output.mkdir(parents=True, exist_ok=True)
    jars = found.output.resolve() / f"{server.artifact}-{found.version}"
    if not jars.exists():
        fetch([f"org.apache.beam:{server.artifact}:{found.version}", *server.more], jars)
    jar = found.output / f"{server.artifact}-job-server-{found.version}.jar"
    write(jar, server.main, sorted(jars.glob("*.jar")))
    print(jar)


def fetch(artifacts: Iterable[str], jars: Path) -> None:
    """Let Maven fetch artifacts and all that they need into a directory."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "pom.xml").write_text(project(artifacts))
        unfinished = jars.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={unfinished}", "-DincludeScope=runtime"]
        subprocess.run(["mvn", "--batch-mode", "--quiet", *goal], cwd=place, check=True)
        unfinished.rename(jars)


def project(artifacts: Iterable[str]) -> str:
    """Return a Maven project that needs some artifacts."""
    needs = "".join(f"<dependency>{_coordinates(artifact)}</dependency>" for artifact in artifacts)
    own = f"<modelVersion>4.0.0</modelVersion>{_coordinates('local:job-server:1')}"
    return f'<project xmlns="http://maven.apache.org/POM/4.0.0">{own}<dependencies>{needs}</dependencies></project>'


def _coordinates(artifact: str) -> str:
    names = ("groupId", "artifactId", "version")
    return "".join(f"<{name}>{escape(part)}</{name}>" for name, part in zip(names, artifact.split(":"), strict=True))


def write(jar: Path, main_class: str, jars: Iterable[Path]) -> None:
    """Write a jar that holds nothing but the names of others and of the class to start."""
    path = " ".join(one.resolve().as_uri() for one in jars)
    lines = ["Manifest-Version: 1.0", f"Main-Class: {main_class}", f"Add-Opens: {OPENS}", f"Class-Path: {path}"]
    with zipfile.ZipFile(jar, "w") as file:
        file.writestr("META-INF/MANIFEST.MF", "".join(map(folded, lines)) + "\n")


def folded(line: str) -> str:
    """Return a line of a manifest, broken as jars want it: 72 bytes at most, a blank before what goes on."""
    parts = [line[:LINE_BYTES]]
    parts += [" " + line[at : at + LINE_BYTES - 1] for at in range(LINE_BYTES, len(line), LINE_BYTES - 1)]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
