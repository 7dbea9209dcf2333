"""The fuzz of `benchmarks/hostile.py` in small: random splices of our own text, and faults that it has to see."""

from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import fuzzing as fuzz
from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.wikitext import Extract
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP

PAGE = """{{Infobox town|name=[[Oak]]|area={{convert|5|km2}}}}
'''Oak''' ({{IPA|oʊk}}; [[Latin]]: ''Quercia'') is a ''[[town]]''ship of [[Saint John|St. John]]s.<ref name="a/b">{{cite
book|title=[[Trees]]}}</ref> It has {{formatnum:1234}} people, {{unknown|x}} of them [[old age|old]].<!-- [[x]] -->
[[File:Oak.jpg|thumb|left|A [[tree]] in [[Oak#Park|the [old] park]]]]
== History ==
* First [[settler]]s&nbsp;came; [http://a.example the [[mill]]] <nowiki>[[was]]</nowiki> built in 1<sup>6</sup>50.
; [[Mill]] : a ''place'' for '''[[corn|corn''']]
:{| class="x"
| [[cell]]
|}
-{zh-hans:[[计算机]]; zh-hant:電腦}- 「[[木星]]は。」 ال[[كتاب]]ان [[fr:Chêne]] [[:Category:Oak]] __NOTOC__
 preformatted [[line]]
[[Category:Towns|{{PAGENAME}}]]
"""
WIKIS = ("enwiki", "dewiki", "zhwiki", "arwiki", "jawiki", "trwiki")


@cache
def engines(wiki: str, literal: bool) -> tuple[fuzz.Engine, fuzz.Engine]:
    site = site_for(wiki)
    return fuzz.make_engine(site, literal), fuzz.make_engine(site, literal)


PIECES = st.one_of(
    st.sampled_from(fuzz.MARKUP),
    st.builds(lambda start, length: PAGE[start : start + length], st.integers(0, len(PAGE)), st.integers(1, 60)),
)


@settings(max_examples=200)
@given(st.sampled_from(WIKIS), st.booleans(), st.lists(PIECES, max_size=14).map("".join))
def test_no_splice_is_read_wrong(wiki: str, literal: bool, text: str) -> None:
    assert fuzz.problem_of(text, *engines(wiki, literal), Counter()) == ""


def broken(monkeypatch: pytest.MonkeyPatch, fault: Any) -> tuple[fuzz.Engine, fuzz.Engine]:
    """Return engines of which the first does something wrong with what it has read."""
    first, other = fuzz.make_engine(site_for("enwiki"), False), fuzz.make_engine(site_for("enwiki"), False)
    read = first.extractor.extract

    def extract(text: str, title: str) -> Extract:
        result = read(text, title)
        fault(result)
        return result

    monkeypatch.setattr(first.extractor, "extract", extract)
    return first, other


def raised(extract: Extract) -> None:
    if "town" in extract.text:
        raise RuntimeError("no towns")


def moved(extract: Extract) -> None:
    extract.links.starts = [start + 1 for start in extract.links.starts]


def marked(extract: Extract) -> None:
    extract.text = extract.text.replace("ship of", "ship\x05of")


def unnamed(extract: Extract) -> None:
    extract.gaps = extract.gaps[:-1]


def emptied(extract: Extract) -> None:
    for start, end in zip(extract.links.starts, extract.links.ends, strict=True):
        extract.text = extract.text[:start] + GAP * (end - start) + extract.text[end:]


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (raised, "raises RuntimeError: no towns"),
        (moved, "another engine reads it in another way"),
        (marked, "another engine reads it in another way"),
        (unnamed, "another engine reads it in another way"),
        (emptied, "a link shows nothing, or more than itself"),
    ],
)
def test_a_fault_is_seen(fault: Any, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fuzz.problem_of(PAGE, *broken(monkeypatch, fault), Counter()) == problem


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (marked, "the mark '\\x05' is left in the text"),
        (unnamed, "gaps and their names are not as many"),
    ],
)
def test_a_fault_of_all_engines_is_seen(fault: Any, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = broken(monkeypatch, fault)
    assert fuzz.problem_of(PAGE, first, first, Counter()) == problem


def test_what_fails_is_cut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fuzz.smallest(PAGE, *broken(monkeypatch, raised)) == "town"


def test_time_that_grows_too_fast_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "engine", lambda *_: fuzz.make_engine(site_for("enwiki"), False))
    case, slowest = fuzz.Case("en", False, PAGE[:100]), {"ratio": 0.0, "seconds per MB": 0.0}
    assert fuzz.problem_of_time(case, slowest) == ""
    monkeypatch.setattr(fuzz, "seconds", lambda extract, text: (len(text) / 1e5) ** 2)
    assert "64 times as long" in fuzz.problem_of_time(case, slowest)


def test_a_case_depends_on_its_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "real_pages", lambda language: (site_for("enwiki"), [PAGE, PAGE[::-1]]))
    cases = [fuzz.make_case(1, number) for number in range(50)]
    assert [fuzz.make_case(1, number) for number in reversed(range(50))] == cases[::-1]
    assert len(set(cases)) == 50
    assert fuzz.make_case(2, 0) != cases[0]
