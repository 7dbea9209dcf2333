"""Documents: sections, blocks and links of a page, and that its sentences follow from them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.test_fuzz import PIECES
from wikianchor.pipelines.text.documents import Document, make_document
from wikianchor.pipelines.text.prose import page_sentences
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.text.writing import MISSING
from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.wikitext import Extract, Extractor

SITE = site_for("enwiki")
EXTRACTOR = Extractor(SITE, asides=True, structured=True)
PLAIN = Extractor(SITE, asides=True)
SPLIT = make_splitter("rules", "en")


def read(text: str, title: str = "X") -> tuple[Extract, Document]:
    extract = EXTRACTOR.extract(text, title)
    return extract, make_document(extract, SITE.wiki, page_sentences(extract, SPLIT, SITE.language, Counter()))


def blocks(text: str) -> list[tuple[str, str]]:
    _, document = read(text)
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One line.\nThe same.\n\nAnother.", [("paragraph", "One line.\nThe same."), ("paragraph", "Another.")]),
        ("One<br>two<br />\nthree", [("paragraph", "One\ntwo\nthree")]),
        ("One<br><br>two\n<br>\nthree", [("paragraph", "One\ntwo\nthree")]),
        ("One<p>two</p>three", [("paragraph", "One"), ("paragraph", "two"), ("paragraph", "three")]),
        ("One<div>two</div>", [("paragraph", "One"), ("paragraph", "two")]),
        ("1.\n2.<div>3.</div>\n4.", [("paragraph", f"{number}.") for number in (1, 2, 3, 4)]),
        ("1. [[File:a.png|thumb]] 2.\n3.", [("paragraph", f"{number}.") for number in (1, 2, 3)]),
        ("1. [[File:a.png]] 2.\n3.", [("paragraph", "1. 2.\n3.")]),
        ("* one<br>more\n* two", [("list_item", "one\nmore"), ("list_item", "two")]),
        ("* <div>one</div>\n* two<p>more", [("list_item", "one"), ("list_item", "two"), ("list_item", "more")]),
        ("; term : definition\n: more", [("list_item", "term"), ("list_item", "definition"), ("list_item", "more")]),
        (" a\n b\n\n c", [("preformatted", "a\nb"), ("preformatted", "c")]),
        (
            "<blockquote>Said.\n\nAgain.\n* item</blockquote>No more.",
            [("quotation", "Said."), ("quotation", "Again."), ("list_item", "item"), ("paragraph", "No more.")],
        ),
        ("</blockquote>Not one.", [("paragraph", "Not one.")]),
        ("A [[b|label\nof lines]] c<br>d", [("paragraph", "A label of lines c\nd")]),
        ("[[Category:A|b<br>c]]d<br>e<p>f", [("paragraph", "d\ne"), ("paragraph", "f")]),
        ("a {{x}} b", [("paragraph", "a \ufffc b")]),
        # A block needs more than missing words; a line of one does not.
        ("[[a|{{x}}]]\n\nb", [("paragraph", "b")]),
        ("* {{x}} {{y}}\n* a\n* {{x}}", [("list_item", "a")]),
        ("a\n'''{{x}}'''\nB", [("paragraph", "a\n\ufffc\nB")]),
        ("'''{{x}}'''\n'''{{y}}'''\n\na", [("paragraph", "a")]),
        ("'''{{x}}'''\nA", [("paragraph", "\ufffc\nA")]),
        ("== {{x}} ==\n* {{y}}\na", [("heading", "\ufffc"), ("paragraph", "a")]),
        ("* {{x}}\n{|\n| [[c]]\n|}", [("table_cell", "c")]),
        (
            "== A ==\n<br />b\n* c\n<br>d",
            [("heading", "A"), ("paragraph", "b"), ("list_item", "c"), ("paragraph", "d")],
        ),
        ("<div><h4 id=x>\n Buses\n</h4></div>\na", [("heading", "Buses"), ("paragraph", "a")]),
        ("<h2>\n<b>[[A]]</b></h2>b", [("heading", "A"), ("paragraph", "b")]),
        ("<h3>\n* a\n* b\n</h3>", [("heading", "a"), ("list_item", "b")]),
        ("{|\n| [[c]] || d\n|}\na", [("paragraph", "a"), ("table_cell", "c")]),
        ("a [[File:b.png|thumb|See [[c]].]]", [("paragraph", "a"), ("caption", "See c.")]),
    ],
)
def test_blocks_are_those_that_mediawiki_shows(text: str, expected: list[tuple[str, str]]) -> None:
    assert blocks(text) == expected


def test_list_items_have_their_depth() -> None:
    _, document = read(
        "a\n* b\n** c<br>d\n*:# e\n; f : g\n:; h : i\n<ul><li>j</li></ul>\n** <div>k</div>\n{|\n|\n* [[l]]\n|}\n== m =="
    )
    depths = {document.text[block.start : block.end]: block.depth for block in document.blocks}
    of_items = {"b": 1, "c\nd": 2, "e": 3, "f": 1, "g": 1, "h": 2, "i": 2, "j": 1, "k": 2}
    assert depths == of_items | dict.fromkeys("aml", 0)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("{|\n| [[a]] || b\n|-\n| c\n|[[d]]\n|}", {"a": (0, 0), "d": (1, 1)}),
        # Rows without cells do not count, lines of a cell are of the cell, spans are one.
        (
            "{|\n|-\n|- id=x\n! a\n! [[b]]\n* [[c]]\n|-\n|\n|colspan=2| [[d]]\n|}",
            {"b": (0, 1), "c": (0, 1), "d": (1, 1)},
        ),
        # "!!" parts headings alone, and "||" none of the further lines of a cell.
        ("{|\n! a !! [[b]] !! c !! id=x | [[d]] || [[e]]\n|}", {"b": (0, 1), "d": (0, 3), "e": (0, 4)}),
        ("{|\n| a!! [[b]]\nc || [[d]]\n| [[e]]\n|}", {"b": (0, 0), "d": (0, 0), "e": (0, 1)}),
        ("{|\n|+ [[a]]\n| b || [[c]]\n|}", {"a": (None, None), "c": (0, 1)}),
        ("{|\n| a\n{|\n| b\n|-\n| [[c]]\n|}\n[[d]]\n| [[e]]\n|}", {"c": (1, 0), "d": (0, 0), "e": (0, 1)}),
        (
            "<table><tr><th>a<td>[[b]]</tr><tr><td>[[c]] || [[d]]</td></tr></table>",
            {"b": (0, 1), "c": (1, 0), "d": (1, 0)},
        ),
        # What replaces tags, images and terms in a cell begins no other cell.
        (
            "{|\n| [[a]]<br><br>b<p>[[c]]\n| [[File:x.png|thumb|y]][[d]]\n"
            "|; [[e]] : [[f]]\n| [[Category:G]]\n| [[h]]\n|}",
            {"a": (0, 0), "c": (0, 0), "d": (0, 1), "e": (0, 2), "f": (0, 2), "h": (0, 4)},
        ),
        # It is not known which cells a broken table has.
        ("{|\nloose\n| [[a]] || [[b]]\n|}", {"a": (None, None), "b": (None, None)}),
        ("{|\n| [[a]] <span\n| [[b]] >c\n|}", {"a c": (0, 0)}),
        ("{|\n| [[File:x.png|[[a]]\n| b]] [[c]]\n| [[d]]\n|}", {}),
    ],
)
def test_cells_have_their_row_and_column(table: str, expected: dict[str, tuple[int | None, int | None]]) -> None:
    _, document = read(table + "\n== z ==\nIt is.\n* y")
    blocks = {document.text[block.start : block.end]: block for block in document.blocks}
    numbers = {text.split("\n")[0]: (block.row, block.column) for text, block in blocks.items()}
    of_others = dict.fromkeys(("z", "It is.", "y"), (None, None))
    assert {text: numbers[text] for text in {**expected, **of_others}} == expected | of_others


def test_what_follows_a_block_without_words_keeps_its_offsets() -> None:
    text = "It is.\n* {{x}}\n== A ==\n: {{x}}\n[[Bus]]es run to the town every day.\n* {{x}}"
    _, document = read(text)
    assert document.text == "It is.\nA\nBuses run to the town every day."
    assert [(block.start, block.end) for block in document.blocks] == [(0, 6), (7, 8), (9, 41)]
    assert [(section.start, section.end) for section in document.sections] == [(7, 41)]
    assert [(link.start, link.end, link.block) for link in document.links] == [(9, 14, 2)]
    assert [(span.start, span.end) for span in document.sentences] == [(9, 41)]


def test_sections_contain_their_subsections() -> None:
    _, document = read("Lead.\n== A<br>b ==\nOf a.\n==== C ====\nOf c.\n== D ==\n=== E ===\nOf e.")
    assert [(section.title, section.level) for section in document.sections] == [
        ("A b", 2),
        ("C", 4),
        ("D", 2),
        ("E", 3),
    ]
    shown = [document.text[section.start : section.end] for section in document.sections]
    assert shown == ["A\nb\nOf a.\nC\nOf c.", "C\nOf c.", "D\nE\nOf e.", "E\nOf e."]
    assert [block.section for block in document.blocks] == [-1, 0, 0, 1, 1, 2, 3, 3]


def test_links_have_their_wiki_section_and_block() -> None:
    _, document = read(
        "A [[bus]]es {{x}} [[:fr:métro#Ligne|one]].\n== [[Tram]] ==\n"
        "* [[w:v|own]] [[:wikt:y]]\n{|\n|[[:de:u]] [[c]]\n|}"
    )
    links = [(document.text[link.start : link.end], *link[2:]) for link in document.links]
    assert links == [
        ("buses", "enwiki", "Bus", "", -1, 0),
        ("one", "frwiki", "Métro", "Ligne", -1, 0),
        ("Tram", "enwiki", "Tram", "", 0, 1),
        ("own", "enwiki", "V", "", 0, 2),
        ("de:u", "dewiki", "U", "", -1, 3),
        ("c", "enwiki", "C", "", -1, 3),
    ]


def test_categories_come_once_each_in_order() -> None:
    _, document = read("[[Category:b]] [[category: a_c|x]] [[Category:B]] [[:Category:d]]<!-- [[Category:e]] -->")
    assert document.categories == ["B", "A c"]
    # Of a cell without a link too.
    _, document = read("[[Category:b]]\n{|\n| a [[Category:f]]\n|}")
    assert (document.categories, document.text) == (["B", "F"], "")


# Fewer with the profile of `make quick`.
@settings(max_examples=5 * settings().max_examples)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_sentences_follow_from_the_document(text: str) -> None:
    text = text.translate({code: None for code in range(32) if chr(code) not in "\t\n"})
    extract, document = read(text)
    # What `sentences` has does not depend on whether documents are read.
    plain: Any = PLAIN.extract(text, "X")
    assert extract == plain
    kept = page_sentences(plain, SPLIT, "en", Counter())
    assert [document.text[span.start : span.end] for span in document.sentences] == [each.text for each in kept]
    for span, sentence in zip(document.sentences, kept, strict=True):
        of_wiki = [link for link in document.links if span.start <= link.start < span.end and link.wiki == "enwiki"]
        expected = range(sentence.first, sentence.last)
        assert [(link.start - span.start, link.end - span.start, link.target) for link in of_wiki] == [
            (plain.links.starts[n] - sentence.start, plain.links.ends[n] - sentence.start, plain.links.targets[n])
            for n in expected
        ]
    assert "\n".join(document.text[block.start : block.end] for block in document.blocks) == document.text
    words = [document.text[block.start : block.end] for block in document.blocks if block.kind != "heading"]
    assert all(each.strip(f"{MISSING} \n") for each in words)
    assert all((block.kind == "list_item") == (block.depth > 0) for block in document.blocks)
