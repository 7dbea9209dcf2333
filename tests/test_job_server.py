"""A job server put together: the jar's manifest is one that Java reads, whatever the length of its lines."""

import zipfile
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from tools.job_server import SERVERS, folded, project, write

POM = "{http://maven.apache.org/POM/4.0.0}"


@given(st.text(alphabet="abc /:.-", min_size=1, max_size=400))
def test_no_line_is_longer_than_jars_allow_and_nothing_is_lost(line: str) -> None:
    lines = folded(line).split("\n")
    assert lines.pop() == ""
    assert all(len(part) <= 72 for part in lines)
    assert lines[0] + "".join(part.removeprefix(" ") for part in lines[1:]) == line


def test_the_jar_names_its_parts_and_what_to_start(tmp_path: Path) -> None:
    parts = [tmp_path / f"a part {number}.jar" for number in range(3)]
    write(tmp_path / "server.jar", SERVERS["flink"].main, parts)
    with zipfile.ZipFile(tmp_path / "server.jar") as jar:
        lines = jar.read("META-INF/MANIFEST.MF").decode().replace("\n ", "").splitlines()
    fields = dict(line.split(": ", 1) for line in lines if line)
    assert fields["Main-Class"].endswith("FlinkJobServerDriver")
    assert fields["Class-Path"].split(" ") == [part.as_uri() for part in parts]


def test_maven_is_asked_for_the_server_and_what_the_cluster_would_bring() -> None:
    tree = ElementTree.fromstring(project(["org.apache.beam:beam-runners-spark-3:2.62.0", *SERVERS["spark"].more]))
    names = [need.findtext(f"{POM}artifactId") for need in tree.iter(f"{POM}dependency")]
    assert names == ["beam-runners-spark-3", "spark-core_2.12", "spark-streaming_2.12", "spark-sql_2.12"]
