"""Odd wikitext shows what MediaWiki 1.39 shows for it."""

import pytest

from tests.wikimedia.wikitext.test_extractor import lines, links
from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.wikitext import Extractor

ENGINE = Extractor(site_for("enwiki"), literal=True)


@pytest.mark.parametrize(
    ("wikitext", "shown"),
    [
        ("<nowiki>&amp; &lt;b&gt; &#x41;</nowiki>", ["& <b> A"]),
        ("<pre>&amp; ''a''</pre>", ["& ''a''"]),
        ("<pre><nowiki>[[a]]</nowiki> b</pre>", ["[[a]] b"]),
        ("&#0; &#128; &amp;lt; &notit;", ["&#0; &#128; &lt; &notit;"]),
        ("__toc__ a __index__ __INDEX__", ["a __index__"]),
        (";[http://x.y A :B] :C", ["A :B", "C"]),
        (";a</b>:b", ["a", "b"]),
        (";a<br>b:c", ["a", "b:c"]),
        ("== a <pre>b</pre> ==", ["a", "b"]),
        ("== a ==<ref>b</ref>", ["== a =="]),
        ("a </div> b", ["a b"]),
        ("* a<span\nid=x>b</span>", ["ab"]),
        ("<pre>a\n* b", ["a", "* b"]),
        ("[[a<b>c</b>]]", ["[[ac]]"]),
        ("[[a|b [http://c d] e]]", ["b [http://c d] e"]),
        ("[[Foo &amp;amp; bar]] [[a#b\nc]] [[a\tb]]", ["[[Foo &amp; bar]] [[a#b", "c]] [[a b]]"]),
        ("<langconvert from=zh to=zh-tw>a</langconvert> b", ["a b"]),
        ("x {{ " + "a" * 300 + " }} y", ["x {{ " + "a" * 300 + " }} y"]),
    ],
)
def test_text(wikitext: str, shown: list[str]) -> None:
    assert lines(ENGINE.extract(wikitext, "The page")) == shown


@pytest.mark.parametrize(
    ("wikitext", "linked"),
    [
        ("''x [[a ''b'' c]] y", [("a ''b'' c", "A ''b'' c")]),
        ("[[7%25 X]] [[a%20b]]", [("7% X", "7% X"), ("a b", "A b")]),
        ("[[a#%00]] {{x}} [[b#%01]]", [("a#%00", "A"), ("b#%01", "B")]),
        ("[[a]]b''c''", [("ab", "A")]),
        ("[[a]][http://x.y b]", [("a", "A")]),
        ("[[a]]b[[File:c.jpg]]d", [("ab", "A")]),
        ("[[a]]<b></i>c", [("a", "A")]),
        ("[[a|b [[c]] d]]", [("c", "C")]),
    ],
)
def test_links(wikitext: str, linked: list[tuple[str, str]]) -> None:
    assert links(ENGINE.extract(wikitext, "The page")) == linked


def test_no_link_has_a_prefix_across_a_footnote() -> None:
    extract = Extractor(site_for("arwiki"), literal=True).extract("ال<ref>x</ref>[[كتاب]]", "The page")
    assert links(extract) == [("كتاب", "كتاب")]


@pytest.mark.parametrize(
    ("wikitext", "shown"),
    [
        ("{|\n|a\n</table>\nb", ["b"]),
        ("{|\n|a\n</table>\n| c || d\n|}\ne", ["c", "d", "e"]),
        ("{|\nlost [[b]]\n|a\n|}\nc", ["lost b", "c"]),
        ("{|\n|a\n|-\nlost\n|b\n|}", ["lost"]),
        ("<table><tr><td>a</td>lost</tr></table>b", ["lost", "b"]),
        ("<table>\n|-\n| a\n</table>\nb", ["|-", "| a", "b"]),
        ("{|\n{|\n|a\n|}\nb\n|}\nc", ["b", "c"]),
        ("{|\n|+ a\nb\n|-\n|\n{|\n|c\n|}\nd\n|}\ne", ["e"]),
    ],
)
def test_tables(wikitext: str, shown: list[str]) -> None:
    extract = ENGINE.extract(wikitext, "The page")
    assert lines(extract) == shown
    assert extract.counts["seen"] == wikitext.count("[[")
