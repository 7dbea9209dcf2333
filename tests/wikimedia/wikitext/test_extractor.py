"""Wikitext to what a reader sees: text, and links with what they show and where they lead."""

from functools import lru_cache

import pytest

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
    found = extract.links
    return [
        (extract.text[start:end], target)
        for start, end, target in zip(found.starts, found.ends, found.targets, strict=True)
    ]


@pytest.mark.parametrize(
    ("wiki", "wikitext", "shown", "linked"),
    [
        ("enwiki", "a [[bus]]es b", "a buses b", [("buses", "Bus")]),
        ("enwiki", "a [[Mercury (planet)|Mercury]] b", "a Mercury b", [("Mercury", "Mercury (planet)")]),
        ("enwiki", "''[[X|GQ]]''s", "GQs", [("GQ", "X")]),
        ("enwiki", "[[bus]]<nowiki/>es", "buses", [("bus", "Bus")]),
        ("enwiki", "[[bus]]<!-- -->es", "buses", [("buses", "Bus")]),
        ("enwiki", "[[bus]]e<ref>x</ref>s", "buses", [("buse", "Bus")]),
        ("dewiki", "Tal [{{IPA|taːl}}], [{{Lautschrift|taːl}}]", "Tal [taːl], [[taːl]]", []),
        ("enwiki", "see [[Foo#Bar]] there", "see Foo#Bar there", [("Foo#Bar", "Foo")]),
        ("enwiki", "see [[#Bar|below]] there", "see below there", []),
        ("enwiki", "see [[:Category:Dogs]] there", "see Category:Dogs there", []),
        ("enwiki", "text [[Category:Dogs]]", "text", []),
        ("enwiki", "text [[fr:Chien]]", "text", []),
        ("enwiki", "a [[wikt:dog|dog]] b", "a dog b", []),
        ("enwiki", "[[the page]] is here", "the page is here", []),
        ("enwiki", "[[a|b [[c]] d]]", "[[a|b c d]]", [("c", "C")]),
        ("enwiki", "[[Foo|bar|baz]]", "bar|baz", [("bar|baz", "Foo")]),
        ("enwiki", "[[AT&amp;T]] works", "AT&T works", [("AT&T", "AT&T")]),
        ("enwiki", "[[ foo_bar ]] x", "foo_bar x", [("foo_bar", "Foo bar")]),
        ("enwiki", "[http://example.org a [[bus]] here]", "a bus here", [("bus", "Bus")]),
        ("enwiki", "[[File:A.jpg|thumb|a [[bus]] in [[town]]]]A [[car]].", "A car.", [("car", "Car")]),
        ("enwiki", 'x<ref name="b/c">[[bus]]</ref> y <ref name=z /> [[car]]', "x y car", [("car", "Car")]),
        ("enwiki", "'''Foo''' is ''a'' '''[[bus|'''big''' bus]]'''", "Foo is a big bus", [("big bus", "Bus")]),
        ("enwiki", "L'''x''' and it's", "Lx and it's", []),
        ("enwiki", "<nowiki>[[bus]]</nowiki> and [[car]]", "[[bus]] and car", [("car", "Car")]),
        ("enwiki", "a&nbsp;b &mdash; c &lt;d&gt;", "a b — c <d>", []),
        ("enwiki", "😀 [[bus]]es", "😀 buses", [("buses", "Bus")]),
        ("dewiki", "[[Planet]]en und [[Datei:A.jpg|mini|x]]", "Planeten und", [("Planeten", "Planet")]),
        ("dewiki", "[[Straße]] [[Bild:A.jpg]]", "Straße", [("Straße", "Straße")]),
        ("ukwiki", "у [[Київ|Києв]]і та [[Файл:А.jpg]]", "у Києві та", [("Києві", "Київ")]),
        ("arwiki", "ال[[كتاب]]ان", "الكتابان", [("الكتابان", "كتاب")]),
        ("zhwiki", "[[中国]]abc -{zh-hans:计算机; zh-hant:電腦}-", "中国abc 计算机", [("中国", "中国")]),
        ("trwiki", "[[istanbul]]'da", "istanbul'da", [("istanbul", "İstanbul")]),
        ("jawiki", "[[ファイル:A.jpg|サムネイル|[[b]]]][[木星]]は", "木星は", [("木星", "木星")]),
    ],
)
def test_a_line(wiki: str, wikitext: str, shown: str, linked: list[tuple[str, str]]) -> None:
    extract = read(wikitext, wiki)
    assert lines(extract) == [shown]
    assert links(extract) == linked


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


@pytest.mark.parametrize(
    ("wiki", "wikitext", "shown"),
    [
        ("enwiki", "It is {{convert|5|km|mi}} long.", "It is 5 km long."),
        ("enwiki", "the {{lang|de|Straße}} is", "the Straße is"),
        ("enwiki", "born {{circa|1500}} there", "born c. 1500 there"),
        ("enwiki", "{{As of|2013}}, it stood, {{as of|2014|lc=y}} no more", "As of 2013, it stood, as of 2014 no more"),
        ("dewiki", "nach {{§|611|BGB|juris}} BGB und {{Art.|9|gg|juris}} GG", "nach § 611 BGB und Art. 9 GG"),
        ("ukwiki", "влітку +25 {{градус Цельсія}} вдень", "влітку +25 °C вдень"),
        ("bnwiki", "প্রায় {{রূপান্তর|145|km|mi}} এবং", "প্রায় ১৪৫ km এবং"),
        ("enwiki", "a{{cn}} b{{sfn|Smith|2000}}.", "a b."),
        ("enwiki", "x {{no such thing|y}} z", f"x {GAP} z"),
        ("enwiki", "x {{<nowiki/>}} z", f"x {GAP} z"),
        ("enwiki", "x [[y|{{a}}\n{{b}}]] z", f"x {GAP} {GAP} z"),
        ("jawiki", "{{仮リンク|木星の環|en|Rings}}がある", "木星の環がある"),
        ("enwiki", "A{{nbsp}}B {{mdash}} C", "A B — C"),
    ],
)
def test_templates_in_prose(wiki: str, wikitext: str, shown: str) -> None:
    assert lines(read(wikitext, wiki)) == [shown]


