"""Pages to sentences: regions, links, and why a stretch of text is left out."""

from collections import Counter

from wikianchor.pipelines.text.prose import Sentence, aside_fragments, page_sentences
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.text.writing import MISSING
from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.wikitext import Extract, Extractor
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP
from wikianchor.pipelines.wikimedia.wikitext.templates import MAX_NAMES, OTHERS
from wikianchor.schemas.choices import FRAGMENT_REGIONS, REGIONS


def read(wikitext: str, wiki: str = "enwiki") -> tuple[list[Sentence], Extract, Counter[str]]:
    site = site_for(wiki)
    extract = Extractor(site).extract(wikitext, "The page")
    dropped: Counter[str] = Counter()
    kept_sentences = list(page_sentences(extract, make_splitter("rules", site.language), site.language, dropped))
    return kept_sentences, extract, dropped


def linked(sentence: Sentence, extract: Extract) -> list[str]:
    links = extract.links
    return [
        sentence.text[links.starts[at] - sentence.start : links.ends[at] - sentence.start]
        for at in range(sentence.first, sentence.last)
    ]


def test_sentences_come_with_their_region_and_links() -> None:
    kept_sentences, extract, _ = read(
        "A [[bus]] is a large vehicle. It carries [[passenger]]s to work.\n\n"
        "== History ==\nThe first [[omnibus|buses]] ran in [[Paris]].\n"
        "* The [[tram]] runs on rails through the town."
    )
    assert [(sentence.region, sentence.text, linked(sentence, extract)) for sentence in kept_sentences] == [
        ("lead", "A bus is a large vehicle.", ["bus"]),
        ("lead", "It carries passengers to work.", ["passengers"]),
        ("body", "The first buses ran in Paris.", ["buses", "Paris"]),
        ("list", "The tram runs on rails through the town.", ["tram"]),
    ]


def test_every_link_in_prose_is_kept_or_counted() -> None:
    kept_sentences, extract, dropped = read(
        "A [[bus]] drove {{unknown template|5}} along the [[road]]. It stopped at the [[station]].\n"
        "== [[Heading]] ==\n* [[Name]]\n== References ==\n* [[Author]] wrote a book about all of this."
    )
    kept = sum(sentence.last - sentence.first for sentence in kept_sentences)
    lost = sum(number for reason, number in dropped.items() if not reason.startswith(("sentences:", "templates:")))
    assert kept + lost == len(extract.links.starts) == 6
    assert kept == 1


def test_a_gap_after_the_full_stop_was_a_footnote() -> None:
    kept_sentences, extract, _ = read("The town lies on a [[river]].{{some footnote}} It is old and large.")
    assert [sentence.text for sentence in kept_sentences] == ["The town lies on a river.", "It is old and large."]
    assert linked(kept_sentences[0], extract) == ["river"]


def test_the_templates_that_cost_a_sentence_are_counted_once_in_it() -> None:
    _, _, dropped = read(
        "{{Box}}The town lies on a river.{{note}} It has {{No such_template|5}} and {{no such template}} of them.\n\n"
        "Its area ({{pronounced}}) is {{other}} or {{no such template}}. And <math>5</math> is {{convert|x}} of it.\n"
        "== {{heading}} ==\n* [[Category:X|{{sort}}]] A [[bus|{{a}}{{b}}]] is here, which is a vehicle.\n"
    )
    counts = {key.partition(":")[2]: number for key, number in dropped.items() if key.startswith("templates:")}
    assert counts == {"no such template": 2, "other": 1, "convert": 1, "a": 1, "b": 1}
    assert dropped["sentences:template"] == 4
    assert dropped["sentences:gap"] == 0


def test_more_templates_than_are_told_apart_are_counted_together() -> None:
    wikitext = " ".join(f"It has {{{{unknown {number}}}}} of them." for number in range(MAX_NAMES + 5))
    _, _, dropped = read(wikitext)
    assert dropped["templates:unknown 0"] == dropped[f"templates:unknown {MAX_NAMES - 2}"] == 1
    assert dropped[f"templates:{OTHERS}"] == 6
    assert dropped["sentences:template"] == MAX_NAMES + 5


def test_a_sentence_of_an_unspaced_script_is_measured_in_characters() -> None:
    kept_sentences, extract, _ = read("* [[木星]]は大きい惑星である。", "jawiki")
    assert [(sentence.region, linked(sentence, extract)) for sentence in kept_sentences] == [("list", ["木星"])]


def test_regions_of_sentences_are_those_of_the_schema() -> None:
    sentences, _, _ = read(
        "A bus is a large vehicle.\n== A ==\nIt stops at the station.\n* It has two doors and a roof.\n x"
    )
    assert [sentence.region for sentence in sentences] == list(REGIONS)


def test_fragments_are_the_dropped_text_with_its_links() -> None:
    wikitext = (
        "A [[bus]] is a large vehicle. It has {{unknown}} seats for the [[passenger]]s.\n"
        "== Makers ==\n* [[Volvo]]\n* [[London|{{unknown}} London]]\n* 5\n== References ==\n* [[Author]], 2001"
    )
    extract = Extractor(site_for("enwiki")).extract(wikitext, "The page")
    fragments: list[Sentence] = []
    dropped: Counter[str] = Counter()
    kept = page_sentences(extract, make_splitter("rules", "en"), "en", dropped, fragments)
    assert [(sentence.number, sentence.region, sentence.text, linked(sentence, extract)) for sentence in fragments] == [
        (1, "lead", f"It has {MISSING} seats for the passengers.", ["passengers"]),
        (2, "list", "Volvo", ["Volvo"]),
        (3, "list", f"{MISSING} London", [f"{MISSING} London"]),
        (4, "list", "5", []),
        (5, "back_matter", "Author, 2001", ["Author"]),
    ]
    assert kept == read(wikitext)[0]
    assert dropped == read(wikitext)[2]
    assert {sentence.region for sentence in fragments} <= set(FRAGMENT_REGIONS)


def test_a_line_with_links_of_a_table_is_a_fragment() -> None:
    wikitext = "Text.\n{|\n| 5 || [[bus]]es and ''[[Car]]''\n| alone\n|\n* [[Item|{{unknown}} item]] \n|}"
    table = Extractor(site_for("enwiki"), asides=True).extract(wikitext, "The page").asides[0]
    fragments = aside_fragments(table, 7)
    assert [
        (sentence.number, sentence.region, sentence.text, sentence.first, sentence.last) for sentence in fragments
    ] == [
        (7, "table", "buses and Car", 0, 2),
        (8, "table", f"{MISSING} item", 2, 3),
    ]
    assert all(table.text[sentence.start :].startswith(sentence.text.replace(MISSING, GAP)) for sentence in fragments)
