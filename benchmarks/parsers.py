"""Our engine and other extractors on the same pages: what each costs, and on how many links two of them agree.

    WIKIANCHOR_DATA=data python benchmarks/parsers.py
    WIKIANCHOR_DATA=data python benchmarks/parsers.py --venvs=out/venvs

With --venvs, what others make of a page is timed: wikitext in memory in, what each gives of it out, user CPU without
start and imports, each in a process of its own with the packages that `sentences.py` installs there. What is called,
and what comes out, is told below the table; no two do the same. The targets are multiples of their speed.

Without it, our engine is compared with `--parser=mwparserfromhell`. Both are run as `wikianchor sentences` runs them,
in turns: wikitext in, text and links with offsets out. Agreement is the share of links, by what they show and where
they lead, that both find among those that either does. Where the two differ a page is put into a class by what there is
to see: "table" where table markup is left in the text that mwparserfromhell gives, "bracket" where a label ends in one
("]]]"), "other" else. This needs the extra `mwparserfromhell`.
"""

from __future__ import annotations

import gc
import json
import random
import re
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import generate
import slices
from measure import parser, ratio, report, rounds_of, seconds, table
from sentences import install

from wikianchor.pipelines.wikimedia.choices import PARSERS
from wikianchor.pipelines.wikimedia.mwparser import make_extractor
from wikianchor.pipelines.wikimedia.wikitext import Extract
from wikianchor.pipelines.wikimedia.wikitext.placeholders import LINE_MARKS

PAGES, SEED = 150, 1
CLASSES = ("table", "bracket", "other")
_TABLE_LEFT = re.compile(rf"^[{LINE_MARKS}]*[|!]|\{{\|", re.MULTILINE)


# Reads {"title", "text"} a line, calls `read` on each, prints the seconds that took.
_TIMED = """
import json, resource, sys
{setup}
pages = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
for page in pages:
    read(page["title"], page["text"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_utime - start)
"""


class Tool(NamedTuple):
    """An extractor: the environment that it is in, how `read(title, text)` is made, how many times its speed is aimed
    at, and what is called and given."""

    package: str
    setup: str
    target: int
    what: str


OURS = "wikianchor"
TOOLS = {
    OURS: Tool(
        "",
        """
from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.wikitext import Extractor
extractor = Extractor(site_for(sys.argv[2] + "wiki"))
def read(title, text):
    return extractor.extract(text, title)
""",
        1,
        "`Extractor.extract`: text in lines; links with offsets, targets normalised; templates by rule; gaps marked",
    ),
    "mwparserfromhell": Tool(
        "mwparserfromhell",
        """
import mwparserfromhell
def read(title, text):
    code = mwparserfromhell.parse(text)
    return code.strip_code(), [(str(link.title), str(link.text)) for link in code.filter_wikilinks()]
""",
        20,
        "`parse`, `strip_code`, `filter_wikilinks`: text with table cells and captions; links as written, no offsets",
    ),
    "wikipedia2vec": Tool(
        "wikipedia2vec",
        """
from wikipedia2vec.dump_db import _parse_page
from wikipedia2vec.utils.wiki_page import WikiPage
def read(title, text):
    return _parse_page(WikiPage(title, sys.argv[2], text, None), None)
""",
        15,
        "`_parse_page`: sections with offsets of links, no trails; pickled and zlib-compressed in the same call",
    ),
    "wikiextractor": Tool(
        "wikiextractor",
        """
from wikiextractor.extract import Extractor
def read(title, text):
    extractor = Extractor("1", "1", "", title, [], keepLinks=True)
    return extractor.clean_text(text, expand_templates=False, html_safe=False)
""",
        5,
        "`clean_text` with `keepLinks`, no templates: text without list items and tables, links as HTML, no offsets",
    ),
}


def main() -> None:
    """Measure and print a table."""
    flags = parser(__doc__)
    flags.add_argument("--languages", nargs="+", default=sorted(slices.SLICES), choices=sorted(slices.SLICES))
    flags.add_argument("--pages", type=int, default=PAGES, help=f"random articles of each language at most ({PAGES})")
    flags.add_argument("--venvs", type=Path, help="compare with other extractors, which are installed there")
    arguments = flags.parse_args()
    if arguments.venvs:
        against_others(arguments)
        return
    rows = [row(language, arguments.rounds, arguments.pages) for language in arguments.languages]
    head = ["language", "pages", "links", *(f"{name}, MB / CPU s" for name in PARSERS), "times", "agreement"]
    report(
        "parsers: our engine and mwparserfromhell",
        table([*head, *(f"differ: {name}" for name in CLASSES)], [*rows]),
    )


