"""Does EASE learn more than SimCSE? Retrieval on Tatoeba before and after training on the same rows.

    WIKIANCHOR_DATA=data python benchmarks/learning.py --seeds 1 2 3
    WIKIANCHOR_DATA=data python benchmarks/learning.py --seeds 1 2 3 4 5 --rows=400 --objectives simcse \\
        simcse-unsaturated ease-paper ease

MiniLM, which knows English, is trained further on pairs of the real slices in English, German and Estonian. In the
stand-in for Wikidata two articles of one title are one item. Both objectives see the rows whose entity is linked in two
of the wikis or more, equally many of each wiki. Entity vectors start as MiniLM's vectors of the labels. The encoder
computes in bf16.

- simcse: temperature 0.05, at which MiniLM's loss is near 0 from the first steps
- simcse-unsaturated: temperature 0.2, at which it is not
- ease-paper: lambda 0.01 and tau 10, as the paper for several languages
- ease: lambda 5 and tau 0.05

With the entities of other rows the gain is gone (docs/explanation/studies/ease-against-simcse.md).
"""

import contextlib
import os
import sys
import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import sub
from statistics import mean, stdev
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import pyarrow as pa
import pyarrow.compute as pc
import torch
from lib import slices
from lib.measure import report, run_parts, table
from lib.training import LANGUAGES, minilm, read_config, real_pairs, write_dataset
from scipy.stats import t as student

from wikianchor.trainer import task
from wikianchor.trainer.config import make
from wikianchor.trainer.data.shards import open_pairs
from wikianchor.trainer.entity_vectors import initial_vectors
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.evaluate.tasks import tatoeba
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.loop.train import DevScore, train

# Languages of Tatoeba, whose accuracies are averaged.
TATOEBA = ("de", "et")
EPOCHS = 2
SHARED: dict[str, Any] = {"softmax_size": 32, "max_length": 24, "learning_rate": 5e-5, "pooler": "avg"}
OBJECTIVES: dict[str, dict[str, Any]] = {
    "simcse": {},
    "simcse-unsaturated": {"sentence_temperature": 0.2},
    # The paper's lambda and tau are for a hundred times as many steps and for vectors of Wikipedia2Vec.
    "ease-paper": {"entity_weight": 0.01, "entity_temperature": 10.0, "projection": "none"},
    "ease": {"entity_weight": 5.0, "entity_temperature": 0.05, "projection": "none"},
}


@dataclass
class Accuracy:
    """Replaces the dev set: keeps the mean accuracy at each evaluation, in per cent."""

    sets: Sequence[Any]
    points: list[float] = field(default_factory=list)

    def score(self, model: Any) -> tuple[float, Mapping[str, float]]:
        """Return the mean accuracy in per cent."""
        with torch.autocast("cpu", torch.bfloat16):
            rows = tatoeba.score(self.sets, SentenceVectors(model.encoder), EvaluateOptions()).splits["test"]
        self.points.append(100 * mean(row["main_score"] for row in rows))
        print(f"{self.points[-1]:.2f}", file=sys.stderr, flush=True)
        return self.points[-1], {}


def compare(arguments: Namespace) -> None:
    """Train with each objective and seed, and print what was gained."""
    # Several threads that wait for each other are slow on a busy machine.
    torch.set_num_threads(1)
    pairs = real_pairs(arguments.work)
    tables = {"pairs": shared_entities(read_config(pairs, "pairs")), "entities": read_config(pairs, "entities")}
    data = write_dataset(arguments.work / "trainer-shared", tables)
    gains: dict[str, list[float]] = {name: [] for name in arguments.objectives}
    # All objectives of a seed, then the next seed: what is printed of an unfinished call can be compared.
    for seed in arguments.seeds:
        for name in arguments.objectives:
            print(f"-- {name}, seed {seed}", file=sys.stderr, flush=True)
            points = learn(arguments, name, seed, data)
            gains[name].append(points[-1] - points[0])
    first = gains[arguments.objectives[0]]
    above = {name: interval(list(map(sub, values, first))) for name, values in gains.items() if values is not first}
    lines = [[name, interval(values), above.get(name, "")] for name, values in gains.items()]
    head = ["objective", "points gained", f"above {arguments.objectives[0]}"]
    report("trainer: learning: points gained, mean of the languages, 95 % intervals", table(head, lines))


def interval(values: Sequence[float]) -> str:
    """Return the mean, and half the width of its 95 % interval by Student's t."""
    if len(values) == 1:
        return f"{values[0]:.2f}"
    half = student.ppf(0.975, len(values) - 1) * stdev(values) / len(values) ** 0.5
    return f"{mean(values):.2f} ± {half:.2f}"


def shared_entities(rows: pa.Table) -> pa.Table:
    """Return the rows whose entity is linked in two wikis or more."""
    wikis = rows.select(["entity_id", "wiki"]).group_by("entity_id").aggregate([("wiki", "count_distinct")])
    several = wikis.filter(pc.greater(wikis["wiki_count_distinct"], 1))["entity_id"]
    return rows.filter(pc.is_in(rows["entity_id"], several))


def learn(arguments: Namespace, objective: str, seed: int, data: str) -> list[float]:
    """Return the accuracies before and after training.

    Args:
        arguments: those of the command line.
        objective: key of `OBJECTIVES`.
        seed: the seed of the order of rows and of dropout.
        data: the `pairs` dataset to train on, whose labels give the vectors of entities.
    """
    work, model = arguments.work, minilm()
    options = {**SHARED, **OBJECTIVES[objective], "data": data, "model": model, "cache": str(work / "tokens")}
    if objective.startswith("ease"):
        vectors = work / "label-vectors.safetensors"
        if not vectors.exists():
            with contextlib.redirect_stdout(sys.stderr):
                initial_vectors.main([f"--data={data}", f"--encode={model}", f"--output={vectors}"])
        options["entity_vectors"] = str(vectors)
    steps = len(LANGUAGES) * arguments.rows * EPOCHS // SHARED["softmax_size"]
    options |= {"resume": False, "keep": "last", "checkpoint_steps": steps, "eval_steps": steps, "max_steps": steps}
    options |= {"quota": str(arguments.rows), "epochs": EPOCHS, "seed": seed, "device": "cpu", "precision": "bf16"}
    files = EvaluationFiles(str(slices.data() / "eval"))
    accuracy = Accuracy(tatoeba.load(files, EvaluateOptions(languages=TATOEBA)))
    with tempfile.TemporaryDirectory() as scratch:
        config = make(objective.partition("-")[0], {**options, "output": scratch}, {})
        run = task.prepare(config, open_pairs(data), torch.device("cpu"), Log(scratch, active=False))
        accuracy.score(run.model)
        train(replace(run, dev=DevScore("Tatoeba", accuracy.score)))
    return accuracy.points


if __name__ == "__main__":
    flags = {
        "--seeds": ([1, 2, 3], "a run of each objective for each"),
        "--rows": (800, "rows of each wiki in an epoch"),
        "--objectives": (["simcse", "ease"], "the first to compare with"),
    }
    run_parts(__doc__, {"learning": compare}, flags)
