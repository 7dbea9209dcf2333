"""The site of docs/: nothing is fetched from elsewhere, and its page "Try it" shows what the engine gives."""

import dataclasses
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import wikianchor
from tests.browser import Browser, chromium
from tests.commands.test_report_page import CONTRAST
from tools import site_engine
from wikianchor.pipelines.text.fragments import FRAGMENT_REASONS

ROOT = Path(__file__).parent.parent
ATTACK = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
# Language, title, wikitext.
CASES = [
    (
        "en",
        "Ada Lovelace",
        "'''Ada''' wrote for the [[Analytical Engine|engine]] 🌋 of [[Charles Babbage#Life|a friend]]. It cost {{x|1}} "
        "pounds.\n\n== Table ==\n{|\n! a\n|-\n| [[b]]\n|}\n* [[Rome]]\n* This item is long enough to be a sentence.\n"
        " code\n== References ==\nNothing in this line is kept.",
    ),
    ("de", "Leiter", "Sie war z. B. schon [[Dr. Müller]] bekannt. Die [[Sprosse]]n sind aus Holz."),
    ("ja", "橋", "'''橋'''は、[[川]]を越える[[建築物|構造物]]である。「長い橋だ。」と彼は言った。"),
    ("ar", "", "كتبت [[آدا لوفلايس]] برنامجا. ثم سافرت إلى [[لندن]]."),
    (
        "en",
        ATTACK,
        f"It says <nowiki>{ATTACK}</nowiki> to [[A\"><b>|{ATTACK}]] and {{{{{ATTACK}|'}}}} and \x00\x01 too.",
    ),
    ("en", "", "[[" * 500 + "{{" * 500 + "{|\n" * 50 + "<ref>" * 50),
    ("en", "", ""),
]
# Runs the module of the page on the cases of stdin.
NODE = """
import { readFileSync } from "node:fs";
const [engine, pyodide, wheel] = process.argv.slice(1);
const { loadEngine } = await import(engine);
const { loadPyodide } = await import(pyodide);
const { read, languages } = await loadEngine(loadPyodide, new Uint8Array(readFileSync(wheel)));
const results = JSON.parse(readFileSync(0, "utf8")).map(([language, title, wikitext]) =>
  read(wikitext, language, title));
let refused = "";
try { read("text", "klingonish", ""); } catch (error) { refused = error.message; }
const half = read("one \\ud83d half, [[a]]", "en", "");
process.stdout.write(JSON.stringify({ results, languages, refused, half }));
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site without what `tools/site_engine.py` adds."""
    pytest.importorskip("mkdocs", reason="NO MKDOCS: pip install '.[docs]'")
    pytest.importorskip("material", reason="NO MKDOCS: pip install '.[docs]'")
    output = tmp_path_factory.mktemp("built") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", f"--site-dir={output}"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return output


