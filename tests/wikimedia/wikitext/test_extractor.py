"""Wikitext to what a reader sees: text, and links with what they show and where they lead."""

from functools import lru_cache

from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.wikitext import Extract, Extractor
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, LINE_MARKS, LIST


@lru_cache(maxsize=16)
def engine(wiki: str) -> Extractor:
    return Extractor(site_for(wiki))


def read(wikitext: str, wiki: str = "enwiki") -> Extract:
    return engine(wiki).extract(wikitext, "The page")


def lines(extract: Extract) -> list[str]:
    return [line for line in (line.strip(LINE_MARKS + " ") for line in extract.text.split("\n")) if line]


def links(extract: Extract) -> list[tuple[str, str]]:
    article_links = extract.links
    return [
        (extract.text[start:end], target)
        for start, end, target in zip(article_links.starts, article_links.ends, article_links.targets, strict=True)
    ]


def test_blocks_stay_apart() -> None:
    extract = read(
        "Intro<br>two\n== History ==\n* one\n* two\n{|\n| [[cell]]\n|}\n<blockquote>quoted</blockquote>\nEnd"
    )
    assert lines(extract) == ["Intro", "two", "History", "one", "two", "quoted", "End"]
    assert extract.counts["table"] == 1


ASIDES = """[[a]] is here.
{| class="wikitable" style="[[x]]"
|+ The [[caption]] of it
! scope=row | [[Head]]er !! style="a:b!important" | [[H2|two]]
|-
| align=left | [[Foo|foo]] {{unknown}} || '''[[Bar]]'''<br>[[Baz]]
| 5 || [[File:x.jpg|20px|see [[x]] there]] [[Category:Z]]
* [[item]]
{|
| [[nested]]
|}
|}
[[File:A.jpg|thumb|alt=x|The [[Eiffel Tower|tower]]
of [[Paris]]]]
<table><tr><td>[[h1]]</td><td align=x>[[h2]]</table>"""


def test_cells_and_captions_with_links_are_extracted_beside_the_text() -> None:
    extract = Extractor(site_for("enwiki"), asides=True).extract(ASIDES, "The page")
    alone = read(ASIDES)
    assert (extract.text, extract.links, alone.asides) == (alone.text, alone.links, [])
    table, caption = extract.asides
    cells = ("The caption of it", "Header", "two", f"foo {GAP}", "Bar", "Baz", "item", "nested", "h1", "h2")
    assert (table.region, tuple(line.strip(LINE_MARKS) for line in table.text.split("\n") if line)) == ("table", cells)
    assert table.links.targets == ["Caption", "Head", "H2", "Foo", "Bar", "Baz", "Item", "Nested", "H1", "H2"]
    assert (caption.region, caption.text) == ("caption", "The tower of Paris\n\nsee x there")
    assert caption.links.targets == ["Eiffel Tower", "Paris", "X"]
    assert [table.text[slice(*span)] for span in zip(table.links.starts, table.links.ends, strict=True)][:3] == [
        "caption",
        "Header",
        "two",
    ]
    # Every pair of brackets is counted once, and the region counts the links in it.
    assert extract.counts["seen"] == alone.counts["seen"] == ASIDES.count("[[")
    assert (extract.counts["table"], extract.counts["caption"], extract.counts["markup"]) == (10, 3, 1)


def test_a_table_in_a_line_of_cells_shows_no_text_twice() -> None:
    extract = read(
        "{|\nx\n</table>\n| a=b | c || d <table>\nloose\n<tr><td>[[e]]</td></tr></table> f\n\n| g<table>|h</table>"
    )
    assert [line for line in lines(extract) if line] == ["x", "c", "d", "loose", "f", "g", "|h"]
    assert extract.counts["table"] == 1


def test_an_image_at_the_beginning_of_an_aside_begins_a_line() -> None:
    image = "[[File:a.jpg|20px]]"
    for end in ("b", "|", " "):
        (aside,) = (
            Extractor(site_for("enwiki"), asides=True)
            .extract(f"{{|\n| {image} x [[y]]\n|-\n| {image} x [[y]]{end}\n|}}", "T")
            .asides
        )
        first, second = (line for line in aside.text.split("\n") if line)
        assert first == "x y"
        assert second.startswith(first)


