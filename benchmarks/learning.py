"""Does EASE learn more than SimCSE? Retrieval on Tatoeba before, during and after training on the same rows.

    WIKIANCHOR_DATA=data python benchmarks/learning.py --seeds=1,2,3

MiniLM, which knows English, is trained further on pairs of the real slices in English, German and Estonian. In the
stand-in for Wikidata two articles of one title are one item. Both objectives see the rows whose entity is linked in two
of the wikis or more, equally many of each wiki. Entity vectors start as MiniLM's vectors of the labels. The encoder
computes in bf16.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
from lib import real_pairs, slices
from lib.measure import parser, report, table

from wikianchor.trainer import task
from wikianchor.trainer.config import make
from wikianchor.trainer.data.shards import open_pairs
from wikianchor.trainer.entity_vectors import initial_vectors
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.task import EvaluationOptions, SentenceVectors
from wikianchor.trainer.evaluate.tasks import tatoeba
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.loop.train import train

LANGUAGES = {"de": "deu", "et": "est"}
EPOCHS, POINTS = 2, 4
SHARED: dict[str, Any] = {"softmax_size": 32, "max_length": 24, "learning_rate": 5e-5, "pooler": "avg"}
OBJECTIVES: dict[str, dict[str, Any]] = {
    "simcse": {},
    # The paper's lambda and tau are for a hundred times as many steps and for vectors of Wikipedia2Vec.
    "ease": {"entity_weight": 5.0, "entity_temperature": 0.05, "projection": "none"},
}


@dataclass
class Curve:
    """Replaces the dev set: keeps the accuracy at each evaluation, in per cent by language."""

    sets: Sequence[Any]
    points: list[dict[str, float]] = field(default_factory=list)
    active: bool = True
    name: str = "Tatoeba"

    def score(self, model: Any) -> tuple[float, Mapping[str, float]]:
        """Return the mean accuracy in per cent, and that of each language."""
        with torch.autocast("cpu", torch.bfloat16):
            found = tatoeba.score(self.sets, SentenceVectors(model.encoder), EvaluationOptions()).splits["test"]
        point = {row["hf_subset"].partition("-")[0]: 100 * row["main_score"] for row in found}
        self.points.append(point)
        print(" ".join(f"{code} {value:.1f}" for code, value in point.items()), file=sys.stderr, flush=True)
        return mean(point.values()), point


def main() -> None:
    """Train, and print the tables."""
    flags = parser(__doc__)
    flags.add_argument("--seeds", default="1,2,3", help="a run of each objective for each (1,2,3)")
    flags.add_argument("--rows", type=int, default=800, help="rows of each wiki in an epoch (800)")
    arguments = flags.parse_args()
    # Several threads that wait for each other are slow on a busy machine.
    torch.set_num_threads(1)
    data = shared_entities(real_pairs.pairs(arguments.work), arguments.work / "trainer-shared")
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    curves = {name: [learn(name, seed, data, arguments.work, arguments.rows) for seed in seeds] for name in OBJECTIVES}
    codes = list(LANGUAGES.values())
    lines: list[list[Any]] = []
    for name, runs in curves.items():
        for points in zip(*runs, strict=True):
            columns = [[point[code] for point in points] for code in codes]
            columns.append([mean(row) for row in zip(*columns, strict=True)])
            lines.append([name, round(points[0]["rows"]), *map(spread, columns)])
    head = ["objective", "rows seen", *codes, "mean"]
    report(f"trainer: learning: Tatoeba accuracy, % over seeds {arguments.seeds}", table(head, lines))
    lines = []
    for number, seed in enumerate(seeds):
        ends = [(runs[number][0], runs[number][-1]) for runs in curves.values()]
        gained = [mean(last[code] - first[code] for code in codes) for first, last in ends]
        lines.append([str(seed), *gained, gained[1] - gained[0]])
    text = table(["seed", *OBJECTIVES, "ease above simcse"], lines)
    report("trainer: learning: points gained, mean of the languages", text)


def spread(values: Sequence[float]) -> str:
    """Return mean and standard deviation."""
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def shared_entities(data: Path, output: Path) -> Path:
    """Return a `pairs` dataset of the rows whose entity is linked in two wikis or more; write it unless it exists."""
    if not (output / "manifest.json").exists():
        rows = pq.read_table(data / "data" / "pairs")
        wikis = rows.select(["entity_id", "wiki"]).group_by("entity_id").aggregate([("wiki", "count_distinct")])
        several = wikis.filter(pc.greater(wikis["wiki_count_distinct"], 1))["entity_id"]
        real_pairs.subset(data, rows.filter(pc.is_in(rows["entity_id"], several)), output)
    return output


def learn(objective: str, seed: int, data: Path, work: Path, quota: int) -> list[dict[str, float]]:
    """Return the accuracies before training and at each point; `rows` is the number of rows seen."""
    model, vectors = real_pairs.minilm(), work / "label-vectors.safetensors"
    options = {**SHARED, **OBJECTIVES[objective]}
    if objective == "ease":
        if not vectors.exists():
            with contextlib.redirect_stdout(sys.stderr):
                initial_vectors.main([f"--data={data}", f"--encode={model}", f"--output={vectors}"])
        options["entity_vectors"] = str(vectors)
    steps = len(real_pairs.LANGUAGES) * quota * EPOCHS // SHARED["softmax_size"]
    every = steps // POINTS
    with tempfile.TemporaryDirectory() as scratch:
        options |= {"data": str(data), "model": model, "output": scratch, "cache": str(work / "tokens")}
        options |= {"resume": False, "keep": "last", "checkpoint_steps": steps, "eval_steps": every}
        options |= {"quota": str(quota), "max_steps": every * POINTS, "epochs": EPOCHS, "seed": seed}
        config = make(objective, {**options, "device": "cpu", "precision": "bf16"}, {})
        run = task.prepare(config, open_pairs(config.data), torch.device("cpu"), Log(scratch, False))
        curve = Curve(
            tatoeba.load(EvaluationFiles(str(slices.data() / "eval")), EvaluationOptions(languages=tuple(LANGUAGES)))
        )
        curve.score(run.model)
        train(replace(run, dev=curve))
    return [{"rows": number * every * SHARED["softmax_size"], **point} for number, point in enumerate(curve.points)]


if __name__ == "__main__":
    main()
