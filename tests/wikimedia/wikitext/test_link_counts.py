"""Links of a page are counted in its source, where its templates show their text, and in buckets; the sums agree."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.wikitext import Extractor
from wikianchor.pipelines.wikimedia.wikitext.link_counts import unbalanced

DEFINITIONS = {"D": "[[{{{1}}}]]", "Twice": "{{{1}}} and {{{1}}}", "Box": "{| class=a\n| {{{1|}}}\n|}", "No": ""}
PIECES = (
    *("[[", "]]", "[", "]", "|", "{{", "}}", "{{{1}}}", "{|", "|}", "\n", "\n|", "\n*", "=", "'", "''", "a", " "),
    *("D|", "Twice|", "Box|", "No|", "lang|uk|", "unknown|", "#if:x|", "File:A.jpg|", "Category:B"),
    *("{{D|x}}", "{{D|x}}{{Twice|[[a]]}}\n"),
    *("<!--", "-->", "<ref>", "</ref>", "<nowiki>", "</nowiki>", "<pre>", "</pre>", "<b>", "<span title='", "'>"),
    *("<gallery>", "</gallery>", "<noinclude", "-{", "}-", "zh:", ";", "http://x ", "&#91;", "<math>", "</math>"),
)
WITH_ASIDES = Extractor(site_for("zhwiki"), find_template=DEFINITIONS.get, asides=True)
WITHOUT = Extractor(site_for("enwiki"))


def ledger(wikitext: str, extractor: Extractor = WITH_ASIDES) -> Counter[str]:
    """Return the counts of a page as its ledger has them."""
    counts = extractor.extract(wikitext, "Title").counts
    return Counter({name if ":" in name else f"links:{name}": number for name, number in counts.items()})


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_the_ledger_of_any_page_balances(wikitext: str) -> None:
    for extractor in (WITH_ASIDES, WITHOUT):
        counts = ledger(wikitext, extractor)
        assert unbalanced(counts) is None, (wikitext, counts)
        assert counts["source:links"] == wikitext.count("[[")


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        (
            "He met {{D|{{D|x}}}}.",
            {"source:in_calls": 1, "source:from_calls": 3, "links:not_a_link": 1, "links:seen": 2},
        ),
        ("A {{Twice|[[a]]}} b", {"source:links": 1, "source:in_calls": 1, "source:from_calls": 2, "links:seen": 2}),
        ("[<!-- [[b]] -->[a]]", {"source:links": 1, "source:comment": 1, "source:joined": 1, "links:link": 1}),
        ("<pre>[[a]]</pre> <nowiki>[[b]]</nowiki>", {"source:links": 2, "source:nowiki": 2, "links:seen": 0}),
        ("-{zh-hans:[[a]];zh-hant:[[b]]}-", {"links:markup": 1, "links:link": 1, "links:seen": 2}),
        ("<span title='[[a]]'>b</span>", {"links:seen": 1, "links:markup": 1}),
        ("a\n{{D|Prose that nobody reads.}}\nb", {"text:alone": 24}),
        (
            "a\n{{D|x}} {{Box|x}}{{D|[[y]]}}\nb",
            {"source:in_calls": 1, "source:from_calls": 3, "source:notices": 3, "links:seen": 0, "text:notices": 14},
        ),
        ("a {{unknown|x\n|text=[[y]]}} b", {"text:several_lines": 13, "source:in_calls": 1, "links:seen": 0}),
        ("a {{Box|x\n}} b", {"text:block": 2}),
        ("a\n{{D|b}} {{D|c}}\n{{D|e}}", {"source:from_calls": 3, "source:notices": 3, "links:seen": 0}),
        ("{|[[\na\n|}", {"links:table": 1, "links:seen": 1}),
    ],
)
def test_what_is_counted(wikitext: str, expected: dict[str, int]) -> None:
    counts = ledger(wikitext)
    assert {name: counts[name] for name in expected} == expected
    assert unbalanced(counts) is None


def test_what_does_not_balance() -> None:
    assert unbalanced({"links:seen": 2, "links:kept": 1}) == "2 links seen, 1 in buckets"
    assert unbalanced({"links:seen": 1, "links:kept": 1, "source:links": 2}) == "1 links seen, 2 by the source"
    assert unbalanced({"links:table": -1}) == "links:table is -1"
