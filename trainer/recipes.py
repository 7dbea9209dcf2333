"""`python -m trainer.recipes table2 --data=... --dev=... --evaluation=... --output=...`: a table of EASE's paper.

`python -m trainer.recipes sdjc --help` tells of the other recipe: from a domain's text to table 8 of SDJC's paper.

Each row of the table is trained with its preset once for each seed, each model is evaluated, and the table shows the
mean over the seeds and their standard deviation. What a former call has trained or scored is not done again, so
tables that share a model share its training, and an interrupted call goes on.

Every option of `trainer.task` may be given and then holds for all rows that are trained. `--backbones` chooses among
the backbones of a table, and puts a directory in the place of a name on the Hub: `--backbones=bert,mbert=models/mbert`.

The monolingual tables want pairs of English alone, the multilingual ones pairs of the 18 wikis, 50,000 rows of each.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trainer import task
from trainer.card import versions
from trainer.checkpoint import FREE
from trainer.command import run_command
from trainer.config import Config, add_flags, make
from trainer.distributed import choose_device
from trainer.encoder import Encoder
from trainer.errors import InputError, UsageError
from trainer.evaluate.command import Loaded, evaluate, load_tasks
from trainer.evaluate.files import Data
from trainer.evaluate.registry import choose
from trainer.evaluate.report import Result, markdown, model_facts, write_results
from trainer.evaluate.task import Options
from trainer.presets import PRESETS

VARIANTS = ("paper", "released")
LABSE = "sentence-transformers/LaBSE"
MONOLINGUAL, MULTILINGUAL = ("bert", "roberta"), ("mbert", "xlmr")
NAMES = {"bert": "BERT", "roberta": "RoBERTa", "mbert": "mBERT", "xlmr": "XLM-R", "labse": "LaBSE"}
OBJECTIVES = {"ease": "EASE", "simcse": "SimCSE"}
# Wikis of the five languages that LaBSE has not seen (section 6), and Tatoeba's codes.
LOW_RESOURCE = {"kab": "kab", "pam": "pam", "kw": "cor", "br": "bre", "mhr": "mhr"}


@dataclass(frozen=True)
class Row:
    """A row of a table: a backbone that is trained with an objective, or as it is where `objective` is empty.

    Args:
        backbone: a key of `NAMES`.
        note: what sets the row apart where objective and backbone do not.
        changes: options other than those of the preset.
        pooler: of a row that is not trained.
    """

    backbone: str
    objective: str = ""
    note: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    pooler: str = "avg"

    @property
    def name(self) -> str:
        prefix = f"{OBJECTIVES[self.objective]}-" if self.objective else ""
        return f"{prefix}{NAMES[self.backbone]} {self.note}".strip()


@dataclass(frozen=True)
class Recipe:
    """A table: its rows, the evaluation tasks it shows and their options, and what all its trainings share."""

    title: str
    rows: Sequence[Row]
    tasks: str
    base: Mapping[str, Any] = field(default_factory=dict)
    split: str = "test"
    seeds: int = 10


def main_rows(backbones: Sequence[str]) -> list[Row]:
    """Return each backbone as it is, with SimCSE, and with EASE."""
    rows = []
    for backbone in backbones:
        rows += [Row(backbone, note="(avg.)"), Row(backbone, "simcse"), Row(backbone, "ease")]
    return rows


def ablation_rows(backbones: Sequence[str]) -> list[Row]:
    """Return the rows of table 7."""
    parts: dict[str, dict[str, Any]] = {
        "": {},
        "w/o self-supervised CL": {"sentence_weight": 0.0},
        "w/o hard negative": {"negatives": 0},
        "w/o Wikipedia2Vec": {"entity_vectors": ""},
    }
    rows = []
    for backbone in backbones:
        rows += [Row(backbone, "ease", note, part) for note, part in parts.items()]
        rows.append(Row(backbone, note="w/o all"))
    return rows


def pooler_rows() -> list[Row]:
    """Return the rows of table 10."""
    poolers: dict[str, dict[str, Any]] = {
        "[CLS] w/ MLP": {"pooler": "cls", "mlp": True, "mlp_only_train": False},
        "[CLS] w/ MLP (train)": {"pooler": "cls", "mlp": True, "mlp_only_train": True},
        "[CLS] w/o MLP": {"pooler": "cls_before_pooler", "mlp": False},
        "mean": {"pooler": "avg", "mlp": False},
    }
    return [
        Row("mbert", objective, note, pooler) for objective in ("simcse", "ease") for note, pooler in poolers.items()
    ]


def labse_rows() -> list[Row]:
    """Return LaBSE as it is, and adapted to each language with 5,000 pairs of it and of English (figure 2). The paper
    gives no other options for it: these are those of mBERT."""
    rows = [Row("labse", pooler="")]
    for wiki in LOW_RESOURCE:
        # A language of a smaller Wikipedia repeats its pairs.
        changes = {"quota": f"enwiki=5000,{wiki}wiki=5000", "pooler": "", "mlp": False}
        rows.append(Row("labse", "ease", f"(en + {wiki})", changes))
    return rows


_MANY = {"quota": "50000", "dev_tasks": "STSBenchmark,SICK-R"}
RECIPES = {
    "table1": Recipe("Table 1: monolingual STS and short text clustering", main_rows(MONOLINGUAL), "mono"),
    "table2": Recipe("Table 2: multilingual STS", main_rows(MULTILINGUAL), "STS17", _MANY),
    "table3": Recipe("Table 3: MewsC-16", main_rows(MULTILINGUAL), "mewsc16", _MANY),
    "table4": Recipe("Tables 4 and 5: Tatoeba", main_rows(MULTILINGUAL), "tatoeba", _MANY),
    "table6": Recipe("Table 6: MLDoc, zero-shot", main_rows(MULTILINGUAL), "mldoc", _MANY, seeds=3),
    "table7": Recipe("Table 7: ablation, monolingual", ablation_rows(MONOLINGUAL), "sts"),
    "table7-multilingual": Recipe("Table 7: ablation, multilingual", ablation_rows(MULTILINGUAL), "STS17", _MANY),
    "table10": Recipe("Table 10: poolers, on dev parts", pooler_rows(), "STSBenchmark,SICK-R", _MANY, split="dev"),
    "table11": Recipe("Table 11: BUCC", main_rows(MULTILINGUAL), "bucc", _MANY),
    "figure2": Recipe("Figure 2: LaBSE adapted", labse_rows(), "tatoeba"),
}


def preset_of(row: Row, variant: str) -> dict[str, Any]:
    """Return the options of a row that is trained, those of its preset first."""
    backbone = "mbert" if row.backbone == "labse" else row.backbone
    name = f"simcse-{backbone}" if row.objective == "simcse" else f"ease-{backbone}-{variant}"
    model = {"model": LABSE} if row.backbone == "labse" else {}
    return {**PRESETS[name], "preset": name, **model}


def parse_backbones(text: str, recipe: Recipe) -> dict[str, str]:
    """Return the backbones to show and the model of each, empty for the preset's own: all of the recipe by default."""
    known = list(dict.fromkeys(row.backbone for row in recipe.rows))
    parts = [part.partition("=") for part in text.split(",")] if text else [(name, "", "") for name in known]
    chosen = {name.strip(): model.strip() for name, _, model in parts}
    for name in chosen:
        if name not in known:
            raise UsageError(f"--backbones: no {name!r} in {recipe.title}: choose of {', '.join(known)}")
    return chosen


