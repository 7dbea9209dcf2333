"""Rows gathered as columns come out as they went in."""

from wikianchor.pipelines.sentences.columns import SentenceColumns, TitleColumns
from wikianchor.pipelines.text.prose import Sentence
from wikianchor.pipelines.wikimedia.pages import Page
from wikianchor.pipelines.wikimedia.wikitext import Links
from wikianchor.schemas import sentences, titles

PAGE = Page("Bus", 0, 7, 70, "2026-01-01T00:00:00Z", None, "wikitext", "")
OTHER = Page("Tram", 0, 8, 80, "2026-01-01T00:00:00Z", None, "wikitext", "")
LINKS = Links([2, 20, 31], [5, 24, 36], ["Car", "Road", "Rail"], ["", "Width", ""])


def test_link_offsets_become_relative_to_their_sentence() -> None:
    columns = SentenceColumns("enwiki")
    page_sentences = [Sentence(0, "lead", "a car", 0, 0, 1), Sentence(2, "body", "the road, the rail", 16, 1, 3)]
    columns.add(PAGE, page_sentences, LINKS)
    columns.add(OTHER, [], LINKS)
    columns.add(OTHER, [Sentence(0, "list", "no link", 0, 0, 0)], Links())
    assert len(columns) == 3
    batch = columns.take()
    assert batch.schema.equals(sentences.SCHEMA)
    rows = batch.to_pylist()
    assert [(row["page_id"], row["title"], row["sentence_index"], row["region"]) for row in rows] == [
        (7, "Bus", 0, "lead"),
        (7, "Bus", 2, "body"),
        (8, "Tram", 0, "list"),
    ]
    assert rows[1]["links"] == [
        {"start": 4, "end": 8, "target": "Road", "fragment": "Width"},
        {"start": 15, "end": 20, "target": "Rail", "fragment": ""},
    ]
    assert rows[2]["links"] == []


def test_taking_begins_anew() -> None:
    columns = SentenceColumns("enwiki")
    columns.add(PAGE, [Sentence(0, "lead", "a car", 0, 0, 1)], LINKS)
    columns.take()
    assert len(columns) == 0
    assert columns.take().num_rows == 0


def test_a_title_is_an_article_with_links_or_a_redirect_with_a_target() -> None:
    columns = TitleColumns("enwiki")
    columns.add_article(PAGE, ["list"], ["Car", "Road"])
    columns.add_redirect(OTHER, "Bus", "History")
    assert (len(columns), columns.list_values) == (2, 2)
    batch = columns.take()
    assert batch.schema.equals(titles.SCHEMA)
    article, redirect = batch.to_pylist()
    assert (article["redirect"], article["flags"], article["links"]) == (None, ["list"], ["Car", "Road"])
    assert (redirect["redirect"], redirect["redirect_fragment"], redirect["links"]) == ("Bus", "History", [])
