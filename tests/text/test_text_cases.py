"""Ends of sentences, fragments and prose: the cases of `cases/*.jsonl`, which `cargo test` reads too.

In `marked`, `|` stands before the first character of a sentence; the white space before it belongs to the sentence
before.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.cases import read_cases
from wikianchor.pipelines.text.fragments import make_fragment_test, markup_offsets
from wikianchor.pipelines.text.prose import page_sentences
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.wikimedia.site import Writing, site_for
from wikianchor.pipelines.wikimedia.wikitext import Extractor

CASES = read_cases("text")
ENGLISH = Extractor(site_for("enwiki"))


@pytest.mark.parametrize("case", [case for case in CASES if "marked" in case.values[0]])
def test_ends_of_sentences(case: dict[str, Any]) -> None:
    text = case["marked"].replace("|", "")
    ends = make_splitter("rules", case["language"], Writing.from_json(case.get("writing", {})))(text)
    assert "|".join(text[start:end] for start, end in zip([0, *ends], ends, strict=False)) == case["marked"]


@pytest.mark.parametrize("case", [case for case in CASES if "sentence" in case.values[0]])
def test_fragments(case: dict[str, Any]) -> None:
    language, sentence, writing = case["language"], case["sentence"], Writing.from_json(case.get("writing", {}))
    assert make_fragment_test(language, writing)(sentence, bool(markup_offsets(sentence))) == case["reason"]


@pytest.mark.parametrize("case", [case for case in CASES if "kept" in case.values[0]])
def test_prose(case: dict[str, Any]) -> None:
    dropped: Counter[str] = Counter()
    extract = ENGLISH.extract(case["wikitext"], "The page")
    kept = page_sentences(extract, make_splitter("rules", "en"), "en", dropped)
    assert [sentence.text for sentence in kept] == case["kept"]
    if "dropped" in case:
        assert {name: number for name, number in dropped.items() if name.startswith("sentences:")} == case["dropped"]
