"""Stores: one connection for each bucket, and one line where a store does not answer."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyarrow import fs

from tests.servers import s3_server
from wikianchor.io import buckets, storage
from wikianchor.io.errors import InputError

KEYS = {**s3_server.KEYS, "AWS_EC2_METADATA_DISABLED": "true"}
ROOT = Path(__file__).parents[2]


@contextmanager
def silent_server() -> Iterator[int]:
    """A server that accepts every connection and never answers: its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        # The kernel accepts connections up to the backlog by itself.
        yield listening.getsockname()[1]


@pytest.fixture(autouse=True)
def no_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "_connections", {})
    monkeypatch.setattr(buckets, "_hanging", set())
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def uri(scheme: str, port: int) -> str:
    """A bucket in a store at a port of this machine."""
    account = "anonymous@" if scheme == "gs" else ""
    return f"{scheme}://{account}bucket/out?scheme=http&endpoint_override=127.0.0.1:{port}"


def test_a_store_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    # S3's client would make this process wait at its end: see the command below.
    monkeypatch.setattr(buckets, "CONNECT_SECONDS", 0.5)
    with silent_server() as port:
        begin = time.monotonic()
        with pytest.raises(InputError) as raised:
            storage.filesystem(uri("gs", port))
        assert time.monotonic() - begin < 5
        assert str(raised.value) == (
            f"{uri('gs', port)}: the store cannot be reached (no answer within 0.5 s): "
            "check the network, the address and the credentials"
        )
        assert buckets.hanging()


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_store_that_refuses_connections(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "FIRST_RETRY_SECONDS", 1)
    with silent_server() as port:
        pass
    with pytest.raises(InputError, match=r"the store cannot be reached \(.*ould not connect to server") as raised:
        storage.filesystem(uri(scheme, port))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400
    assert not buckets.hanging()


