"""A dataset against released files: both in, how they agree out, by language and by label.

The released MewsC-16 is two files for each language, `ja_sentences.txt` and `ja_categories.txt`, a row a line, with
labels as the wiki writes them. Sentences are compared by their letters and numbers alone.
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
# What two sentences have to have in common where one is only a part of the other.
_WINDOW = 24
_SHORTEST_PREFIX = 8

#: What became of a released row, and of a row of ours that no released row is like.
COLUMNS = ("exact", "prefix", "inside", "missing", "extra", "label differs")
MEANING = (
    "exact: the same sentence; prefix: one begins with the other; inside: ours stands further on in the released row, "
    "behind a caption; missing: a released row without one of ours; extra: one of ours without a released row; "
    "label differs: found, under another label."
)


class Row(NamedTuple):
    """A sentence and its topic."""

    sentence: str
    topic: str


class Agreement(NamedTuple):
    """Counts by (label, column), the rows of the released set and of ours by label."""

    counts: Counter[tuple[str, str]]
    released: Counter[str]
    ours: Counter[str]


def compare(output: str, paths: Sequence[str]) -> str:
    """Return the table, as Markdown.

    Args:
        output: directory of a dataset `mewsc16`.
        paths: released files.

    Raises:
        InputError: the dataset or a released file cannot be read, or they have no language in common.
    """
    dataset = open_datasets(output, "mewsc16", schema.VERSION, "output")[0]
    found: dict[str, Agreement] = {}
    for language, released in read_released(paths).items():
        rows = [
            Row(sentence, topic)
            for path in dataset.shards(language)
            for batch in read_batches(path, ["sentence", "label"])
            for sentence, topic in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        ]
        if rows:
            found[language] = agreement(rows, released)
    if not found:
        raise InputError(
            f"--compare: no language in common: {output} has {', '.join(sorted(dataset.manifest['configs']))}"
        )
    return "\n\n".join(tables(found))


def read_released(paths: Iterable[str]) -> dict[str, list[Row]]:
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
    found = {}
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
        found[language] = [
            Row(sentence, _topic(label, topics.get(language, {}), half["categories"]))
            for sentence, label in zip(sentences, labels, strict=True)
        ]
    return found


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


def agreement(ours: Sequence[Row], released: Sequence[Row]) -> Agreement:
    """Match the rows of both sets, in a time that grows with their text and with how many of ours begin alike."""
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
    """Return how a released row is found, and the numbers of ours that it is like."""
    if key in whole:
        return "exact", whole[key]
    # The sentences of ours that begin somewhere in the released one and stand in it whole.
    for place in range(len(key) - _WINDOW + 1):
        for number in begins.get(key[place : place + _WINDOW], ()):
            if key.startswith(keys[number], place):
                return "inside" if place else "prefix", [number]
    if len(key) >= _SHORTEST_PREFIX:
        place = bisect_left(ordered, key)
        if place < len(ordered) and ordered[place].startswith(key):
            return "prefix", whole[ordered[place]]
    return "missing", []


def tables(found: Mapping[str, Agreement]) -> Iterator[str]:
    """Yield a table of all languages, one of each language by label, and what the columns mean."""
    yield _table("language", [(language, _sums(one, None)) for language, one in found.items()])
    for language, one in found.items():
        topics = [topic for topic in schema.TOPICS if one.released[topic] or one.ours[topic]]
        yield _table(language, [(topic, _sums(one, topic)) for topic in topics])
    yield MEANING


def _sums(one: Agreement, topic: str | None) -> list[int]:
    topics = schema.TOPICS if topic is None else (topic,)
    return [
        sum(one.released[name] for name in topics),
        sum(one.ours[name] for name in topics),
        *(sum(one.counts[name, column] for name in topics) for column in COLUMNS),
    ]


def _table(head: str, rows: Iterable[tuple[str, Sequence[int]]]) -> str:
    columns = (head, "released", "ours", *COLUMNS)
    lines = ["| " + " | ".join(columns) + " |", "| --- |" + " ---: |" * (len(columns) - 1)]
    lines += [f"| {name} | " + " | ".join(f"{number:,}" for number in numbers) + " |" for name, numbers in rows]
    return "\n".join(lines)
