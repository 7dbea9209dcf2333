"""`make pythons`: which Pythons it finds, and what it says of one that fails."""

import os
import sys
from pathlib import Path

import pytest

from tools import pythons


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with Pythons on PATH and of pyenv, and some that do not count."""
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    monkeypatch.setenv("PYENV_ROOT", f"{tmp_path}/pyenv")
    # That of 3.12 on PATH is pyenv's stand-in.
    names = ("bin/python3", "bin/python3.11", "bin/python3.12", "bin/python3.13")
    for name in (*names, "pyenv/versions/3.12.1/bin/python3.12", "pyenv/versions/3.9.18/bin/python3.9"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    return tmp_path


def test_pythons_are_found(machine: Path) -> None:
    assert pythons.supported_versions() == ["3.10", "3.11", "3.12", "3.13", "3.14"]
    assert pythons.find_pythons(pythons.supported_versions()) == {
        "3.11": f"{machine}/bin/python3.11",
        "3.12": f"{machine}/pyenv/versions/3.12.1/bin/python3.12",
        "3.13": f"{machine}/bin/python3.13",
    }


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
