"""Sentinels and holes: what a T5 reads and writes, with a vocabulary that was learnt here."""

from importlib.util import find_spec

import pytest

from tests.t5 import TEXTS, learnt
from wikianchor.schemas.sentinels import EOS, Vocabulary

pytestmark = pytest.mark.skipif(find_spec("sentencepiece") is None, reason="NO SENTENCEPIECE: pip install '.[t5]'")


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary(learnt())


def test_sentinels_count_down_from_the_last_id(vocabulary: Vocabulary) -> None:
    pieces = vocabulary.size - 100
    assert vocabulary.sentinel(0) == pieces + 99
    assert vocabulary.sentinel(99) == pieces
    assert [vocabulary.number(piece) for piece in (pieces + 99, pieces, pieces - 1, 0)] == [0, 99, None, None]
    with pytest.raises(ValueError, match="there are 100"):
        vocabulary.sentinel(100)


@pytest.mark.parametrize("text", [*TEXTS[:5], "絵文字😀と稀な字鱻", "with Latin words", ""])
def test_every_text_comes_back(vocabulary: Vocabulary, text: str) -> None:
    assert vocabulary.decode(vocabulary.encode(text)) == text


@pytest.mark.parametrize("spans", [[(0, 2)], [(3, 5)], [(0, 2), (3, 5)], [(0, 2), (7, 9)], [(0, 3), (3, 5)], [(0, 9)]])
def test_holes_and_fills_go_round(vocabulary: Vocabulary, spans: list[tuple[int, int]]) -> None:
    text = "患者は発熱を訴えた"
    source = vocabulary.with_holes(text, spans)
    assert source[-1] == EOS
    assert [vocabulary.number(piece) for piece in source if vocabulary.number(piece) is not None] == [
        *range(len(spans))
    ]
    target = []
    for number, (start, end) in enumerate(spans):
        target += [vocabulary.sentinel(number), *vocabulary.encode(text[start:end], inside=True)]
    target += [vocabulary.sentinel(len(spans)), EOS]
    fills = vocabulary.fills(target, len(spans))
    assert fills == [text[start:end] for start, end in spans]
    rest = ""
    for piece in source[:-1]:
        number = vocabulary.number(piece)
        rest += vocabulary.decode([piece]) if number is None else fills[number] or ""
    assert rest == text


def test_what_a_target_leaves_out_is_none(vocabulary: Vocabulary) -> None:
    word = vocabulary.encode("発熱", inside=True)
    assert vocabulary.fills([vocabulary.sentinel(1), *word, EOS], 2) == [None, "発熱"]
    assert vocabulary.fills([vocabulary.sentinel(0), *word], 1) == ["発熱"]
    assert vocabulary.fills([*word, EOS], 1) == [None]
    assert vocabulary.fills([], 1) == [None]
    # Said twice, the first counts; one that was not asked for is passed over.
    twice = [vocabulary.sentinel(0), *word, vocabulary.sentinel(7), *word, vocabulary.sentinel(0), EOS]
    assert vocabulary.fills(twice, 1) == ["発熱"]


def test_more_spans_than_sentinels_are_refused(vocabulary: Vocabulary) -> None:
    few = Vocabulary(vocabulary.model, 2)
    with pytest.raises(ValueError, match="there are 2"):
        few.with_holes("患者は発熱を訴えた", [(0, 1), (2, 3), (4, 5)])


def test_a_vocabulary_that_begins_with_a_blank_gives_none_inside() -> None:
    vocabulary = Vocabulary(learnt(add_dummy_prefix=True))
    source = vocabulary.with_holes("患者は発熱を訴えた", [(3, 5)])
    after = source.index(vocabulary.sentinel(0)) + 1
    assert vocabulary._pieces.id_to_piece(source[after]) != "▁"
    assert vocabulary.fills([vocabulary.sentinel(0), *vocabulary.encode("頭痛"), EOS], 1) == ["頭痛"]
