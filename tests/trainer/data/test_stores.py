"""Shards and caches in object stores: S3 (moto), Google Cloud Storage and the Hugging Face Hub (stand-ins)."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import gcs_server, s3_server
from tests.servers.hub_files import HubHandler, serving
from tests.trainer.pairs import pair_rows, write_pairs
from wikianchor.io import storage
from wikianchor.io.cache import CACHE_VARIABLE, open_cache
from wikianchor.trainer import task
from wikianchor.trainer.config import make
from wikianchor.trainer.data.own_rows import open_rows
from wikianchor.trainer.data.shards import open_pairs, read_batches, read_entities


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, str]]:
    """The environment in which a bucket of S3 is there."""
    with s3_server.serving() as environment:
        yield environment


@pytest.fixture(scope="module")
def gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which a bucket of Google Cloud Storage is there."""
    pytest.importorskip("cryptography", reason="NO CRYPTOGRAPHY: pip install '.[dev]'")
    with gcs_server.serving(tmp_path_factory.mktemp("gcs")) as environment:
        yield environment


@pytest.fixture(params=["s3", "gs"])
def bucket(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The URI of an empty directory in a bucket; caches of this machine are in a directory of the test."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    for variable, value in request.getfixturevalue({"s3": "s3", "gs": "gcs"}[request.param]).items():
        monkeypatch.setenv(variable, value)
    if request.param == "s3":
        files, _ = storage.filesystem("s3://bucket?allow_bucket_creation=true")
        files.create_dir("bucket")
    return f"{request.param}://bucket/{tmp_path.name}"


def send(folder: Path, uri: str) -> None:
    files, inner = storage.filesystem(uri)
    for name, data in files_of(folder).items():
        with files.open_output_stream(f"{inner}/{name}") as stream:
            stream.write(data)


def test_shards_and_the_cache_are_in_a_bucket(
    bucket: str, pairs_dir: Path, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(pairs_dir, f"{bucket}/pairs")
    local = task.run(make("simcse", {**options, "max_steps": 3}, {}))
    in_bucket = {"data": f"{bucket}/pairs", "cache": f"{bucket}/cache", "output": f"{tmp_path}/other", "max_steps": 3}
    remote = task.run(make("simcse", {**options, **in_bucket}, {}))
    weights = [Path(folder, "model.safetensors").read_bytes() for folder in (local, remote)]
    assert weights[0] == weights[1]

    # Another machine copies what the first one sent.
    (key,) = os.listdir(tmp_path / "home/.cache/wikianchor")
    before = files_of(tmp_path / "home/.cache/wikianchor")
    shutil.rmtree(tmp_path / "home")

    def written(directory: str) -> None:
        raise AssertionError(directory)

    assert open_cache(f"{bucket}/cache", key, written) == f"{tmp_path}/home/.cache/wikianchor/{key}"
    assert files_of(tmp_path / "home/.cache/wikianchor") == before


def test_an_unfinished_cache_is_written_again(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "half").mkdir()
    (tmp_path / "half/a").write_text("half")
    send(tmp_path / "half", f"{bucket}/cache/key")
    folder = open_cache(f"{bucket}/cache", "key", lambda directory: save(directory, "whole"))
    assert Path(folder, "a").read_text() == "whole"
    assert storage.read_bytes(f"{bucket}/cache/key/a") == b"whole"


def save(directory: str, text: str) -> None:
    Path(directory, "a").write_text(text)


def test_checkpoints_and_the_model_are_in_a_bucket(
    bucket: str, options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    local = task.run(make("simcse", {**options, "max_steps": 3}, {}))
    flags = {**options, "max_steps": 3, "output": f"{bucket}/out", "checkpoint_steps": 1}
    remote = task.run(make("simcse", flags, {}))
    task.run(make("simcse", flags, {}))
    assert "goes on from step 3 of 3" in capsys.readouterr().err
    assert remote == f"{bucket}/out/model"
    assert storage.list_directories(f"{bucket}/out/checkpoints") == ["step-0000000003"]
    copy = storage.fetch(remote, f"{tmp_path}/copy")
    assert {path.name for path in Path(local).iterdir()} == {path.name for path in Path(copy).iterdir()}


def test_directories_in_a_bucket_are_listed_fetched_and_removed(bucket: str, tmp_path: Path) -> None:
    """Also those that no object of their own marks, and those that one marks."""
    for name in ("one/a", "one/below/b", "two/c"):
        (tmp_path / "local" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "local" / name).write_text(name)
    send(tmp_path / "local", f"{bucket}/dir")
    files, inner = storage.filesystem(f"{bucket}/dir/three")
    files.create_dir(inner, recursive=True)
    assert storage.list_directories(f"{bucket}/dir") == ["one", "three", "two"]
    assert storage.list_directories(f"{bucket}/dir/absent") == []
    assert storage.matching(f"{bucket}/dir/*/*", directories=False) == [f"{bucket}/dir/one/a", f"{bucket}/dir/two/c"]
    assert storage.matching(f"{bucket}/dir/t*", directories=True) == [f"{bucket}/dir/three", f"{bucket}/dir/two"]
    assert files_of(Path(storage.fetch(f"{bucket}/dir", f"{tmp_path}/copy"))) == files_of(tmp_path / "local")
    for name in ("one", "three"):
        storage.remove(f"{bucket}/dir/{name}")
    assert storage.files_in(f"{bucket}/dir") == [f"{bucket}/dir/two/c"]


def test_rows_of_ones_own_are_in_a_bucket(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows/train.jsonl").write_text('{"text": "a b", "entity": "Q1"}\n{"text": "c", "entity": "Q2"}\n')
    (tmp_path / "rows/test.csv").write_text("text,entity\nd,Q3\n")
    send(tmp_path / "rows", f"{bucket}/rows")
    pairs = open_rows(f"{bucket}/rows", f"{tmp_path}/cache", True)
    assert (pairs.rows, read_entities(pairs)["label"].to_pylist()) == (2, ["Q1", "Q2"])
    assert open_rows(f"{bucket}/rows/*.csv", f"{tmp_path}/cache", True).rows == 1


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, bytes]]:
    """The files on the Hub, by OWNER/NAME/PATH."""
    huggingface_hub = pytest.importorskip("huggingface_hub", reason="NO HUB: pip install '.[hub]'")
    with serving(HubHandler) as server:
        # The library reads its environment when it is imported.
        constants = importlib.import_module("huggingface_hub.constants")
        template = f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        values = {"ENDPOINT": server.url, "HF_HUB_OFFLINE": False, "HUGGINGFACE_CO_URL_TEMPLATE": template}
        for name, value in values.items():
            monkeypatch.setattr(constants, name, value)
        huggingface_hub.HfFileSystem.clear_instance_cache()
        yield server.objects
        huggingface_hub.HfFileSystem.clear_instance_cache()


def test_a_published_dataset_is_read_from_the_hub(hub: dict[str, bytes], tmp_path: Path) -> None:
    folder = write_pairs(tmp_path / "pairs", pair_rows(60))
    hub.update({f"somebody/toy/{name}": data for name, data in files_of(folder).items()})
    pairs = open_pairs("hf://datasets/somebody/toy")
    assert (pairs.rows, pairs.fingerprint) == (60, open_pairs(str(folder)).fingerprint)
    assert sum(map(len, read_batches(pairs))) == 60


def test_rows_of_ones_own_are_on_the_hub(hub: dict[str, bytes], tmp_path: Path) -> None:
    hub["somebody/rows/data/train.csv"] = b"text,entity,negatives\na,Q1,Q2|Q3\nb,Q2,\n"
    hub["somebody/rows/data/test.csv"] = b"text,entity\nc,Q1\n"
    hub["somebody/rows/README.md"] = b"# Rows\n"
    pairs = open_rows("hf://datasets/somebody/rows", f"{tmp_path}/cache", True)
    assert (pairs.rows, pairs.entities) == (2, 3)
    assert open_rows("hf://datasets/somebody/rows/data/test.csv", f"{tmp_path}/cache", True).rows == 1
