"""Compare a dataset with the released MewsC-16, by language and by label.

The released set has two files for each language, such as `ja_sentences.txt` and `ja_categories.txt`, with a row on each
line and the labels of the wiki. Sentences are compared by their letters and digits alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from wikianchor.io.errors import InputError
from wikianchor.io.storage import open_file
from wikianchor.pipelines.dataset.reader import open_datasets, read_batches
from wikianchor.pipelines.mewsc16.topic_map import load_topics
from wikianchor.schemas import mewsc16 as schema

_SAME = re.compile(r"[\W_]+")
_NAME = re.compile(r"(?:.*/)?([a-z-]+)_(sentences|categories)\.txt")
# Minimum common text, characters, of a sentence and one that contains it.
_WINDOW = 24
_SHORTEST_PREFIX = 8

#: How a released row is matched; and rows of ours that match none.
COLUMNS = ("exact", "prefix", "inside", "missing", "extra", "label differs")
MEANING = (
    "exact: the same sentence; prefix: one begins with the other; inside: ours stands further on in the released row, "
    "behind a caption; missing: a released row without one of ours; extra: one of ours without a released row; "
    "label differs: found, under another label."
)


class LabelledSentence(NamedTuple):
    """A sentence and its topic."""

    sentence: str
    topic: str


class Agreement(NamedTuple):
    """Counts by (label, column), and the rows of the released set and of ours by label."""

    counts: Counter[tuple[str, str]]
    released: Counter[str]
    ours: Counter[str]


def compare(output: str, paths: Sequence[str]) -> str:
    """Return the tables of `tables`, as Markdown.

    Args:
        output: directory of a dataset `mewsc16`.
        paths: released files.

    Raises:
        InputError: the dataset or a released file cannot be read, or they have no language in common.
    """
    dataset = open_datasets(output, "mewsc16", schema.VERSION, "output")[0]
    agreements: dict[str, Agreement] = {}
    for language, released in read_released(paths).items():
        rows = [
            LabelledSentence(sentence, topic)
            for path in dataset.shards(language)
            for batch in read_batches(path, ["sentence", "label"])
            for sentence, topic in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        ]
        if rows:
            agreements[language] = agreement(rows, released)
    if not agreements:
        raise InputError(
            f"--compare: no language in common: {output} has {', '.join(sorted(dataset.manifest['configs']))}"
        )
    return "\n\n".join(tables(agreements))


def read_released(paths: Iterable[str]) -> dict[str, list[LabelledSentence]]:
    """Return the rows of released files, by language.

    Raises:
        InputError: a file is not named as they are, lacks its other half, or has a label that the topic map lacks.
    """
    halves: dict[str, dict[str, str]] = {}
    for path in paths:
        match = _NAME.fullmatch(path)
        if match is None:
            raise InputError(f"--compare: {path} is not named like ja_sentences.txt or ja_categories.txt")
        halves.setdefault(match[1], {})[match[2]] = path
    topics = load_topics()
    released = {}
    for language, half in sorted(halves.items()):
        for kind in ("sentences", "categories"):
            if kind not in half:
                other = next(iter(half.values()))
                raise InputError(f"--compare: {other} needs {language}_{kind}.txt beside it")
        sentences, labels = _lines(half["sentences"]), _lines(half["categories"])
        if len(sentences) != len(labels):
            raise InputError(
                f"--compare: {half['sentences']} has {len(sentences)} lines, {half['categories']} {len(labels)}: "
                "they go line by line"
            )
        released[language] = [
            LabelledSentence(sentence, _topic(label, topics.get(language, {}), half["categories"]))
            for sentence, label in zip(sentences, labels, strict=True)
        ]
    return released


def _lines(path: str) -> list[str]:
    with open_file(path) as file:
        return file.read().decode("utf-8", "replace").removesuffix("\n").split("\n")


def _topic(label: str, names: Mapping[str, str], path: str) -> str:
    topic = label if label in schema.TOPICS else names.get(label.replace("_", " ").strip())
    if topic is None:
        raise InputError(f"--compare: {path}: the topic map has no category {label!r}")
    return topic


def _key(sentence: str) -> str:
    return _SAME.sub(" ", sentence.casefold()).strip()


def agreement(ours: Sequence[LabelledSentence], released: Sequence[LabelledSentence]) -> Agreement:
    """Match the rows of both sets.

    Time is linear in the text, times the number of our rows with an equal beginning.
    """
    keys = [_key(row.sentence) for row in ours]
    whole: dict[str, list[int]] = {}
    begins: dict[str, list[int]] = {}
    for number, key in enumerate(keys):
        whole.setdefault(key, []).append(number)
        if len(key) >= _WINDOW:
            begins.setdefault(key[:_WINDOW], []).append(number)
    ordered = sorted(whole)
    counts: Counter[tuple[str, str]] = Counter()
    matched: set[int] = set()
    for row in released:
        kind, numbers = _match(_key(row.sentence), whole, begins, keys, ordered)
        counts[row.topic, kind] += 1
        matched.update(numbers)
        if numbers and all(ours[number].topic != row.topic for number in numbers):
            counts[row.topic, "label differs"] += 1
    for number, row in enumerate(ours):
        if number not in matched:
            counts[row.topic, "extra"] += 1
    return Agreement(counts, Counter(row.topic for row in released), Counter(row.topic for row in ours))


def _match(
    key: str, whole: Mapping[str, list[int]], begins: Mapping[str, list[int]], keys: Sequence[str], ordered: list[str]
) -> tuple[str, list[int]]:
    """Return the column of a released row, and the indices of our rows that match it.

    Args:
        key: of the released row.
        whole: indices of our rows by key.
        begins: indices of our rows by the first characters of the key.
        keys: of our rows.
        ordered: our distinct keys, sorted.
    """
    if key in whole:
        return "exact", whole[key]
    # One of our sentences that the released one contains.
    for start in range(len(key) - _WINDOW + 1):
        for number in begins.get(key[start : start + _WINDOW], ()):
            if key.startswith(keys[number], start):
                return "inside" if start else "prefix", [number]
    if len(key) >= _SHORTEST_PREFIX:
        index = bisect_left(ordered, key)
        if index < len(ordered) and ordered[index].startswith(key):
            return "prefix", whole[ordered[index]]
    return "missing", []


def tables(agreements: Mapping[str, Agreement]) -> Iterator[str]:
    """Yield a table of all languages, a table of labels for each language, and the meaning of the columns."""
    yield _table("language", [(language, _sums(counts, schema.TOPICS)) for language, counts in agreements.items()])
    for language, counts in agreements.items():
        topics = [topic for topic in schema.TOPICS if counts.released[topic] or counts.ours[topic]]
        yield _table(language, [(topic, _sums(counts, [topic])) for topic in topics])
    yield MEANING


def _sums(agreement: Agreement, topics: Sequence[str]) -> list[int]:
    """Return the numbers of a line, for the rows of some topics."""
    return [
        sum(agreement.released[topic] for topic in topics),
        sum(agreement.ours[topic] for topic in topics),
        *(sum(agreement.counts[topic, column] for topic in topics) for column in COLUMNS),
    ]


def _table(head: str, rows: Iterable[tuple[str, Sequence[int]]]) -> str:
    columns = (head, "released", "ours", *COLUMNS)
    lines = ["| " + " | ".join(columns) + " |", "| --- |" + " ---: |" * (len(columns) - 1)]
    lines += [f"| {name} | " + " | ".join(f"{number:,}" for number in numbers) + " |" for name, numbers in rows]
    return "\n".join(lines)
