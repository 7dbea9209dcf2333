"""`make pythons`: which Pythons it finds, and what it says of one that fails."""

import os
import sys
from pathlib import Path

import pytest

from tools import pythons


def script(path: Path, *lines: str, status: int = 0) -> None:
    """Write a program that prints lines, whatever its arguments."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines) + f"exit {status}\n")
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with two Pythons on PATH, one of pyenv, and some that do not count."""
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    monkeypatch.setenv("PYENV_ROOT", f"{tmp_path}/pyenv")
    script(tmp_path / "bin/python3", "3.11")
    script(tmp_path / "bin/python3.13", "3.13")
    # pyenv's stand-in for a version that is not switched on.
    script(tmp_path / "bin/python3.12", "pyenv: python3.12: command not found", status=127)
    # One without a GIL prints nothing.
    script(tmp_path / "bin/python3.14")
    script(tmp_path / "pyenv/versions/3.12.1/bin/python", "3.12")
    script(tmp_path / "pyenv/versions/3.9.18/bin/python", "3.9")
    return tmp_path


def test_pythons_are_found(machine: Path) -> None:
    assert pythons.supported_versions() == ["3.10", "3.11", "3.12", "3.13", "3.14"]
    assert pythons.find_pythons(pythons.supported_versions()) == {
        "3.11": f"{machine}/bin/python3",
        "3.12": f"{machine}/pyenv/versions/3.12.1/bin/python",
        "3.13": f"{machine}/bin/python3.13",
    }


def test_the_python_that_runs_this_is_known() -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert pythons.is_version(version, sys.executable)
    assert not pythons.is_version("3.9", sys.executable)


def test_a_failure_is_said(machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(pythons, "PLACE", machine / "out")
    (machine / "out").mkdir()
    monkeypatch.setattr(pythons, "build_wheel", lambda python, directory: machine / "x.whl")
    monkeypatch.setattr(pythons, "install", lambda directory, python, wheel: Path(python))
    monkeypatch.setattr(pythons, "demo", lambda work, python: None)

    def test(work: Path, python: Path) -> None:
        assert not list(work.iterdir())
        pythons.run([sys.executable, "-c", f"raise SystemExit({'3.12' in str(python)})"], work)

    monkeypatch.setattr(pythons, "test", test)
    assert pythons.main() == 1
    printed, said = capsys.readouterr()
    lines = printed.splitlines()
    assert lines[0] == "Pythons here: 3.11, 3.12, 3.13; not here: 3.10, 3.14"
    assert lines[2].startswith("Python 3.11: passed (")
    assert lines[4].startswith("Python 3.12: failed: Command '[")
    assert lines[-1] == "passed: 3.11, 3.13"
    assert said == "pythons: failed: 3.12: see above\n"


def test_no_python_at_all(machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setenv("PYENV_ROOT", os.devnull)
    assert pythons.main() == 1
    assert "no CPython of 3.10, 3.11, 3.12, 3.13, 3.14 on PATH or below ~/.pyenv" in capsys.readouterr().err
