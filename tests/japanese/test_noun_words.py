"""Signs that are words and signs that are parts of words; nouns that carry grammar."""

from collections import Counter

import pytest

from wikianchor.pipelines.japanese.negatives.steps import spans_of
from wikianchor.pipelines.japanese.noun_spans import spans_with_content
from wikianchor.pipelines.japanese.noun_words import FORMAL, OF_ONE_SIGN, SOMETIMES_FORMAL

pytest.importorskip("sudachipy", reason="NO SUDACHIPY: pip install '.[t5]'")

from wikianchor.pipelines.japanese.noun_phrases import Read, are_noun_spans, make_reader

WORDS = (
    "薬胃熱歯例頭目耳口手足腰肺脳骨血汗咳傷痣人男女子母犬猫鳥魚木花草山川海空"
    "雨雪火水石道橋家窓机本紙服靴朝夜春秋国町駅車船夢声音"
)
PARTS = "覚察患診医療検査症疾罹治緩析識観測訪確認拡縮昇降遅速継続購販企営輸承譲拒抑徐促怠惰傾"


@pytest.fixture(scope="module")
def read() -> Read:
    return make_reader()


def test_there_are_enough_of_both() -> None:
    assert min(len(set(WORDS)), len(set(PARTS))) >= 40


@pytest.mark.parametrize("sign", sorted(set(WORDS)))
def test_a_word_of_one_sign_fills_a_hole(sign: str, read: Read) -> None:
    assert are_noun_spans("chunks", read(f"これは{sign}である。"), [(3, 4)])


@pytest.mark.parametrize("sign", sorted(set(PARTS)))
def test_a_part_of_words_does_not(sign: str, read: Read) -> None:
    assert not are_noun_spans("chunks", read(f"これは{sign}である。"), [(3, 4)])


def test_in_a_compound_the_same_sign_is_none_the_worse(read: Read) -> None:
    assert are_noun_spans("chunks", read("急患を診た。"), [(0, 2)])
    assert are_noun_spans("chunks", read("3件を調べた。"), [(0, 2)])
    assert not are_noun_spans("chunks", read("察の薬を調べた。"), [(0, 3)])


@pytest.mark.parametrize("noun", ["こと", "もの", "ため", "はず", "場合"])
def test_a_formal_noun_alone_fills_nothing(noun: str, read: Read) -> None:
    end = 3 + len(noun)
    assert not are_noun_spans("chunks", read(f"医師は{noun}を認めた。"), [(3, end)])
    assert are_noun_spans("chunks", read(f"医師は大きい{noun}を認めた。"), [(3, end + 3)])


def sentence(*words: tuple[str, str]) -> tuple[str, list[tuple[int, int, str]]]:
    text, tokens = "", []
    for word, pos in words:
        tokens.append((len(text), len(text) + len(word), pos))
        text += word
    return text, tokens


ADMITTED = (("患者", "NOUN"), ("が", "ADP"), ("入院", "VERB"), ("し", "AUX"), ("た", "AUX"))


@pytest.mark.parametrize(
    ("words", "span", "stays"),
    [
        ((*ADMITTED, ("ため", "NOUN")), (5, 6), False),
        # The clause is in the span.
        ((*ADMITTED, ("場合", "NOUN")), (2, 6), False),
        ((*ADMITTED, ("時", "NOUN")), (5, 6), False),
        ((*ADMITTED, ("病院", "NOUN")), (2, 6), True),
        ((("手術", "NOUN"), ("の", "ADP"), ("際", "NOUN")), (2, 3), False),
        ((("机", "NOUN"), ("の", "ADP"), ("上", "NOUN")), (0, 3), False),
        ((("机", "NOUN"), ("の", "ADP"), ("上", "NOUN")), (0, 1), True),
        ((("その", "DET"), ("結果", "NOUN")), (1, 2), False),
        ((("治療", "NOUN"), ("の", "ADP"), ("結果", "NOUN")), (2, 3), False),
        # Nothing modifies it, or it ends a compound.
        ((("結果", "NOUN"), ("を", "ADP")), (0, 1), True),
        ((("彼", "PRON"), ("は", "ADP"), ("上", "NOUN"), ("を", "ADP")), (2, 3), True),
        ((("麻酔", "NOUN"), ("時", "NOUN")), (0, 2), True),
        ((("こと", "NOUN"), ("が", "ADP")), (0, 1), False),
    ],
)
def test_which_spans_have_content(words: tuple[tuple[str, str], ...], span: tuple[int, int], stays: bool) -> None:
    text, tokens = sentence(*words)
    offsets = (tokens[span[0]][0], tokens[span[1] - 1][1])
    assert spans_with_content(text, [offsets], tokens) == [offsets] * stays


def test_formal_nouns_are_counted_and_filled_by_the_rules_of_sdjc() -> None:
    text, tokens = sentence(*ADMITTED, ("ため", "NOUN"), ("薬", "NOUN"))
    spans = [{"start": start, "end": end} for start, end, pos in tokens if pos == "NOUN"]
    row = {
        "text": text,
        "spans": {"chunks": spans, "nouns": spans, "released": spans},
        "tokens": [{"start": start, "end": end, "pos": pos} for start, end, pos in tokens],
    }
    counts: Counter[str] = Counter()
    assert [text[slice(*span)] for span in spans_of(row, "chunks", counts)] == ["患者", "薬"]
    assert counts == {"spans:seen": 3, "spans:formal_noun": 1}
    for rule in ("nouns", "released"):
        assert [text[slice(*span)] for span in spans_of(row, rule, Counter())] == ["患者", "ため", "薬"]


def test_the_lists_are_what_they_say() -> None:
    assert all(len(sign) == 1 for sign in OF_ONE_SIGN)
    assert not FORMAL & SOMETIMES_FORMAL
