"""`wikianchor papers tables NAME`: train and score the rows of a table."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.markdown import markdown_table
from wikianchor.io.parsing import malformed
from wikianchor.io.storage import read_bytes, reading
from wikianchor.trainer import task
from wikianchor.trainer.card import versions
from wikianchor.trainer.config import Config, make
from wikianchor.trainer.data.shards import open_pairs, read_texts
from wikianchor.trainer.data.texts import open_texts, read_rows
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.evaluate.command import LoadedSets, evaluate, load_tasks
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.report import Result, markdown, model_facts
from wikianchor.trainer.loop.checkpoint import FREE
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.papers.options import TableOptions
from wikianchor.trainer.papers.rows import WITHOUT_VECTORS, Row, Table
from wikianchor.trainer.presets import PRESETS

# Options that a trained model does not depend on. The run itself chooses the precision.
NOT_DECISIVE = FREE - {"data", "model", "dev_tasks", "eval_steps", "keep"} | {"precision"}
# Enough for a covariance of 768 dimensions.
WHITENING_SENTENCES = 100_000


@dataclass(frozen=True)
class TableRun:
    """A table that is trained and scored.

    Attributes:
        table: the table.
        flags: options of the trainer that the user gives; they hold for all rows.
        chosen: options of the table.
    """

    table: Table
    flags: Mapping[str, Any]
    chosen: TableOptions

    @property
    def is_ease(self) -> bool:
        """Whether the rows are trained on pairs, and not on texts."""
        return bool(self.table.backbones)

    def sources(self, names: Sequence[str]) -> str:
        """Return the paths of data: `--data` itself, or those that a row names, with commas between."""
        data = str(self.flags["data"])
        paths = {"general": self.chosen.general, "nli": self.chosen.nli}
        return ",".join(paths.get(name, f"{data.rstrip('/')}/{name}") for name in names) or data

    def directory(self, name: str, seed: int) -> str:
        """Return the directory of a row's run."""
        return f"{self.flags['output']}/runs/{re.sub(r'[^-.0-9a-zA-Z]+', '_', name)}-{seed}"

    def config(self, row: Row, seed: int) -> Config:
        """Return the options of a training: those of the preset, the table, the user, and the row."""
        options = {**row.preset_options(self.chosen.variant), **row.defaults, **self.flags, **row.options}
        options |= {"seed": seed, "data": self.sources(row.data)}
        if row.objective == "simcse":
            options = {name: value for name, value in options.items() if not name.startswith("entity_")}
        if row.first:
            # The model of the first stage has a pooler already.
            options["model"] = f"{self.directory(row.first, seed)}/model"
        return make(row.objective, {**options, "output": self.directory(row.name, seed)}, {})

    def model(self, row: Row, seed: int) -> str:
        """Return the model of a row; train it, and the row that it continues, if they do not exist."""
        if row.objective:
            for first in (other for other in self.table.rows if other.name == row.first):
                self.model(first, seed)
            return train_once(self.config(row, seed))
        preset = f"simcse-{row.preset}" if self.is_ease else str(self.flags.get("preset"))
        return row.checkpoint or row.model or str(self.flags.get("model") or PRESETS[preset]["model"])

    def run(self) -> str:
        """Train and score the rows; return the report as Markdown.

        Raises:
            UsageError: options do not go together, or a row that the user names cannot be trained.
            InputError: no row can be trained, or no evaluation set exists.
        """
        rows, notes = self.rows()
        options = EvaluateOptions(split=self.table.split, seeds=self.table.seeds, output=str(self.flags["output"]))
        sets = load_tasks(self.chosen.evaluation, self.table.tasks.split(","), options)
        sets.check(complete=True)
        # All that is wrong is said before hours of training.
        configs = [self.config(row, self.chosen.seeds[0]) for row in rows if row.objective]
        if not self.is_ease:
            for path in {config.data for config in configs} | {self.sources([self.whitened_on])}:
                open_texts(path)
        results = [result for row in rows for result in self.score(row, sets, replace(options, whiten=row.whiten))]
        title = self.table.title
        if any(row.shown_name(self.flags) != row.name for row in rows):
            title += f", {WITHOUT_VECTORS}"
        text = markdown(results, [*notes, *sets.missing], paths=False)
        for figure in self.table.figures:
            numbers = markdown_table(["", *figure["columns"]], figure["rows"])
            text += f"\nNot run: {figure['title']}\n\n{numbers}\n"
        return f"## {title}\n\n{self.how()}\n\n{text}"

    def rows(self) -> tuple[list[Row], list[str]]:
        """Return the rows that can be trained or scored, and a line for each other row."""
        shown = self.table.models(self.chosen.backbones)
        listed = [
            replace(row, model=shown[row.backbone] or row.model)
            for row in self.table.named(self.chosen.rows)
            if row.backbone in shown
        ]
        given = {**self.flags, **vars(self.chosen)}
        missing = {row.name: row.missing(given) for row in listed}
        rows = [row for row in listed if not missing[row.name] and (self.chosen.published or not row.checkpoint)]
        notes = [f"{name}: {reason}" for name, reason in missing.items() if reason]
        if notes and self.chosen.rows:
            raise UsageError(f"--rows: {notes[0]}")
        if notes and not any(row.objective for row in rows):
            raise InputError(f"nothing to train for {self.table.title}: {notes[0]}")
        return rows, notes

    def score(self, row: Row, sets: LoadedSets, options: EvaluateOptions) -> list[Result]:
        """Train and score a row for each seed, and write the results of each model to OUTPUT/results.

        Returns:
            one result for each task, the mean over the seeds. A model that is not trained is scored once.
        """
        runs = []
        for seed in self.chosen.seeds if row.objective else self.chosen.seeds[:1]:
            print(f"-- {row.name}" + (f", seed {seed}" if row.objective else ""), file=sys.stderr, flush=True)
            path = self.model(row, seed)
            encoder = Encoder.load(path, row.pooler or None, choose_device(str(self.flags.get("device", ""))))
            facts = model_facts(path, encoder, None, versions())
            if row.whiten:
                facts = replace(facts, name=f"{facts.name}-whitened")
            texts = self.whitening_texts() if row.whiten else ()
            runs.append(evaluate(encoder, facts, sets, options, fitted_on=texts))
            sets.check(complete=True)
        return over_seeds(row.shown_name(self.flags), runs)

    @property
    def whitened_on(self) -> str:
        """The data of SDJC that whitening is fitted on: JSNLI, as in section 4.2, or else the corpus."""
        return "nli" if self.chosen.nli else "corpus"

    def whitening_texts(self) -> list[str]:
        """Return the first different sentences of the training data, at most `WHITENING_SENTENCES`."""
        if self.is_ease:
            texts = read_texts(open_pairs(str(self.flags["data"])))
        else:
            rows = read_rows(open_texts(self.sources([self.whitened_on])))
            texts = (text for row in rows for text in (row.text, row.positive, *row.negatives) if text)
        distinct: dict[str, None] = {}
        for text in texts:
            distinct[text] = None
            if len(distinct) == WHITENING_SENTENCES:
                break
        return list(distinct)

    def how(self) -> str:
        """Return in words how the rows are trained."""
        flags = self.flags
        seeds = ", ".join(map(str, self.chosen.seeds))
        means = f"seeds {seeds}: means, ± standard deviations" if len(self.chosen.seeds) > 1 else f"seed {seeds} alone"
        hidden = NOT_DECISIVE | {"data", "model"}
        given = [f"`--{name}={value}`" for name, value in flags.items() if name not in hidden]
        scored = (flags.get("dev") or flags.get("held_out")) and flags.get("keep") != "last"
        best = "the best by dev score" if scored else "the last ones, since without `--dev` none is known as the best"
        if not self.is_ease:
            fitted = f"Whitening: fitted on {self.sources([self.whitened_on])}, not on the sets."
            model = self.model(next(row for row in self.table.rows if not row.objective), 0)
            settings = f", with {' '.join(given)}" if given else ""
            return f"{model} on {flags['data']}{settings}; {means}. Weights: {best}. {fitted}"
        pairs = open_pairs(str(flags["data"]))
        settings = f"{self.chosen.variant}{f', but {chr(32).join(given)}' if given else ''}"
        return (
            f"Trained with {means}. Settings of EASE's {settings}. Weights: {best}. "
            f"Rows: {pairs.rows:,} pairs of {pairs.entities:,} entities in {pairs.path}, fingerprint "
            f"{pairs.fingerprint[:16]}."
        )


