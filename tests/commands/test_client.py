"""Fetching from a server that misbehaves: the bytes that were published arrive, or one line says why not."""

import email.utils
import hashlib
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.servers import dump_server as faults
from tests.servers.dump_server import DumpServer, serving
from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.commands.download import client as client_module
from wikianchor.pipelines.commands.download.client import LIST_BYTES, Client, Patience, Stopped
from wikianchor.pipelines.commands.download.target import RemoteFile

DATA = random.Random(7).randbytes(300_000)
PATIENCE = Patience(timeout=0.5, attempts=4, pause=0.01, longest_pause=1.5)


@pytest.fixture
def server() -> Iterator[DumpServer]:
    with serving({"/x/data.bz2": DATA}) as running:
        yield running


def remote(server: DumpServer, data: bytes = DATA) -> RemoteFile:
    return RemoteFile("data.bz2", f"{server.url}/x/data.bz2", len(data), hashlib.sha1(data).hexdigest())


def fetch(server: DumpServer, folder: Path, file: RemoteFile | None = None, client: Client | None = None) -> int:
    """Fetch, and return the bytes that were told of."""
    amounts: list[int] = []
    (client or Client("test (a@b.example)", PATIENCE)).fetch(file or remote(server), str(folder), amounts.append)
    return sum(amounts)


GOOD_ENDS = {
    "nothing wrong": [],
    "stalls": [faults.stall(1.5, 1000)],
    "stalls before the first byte": [faults.stall(1.5, 0)],
    "cut off": [faults.truncate(100_000), faults.truncate(50_000), faults.truncate(10)],
    "cut off with no length told": [faults.truncate(100_000, tell_length=False)],
    "cut off, then a server without ranges": [faults.truncate(100_000), faults.no_ranges],
    "cut off, then another part": [faults.truncate(100_000), faults.wrong_part],
    "hangs up": [faults.hang_up, faults.hang_up],
    "busy": [faults.refuse(503), faults.refuse(500), faults.refuse(429)],
    "redirects": [faults.refuse(302, Location="/x/data.bz2")],
    "other bytes, once": [faults.other_bytes],
    "other bytes at the start, then cut off": [
        lambda handler, data: faults.truncate(90_000)(handler, bytes(byte ^ 1 for byte in data))
    ],
    "goes on after its end": [faults.endless],
    "claims to be packed": [faults.packed],
}


@pytest.mark.parametrize("name", GOOD_ENDS)
def test_what_was_published_arrives(name: str, server: DumpServer, tmp_path: Path) -> None:
    server.faults["/x/data.bz2"] = list(GOOD_ENDS[name])
    assert fetch(server, tmp_path) == len(DATA)
    assert (tmp_path / "data.bz2").read_bytes() == DATA
    assert [path.name for path in tmp_path.iterdir()] == ["data.bz2"]
    assert not server.faults["/x/data.bz2"]


def test_a_cut_off_file_is_gone_on_with(server: DumpServer, tmp_path: Path) -> None:
    server.faults["/x/data.bz2"] = [faults.truncate(100_000)]
    fetch(server, tmp_path)
    assert server.requests("/x/data.bz2") == [None, "bytes=100000-"]


def test_what_an_earlier_run_left_is_gone_on_with(server: DumpServer, tmp_path: Path) -> None:
    (tmp_path / "data.bz2.part").write_bytes(DATA[:123_456])
    assert fetch(server, tmp_path) == len(DATA)
    assert server.requests("/x/data.bz2") == ["bytes=123456-"]


@pytest.mark.parametrize("left", [b"other bytes", DATA + b"too much", DATA])
def test_what_an_earlier_run_left_may_be_anything(left: bytes, server: DumpServer, tmp_path: Path) -> None:
    (tmp_path / "data.bz2.part").write_bytes(left)
    assert fetch(server, tmp_path) == len(DATA)
    assert (tmp_path / "data.bz2").read_bytes() == DATA


BAD_ENDS = {
    "not there": ([faults.refuse(404)], "the server has no such file"),
    "forbidden": ([faults.refuse(403)], "--contact="),
    "bad request": ([faults.refuse(400)], "the server answers 400"),
    "always busy": ([faults.refuse(503)] * 4, "4 attempts in a row failed, the last with: the server answers 503"),
    "a circle of redirects": ([faults.refuse(302, Location="/x/data.bz2")] * 40, "redirects"),
    "redirected to a file": ([faults.refuse(302, Location="file:///etc/passwd")], "No connection adapters"),
    "always other bytes": ([faults.other_bytes] * 2, "the server has other bytes"),
}


