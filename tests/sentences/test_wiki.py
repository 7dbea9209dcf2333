"""`open_wiki`, and all that reads through it: the rows of a wiki are the same from every entry point."""

from __future__ import annotations

import doctest
import json
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to

import wikianchor
from tests.dumps import export, multistream, page
from wikianchor.beam import ExtractSentences, ReadPages, ReadSentences
from wikianchor.io.errors import InputError, Truncated, UsageError
from wikianchor.pipelines.arrays.tables import map_tables
from wikianchor.pipelines.commands.report.dropped import dropped_sentences
from wikianchor.pipelines.dataset.reader import find_datasets
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.mewsc16.steps import NewsReader, NewsWiki, list_ranges, read_categories
from wikianchor.pipelines.mewsc16.template_pages import save_stores
from wikianchor.pipelines.sentences import wiki
from wikianchor.pipelines.sentences.options import SentencesOptions
from wikianchor.pipelines.sentences.wiki import Wiki, open_wiki
from wikianchor.pipelines.templates import cache as template_cache
from wikianchor.pipelines.templates.cache import table_key
from wikianchor.pipelines.wikimedia.choices import OFF
from wikianchor.pipelines.wikimedia.core import installed_core
from wikianchor.pipelines.wikimedia.pages import Page, page_element, parse_page
from wikianchor.pipelines.wikimedia.wikitext.served import facts_of

Run = Callable[..., Any]
needs_core = pytest.mark.skipif(installed_core() is None, reason="NO COMPILED CORE: make core")
TEMPLATES = {
    "Place": "[[{{{1}}}]]{{mark}}",
    "Mark": " (a town)",
    "Twice": "{{place|{{{1}}}}} and {{place|{{{2|Lviv}}}}}",
    "Size": "{{#invoke:Size|main}}",
    "Box": '{| class="box"\n| [[cell]]\n|}',
    "Info": "{{Box}}",
    "Says": "It was said in [[{{{1|Rome}}}|the town]] that all was well.",
    "May mean": "may mean:<includeonly>__DISAMBIG__</includeonly>",
    "Sum": "{{#expr: {{{1}}} + 2}}",
    # The built-in rules show a template of this name in another way.
    "Nowrap": "<b>{{{1}}}</b> of [[Old Town]]",
}
PIECES = (
    *("The town of {{place|Kyiv}} is {{size}} and lies far away. ", "It has {{city|Lviv}} as its neighbour. "),
    *("{{says|Paris}} ", "{{twice|A|B}} are two of the [[town]]s there. ", "{{nowrap|The part}} is what we know. "),
    *(
        "{{unknown|x}} is not known to any reader here. ",
        "{{info}}\n",
        "\n== Part ==\n",
        "\n* An item of {{place|X}}, ",
    ),
    *("\n* [[Name]]\n", "'''Bold''' words about [[a thing|things]] are here.<ref>A [[note]].</ref> ", "\n\n"),
    *("\n{|\n| [[Cell]] of a table\n|}\n", "[[File:a.jpg|thumb|A [[caption]] here]]\n", "The sum of it is {{sum|2}}. "),
    *("\n== References ==\n", "A sentence of plain words stands in this place. ", "[[", "{{", "}}", "]]", "''", "|"),
)
EXCLUDED = ("Article 7", "Left out")


def write_dump(directory: Path, seed: int = 1, pages: int = 150) -> str:
    """Write a wiki whose articles are made of pieces by chance, with its templates and with pages of other kinds."""
    chance = Random(seed)
    texts = ["".join(chance.choices(PIECES, k=chance.randrange(1, 25))) for _ in range(pages)]
    elements = [page(f"Article {number}", number, text) for number, text in enumerate(texts, 1)]
    model = page("Data", 1003, '{"a": "[[b]]"}').replace(b"<model>wikitext<", b"<model>json<")
    elements += [
        page("Mercury", 1001, "'''Mercury''' {{may mean}}\n* A [[planet]] that is near to the sun.\n"),
        page("List of towns", 1002, "A list of the towns is here. It has {{place|Kyiv}} in it."),
        model,
        page("Goes", 1004, redirect="Article 3"),
        page("Goes away", 1005, redirect="Left out"),
        page("Left out", 1006, "This page is left out of the rows. It has a [[link]] too."),
        page("Talk:Mercury", 1007, "This talk is of no interest to us. It has a [[link]] too.", namespace=1),
        *(page(f"Template:{title}", 2000 + number, text, 10) for number, (title, text) in enumerate(TEMPLATES.items())),
        page("Template:City", 2100, redirect="Template:Place", namespace=10),
    ]
    path = directory / "enwiki-20260201-pages-articles.xml.bz2"
    path.write_bytes(multistream(elements, per_stream=20))
    return str(path)


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_dump(tmp_path_factory.mktemp("wiki"))