def train_once(config: Config) -> str:
    """Return the directory of a config's model; train it if it does not exist.

    Raises:
        UsageError: the model exists and was trained with other options.
    """
    directory = f"{config.output}/model"
    if not os.path.exists(os.path.join(directory, "run.json")):
        return task.run(config)
    # That of the model names no directories.
    record = os.path.join(config.output, "run.json")
    with reading(record), malformed(f"{record}: not the record of a run, remove {directory}"):
        before = dict(json.loads(read_bytes(record)))
    stated = config.record()
    changed = [name for name in stated if name not in NOT_DECISIVE and before.get(name) != stated[name]]
    if changed:
        raise UsageError(
            f"{directory}: trained with other options ({', '.join(changed)}): give the same, or another --output"
        )
    return directory


def over_seeds(name: str, runs: Sequence[Sequence[Result]]) -> list[Result]:
    """Merge the results of several seeds: the mean of each cell, with the sample standard deviation.

    Args:
        name: the name of the merged model.
        runs: the results of each seed, with the same tasks in the same order.
    """
    merged = []
    for results in zip(*runs, strict=True):
        first = results[0]
        cells = []
        for same in zip(*(result.scores.cells for result in results), strict=True):
            values = tuple(cell.value for cell in same)
            # Rows that are no model, such as the majority label, do not depend on the seed.
            differs = len(values) > 1 and not same[0].row
            spread: dict[str, Any] = {"spread": stdev(values), "runs": values} if differs else {}
            cells.append(replace(same[0], value=fmean(values), **spread))
        revisions = ", ".join(dict.fromkeys(result.model.revision for result in results))
        model = replace(first.model, name=name, revision=revisions)
        merged.append(replace(first, model=model, scores=replace(first.scores, cells=cells)))
    return merged