def test_a_page_does_not_depend_on_the_pages_read_before_it() -> None:
    text = "a [[bus]]es {{convert|5|km}} [[x|y]]"
    first = read(text)
    read("[[File:" * 50 + "{{" * 50)
    assert read(text) == first


def test_linked_titles_are_found_anywhere() -> None:
    text = "[[b]] {{box|[[a#s]]}} <ref>[[c|d]]</ref> [[:Category:X]] [[fr:Y]] [[the page]] [[b]]"
    assert engine("enwiki").linked_titles(text, "The page") == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("wikitext", "shown"),
    [
        # A line that was broken by hand in the middle of a sentence.
        (
            "The bus is driven by the\nbest of the drivers. It is red.",
            ["The bus is driven by the best of the drivers. It is red."],
        ),
        ("It stopped at the \n[[station|Station]] of the town.", ["It stopped at the Station of the town."]),
        ("The bus is red\n<ref>x</ref>, and the car is blue.", ["The bus is red, and the car is blue."]),
        # Lines of their own.
        ("The bus is red.\nand the car is blue.", ["The bus is red.", "and the car is blue."]),
        ("The bus is red\nThe car is blue.", ["The bus is red", "The car is blue."]),
        ("Roses are red,<br>\nviolets are blue.", ["Roses are red,", "violets are blue."]),
        ("== Bus ==\nand the car", ["Bus", "and the car"]),
        ("* a bus\nand a car", ["a bus", "and a car"]),
        ("the bus\n\nand the car", ["the bus", "and the car"]),
        ("a car ქალაქი\nქალაქი is a town", ["a car ქალაქი", "ქალაქი is a town"]),
        # Blanks before punctuation: those that something removed has left, and those that the editor wrote.
        ("The bus is green <ref>x</ref>. It is older <ref>y</ref> , too.", ["The bus is green. It is older, too."]),
        ("The bus is red. <ref>x</ref>.", ["The bus is red."]),
        ("A train <ref>x</ref><ref name=y />{{fact}}, too, is green ([[file:x.png]]) .", ["A train, too, is green."]),
        (
            "A train{{fact}} , grey [https://a.org], green<!-- x --> , black [1], old ( ) , it is.",
            ["A train, grey, green, black, old, it is."],
        ),
        ("The bus , however , stopped . . . and went on . .", ["The bus , however , stopped . . . and went on . ."]),
        (
            "A train ({{fact}} old <ref>x</ref>) is (red {{fact}} ), ( too ) ({{fact}} {{fact}}).",
            ["A train (old) is (red), ( too )."],
        ),
        ("It has an area of {{fact}}. .NET is no town .", [f"It has an area of {GAP}. .NET is no town ."]),
        # Numbers of footnotes where a page was copied with them.
        (
            "The bus is red. [84] It is older [12], too.[3] Look at a[5] and x[[6]].",
            ["The bus is red. It is older, too. Look at a[5] and x6."],
        ),
        # Bullets that were typed.
        ("• The bus is red.\n- the car is blue.", ["The bus is red.", "the car is blue."]),
        ("-5 degrees and — so he said — rain", ["-5 degrees and — so he said — rain"]),
    ],
)
def test_what_editors_wrote_by_hand_reads_well(wikitext: str, shown: list[str]) -> None:
    assert lines(read(wikitext)) == shown


def test_bullets_that_were_typed_make_a_list() -> None:
    assert read("• The [[bus]] is red.").text.strip("\n")[0] == LIST


def test_literally_lines_signs_and_bullets_stay() -> None:
    wikitext = "• The bus is red\nand old <ref>x</ref>. [84]\n"
    extract = Extractor(site_for("enwiki"), literal=True).extract(wikitext, "The page")
    assert lines(extract) == ["• The bus is red", "and old . [84]"]


def test_links_are_found_where_lines_were_joined() -> None:
    extract = read("It stopped at the\nbig [[station]] of [[Paris]] <ref>x</ref>. [12]")
    assert links(extract) == [("station", "Station"), ("Paris", "Paris")]


@pytest.mark.parametrize(
    ("wikitext", "shown"), [("Charles {{Ier}} vient", "Charles Ier vient"), ("le 1{{er}} mai", "le 1er mai")]
)
def test_french_ordinals(wikitext: str, shown: str) -> None:
    assert lines(read(wikitext, "frwiki")) == [shown]


def test_a_cell_that_an_unknown_template_began_shows_its_text_alone() -> None:
    extract = Extractor(site_for("enwiki"), asides=True).extract("{|\nA\n{{W}}[[b]]", "The page")
    (aside,) = extract.asides
    assert (aside.text.strip(), list(aside.links.starts)) == ("b", [aside.text.index("b")])
