"""Spans and links hold what they promise, or are not made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.schemas.spans import Link, Span, check_links


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 2), (3, 2)])
def test_a_span_has_a_first_and_a_last_character(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="not a span"):
        Span(start, end)


@given(st.text(min_size=1), st.data())
def test_a_span_is_of_code_points(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert Span(start, end).of(text) == text[start:end]
    with pytest.raises(ValueError, match="outside"):
        Span(start, len(text) + 1).of(text)


def test_a_link_has_a_target() -> None:
    assert Link(0, 2, "A").fragment == ""
    with pytest.raises(ValueError, match="no target"):
        Link(0, 2, "")
    with pytest.raises(ValueError, match="not a span"):
        Link(2, 2, "A")


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ([(0, 3), (4, 7)], ""),
        ([(0, 3), (3, 7)], "white space"),
        ([(0, 4)], "white space"),
        ([(0, 3), (2, 3)], "overlaps"),
        ([(4, 7), (0, 3)], "overlaps"),
        ([(4, 8)], "outside"),
        ([], ""),
    ],
)
def test_links_lie_in_their_sentence_in_order_and_show_something(links: list[tuple[int, int]], words: str) -> None:
    made = [Link(start, end, "A") for start, end in links]
    if not words:
        check_links("one two", made)
        return
    with pytest.raises(ValueError, match=words):
        check_links("one two", made)