@pytest.fixture
def excluded(tmp_path: Path) -> str:
    path = tmp_path / "takedowns.txt"
    path.write_text("".join(f"enwiki\t{title}\n" for title in EXCLUDED))
    return str(path)


def rows_of_dataset(directory: Path) -> dict[str, list[dict[str, Any]]]:
    dataset = wikianchor.open_dataset(str(directory))
    return {config: dataset.to_arrow(config).to_pylist() for config in dataset.configs if config != "templates"}


def rows_of_wiki(wiki: Wiki) -> dict[str, list[dict[str, Any]]]:
    return {config: list(wiki.rows(config)) for config in ("sentences", "fragments", "titles", "ledger")}


def plain(row: Any) -> dict[str, Any]:
    """Return a row of a Beam transform as that of the dataset."""
    return {**row._asdict(), "links": [link._asdict() for link in row.links]}


def check_rows(transform: Any, expected: list[dict[str, Any]]) -> None:
    with beam.Pipeline("FnApiRunner") as pipeline:
        assert_that(pipeline | transform | beam.Map(plain), equal_to(expected))


@pytest.mark.parametrize("engine", ["python", pytest.param("core", marks=needs_core)])
def test_every_entry_point_gives_the_rows_of_the_command(
    engine: str, dump: str, tmp_path: Path, wikianchor: Run, excluded: str
) -> None:
    output, flags = tmp_path / "out", (f"--engine={engine}", f"--exclude_pages={excluded}")
    assert wikianchor("sentences", f"--dumps={dump}", f"--output={output}", *flags).status == 0
    expected = rows_of_dataset(output)
    assert {row["title"] for row in expected["titles"]}.isdisjoint(EXCLUDED)
    assert any("[a town]" in str(row) or "(a town)" in row["text"] for row in expected["sentences"])
    # The Python API, over the dump and page by page.
    wiki = open_wiki(dump, engine=engine, exclude_pages=excluded)
    assert rows_of_wiki(wiki) == expected
    by_page = [wiki.read(each) for each in wiki.pages()]
    assert [rows.title for rows in by_page] == expected["titles"]
    assert [row for rows in by_page for row in rows.sentences] == expected["sentences"]
    assert [row for rows in by_page for row in rows.fragments] == expected["fragments"]
    # Beam, over the dump and page by page.
    for config in ("sentences", "fragments"):
        check_rows(ReadSentences(dump, config, engine=engine, exclude_pages=excluded), expected[config])
    with beam.Pipeline("FnApiRunner") as pipeline:
        pages = pipeline | ReadPages(dump) | beam.Filter(lambda row: row.title not in EXCLUDED)
        assert_that(pages | ExtractSentences(dumps=dump) | beam.Map(plain), equal_to(expected["sentences"]))


def test_reasons_are_those_of_the_ledger(dump: str) -> None:
    """For each page, what `judge` says of its sentences adds up to what the dataset keeps and its ledger counts."""
    wiki = open_wiki(dump)
    reasons: Counter[str] = Counter()
    for each in wiki.pages():
        if each.redirect is not None:
            continue
        rows = wiki.read(each)
        judged = wiki.judge(each.text, title=each.title)
        kept = [
            (sentence.sentence_index, sentence.region, sentence.text) for sentence in judged if sentence.dropped is None
        ]
        assert kept == [(row["sentence_index"], row["region"], row["text"]) for row in rows.sentences]
        links = [
            [(link.start, link.end, link.target) for link in sentence.links]
            for sentence in judged
            if sentence.dropped is None
        ]
        assert links == [
            [(link["start"], link["end"], link["target"]) for link in row["links"]] for row in rows.sentences
        ]
        dropped = Counter(
            sentence.dropped for sentence in judged if sentence.dropped not in (None, "heading", "disambiguation_page")
        )
        counted = {name.partition(":")[2]: number for name, number in rows.counts.items() if name[:10] == "sentences:"}
        assert dropped == +Counter(counted) - Counter(kept=len(kept))
        reasons.update(sentence.dropped for sentence in judged)
    assert reasons["template"] > 0
    assert reasons["disambiguation_page"] > 0


