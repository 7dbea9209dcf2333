"""What EASE learns that SimCSE does not: retrieval on Tatoeba before, during and after training on the same rows.

    WIKIANCHOR_DATA=data python benchmarks/learning.py --seeds=1,2,3

MiniLM, which knows English, goes on with pairs of the real slices in English, German and Estonian. In the stand-in for
Wikidata two articles of one title are one item, so what ties the languages together is names; both objectives see
the rows alone whose entity is linked in two of the wikis or more, a fifth of all, equally many of each. Entity vectors
begin as MiniLM's vectors of the labels. The encoder computes in bf16, in training and in scoring.

Each run writes its scores to WORK/learning.jsonl as it goes, and a run that is there is not done again; so a long
measurement can be done in pieces. `--seeds` with no new ones prints the tables alone.
"""

from __future__ import annotations

import contextlib
import json
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
import real_pairs
import slices
import torch
from measure import parser, report, table

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
ROWS_OF_A_WIKI, EPOCHS, POINTS = 800, 2, 4
SHARED: dict[str, Any] = {"softmax_size": 32, "max_length": 24, "learning_rate": 5e-5, "pooler": "avg"}
OBJECTIVES: dict[str, dict[str, Any]] = {
    "simcse": {},
    # The paper's lambda and tau are for a hundred times as many steps and for vectors of Wikipedia2Vec.
    "ease": {"entity_weight": 5.0, "entity_temperature": 0.05, "projection": "none"},
}


@dataclass
class Curve:
    """Takes the place of the dev score: accuracy at each of the steps that it is asked for."""

    sets: Sequence[Any]
    points: list[dict[str, float]] = field(default_factory=list)
    active: bool = True
    name: str = "Tatoeba"

    def score(self, model: Any) -> tuple[float, Mapping[str, float]]:
        """Return the mean accuracy in per cent, and that of each language; both are kept."""
        with torch.autocast("cpu", torch.bfloat16):
            found = tatoeba.score(self.sets, SentenceVectors(model.encoder), EvaluationOptions()).splits["test"]
        point = {row["hf_subset"].partition("-")[0]: 100 * row["main_score"] for row in found}
        self.points.append(point)
        print(" ".join(f"{code} {value:.1f}" for code, value in point.items()), file=sys.stderr, flush=True)
        return mean(point.values()), point


def main() -> None:
    """Train what has not been trained, and print the tables."""
    flags = parser(__doc__)
    flags.add_argument("--seeds", default="1,2,3", help="a run of each objective for each (1,2,3)")
    arguments = flags.parse_args()
    # Several threads that wait for each other are slow where others work too.
    torch.set_num_threads(1)
    data = _shared(real_pairs.pairs(arguments.work), arguments.work / "trainer-shared")
    place = arguments.work / "learning.jsonl"
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    done = _read(place)
    for seed in seeds:
        for objective in OBJECTIVES:
            if (objective, seed) not in done:
                done[objective, seed] = _learn(objective, seed, data, arguments.work)
                with open(place, "a", encoding="utf-8") as stream:
                    stream.write(
                        json.dumps({"objective": objective, "seed": seed, "curve": done[objective, seed]}) + "\n"
                    )
    _print(done)


def _shared(data: Path, place: Path) -> Path:
    """Return a `pairs` dataset of the rows whose entity is linked in two wikis or more, made unless it is there."""
    if not (place / "manifest.json").exists():
        rows = pq.read_table(data / "data" / "pairs")
        wikis = rows.select(["entity_id", "wiki"]).group_by("entity_id").aggregate([("wiki", "count_distinct")])
        several = wikis.filter(pc.greater(wikis["wiki_count_distinct"], 1))["entity_id"]
        real_pairs.part(data, rows.filter(pc.is_in(rows["entity_id"], several)), place)
    return place


def _read(place: Path) -> dict[tuple[str, int], list[dict[str, float]]]:
    if not place.exists():
        return {}
    rows = map(json.loads, place.read_text(encoding="utf-8").splitlines())
    return {(row["objective"], row["seed"]): row["curve"] for row in rows}


def _learn(objective: str, seed: int, data: Path, work: Path) -> list[dict[str, float]]:
    """Return the accuracies before training and at each point; `rows` is how many were seen."""
    model = real_pairs.minilm()
    options = {**SHARED, **OBJECTIVES[objective]}
    if objective == "ease":
        options["entity_vectors"] = str(_label_vectors(data, model, work))
    steps = len(real_pairs.LANGUAGES) * ROWS_OF_A_WIKI * EPOCHS // SHARED["softmax_size"]
    every = steps // POINTS
    with tempfile.TemporaryDirectory() as scratch:
        places = {"data": str(data), "model": model, "output": scratch, "cache": str(work / "tokens")}
        kept = {"resume": False, "keep": "last", "checkpoint_steps": steps, "eval_steps": every}
        machine = {"device": "cpu", "precision": "bf16"}
        rows = {"quota": str(ROWS_OF_A_WIKI), "max_steps": every * POINTS, "epochs": EPOCHS}
        config = make(objective, {**options, **places, **kept, **machine, **rows, "seed": seed}, {})
        run = task.prepare(config, open_pairs(config.data), torch.device("cpu"), Log(scratch, "", False))
        curve = Curve(
            tatoeba.load(EvaluationFiles(str(slices.data() / "eval")), EvaluationOptions(languages=tuple(LANGUAGES)))
        )
        curve.score(run.model)
        train(replace(run, dev=curve))
    seen = [point * every * SHARED["softmax_size"] for point in range(POINTS + 1)]
    return [{"rows": rows, **point} for rows, point in zip(seen, curve.points, strict=True)]


def _label_vectors(data: Path, model: str, work: Path) -> Path:
    path = work / "label-vectors.safetensors"
    if not path.exists():
        with contextlib.redirect_stdout(sys.stderr):
            if initial_vectors.main([f"--data={data}", f"--encode={model}", f"--output={path}"]):
                raise SystemExit("no vectors of the labels")
    return path


def _print(done: Mapping[tuple[str, int], list[dict[str, float]]]) -> None:
    """Print the curves, means over the seeds, and how the two ends differ seed by seed."""
    codes = list(LANGUAGES.values())
    seeds = sorted({seed for _, seed in done})
    lines: list[list[Any]] = []
    for objective in OBJECTIVES:
        curves = [done[objective, seed] for seed in seeds if (objective, seed) in done]
        for points in zip(*curves, strict=True):
            columns = [[point[code] for point in points] for code in codes]
            columns.append([mean(row) for row in zip(*columns, strict=True)])
            lines.append([objective, points[0]["rows"], *(_spread(column) for column in columns)])
    head = ["objective", "rows seen", *codes, "mean"]
    report(f"Learning: Tatoeba accuracy, % over seeds {', '.join(map(str, seeds))}", table(head, lines))
    pairs = [seed for seed in seeds if all((objective, seed) in done for objective in OBJECTIVES)]
    lines = []
    for seed in pairs:
        ends = {objective: done[objective, seed][-1] for objective in OBJECTIVES}
        start = done["ease", seed][0]
        gained = [mean(ends[name][code] - start[code] for code in codes) for name in OBJECTIVES]
        lines.append([str(seed), *gained, gained[1] - gained[0]])
    report(
        "Learning: points gained, mean of the languages", table(["seed", "simcse", "ease", "ease above simcse"], lines)
    )


def _spread(values: Sequence[float]) -> str:
    spread = f" ± {stdev(values):.2f}" if len(values) > 1 else ""
    return f"{mean(values):.2f}{spread}"


if __name__ == "__main__":
    main()
