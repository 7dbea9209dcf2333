"""Every pipeline on every engine: the same inputs give the same bytes, and the same line for what is broken."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from pyarrow import fs

from tests.conftest import Ended
from tests.engines import ENGINES
from tests.every_pipeline import DEMO, all_digests, anything_is_a_negative, commands
from tests.every_pipeline import every_pipeline as every_pipeline
from tests.servers import s3_server
from wikianchor.io.storage import files_in
from wikianchor.pipelines.cli.command_line import main


@pytest.fixture(scope="module")
def inputs(every_pipeline: Path) -> Path:
    return every_pipeline / "inputs"


@pytest.fixture
def in_memory(every_pipeline: Path) -> Iterator[dict[str, Any]]:
    """What the direct runner makes in one process."""
    with anything_is_a_negative():
        yield all_digests(f"{every_pipeline}/out")


@contextmanager
def bucket() -> Iterator[str]:
    """A store that speaks S3, and the URI of a bucket in it."""
    with s3_server.serving() as environment, mock.patch.dict(os.environ, environment):
        files, inner = fs.FileSystem.from_uri("s3://bucket?allow_bucket_creation=true")
        files.create_dir(inner)
        yield "s3://bucket"


@pytest.mark.slow
def test_the_same_bytes_from_and_to_an_object_store(inputs: Path, in_memory: dict[str, Any]) -> None:
    with bucket() as uri:
        for place, name in ((inputs, "inputs"), (DEMO, "demo")):
            fs.copy_files(str(place), f"{uri}/{name}")
        for command in commands(f"{uri}/inputs", f"{uri}/out", here=True, demo=f"{uri}/demo"):
            assert main([part.replace(f"--model={uri}/inputs", f"--model={inputs}") for part in command]) == 0, command
        assert all_digests(f"{uri}/out") == in_memory
        assert main(["verify", f"{uri}/out/build", f"--against={uri}/demo", "--rows=20"]) == 0
        assert not [path for path in files_in(f"{uri}/out") if "_unfinished" in path or "_lock" in path]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if ENGINES[name].nightly else name for name in ENGINES]
)
def test_the_same_bytes_and_the_same_words(
    name: str, inputs: Path, in_memory: dict[str, Any], tmp_path: Path, wikianchor: Callable[..., Ended]
) -> None:
    engine, out = ENGINES[name], tmp_path / "out"
    (tmp_path / "engine").mkdir()
    with engine.start(tmp_path / "engine") as flags:
        for command in commands(str(inputs), str(out), engine.here):
            assert wikianchor(*command, *flags).status == 0, command[0]
        found = all_digests(str(out))
        assert len(found) >= 10
        assert found == {place: digest for place, digest in in_memory.items() if place in found}
        assert not list(out.rglob("_unfinished"))
        broken = tmp_path / "cut.xml"
        broken.write_bytes(b"<mediawiki><siteinfo><dbname>enwiki</dbname></siteinfo><page>")
        ended = wikianchor("sentences", f"--dumps={broken}", f"--output={tmp_path}/none", *flags)
        assert ended.status == 1
        assert ended.said[-1].startswith(f"wikianchor: {broken}: "), ended.said
        assert not (tmp_path / "none/manifest.json").exists()