@pytest.mark.parametrize("name", BAD_ENDS)
def test_what_cannot_be_had_is_one_line(name: str, server: DumpServer, tmp_path: Path) -> None:
    server.faults["/x/data.bz2"], words = list(BAD_ENDS[name][0]), BAD_ENDS[name][1]
    with pytest.raises(InputError) as error:
        fetch(server, tmp_path)
    assert words in str(error.value)
    assert server.url in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "data.bz2").exists()
    assert not list(tmp_path.iterdir())


def test_a_file_of_another_size_is_not_fetched(server: DumpServer, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has 300000 bytes, published are 200000"):
        fetch(server, tmp_path, remote(server, DATA[:200_000]))


def test_the_server_sets_the_pause(server: DumpServer, tmp_path: Path) -> None:
    soon = email.utils.formatdate(time.time() + 100, usegmt=True)
    server.faults["/x/data.bz2"] = [faults.refuse(429, Retry_After="1"), faults.refuse(503, Retry_After=soon)]
    begin = time.monotonic()
    fetch(server, tmp_path)
    # The second asks for more than the longest pause.
    assert 2.4 < time.monotonic() - begin < 6


def test_two_runs_do_not_write_to_one_file(server: DumpServer, tmp_path: Path) -> None:
    server.faults["/x/data.bz2"] = [faults.stall(0.4, 1000)]
    first = threading.Thread(target=fetch, args=(server, tmp_path))
    first.start()
    while not (tmp_path / "data.bz2.part").exists():
        time.sleep(0.01)
    with pytest.raises(UsageError, match="another run fetches it"):
        fetch(server, tmp_path)
    first.join()
    assert (tmp_path / "data.bz2").read_bytes() == DATA


def test_a_stopped_fetch_keeps_what_it_has(server: DumpServer, tmp_path: Path) -> None:
    server.faults["/x/data.bz2"] = [faults.truncate(100_000), faults.refuse(503, Retry_After="60")]
    stop = threading.Event()
    client = Client("test (a@b.example)", Patience(0.5, 4, 60, 60), stop)
    threading.Timer(0.3, stop.set).start()
    with pytest.raises(Stopped):
        fetch(server, tmp_path, client=client)
    assert (tmp_path / "data.bz2.part").stat().st_size == 100_000


def test_who_asks_is_told(server: DumpServer, tmp_path: Path) -> None:
    fetch(server, tmp_path)
    assert {agent for _, _, agent in server.asked} == {"test (a@b.example)"}


def test_lists(server: DumpServer) -> None:
    client = Client("test (a@b.example)", PATIENCE)
    server.files |= {"/list": b"{}", "/cut": b"0123456789"}
    server.faults["/cut"] = [faults.truncate(4)]
    assert client.read(f"{server.url}/list") == b"{}"
    assert client.read(f"{server.url}/cut") == b"0123456789"
    assert client.read(f"{server.url}/none") is None
    assert client.length(f"{server.url}/cut") == 10


def test_a_list_without_end_is_none(server: DumpServer) -> None:
    server.files["/list"] = b"x"
    server.faults["/list"] = [faults.endless]
    with pytest.raises(InputError, match=f"more than {LIST_BYTES >> 20} MB"):
        Client("test (a@b.example)", PATIENCE).read(f"{server.url}/list")


def test_each_attempt_is_told(server: DumpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warning = mock.Mock()
    monkeypatch.setattr(client_module.log, "warning", warning)
    server.faults["/x/data.bz2"] = [faults.refuse(503), faults.truncate(100)]
    fetch(server, tmp_path)
    messages = [call.args[0] % call.args[1:] for call in warning.call_args_list]
    assert messages[0].endswith("/x/data.bz2: the server answers 503: attempt 2 of 4 in 1 s")
    assert len(messages) == 2
    # A server that is not there has a reason of a few words.
    nowhere = Client("test (a@b.example)", Patience(0.5, 2, 0.01, 0.01))
    with pytest.raises(InputError, match=r"localhost:1/: 2 attempts .* with: Failed to establish a new connection"):
        nowhere.read("http://localhost:1/")
