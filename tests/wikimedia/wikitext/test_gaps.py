"""Names of gaps go from the text, and the offsets of links follow."""

from hypothesis import given
from hypothesis import strategies as st

from wikianchor.pipelines.wikimedia.wikitext.gaps import take_names
from wikianchor.pipelines.wikimedia.wikitext.links import Links
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, NAMED

NAMES = ["one", "two", "three"]


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["a", "bc ", *(GAP + NAMED * n for n in range(4))]))))
def test_links_show_what_they_showed(pieces: list[tuple[bool, str]]) -> None:
    links, text, gaps, shown = Links(), "", [], []
    for linked, piece in pieces:
        if linked:
            links.starts.append(len(text))
            links.ends.append(len(text) + len(piece))
            shown.append(piece.replace(NAMED, ""))
        if piece[0] == GAP:
            gaps.append(NAMES[len(piece) - 2] if len(piece) > 1 else "")
        text += piece
    clean, left_by = take_names(text, NAMES, (links, Links()))
    assert clean == text.replace(NAMED, "")
    assert left_by == gaps
    assert [clean[start:end] for start, end in zip(links.starts, links.ends, strict=True)] == shown