# ------------------------------------------------------------------------------------------------------------ training


def trained(recipe: Recipe, row: Row, seed: int, variant: str, model: str, flags: Mapping[str, Any]) -> str:
    """Return the directory of a row's model, trained now unless it is there with the same options."""
    options = {**preset_of(row, variant), **recipe.base, **({"model": model} if model else {}), "seed": seed}
    # What sets a row apart is the row's, whatever is asked for all of them.
    options = {**options, **flags, **row.changes}
    if row.objective == "simcse":
        options = {name: value for name, value in options.items() if not name.startswith("entity_")}
    folder = f"{row.name.replace(' ', '_').replace('/', '')}-{seed}"
    return train_once(make(row.objective, {**options, "output": f"{flags['output']}/runs/{folder}"}, {}))


def train_once(config: Config) -> str:
    """Return the directory of a config's model, trained now unless it is there with the same options.

    Raises:
        UsageError: a model is there, and was trained with others.
    """
    place = f"{config.output}/model"
    if (made := _config_of(place)) is None:
        return task.run(config)
    differs = [name for name in _decisive() if made.get(name) != getattr(config, name)]
    if differs:
        raise UsageError(
            f"{place}: trained with other options ({', '.join(differs)}): give the same, or another --output"
        )
    return place


def _config_of(place: str) -> dict[str, Any] | None:
    """Return the options that a finished model was trained with, None where there is no such model."""
    path = os.path.join(place, "run.json")
    if not os.path.exists(path):
        return None
    try:
        with open(path, encoding="utf-8") as stream:
            return dict(json.load(stream)["config"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not the record of a run ({error}): remove {place}") from error


def _decisive() -> list[str]:
    """The options on which a trained model depends; precision is settled by the run itself."""
    free = FREE - {"data", "model"} | {"precision"}
    return [option.name for option in dataclasses.fields(Config) if option.name not in free]


# ---------------------------------------------------------------------------------------------------------- the table


def score(path: str, pooler: str | None, tasks: Loaded, options: Options, device: str, whiten: int = 0) -> list[Result]:
    """Return the results of one model, its vectors whitened to `whiten` directions where that is above 0."""
    encoder = Encoder.load(path, pooler or None, choose_device(device))
    return evaluate(encoder, model_facts(path, encoder, None, versions()), tasks, options, 128, whiten)


def over_seeds(name: str, runs: Sequence[Sequence[Result]]) -> list[Result]:
    """runs: the results of one row, by seed; returns them as one, with the mean of each cell and, of several seeds, its
    standard deviation (of a sample)."""
    merged = []
    for results in zip(*runs, strict=True):
        first = results[0]
        cells = []
        for same in zip(*(result.scores.cells for result in results), strict=True):
            values = np.array([cell.value for cell in same])
            spread = float(values.std(ddof=1)) if len(values) > 1 else same[0].spread
            cells.append(replace(same[0], value=float(values.mean()), spread=spread))
        model = replace(first.model, name=name)
        merged.append(replace(first, model=model, scores=replace(first.scores, cells=cells)))
    return merged


def run(recipe: Recipe, flags: Mapping[str, Any], chosen: argparse.Namespace) -> str:
    """Train and score all rows; return the report as Markdown."""
    options = Options(recipe.split, recipe.seeds)
    tasks, missing = load_tasks(Data(chosen.evaluation), choose(recipe.tasks), recipe.tasks, options)
    if not tasks:
        raise InputError(missing[0])
    backbones = parse_backbones(chosen.backbones, recipe)
    output = str(flags["output"])
    results: list[Result] = []
    for row in recipe.rows:
        if row.backbone not in backbones:
            continue
        model = backbones[row.backbone]
        if row.objective:
            paths = [trained(recipe, row, seed, chosen.variant, model, flags) for seed in chosen.seeds]
            runs = [score(path, None, tasks, options, chosen.device) for path in paths]
        else:
            name = model or (LABSE if row.backbone == "labse" else str(PRESETS[f"simcse-{row.backbone}"]["model"]))
            runs = [score(name, row.pooler, tasks, options, chosen.device)]
        for one in runs:
            write_results(one, markdown(one, missing), output)
        results += over_seeds(row.name, runs)
    seeds = ", ".join(map(str, chosen.seeds))
    how = f"Trained with seeds {seeds}, settings of EASE's {chosen.variant}: means and standard deviations."
    return f"## {recipe.title}\n\n{how}\n\n{markdown(results, missing)}"


def parse(argv: Sequence[str] | None) -> tuple[str, dict[str, Any], argparse.Namespace]:
    """Return the recipe's name, the trainer's options, and our own."""
    parser = argparse.ArgumentParser(
        prog="python -m trainer.recipes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipe", choices=RECIPES)
    own = parser.add_argument_group("the recipe")
    own.add_argument("--evaluation", required=True, help="directory with evaluation sets, as trainer.evaluate takes it")
    own.add_argument("--seeds", default="42,43,44", type=seeds_of, help="a training for each (42,43,44)")
    own.add_argument("--variant", choices=VARIANTS, default="paper", help="whose settings, where they differ (paper)")
    own.add_argument("--backbones", default="", help="those to show, and in whose place: bert,mbert=DIR")
    add_flags(parser, "ease")
    everything = vars(parser.parse_args(argv))
    names = {option.name for option in dataclasses.fields(Config)}
    flags = {name: value for name, value in everything.items() if name in names}
    for name, instead in (
        ("seed", "--seeds"),
        ("preset", "--variant"),
        ("model", "--backbones"),
        ("new", "--backbones"),
    ):
        if name in flags:
            raise UsageError(f"--{name}: a recipe has several: use {instead}")
    for name in ("data", "output"):
        if not flags.get(name):
            raise UsageError(f"--{name} is missing")
    rest = {name: value for name, value in everything.items() if name not in names}
    return everything["recipe"], flags, argparse.Namespace(**rest, device=flags.get("device", ""))


def seeds_of(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: must be numbers with commas between") from error


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    return run_command("recipes", lambda: written(arguments))


def written(arguments: Sequence[str]) -> str:
    """Run a recipe, write its table beside its models, and return it.

    Raises:
        InputError: something cannot be read or written.
    """
    try:
        if arguments[:1] == ["sdjc"]:
            from trainer import sdjc_recipe

            output, name, text = sdjc_recipe.run(arguments[1:])
        else:
            name, flags, chosen = parse(arguments)
            output, text = str(flags["output"]), run(RECIPES[name], flags, chosen)
        with open(os.path.join(output, f"{name}.md"), "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise InputError(str(error)) from error
    return text


if __name__ == "__main__":
    sys.exit(main())