def test_extract_shows_what_the_dataset_keeps(dump: str, wikianchor: Run) -> None:
    wiki = open_wiki(dump)
    for title in ("Article 1", "Article 2", "Mercury", "List of towns"):
        rows = wiki.read(wiki.page(title)).sentences
        shown = wikianchor("extract", f"--dumps={dump}", f"--title={title}", "--sentences").output.splitlines()
        kept = [line for line in shown if line.startswith("kept ")]
        assert shown[-1].startswith(f"{len(rows)} sentences kept")
        assert len(kept) == len(rows)
    shown = wikianchor("extract", f"--dumps={dump}", "--title=List of towns", "--sentences").output.splitlines()
    assert shown[3].split(None, 1) == ["kept", "It has [Kyiv] (a town) in it."]
    without = ("--sentences", "--templates=builtin")
    shown = wikianchor("extract", f"--dumps={dump}", "--title=List of towns", *without).output.splitlines()
    assert shown[3].split(None, 1) == ["template", "It has {place} in it."]
    shown = wikianchor("extract", f"--dumps={dump}", "--title=Talk:Mercury", "--sentences").output.splitlines()
    assert shown[2] == "no article: `wikianchor sentences` leaves it out"


def test_lines_of_pages_show_the_templates_of_the_dump(dump: str, capfdbinary: Any, monkeypatch: Any) -> None:
    import io
    import sys

    from wikianchor.pipelines.cli.command_line import main

    line = json.dumps({"title": "A", "text": "It has {{city|Lviv}} as its neighbour."})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line.encode())))
    assert main(["extract", f"--dumps={dump}", "--sentences"]) == 0
    shown = json.loads(capfdbinary.readouterr().out)
    assert [(sentence["text"], sentence["dropped"]) for sentence in shown["sentences"]] == [
        ("It has Lviv (a town) as its neighbour.", None)
    ]


def test_examples_of_a_report_are_what_its_ledger_counts(dump: str, tmp_path: Path, wikianchor: Run) -> None:
    assert wikianchor("sentences", f"--dumps={dump}", f"--output={tmp_path}/out").status == 0
    (dataset,) = find_datasets(f"{tmp_path}/out")
    kept = {row["text"] for row in rows_of_dataset(tmp_path / "out")["sentences"]}
    examples = dropped_sentences(dataset, dump)
    counted = dataset.manifest["ledger"]["enwiki"]["sentences"]
    # Some texts without letters are empty, and cannot be shown.
    blank = {"kept", "fragment:no_letters"}
    assert {reason for reason, *_ in examples} - blank == {reason for reason in counted if counted[reason]} - blank
    assert not [text for *_, text in examples if text in kept]


