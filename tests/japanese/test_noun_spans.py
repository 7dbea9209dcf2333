"""Noun spans by each rule, on sentences whose trees are written here."""

from typing import Any

import pytest

from wikianchor.pipelines.japanese.choices import SPAN_RULES
from wikianchor.pipelines.japanese.noun_spans import Token, is_whole, noun_spans


def sentence(*words: tuple[str, str, str, int] | tuple[str, str, str, int, str]) -> tuple[str, list[Token]]:
    """A sentence of (word, part of speech, relation, head) with a fifth member for the head of a bunsetu."""
    text, tokens = "", []
    for word, pos, relation, head, *heads in words:
        tokens.append(Token(len(text), len(text) + len(word), pos, relation, head, bool(heads)))
        text += word
    return text, tokens


# "In the patient, the doctor found a tumour of the lung, and removed the tumour."
SURGERY = sentence(
    ("医師", "NOUN", "nsubj", 8, "B"),
    ("が", "ADP", "case", 0),
    ("肺", "NOUN", "nmod", 5, "B"),
    ("の", "ADP", "case", 2),
    ("悪性", "NOUN", "compound", 5),
    ("腫瘍", "NOUN", "obj", 8, "B"),
    ("を", "ADP", "case", 5),
    ("すぐ", "ADV", "advmod", 8, "B"),
    ("切除", "VERB", "ROOT", 8, "B"),
    ("し", "AUX", "aux", 8),
    ("た", "AUX", "aux", 8),
)
# "Tanaka's CT scan"
NAMES = sentence(
    ("田中", "PROPN", "compound", 1),
    ("さん", "NOUN", "nmod", 4, "B"),
    ("の", "ADP", "case", 1),
    ("CT", "PROPN", "compound", 4),
    ("検査", "NOUN", "ROOT", 4, "B"),
)
# An object whose word stands earlier inside another word.
TWICE = sentence(
    ("心臓病", "NOUN", "compound", 1),
    ("患者", "NOUN", "nmod", 3, "B"),
    ("の", "ADP", "case", 1),
    ("心臓", "NOUN", "nsubj", 5, "B"),
    ("が", "ADP", "case", 3),
    ("止まる", "VERB", "ROOT", 5, "B"),
)


def found(rule: str, of: Any) -> list[str]:
    text, tokens = of
    return [text[start:end] for start, end in noun_spans(rule, text, tokens)]


@pytest.mark.parametrize(
    ("rule", "spans"),
    [
        ("nouns", ["医師", "肺", "悪性腫瘍"]),
        ("nouns_names", ["医師", "肺", "悪性腫瘍"]),
        ("chunks", ["医師", "肺", "悪性腫瘍"]),
        ("bunsetu", ["医師", "肺", "悪性腫瘍"]),
        # No direct object.
        ("released", ["医師", "肺"]),
    ],
)
def test_direct_objects(rule: str, spans: list[str]) -> None:
    assert found(rule, SURGERY) == spans


@pytest.mark.parametrize(
    ("rule", "spans"),
    [
        ("nouns", ["さん", "検査"]),
        ("nouns_names", ["田中さん", "CT検査"]),
        ("chunks", ["田中さん", "CT検査"]),
        ("bunsetu", ["田中さん", "CT検査"]),
    ],
)
def test_names(rule: str, spans: list[str]) -> None:
    assert found(rule, NAMES) == spans


def test_only_the_released_rule_takes_the_first_place_of_a_word() -> None:
    text, tokens = TWICE
    assert noun_spans("chunks", text, tokens) == [(0, 5), (6, 8)]
    # The first chunk is masked before the second is looked for, as the released loop does.
    assert noun_spans("released", text, tokens) == [(0, 5), (6, 8)]
    swapped = sentence(
        ("大", "NOUN", "compound", 1),
        ("心臓病院", "NOUN", "advcl", 5),
        ("で", "ADP", "case", 1),
        ("心臓", "NOUN", "nsubj", 5, "B"),
        ("が", "ADP", "case", 3),
        ("止まる", "VERB", "ROOT", 5, "B"),
    )
    assert noun_spans("chunks", *swapped) == [(6, 8)]
    assert noun_spans("released", *swapped) == [(1, 3)]


