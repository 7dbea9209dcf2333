"""Recipes of EASE's tables: train and score their rows, and write them as Markdown."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.markdown import markdown_table
from wikianchor.io.storage import write_text
from wikianchor.trainer.command import run_command
from wikianchor.trainer.config import make
from wikianchor.trainer.data.shards import PairDataset, open_pairs, read_batches, read_wikis
from wikianchor.trainer.evaluate.command import load_complete
from wikianchor.trainer.evaluate.report import markdown
from wikianchor.trainer.evaluate.task import EvaluationOptions
from wikianchor.trainer.papers.runs import ScoredRow, decisive, score_rows, train_once
from wikianchor.trainer.papers.tables import (
    LABSE,
    RECIPES,
    WITHOUT_VECTORS,
    Recipe,
    RecipeOptions,
    TableRow,
    parse,
    parse_backbones,
    possible,
    preset_of,
)
from wikianchor.trainer.presets import PRESETS

# Enough for a covariance of 768 dimensions.
WHITENING_SENTENCES = 100_000


def train_row(recipe: Recipe, row: TableRow, seed: int, variant: str, model: str, flags: Mapping[str, Any]) -> str:
    """Return the directory of a row's model; train it if it does not exist.

    Args:
        recipe: of the table.
        row: of the table.
        seed: of the training.
        variant: of the preset, a member of `VARIANTS`.
        model: backbone to use instead of the preset's, or "".
        flags: options that the user sets for all rows; a row's changes take precedence.
    """
    options = {**preset_of(row, variant), **recipe.base, **({"model": model} if model else {}), "seed": seed}
    options = {**options, **flags, **row.changes}
    if row.objective == "simcse":
        options = {name: value for name, value in options.items() if not name.startswith("entity_")}
    folder = f"{row.name.replace(' ', '_').replace('/', '')}-{seed}"
    return train_once(make(row.objective, {**options, "output": f"{flags['output']}/runs/{folder}"}, {}))


def run(recipe: Recipe, flags: Mapping[str, Any], chosen: RecipeOptions) -> str:
    """Train and score the rows of a table; return the report as Markdown.

    Args:
        recipe: of the table.
        flags: options of the trainer that the user sets.
        chosen: options of the recipe.

    Raises:
        InputError: no row can be trained, or no evaluation set exists.
    """
    pairs = open_pairs(str(flags["data"]))
    backbones = parse_backbones(chosen.backbones, recipe)
    listed = [*recipe.rows, *(recipe.published if chosen.published else ())]
    shown = [row for row in listed if row.backbone in backbones]
    rows, left_out = possible(shown, flags, read_wikis(pairs))
    if not any(row.objective for row in rows):
        raise InputError(f"nothing to train for {recipe.title}: {left_out[0]}")
    options = EvaluationOptions(recipe.split, recipe.seeds)
    sets = load_complete(chosen.evaluation, recipe.tasks, options)

    def scored_row(row: TableRow) -> ScoredRow:
        model = backbones[row.backbone]
        if not row.objective:
            name = row.checkpoint or untrained(row, model)
            return ScoredRow(
                row.name, lambda seed: name, False, row.pooler, row.whiten, lambda: training_sentences(pairs)
            )
        return ScoredRow(
            shown_name(row, flags), lambda seed: train_row(recipe, row, seed, chosen.variant, model, flags), True
        )

    results = score_rows(
        [scored_row(row) for row in rows],
        chosen.seeds,
        sets.tasks,
        options,
        str(flags.get("device", "")),
        str(flags["output"]),
    )
    without = f", {WITHOUT_VECTORS}" if lacks_vectors(rows, flags) else ""
    tables = markdown(results, [*left_out, *sets.missing], paths=False)
    return f"## {recipe.title}{without}\n\n{how(flags, chosen, pairs)}\n\n{tables}{paper_figures(recipe)}"


def training_sentences(pairs: PairDataset) -> list[str]:
    """Return the first different sentences of the pairs, at most `WHITENING_SENTENCES`: whitening is fitted on them."""
    sentences: dict[str, None] = {}
    for batch in read_batches(pairs, ["text"]):
        sentences.update(dict.fromkeys(batch.column("text").to_pylist()))
        if len(sentences) >= WHITENING_SENTENCES:
            break
    return list(sentences)[:WHITENING_SENTENCES]


def paper_figures(recipe: Recipe) -> str:
    """Return the rows of a table that are not trained here, with the paper's numbers; "" where there are none."""
    if not recipe.figures:
        return ""
    columns = list(next(iter(recipe.figures.values())))
    rows = [[name, *(f"{values[column]:.1f}" for column in columns)] for name, values in recipe.figures.items()]
    return f"\nNot run: the paper's own numbers.\n\n{markdown_table(['', *columns], rows)}\n"


def lacks_vectors(rows: Sequence[TableRow], flags: Mapping[str, Any]) -> bool:
    """Return whether EASE is trained without the vectors that the paper's models start from."""
    return any(row.objective == "ease" for row in rows) and not flags.get("entity_vectors")


def shown_name(row: TableRow, flags: Mapping[str, Any]) -> str:
    """Return the title of a row, which says in every table that EASE starts from random entity vectors."""
    return f"{row.name}, {WITHOUT_VECTORS}" if lacks_vectors([row], flags) else row.name


def untrained(row: TableRow, model: str) -> str:
    """Return the name of the backbone of a row that is not trained."""
    return model or (LABSE if row.backbone == "labse" else str(PRESETS[f"simcse-{row.backbone}"]["model"]))


def how(flags: Mapping[str, Any], chosen: RecipeOptions, pairs: PairDataset) -> str:
    """Return in words how the rows are trained."""
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
    return run_command("recipes", lambda: write_table(arguments))


def write_table(arguments: Sequence[str]) -> str:
    """Run a recipe, write its table to the output directory, and return the table.

    Raises:
        UsageError: the command line is invalid.
        InputError: an input cannot be read, or an output cannot be written.
    """
    if arguments[:1] == ["sdjc"]:
        from wikianchor.trainer.papers import sdjc_recipe

        output, name, text = sdjc_recipe.run(arguments[1:])
    else:
        flags, chosen = parse(arguments)
        name, output = chosen.recipe, str(flags["output"])
        text = run(RECIPES[name], flags, chosen)
    write_text(os.path.join(output, f"{name}.md"), text)
    return text