def test_the_time_for_a_first_answer_is_below_a_minute() -> None:
    assert buckets.FIRST_RETRY_SECONDS < buckets.CONNECT_SECONDS < buckets.RETRY_SECONDS < 60


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_command_ends_though_its_store_hangs(scheme: str) -> None:
    code = "from wikianchor.io import buckets; buckets.CONNECT_SECONDS = 0.3; "
    code += "from wikianchor.__main__ import main; raise SystemExit(main())"
    with silent_server() as port:
        done = subprocess.run(
            [sys.executable, "-c", code, "verify", uri(scheme, port)],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert done.returncode == 1
    assert [line for line in done.stderr.splitlines() if "cannot be reached (no answer" not in line] == []
    assert done.stderr.startswith(f"wikianchor: {uri(scheme, port)}")


def test_threads_share_one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def from_uri(path: str) -> tuple[fs.FileSystem, str]:
        opened.append(path)
        time.sleep(0.1)
        return fs.LocalFileSystem(), "x"

    monkeypatch.setattr(fs, "FileSystem", SimpleNamespace(from_uri=from_uri))
    paths = []
    threads = [
        threading.Thread(target=lambda n=n: paths.append(storage.filesystem(f"s3://bucket/a/{n}")[1])) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(paths) == [f"bucket/a/{number}" for number in range(8)]
    assert opened == ["s3://bucket/?allow_delayed_open=true"]
    storage.filesystem("s3://other/a")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:1")
    storage.filesystem("s3://bucket/a")
    assert len(opened) == 3


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    """A store that speaks S3: its URL."""
    with s3_server.serving() as environment:
        yield environment["AWS_ENDPOINT_URL"]


@pytest.fixture
def bucket(moto: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of a bucket with some files."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto)
    files, _ = storage.filesystem("s3://bucket?allow_bucket_creation=true")
    files.create_dir("bucket")
    for name in ("a/en/x.txt", "a/de/x.txt", "a/de/y.txt", "a/x*z.txt", "a/xyz.txt", "b c/x.txt"):
        with files.open_output_stream(f"bucket/{name}") as stream:
            stream.write(name.encode())
    return "s3://bucket"


def test_files_of_a_bucket(bucket: str) -> None:
    def found(pattern: str) -> list[str]:
        return [path.removeprefix(bucket) for path in storage.matching(bucket + pattern, directories=False)]

    assert found("/a/*/x.txt") == ["/a/de/x.txt", "/a/en/x.txt"]
    assert found("/a/de/*") == ["/a/de/x.txt", "/a/de/y.txt"]
    # A path that is there takes precedence over a glob.
    assert found("/a/x*z.txt") == ["/a/x*z.txt"]
    assert found("/*/*z.txt") == ["/a/x*z.txt", "/a/xyz.txt"]
    assert found("/a/none.txt") == found("/none/*") == []
    assert storage.matching(f"{bucket}/a/*", directories=True) == [f"{bucket}/a/de", f"{bucket}/a/en"]
    assert storage.file_size(f"{bucket}/a/de/x.txt") == 10
    assert storage.filesystem(f"{bucket}/b%20c/x.txt")[1] == "bucket/b c/x.txt"
    assert storage.filesystem(f"{bucket}/a/")[1] == "bucket/a"
    with pytest.raises(InputError, match="Cannot parse URI"):
        storage.filesystem(f"{bucket}/b c/x.txt")


def test_a_bucket_gets_no_directories(bucket: str, tmp_path: Path) -> None:
    for place in (f"{bucket}/new/deep/x", f"{tmp_path}/new/deep/x"):
        files, path = storage.filesystem(place)
        storage.make_parent(files, path)
        there = files.get_file_info(path.rpartition("/")[0]).type == fs.FileType.Directory
        assert there == ("://" not in place)


def test_a_bucket_that_may_not_be_asked_for_is_reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(fs.LocalFileSystem):
        def get_file_info(self, path: object) -> object:
            raise OSError("AWS Error ACCESS_DENIED during HeadBucket operation: No response body.")

    monkeypatch.setattr(fs, "FileSystem", SimpleNamespace(from_uri=lambda uri: (Refusing(), "bucket")))
    assert storage.filesystem("s3://bucket/a")[1] == "bucket/a"


def test_a_wrong_option_in_a_uri() -> None:
    with pytest.raises(InputError, match=r"^gs://bucket/a\?x=1: cannot be opened \(Unexpected query parameter"):
        storage.filesystem("gs://bucket/a?x=1")


def test_a_store_that_comes_back_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([OSError("AWS Error NETWORK_CONNECTION during HeadBucket operation"), None])

    def from_uri(uri: str) -> tuple[fs.FileSystem, str]:
        if (error := next(answers)) is not None:
            raise error
        return fs.LocalFileSystem(), "bucket"

    monkeypatch.setattr(fs, "FileSystem", SimpleNamespace(from_uri=from_uri))
    with pytest.raises(InputError, match="the store cannot be reached"):
        storage.filesystem("s3://bucket/a")
    assert storage.filesystem("s3://bucket/a")[1] == "bucket/a"


def test_the_reason_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    def from_uri(uri: str) -> tuple[fs.FileSystem, str]:
        raise OSError(
            "google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of Could not create a "
            "OAuth2 access token to authenticate the request. The request was not sent, as such an access token is "
            "required to complete the request successfully. Learn more about Google Cloud authentication at "
            "https://cloud.google.com/docs/authentication. The underlying error message was: PerformWork() - CURL "
            "error [6]=Could not resolve hostname error_info={reason=, domain=, metadata={}})"
        )

    monkeypatch.setattr(fs, "FileSystem", SimpleNamespace(from_uri=from_uri))
    with pytest.raises(InputError) as raised:
        storage.filesystem("gs://bucket/a")
    assert str(raised.value) == (
        "gs://bucket/a: the store cannot be reached (UNAVAILABLE: Could not create a OAuth2 access token to "
        "authenticate the request. PerformWork() - CURL error [6]=Could not resolve hostname): "
        "check the network, the address and the credentials"
    )
