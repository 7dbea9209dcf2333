"""Does EASE learn more than SimCSE? Retrieval on Tatoeba before, during and after training on the same rows.

    WIKIANCHOR_DATA=data python benchmarks/learning.py --seeds=1,2,3
    WIKIANCHOR_DATA=data python benchmarks/learning.py --seeds=1,2,3,4,5 --rows=400 --points=1 \\
        --objectives=simcse,simcse-unsaturated,ease-paper,ease-paper-shuffled,ease,ease-shuffled

MiniLM, which knows English, is trained further on pairs of the real slices in English, German and Estonian. In the
stand-in for Wikidata two articles of one title are one item. Both objectives see the rows whose entity is linked in two
of the wikis or more, equally many of each wiki. Entity vectors start as MiniLM's vectors of the labels. The encoder
computes in bf16. Each finished run is a line of `learning.jsonl` in the work directory, and is not run again.

- simcse: temperature 0.05, at which MiniLM's loss is near 0 from the first steps
- simcse-unsaturated: temperature 0.2, at which it is not
- ease-paper: lambda 0.01 and tau 10, as the paper for several languages
- ease: lambda 5 and tau 0.05
- ease-paper-shuffled, ease-shuffled: the same two, with the entities of the rows exchanged at random within each wiki
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
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
RUNS = "learning.jsonl"
SHARED: dict[str, Any] = {"softmax_size": 32, "max_length": 24, "learning_rate": 5e-5, "pooler": "avg"}
# The paper's lambda and tau are for a hundred times as many steps and for vectors of Wikipedia2Vec.
_EASE = {"entity_weight": 5.0, "entity_temperature": 0.05, "projection": "none"}
_PAPER = {"entity_weight": 0.01, "entity_temperature": 10.0, "projection": "none"}
OBJECTIVES: dict[str, dict[str, Any]] = {
    "simcse": {},
    "simcse-unsaturated": {"sentence_temperature": 0.2},
    "ease-paper": _PAPER,
    "ease-paper-shuffled": _PAPER,
    "ease": _EASE,
    "ease-shuffled": _EASE,
}
# Quantile 0.975 of Student's t by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}


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
    flags.add_argument("--points", type=int, default=POINTS, help=f"evaluations after the first one ({POINTS})")
    flags.add_argument("--objectives", default="simcse,ease", help="with commas, the first to compare with")
    arguments = flags.parse_args()
    objectives = arguments.objectives.split(",")
    # Several threads that wait for each other are slow on a busy machine.
    torch.set_num_threads(1)
    data = shared_entities(real_pairs.pairs(arguments.work), arguments.work / "trainer-shared")
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    shuffled = shuffled_entities(data, arguments.work / "trainer-shuffled")
    curves: dict[str, list[list[dict[str, float]]]] = {name: [] for name in objectives}
    # Without training, all runs score the same.
    before: dict[str, float] = {}
    # All objectives of a seed, then the next seed: what is printed of an unfinished call can be compared.
    for seed in seeds:
        for name in objectives:
            print(f"-- {name}, seed {seed}", file=sys.stderr, flush=True)
            rows = shuffled if name.endswith("-shuffled") else data
            key = {"objective": name, "seed": seed, "rows": arguments.rows, "points": arguments.points}
            curve = finished_run(arguments.work / RUNS, key)
            if not curve:
                curve = learn(name, seed, rows, arguments, data_of_vectors=data, before=before)
                with (arguments.work / RUNS).open("a") as file:
                    file.write(json.dumps({**key, "curve": curve}) + "\n")
            before = {code: curve[0][code] for code in LANGUAGES.values()}
            curves[name].append(curve)
    codes = list(LANGUAGES.values())
    lines: list[list[Any]] = []
    for name, runs in curves.items():
        for points in zip(*runs, strict=True):
            columns = [[point[code] for point in points] for code in codes]
            columns.append([mean(row) for row in zip(*columns, strict=True)])
            lines.append([name, round(points[0]["rows"]), *map(spread, columns)])
    head = ["objective", "rows seen", *codes, "mean"]
    report(f"trainer: learning: Tatoeba accuracy, % over seeds {arguments.seeds}", table(head, lines))
    gains = {
        name: [mean(points[-1][code] - points[0][code] for code in codes) for points in runs]
        for name, runs in curves.items()
    }
    lines = []
    for name, values in gains.items():
        above = [value - first for value, first in zip(values, gains[objectives[0]], strict=True)]
        lines.append([name, *map(interval, (values, above) if name != objectives[0] else (values,))])
    head = ["objective", "points gained", f"above {objectives[0]}"]
    filled = [line + [""] * (len(head) - len(line)) for line in lines]
    report("trainer: learning: points gained, mean of the languages, 95 % intervals", table(head, filled))


def finished_run(path: Path, key: Mapping[str, Any]) -> list[dict[str, float]]:
    """Return the points of a run that an earlier call has finished; none if there is no such run."""
    lines = path.read_text().splitlines() if path.exists() else []
    runs = (json.loads(line) for line in lines)
    return next((run["curve"] for run in runs if key.items() <= run.items()), [])


def interval(values: Sequence[float]) -> str:
    """Return the mean, and half the width of its 95 % interval by Student's t."""
    if len(values) - 1 not in STUDENT:
        return f"{mean(values):.2f}"
    return f"{mean(values):.2f} ± {STUDENT[len(values) - 1] * stdev(values) / len(values) ** 0.5:.2f}"


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


