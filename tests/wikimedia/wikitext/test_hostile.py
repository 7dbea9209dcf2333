"""Pages made to be slow take no more time for their size, and hypothesis' pages give sound offsets."""

import time
import tracemalloc
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wikimedia.wikitext.hostile import HOSTILE, make_extractor
from wikianchor.pipelines.wikimedia.core import installed_core
from wikianchor.pipelines.wikimedia.wikitext import Extract, Extractor, Links

ENGINE: Extractor = make_extractor("enwiki", "python")
SMALL, LARGE = 20_000, 160_000
# Chinese has markup of its own.
CASES = [(name, wiki) for name in sorted(HOSTILE) for wiki in ("enwiki", "zhwiki") if wiki == "enwiki" or "-{" in name]
needs_core = pytest.mark.skipif(installed_core() is None, reason="NO COMPILED CORE: make core")
MARKUP = [
    *(
        "[[",
        "]]",
        "[",
        "]",
        "{{",
        "}}",
        "{{{",
        "}}}",
        "|",
        "'''",
        "''",
        "=",
        "==",
        "\n",
        " ",
        "*",
        ":",
        "#",
        ";",
        "{|",
        "|}",
    ),
    *(
        "<ref>",
        "</ref>",
        "<ref/>",
        "<nowiki>",
        "</nowiki>",
        "<!--",
        "-->",
        "<br>",
        "<b>",
        "</b>",
        "-{",
        "}-",
        "File:",
        "&nbsp;",
    ),
    *(
        "Category:",
        "http://a.b ",
        "a",
        "Foo",
        "bar ",
        "😀",
        "é",
        "__TOC__",
        "&#91;",
        "<math>",
        "</math>",
        "<table>",
        "</table>",
    ),
]


extractor = cache(make_extractor)


def seconds(extractor: Any, text: str) -> float:
    start = time.process_time()
    extractor.extract(text, "T")
    return time.process_time() - start


@pytest.mark.parametrize("engine", ["python", pytest.param("core", marks=needs_core)])
@pytest.mark.parametrize(("name", "wiki"), CASES)
def test_time_grows_no_faster_than_the_page(name: str, wiki: str, engine: str) -> None:
    # A quadratic pass takes 64 times as long for 8 times the text; noise and caches are allowed three times.
    small = min(seconds(extractor(wiki, engine), HOSTILE[name](SMALL)) for _ in range(2))
    assert seconds(extractor(wiki, engine), HOSTILE[name](LARGE)) < 24 * max(
        small, 0.02 if engine == "python" else 0.004
    )


def columns(links: Links) -> tuple[list[int], list[int], list[str], list[str]]:
    return list(links.starts), list(links.ends), list(links.targets), list(links.fragments)


def as_the_core_returns_it(extract: Extract) -> tuple[Any, ...]:
    asides = [(aside.region, aside.text, columns(aside.links)) for aside in extract.asides]
    links, others = columns(extract.links), columns(extract.other_links)
    return extract.text, links, others, extract.gaps, dict(+extract.counts), asides


@needs_core
@pytest.mark.parametrize(("name", "wiki"), CASES)
def test_both_engines_read_them_in_the_same_way(name: str, wiki: str) -> None:
    text = HOSTILE[name](SMALL)
    *shown, counts, asides = extractor(wiki, "core").extract(text, "T")
    by_core = (*shown, {kind: count for kind, count in counts.items() if count > 0}, asides)
    assert by_core == as_the_core_returns_it(extractor(wiki, "python").extract(text, "T"))
    assert extractor(wiki, "core").linked_titles(text, "T") == extractor(wiki, "python").linked_titles(text, "T")


@settings(max_examples=200)
@given(st.lists(st.sampled_from(MARKUP), max_size=60).map("".join))
def test_offsets_are_sound_and_the_same_again(text: str) -> None:
    extract = ENGINE.extract(text, "T")
    end = 0
    for start, stop in zip(extract.links.starts, extract.links.ends, strict=True):
        assert end <= start < stop <= len(extract.text)
        assert extract.text[start:stop].strip() == extract.text[start:stop] != ""
        end = stop
    assert ENGINE.extract(text, "T") == extract


@pytest.mark.parametrize(
    "unit", ["''", "'' ", "''\n", "''''a", "'''a''b", "*''\n", "* a\n", "<b>", "[[a]]", "{{{a}}}", "<ref>"]
)
def test_memory_is_at_most_twenty_times_the_page(unit: str) -> None:
    page = "''' " + unit * (100_000 // len(unit))
    tracemalloc.start()
    try:
        ENGINE.extract(page, "Page")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * len(page)
