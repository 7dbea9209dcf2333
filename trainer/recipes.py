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
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

if __name__ == "__main__":
    from trainer import sdjc_flags, tables
    from trainer.command import EVAL, check_flags, need

    sdjc = sys.argv[1:2] == ["sdjc"]
    check_flags("recipes", lambda: sdjc_flags.parse(sys.argv[2:]) if sdjc else tables.parse(sys.argv[1:], __doc__))
    need(EVAL)

from trainer import task
from trainer.card import versions
from trainer.checkpoint import FREE
from trainer.command import run_command
from trainer.config import Config, make
from trainer.distributed import choose_device
from trainer.encoder import Encoder
from trainer.errors import InputError, UsageError
from trainer.evaluate.command import Loaded, evaluate, load_tasks
from trainer.evaluate.files import Data
from trainer.evaluate.registry import choose
from trainer.evaluate.report import Result, markdown, model_facts, write_results
from trainer.evaluate.task import Options
from trainer.presets import PRESETS
from trainer.shards import Pairs, open_pairs, read_wikis
from trainer.storage import writing
from trainer.tables import LABSE, RECIPES, Recipe, Row, parse, parse_backbones, possible, preset_of

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
    free = FREE - {"data", "model", "dev_tasks", "eval_steps", "keep"} | {"precision"}
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
            values = tuple(cell.value for cell in same)
            # A row that is not the model's own, such as that of the majority, is the same for all.
            several = len(values) > 1 and not same[0].row
            spread, runs = (stdev(values), values) if several else (same[0].spread, ())
            cells.append(replace(same[0], value=fmean(values), spread=spread, runs=runs))
        revisions = ", ".join(dict.fromkeys(result.model.revision for result in results))
        model = replace(first.model, name=name, revision=revisions)
        merged.append(replace(first, model=model, scores=replace(first.scores, cells=cells)))
    return merged


def run(recipe: Recipe, flags: Mapping[str, Any], chosen: argparse.Namespace) -> str:
    """Train and score all rows; return the report as Markdown."""
    pairs = open_pairs(str(flags["data"]))
    backbones = parse_backbones(chosen.backbones, recipe)
    shown = [row for row in recipe.rows if row.backbone in backbones]
    rows, left_out = possible(shown, flags, read_wikis(pairs))
    if not any(row.objective for row in rows):
        raise InputError(f"nothing to train for {recipe.title}: {left_out[0]}")
    options = Options(recipe.split, recipe.seeds)
    tasks, missing = load_tasks(Data(chosen.evaluation), choose(recipe.tasks), recipe.tasks, options)
    if not tasks:
        raise InputError(missing[0])
    output = str(flags["output"])
    results: list[Result] = []
    for row in rows:
        model = backbones[row.backbone]
        runs = []
        for seed in chosen.seeds if row.objective else chosen.seeds[:1]:
            print(f"-- {row.name}" + (f", seed {seed}" if row.objective else ""), file=sys.stderr, flush=True)
            path = trained(recipe, row, seed, chosen.variant, model, flags) if row.objective else as_it_is(row, model)
            runs.append(score(path, None if row.objective else row.pooler, tasks, options, chosen.device))
            write_results(runs[-1], output)
        results += over_seeds(row.name, runs)
    notes = [*left_out, *missing]
    return f"## {recipe.title}\n\n{how(flags, chosen, pairs)}\n\n{markdown(results, notes)}"


def as_it_is(row: Row, model: str) -> str:
    """Return the name of the backbone of a row that is not trained."""
    return model or (LABSE if row.backbone == "labse" else str(PRESETS[f"simcse-{row.backbone}"]["model"]))


def how(flags: Mapping[str, Any], chosen: argparse.Namespace, pairs: Pairs) -> str:
    """Return in words how the rows were trained."""
    seeds = ", ".join(map(str, chosen.seeds))
    means = f"seeds {seeds}: means, ± standard deviations" if len(chosen.seeds) > 1 else f"seed {seeds} alone"
    given = [f"`--{name}={value}`" for name, value in flags.items() if name in _decisive() and name != "data"]
    other = f", but {' '.join(given)}" if given else ""
    scored = (flags.get("dev") or flags.get("held_out")) and flags.get("keep") != "last"
    best = "the best by dev score" if scored else "the last ones, since without `--dev` none is known as the best"
    return (
        f"Trained with {means}. Settings of EASE's {chosen.variant}{other}. Weights: {best}. "
        f"Rows: {pairs.rows:,} pairs of {pairs.entities:,} entities in {pairs.path}, fingerprint "
        f"{pairs.fingerprint[:16]}."
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    return run_command("recipes", lambda: written(arguments))


def written(arguments: Sequence[str]) -> str:
    """Run a recipe, write its table beside its models, and return it.

    Raises:
        InputError: something cannot be read or written.
    """
    if arguments[:1] == ["sdjc"]:
        from trainer import sdjc_recipe

        output, name, text = sdjc_recipe.run(arguments[1:])
    else:
        name, flags, chosen = parse(arguments, __doc__)
        output, text = str(flags["output"]), run(RECIPES[name], flags, chosen)
    with writing(output), open(os.path.join(output, f"{name}.md"), "w", encoding="utf-8") as stream:
        stream.write(text)
    return text


if __name__ == "__main__":
    sys.exit(main())
