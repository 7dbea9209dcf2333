"""A command leaves nothing in the directory for temporary files, however it ends.

`tests/engine/test_faults.py` looks there after an interrupt, and where a launcher of workers is killed."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from wikianchor.pipelines.dataset import temporary
from wikianchor.pipelines.dataset.workspace import private_directory

DEMO = Path(__file__).parents[2] / "demo" / "dumps"
JAPANESE = next(DEMO.glob("jawiki-*.xml.bz2"))
PORTABLE = ["--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=LOOPBACK", "--shuffle=files"]


def start(python: Path, folder: Path, *flags: str) -> subprocess.Popen[str]:
    """Start a command with a directory for temporary files of its own."""
    (folder / "temporary").mkdir()
    command = [
        python,
        "-m",
        "wikianchor.pipelines.cli.command_line",
        "sentences",
        f"--dumps={JAPANESE}",
        f"--output={folder}/out",
    ]
    environment = {**os.environ, "TMPDIR": f"{folder}/temporary"}
    return subprocess.Popen([*command, *flags], env=environment, text=True, stdout=-1, stderr=-1)


def left(folder: Path) -> list[str]:
    return [entry.name for entry in (folder / "temporary").iterdir()]


@pytest.mark.parametrize("flags", [[], ["--workers=2"], PORTABLE], ids=["threads", "processes", "job service"])
def test_a_run_to_its_end(flags: list[str], tmp_path: Path, programs: Path) -> None:
    process = start(programs / "python", tmp_path, *flags)
    errors = process.communicate(timeout=120)[1]
    assert process.returncode == 0, errors
    assert left(tmp_path) == []


def test_an_output_that_cannot_be_used(tmp_path: Path, programs: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").touch()
    process = start(programs / "python", tmp_path)
    assert "holds something else" in process.communicate(timeout=120)[1]
    assert process.returncode == 2
    assert left(tmp_path) == []


def test_a_command_that_is_killed(tmp_path: Path) -> None:
    process = start(Path(sys.executable), tmp_path)
    last = time.monotonic() + 60
    while not (tmp_path / "out" / "_unfinished").exists():
        assert time.monotonic() < last
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert left(tmp_path) == []


def test_beams_files_are_apart_from_ours() -> None:
    private = private_directory()
    with temporary.beams_temporary_files():
        assert private_directory() == private
        path = Path(tempfile.mkdtemp())
        with temporary.beams_temporary_files():
            assert private_directory() == private
    assert private_directory() == private
    assert path.exists()
    temporary.remove_beams_temporary_files()
    assert not path.exists()
    assert not path.parent.exists()
