"""Sentence ends: examples by language, properties that hold of any text, linear time, and the ICU splitters."""

import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.text.splitter import make_splitter


def marked(text: str, ends: list[int]) -> str:
    pieces = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return "|".join(pieces)


# Letters, digits and signs of many scripts, and what they trip over.
TRICKY = st.text(
    alphabet=st.sampled_from(list("aB1 .!?…,;:\n\"'“”„«»()[]「」（）。！？।۔։·-–АбΑأ한あア字😀\u00a0\u3000\u200b"))
)
LANGUAGES = st.sampled_from(["en", "de", "fr", "ru", "el", "hy", "ja", "zh", "th", "ka", "ar", "hi", "bo", "xx"])


@given(TRICKY | st.text(), LANGUAGES)
def test_ends_partition_the_text(text: str, language: str) -> None:
    ends = make_splitter("rules", language)(text)
    assert ends == sorted(set(ends))
    assert (ends[-1] if ends else 0) == len(text)
    assert "".join(text[start:end] for start, end in zip([0, *ends], ends, strict=False)) == text
    assert {i + 1 for i, char in enumerate(text) if char == "\n"} <= set(ends)


@given(st.lists(TRICKY, max_size=4), LANGUAGES)
def test_lines_are_split_one_by_one(lines: list[str], language: str) -> None:
    """What stands in one block changes nothing in another."""
    lines = [line.replace("\n", " ") for line in lines]
    split = make_splitter("rules", language)
    alone: list[int] = []
    offset = 0
    for line in lines:
        alone += [offset + end for end in split(line + "\n")]
        offset += len(line) + 1
    assert split("".join(line + "\n" for line in lines)) == alone


@pytest.mark.parametrize(
    "hostile",
    [
        "a. ",
        ".",
        "「",
        "。",
        "(",
        "(a.) ",
        "((",
        "« ",
        "“a",
        "。」",
        "[1]",
        "A. ",
        "1. ",
        " ",
        "་།",
        "a.\u00a0»",
        ".)",
        "「『",
        '."',
    ],
)
@pytest.mark.parametrize("language", ["en", "ja", "th"])
def test_linear_time(hostile: str, language: str) -> None:
    split = make_splitter("rules", language)
    text = hostile * (100_000 // len(hostile))
    start = time.process_time()
    assert split(text)[-1] == len(text)
    assert time.process_time() - start < 2


def test_empty_text_has_no_sentence() -> None:
    assert make_splitter("rules", "en")("") == []


def test_characters_beyond_the_bmp_count_once() -> None:
    assert make_splitter("rules", "en")("😀😀 Hello there. How are you?") == [16, 28]


def test_unknown_splitter() -> None:
    with pytest.raises(UsageError, match=r"--splitter=spacy.*rules, icu, polyglot"):
        make_splitter("spacy", "en")


@pytest.mark.parametrize("name", ["icu", "polyglot"])
def test_missing_package(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "icu", None)
    with pytest.raises(UsageError, match=rf"--splitter={name} needs PyICU: pip install 'wikianchor\[{name}\]'"):
        make_splitter(name, "en")


def test_icu_counts_code_points() -> None:
    pytest.importorskip("icu")
    text = "😀 Hello there. How 😀 are you?\nFine."
    ends = make_splitter("icu", "en")(text)
    assert marked(text, ends) == "😀 Hello there. |How 😀 are you?\n|Fine."
    assert make_splitter("icu", "en")("") == []


@pytest.mark.parametrize(
    "text", ["Hello there. How are you?", "😀 Hello there. How are you?\nI'm 😀 fine. Bye.", "", "  ", "😀"]
)
def test_polyglot_is_reproduced(text: str) -> None:
    pytest.importorskip("icu")
    pytest.importorskip("polyglot.tokenize")
    from polyglot.text import Text

    ends = make_splitter("polyglot", "en")(text)
    assert ends[-1:] == ([len(text)] if text else [])
    ours = [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]
    theirs = [sentence.raw for sentence in Text(text, hint_language_code="en").sentences] if text else []
    assert [sentence for sentence in ours if sentence] == theirs
