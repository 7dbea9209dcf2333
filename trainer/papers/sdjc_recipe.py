"""The recipe of SDJC, which `sdjc_options.py` describes."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import FlagParser
from wikianchor.io.markdown import markdown_table
from wikianchor.trainer.config import Config, add_flags, make
from wikianchor.trainer.data.texts import open_texts, read_rows
from wikianchor.trainer.evaluate.command import load_complete
from wikianchor.trainer.evaluate.report import markdown
from wikianchor.trainer.evaluate.task import EvaluationOptions
from wikianchor.trainer.papers.runs import ScoredRow, score_rows, train_once
from wikianchor.trainer.papers.sdjc_options import SdjcRecipeOptions, parse
from wikianchor.trainer.presets import SDJC_NEGATIVES

# The choice of BERT-whitening for base models; narrower models keep all directions.
DIRECTIONS = 256
# Of SimCSE's paper, which the baselines follow; SDJC's release has alpha = e for its second stage on NLI.
_SIMCSE = {"sentence_temperature": 0.05, "hard_negative_weight": 0.0}
_NLI = {"sentence_temperature": 0.05, "hard_negative_weight": 1.0}
# Epochs of SimCSE's appendix A where --epochs is not given: a preset of SDJC counts the passes over SDJC's own rows.
_UNSUPERVISED_EPOCHS, _SUPERVISED_EPOCHS = 1, 3

# Rows of the paper's tables 4 and 8 whose methods have no command here.
_COLUMNS_4 = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "JSICK", "JSTS", "Avg.")
_TABLE_4 = {
    "FastText": (42.81, 51.62, 42.34, 54.22, 54.02, 51.27, 74.76, 60.17, 53.90),
    "BERT-flow-base": (41.83, 52.32, 39.16, 53.07, 55.01, 55.09, 77.26, 64.90, 54.83),
    "DiffCSE-BERT-base (wiki1m)": (50.09, 56.15, 46.14, 61.87, 60.44, 69.37, 76.29, 71.07, 61.43),
    "Sentence-BERT-base": (51.80, 52.92, 48.86, 60.48, 58.53, 64.76, 65.25, 75.28, 59.73),
    "Sentence-BERT-large": (52.56, 54.06, 49.40, 62.45, 58.46, 66.17, 67.68, 76.84, 60.95),
}
_COLUMNS_8 = ("JACSTS", "MRR, %", "MAP, %", "P@1, %", "P@5, %")
_TABLE_8 = {
    "FastText": (75.26, 56.66, 41.53, 45.0, 22.0),
    "DiffCSE-BERT-base (wiki1m)": (79.82, 72.59, 61.79, 65.0, 32.0),
    "Sentence-BERT-base (JSNLI)": (75.69, 59.22, 40.80, 55.0, 21.0),
    "Sentence-BERT-large (JSNLI)": (73.77, 52.63, 34.75, 45.0, 19.0),
}


@dataclass(frozen=True)
class SdjcRow:
    """A row of the table.

    Attributes:
        name: title of the row.
        sources: keys of its training data; none for the model without training.
        changes: options that differ from those of the other rows.
        first: name of the row whose model is trained further.
        pooler: of a model that is not trained.
        whiten: directions kept by whitening, 0 for vectors as they are.
    """

    name: str
    sources: tuple[str, ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)
    first: str = ""
    pooler: str = "avg"
    whiten: int = 0

    @property
    def epochs(self) -> Mapping[str, int]:
        """The option `epochs` of a baseline; nothing for SDJC."""
        if self.sources == ("nli",):
            return {"epochs": _SUPERVISED_EPOCHS}
        return {"epochs": _UNSUPERVISED_EPOCHS} if "negatives" in self.changes else {}


ROWS = (
    SdjcRow("average"),
    # Section 4.2: the tokens of the last two layers.
    SdjcRow("whitening", pooler="avg_top2", whiten=DIRECTIONS),
    SdjcRow("SimCSE (general)", ("general",), {"negatives": 0, **_SIMCSE}),
    SdjcRow("MixCSE (general)", ("general",), {"negatives": 0, "mixed_negatives": 0.2, **_SIMCSE}),
    SdjcRow("SimCSE (NLI)", ("nli",), _NLI),
    SdjcRow("SimCSE (domain)", ("corpus",), {"negatives": 0, **_SIMCSE}),
    SdjcRow("MixCSE (domain)", ("corpus",), {"negatives": 0, "mixed_negatives": 0.2, **_SIMCSE}),
    SdjcRow("SDJC", ("negatives",)),
    SdjcRow("SDJC bar (general and domain)", ("general", "corpus"), {"negatives": 0}),
    SdjcRow("SDJC, then NLI", ("nli",), _NLI, first="SDJC"),
    SdjcRow("SDJC, then general", ("general",), {"negatives": 0, **_SIMCSE}, first="SDJC"),
)


def chosen_rows(names: str, sources: Mapping[str, str]) -> list[SdjcRow]:
    """Return the rows that `--rows` names, or all rows whose training data are given.

    Args:
        names: titles of rows, separated by semicolons, or "".
        sources: training data by key, "" for those not given.

    Raises:
        UsageError: there is no such row, or its training data are not given.
    """
    possible = {row.name: row for row in ROWS if all(sources[name] for name in row.sources)}
    if not names:
        return list(possible.values())
    rows = []
    for name in (part.strip() for part in names.split(";")):
        if name not in {row.name for row in ROWS}:
            raise UsageError(f"--rows: no {name!r}: choose of {'; '.join(row.name for row in ROWS)}")
        if name not in possible:
            raise UsageError(f"--rows: {name!r} needs --general or --nli")
        rows.append(possible[name])
    return rows


def wikianchor(*arguments: str) -> None:
    """Run a command of the pipelines in another process, because the trainer imports nothing of them.

    Raises:
        SystemExit: with the status of a command that fails; it has printed its error.
    """
    # stdout is reserved for the table.
    command = [sys.executable, "-m", "wikianchor", *arguments]
    status = subprocess.run(command, stdout=sys.stderr, check=False).returncode
    if status:
        raise SystemExit(status)


def make_data(flags: Mapping[str, Any], recipe: SdjcRecipeOptions) -> None:
    """Build the corpus, train the T5, and build the negatives."""
    output = str(flags["output"])
    corpus, negatives = f"{output}/corpus", f"{output}/negatives"
    wikianchor("corpus", f"--input={recipe.text}", f"--output={corpus}", *shlex.split(recipe.corpus_flags))
    t5 = train_once(t5_config(corpus, f"{output}/t5", recipe, str(flags.get("device", ""))))
    wikianchor(
        "negatives",
        f"--corpus={corpus}",
        f"--model={t5}",
        f"--output={negatives}",
        *([f"--device={flags['device']}"] if flags.get("device") else []),
        *preset_negatives(str(flags.get("preset", ""))),
        *shlex.split(recipe.negatives_flags),
    )


def preset_negatives(preset: str) -> list[str]:
    """Return the flags of `wikianchor negatives` that a preset of SDJC implies; later flags take precedence.

    The paper (sections 3.2, 5.3.1 and 5.3.2) and the released scripts, each with 200 beams as the scripts have.
    """
    name, _, variant = preset.removeprefix("sdjc-").rpartition("-")
    if name not in SDJC_NEGATIVES:
        return []
    rule = ["--spans=nouns"] if variant == "paper" else ["--spans=released", "--fill=each"]
    return [f"--negatives={SDJC_NEGATIVES[name]}", "--beams=200", *rule]


def sources_of(recipe: SdjcRecipeOptions, output: str) -> dict[str, str]:
    """Return the training data by key, "" for those not given."""
    directory = recipe.made.rstrip("/") or output
    datasets = {name: f"{directory}/{name}" for name in ("corpus", "negatives")}
    return {**datasets, "general": recipe.general, "nli": recipe.nli}


def t5_config(corpus: str, output: str, recipe: SdjcRecipeOptions, device: str) -> Config:
    """Return the config of the T5.

    Raises:
        UsageError: `--t5_flags` are invalid.
    """
    parser = FlagParser(prog="--t5_flags")
    add_flags(parser, "t5")
    try:
        more = vars(parser.parse_args(shlex.split(recipe.t5_flags)))
    except UsageError as error:
        raise UsageError(f"--t5_flags={recipe.t5_flags}: {error}") from error
    begun = {"model": recipe.t5} if recipe.t5 else {"new": "tiny"}
    return make("t5", {**begun, "device": device, **more, "data": corpus, "output": output}, {})


def run_directory(row: SdjcRow, seed: int, output: str) -> str:
    """Return the directory of a row's run."""
    return f"{output}/runs/{''.join(sign if sign.isalnum() else '_' for sign in row.name)}-{seed}"