@pytest.fixture(scope="module")
def engine(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `tools/site_engine.py` adds to the site."""
    if shutil.which("npm") is None:
        pytest.skip("NO NPM: install Node.js to try the engine in Pyodide")
    ended = subprocess.run(
        [sys.executable, "-m", "tools.site_engine", str(site)], cwd=ROOT, capture_output=True, text=True
    )
    if "npm pack" in ended.stderr:
        pytest.skip(f"NO PYODIDE: {ended.stderr.strip()}")
    assert ended.returncode == 0, ended.stderr
    return site / "engine"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serves the site."""
    handler = functools.partial(_Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def test_the_site_is_built(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 10
    for page in pages:
        fetched = re.findall(r'<(?:script|img|link)\b[^>]*(?:src|href)="(https?://[^"]+)"', page.read_text("utf-8"))
        assert not [url for url in fetched if not url.startswith("https://squidfunk.github.io")], page


def test_code_is_highlighted(site: Path) -> None:
    assert '<span class="kn">import</span>' in (site / "index.html").read_text("utf-8")


def look(browser: Browser, name: str) -> None:
    """Keep a screenshot for a person, as `test_report_page.py` does."""
    if keep := os.environ.get("WIKIANCHOR_SCREENSHOTS"):
        browser.screenshot(Path(keep, f"{name}.png"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize(
    ("page", "part"), [("", ".row-of-data"), ("try-it/", "#wikitext-form")], ids=["home", "try-it"]
)
def test_in_a_browser(page: str, part: str, width: int, dark: bool, browser: Browser, address: str) -> None:
    browser.show(address + page, width, dark)
    assert browser.said() == []
    assert [url for url in browser.asked() if not url.startswith((address, "data:"))] == []
    assert browser.value("document.documentElement.scrollWidth") <= width
    light = sum(map(int, re.findall(r"\d+", browser.value("getComputedStyle(document.body).backgroundColor"))))
    assert (light < 200) == dark
    ratio, element = browser.value(CONTRAST.replace("document.body", f"document.querySelector('{part}')"))
    assert ratio >= 4.5, element
    look(browser, f"{page.strip('/') or 'home'}-{width}-{'dark' if dark else 'light'}")


def test_the_switch_of_the_mode(browser: Browser, address: str) -> None:
    browser.show(address, 1280)
    modes = []
    for _ in range(4):
        modes.append(browser.value("document.body.dataset.mdColorScheme"))
        browser.value(
            "[...document.querySelectorAll('[data-md-component=palette] label')].find((e) => !e.hidden).click()"
        )
    # The system's, light, dark, and the system's again.
    assert modes == ["default", "default", "slate", "default"]
    browser.value("localStorage.clear()")


def test_a_site_without_the_engine_says_so(browser: Browser, address: str, site: Path) -> None:
    if (site / "engine").exists():
        pytest.skip("the engine was added by another test")
    browser.show(f"{address}try-it/", 1280)
    extract(browser)
    assert "without `make docs`" in browser.value("document.querySelector('#wikitext-form [role=status]').textContent")


def extract(browser: Browser, **fields: str) -> None:
    """Fill the form of the page, press the button and wait for the answer."""
    for name, value in fields.items():
        browser.value(f"document.querySelector('#wikitext-form').elements[{name!r}].value = {json.dumps(value)}")
    browser.value("document.querySelector('#wikitext-form [role=status]').textContent = ''")
    browser.value("document.querySelector('#wikitext-form [type=submit]').click()")
    ends = time.monotonic() + 120
    while not re.match(
        "Read in|The engine", browser.value("document.querySelector('#wikitext-form [role=status]').textContent")
    ):
        assert time.monotonic() < ends, browser.said()
        time.sleep(0.1)


def test_every_reason_is_explained() -> None:
    """Those that `TextReader.sentences` gives."""
    source = (ROOT / "pipelines/text/prose.py").read_text("utf-8")
    module = (ROOT / "docs/javascripts/engine.mjs").read_text("utf-8")
    named = set(re.findall(r'"(fragment:\w+)"', source)) | {
        *("gap", "template", "disambiguation_page", "heading", "preformatted", "back_matter"),
    }
    for reason in named - {f"fragment:{name}" for name in FRAGMENT_REASONS}:
        assert f'"{reason}": ' in module


@pytest.mark.nightly
def test_pyodide_gives_what_cpython_gives(engine: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("NO NODE: install Node.js to try the engine in Pyodide")
    paths = [ROOT / "docs/javascripts/engine.mjs", engine / "pyodide.mjs", engine / "wikianchor.whl"]
    ended = subprocess.run(
        ["node", "--input-type=module", "--eval", NODE, *map(str, paths)],
        input=json.dumps(CASES),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    answers = json.loads(ended.stdout)
    reasons = set()
    for (language, title, wikitext), result in zip(CASES, answers["results"], strict=True):
        page = wikianchor.extract(wikitext, language=language, title=title)
        assert result["page"] == json.loads(json.dumps(dataclasses.asdict(page)))
        sentences = wikianchor.sentences(wikitext, language=language, title=title, include_dropped=True)
        for sentence, given in zip(sentences, result["sentences"], strict=True):
            assert bool(sentence.dropped) == bool(given.pop("meaning"))
            assert given == json.loads(json.dumps(dataclasses.asdict(sentence)))
            reasons.add(sentence.dropped)
    assert reasons >= {None, "gap", "heading", "back_matter", "preformatted", "fragment:short", "fragment:markup"}
    assert {"en", "ja", "be-tarask"} <= set(answers["languages"])
    assert "klingonish is not a wiki" in answers["refused"]
    assert answers["half"]["page"]["text"] == "one \ufffd half, a"


@pytest.mark.nightly
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_in_a_browser(engine: Path, browser: Browser, address: str, width: int, dark: bool) -> None:
    browser.show(f"{address}try-it/", width, dark)
    extract(browser)
    output = "document.querySelector('#try-it-output')"
    shown, title = (
        browser.value(f"document.forms['wikitext-form'].elements[{n!r}].value") for n in ("wikitext", "title")
    )
    sentences = wikianchor.sentences(shown, title=title, include_dropped=True)
    assert browser.value(f"[...{output}.querySelectorAll('.sentences code')].map((e) => e.textContent)") == [
        sentence.dropped for sentence in sentences if sentence.dropped
    ]
    assert browser.value(f"{output}.querySelectorAll('.kept').length") == 5
    ratio, element = browser.value(CONTRAST.replace("document.body", output))
    assert ratio >= 4.5, element
    assert browser.value("document.documentElement.scrollWidth") <= width
    look(browser, f"try-it-result-{width}-{'dark' if dark else 'light'}")
    # The links are those of the offsets in code points, a character of two UTF-16 units before them.
    language, title, wikitext = CASES[0]
    extract(browser, language=language, title=title, wikitext=wikitext)
    page = wikianchor.extract(wikitext, language=language, title=title)
    assert browser.value(f"[...{output}.querySelectorAll('.text a')].map((e) => [e.textContent, e.title])") == [
        [page.text[link.start : link.end], "#".join(filter(None, (link.target, link.fragment)))] for link in page.links
    ]
    assert browser.value(f"[...{output}.querySelectorAll('.text .gap')].map((e) => e.textContent)") == ["{{x}}"]
    # An attack is text.
    for language, title, wikitext in CASES[4:]:
        extract(browser, language=language, title=title, wikitext=wikitext)
        assert browser.value(f"{output}.querySelectorAll('img, script, b, iframe').length") == 0
        assert browser.value("document.documentElement.scrollWidth") <= width
        assert browser.value("document.title") == "Try it - wikianchor"
    assert browser.said() == []
    assert [url for url in browser.asked() if not url.startswith((address, "data:"))] == []


def test_the_pinned_package_is_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package with another hash is refused, and one line says what is missing."""
    npm = tmp_path / "bin/npm"
    npm.parent.mkdir()
    npm.write_text(f"#!/bin/sh\nprintf other > pyodide-{site_engine.VERSION}.tgz\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npm.parent}:/bin")
    with pytest.raises(OSError, match=r"its hash is sha512-\S+, not sha512-"):
        site_engine.fetch_pyodide(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError, match=r"npm: not found: install Node.js"):
        site_engine.fetch_pyodide(tmp_path)
