"""`benchmarks/gpu.py` at toy size, so that it works the first time there is a card."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

# Imported by the test itself: it takes seconds.
pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("torch", "sentence_transformers")),
    reason="NO TORCH OR SENTENCE-TRANSFORMERS: pip install '.[train,dev]'",
)
BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def test_every_part_has_its_row(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--toy"])
    import gpu
    import torch

    threads = torch.get_num_threads()
    try:
        gpu.main(["--toy", "--device=cpu"])
    finally:
        torch.set_num_threads(threads)
    output = capsys.readouterr().out
    assert "failed" not in output
    assert "No time was left" not in output
    names = [line.split("|")[1].strip() for line in output.splitlines() if line.startswith("|")]
    for objective in ("simcse", "ease"):
        assert {f"{objective}, eager", f"{objective}, sentence-transformers"} <= set(names)
    assert "loader alone" in names
    # On a CPU there is neither an MFU nor an idle GPU.
    (line,) = [line for line in output.splitlines() if line.startswith("| simcse, eager")]
    assert line.count("|  |  |") == 1


def test_kernels_that_overlap_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import gpu

    assert gpu.union([(0, 2), (1, 3), (5, 6), (5.5, 5.7)]) == 4
    assert gpu.union([]) == 0
