"""A job server put together: the jar's manifest is one that Java reads, whatever the length of its lines."""

import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engines import FLINK_JAR, job_server
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


def test_the_maven_project_names_the_server_what_the_cluster_would_bring_and_pinned_versions() -> None:
    pin = "org.apache.beam:beam-runners-java-job-service:2.65.0"
    tree = ElementTree.fromstring(
        project(["org.apache.beam:beam-runners-spark-3:2.70.0", *SERVERS["spark"].more], [pin])
    )
    artifacts = [need.findtext(f"{POM}artifactId") for need in tree.iterfind(f"{POM}dependencies/{POM}dependency")]
    assert artifacts == ["beam-runners-spark-3", "spark-core_2.12", "spark-streaming_2.12", "spark-sql_2.12"]
    (managed,) = tree.iterfind(f"{POM}dependencyManagement/{POM}dependencies/{POM}dependency")
    assert ":".join(part.text or "" for part in managed) == pin


def test_the_newest_kept_job_server_is_chosen_by_number_not_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKIANCHOR_ENGINES", str(tmp_path))
    names = [
        "beam-runners-flink-1.19-job-server-2.9.0.jar",
        "beam-runners-flink-1.19-job-server-2.70.0.jar",
        "beam-runners-flink-1.20-job-server-2.70.0.jar",
        "beam-runners-flink-2.2-job-server-2.62.0.jar",
        "beam-runners-spark-3-job-server-2.77.0.jar",
    ]
    for name in names:
        (tmp_path / name).touch()
    assert job_server(FLINK_JAR).name == "beam-runners-flink-1.20-job-server-2.70.0.jar"
