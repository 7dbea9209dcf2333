"""Repeated sentences: equal ones by id, near ones by the overlap of their trigrams."""

import random
import time
from functools import cache

import numpy as np
import pytest

from wikianchor.pipelines.japanese import duplicates
from wikianchor.pipelines.japanese.duplicates import DUPLICATE, KEPT, bands, near_pairs, near_rows, overlap, repeated


def near(texts: list[str], threshold: float) -> list[int]:
    rows = np.arange(len(texts))
    pairs = near_pairs(np.array([bands(text) for text in texts]), rows)
    return near_rows(pairs, lambda wanted: {row: texts[row] for row in wanted}, threshold)


def brute(texts: list[str], threshold: float) -> list[int]:
    return [row for row, text in enumerate(texts) if any(overlap(text, other) >= threshold for other in texts[:row])]


def test_overlap_is_that_of_sets_of_trigrams() -> None:
    assert overlap("あいうえお", "あいうえお") == 1
    assert overlap("あいうえお", "あいうえか") == 0.5
    assert overlap("あいう", "かきく") == 0
    assert overlap("", "") == 0
    assert overlap("あ", "あ") == 1


def test_only_the_first_of_equal_sentences_stays() -> None:
    assert repeated(np.array([7, 8, 7, 9, 8, 7])).tolist() == [KEPT, KEPT, DUPLICATE, KEPT, DUPLICATE, DUPLICATE]


def test_near_sentences_are_found_as_by_comparing_all(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of each text they are asked for 300 times.
    monkeypatch.setattr(duplicates, "trigrams", cache(duplicates.trigrams))
    draw = random.Random(4)
    letters = [chr(code) for code in range(0x3042, 0x3090)]
    texts = ["".join(draw.choice(letters) for _ in range(draw.randint(20, 90))) for _ in range(150)]
    for _ in range(150):
        changed = list(draw.choice(texts[:150]))
        for _ in range(draw.randint(0, 4)):
            changed[draw.randrange(len(changed))] = draw.choice(letters)
        texts.append("".join(changed))
    expected = brute(texts, 0.9)
    assert near(texts, 0.9) == expected
    assert 30 < len(expected) < 150


def test_a_corpus_of_nothing_but_one_template_takes_linear_time() -> None:
    texts = [f"患者は{number}歳の男性であり、発熱と頭痛を主訴に当院の救急外来を受診した。" for number in range(2000)]
    start = time.process_time()
    assert len(near(texts, 0.8)) > 1900
    assert time.process_time() - start < 10
