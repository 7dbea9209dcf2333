"""`wikianchor extract` as its user runs it: pages in, text and links and sentences out, or what is wrong."""

import gzip
import io
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dumps import export, multistream, page
from tests.wikimedia.wikitext.test_hostile import MARKUP
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.commands.extract.command import PageExtractor
from wikianchor.pipelines.commands.extract.options import ExtractOptions
from wikianchor.pipelines.text.page_text import TextReader
from wikianchor.pipelines.text.prose import page_sentences
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.wikimedia.pages import Page
from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.wikitext import Extractor

TEXT = """{{Infobox}}
A '''bus''' is a [[motor car|vehicle]] of {{x y|5}} seats.{{foot}} It carries [[passenger]]s to [[work#Place|work]].
{|
| [[cell]]
|}
== History ==
* The first [[omnibus]] ran in [[:Category:Paris|Paris]] in the year 1662.
* [[Name]]
 typed as it is
"""
PAGES = [
    page("Bus", 1, TEXT),
    page("Omnibus", 2, redirect="Bus"),
    page("AT&T", 3, "A [[company]] that is known for its telephones."),
    page("Bank", 4, "A [[bank]] may be one of many things.\n{{disambiguation}}"),
]


def run(*arguments: object, given: object = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the command in this process with lines, bytes or else values of JSON, on its standard input. The page
    docs/how-to/add-a-language.md has a real one."""
    data = given if isinstance(given, bytes) else "\n".join(map(json.dumps, given)).encode()  # type: ignore[call-overload]
    files = {name: io.BytesIO(data if name == "stdin" else b"") for name in ("stdin", "stdout", "stderr")}
    streams = {name: io.TextIOWrapper(file, "utf-8", write_through=True) for name, file in files.items()}
    command = ["extract", *map(str, arguments)]
    with mock.patch.multiple(sys, **streams):
        try:
            status = main(command)
        except SystemExit as ended:
            status = int(ended.code or 0)
    return subprocess.CompletedProcess(command, status, files["stdout"].getvalue(), files["stderr"].getvalue())


def read(*arguments: object, given: object) -> list[dict[str, Any]]:
    ended = run(*arguments, given=given)
    assert (ended.returncode, ended.stderr) == (0, b"")
    return [json.loads(line) for line in ended.stdout.splitlines()]


def fails(*arguments: object, given: object = b"", status: int) -> str:
    """Run the command, which has one line to say, and return that."""
    ended = run(*arguments, given=given)
    assert ended.returncode == status
    (said,) = ended.stderr.decode().splitlines()
    return said


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("extract") / "enwiki-pages-articles.xml.bz2"
    path.write_bytes(multistream(PAGES))
    return path


# --- lines in, lines out ----------------------------------------------------------------------------------------------


def test_each_page_is_a_line_with_its_blocks_and_links() -> None:
    first, second = read(
        "--wikis=en",
        given=[{"title": "Bus", "text": TEXT}, {"title": "Zug", "text": "[[bus]]es, [[User:X]], [[Zug]]", "id": 7}],
    )
    assert first == {
        "title": "Bus",
        "blocks": [
            "A bus is a vehicle of \ufffc seats.\ufffc It carries passengers to work.",
            "History",
            "The first omnibus ran in Paris in the year 1662.",
            "Name",
            "typed as it is",
        ],
        "links": [
            ["vehicle", "Motor car"],
            ["passengers", "Passenger"],
            ["work", "Work"],
            ["omnibus", "Omnibus"],
            ["Paris", "Category:Paris"],
            ["Name", "Name"],
        ],
    }
    assert second == {
        "title": "Zug",
        "blocks": ["buses, User:X, Zug"],
        "links": [["buses", "Bus"], ["User:X", "User:X"]],
    }


def test_blank_templates_leave_nothing() -> None:
    (line,) = read("--wikis=en", "--blank_templates", given=[{"title": "T", "text": "a {{nowrap|b}} {{x}} (c{{y}})"}])
    assert line["blocks"] == ["a (c)"]


def test_the_language_decides_what_markup_means() -> None:
    given = [{"title": "Т", "text": "у [[Київ|Києв]]і та [[Файл:А.jpg|thumb|б]]"}]
    (line,) = read("--wikis=uk", given=given)
    assert (line["blocks"], line["links"]) == (["у Києві та"], [["Києві", "Київ"]])


def test_blank_lines_and_a_byte_order_mark_are_passed_over() -> None:
    lines = read(
        "--wikis=en", given=b'\xef\xbb\xbf{"title": "A", "text": "a"}\n\n  \n{"title": "B", "text": "\\u0001b"}'
    )
    assert [(line["title"], line["blocks"]) for line in lines] == [("A", ["a"]), ("B", ["b"])]


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress])
@pytest.mark.parametrize("form", [1, 2])
def test_siteinfo_tells_the_namespaces(pack: Any, form: int, tmp_path: Path) -> None:
    name, alias = ("*", "*") if form == 1 else ("name", "alias")
    query = {
        "general": {"wikiid": "enwiki"},
        "namespaces": {"0": {"id": 0, name: ""}, "100": {"id": 100, name: "Portal"}, "6": {"id": 6, name: "Picture"}},
        "namespacealiases": [{"id": 6, alias: "Pic"}],
    }
    path = tmp_path / "siteinfo.json"
    path.write_bytes(pack(json.dumps({"query": query}).encode()))
    text = "a [[Pic:x.jpg|b]][[File:x.jpg]] [[portal:c d]]"
    for flags in ((), ("--wikis=en",)):
        (line,) = read(f"--siteinfo={path}", *flags, given=[{"title": "T", "text": text}])
        assert (line["blocks"], line["links"]) == (["a portal:c d"], [["portal:c d", "Portal:C d"]])


def test_a_dump_tells_the_wiki(dump: Path) -> None:
    (line,) = read(f"--dumps={dump}", given=[{"title": "T", "text": "a [[File:x.jpg]] [[bus]]es"}])
    assert line["links"] == [["buses", "Bus"]]


# --- sentences --------------------------------------------------------------------------------------------------------


def test_sentences_come_with_their_place_and_links_and_why_they_are_dropped() -> None:
    (line,) = read("--wikis=en", "--sentences", given=[{"title": "Bus", "text": TEXT}])
    sentences = line["sentences"]
    assert [(sentence["region"], sentence["dropped"], sentence["text"]) for sentence in sentences] == [
        ("lead", "template", "A bus is a vehicle of \ufffc seats."),
        ("lead", None, "It carries passengers to work."),
        ("heading", "heading", "History"),
        ("list", None, "The first omnibus ran in Paris in the year 1662."),
        ("list", "fragment:short", "Name"),
        ("preformatted", "preformatted", "typed as it is"),
    ]
    for sentence in sentences:
        assert line["blocks"][sentence["block"]][sentence["start"] : sentence["end"]] == sentence["text"]
    assert [
        [
            (sentence["text"][link["start"] : link["end"]], link["target"], link["fragment"])
            for link in sentence["links"]
        ]
        for sentence in sentences
    ] == [
        [("vehicle", "Motor car", "")],
        [("passengers", "Passenger", ""), ("work", "Work", "Place")],
        [],
        [("omnibus", "Omnibus", "")],
        [("Name", "Name", "")],
        [],
    ]


def test_a_disambiguation_page_has_no_sentences_to_learn_from() -> None:
    text = "A [[bank]] may be one of many things.\n{{disambiguation}}"
    (line,) = read("--wikis=en", "--sentences", given=[{"title": "Bank", "text": text}])
    assert [sentence["dropped"] for sentence in line["sentences"]] == ["disambiguation_page"]


READER = PageExtractor(ExtractOptions(wiki="en", sentences=True), TextReader(site_for("enwiki")))


@settings(max_examples=200)
@given(st.lists(st.sampled_from([*MARKUP, "A b c d e f g. ", "\u3000", "{{x}}", ". "]), max_size=60).map("".join))
def test_shown_sentences_are_those_of_the_pipeline(text: str) -> None:
    line = READER.shown("T", text)
    for sentence in line["sentences"]:
        assert (
            line["blocks"][sentence["block"]][sentence["start"] : sentence["end"]]
            == " ".join(sentence["text"].split())
            != ""
        )
        for link in sentence["links"]:
            assert 0 <= link["end"] <= len(sentence["text"])
    extract = Extractor(site_for("enwiki")).extract(text, "T")
    kept = page_sentences(extract, make_splitter("rules", "en"), "en", Counter())
    assert [sentence["text"] for sentence in line["sentences"] if sentence["dropped"] is None] == [
        sentence.text for sentence in kept
    ]
    # Nor does any page fail to be shown on a terminal.
    list(READER.readable(Page("T", 0, 1, 1, "", None, "wikitext", text)))


# --- one page of a dump -----------------------------------------------------------------------------------------------


def shown(*arguments: object) -> list[str]:
    ended = run(*arguments)
    assert (ended.returncode, ended.stderr) == (0, b"")
    return ended.stdout.decode().splitlines()


def test_a_page_of_a_dump_is_shown_to_be_read(dump: Path) -> None:
    assert shown(f"--dumps={dump}", "--title=bus") == [
        "Bus",
        "===",
        "",
        "A bus is a [vehicle -> Motor car] of {x y} seats.{foot} It carries [passengers -> Passenger] to "
        "[work -> Work#Place].",
        "",
        "== History ==",
        "  * The first [omnibus] ran in [Paris -> Category:Paris] in the year 1662.",
        "  * [Name]",
        "    typed as it is",
    ]


def test_a_page_is_shown_sentence_by_sentence(dump: Path) -> None:
    lines = shown(f"--dumps={dump}", "--title=Bus", "--sentences")
    assert lines[2:4] == [
        "template               A bus is a [vehicle -> Motor car] of {x y} seats.",
        "kept                   It carries [passengers -> Passenger] to [work -> Work#Place].",
    ]
    assert lines[-1] == "2 sentences kept, 4 dropped"
    assert shown(f"--dumps={dump}", "--title=Bank", "--sentences")[-1] == "0 sentences kept, 1 dropped"


def test_a_title_is_read_as_in_a_link(dump: Path) -> None:
    for title in ("AT&T", "aT&amp;T", "_AT&T#History"):
        assert shown(f"--dumps={dump}", f"--title={title}")[0] == "AT&T"
    assert shown(f"--dumps={dump}", "--title=Omnibus")[2] == "a redirect to Bus"


def test_a_page_cannot_command_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_bytes(export([page("Bus", 1, "a \x9b31m b [[c\x85d|\x9be]]")]))
    for flags in ((), ("--sentences",)):
        assert not set("".join(shown(f"--dumps={path}", "--title=Bus", *flags))) & {
            chr(code) for code in range(128, 160)
        }


# --- what is wrong ----------------------------------------------------------------------------------------------------

LINE = {"title": "A", "text": "a"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b'{"title": "A", "text": "a"}\nnonsense', "line 2: no page (JSON is malformed"),
        (b'{"title": "A", "text": "\xff"}', "line 1: no page ('utf-8' codec can't decode"),
        (b'{"title": "A", "text": "\\ud800"}', "line 1: no page (Input data was truncated"),
        ([LINE, ["A", "a"]], "line 2: no page (Expected `object`, got `array`"),
        ([{"text": "a"}], "line 1: no page (Object missing required field `title`"),
        ([{"title": "A"}], "line 1: no page (Object missing required field `text`"),
        ([{"title": "A", "text": None}], "line 1: no page (Expected `str`, got `null` - at `$.text`"),
        ([{"title": 5, "text": "a"}], "line 1: no page (Expected `str`, got `int` - at `$.title`"),
    ],
)
def test_a_line_that_is_no_page(given: object, words: str) -> None:
    said = fails("--wikis=en", given=given, status=1)
    assert f"standard input, {words}" in said
    assert '{"title": "...", "text": "..."}' in said


def test_siteinfo_without_a_language(tmp_path: Path) -> None:
    path = tmp_path / "siteinfo.json"
    path.write_text('{"query": {"namespaces": {}}}')
    assert "say it with --wikis=uk" in fails(f"--siteinfo={path}", status=2)


def test_a_page_that_is_not_in_the_dump(dump: Path) -> None:
    assert "no page has the title Tram" in fails(f"--dumps={dump}", "--title=tram", status=1)


def test_a_dump_that_is_cut_off_before_the_page(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_bytes(export(PAGES)[:-200])
    assert "cut off inside the page 'Bank'" in fails(f"--dumps={path}", "--title=Tram", status=1)
    assert shown(f"--dumps={path}", "--title=Bus")[0] == "Bus"


def test_a_reader_that_has_had_enough(tmp_path: Path) -> None:
    path = tmp_path / "pages.ndjson"
    path.write_text((json.dumps({"title": "A", "text": "word " * 200}) + "\n") * 2000)
    command = [sys.executable, "-m", "wikianchor", "extract", "--wikis=en"]
    with (
        path.open("rb") as given,
        subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_help_explains_the_command() -> None:
    ended = run("--help")
    assert ended.returncode == 0
    said = ended.stdout.decode()
    for words in ('{"title"', '"blocks"', '"sentences"', "--siteinfo", "--title", "--blank_templates", "examples:"):
        assert words in said
    assert "Beam" not in said


def test_an_empty_standard_input_is_told() -> None:
    assert fails("--wikis=enwiki", status=0).endswith("standard input is empty: no page was read; see --title")
