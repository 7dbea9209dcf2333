"""Relevant content words (SDJC, equation 2): of two similar sentences, the word whose loss makes them least alike.

    w = argmax over w of  sim(a, b) - min(sim(a without w, b), sim(a, b without w))

A word that stands in one sentence alone is left out of that one. A word is taken out wherever it stands as a token; the
released code takes out its letters wherever they stand, within other words too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.metrics import pair_cosines
from wikianchor.trainer.evaluate.pairs import read_pairs
from wikianchor.trainer.evaluate.task import SentenceVectors

# Pairs whose sentences are encoded together, each once a word.
PORTION = 200
OTHERS = "X"
# Columns of the heat map beside OTHERS.
SHOWN = 7


class Word(NamedTuple):
    """A token: what it is, as Universal Dependencies call it, and where."""

    pos: str
    start: int
    end: int


Pair = tuple[str, str]
Parse = Callable[[Sequence[str]], Iterator[list[Word]]]


def ginza() -> Parse:
    """Return a function from texts to the words of each, by GiNZA without its trees.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import spacy

        nlp = spacy.load("ja_ginza", exclude=["parser", "ner", "compound_splitter", "bunsetu_recognizer"])
    except (ImportError, OSError) as error:
        line = str(error).splitlines()[0]
        raise UsageError(f"parts of speech need GiNZA ({line}): pip install 'wikianchor[ja]'") from error

    def parse(texts: Sequence[str]) -> Iterator[list[Word]]:
        for doc in nlp.pipe(texts):
            yield [Word(token.pos_, token.idx, token.idx + len(token)) for token in doc if not token.is_space]

    return parse


def similar_pairs(path: str, least: float) -> list[Pair]:
    """Return the pairs of a file: all where it has two columns, else those with a gold score of `least` or more.

    Raises:
        InputError: there is no such file, no layout that is known, or no such pair.
    """
    data = EvaluationFiles.of_file(path)
    name = data.names[0]
    lines = data.lines(name, SetSource())
    if lines and (lines[0] or "").count("\t") == 1:
        rows = [line.split("\t") for line in lines if line and line.count("\t") == 1]
        found = [(row[0].strip(), row[1].strip()) for row in rows if row[0].strip() and row[1].strip()]
    else:
        pairs = read_pairs(data, name, name)
        listed = zip(pairs.first, pairs.second, pairs.gold, strict=True)
        found = [(first, second) for first, second, gold in listed if gold >= least]
    if not found:
        raise InputError(f"{path}: no pair with a score of {least:g} or more")
    return found


def without(text: str, words: Sequence[Word], word: str) -> str:
    """Return a text without the tokens that are this word."""
    parts, place = [], 0
    for one in words:
        if text[one.start : one.end] == word:
            parts.append(text[place : one.start])
            place = one.end
    return "".join([*parts, text[place:]]).strip()


def deletions(pair: Pair, words: tuple[list[Word], list[Word]]) -> dict[str, tuple[str, list[Pair]]]:
    """Return of each word of a pair its part of speech and the pairs without it, in the order of the words.

    A word that is all of a sentence is left out: nothing would stay to compare.
    """
    found: dict[str, tuple[str, list[Pair]]] = {}
    for side, text in enumerate(pair):
        for one in words[side]:
            word = text[one.start : one.end]
            if word in found:
                continue
            # A word that a sentence does not have changes nothing in it, and that pair is not counted.
            shorter = [without(pair[number], words[number], word) for number in (0, 1)]
            pairs = []
            if shorter[0] != pair[0] and shorter[0]:
                pairs.append((shorter[0], pair[1]))
            if shorter[1] != pair[1] and shorter[1]:
                pairs.append((pair[0], shorter[1]))
            if pairs:
                found[word] = (one.pos, pairs)
    return found


def relevant_words(pairs: Sequence[Pair], parse: Parse, vectors: SentenceVectors) -> list[tuple[str, str] | None]:
    """Return of each pair its most relevant word with its part of speech; None for a pair without one."""
    found: list[tuple[str, str] | None] = []
    for start in range(0, len(pairs), PORTION):
        some = pairs[start : start + PORTION]
        words = list(parse([text for pair in some for text in pair]))
        choices = [deletions(pair, (words[2 * row], words[2 * row + 1])) for row, pair in enumerate(some)]
        shorter = [one for each in choices for _, listed in each.values() for one in listed]
        cosines = iter(_cosines(shorter, vectors).tolist())
        for each in choices:
            best: tuple[float, str, str] | None = None
            for word, (pos, listed) in each.items():
                # sim(a, b) is the same for all words of a pair: the least of the others decides.
                least = min(next(cosines) for _ in listed)
                if best is None or least < best[0]:
                    best = (least, word, pos)
            found.append(None if best is None else best[1:])
        vectors.forget()
    return found


def _cosines(pairs: Sequence[Pair], vectors: SentenceVectors) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    first, second = vectors([one for one, _ in pairs]), vectors([other for _, other in pairs])
    return pair_cosines(first, second)


def shares(words: Sequence[tuple[str, str] | None]) -> dict[str, float]:
    """Return the share of each part of speech among the relevant words, the largest first."""
    counts = Counter(word[1] for word in words if word is not None)
    total = max(1, counts.total())
    return {pos: count / total for pos, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))}


def columns(found: Sequence[dict[str, float]]) -> list[str]:
    """Return the parts of speech to show: those with the largest shares over all, and OTHERS for the rest."""
    total: Counter[str] = Counter()
    for one in found:
        total.update(one)
    total.pop(OTHERS, None)
    ordered = sorted(total, key=lambda pos: (-total[pos], pos))
    return [*ordered[:SHOWN], OTHERS]


def cells(found: dict[str, float], shown: Sequence[str]) -> list[float]:
    """Return the shares in the order of the columns, what is not shown under OTHERS."""
    rest = sum(share for pos, share in found.items() if pos not in shown or pos == OTHERS)
    return [*(found.get(pos, 0.0) for pos in shown[:-1]), rest]
