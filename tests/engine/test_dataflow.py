"""Dataflow without an account: what is submitted, against a stand-in of its server, and that graph run here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from tests.conftest import Ended
from tests.engines import ROOT, clean_environment, unstable_keys
from tests.every_pipeline import DEMO, has
from tests.stand_in import digests
from tools import templates
from wikianchor.io.errors import UsageError
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine import dataflow
from wikianchor.pipelines.japanese.negatives.options import NegativesOptions

GOOD = {
    "job_name": "wikianchor-pairs",
    "machine_type": "n2-highmem-2",
    "labels": ["wikianchor=pairs"],
    "region": "europe-west4",
    "save_main_session": False,
}


def test_defaults_are_added_where_nothing_was_said() -> None:
    found = dataflow.with_defaults(["--worker_machine_type=e2-small", "--job_name=mine"], "sentences", "enwiki")
    assert found == [
        "--worker_machine_type=e2-small",
        "--job_name=mine",
        "--labels=wikianchor=sentences",
        "--number_of_worker_harness_threads=2",
        "--disk_size_gb=50",
        "--enable_hot_key_logging",
        "--no_save_main_session",
    ]


@pytest.mark.parametrize("wiki", [None, "enwiki", "zh_min_nanwiki", "x" * 90])
def test_job_names_are_such_that_dataflow_takes_them(wiki: str | None) -> None:
    given = SimpleNamespace(get_all_options=lambda: {**GOOD, "job_name": dataflow.job_name("mewsc16", wiki)})
    dataflow.check(given, "gs://bucket/out")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("job_name", "Mine", "--job_name=Mine: lower-case letters"),
        ("job_name", "a" * 64, "at most 63"),
        ("labels", ["Team=a"], "--labels=Team=a: write key=value"),
        ("machine_type", "big", "--machine_type=big is no type"),
        ("region", None, "--region is missing"),
        ("save_main_session", True, "nothing to save"),
    ],
)
def test_what_dataflow_would_refuse_later_is_refused_now(name: str, value: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        dataflow.check(SimpleNamespace(get_all_options=lambda: {**GOOD, name: value}), "gs://bucket/out")


def test_an_output_on_this_disk_is_none() -> None:
    with pytest.raises(UsageError, match="do not see this disk"):
        dataflow.check(SimpleNamespace(get_all_options=lambda: GOOD), "out/pairs")


def test_keys_without_a_coder_of_their_own_are_found() -> None:
    pipeline = beam.Pipeline("FnApiRunner")
    pairs = pipeline | beam.Create([(("a", 1), 2)])
    _ = pairs | "Known" >> beam.GroupByKey()
    anything = pairs | "Anything" >> beam.Map(lambda pair: pair).with_output_types(tuple[Any, int])
    _ = anything | "Unknown" >> beam.GroupByKey()
    assert unstable_keys(pipeline) == ["Unknown"]


@pytest.mark.parametrize("device", ["", "cpu"])
def test_only_the_step_with_the_model_gets_an_accelerator(device: str) -> None:
    from wikianchor.pipelines.japanese.negatives import graph as negatives

    if not has("torch"):
        pytest.skip("NO TORCH: pip install '.[t5]'")
    pipeline = beam.Pipeline("FnApiRunner", options=PipelineOptions(["--runner=DataflowRunner"]))
    config = NegativesOptions(corpus="corpus", model="model", output="gs://bucket/out", device=device)
    work = Workspace("gs://bucket/out", "gs://bucket/out", "beam")
    negatives.build(pipeline, {}, work, config, [], 10)
    proto = pipeline.to_runner_api()
    hinted = {
        one.unique_name.split("/")[0]
        for one in proto.components.transforms.values()
        if one.environment_id and proto.components.environments[one.environment_id].resource_hints
    }
    assert hinted == (set() if device else {"Fill"})


@contextmanager
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that takes every job and says that it is done: its URL, and the jobs."""
    jobs: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            jobs.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.do_GET()

        def do_GET(self) -> None:
            answer = {"id": "job-1", "name": "x", "location": "us-central1", "currentState": "JOB_STATE_DONE"}
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *given: object) -> None:
            pass

    httpd = HTTPServer(("localhost", 0), Handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{httpd.server_port}", jobs
    finally:
        httpd.shutdown()
        httpd.server_close()


IMAGE = "europe-west4-docker.pkg.dev/my-project/wikianchor/wikianchor:0.1.0"


@pytest.mark.nightly
def test_the_job_that_a_template_posts_and_the_graph_that_it_stages(
    tmp_path: Path, wikianchor: Callable[..., Ended]
) -> None:
    python = clean_environment(tmp_path, "[gcp]")
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if shutil.which("cargo"):
        install = [sys.executable, "-m", "pip", "--quiet", f"--python={python}", "install", "--no-deps"]
        subprocess.run([*install, str(ROOT / "core")], check=True, env=surroundings)
    dump = next(DEMO.glob("enwiki*stream.xml.bz2"))
    out = tmp_path / "out"
    (tmp_path / "staged").mkdir()
    flex = json.loads(templates.template("sentences", IMAGE))
    parameters = {"stage": "sentences", "dumps": str(dump), "output": f"file://{out}", "fragments": "true"}
    described = {parameter["name"]: parameter for parameter in flex["metadata"]["parameters"]}
    assert {name for name, parameter in described.items() if not parameter.get("isOptional")} <= set(parameters)
    assert all(
        re.fullmatch(pattern, value)
        for name, value in parameters.items()
        for pattern in described[name].get("regexes", ())
    )
    with server() as (url, jobs):
        # What the launcher of a Flex Template adds, but for the address of the stand-in.
        cloud = ["--runner=DataflowRunner", "--no_auth", "--project=my-project", "--region=us-central1"]
        places = [
            f"--dataflow_endpoint={url}",
            f"--staging_location={tmp_path}/staged",
            f"--temp_location={tmp_path}/tmp",
            f"--sdk_container_image={flex['image']}",
        ]
        given = [f"--{name}={value}" for name, value in parameters.items()]
        command = [str(python), str(ROOT / "docker/launch.py"), *given, *cloud, *places]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=surroundings)
    # The server lies: nothing has run, and that is seen.
    assert ended.returncode == 1
    assert "the pipeline ended without a dataset" in ended.stderr.splitlines()[-1]
    (job,) = jobs
    pool = job["environment"]["workerPools"][0]
    assert {
        "name": job["name"],
        "labels": job["labels"],
        "machine": pool["machineType"],
        "disk": pool["diskSizeGb"],
        "threads": pool["numThreadsPerWorker"],
        "type": job["environment"]["version"]["job_type"],
    } == {
        "name": "wikianchor-sentences-enwiki",
        "labels": {"wikianchor": "sentences"},
        "machine": "n2-highmem-2",
        "disk": 50,
        "threads": 2,
        "type": "FNAPI_BATCH",
    }
    # Nothing is installed when a worker starts: the image has the packages, in the versions of the launcher.
    assert [one["containerImage"] for one in pool["sdkHarnessContainerImages"]] == [IMAGE]
    assert [path.name for path in (tmp_path / "staged").rglob("*") if path.is_file()] == ["pipeline.pb"]
    assert not pool.get("packages")
    beam_version = job["environment"]["userAgent"]["version"]
    assert f"FROM apache/beam_python3.11_sdk:{beam_version}" in (ROOT / "docker/worker.Dockerfile").read_text()
    run_staged(tmp_path / "staged/pipeline.pb")
    assert main(["sentences", f"--dumps={dump}", f"--output={tmp_path}/here"]) == 0
    found, expected = read_manifest(str(out)), read_manifest(f"{tmp_path}/here")
    assert found is not None
    assert expected is not None
    assert digests(found) == digests(expected)


def run_staged(path: Path) -> None:
    """Run a graph that was staged for Dataflow, with the workers in this process."""
    from apache_beam.portability.api import beam_runner_api_pb2
    from apache_beam.runners.portability.fn_api_runner import FnApiRunner
    from apache_beam.transforms.environments import EmbeddedPythonEnvironment

    proto = beam_runner_api_pb2.Pipeline.FromString(path.read_bytes())
    here = EmbeddedPythonEnvironment.default().to_runner_api(None)
    for environment in proto.components.environments.values():
        environment.CopyFrom(here)
    FnApiRunner().run_via_runner_api(proto, PipelineOptions())
