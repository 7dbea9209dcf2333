"""Wikitext to text, links and ledger, by both engines: the cases of `cases/*.jsonl`, a file for each pass."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.cases import read_cases
from wikianchor.pipelines.wikimedia.core import installed_core
from wikianchor.pipelines.wikimedia.extractors import make_extractor
from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.titles import normalise_title
from wikianchor.pipelines.wikimedia.wikitext import Extract
from wikianchor.pipelines.wikimedia.wikitext.brackets import mend_brackets
from wikianchor.pipelines.wikimedia.wikitext.definitions import transcluded
from wikianchor.pipelines.wikimedia.wikitext.placeholders import LINE_MARKS

TITLE = "The page"
CASES = read_cases("wikimedia/wikitext")
needs_core = pytest.mark.skipif(installed_core() is None, reason="NO COMPILED CORE: make core")


@cache
def extractor(wiki: str, engine: str) -> Any:
    return make_extractor(site_for(wiki), engine=engine)


def read(case: dict[str, Any], engine: str = "python") -> Extract:
    """Return what an engine reads of the wikitext of a case."""
    wiki = case.get("wiki", "enwiki")
    if "templates" not in case:
        return extractor(wiki, engine).extract(case["wikitext"], TITLE)
    bodies = {title: transcluded(body) for title, body in case["templates"].items()}
    return make_extractor(site_for(wiki), bodies.get, engine=engine).extract(
        case["wikitext"], TITLE, case.get("timestamp", "")
    )


def shown_lines(extract: Extract) -> list[str]:
    return [line for line in (line.strip(LINE_MARKS + " ") for line in extract.text.split("\n")) if line]


def shown_links(extract: Extract) -> list[list[str]]:
    links = extract.links
    spans = zip(links.starts, links.ends, links.targets, strict=True)
    return [[extract.text[start:end], target] for start, end, target in spans]


def ledger(extract: Extract) -> dict[str, int]:
    return {name if ":" in name else f"links:{name}": number for name, number in extract.counts.items()}


@pytest.mark.parametrize("engine", ["python", pytest.param("core", marks=needs_core)])
@pytest.mark.parametrize("case", [case for case in CASES if "wikitext" in case.values[0]])
def test_wikitext(case: dict[str, Any], engine: str) -> None:
    extract = read(case, engine)
    counts = ledger(extract)
    shown = {
        "lines": shown_lines(extract),
        "links": shown_links(extract),
        "gaps": extract.gaps,
        "ledger": {name: counts.get(name, 0) for name in case.get("ledger", ())},
    }
    assert shown == {**shown, **{name: case[name] for name in shown if name in case}}


@pytest.mark.parametrize("case", [case for case in CASES if "before" in case.values[0]])
def test_brackets(case: dict[str, str]) -> None:
    assert mend_brackets(case["before"]) == case["after"]


@pytest.mark.parametrize("case", [case for case in CASES if "target" in case.values[0]])
def test_titles(case: dict[str, Any]) -> None:
    assert normalise_title(case["target"], site_for(case.get("wiki", "enwiki"))) == case["title"]