def test_an_unclosed_pre_does_not_move_the_tags_after_it() -> None:
    for tag in ("<ref name=b>[[a]]</ref>", "<nowiki class=b>[[a]]</nowiki>", "<nowiki class=b>[[a]]"):
        plain, listed = (read(f"<pre{line} {tag} d e") for line in (" x", "\n* x"))
        assert plain.counts == listed.counts
        assert plain.text.split() == listed.text.replace(LIST, "").replace("*", "").split()


def test_captions_in_galleries_are_extracted_as_those_of_other_images() -> None:
    wikitext = """A [[text]].
<gallery mode=packed>
File:A.jpg|alt=Old|The [[bus]]es of {{lang|fr|[[Paris|P.]]}}<ref>[[r]]</ref> in {{unknown|[[q]]}}
B.jpg|link=[[x]]|No link
[[File:C.jpg|[[no line of a gallery]]]]
</gallery>
{|
|<gallery>
D.jpg|A [[tram]]</gallery>
|}
[[File:E.jpg|thumb|A [[car]]]]"""
    extract = Extractor(site_for("enwiki"), asides=True).extract(wikitext, "The page")
    alone = read(wikitext)
    assert (extract.text, extract.links, alone.asides) == (alone.text, alone.links, [])
    (caption,) = extract.asides
    assert caption.region == "caption"
    assert [line for line in caption.text.split("\n") if line] == ["A car", f"The buses of P. in {GAP}", "A tram"]
    assert caption.links.targets == ["Car", "Bus", "Paris", "Tram"]
    assert extract.counts["source:links"] == alone.counts["source:links"] == wikitext.count("[[")
    kinds = ("caption", "source:in_calls", "source:from_calls", "reference", "extension_tag", "markup")
    assert [extract.counts[kind] for kind in kinds] == [4, 2, 1, 1, 2, 1]


def test_every_pair_of_brackets_is_counted_once() -> None:
    wikitext = (
        "[[a]] [[b|c]] [[Category:X]] {{box|[[d]]}} <ref>[[e]]</ref>\n{|\n|[[f]]\n|}\n[[File:x.jpg|[[g]]]] [[open"
    )
    counts = read(wikitext).counts
    assert counts["source:links"] == wikitext.count("[[")
    assert counts["seen"] == wikitext.count("[[") - 1
    assert counts["link"] == 2


def test_a_page_does_not_depend_on_the_pages_read_before_it() -> None:
    text = "a [[bus]]es {{convert|5|km}} [[x|y]]"
    first = read(text)
    read("[[File:" * 50 + "{{" * 50)
    assert read(text) == first


def test_linked_titles_are_found_anywhere() -> None:
    text = "[[b]] {{box|[[a#s]]}} <ref>[[c|d]]</ref> [[:Category:X]] [[fr:Y]] [[the page]] [[b]]"
    assert engine("enwiki").linked_titles(text, "The page") == ["A", "B", "C"]


def test_bullets_that_were_typed_make_a_list() -> None:
    assert read("• The [[bus]] is red.").text.strip("\n")[0] == LIST


def test_literally_lines_signs_and_bullets_stay() -> None:
    wikitext = "• The bus is red\nand old <ref>x</ref>. [84]\n"
    extract = Extractor(site_for("enwiki"), literal=True).extract(wikitext, "The page")
    assert lines(extract) == ["• The bus is red", "and old . [84]"]


def test_links_are_found_where_lines_were_joined() -> None:
    extract = read("It stopped at the\nbig [[station]] of [[Paris]] <ref>x</ref>. [12]")
    assert links(extract) == [("station", "Station"), ("Paris", "Paris")]


def test_a_cell_that_an_unknown_template_began_shows_its_text_alone() -> None:
    extract = Extractor(site_for("enwiki"), asides=True).extract("{|\nA\n{{W}}[[b]]", "The page")
    (aside,) = extract.asides
    assert (aside.text.strip(), list(aside.links.starts)) == ("b", [aside.text.index("b")])
