"""`python -m wikianchor.trainer.papers.figures`: see `options.py`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

if __name__ == "__main__":
    from wikianchor.trainer.command import EVAL, check_flags, need
    from wikianchor.trainer.papers.figures.options import parse

    check_flags("figures", lambda: parse(sys.argv[1:]))
    need(EVAL)

from wikianchor.io.errors import InputError
from wikianchor.io.markdown import markdown_table
from wikianchor.io.output import printable_json
from wikianchor.io.storage import write_text
from wikianchor.trainer.command import run_command
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.evaluate.figure import new_figure, save_figure
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.metrics import pair_cosines
from wikianchor.trainer.evaluate.pairs import read_pairs
from wikianchor.trainer.evaluate.report import short_names
from wikianchor.trainer.evaluate.task import EvaluationOptions, SentenceVectors
from wikianchor.trainer.evaluate.tasks import retrieval
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.papers.figures import cases, polar, relevant
from wikianchor.trainer.papers.figures.options import (
    CasesOptions,
    FigureOptions,
    PolarFigureOptions,
    WordsFigureOptions,
    parse,
)


def encoders(flags: FigureOptions) -> dict[str, SentenceVectors]:
    """Return each model by its name in the figure."""
    names = short_names(path.rstrip("/") for path in flags.model)
    device = choose_device(flags.device)
    return {
        names[path.rstrip("/")]: SentenceVectors(
            Encoder.load(path, flags.pooler, device), flags.batch_size, flags.max_length
        )
        for path in flags.model
    }


def words(flags: WordsFigureOptions) -> str:
    """Draw figure 6 and return its numbers."""
    sets = {name: relevant.similar_pairs(path, flags.least) for name, path in map(_named, flags.pairs)}
    parse = relevant.ginza()
    shares_by_set = {
        name: {
            model: relevant.shares(relevant.relevant_words(pairs, parse, vectors))
            for model, vectors in encoders(flags).items()
        }
        for name, pairs in sets.items()
    }
    shown = relevant.columns([shares for models in shares_by_set.values() for shares in models.values()])
    heat_map(shares_by_set, shown, {name: len(pairs) for name, pairs in sets.items()}, flags.output)
    if flags.json:
        return printable_json(json.dumps(shares_by_set, indent=2, ensure_ascii=False))
    lines = [
        [name, model, f"{len(sets[name]):,}", *(f"{100 * share:.1f}" for share in relevant.cells(shares, shown))]
        for name, models in shares_by_set.items()
        for model, shares in models.items()
    ]
    return markdown_table(["set", "model", "pairs", *shown], lines)


def _named(part: str) -> tuple[str, str]:
    """Return name and path of NAME=FILE; the name of FILE alone is that of the file."""
    name, _, path = part.partition("=")
    return (name, path) if path and "/" not in name else (part.rpartition("/")[2], part)


def heat_map(
    shares_by_set: Mapping[str, Mapping[str, dict[str, float]]],
    shown: Sequence[str],
    sizes: Mapping[str, int],
    path: str,
) -> None:
    """Draw a panel for each set, with a row for each model and a column for each part of speech, in per cent.

    Args:
        shares_by_set: share of each part of speech, by set and model.
        shown: parts of speech that have a column.
        sizes: number of pairs of each set.
        path: of the figure.
    """
    models = max(map(len, shares_by_set.values()))
    figure = new_figure((2 + 4.6 * len(shares_by_set), 1.6 + 0.5 * models))
    all_axes = figure.subplots(1, len(shares_by_set), squeeze=False, sharey=True)[0]
    for axes, (name, rows) in zip(all_axes, shares_by_set.items(), strict=True):
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
    save_figure(figure, path)


def polar_figure(flags: PolarFigureOptions) -> str:
    """Draw figure 7 and return its numbers.

    Raises:
        UsageError: not exactly one of `--pairs` and `--retrieval` is given.
        InputError: the set is missing.
    """
    if flags.pairs:
        scene = polar.pair_scene(relevant.similar_pairs(flags.pairs, flags.least), flags.most, flags.seed)
    else:
        sets = retrieval.load(EvaluationFiles(flags.retrieval), EvaluationOptions())
        if not sets:
            raise InputError(f"{flags.retrieval}: no qrels/test.tsv of BEIR's layout, and no QAbot-relevant.csv")
        scene = polar.retrieval_scene(sets[0], flags.most, flags.seed)
    reduce = polar.umap(flags.seed)
    panels = [polar.panel(name, scene, vectors(scene.texts), reduce) for name, vectors in encoders(flags).items()]
    figure = new_figure((5.5 * len(panels), 5))
    polar.draw(figure, panels, scene)
    save_figure(figure, flags.output)
    head = ["model", "mean cosine of a pair", "mean angle of a pair in the picture", "of any two"]
    rows = [[panel.title, f"{panel.cosine:.4f}", f"{panel.angle:.3f}", f"{panel.spread:.3f}"] for panel in panels]
    return markdown_table(head, rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    return run_command("figures", lambda: draw(parse(argv)))


def compare(flags: CasesOptions) -> str:
    """Write the pairs that one model scores better and worse than the other, and return them."""
    data = EvaluationFiles.of_file(flags.pairs)
    pairs = read_pairs(data, data.names[0], data.names[0])
    models = encoders(flags)
    first, second = (pair_cosines(vectors(pairs.first), vectors(pairs.second)) for vectors in models.values())
    text = cases.report(list(models), *cases.cases(pairs, first, second, flags.most))
    write_text(flags.output, text)
    return text


def draw(flags: WordsFigureOptions | PolarFigureOptions | CasesOptions) -> str:
    """Draw the figure that the flags ask for and return its numbers."""
    if isinstance(flags, CasesOptions):
        return compare(flags)
    return words(flags) if isinstance(flags, WordsFigureOptions) else polar_figure(flags)


if __name__ == "__main__":
    sys.exit(main())
