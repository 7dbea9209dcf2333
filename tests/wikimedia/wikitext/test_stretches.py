"""Pieces of a page come as `str.split` gives them, wherever the stretches end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.pipelines.wikimedia.wikitext import stretches as pieces


@given(st.text("{[a", max_size=60), st.sampled_from(["{{", "[[", "["]))
def test_pieces_are_those_of_split(text: str, mark: str) -> None:
    assert list(pieces.pieces_between(text, mark)) == text.split(mark)


@given(st.text("\na", max_size=60), st.integers(1, 9))
def test_stretches_are_joined_by_a_line_feed(text: str, stretch: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "STRETCH", stretch)
        assert "\n".join(pieces.stretches(text)) == text