def against_others(arguments: Any) -> None:
    """Time each extractor on the same pages and print the table."""
    environments, missing = install(arguments.venvs)
    pythons = {OURS: Path(sys.executable), **environments}
    tools = {name: tool for name, tool in TOOLS.items() if (tool.package or OURS) in pythons}
    rows: list[list[Any]] = []
    for language in arguments.languages:
        texts = articles(generate.read_source(slices.paths(language)), arguments.pages)
        pages = Path(arguments.work) / f"parsers-{language}.ndjson"
        pages.parent.mkdir(parents=True, exist_ok=True)
        pages.write_text("".join(json.dumps({"title": title, "text": text}) + "\n" for text, title in texts), "utf-8")
        megabytes = sum(len(text.encode()) for text, _ in texts) / 1e6
        found = rounds_of(
            arguments.rounds,
            {
                f"{language}: {name}": partial(timed, pythons[name], tool, pages, language)
                for name, tool in tools.items()
            },
        )
        times = [found[f"{language}: {name}"] for name in tools]
        speeds = [megabytes / median(column) for column in times]
        rows.append([language, len(texts), megabytes, *speeds, *(ratio(column, times[0]) for column in times[1:])])
    rows.append(["mean", "", "", *(mean(row[place] for row in rows) for place in range(3, len(rows[0])))])
    rows.append(["target", *[""] * (2 + len(tools)), *(tool.target for tool in tools.values() if tool.package)])
    head = ["language", "pages", "MB", *(f"{name}, MB / CPU s" for name in tools)]
    head += [f"times {name}" for name, tool in tools.items() if tool.package]
    notes = [f"- {name}: {tool.what}" for name, tool in tools.items()]
    notes += [f"- {name}: {why}" for name, why in missing.items()]
    report("parsers: our engine and other extractors", table(head, rows) + "\n\n" + "\n".join(notes))


def timed(python: Path, tool: Tool, pages: Path, language: str) -> float:
    """Return the user CPU that an extractor takes for pages, its start left out."""
    command = [python, "-c", _TIMED.format(setup=tool.setup), pages, language]
    ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(ended.stderr)
    return float(ended.stdout.splitlines()[-1])


def articles(source: generate.Source, pages: int) -> list[tuple[str, str]]:
    """Return wikitext and title of random articles of a slice."""
    found = [page for page in source.pages if not page.namespace and page.redirect is None and page.text]
    found = random.Random(SEED).sample(found, min(pages, len(found)))
    return [(page.text.translate(dict.fromkeys({*range(32)} - {9, 10})), page.title) for page in found]


def row(language: str, rounds: int, pages: int) -> list[object]:
    """Return the row of a language."""
    source = generate.read_source(slices.paths(language))
    texts = articles(source, pages)
    found: dict[str, list[Extract]] = {}
    times = []
    for _ in range(rounds):
        spent = []
        for name in PARSERS:
            extractor = make_extractor(name, source.site)
            # What the other left is not to be cleared away in this one's time.
            gc.collect()
            spent.append(seconds(lambda: found.update({name: [extractor.extract(*page) for page in texts]})))  # noqa: B023
        times.append(spent)
    differ = Counter[str]()
    either = both = 0
    for (text, _), one, other in zip(texts, *(found[name] for name in PARSERS), strict=True):
        ours, theirs = links(one), links(other)
        either, both = either + (ours | theirs).total(), both + (ours & theirs).total()
        differ[difference(text, other)] += ((ours | theirs) - (ours & theirs)).total()
    megabytes = sum(len(text.encode()) for text, _ in texts) / 1e6
    first, second = (median(column) for column in zip(*times, strict=True))
    slower = median(other / one for one, other in times)
    return [
        *(language, len(texts), either, megabytes / first, megabytes / second, slower, f"{both / either:.4f}"),
        *(differ[name] for name in CLASSES),
    ]


def links(extract: Extract) -> Counter[tuple[str, str]]:
    """Return what each link to an article shows and where it leads."""
    found = extract.links
    return Counter(
        (extract.text[start:end], target)
        for start, end, target in zip(found.starts, found.ends, found.targets, strict=True)
    )


def difference(text: str, theirs: Extract) -> str:
    """Return the class of difference that a page may show."""
    return "table" if _TABLE_LEFT.search(theirs.text) else "bracket" if "]]]" in text else "other"


if __name__ == "__main__":
    main()
