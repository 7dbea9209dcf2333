"""Sentences from ends and links, and the reasons why a stretch of text is none."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.pipelines.text.fragments import FRAGMENT_REASONS, make_fragment_test, markup_offsets, whole_sentences
from wikianchor.pipelines.text.splitter import make_splitter


def columns(links: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [start for start, _ in links], [end for _, end in links]


def sentences(text: str, ends: list[int], links: list[tuple[int, int]]) -> list[str]:
    cut = list(whole_sentences(text, ends, *columns(links)))
    assert all(text.startswith(sentence, start) for start, sentence in cut)
    return [sentence for _, sentence in cut]


def fragment_reason(sentence: str, language: str) -> str | None:
    return make_fragment_test(language)(sentence, bool(markup_offsets(sentence)))


def test_spans_are_stripped_and_blank_ones_left_out() -> None:
    text = "One.  Two.\n \n\u00a0Three. "
    ends = [6, 11, 13, len(text)]
    assert sentences(text, ends, []) == ["One.", "Two.", "Three."]


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ([], ["See Dr.", "No here.", "End."]),
        ([(4, 10)], ["See Dr. No here.", "End."]),  # "Dr. No": the boundary falls inside
        ([(4, 7)], ["See Dr.", "No here.", "End."]),  # "Dr."
        ([(8, 10)], ["See Dr.", "No here.", "End."]),  # "No"
        ([(4, 7), (8, 21)], ["See Dr.", "No here. End."]),
        ([(0, 21)], ["See Dr. No here. End."]),
        ([(4, 10), (11, 21)], ["See Dr. No here. End."]),
    ],
)
def test_no_boundary_inside_a_link(links: list[tuple[int, int]], expected: list[str]) -> None:
    assert sentences("See Dr. No here. End.", [8, 17, 21], links) == expected


@given(st.text(alphabet="ab. \n", max_size=60), st.lists(st.integers(0, 60), unique=True, max_size=12))
def test_every_link_lies_in_one_sentence(text: str, edges: list[int]) -> None:
    edges = sorted(edge for edge in edges if edge <= len(text))
    # Links as the extractor makes them: without white space at their ends.
    links = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False) if text[a:b] == text[a:b].strip()]
    cut = whole_sentences(text, make_splitter("rules", "en")(text), *columns(links))
    spans = [(start, start + len(sentence)) for start, sentence in cut]
    assert all(any(start <= a and b <= end for start, end in spans) for a, b in links)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
    assert (
        "".join(text[start:end] for start, end in spans).split()
        == "".join(text[start:end] for start, end in spans).split()
    )
    assert sum(len(text[start:end].replace(" ", "").replace("\n", "")) for start, end in spans) == len(
        text.replace(" ", "").replace("\n", "")
    )


@given(st.text(st.characters(), max_size=1200), st.sampled_from(["en", "ja", "ru", "th", "xx"]))
def test_any_text_has_a_verdict(text: str, language: str) -> None:
    assert fragment_reason(text, language) in {None, *FRAGMENT_REASONS}


@pytest.mark.parametrize("hostile", ["(", "a) ", "|", "&a", "<a", "_", '."', "（"])
def test_linear_time(hostile: str) -> None:
    start = time.process_time()
    for _ in range(100):
        fragment_reason(hostile * (1000 // len(hostile)), "en")
    assert time.process_time() - start < 1
