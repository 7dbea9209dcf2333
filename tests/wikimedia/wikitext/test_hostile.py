"""Pages made to be slow take no more time for their size, and hypothesis' pages give sound offsets."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wikimedia.wikitext.hostile import DEFINITIONS, HOSTILE
from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.wikitext import Extractor

ENGINE = Extractor(site_for("enwiki"), find_template=DEFINITIONS.get, asides=True)
# Chinese has markup of its own.
CHINESE = Extractor(site_for("zhwiki"), find_template=DEFINITIONS.get, asides=True)
SMALL, LARGE = 20_000, 160_000
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


def seconds(engine: Extractor, text: str) -> float:
    start = time.process_time()
    engine.extract(text, "T")
    return time.process_time() - start


@pytest.mark.parametrize(
    ("name", "engine"),
    [(name, engine) for name in sorted(HOSTILE) for engine in (ENGINE, CHINESE) if engine is ENGINE or "-{" in name],
)
def test_time_grows_no_faster_than_the_page(name: str, engine: Extractor) -> None:
    # A quadratic pass takes 64 times as long for 8 times the text; noise and caches are allowed three times.
    small = min(seconds(engine, HOSTILE[name](SMALL)) for _ in range(2))
    assert seconds(engine, HOSTILE[name](LARGE)) < 24 * max(small, 0.02)


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
