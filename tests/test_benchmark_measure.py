"""What the benchmarks measure with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lib.measure import instructions

# Writes what the real one does, and runs the command.
PERF = """#!{python} -IS
import subprocess, sys
output = next(word.partition("=")[2] for word in sys.argv if word.startswith("--output="))
with open(output, "w") as file:
    print("# started on", file=file)
    print({count!r}, "", "instructions:u", "1000", "100.00", sep=",", file=file)
sys.exit(subprocess.call(sys.argv[sys.argv.index("--") + 1 :]))
"""


@pytest.mark.parametrize(("count", "found"), [("123456", 123456), ("<not supported>", None)])
def test_instructions_are_counted_where_the_machine_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: str, found: int | None
) -> None:
    program = tmp_path / "perf"
    program.write_text(PERF.format(python=sys.executable, count=count))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    made = tmp_path / "made"
    assert instructions([sys.executable, "-c", f"open({str(made)!r}, 'w')"]) == found
    assert made.exists()


def test_a_machine_without_perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert instructions([sys.executable, "-c", "pass"]) is None
