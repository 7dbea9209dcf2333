"""Examples in the docs that train a model."""

import json
import re
from pathlib import Path

import pytest

from tests.test_plots import code, folder

__all__ = ["folder"]


def test_the_better_version_has_the_smaller_errors(
    folder: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pairs whose score depends on the first word alone; or on nothing."""
    pytest.importorskip("pandas")
    words = ["kana", "lona", "mina", "rusi", "tena", "vota"]
    rows = [(5 * (n % 6 < 3), words[n % 6], words[n * 7 % 5]) for n in range(200)]
    (folder / "out").mkdir()
    (folder / "out/all.csv").write_text(
        "".join(f"{n * 7919 % 11 % 2 * 5}\t{a}\t{b}\n" for n, (_, a, b) in enumerate(rows))
    )
    (folder / "out/bleu-0.csv").write_text("".join(f"{gold}\t{a}\t{b}\n" for gold, a, b in rows))
    tests = [{"sentence1": a, "sentence2": b, "label": gold} for gold, a, b in rows[:60]]
    (folder / "valid-v1.3.json").write_text("\n".join(map(json.dumps, tests)))
    settings = f"model, epochs, rate, size = {str(tiny_model)!r}, 15, 3e-3, 16"
    exec(re.sub("^model, epochs.*", settings, code("papers/sdjc.md", "r2_score"), flags=re.MULTILINE), {})
    noise, good = ([float(cell) for cell in line.split()[3::2]] for line in capsys.readouterr().out.splitlines())
    assert good[0] < noise[0]
    assert good[1] < noise[1]
    assert good[2] > 0.8 > noise[2]
