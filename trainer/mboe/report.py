"""Scores, and reports of a run in Markdown: tables, attention weights in single documents, the detection-rate curve."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import UsageError
from wikianchor.io.markdown import markdown_table
from wikianchor.io.parsing import malformed
from wikianchor.io.storage import read_bytes, reading
from wikianchor.trainer.mboe.detector import Bag

# The score of each language, 0 to 1, by seed.
SeedScores = Mapping[int, Mapping[str, float]]
_TARGETS = "mean of targets"
# Characters of a document that are shown.
EXCERPT = 300


def accuracy(gold: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    """Return the share of documents whose labels are all correct, 0 to 1; NaN without documents.

    Args:
        gold, predicted: (documents, labels).

    >>> accuracy(np.eye(4, dtype=bool), np.eye(4, dtype=bool)[[0, 1, 2, 2]])
    0.75
    """
    return float((gold == predicted).all(1).mean()) if len(gold) else math.nan


def macro_f1(gold: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    """Return the mean F1 over the labels, 0 to 1; NaN without documents.

    As in scikit-learn, which is no dependency of training, the F1 of a label that is neither in `gold` nor in
    `predicted` is 0.

    Args:
        gold, predicted: (documents, labels).

    >>> macro_f1(np.array([[True, False], [True, False]]), np.array([[True, False], [False, False]]))
    0.3333333333333333
    """
    hits = (gold & predicted).sum(0)
    total = gold.sum(0) + predicted.sum(0)
    return float(np.divide(2 * hits, total, out=np.zeros(len(hits)), where=total > 0).mean()) if len(gold) else math.nan


def mean_and_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and half the width of its 95 % confidence interval by Student's t; NaN for one value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, math.nan
    return mean, float(_stats().t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values)))


def paired_t_test(values: Sequence[float], others: Sequence[float]) -> float:
    """Return the two-sided p-value of the paired t-test; NaN for fewer than two pairs.

    Where all differences are equal, the statistic is 0/0 or infinite: p is 1 if they are 0, and 0 if they are not.
    """
    differences = np.subtract(values, others)
    if len(differences) < 2:
        return math.nan
    if np.ptp(differences) == 0:
        return 0.0 if differences.any() else 1.0
    return float(_stats().ttest_rel(values, others).pvalue)


def _stats() -> Any:
    """Return scipy.stats; scipy is in the extra `eval`, and training does without it."""
    try:
        from scipy import stats
    except ImportError as error:
        raise UsageError(
            "intervals over several seeds need the package scipy: pip install 'wikianchor[eval]'"
        ) from error
    return stats


def target_mean(scores: Mapping[str, float], source: str) -> float:
    """Return the mean over the target languages: all but that of the training documents; NaN where there is none.

    >>> target_mean({"en": 0.9, "de": 0.6, "ja": 0.8}, "en")
    0.7
    """
    targets = [score for language, score in scores.items() if language != source]
    return float(np.mean(targets)) if targets else math.nan


def score_table(
    scores: SeedScores, source: str, metric: str, sizes: Mapping[str, float], other: SeedScores | None = None
) -> str:
    """Return the scores as a Markdown table: a row for each language, and one for the mean of the target languages.

    Args:
        scores: this run's scores.
        source: language of the training documents.
        metric: name of the score.
        sizes: mean number of entities of a document, by language.
        other: scores of a run to compare with, by the paired t-test over the seeds of both.
    """
    shared = sorted(set(scores) & set(other)) if other is not None else []
    head = ["language", f"{metric}, %", "entities of a document"]
    head += [f"other {metric}, %", "p", "seeds"] if other is not None else []
    languages = sorted(next(iter(scores.values())), key=lambda name: (name != source, name))
    lines = []
    for name in [*languages, _TARGETS]:
        values = {seed: _score(languages, name, source) for seed, languages in scores.items()}
        if any(math.isnan(value) for value in values.values()):
            continue
        label = f"{name} (train)" if name == source else name
        row = [label, _mean_text(list(values.values())), f"{sizes[name]:.1f}" if name in sizes else ""]
        if other is not None:
            others = [_score(other[seed], name, source) for seed in shared]
            p = paired_t_test([values[seed] for seed in shared], others)
            row += [_mean_text(others), "" if math.isnan(p) else f"{p:.4f}", str(len(shared))]
        lines.append(row)
    return markdown_table(head, lines) + "\n"


def _score(scores: Mapping[str, float], name: str, source: str) -> float:
    """Return the score of a language, or the mean of the target languages; NaN where there is none."""
    return target_mean(scores, source) if name == _TARGETS else scores.get(name, math.nan)


def _mean_text(values: Sequence[float]) -> str:
    """Return the mean in per cent with half its confidence interval; "" where there is no number."""
    if not values or math.isnan(values[0]):
        return ""
    mean, half_width = mean_and_interval(values)
    return f"{100 * mean:.1f}" if math.isnan(half_width) else f"{100 * mean:.1f} ± {100 * half_width:.1f}"


def curve_table(by_rate: Mapping[float, SeedScores], source: str, metric: str) -> str:
    """Return the scores at each detection rate, by language and as the mean of the target languages."""
    first = next(iter(next(iter(by_rate.values())).values()))
    languages = sorted(first, key=lambda name: (name != source, name))
    lines = []
    for rate, scores in sorted(by_rate.items()):
        columns = ([_score(seed, name, source) for seed in scores.values()] for name in [*languages, _TARGETS])
        lines.append([f"{rate:g}", *map(_mean_text, columns)])
    table = markdown_table(["rate", *languages, "targets"], lines)
    return f"{metric}, %, by the share of entities that is kept\n\n{table}\n"


def explanation(
    text: str,
    gold: Sequence[str],
    predicted: Sequence[tuple[str, float]],
    items: Sequence[tuple[int, str, str, float, float]],
    size: int,
) -> str:
    """Return the report of one document: its text, its labels, and the items with the highest attention weights.

    Args:
        text: the document's text.
        gold: its labels.
        predicted: predicted labels with their probabilities, the most probable first.
        items: number, title, name in the text, commonness and attention weight, the highest weight first.
        size: number of items in its bag.
    """
    excerpt = " ".join(text.split())
    excerpt = excerpt if len(excerpt) <= EXCERPT else f"{excerpt[:EXCERPT]} ..."
    labels = ", ".join(f"{label} {probability:.2f}" for label, probability in predicted) or "none"
    entities = "entity" if size == 1 else "entities"
    head = f"> {excerpt}\n\nlabel: {', '.join(gold) or 'none'}; predicted: {labels}; {size} {entities}\n"
    if not items:
        return head
    lines = [
        [" ".join(title.split()), f"Q{qid}", " ".join(name.split()), f"{commonness:.2f}", f"{weight:.3f}"]
        for qid, title, name, commonness, weight in items
    ]
    return f"{head}\n{markdown_table(['entity', 'item', 'in the text', 'commonness', 'attention'], lines)}\n"


def read_scores(path: str) -> SeedScores:
    """Read scores.json of another run from its output directory.

    Raises:
        InputError: the file is missing or malformed.
    """
    file = f"{path.rstrip('/')}/scores.json"
    with reading(file), malformed(f"{file}: not the scores of a run of mboe"):
        seeds = json.loads(read_bytes(file))["seeds"]
        return {int(seed): dict(scores) for seed, scores in seeds.items()}


def mean_size(bags: Sequence[Bag]) -> float:
    """Return the mean number of items of a document."""
    return sum(len(bag.qids) for bag in bags) / max(1, len(bags))
