"""Links of a page are counted in its source, where its templates show their text, and in buckets; the sums agree."""

from __future__ import annotations

from collections import Counter

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


def test_what_does_not_balance() -> None:
    assert unbalanced({"links:seen": 2, "links:kept": 1}) == "2 links seen, 1 in buckets"
    assert unbalanced({"links:seen": 1, "links:kept": 1, "source:links": 2}) == "1 links seen, 2 by the source"
    assert unbalanced({"links:table": -1}) == "links:table is -1"
