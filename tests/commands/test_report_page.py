"""The report as a page: its figures are those of the dataset, nothing in it runs or is fetched, a browser shows it."""

import bz2
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Browser, chromium
from tests.dumps import export, item, json_dump
from tests.dumps import page as wiki_page
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.commands.report.model import (
    Counts,
    Grid,
    GridRow,
    Item,
    PairExample,
    Product,
    Step,
    short,
)
from wikianchor.pipelines.commands.report.page import Section, render
from wikianchor.pipelines.dataset.manifest import read_manifest

DEMO = Path(__file__).parents[2] / "demo" / "dumps"
EVIL = '<script>alert("title")</script>'
BREAK = '"></svg></style><img src=x onerror=alert(1)>'
# What an attribute may hold: links lead to a revision or an item alone.
ALLOWED = re.compile(
    r"width:[\d.]+%"
    r"|https://www\.wikidata\.org/wiki/Q\d+"
    r"|https://[a-z-]+\.wikipedia\.org/w/index\.php\?oldid=\d+"
)
# As many wikis as EASE has languages.
CODES = ("ar", "ca", "cs", "de", "en", "eo", "es", "fa", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "tr")
EIGHTEEN = [f"{code}wiki" for code in (*CODES, "zh_min_nan")]


class Seen(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.values: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.values += [value or "" for name, value in attrs if name in ("href", "src", "style")]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, demo_build: Path) -> Path:
    output = Path(shutil.copytree(demo_build, tmp_path_factory.mktemp("demo") / "out"))
    assert main(["report", str(output), f"--html={output}/report.html", f"--dumps={DEMO}"]) == 0
    return output


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of a wiki whose every name is an attack."""
    folder = tmp_path_factory.mktemp("hostile")
    shown = f"{EVIL}{BREAK}".replace("<", "&lt;")
    titles = ["One", "Two", "Three", "Four"]
    pages = [wiki_page(title, number, "") for number, title in enumerate(titles, 1)]
    for number, title in enumerate(titles, 10):
        text = f"Here is a [[{title}|thing]] in a sentence that is long enough to be kept by everybody."
        lost = f"It also says {shown} for all to see, and is dropped for that."
        # MediaWiki forbids < in titles; a dump may have it all the same.
        pages.append(wiki_page(f"{EVIL} {title}", number, f"{text}\n\n{lost}"))
    items = [
        item(number, {"enwiki": title}, [99], {"en": f"{BREAK} {title}"}) for number, title in enumerate(titles, 1)
    ]
    dumps = folder / "dumps"
    dumps.mkdir()
    (dumps / "enwiki-20260101-pages-articles.xml.bz2").write_bytes(bz2.compress(export(pages)))
    (dumps / "wikidata-20260101-all.json").write_bytes(
        json_dump([*items, item(99, {"enwiki": EVIL}, [1], {"en": EVIL})])
    )
    build = ["build", f"--dumps={dumps}", f"--output={folder}/out", "--min_links=0"]
    assert main(build) == 0
    assert main(["report", f"{folder}/out", f"--html={folder}/out/report.html", f"--dumps={dumps}"]) == 0
    return folder / "out"


def test_the_figures_are_those_of_the_datasets(demo: Path) -> None:
    seen = Seen((demo / "report.html").read_text("utf-8"))
    manifest = read_manifest(str(demo / "pairs"))
    assert manifest is not None
    assert f"{manifest['configs']['pairs']['rows']:,}" in seen.text
    for wiki, buckets in manifest["ledger"]["links"].items():
        assert f"Links of {wiki}" in seen.text
        assert f"of {buckets['seen']:,}" in seen.text
        for name, number in buckets.items():
            assert not number or name == "seen" or f"{name}{number:,}" in seen.text
    for words in (
        "Length of sentences",
        "Pools of hard negatives",
        "Links to an entity",
        "planet (Q634)",
        "What became of the links",
        "From pages to pairs",
        "How frequent the entities are",
        "Which types the entities have",
        "Files, inputs and options",
    ):
        assert words in seen.text
    assert "mark" in seen.tags
    assert json.dumps(manifest["options"]["seed"]) in seen.text


@pytest.mark.parametrize("build", ["demo", "hostile"])
def test_nothing_runs_and_nothing_is_fetched(build: str, request: pytest.FixtureRequest) -> None:
    text = (request.getfixturevalue(build) / "report.html").read_text("utf-8")
    seen = Seen(text)
    assert not seen.tags & {"script", "img", "link", "iframe", "object", "embed", "form", "base"}
    assert not [name for name in seen.attributes if name.startswith("on")]
    assert all(ALLOWED.fullmatch(value) for value in seen.values)
    assert text.count("<style>") == text.count("</style>") == 1
    assert "default-src 'none'" in text


def test_attacks_are_shown_as_they_are(hostile: Path) -> None:
    seen = Seen((hostile / "report.html").read_text("utf-8"))
    assert EVIL in seen.text
    assert BREAK in seen.text


def test_text_and_attributes_are_escaped() -> None:
    evil = Item(1, EVIL)
    counts = Counts(EVIL, BREAK, [("\x00\ud800" + BREAK, 1, EVIL), (evil, 1, BREAK)], 2)
    row = {"qid": 1, "rev_id": 2, "wiki": BREAK, "permalink": f"javascript:{EVIL}", EVIL: BREAK}
    section = Section(
        title=EVIL,
        extent=EVIL,
        wiki=BREAK,
        blocks=[BREAK, counts, EVIL, counts],
        samples={EVIL: [row]},
        dropped=[(EVIL, BREAK, 1, EVIL)],
        ledger=EVIL,
        provenance=[(EVIL, BREAK)],
    )
    grid = Grid(EVIL, BREAK, [EVIL], [evil, BREAK], 1, [GridRow(EVIL, [1], [1, 0], 1)])
    pair = PairExample(EVIL, BREAK, EVIL, evil, [evil], evil, BREAK, EVIL, BREAK, 1)
    product = Product(EVIL, BREAK, [(EVIL, BREAK)], grid, {EVIL: [Step(BREAK, 1, [(EVIL, 1)])]}, [pair], [grid])
    text = render(EVIL, [product], [section])
    assert b"<script" not in text
    assert b"\xef\xbf\xbd\xef\xbf\xbd&#34;&gt;" in text
    seen = Seen(text.decode())
    assert not seen.tags & {"script", "img"}
    assert "onerror" not in seen.attributes
    assert all(ALLOWED.fullmatch(value) for value in seen.values)
    assert seen.text.count(EVIL) >= 20


def test_the_same_data_give_the_same_page(demo: Path, tmp_path: Path) -> None:
    assert main(["report", str(demo), f"--html={tmp_path}/again.html", f"--dumps={DEMO}"]) == 0
    assert (tmp_path / "again.html").read_bytes() == (demo / "report.html").read_bytes()


def test_sentences_that_were_dropped_are_shown_with_their_reason(hostile: Path) -> None:
    assert (
        "fragment:markup: its sentence is a fragment: markup" in Seen((hostile / "report.html").read_text("utf-8")).text
    )


def test_no_sentence_is_shown_as_dropped_that_the_ledger_does_not_count(demo: Path) -> None:
    """A page that says "206 of 206 kept" has no dropped sentence of that wiki."""
    text = (demo / "report.html").read_text("utf-8")
    for wiki in ("dewiki", "enwiki", "jawiki"):
        section = text.split(f"<h3>sentences {wiki}</h3>")[1].split('<details class="dataset"')[0]
        ledger = read_manifest(str(demo / "sentences" / wiki))
        assert ledger is not None
        dropped = {name for name, number in ledger["ledger"][wiki]["sentences"].items() if number} - {"kept"}
        assert ("Sentences that were dropped" in section) == bool(dropped)
        assert set(re.findall(r"<small>([a-z:_]+): ", section.partition("that were dropped")[2])) <= dropped


def test_dropped_sentences_are_read_with_the_templates_of_the_dump(tmp_path: Path) -> None:
    pages = [
        wiki_page("Bus", 1, "It costs {{dollars}} a day, which is much. It goes to {{nowhere}} every day of the week."),
        wiki_page("Tram", 2, "{{Same word}} It goes to {{nowhere}} as well as to the other end of the town."),
        wiki_page("Template:Dollars", 3, "five dollars", namespace=10),
        wiki_page("Template:Same word", 4, "__DISAMBIG__", namespace=10),
    ]
    dump = tmp_path / "enwiki-20260101-pages-articles.xml.bz2"
    dump.write_bytes(bz2.compress(export(pages)))
    assert main(["sentences", f"--dumps={dump}", f"--output={tmp_path}/out"]) == 0
    assert main(["report", f"{tmp_path}/out", f"--html={tmp_path}/report.html", f"--dumps={dump}"]) == 0
    shown = Seen((tmp_path / "report.html").read_text("utf-8")).text.partition("that were dropped")[2]
    assert "every day of the week" in shown
    assert "dollars" not in shown
    assert "other end" not in shown


def test_every_revision_and_item_is_a_link(demo: Path) -> None:
    text = (demo / "report.html").read_text("utf-8")
    page, details = text.split("<h2>Details</h2>")
    assert page.count("<mark>") == 5
    linked = set(re.findall(r'wikidata\.org/wiki/Q(\d+)"', text))
    assert set(re.findall(r"\(Q(\d+)\)", Seen(text).text)) <= linked
    assert len(re.findall(r"index\.php\?oldid=\d+", page)) == 5
    assert "index.php?oldid=" in details


def eighteen_wikis() -> Product:
    """A product as large as that of EASE, with the longest names and numbers."""
    shares = [9_876_543, 3_000_000, 1_500_000, 900_000, 12_345, 700, 3]
    rows = [GridRow(wiki, [sum(shares)], shares, sum(shares)) for wiki in ("all", *EIGHTEEN)]
    names = ["not in prose", "incomplete sentence", "no entity", "rare entity", "no negative", "left out"]
    types = [Item(5, "human"), Item(16521, "taxon"), Item(7725634, "written work or part of it"), Item(3624078)]
    return Product(
        "177,777,774 pairs from 18 wikis",
        "gs://a-bucket-with-a-long-name/and/a/long/path/to/the/output/pairs",
        [("177,777,774", "pairs"), ("1,234,567", "entities"), ("18", "wikis"), ("21.3 GB", "Parquet")],
        Grid("What became of the links", "Note.", ["links"], ["pairs", *names], 1, rows),
        {"links": [Step("links in the articles", 275_000_000, []), Step("pairs", 177_777_774, [("below_floor", 9)])]},
        coverage=[
            Grid("Types", "Note.", ["types"], [*types, "other", "no type", "x"], 7, rows),
            Grid("Frequency", "Note.", ["entities"], ["1\u20139", "10\u201399", "\u2265 1M", *"abcd"], 7, rows),
        ],
    )


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_eighteen_wikis_fit_on_a_screen(width: int, browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "many.html").write_bytes(render("pairs", [eighteen_wikis()], []))
    browser.show((tmp_path / "many.html").as_uri(), width)
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value(SPILLED) == []
    # Every column is in the window, and a table of all wikis is no higher than it is on a phone.
    cut = f"[...document.querySelectorAll('th, td')].filter((e) => e.getBoundingClientRect().right > {width})"
    assert browser.value(f"{cut}.length") == 0
    assert browser.value("document.querySelector('.shares tbody').getBoundingClientRect().height") < 1000
    keep_screenshot(browser, tmp_path, f"eighteen-{width}-light")


def test_one_dataset_by_itself(demo: Path, tmp_path: Path) -> None:
    for name in ("sentences/jawiki", "entities", "pairs"):
        assert main(["report", str(demo / name), f"--html={tmp_path}/one.html"]) == 0
        assert name.split("/")[0] in (tmp_path / "one.html").read_text("utf-8")


@pytest.mark.parametrize("missing", ["ledger", "inputs", "links"])
def test_a_manifest_that_is_not_complete(
    missing: str, demo: Path, tmp_path: Path, wikianchor: Callable[..., Any]
) -> None:
    manifest = json.loads((demo / "pairs/manifest.json").read_text())
    (manifest["ledger"] if missing == "links" else manifest).pop(missing)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    for flags in ([], [f"--html={tmp_path}/report.html"]):
        ended = wikianchor("report", tmp_path, *flags)
        assert ended.status == 1
        assert len(ended.said) == 1
        assert missing in ended.said[0]
        assert ended.said[0].endswith("build the dataset again")


def test_flags(demo: Path, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    assert wikianchor("report", demo, f"--dumps={DEMO}").status == 2
    ended = wikianchor("report", demo, f"--html={tmp_path}/none/report.html")
    assert ended.status == 1
    assert "report.html: cannot be written" in ended.said[0]


@pytest.mark.parametrize(("number", "shown"), [(0, "0"), (950, "950"), (1000, "1k"), (2_500_000, "2.5M")])
def test_short_numbers(number: int, shown: str) -> None:
    assert short(number) == shown


# Contrast of each text with the nearest ground behind it, by WCAG 2: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
CONTRAST = """
(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = parts(colour).slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if (parts(colour).length === 3) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = [...document.body.querySelectorAll("*")].filter((element) =>
    element.getClientRects().length && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  const ratios = texts.map((element) => {
    const style = getComputedStyle(element);
    const ink = element instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(ink), light(ground(element))].sort();
    return [(b + 0.05) / (a + 0.05), element.tagName];
  });
  return ratios.sort((one, other) => one[0] - other[0])[0];
})()
"""

# Cells whose text stands out of them, or over another cell's.
SPILLED = """
[...document.querySelectorAll("th, td")].filter((cell) => {
  const next = cell.nextElementSibling?.getBoundingClientRect(), own = cell.getBoundingClientRect();
  const over = next && next.left < own.right - 1 && next.top < own.bottom - 1 && next.bottom > own.top + 1;
  return cell.checkVisibility() && (cell.scrollWidth > cell.clientWidth + 1 || over);
}).map((cell) => cell.textContent)
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as running:
        yield running


