"""A commit in a bucket of S3 (moto) or Google Cloud Storage (a stand-in): what readers see, and requests that fail."""

import hashlib
import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from tests.engine.failing_calls import commit_job
from tests.servers.failing_store import FAILURES, FailingStore, serving
from wikianchor.io.manifests import MANIFEST, read_dataset
from wikianchor.io.storage import files_in, read_bytes
from wikianchor.pipelines.dataset import manifest
from wikianchor.pipelines.dataset.reader import Dataset, open_datasets, read_batches


@pytest.fixture(scope="module", params=[pytest.param("s3", marks=pytest.mark.nightly), "gs"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FailingStore]:
    pytest.importorskip("moto.server", reason="NO MOTO: pip install '.[dev]'")
    with serving(request.param, tmp_path_factory.mktemp("store")) as server:
        yield server


@pytest.fixture(autouse=True)
def _no_handler_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in the same process leave a handler of the log, whose stream is closed."""
    monkeypatch.setattr(logging.getLogger("wikianchor"), "handlers", [logging.NullHandler()])


def rows_of(directory: str) -> int:
    """Read all rows of a dataset of `commit_job` as a stage does, and return their number in a shard."""

    def read() -> tuple[Dataset, list[list[int]]]:
        (dataset,) = open_datasets(directory, "rows", "1.0", "rows")
        shards = [shard for config in ("a", "b") for shard in dataset.shards(config)]
        return dataset, [
            [number for batch in read_batches(shard, ["number"]) for number in batch["number"].to_pylist()]
            for shard in shards
        ]

    dataset, rows = read_dataset(read, directory)
    count = int(dataset.manifest["options"]["rows"])
    assert rows == [list(range(count)), list(range(count + 1))] * 2
    return count


def content(directory: str) -> dict[str, str]:
    """Return the checksum of each object of a dataset."""
    return {path: hashlib.sha256(read_bytes(path)).hexdigest() for path in files_in(directory)}


def test_a_reader_sees_the_old_or_the_new_dataset_at_every_moment(
    store: FailingStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before and after each call of the store that claiming, committing and tidying make."""
    output, seen = f"{store.uri}/{tmp_path.name}", []
    real = manifest.filesystem

    class Watched:
        def __init__(self, files: fs.FileSystem) -> None:
            self._files = files

        def __getattr__(self, name: str) -> Any:
            value = getattr(self._files, name)
            return value if not callable(value) else lambda *given, **named: self._call(partial(value, *given, **named))

        def _call(self, call: Callable[[], Any]) -> Any:
            look()
            try:
                return call()
            finally:
                look()

    def watched(path: str) -> tuple[Any, str]:
        files, inner = real(path)
        return (Watched(files) if path.startswith(output) else files), inner

    def look() -> None:
        with pytest.MonkeyPatch.context() as unwatched:
            unwatched.setattr(manifest, "filesystem", real)
            seen.append(rows_of(output))

    assert commit_job(output, True) == 0
    monkeypatch.setattr(manifest, "filesystem", watched)
    assert commit_job(output, False) == 0
    assert set(seen) == {3, 5}
    assert seen == sorted(seen)
    assert len(seen) > 50


def test_one_request_puts_a_manifest_in_its_place(store: FailingStore, tmp_path: Path) -> None:
    store.fail()
    assert commit_job(f"{store.uri}/{tmp_path.name}", True) == 0
    requests = [request for request in store.fail() if MANIFEST in request]
    writes = [request.partition(" ")[0] for request in requests if not request.startswith(("GET ", "HEAD "))]
    # GCS's client announces an upload, which no reader sees.
    assert writes == (["PUT"] if store.kind == "s3" else ["POST", "PUT"]), requests


def test_a_commit_survives_a_failing_request(
    store: FailingStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every 13th request fails, in each way in turn."""
    assert fail_requests(store, tmp_path.name, capsys, step=13) > 4


@pytest.mark.nightly
def test_a_commit_survives_each_failing_request(
    store: FailingStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = sum(fail_requests(store, f"{tmp_path.name}/{how}", capsys, how=how) for how in FAILURES)
    assert cases > 200
    with capsys.disabled():
        print(f"\ncommit on {store.kind}: {cases} cases, 0 bad")


def fail_requests(
    store: FailingStore, name: str, capsys: pytest.CaptureFixture[str], step: int = 1, how: str = ""
) -> int:
    """Replace one dataset by the other again and again while each `step`th request fails, and return how often.

    Args:
        store: the store.
        name: the dataset in it.
        capsys: captures the line that the job prints.
        step: the distance between two failing requests.
        how: one of `FAILURES`; each in turn without it.
    """
    output = f"{store.uri}/{name}"
    expected, requests = {}, 0
    for older in (True, False, True):
        store.fail()
        assert commit_job(output, older) == 0
        requests = len(store.fail())
        expected[older] = content(output)
    older = True
    for case, number in enumerate(range(1, requests + 1, step)):
        older = not older
        failure = how or FAILURES[case % len(FAILURES)]
        store.fail(failure, number)
        status = commit_job(output, older)
        request = store.fail()[number - 1 :][:1]
        lines = capsys.readouterr().err.splitlines()
        where = f"{failure}: request {number}: {request}: {lines}"
        assert (status, len(lines)) in ((0, 0), (1, 1)), where
        assert rows_of(output) in ({3: True, 5: False} if status else {3 if older else 5: True}), where
        assert commit_job(output, older) == 0, where
        assert content(output) == expected[older], where
    return case + 1
