"""A model of the tests and small sets in the released layouts, of the tests' own sentences."""

import importlib.util
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.trainer.pairs import WORDS

# The extra `eval` comes apart from torch.
collect_ignore_glob = ["*.py"] if any(importlib.util.find_spec(name) is None for name in ("torch", "sklearn")) else []


def sentences(rows: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(3, 9))) for _ in range(rows)]


def write(path: Path, lines: Sequence[str], end: str = "\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def sts_rows(rows: int, seed: int = 0) -> list[tuple[str, str, str]]:
    """Pairs whose gold score is five times the share of words that the second keeps of the first."""
    draw = random.Random(seed)
    actual = []
    for first in sentences(rows, seed):
        words = first.split()
        kept = [word if draw.random() < 0.6 else draw.choice(WORDS) for word in words]
        same = sum(a == b for a, b in zip(words, kept, strict=True))
        actual.append((first, " ".join(kept), f"{5 * same / len(words):.3f}"))
    return actual


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """A directory with STS12, the STS Benchmark and SICK."""
    root = tmp_path / "sets"
    for number, name in enumerate(("one", "two.more")):
        rows = sts_rows(30 + 10 * number, number)
        write(root / "a/STS12-en-test" / f"STS.input.{name}.txt", [f"{a}\t{b}" for a, b, _ in rows])
        write(root / "a/STS12-en-test" / f"STS.gs.{name}.txt", [gold for *_, gold in rows])
    for split in ("dev", "test"):
        rows = sts_rows(40, len(split))
        write(
            root / f"STSBenchmark/sts-{split}.csv",
            [f"g\tf\ty\t{n}\t{r[2]}\t{r[0]}\t{r[1]}" for n, r in enumerate(rows)],
        )
    head = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    for number, (part, end) in enumerate((("train", "\n"), ("trial", "\n"), ("test_annotated", "\r\n"))):
        rows = sts_rows(25, 20 + number)
        write(
            root / f"SICK_{part}.txt",
            [head, *(f"{n}\t{a}\t{b}\t{g}\tNEUTRAL" for n, (a, b, g) in enumerate(rows))],
            end,
        )
    return root
