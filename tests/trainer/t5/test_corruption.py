"""Span corruption: right at both ends, of the size that was asked for, the same for the same seed."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("sentencepiece", reason="NO SENTENCEPIECE: pip install '.[t5]'")

from tests.t5 import TEXTS, learnt
from wikianchor.schemas.sentinels import EOS, Vocabulary
from wikianchor.trainer.t5.feed import corrupt, draw_spans, span_lengths


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary(learnt())


def put_back(source: list[int], target: list[int], vocabulary: Vocabulary) -> list[int]:
    spans: dict[int, list[int]] = {}
    for piece in target[:-1]:
        number = vocabulary.number(piece)
        if number is not None:
            spans[number] = []
        else:
            spans[max(spans)].append(piece)
    results: list[int] = []
    for piece in source[:-1]:
        number = vocabulary.number(piece)
        results += [piece] if number is None else spans[number]
    return results


@pytest.mark.parametrize("length", [2, 3, 5, 13, 60])
def test_what_goes_can_be_put_back(length: int, vocabulary: Vocabulary) -> None:
    pieces = list(range(10, 10 + length))
    for seed in range(200):
        spans = draw_spans(length, 0.15, 3, 99, np.random.default_rng(seed))
        source, target = corrupt(pieces, spans, vocabulary)
        assert put_back(source, target, vocabulary) == pieces
        assert vocabulary.number(target[0]) == 0
        assert vocabulary.number(target[-2]) == len(spans)
        assert (source[-1], target[-1]) == (EOS, EOS)
        assert all(end < start for (_, end), (start, _) in pairwise(spans))


def test_share_and_mean_length() -> None:
    gone, count = 0, 0
    for seed in range(500):
        spans = draw_spans(100, 0.15, 3, 99, np.random.default_rng(seed))
        gone += sum(end - start for start, end in spans)
        count += len(spans)
    assert gone == 500 * 15
    assert count == 500 * 5


def test_each_place_is_as_likely_the_ends_too() -> None:
    seen: Counter[int] = Counter()
    for seed in range(6000):
        for start, end in draw_spans(12, 0.25, 3, 99, np.random.default_rng(seed)):
            seen.update(range(start, end))
            assert end - start == 3
    # One span of three in twelve pieces has ten places; the first piece is in one of them, the sixth in three.
    assert abs(seen[0] / 6000 - 0.1) < 0.015
    assert abs(seen[11] / 6000 - 0.1) < 0.015
    assert abs(seen[5] / 6000 - 0.3) < 0.02


def test_at_the_ends(vocabulary: Vocabulary) -> None:
    source, target = corrupt([10, 11, 12, 13], [(0, 1), (3, 4)], vocabulary)
    first, second, third = (vocabulary.sentinel(number) for number in range(3))
    assert source == [first, 11, 12, second, EOS]
    assert target == [first, 10, second, 13, third, EOS]


@pytest.mark.parametrize(("length", "rate", "mean", "most"), [(2, 0.9, 1, 99), (10, 0.99, 1, 99), (400, 0.5, 1, 20)])
def test_there_is_always_room(length: int, rate: float, mean: float, most: int) -> None:
    gone, count = span_lengths(length, rate, mean, most)
    spans = draw_spans(length, rate, mean, most, np.random.default_rng(0))
    assert len(spans) == count <= most
    assert sum(end - start for start, end in spans) == gone < length


def test_a_text_of_one_piece_has_no_hole(vocabulary: Vocabulary) -> None:
    assert draw_spans(1, 0.15, 3, 99, np.random.default_rng(0)) == []


def test_t5_tokenizer_agrees_where_nothing_falls_back_to_bytes() -> None:
    from transformers import T5Tokenizer

    vocabulary = Vocabulary(learnt(byte_fallback=False, size=-196, add_dummy_prefix=True))
    pieces = vocabulary._pieces
    scored = [(pieces.id_to_piece(number), pieces.get_score(number)) for number in range(pieces.get_piece_size())]
    theirs = T5Tokenizer(vocab=[*scored, *((f"<extra_id_{number}>", 0.0) for number in reversed(range(100)))])
    assert theirs.convert_tokens_to_ids("<extra_id_0>") == vocabulary.sentinel(0)
    for text in TEXTS[:20]:
        assert theirs(text)["input_ids"] == [*vocabulary.encode(text), EOS]
