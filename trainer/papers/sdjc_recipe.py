"""The recipe of SDJC: `sdjc_options.py` says what it makes."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import FlagParser
from wikianchor.trainer.config import Config, add_flags, make
from wikianchor.trainer.data.texts import open_texts
from wikianchor.trainer.evaluate.command import load_tasks
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.registry import choose
from wikianchor.trainer.evaluate.report import Result, markdown, write_results
from wikianchor.trainer.evaluate.task import EvaluationOptions
from wikianchor.trainer.papers.runs import over_seeds, score, train_once
from wikianchor.trainer.papers.sdjc_options import parse

# BERT-whitening's own choice for base models; narrower models keep all their directions.
DIRECTIONS = 256
# Of SimCSE's paper, which the baselines follow; SDJC's release has alpha = e for its second stage on NLI.
_SIMCSE = {"sentence_temperature": 0.05, "hard_negative_weight": 0.0}
_NLI = {"sentence_temperature": 0.05, "hard_negative_weight": 1.0}


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Args:
        name: in the table.
        sources: keys of what it is trained on, none where the model is scored as it is.
        changes: options that set it apart.
        first: name of the row whose model it goes on from.
        whiten: directions kept, 0 for vectors as they are.
    """

    name: str
    sources: tuple[str, ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)
    first: str = ""
    whiten: int = 0


ROWS = (
    Row("average"),
    Row("whitening", whiten=DIRECTIONS),
    Row("SimCSE (general)", ("general",), {"negatives": 0, **_SIMCSE}),
    Row("MixCSE (general)", ("general",), {"negatives": 0, "mixed_negatives": 0.2, **_SIMCSE}),
    Row("SimCSE (NLI)", ("nli",), _NLI),
    Row("SimCSE (domain)", ("corpus",), {"negatives": 0, **_SIMCSE}),
    Row("MixCSE (domain)", ("corpus",), {"negatives": 0, "mixed_negatives": 0.2, **_SIMCSE}),
    Row("SDJC", ("negatives",)),
    Row("SDJC bar (general and domain)", ("general", "corpus"), {"negatives": 0}),
    Row("SDJC, then NLI", ("nli",), _NLI, first="SDJC"),
    Row("SDJC, then general", ("general",), {"negatives": 0, **_SIMCSE}, first="SDJC"),
)


def chosen_rows(names: str, sources: Mapping[str, str]) -> list[Row]:
    """Return the rows that are asked for and whose sources are given.

    Raises:
        UsageError: there is no such row, or it needs a source that is not given.
    """
    possible = {row.name: row for row in ROWS if all(sources[name] for name in row.sources)}
    if not names:
        return list(possible.values())
    found = []
    for name in (part.strip() for part in names.split(";")):
        if name not in {row.name for row in ROWS}:
            raise UsageError(f"--rows: no {name!r}: choose of {'; '.join(row.name for row in ROWS)}")
        if name not in possible:
            raise UsageError(f"--rows: {name!r} needs --general or --nli")
        found.append(possible[name])
    return found


def wikianchor(*arguments: str) -> None:
    """Run a command of the data side. It is a program of its own: the trainer imports nothing of it.

    Raises:
        SystemExit: with its status where it fails; it has said why.
    """
    # stdout is for the table.
    command = [sys.executable, "-m", "wikianchor", *arguments]
    status = subprocess.run(command, stdout=sys.stderr, check=False).returncode
    if status:
        raise SystemExit(status)


def make_data(flags: Mapping[str, Any], own: argparse.Namespace) -> None:
    """Make corpus, T5 and negatives."""
    output = str(flags["output"])
    corpus, negatives = f"{output}/corpus", f"{output}/negatives"
    wikianchor("corpus", f"--input={own.text}", f"--output={corpus}", *shlex.split(own.corpus_flags))
    t5 = train_once(t5_config(corpus, f"{output}/t5", own, str(flags.get("device", ""))))
    wikianchor(
        "negatives",
        f"--corpus={corpus}",
        f"--model={t5}",
        f"--output={negatives}",
        *([f"--device={flags['device']}"] if flags.get("device") else []),
        *shlex.split(own.negatives_flags),
    )


