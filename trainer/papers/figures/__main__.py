"""`python -m wikianchor.trainer.papers.figures`: see `options.py`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

if __name__ == "__main__":
    from wikianchor.trainer.command import EVAL, check_flags, need
    from wikianchor.trainer.papers.figures.options import parse

    check_flags("figures", lambda: parse(sys.argv[1:]))
    need(EVAL)

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.output import printable_json
from wikianchor.trainer.command import run_command
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.report import short_names
from wikianchor.trainer.evaluate.task import EvaluationOptions, SentenceVectors
from wikianchor.trainer.evaluate.tasks import retrieval
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.papers.figures import polar, relevant
from wikianchor.trainer.papers.figures.options import parse


def encoders(flags: argparse.Namespace) -> dict[str, SentenceVectors]:
    """Return the vectors of each model by its name in the figure."""
    names = short_names(path.rstrip("/") for path in flags.model)
    device = choose_device(flags.device)
    return {
        names[path.rstrip("/")]: SentenceVectors(
            Encoder.load(path, flags.pooler, device), flags.batch_size, flags.max_length
        )
        for path in flags.model
    }


def words(flags: argparse.Namespace) -> str:
    """Draw figure 6 and return its numbers."""
    sets = {name: relevant.similar_pairs(path, flags.least) for name, path in map(_named, flags.pairs)}
    parse = relevant.ginza()
    found = {
        name: {
            model: relevant.shares(relevant.relevant_words(pairs, parse, vectors))
            for model, vectors in encoders(flags).items()
        }
        for name, pairs in sets.items()
    }
    shown = relevant.columns([shares for models in found.values() for shares in models.values()])
    heat_map(found, shown, {name: len(pairs) for name, pairs in sets.items()}, flags.output)
    if flags.json:
        return printable_json(json.dumps(found, indent=2, ensure_ascii=False))
    lines = [["set", "model", "pairs", *shown], ["---", "---", *["---:"] * (len(shown) + 1)]]
    for name, models in found.items():
        for model, shares in models.items():
            cells = [f"{100 * share:.1f}" for share in relevant.cells(shares, shown)]
            lines.append([name, model, f"{len(sets[name]):,}", *cells])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _named(part: str) -> tuple[str, str]:
    """Return name and path of NAME=FILE, or of FILE alone."""
    name, _, path = part.partition("=")
    return (name, path) if path and "/" not in name else (part.rpartition("/")[2], part)


def heat_map(
    found: Mapping[str, Mapping[str, dict[str, float]]], shown: Sequence[str], sizes: Mapping[str, int], path: str
) -> None:
    """Draw a panel for each set: a row for each model, a column for each part of speech, per cent in the cells."""
    models = max(len(one) for one in found.values())
    figure = new_figure((2 + 4.6 * len(found), 1.6 + 0.5 * models))
    all_axes = figure.subplots(1, len(found), squeeze=False, sharey=True)[0]
    for axes, (name, rows) in zip(all_axes, found.items(), strict=True):
        table = [[100 * share for share in relevant.cells(shares, shown)] for shares in rows.values()]
        axes.imshow(table, cmap="Blues", vmin=0, vmax=100, aspect="auto")
        axes.set(title=f"{name}, {sizes[name]:,} pairs", xticks=range(len(shown)), yticks=range(len(rows)))
        axes.set_xticklabels(shown, rotation=45, ha="right")
        axes.set_yticklabels(list(rows))
        for row, cells in enumerate(table):
            for column, value in enumerate(cells):
                axes.text(
                    column, row, f"{value:.1f}", ha="center", va="center", color="w" if value > 55 else "k", size=8
                )
    save(figure, path)


def polar_figure(flags: argparse.Namespace) -> str:
    """Draw figure 7 and return its numbers.

    Raises:
        UsageError: neither pairs nor a set for retrieval are given, or both.
        InputError: there is no such set.
    """
    if bool(flags.pairs) == bool(flags.retrieval):
        raise UsageError("--pairs or --retrieval: give one of them")
    if flags.most < 1:
        raise UsageError(f"--most={flags.most}: must be 1 or more")
    if flags.pairs:
        scene = polar.pair_scene(relevant.similar_pairs(flags.pairs, flags.least), flags.most, flags.seed)
    else:
        sets = retrieval.load(EvaluationFiles(flags.retrieval), EvaluationOptions())
        if not sets:
            raise InputError(f"{flags.retrieval}: no qrels/test.tsv with corpus.jsonl and queries.jsonl beside it")
        scene = polar.retrieval_scene(sets[0], flags.most, flags.seed)
    reduce = polar.umap(flags.seed)
    panels = [polar.panel(name, scene, vectors(scene.texts), reduce) for name, vectors in encoders(flags).items()]
    figure = new_figure((5.5 * len(panels), 5))
    polar.draw(figure, panels, scene)
    save(figure, flags.output)
    lines = ["| model | mean cosine of a pair | mean angle of a pair in the picture | of any two |"]
    lines.append("| --- | ---: | ---: | ---: |")
    rows = (f"| {one.title} | {one.cosine:.4f} | {one.angle:.3f} | {one.spread:.3f} |" for one in panels)
    return "\n".join([*lines, *rows])


def new_figure(size: tuple[float, float]) -> Any:
    """Return an empty figure.

    Raises:
        UsageError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(f"figures need the extra eval ({error}): pip install 'wikianchor[eval]'") from error
    return Figure(figsize=size, layout="constrained")


def save(figure: Any, path: str) -> None:
    """Write a figure.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: the figure cannot be written ({reason})") from error


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    return run_command("figures", lambda: drawn(parse(argv)))


def drawn(flags: argparse.Namespace) -> str:
    """Draw the figure that the flags ask for and return its numbers."""
    return words(flags) if flags.command == "words" else polar_figure(flags)


if __name__ == "__main__":
    sys.exit(main())
