"""Sentence ends at places of real pages that a person judged (`tests/data/sentence_boundaries.json`).

The verdicts are by a hash of the text around each place: does a sentence end here?
docs/explanation/studies/sentence-boundaries.md has the method.
"""

import json

import pytest
import rightness

# At most so many decisions are wrong of all, and of those of one wiki.
ALL, ONE_WIKI = 0.005, 0.02


@pytest.mark.real
@pytest.mark.usefixtures("data_dir")
@pytest.mark.slow
def test_few_sentence_ends_are_wrong() -> None:
    verdicts = json.loads(rightness.VERDICTS.read_text())
    pages = rightness.articles(rightness.slices.data() / "wikipedia-xml")
    places = wrong = 0.0
    for wiki, judged in verdicts.items():
        known, errors = rightness.wrong_ends(*pages[wiki], judged, {"ours": rightness.ours})
        assert known > 100, wiki
        assert errors <= ONE_WIKI * known, wiki
        places, wrong = places + known, wrong + errors
    assert places > 1_700
    assert wrong <= ALL * places
