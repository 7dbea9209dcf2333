"""Train and score the rows of a table of EASE's paper, and write it as Markdown."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.trainer.command import run_command
from wikianchor.trainer.config import make
from wikianchor.trainer.data.shards import PairDataset, open_pairs, read_wikis
from wikianchor.trainer.evaluate.command import load_tasks
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.registry import choose
from wikianchor.trainer.evaluate.report import Result, markdown, write_results
from wikianchor.trainer.evaluate.task import EvaluationOptions
from wikianchor.trainer.papers.runs import decisive, over_seeds, score, train_once
from wikianchor.trainer.papers.tables import LABSE, RECIPES, Recipe, Row, parse, parse_backbones, possible, preset_of
from wikianchor.trainer.presets import PRESETS
from wikianchor.trainer.storage import writing

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


# ---------------------------------------------------------------------------------------------------------- the table


def run(recipe: Recipe, flags: Mapping[str, Any], chosen: argparse.Namespace) -> str:
    """Train and score all rows; return the report as Markdown."""
    pairs = open_pairs(str(flags["data"]))
    backbones = parse_backbones(chosen.backbones, recipe)
    shown = [row for row in recipe.rows if row.backbone in backbones]
    rows, left_out = possible(shown, flags, read_wikis(pairs))
    if not any(row.objective for row in rows):
        raise InputError(f"nothing to train for {recipe.title}: {left_out[0]}")
    options = EvaluationOptions(recipe.split, recipe.seeds)
    tasks, missing = load_tasks(EvaluationFiles(chosen.evaluation), choose(recipe.tasks), recipe.tasks, options)
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


def how(flags: Mapping[str, Any], chosen: argparse.Namespace, pairs: PairDataset) -> str:
    """Return in words how the rows were trained."""
    seeds = ", ".join(map(str, chosen.seeds))
    means = f"seeds {seeds}: means, ± standard deviations" if len(chosen.seeds) > 1 else f"seed {seeds} alone"
    given = [f"`--{name}={value}`" for name, value in flags.items() if name in decisive() and name != "data"]
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
        from wikianchor.trainer.papers import sdjc_recipe

        output, name, text = sdjc_recipe.run(arguments[1:])
    else:
        name, flags, chosen = parse(arguments)
        output, text = str(flags["output"]), run(RECIPES[name], flags, chosen)
    with writing(output), open(os.path.join(output, f"{name}.md"), "w", encoding="utf-8") as stream:
        stream.write(text)
    return text
