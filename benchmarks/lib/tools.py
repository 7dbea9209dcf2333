"""Other extractors: how each is installed and run, and how its output is read.

`PYPI`, `NPM` and `CARGO` are the packages. Each tool reads a dump in bz2 with its own options for keeping links, in one
process; the libraries mwparserfromhell and wtf_wikipedia are called by a script that reads the dump.
"""

import html
import re
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import orjson

PYPI, NPM, CARGO = ("wikipedia2vec", "mwparserfromhell", "wikiextractor"), ("wtf_wikipedia",), ("ruwex", "wikrs")

FLAG = {"--tools": (Path("out/venvs"), "where the other tools are installed")}


class Article(NamedTuple):
    """What a tool gives of an article: its text, and (anchor, target) of its links."""

    title: str
    text: str
    links: list[tuple[str, str]]


def install(directory: Path, names: Iterable[str]) -> dict[str, Path]:
    """Install tools, each into a directory of its own; return the directories of those that can be installed."""
    homes: dict[str, Path] = {}
    for name in names:
        home = (directory / name).absolute()
        if not (home / "installed").exists():
            home.mkdir(parents=True, exist_ok=True)
            if name in PYPI:
                venv.create(home, with_pip=True, clear=True)
            commands: dict[bool, list[str | Path]] = {
                name in PYPI: [home / "bin/python", "-m", "pip", "install", "--quiet", name],
                name in NPM: ["npm", "install", "--silent", "--prefix", home, name],
                name in CARGO: ["cargo", "install", "--quiet", "--root", home, name],
            }
            try:
                subprocess.run(commands[True], check=True)
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"left out: {name} cannot be installed: {error}", file=sys.stderr)
                continue
            (home / "installed").touch()
        homes[name] = home
    return homes


_MWPARSERFROMHELL = """
import bz2, html, json, re, sys
import mwparserfromhell
xml = bz2.open(sys.argv[1]).read().decode("utf-8", "replace")
with open(sys.argv[2], "w") as file:
    for page in re.finditer("<page>.*?</page>", xml, re.DOTALL):
        if "<ns>0</ns>" in page[0] and "<redirect" not in page[0]:
            title = re.search("<title>(.*?)</title>", page[0])[1]
            text = re.search(r"<text[^>]*>(.*?)</text>", page[0], re.DOTALL)
            code = mwparserfromhell.parse(html.unescape(text[1]) if text else "")
            links = [(str(link.text or link.title), str(link.title)) for link in code.filter_wikilinks()]
            row = {"title": html.unescape(title), "text": code.strip_code(), "links": links}
            print(json.dumps(row), file=file)
"""
_WTF_WIKIPEDIA = """
import { execFileSync } from "node:child_process"
import { createWriteStream } from "node:fs"
import { pathToFileURL } from "node:url"
const [library, dump, output] = process.argv.slice(-3)
const wtf = (await import(pathToFileURL(library))).default
const xml = execFileSync("bzcat", [dump], { maxBuffer: 2 ** 31 - 1 }).toString()
const plain = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"').replace(/&amp;/g, "&")
const file = createWriteStream(output)
for (const [page] of xml.matchAll(/<page>.*?<\\/page>/gs)) {
  if (!page.includes("<ns>0</ns>") || page.includes("<redirect")) continue
  const title = plain(page.match(/<title>(.*?)<\\/title>/)[1])
  const text = page.match(/<text[^>]*>(.*?)<\\/text>/s)
  const document = wtf(plain(text ? text[1] : ""), { title })
  const links = document.links().map((link) => [link.text() || link.page() || "", link.page() || ""])
  file.write(JSON.stringify({ title, text: document.text(), links }) + "\\n")
}
file.end()
"""
_WIKIPEDIA2VEC = """
import json, sys
from wikipedia2vec.dump_db import DumpDB
database = DumpDB(sys.argv[1])
for title in database.titles():
    paragraphs = database.get_paragraphs(title)
    links = [(link.text, link.title) for paragraph in paragraphs for link in paragraph.wiki_links]
    print(json.dumps({"title": title, "text": "\\n".join(part.text for part in paragraphs), "links": links}))
"""


def command_of(name: str, home: Path, dump: Path, output: Path, *, expand: bool) -> list[str | Path]:
    """Return the command that runs a tool.

    Args:
        name: the tool.
        home: the directory in which it is installed.
        dump: the dump in bz2.
        output: file or directory to write.
        expand: expand templates by the pages of the dump, where the tool can.
    """
    templates = [] if expand else ["--no-templates"]
    python = home / "bin/python"
    extractor: list[str | Path] = [
        home / "bin/wikiextractor",
        "--json",
        "--links",
        "--quiet",
        "--processes",
        "1",
        *templates,
    ]
    commands: dict[str, list[str | Path]] = {
        "wikipedia2vec": [home / "bin/wikipedia2vec", "build-dump-db", "--pool-size", "1", dump, output],
        "mwparserfromhell": [python, "-c", _MWPARSERFROMHELL, dump, output],
        "wikiextractor": [*extractor, "--output", output, dump],
        "ruwex": [*extractor, "--output", output, dump],
        "wtf_wikipedia": [
            *("node", "--input-type=module", "--eval", _WTF_WIKIPEDIA),
            *(home / "node_modules/wtf_wikipedia/src/index.js", dump, output),
        ],
        "wikrs": ["sh", "-c", f'"{home}/bin/wikrs" --format jsonl --input "{dump}" > "{output}"'],
    }
    return commands[name]


def articles_of(name: str, home: Path, dump: Path, output: Path) -> Iterator[Article]:
    """Yield what a tool has written."""
    if name in ("wikiextractor", "ruwex"):
        files = sorted(path for path in output.rglob("*") if path.is_file())
        yield from (_with_html_links(row) for path in files for row in _rows(path.read_bytes()))
        return
    if name == "wikipedia2vec":
        text = subprocess.run([home / "bin/python", "-c", _WIKIPEDIA2VEC, output], stdout=subprocess.PIPE, check=True)
        rows = _rows(text.stdout)
    else:
        rows = _rows(output.read_bytes())
    if name != "wikrs":
        yield from (Article(row["title"], row["text"], [tuple(link) for link in row["links"]]) for row in rows)
        return
    # Only its Markdown has links; pages are in the same order.
    command: list[str | Path] = [home / "bin/wikrs", "--format", "markdown", "--input", dump]
    markdown = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()
    given, position = list(rows), 0
    places: list[int] = []
    for row in given:
        position = max(position, markdown.find(f"# {_escaped(row['title'])}\n", position))
        places.append(position)
    for row, start, end in zip(given, places, [*places[1:], len(markdown)], strict=True):
        links = [(match[1], unquote(match[2])) for match in _MARKDOWN_LINK.finditer(markdown, start, end)]
        yield Article(row["title"], row["text"], links)


_HTML_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL)
_MARKDOWN_LINK = re.compile(r"(?<!!)\[((?:[^\[\]\\]|\\.)*)\]\(<?\./([^()<>\s]*(?:\([^()]*\)[^()<>\s]*)*)>?\)")


def _escaped(title: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", title)


def _rows(data: bytes) -> Iterator[dict[str, Any]]:
    return (orjson.loads(line) for line in data.splitlines() if line)


def _with_html_links(row: dict[str, Any]) -> Article:
    """Return an article of which WikiExtractor has escaped text and links."""
    text = html.unescape(row["text"])
    links = [(html.unescape(match[2]), unquote(match[1])) for match in _HTML_LINK.finditer(text)]
    return Article(row["title"], html.unescape(_HTML_LINK.sub(lambda match: match[2], text)), links)
