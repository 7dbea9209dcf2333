"""Build a Beam job server from its parts, for `make engines` where Maven Central does not give the complete jar.

    python tools/job_server.py flink --version=2.70.0 --pin=org.apache.beam:beam-runners-java-job-service:2.65.0

Maven downloads the runner and its dependencies; the jar that is written refers to these files and starts the server.
Needs Maven and Java. `--pin` replaces the version of one dependency, which helps where a repository holds only some
versions of it. The server may be older than your Beam: the protocol between job server and workers is stable.
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
    """A job server.

    Attributes:
        artifact: Beam's artifact; `{flink}` stands for the version of Flink.
        main: the class that starts the server.
        more: dependencies that Beam leaves to the cluster, as group:artifact:version.
    """

    artifact: str
    main: str
    more: tuple[str, ...] = ()


SERVERS = {
    "flink": Server(
        "beam-runners-flink-{flink}",
        "org.apache.beam.runners.flink.FlinkJobServerDriver",
        ("org.slf4j:slf4j-simple:2.0.16",),
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
    """Download the parts and write the jar that the command line asks for."""
    options = parser().parse_args()
    server = SERVERS[options.runner]
    artifact = server.artifact.format(flink=options.flink_version)
    options.output.mkdir(parents=True, exist_ok=True)
    jars = options.output.resolve() / f"{artifact}-{options.version}"
    fetch(project([f"org.apache.beam:{artifact}:{options.version}", *server.more], options.pin), jars)
    jar = options.output / f"{artifact}-job-server-{options.version}.jar"
    write(jar, server.main, sorted(jars.glob("*.jar")))
    print(jar)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("runner", choices=SERVERS)
    flags.add_argument("--version", required=True, help="of Beam")
    flags.add_argument("--flink_version", default="1.19", help="as in the name of Beam's artifact (1.19)")
    flags.add_argument(
        "--pin",
        action="append",
        default=[],
        metavar="GROUP:ARTIFACT:VERSION",
        help="use this version of a dependency; may be repeated",
    )
    flags.add_argument(
        "--output",
        type=Path,
        default=os.environ.get("WIKIANCHOR_ENGINES", "out/engines"),
        help="directory (out/engines)",
    )
    return flags


def fetch(maven_project: str, jars: Path) -> None:
    """Let Maven download the dependencies of a project into a directory, which is replaced."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "pom.xml").write_text(maven_project)
        unfinished = jars.with_name(f"{jars.name}.part")
        shutil.rmtree(unfinished, ignore_errors=True)
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={unfinished}", "-DincludeScope=runtime"]
        subprocess.run(["mvn", "--batch-mode", "--quiet", *goal], cwd=place, check=True)
        shutil.rmtree(jars, ignore_errors=True)
        unfinished.rename(jars)


def project(artifacts: Iterable[str], pins: Iterable[str] = ()) -> str:
    """Return a Maven project that depends on artifacts and fixes the versions of others, given as
    group:artifact:version."""
    managed = f"<dependencyManagement>{_dependencies(pins)}</dependencyManagement>"
    body = f"<modelVersion>4.0.0</modelVersion>{_coordinates('local:job-server:1')}{managed}{_dependencies(artifacts)}"
    return f'<project xmlns="http://maven.apache.org/POM/4.0.0">{body}</project>'


def _dependencies(artifacts: Iterable[str]) -> str:
    listed = "".join(f"<dependency>{_coordinates(artifact)}</dependency>" for artifact in artifacts)
    return f"<dependencies>{listed}</dependencies>"


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
