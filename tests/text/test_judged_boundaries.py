"""Sentence ends at places of real pages that a person judged (`tests/data/sentence_boundaries.json`).

A place is a terminator with closing quotes and brackets, and more of the line to come. The verdicts are by a hash of
the text around each place: does a sentence end here? docs/explanation/studies/sentence-boundaries.md has the method.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lib import slices

from tests.real_pages import articles
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.wikimedia.extractors import make_extractor
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, LINE_MARKS

VERDICTS = Path(__file__).parents[1] / "data/sentence_boundaries.json"
# Letters around a place that identify it.
BEFORE, AFTER = 45, 30
_PLACE = re.compile(r"[.!?…。．｡！？।॥؟۔։:;\u037e][.!?…]*[\"'”’»“«)\]）」』】]*[^\S\n]*(?=[^\s])")
# A colon or semicolon is a terminator in few languages.
_COLONS = {"el": ";\u037e", "hy": ":"}
# At most so many decisions are wrong of all, and of those of one wiki.
ALL, ONE_WIKI = 0.005, 0.02


@pytest.mark.real
@pytest.mark.usefixtures("data_dir")
@pytest.mark.slow
def test_few_sentence_ends_are_wrong() -> None:
    verdicts = json.loads(VERDICTS.read_text())
    pages = articles(slices.data() / "wikipedia-xml")
    places = wrong = 0
    for wiki, judged in verdicts.items():
        known, errors = wrong_ends(*pages[wiki], judged)
        assert known > 100, wiki
        assert errors <= ONE_WIKI * known, wiki
        places, wrong = places + known, wrong + errors
    assert places > 1_700
    assert wrong <= ALL * places


def wrong_ends(site: Site, pages: dict[str, str], judged: dict[str, int]) -> tuple[int, int]:
    """Return the number of judged places of a wiki, and at how many of them our rules are wrong."""
    lines, split = lines_of(site, pages), make_splitter("rules", site.language)
    known = [candidate for candidate in all_places(lines, site.language) if candidate[0] in judged]
    starts = {
        (number, len(line) - len(line[end:].lstrip()))
        for number, line in ((number, lines[number]) for _, number, _ in known)
        for end in split(line)
    }
    return len(known), sum(judged[key] != ((number, start) in starts) for key, number, start in known)


def lines_of(site: Site, pages: dict[str, str]) -> list[str]:
    """Return the paragraphs of a wiki's pages."""
    extractor = make_extractor(site)
    text = "\n".join(extractor.extract(text, title).text for title, text in pages.items())
    lines = (line.replace(GAP, " ").strip() for line in text.split("\n") if line[:1] not in LINE_MARKS)
    return list(filter(None, lines))


def all_places(lines: list[str], language: str) -> Iterator[tuple[str, int, int]]:
    """Yield (hash, number of the line, offset of what follows) of every place."""
    for number, line in enumerate(lines):
        for match in _PLACE.finditer(line):
            blank = line[match.end() - 1].isspace()
            if match[0][0] in ":;\u037e" and match[0][0] not in _COLONS.get(language, ""):
                continue
            # Nobody errs at a dot within a word or number.
            if not blank and match[0][0] in ".!?…:;":
                continue
            around = line[max(0, match.end() - BEFORE) : match.end() + AFTER]
            yield hashlib.sha256(around.encode()).hexdigest()[:12], number, match.end()