# "If there is, one compiles with version 9 (the new one)": one subtree, two phrases and a bracket.
CLAUSES = sentence(
    ("居れ", "VERB", "acl", 3, "B"),
    ("ば", "SCONJ", "mark", 0),
    ("、", "PUNCT", "punct", 0),
    ("版", "NOUN", "obl", 10, "B"),
    ("九", "NUM", "nummod", 3),
    ("や", "ADP", "case", 3),
    ("「", "PUNCT", "punct", 8),
    ("新しい", "ADJ", "acl", 8, "B"),
    ("実行", "NOUN", "compound", 9, "B"),
    ("命令", "NOUN", "obj", 10, "B"),
    ("書く", "VERB", "ROOT", 10, "B"),
)


def test_chunks_hold_no_clause_and_no_open_bracket() -> None:
    assert found("released", CLAUSES) == ["居れば、版"]
    assert found("chunks", CLAUSES) == ["版", "新しい実行命令"]


@pytest.mark.parametrize(
    "marked",
    [
        *("全部で2〈回〉の試験", "〈比較的〉高い", "この〈熱力学〉的な値", "〈合理的〉な方法", "〈これ〉らの薬"),
        *("〈お〉早め", "〈----〉", "1,〈200人〉", "〈症例〉3と4", "「〈犬 *〉", "〈3〉回", "佐藤（敬称略）〈さん〉"),
        *("〈察〉の結果", "記号〈x〉の値"),
    ],
)
def test_parts_of_words_and_numbers_are_no_spans(marked: str) -> None:
    assert not is_whole(*without_marks(marked))


@pytest.mark.parametrize(
    "marked",
    [
        *("〈2回〉の試験", "この〈目的〉で", "〈湿度40%〉で", "〈「咳」〉と熱", "〈熱〉が", "効果的な〈薬〉"),
        *("図3、〈症例〉", "〈CT〉を撮る"),
    ],
)
def test_whole_words_are_spans(marked: str) -> None:
    assert is_whole(*without_marks(marked))


def without_marks(marked: str) -> tuple[str, int, int]:
    """The text, and where the marks 〈 and 〉 were in it."""
    before, _, rest = marked.partition("〈")
    span, _, after = rest.partition("〉")
    return before + span + after, len(before), len(before) + len(span)


def test_an_adjective_belongs_to_the_noun_before_it() -> None:
    # "An island without a station is growing greatly."
    stations = sentence(
        ("駅", "NOUN", "nsubj", 2, "B"),
        ("が", "ADP", "case", 0),
        ("ない", "ADJ", "acl", 3, "B"),
        ("島", "NOUN", "nsubj", 6, "B"),
        ("が", "ADP", "case", 3),
        ("大きく", "ADJ", "advcl", 6, "B"),
        ("成長", "NOUN", "ROOT", 6, "B"),
    )
    assert found("chunks", stations) == ["駅", "島", "成長"]


def test_chunks_keep_brackets_that_are_closed() -> None:
    quoted = sentence(
        ("「", "PUNCT", "punct", 1),
        ("版", "NOUN", "nmod", 4, "B"),
        ("」", "PUNCT", "punct", 1),
        ("の", "ADP", "case", 1),
        ("命令", "NOUN", "ROOT", 4, "B"),
    )
    assert found("chunks", quoted) == ["版", "命令"]
    whole = sentence(
        ("版", "NOUN", "compound", 4),
        ("(", "PUNCT", "punct", 2),
        ("九", "NUM", "nummod", 4),
        (")", "PUNCT", "punct", 2),
        ("命令", "NOUN", "ROOT", 4, "B"),
    )
    assert found("chunks", whole) == ["版(九)命令"]


def test_a_long_chunk_is_split_without_recursion() -> None:
    words = [word for _ in range(2_000) for word in (("猫", "NOUN", "compound", 3_999), ("、", "PUNCT", "punct", 0))]
    words[3_999] = ("犬", "NOUN", "ROOT", 3_999)
    text, tokens = sentence(*words)
    assert len(noun_spans("released", text, tokens)) == 1
    assert len(noun_spans("chunks", text, tokens)) == 2_000


@pytest.mark.parametrize("rule", SPAN_RULES)
def test_spans_are_in_order_and_inside(rule: str) -> None:
    for text, tokens in (SURGERY, NAMES, TWICE, ("", [])):
        spans = noun_spans(rule, text, tokens)
        ends = [offset for span in spans for offset in span]
        assert ends == sorted(ends)
        assert all(0 <= start < end <= len(text) for start, end in spans)
