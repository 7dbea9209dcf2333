"""Scores, and tables of a run in Markdown: the scores by language, and by detection rate."""

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


def accuracy(gold: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    """Return the share of documents whose labels are all correct, 0 to 1.

    Args:
        gold, predicted: (documents, labels).

    >>> accuracy(np.eye(4, dtype=bool), np.eye(4, dtype=bool)[[0, 1, 2, 2]])
    0.75
    """
    return float((gold == predicted).all(1).mean())


def macro_f1(gold: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    """Return the mean F1 over the labels, 0 to 1.

    As in scikit-learn, which is no dependency of training, the F1 of a label that is neither in `gold` nor in
    `predicted` is 0.

    Args:
        gold, predicted: (documents, labels).

    >>> macro_f1(np.array([[True, False], [True, False]]), np.array([[True, False], [False, False]]))
    0.3333333333333333
    """
    hits = (gold & predicted).sum(0)
    total = gold.sum(0) + predicted.sum(0)
    return float((2 * hits / np.maximum(total, 1)).mean())


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


def with_target_mean(scores: Mapping[str, float], source: str) -> dict[str, float]:
    """Return the scores in the order of the tables: that of the training language, those of the target languages, and
    their mean, NaN where there are none.

    >>> with_target_mean({"ja": 0.8, "de": 0.6, "en": 0.9}, "en")
    {'en': 0.9, 'de': 0.6, 'ja': 0.8, 'mean of targets': 0.7}
    """
    ordered = {language: scores[language] for language in sorted(scores, key=lambda name: (name != source, name))}
    targets = [score for language, score in ordered.items() if language != source]
    return {**ordered, "mean of targets": float(np.mean(targets)) if targets else math.nan}


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
    ordered = {seed: with_target_mean(languages, source) for seed, languages in scores.items()}
    others = {seed: with_target_mean(languages, source) for seed, languages in (other or {}).items()}
    shared = sorted(ordered.keys() & others)
    head = ["language", f"{metric}, %", "entities of a document"]
    head += [f"other {metric}, %", "p", "seeds"] if other is not None else []
    lines = []
    for name in next(iter(ordered.values())):
        values = {seed: languages[name] for seed, languages in ordered.items()}
        if any(math.isnan(value) for value in values.values()):
            continue
        label = f"{name} (train)" if name == source else name
        row = [label, _mean_text(list(values.values())), f"{sizes[name]:.1f}" if name in sizes else ""]
        if other is not None:
            compared = [others[seed].get(name, math.nan) for seed in shared]
            p = paired_t_test([values[seed] for seed in shared], compared)
            row += [_mean_text(compared), "" if math.isnan(p) else f"{p:.4f}", str(len(shared))]
        lines.append(row)
    return markdown_table(head, lines) + "\n"


def _mean_text(values: Sequence[float]) -> str:
    """Return the mean in per cent, and of several values half the width of its 95 % confidence interval by Student's t;
    "" where there is no number."""
    if not values or math.isnan(values[0]):
        return ""
    mean = f"{100 * np.mean(values):.1f}"
    if len(values) == 1:
        return mean
    half_width = _stats().t.ppf(0.975, len(values) - 1) * _stats().sem(values)
    return f"{mean} ± {100 * half_width:.1f}"


def curve_table(by_rate: Mapping[float, SeedScores], source: str, metric: str) -> str:
    """Return the scores at each detection rate, by language and as the mean of the target languages."""
    lines = []
    for rate, scores in sorted(by_rate.items()):
        ordered = [with_target_mean(languages, source) for languages in scores.values()]
        columns = zip(*(languages.values() for languages in ordered), strict=True)
        lines.append([f"{rate:g}", *map(_mean_text, columns)])
    *languages, _ = ordered[0]
    table = markdown_table(["rate", *languages, "targets"], lines)
    return f"{metric}, %, by the share of entities that is kept\n\n{table}\n"


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