def shuffled_entities(data: Path, output: Path) -> Path:
    """Return the rows of a `pairs` dataset with the entities of other rows of the same wiki; write it unless it exists.

    Each entity has as many rows as before, with its own hard negatives.
    """
    if not (output / "manifest.json").exists():
        rows = pq.read_table(data / "data" / "pairs").sort_by("wiki")
        wikis = rows["wiki"].to_numpy()
        generator = np.random.default_rng(1)
        order = np.concatenate([generator.permutation(np.flatnonzero(wikis == wiki)) for wiki in np.unique(wikis)])
        for name in ("entity_id", "hard_negative_ids"):
            rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), rows[name].take(order))
        real_pairs.subset(data, rows, output)
    return output


def learn(
    objective: str, seed: int, data: Path, arguments: Namespace, data_of_vectors: Path, before: dict[str, float]
) -> list[dict[str, float]]:
    """Return the accuracies before training and at each point; `rows` is the number of rows seen.

    Args:
        objective: key of `OBJECTIVES`.
        seed: of the order of rows and of dropout.
        data: the `pairs` dataset to train on.
        arguments: of the command line.
        data_of_vectors: the dataset whose labels give the vectors of entities.
        before: the accuracies before training; empty if they are not known.
    """
    work, quota, points = arguments.work, arguments.rows, arguments.points
    model, vectors = real_pairs.minilm(), work / "label-vectors.safetensors"
    options = {**SHARED, **OBJECTIVES[objective]}
    if objective.startswith("ease"):
        if not vectors.exists():
            with contextlib.redirect_stdout(sys.stderr):
                initial_vectors.main([f"--data={data_of_vectors}", f"--encode={model}", f"--output={vectors}"])
        options["entity_vectors"] = str(vectors)
    steps = len(real_pairs.LANGUAGES) * quota * EPOCHS // SHARED["softmax_size"]
    every = steps // points
    with tempfile.TemporaryDirectory() as scratch:
        options |= {"data": str(data), "model": model, "output": scratch, "cache": str(work / "tokens")}
        options |= {"resume": False, "keep": "last", "checkpoint_steps": steps, "eval_steps": every}
        options |= {"quota": str(quota), "max_steps": every * points, "epochs": EPOCHS, "seed": seed}
        config = make(objective.partition("-")[0], {**options, "device": "cpu", "precision": "bf16"}, {})
        run = task.prepare(config, open_pairs(config.data), torch.device("cpu"), Log(scratch, False))
        curve = Curve(
            tatoeba.load(EvaluationFiles(str(slices.data() / "eval")), EvaluationOptions(languages=tuple(LANGUAGES)))
        )
        if before:
            curve.points.append(before)
        else:
            curve.score(run.model)
        train(replace(run, dev=curve))
    return [{"rows": number * every * SHARED["softmax_size"], **point} for number, point in enumerate(curve.points)]


if __name__ == "__main__":
    main()