def first_of(row: SdjcRow) -> SdjcRow:
    """Return the row whose model is trained further for this row."""
    return next(other for other in ROWS if other.name == row.first)


def config_of(row: SdjcRow, seed: int, flags: Mapping[str, Any], sources: Mapping[str, str]) -> Config:
    """Return the config of a row that is trained."""
    output = str(flags["output"])
    options = {
        **row.epochs,
        **flags,
        **row.changes,
        "seed": seed,
        "data": ",".join(sources[name] for name in row.sources),
    }
    if row.first:
        # The model of the first stage has a pooler already.
        options |= {"model": f"{run_directory(first_of(row), seed, output)}/model", "pooler": "", "mlp": False}
    return make("sdjc", {**options, "output": run_directory(row, seed, output)}, {})


def model_of(row: SdjcRow, seed: int, flags: Mapping[str, Any], sources: Mapping[str, str]) -> str:
    """Return the model of a row; train it, and the row that it continues, if they do not exist."""
    if not row.sources:
        return str(flags["model"])
    if row.first:
        model_of(first_of(row), seed, flags, sources)
    return train_once(config_of(row, seed, flags, sources))


def run(argv: Sequence[str]) -> tuple[str, str, str]:
    """Build the data, train and score the rows.

    All flags and inputs are checked before the first stage, because the stages take hours.

    Returns:
        the output directory, the name of the table, and the report as Markdown.
    """
    flags, recipe = parse(argv)
    output = str(flags["output"])
    rows = chosen_rows(recipe.rows, sources_of(recipe, output))
    options = EvaluationOptions()
    sets = load_complete(recipe.evaluation, recipe.tasks, options)
    sources = sources_of(recipe, output)
    t5_config(sources["corpus"], f"{output}/t5", recipe, "")
    for row in rows:
        if row.sources:
            config_of(row, recipe.seeds[0], flags, sources)
    if recipe.made:
        for name in ("corpus", "negatives"):
            open_texts(sources[name])
    else:
        make_data(flags, recipe)
    device = str(flags.get("device", ""))
    # Section 4.2: JSNLI.
    whitened = "nli" if sources["nli"] else "corpus"

    def scored_row(row: SdjcRow) -> ScoredRow:
        pooler = None if row.sources else row.pooler
        return ScoredRow(
            row.name,
            lambda seed: model_of(row, seed, flags, sources),
            bool(row.sources),
            pooler,
            row.whiten,
            lambda: whitening_texts(sources[whitened]),
        )

    results = score_rows([scored_row(row) for row in rows], recipe.seeds, sets.tasks, options, device, output)
    how = (
        f"{flags['model']} on {recipe.text or recipe.made}, seeds {', '.join(map(str, recipe.seeds))}. "
        f"Whitening: fitted on {sources[whitened]}, not on the sets."
    )
    return output, "sdjc", f"## SDJC\n\n{how}\n\n{markdown(results, sets.missing, paths=False)}\n{paper_figures()}"


def paper_figures() -> str:
    """Return the rows of tables 4 and 8 whose methods have no command here, with the paper's numbers."""
    tables = []
    for number, columns, rows in ((4, _COLUMNS_4, _TABLE_4), (8, _COLUMNS_8, _TABLE_8)):
        lines = [[name, *(f"{value:.2f}" for value in values)] for name, values in rows.items()]
        tables.append(f"Not run: the paper's own numbers, table {number}\n\n{markdown_table(['', *columns], lines)}\n")
    return "\n".join(tables)


def whitening_texts(path: str) -> list[str]:
    """Return the sentences that whitening is fitted on: all of a source of training data."""
    rows = read_rows(open_texts(path))
    return list(dict.fromkeys(text for row in rows for text in (row.text, row.positive, *row.negatives) if text))
