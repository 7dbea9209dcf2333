"""What of a beam becomes a negative, and why the rest does not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from wikianchor.pipelines.japanese.negatives.fills import (
    chosen_spans,
    fill_spans,
    filled,
    is_noun_like,
    judge,
    keep,
)
from wikianchor.pipelines.japanese.negatives.options import NegativesOptions

OPTIONS = NegativesOptions(corpus="c", model="m", output="o", negatives=2, near=0.99)
TEXT = "患者は発熱を訴えて外来を受診した。"
SPANS = [(0, 2), (3, 5), (9, 11)]


def nouns(text: str, spans: Sequence[tuple[int, int]]) -> bool:
    """Take all but the words that end in a particle."""
    return not any(text[start:end].endswith("の") for start, end in spans)


def test_words_take_the_place_of_spans() -> None:
    assert filled(TEXT, SPANS, ["医師", "頭痛", "病棟"]) == "医師は頭痛を訴えて病棟を受診した。"
    assert filled(TEXT, [(3, 5)], ["倦怠感と咳"]) == "患者は倦怠感と咳を訴えて外来を受診した。"
    assert filled(TEXT, [], []) == TEXT


def test_where_words_are_then() -> None:
    words = ["医", "倦怠感", "薬局"]
    text = filled(TEXT, SPANS, words)
    assert [text[start:end] for start, end in fill_spans(SPANS, words)] == words


@pytest.mark.parametrize(
    ("fills", "reason"),
    [
        (["医師", "頭痛", "病棟"], ""),
        (["患者", "頭痛", "外来"], ""),
        (["患者", "発熱", "外来"], "equal"),
        ([None, "頭痛", "病棟"], "unfilled"),
        (["医師", " ", "病棟"], "unfilled"),
        (["医師", "<extra_id_0>", "病棟"], "sentinel"),
        (["医師", "頭痛</s", "病棟"], "sentinel"),
        (["医師", "頭痛" + "と腹痛と悪寒と咳嗽と" * 2, "病棟"], "too_long"),
        (["医師", "боль", "病棟"], "wrong_script"),
        (["医師", "통증", "病棟"], "wrong_script"),
        (["医師", "、", "病棟"], "wrong_script"),
        (["医師", "頭痛。また", "病棟"], "wrong_script"),
        (["医師", "頭痛の", "病棟"], "no_noun_span"),
        (["医師", "頭痛(軽度", "病棟"], "unbalanced"),
        (["医師", "「頭痛」", "病棟)"], "unbalanced"),
        (["医師", "「頭痛」", "病棟"], ""),
        (["医師", "頭痛頭痛頭痛", "病棟"], "repeats"),
        (["医師", "大動脈の大動脈", "病棟"], "repeats"),
        (["医師", "頭痛", "頭痛"], "repeats"),
        (["医師", "CT所見", "α病棟"], ""),
    ],
)
def test_each_reason(fills: list[str | None], reason: str) -> None:
    assert judge(TEXT, SPANS, fills, 0.99, nouns)[0] == reason


def test_too_near_is_a_matter_of_the_option() -> None:
    fills = ["患者", "頭痛", "外来"]
    assert judge(TEXT, SPANS, fills, 0.5, nouns)[0] == "too_near"
    assert judge(TEXT, SPANS, fills, 0.9, nouns)[0] == ""


def test_only_what_is_new_is_asked_about_where_it_stands() -> None:
    asked = []

    def ask(text: str, spans: Sequence[tuple[int, int]]) -> bool:
        asked.extend(text[start:end] for start, end in spans)
        return True

    assert judge(TEXT, SPANS, ["患者", "倦怠感", "病棟"], 0.99, ask)[0] == ""
    assert asked == ["倦怠感", "病棟"]
    judge(TEXT, SPANS, ["医師", "頭痛", "頭痛"], 0.99, ask)
    assert len(asked) == 2, "what has another fault needs no analysis"


def test_the_beam_adds_up_and_ranks_are_kept() -> None:
    beam = [
        ["患者", "発熱", "外来"],
        ["医師", "頭痛", "病棟"],
        ["医師", "頭痛", "病棟"],
        ["小児", "腹痛", "薬局"],
        ["女性", "咳嗽", "自宅"],
    ]
    ranks, counts = keep(TEXT, SPANS, beam, OPTIONS, nouns)
    assert [*ranks.values()] == [2, 4]
    assert counts == {"seen": 5, "equal": 1, "kept": 2, "duplicate": 1, "surplus": 1}
    late, counts = keep(TEXT, SPANS, beam, replace(OPTIONS, first_rank=4), nouns)
    assert ([*late.values()], counts["surplus"]) == ([4, 5], 3)


def test_a_share_of_the_spans_is_the_same_for_the_same_seed() -> None:
    spans = [(start, start + 1) for start in range(0, 40, 2)]
    some = chosen_spans(spans, 0.25, 99, 7, 1)
    assert some == chosen_spans(spans, 0.25, 99, 7, 1)
    assert len(some) == 5
    assert some == sorted(some)
    assert some != chosen_spans(spans, 0.25, 99, 8, 1)
    assert chosen_spans(spans, 1, 99, 7, 1) == spans
    assert len(chosen_spans(spans, 1, 3, 7, 1)) == 3
    assert len(chosen_spans(spans, 0.001, 99, 7, 1)) == 1


@pytest.mark.parametrize(
    ("word", "is_one"),
    [
        ("頭痛", True),
        ("CT", True),
        ("β遮断薬", True),
        ("コーヒー", True),
        ("12誘導", True),
        ("・", False),
        ("ไทย", False),
    ],
)
def test_scripts(word: str, is_one: bool) -> None:
    assert is_noun_like(word) == is_one
