"""Relevant content words: which word is left out, of which sentence, and which of them counts."""

import importlib.util
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from wikianchor.io.errors import InputError
from wikianchor.trainer.papers.figures import (
    PORTION,
    TaggedToken,
    deletions,
    ginza,
    relevant_words,
    shares,
    similar_pairs,
    without,
)

needs_ginza = pytest.mark.skipif(importlib.util.find_spec("ja_ginza") is None, reason="NO GINZA: pip install '.[ja]'")
KINDS = {"cat": "NOUN", "dog": "NOUN", "runs": "VERB", "big": "ADJ", ".": "PUNCT"}


def parse(texts: Sequence[str]) -> Iterator[list[TaggedToken]]:
    """Words between blanks."""
    for text in texts:
        tagged, position = [], 0
        for word in text.split():
            start = text.index(word, position)
            position = start + len(word)
            tagged.append(TaggedToken(KINDS.get(word, "X"), start, position))
        yield tagged


class Bags:
    """Vectors that count words, nouns for more, no two alike."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        bags = np.full((len(texts), 50), 1e-3, np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                number = self.numbers.setdefault(word, len(self.numbers))
                bags[row, number] += (3 if KINDS.get(word) == "NOUN" else 1) + 0.1 * number
        return bags

    def forget(self) -> None:
        pass


def test_a_word_is_taken_out_as_a_token() -> None:
    text = "cat cats cat ."
    assert without(text, next(parse([text])), "cat").split() == ["cats", "."]
    assert without("cat", next(parse(["cat"])), "cat") == ""


def test_a_word_of_one_sentence_is_taken_from_that_one() -> None:
    pair = ("big cat", "cat runs")
    deleted = deletions(pair, (next(parse([pair[0]])), next(parse([pair[1]]))))
    assert {
        word: [tuple(" ".join(text.split()) for text in shorter) for shorter in pairs]
        for word, (_, pairs) in deleted.items()
    } == {
        "big": [("cat", "cat runs")],
        "cat": [("big", "cat runs"), ("big cat", "runs")],
        "runs": [("big cat", "cat")],
    }
    # Nothing stays of a sentence of one word: the other alone counts.
    of_one_word = deletions(("cat", "big cat"), (next(parse(["cat"])), next(parse(["big cat"]))))
    assert of_one_word["cat"][1] == [("cat", "big")]


def test_the_word_is_that_of_equation_2() -> None:
    words = [*KINDS]
    pairs = [
        (" ".join(words[i] for i in a), " ".join(words[i] for i in b))
        for a, b in itertools.product(itertools.combinations(range(5), 3), itertools.combinations(range(5), 2))
    ]
    pairs = (pairs * 3)[: PORTION + 10]
    bags = Bags()

    def sim(a: str, b: str) -> float:
        x, y = bags([a, b]).astype(np.float64)
        return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))

    def by_hand(a: str, b: str) -> str:
        best, most = "", -np.inf
        for word in dict.fromkeys([*a.split(), *b.split()]):
            rest = [" ".join(token for token in text.split() if token != word) for text in (a, b)]
            options = [sim(rest[0], b)] if word in a.split() and rest[0] else []
            options += [sim(a, rest[1])] if word in b.split() and rest[1] else []
            if options and sim(a, b) - min(options) > most + 1e-12:
                best, most = word, sim(a, b) - min(options)
        return best

    words_of_pairs = relevant_words(pairs, parse, bags)  # type: ignore[arg-type]
    assert [word and word[0] for word in words_of_pairs] == [by_hand(*pair) for pair in pairs]
    assert all(word is not None and word[1] == KINDS[word[0]] for word in words_of_pairs)
    assert shares(words_of_pairs)["NOUN"] > 0.4


def test_shares_are_of_the_words() -> None:
    assert shares([None, ("a", "NOUN"), ("b", "VERB"), ("c", "NOUN")]) == {"NOUN": 2 / 3, "VERB": 1 / 3}


def test_files_of_two_columns_and_of_scores(tmp_path: Path) -> None:
    (tmp_path / "two.tsv").write_text("a\tb\n\tc\nd\te\n")
    assert similar_pairs(str(tmp_path / "two.tsv"), 4) == [("a", "b"), ("d", "e")]
    (tmp_path / "three.csv").write_text("4.5\ta\tb\n2\tc\td\n4\te\tf\n")
    assert similar_pairs(str(tmp_path / "three.csv"), 4) == [("a", "b"), ("e", "f")]
    with pytest.raises(InputError, match="no pair with a score of 5 or more"):
        similar_pairs(str(tmp_path / "three.csv"), 5)
    with pytest.raises(InputError, match="no such file"):
        similar_pairs(str(tmp_path / "none.csv"), 5)


@needs_ginza
def test_ginza_gives_parts_of_speech_and_offsets() -> None:
    text = "猫が走る。"
    (words,) = ginza()([text])
    assert [(text[token.start : token.end], token.pos) for token in words] == [
        *(("猫", "NOUN"), ("が", "ADP"), ("走る", "VERB"), ("。", "PUNCT"))
    ]
