"""Brackets without a counterpart."""

import pytest

from wikianchor.pipelines.japanese.noun_spans import unmatched


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("", []),
        ("咳(乾性)と「熱」", []),
        ("「『咳』」", []),
        ("(咳", [0]),
        ("咳」と熱", [1]),
        ("(咳「と)熱", [2]),
        ("（咳)", [0, 2]),
        ("p<0.05", []),
        ("(" * 3 + ")", [0, 1]),
    ],
)
def test_brackets_without_a_counterpart(text: str, positions: list[int]) -> None:
    assert unmatched(text) == positions


def test_time_is_linear_in_the_text() -> None:
    # Openings of one kind, and closings of another: a search for each in all others would take minutes.
    assert len(unmatched("(" * 50_000 + "]" * 50_000)) == 100_000