def sources_of(own: argparse.Namespace, output: str) -> dict[str, str]:
    """Return what rows are trained on, by key, "" for what is not given."""
    place = own.made.rstrip("/") or output
    made = {name: f"{place}/{name}" for name in ("corpus", "negatives")}
    return {**made, "general": own.general, "nli": own.nli}


def t5_config(corpus: str, output: str, own: argparse.Namespace, device: str) -> Config:
    """Return the config of the T5.

    Raises:
        UsageError: its flags do not go together.
    """
    parser = FlagParser(prog="--t5_flags")
    add_flags(parser, "t5")
    try:
        more = vars(parser.parse_args(shlex.split(own.t5_flags)))
    except UsageError as error:
        raise UsageError(f"--t5_flags={own.t5_flags}: {error}") from error
    begun = {"model": own.t5} if own.t5 else {"new": "tiny"}
    return make("t5", {**begun, "device": device, **more, "data": corpus, "output": output}, {})


def place_of(row: Row, seed: int, output: str) -> str:
    """Return the directory of a row's run."""
    return f"{output}/runs/{''.join(sign if sign.isalnum() else '_' for sign in row.name)}-{seed}"


def first_of(row: Row) -> Row:
    """Return the row whose model this one goes on from."""
    return next(one for one in ROWS if one.name == row.first)


def config_of(row: Row, seed: int, flags: Mapping[str, Any], sources: Mapping[str, str]) -> Config:
    """Return the config of a row that is trained."""
    output = str(flags["output"])
    options = {**flags, **row.changes, "seed": seed, "data": ",".join(sources[name] for name in row.sources)}
    if row.first:
        # How tokens become a vector is settled by the first stage.
        settled = {"model": f"{place_of(first_of(row), seed, output)}/model", "pooler": "", "mlp": False}
        options.update(settled)
    return make("sdjc", {**options, "output": place_of(row, seed, output)}, {})


def trained(row: Row, seed: int, flags: Mapping[str, Any], sources: Mapping[str, str]) -> str:
    """Return the directory of a row's model: the model as it is, or what it became."""
    if not row.sources:
        return str(flags["model"])
    if row.first:
        trained(first_of(row), seed, flags, sources)
    return train_once(config_of(row, seed, flags, sources))


def _renamed(result: Result, name: str) -> Result:
    return dataclasses.replace(result, model=dataclasses.replace(result.model, name=name))


def run(argv: Sequence[str]) -> tuple[str, str, str]:
    """Make, train and score all; return the output directory, the table's name, and the report as Markdown."""
    flags, own = parse(argv)
    output = str(flags["output"])
    rows = chosen_rows(own.rows, sources_of(own, output))
    options = EvaluationOptions()
    # What is missing or wrong is said before hours of work.
    tasks, missing = load_tasks(EvaluationFiles(own.evaluation), choose(own.tasks), own.tasks, options)
    sources = sources_of(own, output)
    t5_config(sources["corpus"], f"{output}/t5", own, "")
    for row in rows:
        if row.sources:
            config_of(row, own.seeds[0], flags, sources)
    if own.made:
        for name in ("corpus", "negatives"):
            open_texts(sources[name])
    else:
        make_data(flags, own)
    device = str(flags.get("device", ""))
    results: list[Result] = []
    for row in rows:
        seeds = own.seeds if row.sources else own.seeds[:1]
        pooler = None if row.sources else "avg"
        runs = [score(trained(row, seed, flags, sources), pooler, tasks, options, device, row.whiten) for seed in seeds]
        for one in runs:
            kept = [_renamed(result, f"{result.model.name}-whitened") for result in one] if row.whiten else one
            write_results(kept, output)
        results += over_seeds(row.name, runs)
    how = f"{flags['model']} on {own.text or own.made}, seeds {', '.join(map(str, own.seeds))}."
    return output, "sdjc", f"## SDJC\n\n{how}\n\n{markdown(results, missing)}"