def keep_screenshot(browser: Browser, folder: Path, name: str) -> None:
    browser.screenshot(folder / "seen.png")
    if keep := os.environ.get("WIKIANCHOR_SCREENSHOTS"):
        shutil.copy(folder / "seen.png", f"{keep}/{name}.png")


@pytest.mark.parametrize("build", ["demo", "hostile"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1200])
def test_in_a_browser(
    build: str, dark: bool, width: int, request: pytest.FixtureRequest, browser: Browser, tmp_path: Path
) -> None:
    page = request.getfixturevalue(build) / "report.html"
    browser.show(page.as_uri(), width, dark)
    # Nothing is on the console, where a refused script or request would be told of, and nothing else was asked for.
    assert browser.said() == []
    assert browser.asked() == [page.as_uri()]
    assert browser.value("document.scripts.length") == 0
    # What is wider than the page scrolls by itself; the page does not.
    assert browser.value("document.documentElement.scrollWidth") <= width
    light = sum(map(int, re.findall(r"\d+", browser.value("getComputedStyle(document.body).backgroundColor"))))
    assert (light < 200) == dark
    ratio, element = browser.value(CONTRAST)
    assert ratio >= 4.5, element
    assert browser.value(SPILLED) == []
    keep_screenshot(browser, tmp_path, f"{build}-{width}-{'dark' if dark else 'light'}")
    assert (tmp_path / "seen.png").stat().st_size > 20_000
    # All that folds, open.
    browser.value("document.querySelectorAll('details').forEach((element) => { element.open = true; })")
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value("document.querySelectorAll('.bar').length") > 3
    flat = "[...document.querySelectorAll('.bar')].filter((e) => e.getBoundingClientRect().width === 0)"
    assert browser.value(f"{flat}.length") == 0
    ratio, element = browser.value(CONTRAST)
    assert ratio >= 4.5, element
    assert browser.value(SPILLED) == []
    keep_screenshot(browser, tmp_path, f"{build}-open-{width}-{'dark' if dark else 'light'}")


def test_what_is_measured_can_fail(browser: Browser, tmp_path: Path) -> None:
    """A page that asks for a file, logs, is too wide and too pale is found to be so."""
    text = "<body style='background:#fff'><p style='color:#999;width:2000px'>x</p><script>console.log(1)</script>"
    (tmp_path / "bad.html").write_text(f"{text}<img src='none.png'>", "utf-8")
    browser.show((tmp_path / "bad.html").as_uri(), 360)
    assert browser.said()
    assert len(browser.asked()) == 2
    assert browser.value("document.documentElement.scrollWidth") > 360
    assert browser.value(CONTRAST)[0] < 4.5
