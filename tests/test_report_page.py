"""The report as a page: its figures are those of the dataset, nothing in it runs or is fetched, a browser shows it."""

import bz2
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli import main
from pipelines.dataset.manifest import read_manifest
from pipelines.reporting.charts import short
from pipelines.reporting.html import page, tag
from tests.dumps import export, item, json_dump
from tests.dumps import page as wiki_page

DEMO = Path(__file__).parent.parent / "demo" / "dumps"
EVIL = '<script>alert("title")</script>'
BREAK = '"></svg></style><img src=x onerror=alert(1)>'


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
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("demo")
    assert main(["build", f"--dumps={DEMO}", f"--output={output}", "--min_links=2"]) == 0
    assert main(["report", str(output), f"--html={output}/report.html", f"--dumps={DEMO}"]) == 0
    return output


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of a wiki whose every name is an attack."""
    place = tmp_path_factory.mktemp("hostile")
    shown = f"{EVIL}{BREAK}".replace("<", "&lt;")
    titles = ["One", "Two", "Three", "Four"]
    pages = [wiki_page(title, number, "") for number, title in enumerate(titles, 1)]
    for number, title in enumerate(titles, 10):
        text = f"Here is a [[{title}|thing]] in a sentence that is long enough to be kept by everybody."
        lost = f"It also says {shown} for all to see, and is dropped for that."
        # MediaWiki forbids < in titles; a dump may have it all the same.
        pages.append(wiki_page(f"{EVIL} {title}", number, f"{text}\n\n{lost}"))
    items = [item(number, {"enwiki": title}, [99], {"en": BREAK}) for number, title in enumerate(titles, 1)]
    dumps = place / "dumps"
    dumps.mkdir()
    (dumps / "enwiki-20260101-pages-articles.xml.bz2").write_bytes(bz2.compress(export(pages)))
    (dumps / "wikidata-20260101-all.json").write_bytes(
        json_dump([*items, item(99, {"enwiki": EVIL}, [1], {"en": EVIL})])
    )
    build = ["build", f"--dumps={dumps}", f"--output={place}/out", "--min_links=0"]
    assert main(build) == 0
    assert main(["report", f"{place}/out", f"--html={place}/out/report.html", f"--dumps={dumps}"]) == 0
    return place / "out"


def test_the_figures_are_those_of_the_datasets(demo: Path) -> None:
    seen = Seen((demo / "report.html").read_text("utf-8"))
    found = read_manifest(str(demo / "pairs"))
    assert found is not None
    assert f"{found['configs']['pairs']['rows']:,}" in seen.text
    for wiki, buckets in found["ledger"]["links"].items():
        assert f"Links of {wiki}" in seen.text
        assert f"of {buckets['seen']:,}" in seen.text
        for name, number in buckets.items():
            assert not number or name == "seen" or f"{name}{number:,}" in seen.text
    for words in (
        "Length of sentences",
        "Pools of hard negatives",
        "Links to an entity",
        "planet (Q634)",
        "Provenance",
    ):
        assert words in seen.text
    assert {"svg", "mark", "rect", "polyline"} <= seen.tags
    assert json.dumps(found["options"]["seed"]) in seen.text


@pytest.mark.parametrize("build", ["demo", "hostile"])
def test_nothing_runs_and_nothing_is_fetched(build: str, request: pytest.FixtureRequest) -> None:
    text = (request.getfixturevalue(build) / "report.html").read_text("utf-8")
    seen = Seen(text)
    assert not seen.tags & {"script", "img", "link", "iframe", "object", "embed", "form", "base"}
    assert not [name for name in seen.attributes if name.startswith("on")]
    assert all(re.fullmatch(r"#d\d+|width:[\d.]+%", value) for value in seen.values)
    assert text.count("<style>") == text.count("</style>") == 1
    assert "default-src 'none'" in text


def test_attacks_are_shown_as_they_are(hostile: Path) -> None:
    seen = Seen((hostile / "report.html").read_text("utf-8"))
    assert EVIL in seen.text
    assert BREAK in seen.text


def test_text_and_attributes_are_escaped() -> None:
    text = page(
        EVIL, "p {}", [tag("p", EVIL, tag("b", "x"), "\x00\ud800" + BREAK, title=BREAK), tag("p", None)]
    ).decode()
    assert "<script" not in text
    assert "\ufffd\ufffd" in text
    assert Seen(text).tags == {"html", "head", "meta", "title", "style", "body", "main", "p", "b"}


def test_the_same_data_give_the_same_page(demo: Path, tmp_path: Path) -> None:
    assert main(["report", str(demo), f"--html={tmp_path}/again.html", f"--dumps={DEMO}"]) == 0
    assert (tmp_path / "again.html").read_bytes() == (demo / "report.html").read_bytes()


def test_sentences_that_were_dropped_are_shown_with_their_reason(hostile: Path) -> None:
    assert "fragment:markup: its sentence is none: markup" in Seen((hostile / "report.html").read_text("utf-8")).text


def test_one_dataset_by_itself(demo: Path, tmp_path: Path) -> None:
    for name in ("sentences/jawiki", "entities", "pairs"):
        assert main(["report", str(demo / name), f"--html={tmp_path}/one.html"]) == 0
        assert name.split("/")[0] in (tmp_path / "one.html").read_text("utf-8")


def test_flags(demo: Path, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    assert wikianchor("report", demo, f"--dumps={DEMO}").status == 2
    ended = wikianchor("report", demo, f"--html={tmp_path}/none/report.html")
    assert ended.status == 1
    assert "report.html: cannot be written" in ended.said[0]


@pytest.mark.parametrize(("number", "shown"), [(0, "0"), (950, "950"), (1000, "1k"), (2_500_000, "2.5M")])
def test_short_numbers(number: int, shown: str) -> None:
    assert short(number) == shown


@pytest.mark.parametrize("build", ["demo", "hostile"])
@pytest.mark.parametrize("width", [390, 1200])
def test_in_a_browser(build: str, width: int, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("NO BROWSER: install chromium to look at the report in one")
    place = request.getfixturevalue(build) / "report.html"
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--window-size={width},1200",
        f"--user-data-dir={tmp_path}/b",
    ]
    ended = subprocess.run(
        [browser, *options, "--enable-logging=stderr", f"--screenshot={tmp_path}/seen.png", place.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    # A refused script or request would be told of on the console.
    assert "CONSOLE" not in ended.stderr
    assert (tmp_path / "seen.png").stat().st_size > 20_000