def test_a_table_is_made_once_and_found_by_the_files(
    dump: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = str(tmp_path / "cache")
    first = open_wiki(dump, cache=cache)
    monkeypatch.setattr(template_cache, "save_store", None)
    again = open_wiki(dump, cache=cache)
    assert first.templates == again.templates
    assert sorted(path.name for path in Path(cache).iterdir()) == [table_key([dump], first.site, facts_of([dump], OFF))]
    monkeypatch.undo()
    changed = write_dump(tmp_path, seed=2, pages=5)
    assert table_key([changed], first.site) != table_key([dump], first.site)
    with monkeypatch.context() as patched:
        patched.setattr(template_cache, "digest_of", lambda names: "another rule")
        assert open_wiki(dump, cache=cache).templates != first.templates


def test_beam_reads_templates_once_and_workers_get_the_name_of_the_table(dump: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    transform = ReadSentences(dump, cache=str(cache))
    assert len(pickle.dumps(transform._source.wiki)) < 100_000
    expected = list(open_wiki(dump).sentences())
    check_rows(transform, expected)
    # Neither shards nor an unfinished table are left.
    (table,) = cache.iterdir()
    written = {path.name: path.stat().st_mtime_ns for path in table.iterdir()}
    check_rows(ReadSentences(dump, cache=str(cache)), expected)
    assert {path.name: path.stat().st_mtime_ns for path in table.iterdir()} == written


def test_a_worker_that_does_not_reach_the_cache_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give a cache that all workers reach"):
        template_cache.find_table("templates-1", str(tmp_path))


def test_templates_of_a_finished_dataset(dump: str, tmp_path: Path, wikianchor: Run) -> None:
    assert wikianchor("templates", f"--dumps={dump}", f"--output={tmp_path}/out").status == 0
    expected = list(open_wiki(dump).sentences())
    assert list(open_wiki(dump, templates=f"{tmp_path}/out").sentences()) == expected
    check_rows(ReadSentences(dump, templates=f"{tmp_path}/out"), expected)
    with pytest.raises(InputError, match="no finished dataset with templates"):
        open_wiki(dump, templates=f"{tmp_path}/nothing")


def test_without_a_dump_the_rules_by_name_are_taken(dump: str) -> None:
    builtin = open_wiki(dump, templates="builtin")
    pages = [each for each in builtin.pages() if each.redirect is None]
    for each in pages:
        ours = wikianchor.sentences(each.text, language="en", title=each.title)
        assert [(sentence.sentence_index, sentence.text) for sentence in ours] == [
            (row["sentence_index"], row["text"]) for row in builtin.read(each).sentences
        ]
    rows = [row for each in pages for row in builtin.read(each).sentences]
    with beam.Pipeline("FnApiRunner") as pipeline:
        sentences = pipeline | ReadPages(dump) | ExtractSentences("en") | beam.Map(plain)
        assert_that(sentences, equal_to(rows))
    assert rows != list(open_wiki(dump).sentences())


def test_defaults_are_those_of_the_command() -> None:
    defaults = open_wiki.__kwdefaults__
    options = SentencesOptions(dumps=(), output="")
    for name in ("wiki", "templates", "splitter", "parser", "fragments", "engine", "allow_truncated", "exclude_pages"):
        assert defaults[name] == getattr(options, name), name


def test_dumps_are_a_path_a_glob_or_a_list(tmp_path: Path) -> None:
    parts = []
    for first in (20, 3):
        parts.append(tmp_path / f"enwiki-20260201-pages-articles{first}.xml-p{first}p{first + 9}.bz2")
        text = f"The sentence of page {first} is here for all."
        parts[-1].write_bytes(multistream([page(f"Page {first}", first, text)]))
    for given in (f"{tmp_path}/*.bz2", parts, [f"{parts[0]},{parts[1]}"]):
        assert [row["page_id"] for row in open_wiki(given).sentences()] == [3, 20]
    assert [row["page_id"] for row in open_wiki(parts[0]).sentences()] == [20]
    with pytest.raises(UsageError, match="name the dumps"):
        open_wiki([])
    with pytest.raises(UsageError, match="splitter='x': choose of"):
        open_wiki(parts, splitter="x")


def test_a_dump_that_is_cut_off(tmp_path: Path) -> None:
    whole = [page(f"Page {number}", number, "The sentence of this page is here for all.") for number in (1, 2)]
    path = tmp_path / "enwiki-pages-articles.xml"
    data = export(whole)
    for cut, read in ((len(data) - 30, 1), (len(data) - len("</mediawiki>\n"), 2)):
        path.write_bytes(data[:cut])
        with pytest.raises(Truncated, match=r"cut off.*fetch it again, or take what is there with allow_truncated"):
            list(open_wiki(path).sentences())
        assert len(list(open_wiki(path, allow_truncated=True).sentences())) == read


def test_a_broken_page_is_named(tmp_path: Path) -> None:
    path = tmp_path / "enwiki-pages-articles.xml"
    path.write_bytes(export([page("A", 1, "A sentence."), b"<page><title>B</title><ns>0</ns></page>\n"]))
    with pytest.raises(InputError, match=r"near byte \d+: a page without a title or a numeric id"):
        list(open_wiki(path).sentences())


def test_loops_do_not_disturb_each_other(dump: str) -> None:
    wiki = open_wiki(dump)
    expected = list(wiki.sentences())
    sentence, other = wiki.sentences(), wiki.sentences()
    assert [row for pair in zip(sentence, other, strict=True) for row in pair[:1] if pair[0] == pair[1]] == expected
    rows = []
    for row, each in zip(wiki.sentences(), wiki.pages(), strict=False):
        rows.append(row)
        wiki.read(each)
    assert rows == expected[: len(rows)]


def test_mewsc16_shows_templates_as_sentences_does(dump: str, tmp_path: Path) -> None:
    opened = open_wiki(dump)
    news = NewsWiki(opened.site, (dump,), {})
    reader = NewsReader({}, "direct", None, 1, False, True)
    work = Workspace(str(tmp_path), str(tmp_path), "")
    readings = [read_categories(task, reader, work) for task in list_ranges([news])]
    shown, _ = save_stores(
        (reading.templates for reading in readings), work, opened.site.language, facts_of([dump], OFF)
    )
    assert opened.templates is not None
    ours, theirs = map_tables(shown), map_tables(opened.templates)
    for name in ("keys", "spans", "bodies"):
        assert ours[name].tolist() == theirs[name].tolist(), name


def test_the_example_runs() -> None:
    assert doctest.testmod(wiki).failed == 0


def test_an_element_of_a_page_is_read_as_the_page() -> None:
    for each in (
        Page('A & <B> "C"', 0, 1, 2, "2026-01-01T00:00:00Z", None, "wikitext", 'a &amp; <b> & &lt; "c"\n[[d]]\t'),
        Page("Talk:A", None, 1, 0, "", "", "json", ""),
        Page("A", -1, 1, 2, "", "B#c", "wikitext", "é 🌋"),
    ):
        assert parse_page(page_element(each), "here") == each
    odd = Page("A", 0, 1, 2, "", None, "wikitext", "a\x00b\r\ud83d")
    assert parse_page(page_element(odd), "here").text == "ab?"
