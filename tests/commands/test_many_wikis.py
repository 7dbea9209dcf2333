"""A build of many tiny wikis: few open files, the same bytes, and a wiki without a sentence stops no other."""

import hashlib
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.many_wikis import write
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.commands.build.plan import UNCERTAINTY, build_stages
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.wikimedia.inventory import find_dumps


def build(dumps: Path, output: Path, open_files: int) -> str:
    """Run the command in a process with a limit on its open files; return what it says."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))

    command = [sys.executable, "-m", "wikianchor", "build", f"--dumps={dumps}", f"--output={output}", "--min_links=0"]
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def build_here(dumps: Path, output: Path) -> None:
    """Run the command in this process, without a limit."""
    assert main(["build", f"--dumps={dumps}", f"--output={output}", "--min_links=0"]) == 0


def digests(output: Path) -> dict[str, str]:
    paths = sorted(output.rglob("*.parquet"))
    return {str(path.relative_to(output)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def blocks(directory: Path) -> int:
    """Return the bytes that files have on the disk."""
    return sum(path.lstat().st_blocks * 512 for path in directory.rglob("*"))


@pytest.mark.slow
def test_many_wikis_need_few_open_files_and_an_empty_one_is_a_warning(tmp_path: Path) -> None:
    dumps = write(tmp_path / "dumps", 30, empty=True)
    said = build(dumps, tmp_path / "limited", 96)
    assert "no sentence came out of the dump of qabdwiki" in said
    assert "no pair of qabdwiki came out" in said
    manifest = read_manifest(str(tmp_path / "limited/pairs"))
    assert manifest is not None
    assert manifest["ledger"]["links"]["qabdwiki"] == {"seen": 0}
    assert manifest["ledger"]["links"]["qaaawiki"]["kept"] > 0
    build_here(dumps, tmp_path / "free")
    assert digests(tmp_path / "limited") == digests(tmp_path / "free")
    # The disk that the plan shows, in which the blocks of small files are most.
    planned = sum(stage.disk for stage in build_stages(find_dumps(str(dumps), ()), "", 0))
    assert planned / UNCERTAINTY < blocks(tmp_path / "free") < planned * UNCERTAINTY


@pytest.mark.nightly
def test_310_wikis_under_256_open_files_give_the_same_bytes(tmp_path: Path) -> None:
    dumps = write(tmp_path / "dumps", 310)
    build(dumps, tmp_path / "limited", 256)
    build_here(dumps, tmp_path / "free")
    assert digests(tmp_path / "limited") == digests(tmp_path / "free")
