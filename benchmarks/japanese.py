"""The Japanese sets of `wikianchor.trainer.evaluate` against a script of ten lines: the same model, the same numbers.

The script shares nothing with the evaluator: it reads the files itself, encodes with sentence-transformers, and takes
scipy's Spearman. The model is all-MiniLM-L6-v2; it knows little Japanese, which makes no difference here. Sets that are
not under $WIKIANCHOR_DATA are left out.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from measure import parser, report, table
from published import packaged_model

from wikianchor.trainer.evaluate.command import run
from wikianchor.trainer.evaluate.options import parse

# The set, its part, and where its files lie.
FILES = {
    **{(f"STS{year}.ja", "test"): f"STS{year}-ja-test/STS.input.*.txt" for year in range(12, 17)},
    **{("STSBenchmark.ja", split): f"STSBenchmark/sts-{split}.csv" for split in ("dev", "test")},
    **{("JACSTS", split): f"JAC-sts-{split}.csv" for split in ("dev", "test")},
    ("JSTS.sdjc", "test"): "JSTS-test.csv",
    ("JSTS", "test"): "jsts-v1.3/valid-v1.3.json",
    ("JSICK", "test"): "jsick/test.tsv",
}
Triple = tuple[str, str, float]


def triples(path: Path) -> list[Triple]:
    """Return the pairs of a file, read as simply as can be."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if path.name.startswith("STS.input"):
        gold = path.with_name(path.name.replace("input", "gs")).read_text(encoding="utf-8").split("\n")
        rows = [[score.strip(), *line.split("\t")[:2]] for score, line in zip(gold, lines, strict=False)]
    elif path.suffix == ".json":
        found = [json.loads(line) for line in lines if line]
        rows = [[str(one["label"]), one["sentence1"], one["sentence2"]] for one in found]
    elif path.name == "test.tsv":
        head = lines[0].split("\t")
        places = [head.index(f"{name}_Ja") for name in ("relatedness_score", "sentence_A", "sentence_B")]
        rows = [[line.split("\t")[place] for place in places] for line in lines[1:] if line]
    else:
        rows = [line.split("\t") for line in lines if line]
    return [(row[1].strip(), row[2].strip(), float(row[0])) for row in rows if len(row) == 3 and row[0]]


def ten_lines(model: Any, found: list[Triple]) -> float:
    """Return Spearman in per cent."""
    from scipy.stats import spearmanr

    first = model.encode([one for one, _, _ in found], normalize_embeddings=True)
    second = model.encode([other for _, other, _ in found], normalize_embeddings=True)
    return float(100 * spearmanr((first * second).sum(1), [gold for *_, gold in found]).statistic)


def ours(model: Path, data: str, split: str, tasks: str) -> dict[str, tuple[float, int]]:
    """Return Spearman in per cent and the number of pairs, by set."""
    flags = parse([f"--model={model}", f"--data={data}", f"--tasks={tasks}", f"--split={split}"])
    results, _ = run(flags)
    rows = {result.task: next(iter(result.scores.splits.values()))[0] for result in results}
    return {name: (100 * row["main_score"], row["rows"]) for name, row in rows.items()}


def main() -> None:
    from sentence_transformers import SentenceTransformer

    flags = parser(__doc__)
    flags.add_argument("--model", type=Path, help="a copy of all-MiniLM-L6-v2")
    flags.add_argument("--data", default=os.path.join(os.environ.get("WIKIANCHOR_DATA", "."), "eval"))
    arguments = flags.parse_args()
    path = arguments.model or packaged_model()
    there = {key: sorted(Path(arguments.data).rglob(pattern)) for key, pattern in FILES.items()}
    model = SentenceTransformer(str(path), device="cpu")
    rows: list[list[Any]] = []
    for split in ("test", "dev"):
        names = [name for (name, part), files in there.items() if part == split and files]
        scores = ours(path, arguments.data, split, ",".join(names)) if names else {}
        for name in names:
            found = [one for file in there[name, split] for one in triples(file)]
            theirs = ten_lines(model, found)
            score, pairs = scores[name]
            assert pairs == len(found), f"{name}: {pairs} pairs, and {len(found)}"
            rows.append([f"{name} ({split})", pairs, f"{score:.4f}", f"{theirs:.4f}", f"{score - theirs:+.5f}"])
    report("Japanese STS", table(["set (part)", "pairs", "evaluator", "ten lines", "difference"], rows))


if __name__ == "__main__":
    main()
