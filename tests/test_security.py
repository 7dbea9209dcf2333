"""What a hostile file or another user of the machine can do: nothing but end a command with one line."""

import bz2
import gzip
import logging
import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.dumps import head, item, json_dump, multistream, page
from wikianchor.io.config_file import tomllib
from wikianchor.pipelines.arrays.tables import open_tables, save_tables

ROOT = Path(__file__).parent.parent
ZEROS = 64 << 20
# Beam and its libraries take 200 MB; a page may take 256 MB, twice while it grows.
MOST_MEMORY = 1000 << 20
SECRET = "hf_abcdefghijklmnopqrstuvwxyz"


def peak(*arguments: object) -> tuple[int, str, int]:
    """Run a command in a process of its own: its status, its stderr, and the most memory that it held, in bytes. What
    the kernel says of a child that has ended begins with its parent's peak, so the process itself tells its own."""
    code = (
        "import sys; from wikianchor.pipelines.cli.command_line import main; status = main(sys.argv[1:]);"
        "print(open('/proc/self/status').read()); raise SystemExit(status)"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    memory = re.search(r"^VmHWM:\s+(\d+) kB", ended.stdout, re.MULTILINE)
    assert memory is not None, ended.stderr
    return ended.returncode, ended.stderr, int(memory[1]) * 1024


@pytest.fixture(scope="module")
def zeros() -> dict[str, bytes]:
    """A stream of zeros: 20 of them are more than a process may hold, and 1 kB of bz2, 1.3 MB of gzip."""
    data = bytes(ZEROS)
    return {"bz2": bz2.compress(data), "gz": gzip.compress(data, mtime=0)}


@pytest.mark.parametrize(
    ("inside", "streams", "most"),
    [
        # Nothing of it is kept, so that half of the zeros is more than the process may take.
        pytest.param("", 10, MOST_MEMORY // 2, id="between pages"),
        pytest.param("  <page>\n    <title>A</title>\n", 20, MOST_MEMORY, id="in a page"),
    ],
)
def test_a_bomb_of_pages_is_bounded(
    inside: str, streams: int, most: int, zeros: dict[str, bytes], tmp_path: Path
) -> None:
    dump = tmp_path / "enwiki-20260101-pages-articles.xml.bz2"
    dump.write_bytes(bz2.compress(head() + inside.encode()) + zeros["bz2"] * streams)
    assert streams * ZEROS > most
    assert dump.stat().st_size < 10_000
    status, said, memory = peak("sentences", f"--dumps={dump}", f"--output={tmp_path}/out")
    assert status == 1
    assert str(dump) in said.splitlines()[-1]
    assert memory < most
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_bomb_of_items_is_bounded(zeros: dict[str, bytes], tmp_path: Path) -> None:
    dump = tmp_path / "wikidata-20260101-all.json.gz"
    dump.write_bytes(gzip.compress(b"[\n") + zeros["gz"] * 20)
    status, said, memory = peak("entities", f"--wikidata={dump}", "--wikis=enwiki", f"--output={tmp_path}/out")
    assert status == 1
    assert "a line is longer than" in said
    assert memory < MOST_MEMORY


def test_a_bomb_of_a_table_is_bounded(zeros: dict[str, bytes], tmp_path: Path) -> None:
    dump = tmp_path / "enwiki-20260101-page_props.sql.gz"
    dump.write_bytes(gzip.compress(b"CREATE TABLE `page_props` (\n  `pp_page` int") + zeros["gz"] * 20)
    status, _, memory = peak("entities", f"--page_props={dump}", "--wikis=enwiki", f"--output={tmp_path}/out")
    assert status == 1
    assert memory < MOST_MEMORY


NAMES = ["../../../escaped", "/etc/escaped", "a/b", "..", "nul", "C:\\escaped", "-rf", "$(touch escaped)", "x" * 255]
PLAIN = ["One", "Two", "Three"]


def test_titles_are_never_names_of_files(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    dumps = tmp_path / "deep" / "dumps"
    dumps.mkdir(parents=True)
    text = "Here the [[{}]] is a thing of ours that stands in sentence {} of them."
    titles = [*NAMES, *PLAIN]
    pages = [page(name, number, text.format(PLAIN[number % 3], number)) for number, name in enumerate(titles, 1)]
    (dumps / "enwiki-20260101-pages-articles-multistream.xml.bz2").write_bytes(multistream(pages))
    items = [item(number, {"enwiki": name}, [99], {"en": f"../{name}"}) for number, name in enumerate(titles, 1)]
    (dumps / "wikidata-20260101-all.json").write_bytes(json_dump([*items, item(99, {"enwiki": ".."}, [1])]))
    out = tmp_path / "deep" / "out"
    assert wikianchor("build", f"--dumps={dumps}", f"--output={out}", "--min_links=0").status == 0
    assert wikianchor("report", out, f"--html={out}/report.html", f"--dumps={dumps}").status == 0
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(out in path.parents or dumps in path.parents for path in files)
    known = {"manifest.json", "README.md", "report.html"}
    assert {path.name for path in files if out in path.parents} <= known | {
        path.name for path in files if path.suffix == ".parquet" and path.name.startswith("train-")
    }
    assert not Path("/etc/escaped").exists()


def test_a_wiki_is_never_a_path(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    data = bz2.decompress(multistream([page("A", 1, "[[B]] is here.")]))
    data = data.replace(b"<dbname>enwiki</dbname>", b"<dbname>../../../tmp/evil</dbname>")
    (dumps / "enwiki-20260101-pages-articles.xml.bz2").write_bytes(bz2.compress(data))
    (dumps / "wikidata-20260101-all.json").write_bytes(json_dump([item(1, {"enwiki": "B"}, [99])]))
    assert wikianchor("build", f"--dumps={dumps}", f"--output={tmp_path}/out").status in (1, 2)
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").rglob("*.parquet"))


def test_temporary_files_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = save_tables(str(tmp_path / "shared"), "titles", {"a": np.arange(3)})
    assert open_tables(f"file://{path}")["a"].tolist() == [0, 1, 2]
    private = tmp_path / f"wikianchor-{os.geteuid()}"
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


@pytest.mark.parametrize("planted", ["readable", "link"])
def test_a_planted_directory_is_not_used(planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    private = tmp_path / f"wikianchor-{os.geteuid()}"
    if planted == "link":
        (tmp_path / "theirs").mkdir(mode=0o700)
        private.symlink_to(tmp_path / "theirs")
    else:
        private.mkdir()
        private.chmod(0o777)
    path = save_tables(str(tmp_path / "shared"), "titles", {"a": np.arange(3)})
    with pytest.raises(Exception, match="no private directory"):
        open_tables(f"file://{path}")


def test_no_secret_is_said(
    tmp_path: Path, wikianchor: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Tokens come from the environment, and neither a failure nor the log repeats them."""
    pytest.importorskip("huggingface_hub", reason="NO HUB: pip install '.[hub]'")
    for name in ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, SECRET)
    # Nothing listens there, and there is no need to wait for it. The library may have been loaded before.
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "us")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    demo = ROOT / "demo" / "dumps"
    assert wikianchor("build", f"--dumps={demo}", f"--output={tmp_path}/out", "--min_links=2").status == 0
    caplog.set_level(logging.DEBUG)
    ended = wikianchor("publish", tmp_path / "out" / "pairs", "--to=hf://user/name")
    assert ended.status == 1
    assert SECRET not in ended.output + "".join(ended.said) + "".join(ended.progress) + caplog.text
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert kept == []


def test_no_password_in_an_address(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    """It would stand in the log and in download.json."""
    for flag in ("mirror", "site"):
        ended = wikianchor(
            "download", "--wikis=en", f"--output={tmp_path}", f"--{flag}=https://me:{SECRET}@example.org/"
        )
        assert ended.status == 2
        assert ended.said == [f"wikianchor: --{flag}: no name and password in the address: keep them in ~/.netrc"]


def test_the_lock_pins_and_hashes_everything() -> None:
    text = (ROOT / "docker" / "requirements.lock").read_text("utf-8")
    blocks = re.split(r"\n(?=\w)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).strip())
    assert len(blocks) > 50
    for block in blocks:
        assert re.match(r"[\w.-]+(\[[\w,-]+\])?==[\w.]+ (; .+ )?\\\n", block), block.splitlines()[0]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block)
    pinned = {re.match(r"[\w.-]+", block)[0].lower().replace("_", "-") for block in blocks}  # type: ignore[index]
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = [re.match(r"[\w-]+", need)[0] for need in needed]  # type: ignore[index]
    assert len(names) > 5
    assert set(names) <= pinned
