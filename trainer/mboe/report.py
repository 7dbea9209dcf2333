"""What comes out of a run, for people: the table of scores, what the attention chose, and the detection-rate curve."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wikianchor.io.errors import InputError
from wikianchor.io.storage import read_bytes, reading
from wikianchor.trainer.mboe.bags import Bags
from wikianchor.trainer.mboe.scores import mean_and_interval, paired_t_test

# By seed, the score of each language.
Scores = Mapping[int, Mapping[str, float]]
EXCERPT = 300


def target_mean(scores: Mapping[str, float], source: str) -> float:
    """Return the mean over the languages other than that of the training documents; nan where there is none."""
    targets = [score for language, score in scores.items() if language != source]
    return float(np.mean(targets)) if targets else math.nan


def score_table(
    scores: Scores, source: str, metric: str, sizes: Mapping[str, float], other: Scores | None = None
) -> str:
    """Return a Markdown table, a line for each language and one for the mean of the targets.

    Args:
        scores: of this run.
        source: language of the training documents.
        metric: its name.
        sizes: entities of a document, by language.
        other: of the run it is compared with.
    """
    shared = sorted(set(scores) & set(other)) if other is not None else []
    head = ["language", f"{metric}, %", "entities of a document"]
    head += [f"other {metric}, %", "p", "seeds"] if other is not None else []
    languages = sorted(next(iter(scores.values())), key=lambda name: (name != source, name))
    lines = []
    for name in [*languages, None]:
        values = {seed: target_mean(found, source) if name is None else found[name] for seed, found in scores.items()}
        if any(math.isnan(value) for value in values.values()):
            continue
        label = "mean of targets" if name is None else f"{name} (train)" if name == source else name
        row = [label, _with_interval(list(values.values())), f"{sizes[name]:.1f}" if name is not None else ""]
        if other is not None:
            others = [
                target_mean(other[seed], source) if name is None else other[seed].get(name, math.nan) for seed in shared
            ]
            p = paired_t_test([values[seed] for seed in shared], others)
            row += [_with_interval(others), "" if math.isnan(p) else f"{p:.4f}", str(len(shared))]
        lines.append(row)
    return markdown(head, lines)


def _with_interval(values: Sequence[float]) -> str:
    if not values:
        return ""
    mean, half = mean_and_interval(values)
    return f"{100 * mean:.1f}" if math.isnan(half) else f"{100 * mean:.1f} ± {100 * half:.1f}"


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *lines)) + "\n"


def curve_table(by_rate: Mapping[float, Scores], source: str, metric: str) -> str:
    """Return the score at each detection rate, for each language and the mean of the targets."""
    first = next(iter(next(iter(by_rate.values())).values()))
    languages = sorted(first, key=lambda name: (name != source, name))
    lines = []
    for rate, scores in sorted(by_rate.items()):
        means = [_with_interval([found[name] for found in scores.values()]) for name in languages]
        targets = [target_mean(found, source) for found in scores.values()]
        lines.append([f"{rate:g}", *means, "" if math.isnan(targets[0]) else _with_interval(targets)])
    return f"{metric}, %, by the share of entities that is kept\n\n" + markdown(["rate", *languages, "targets"], lines)


def explanation(
    text: str,
    gold: Sequence[str],
    predicted: Sequence[tuple[str, float]],
    items: Sequence[tuple[int, str, str, float, float]],
    size: int,
) -> str:
    """Return what the attention chose in one document.

    Args:
        text: of the document.
        gold: its labels.
        predicted: labels and their probabilities, the likeliest first.
        items: number, title, name in the text, commonness and weight, the heaviest first.
        size: of its bag.
    """
    excerpt = " ".join(text.split())
    excerpt = excerpt if len(excerpt) <= EXCERPT else f"{excerpt[:EXCERPT]} ..."
    said = ", ".join(f"{label} {probability:.2f}" for label, probability in predicted) or "none"
    entities = "entity" if size == 1 else "entities"
    head = f"> {excerpt}\n\nlabel: {', '.join(gold) or 'none'}; predicted: {said}; {size} {entities}\n"
    if not items:
        return head
    lines = [
        [_cell(title), f"Q{qid}", _cell(name), f"{commonness:.2f}", f"{weight:.3f}"]
        for qid, title, name, commonness, weight in items
    ]
    return f"{head}\n{markdown(['entity', 'item', 'in the text', 'commonness', 'attention'], lines)}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def read_scores(path: str) -> Scores:
    """Read the scores of another run.

    Raises:
        InputError: its directory has none.
    """
    place = f"{path.rstrip('/')}/scores.json"
    try:
        with reading(place):
            found = json.loads(read_bytes(place))
        return {int(seed): dict(scores) for seed, scores in found["seeds"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{place}: not the scores of a run of mboe ({error})") from error


def mean_sizes(bags: Mapping[str, Bags]) -> dict[str, Any]:
    """Return the mean number of items of a document, by language."""
    return {language: float(found.sizes().mean()) if len(found.starts) > 1 else 0.0 for language, found in bags.items()}
