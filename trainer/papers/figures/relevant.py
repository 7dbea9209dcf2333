"""Relevant content words (SDJC, equation 2): the word of two similar sentences whose removal lowers their cosine most.

    w = argmax over w of  sim(a, b) - min(sim(a without w, b), sim(a, b without w))

A word is removed wherever it is a token of the sentence. The released code removes its characters within other words
too. A word that occurs in one of the sentences alone is removed from that one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.metrics import pair_cosines
from wikianchor.trainer.evaluate.pairs import read_pairs
from wikianchor.trainer.evaluate.task import SentenceVectors

# Pairs that are encoded together, each once for each of its words.
PORTION = 200
OTHERS = "X"
# Columns of the heat map beside OTHERS.
SHOWN = 7


class TaggedToken(NamedTuple):
    """A token: its part of speech in Universal Dependencies, and its offsets in code points."""

    pos: str
    start: int
    end: int


Pair = tuple[str, str]
Parse = Callable[[Sequence[str]], Iterator[list[TaggedToken]]]


def ginza() -> Parse:
    """Return a function that tags the tokens of texts, by GiNZA without its parser.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import spacy

        nlp = spacy.load("ja_ginza", exclude=["parser", "ner", "compound_splitter", "bunsetu_recognizer"])
    except (ImportError, OSError) as error:
        line = str(error).splitlines()[0]
        raise UsageError(f"parts of speech need GiNZA ({line}): pip install 'wikianchor[ja]'") from error

    def parse(texts: Sequence[str]) -> Iterator[list[TaggedToken]]:
        for doc in nlp.pipe(texts):
            yield [TaggedToken(token.pos_, token.idx, token.idx + len(token)) for token in doc if not token.is_space]

    return parse


def similar_pairs(path: str, least: float) -> list[Pair]:
    """Return all pairs of a file of two columns; of other files the pairs with a gold score of `least` or more.

    Raises:
        InputError: the file is missing, has no known layout, or has no such pair.
    """
    data = EvaluationFiles.of_file(path)
    name = data.names[0]
    lines = data.lines(name, SetSource())
    if lines and (lines[0] or "").count("\t") == 1:
        rows = [line.split("\t") for line in lines if line and line.count("\t") == 1]
        similar = [(row[0].strip(), row[1].strip()) for row in rows if row[0].strip() and row[1].strip()]
    else:
        pairs = read_pairs(data, name, name)
        listed = zip(pairs.first, pairs.second, pairs.gold, strict=True)
        similar = [(first, second) for first, second, gold in listed if gold >= least]
    if not similar:
        raise InputError(f"{path}: no pair with a score of {least:g} or more")
    return similar


def without(text: str, words: Sequence[TaggedToken], word: str) -> str:
    """Return a text without the tokens that equal this word.

    >>> without("a cat, a dog", [TaggedToken("DET", 0, 1), TaggedToken("DET", 7, 8)], "a")
    'cat,  dog'
    """
    parts, position = [], 0
    for token in words:
        if text[token.start : token.end] == word:
            parts.append(text[position : token.start])
            position = token.end
    return "".join([*parts, text[position:]]).strip()


def deletions(pair: Pair, words: tuple[list[TaggedToken], list[TaggedToken]]) -> dict[str, tuple[str, list[Pair]]]:
    """Return for each word of a pair its part of speech and the pairs without it, in the order of the words.

    A word that is a whole sentence is left out, because an empty sentence cannot be compared.
    """
    deleted: dict[str, tuple[str, list[Pair]]] = {}
    for side, text in enumerate(pair):
        for token in words[side]:
            word = text[token.start : token.end]
            if word in deleted:
                continue
            # A sentence without the word does not change, and that pair is not counted.
            shorter = [without(pair[number], words[number], word) for number in (0, 1)]
            pairs = []
            if shorter[0] != pair[0] and shorter[0]:
                pairs.append((shorter[0], pair[1]))
            if shorter[1] != pair[1] and shorter[1]:
                pairs.append((pair[0], shorter[1]))
            if pairs:
                deleted[word] = (token.pos, pairs)
    return deleted


def relevant_words(pairs: Sequence[Pair], parse: Parse, vectors: SentenceVectors) -> list[tuple[str, str] | None]:
    """Return for each pair its most relevant word with the word's part of speech, or None if there is no such word."""
    relevant: list[tuple[str, str] | None] = []
    for start in range(0, len(pairs), PORTION):
        portion = pairs[start : start + PORTION]
        words = list(parse([text for pair in portion for text in pair]))
        choices = [deletions(pair, (words[2 * row], words[2 * row + 1])) for row, pair in enumerate(portion)]
        shorter = [pair for choice in choices for _, listed in choice.values() for pair in listed]
        first, second = vectors([pair[0] for pair in shorter]), vectors([pair[1] for pair in shorter])
        cosines = iter(pair_cosines(first, second).tolist())
        for choice in choices:
            # sim(a, b) is equal for all words of a pair, so the word with the lowest other cosine is the most relevant.
            lowest = [(min(next(cosines) for _ in listed), word, pos) for word, (pos, listed) in choice.items()]
            best = min(lowest, key=lambda candidate: candidate[0], default=None)
            relevant.append(None if best is None else best[1:])
        vectors.forget()
    return relevant


def shares(words: Sequence[tuple[str, str] | None]) -> dict[str, float]:
    """Return the share of each part of speech among the relevant words, 0 to 1, the largest first.

    >>> shares([("cat", "NOUN"), None, ("dog", "NOUN"), ("runs", "VERB")])
    {'NOUN': 0.6666666666666666, 'VERB': 0.3333333333333333}
    """
    counts = Counter(word[1] for word in words if word is not None)
    total = max(1, counts.total())
    return {pos: count / total for pos, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))}


def columns(rows: Sequence[dict[str, float]]) -> list[str]:
    """Return the parts of speech with the largest shares over all rows, and OTHERS for the rest."""
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row)
    total.pop(OTHERS, None)
    ordered = sorted(total, key=lambda pos: (-total[pos], pos))
    return [*ordered[:SHOWN], OTHERS]


def cells(row: dict[str, float], shown: Sequence[str]) -> list[float]:
    """Return the shares of the columns `shown`, whose last is OTHERS: the sum of all other shares."""
    rest = sum(share for pos, share in row.items() if pos not in shown or pos == OTHERS)
    return [*(row.get(pos, 0.0) for pos in shown[:-1]), rest]
