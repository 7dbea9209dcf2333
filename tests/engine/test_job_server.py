"""The newest job server that is kept is the one that engines start."""

from pathlib import Path

import pytest

from tests.engines import FLINK_JAR, job_server


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
