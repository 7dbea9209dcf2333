"""The speed of reading dumps: `sentences` and `entities` against bare decompression, and the engine against others.

    WIKIANCHOR_DATA=data python benchmarks/extraction.py [PART ...]

- `bz2`: `wikianchor sentences` with either engine against decompression of the same file, by built-in rules and by the
  dump's templates, for which its pages are read once more; and the engines alone, from pages in memory to columns; in
  instructions too, where `perf` can count them. Needs the core (`make core`).
- `parsers`: the engine against other extractors in Python on wikitext in memory, start and imports left out. They are
  installed from PyPI under --venvs; `extractors.py` compares whole jobs.
- `agreement`: the engine against `--parser=mwparserfromhell`: speed, and the share of links that both find, by what
  they show and where they lead. Needs the extra `mwparserfromhell`.
- `previous`: `sentences --previous` against a full build of a dump of which every twentieth page has changed.
- `entities`: `wikianchor entities` against decompression of a stand-in for Wikidata's dump with lines of 10 KB.

Starting Python and Beam takes over a second, half of the time of a slice and nothing of a dump. So each round also
measures a dump of one short article, and the speeds are without that time.
"""

from __future__ import annotations

import bz2
import gc
import gzip
import json
import random
import re
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from lib import generate, slices
from lib.measure import (
    UNPACK,
    digest,
    fresh,
    instructions,
    job,
    less,
    parser,
    ratio,
    report,
    rounds_of,
    run_parts,
    seconds,
    table,
    wikianchor,
)
from lib.tools import PYPI, install

from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.sentences.compiled_reader import make_page_reader
from wikianchor.pipelines.sentences.page_reader import DumpReader
from wikianchor.pipelines.wikimedia.choices import ENGINES, PARSERS
from wikianchor.pipelines.wikimedia.dumps import Range, read_range
from wikianchor.pipelines.wikimedia.mwparser import make_extractor
from wikianchor.pipelines.wikimedia.pages import Page, cut_pages
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext import Extract


def main() -> None:
    """Measure and print the tables."""
    flags = parser(__doc__, parts=list(PARTS))
    flags.add_argument("--languages", nargs="+", choices=sorted(slices.SLICES), help="whose slices (by part)")
    flags.add_argument("--venvs", type=Path, default=Path("out/venvs"), help="where the other tools are installed")
    flags.add_argument("--megabytes", type=float, default=24, help="smallest XML of each language, `bz2` (24)")
    flags.add_argument("--pages", type=int, default=150, help="random articles of each language in memory (150)")
    flags.add_argument("--lines", type=int, default=20_000, help="lines of Wikidata (20000)")
    run_parts(PARTS, flags)


def sentences(work: Path, dump: Path, *flags: str) -> float:
    """Run `wikianchor sentences` and return its CPU."""
    return job("sentences", work / "sentences", f"--dumps={dump}", *flags)


def is_article(page: Page) -> bool:
    """Return whether a page is an article and no redirect."""
    return not page.namespace and page.redirect is None and bool(page.text)


# -------------------------------------------------------------------------------------------------------- decompression


def compare_bz2(arguments: Namespace) -> None:
    """Print `sentences` and the engines against decompression."""
    work, names = arguments.work, arguments.languages or sorted(slices.SLICES)
    dumps = {name: slices.dump(work, name, arguments.megabytes) for name in names}
    cases: dict[str, Callable[[], float]] = {}
    for kind in ENGINES:
        cases[f"{kind}: start"] = partial(sentences, work, slices.one_page(work), f"--engine={kind}")
    for name, dump in dumps.items():
        source = generate.read_source([str(dump)])
        cases[f"{name}: bz2"] = partial(seconds, partial(unpack, dump))
        for kind in ENGINES:
            flags = ("--templates=builtin", f"--engine={kind}")
            cases[f"{name}: {kind}"] = partial(sentences, work, dump, *flags)
            cases[f"{name}: {kind} alone"] = partial(engine, kind, source.site, page_elements(dump))
        cases[f"{name}: templates"] = partial(sentences, work, dump, "--engine=core")
    times = rounds_of(arguments.rounds, cases)
    rows: list[list[Any]] = []
    for name, dump in dumps.items():
        bare = times[f"{name}: bz2"]
        jobs = {kind: less(times[f"{name}: {kind}"], times[f"{kind}: start"]) for kind in ENGINES}
        with_templates = less(times[f"{name}: templates"], times["core: start"])
        size = unpack(dump) / 1e6
        of_bare = (jobs["python"], jobs["core"], with_templates, *(times[f"{name}: {kind} alone"] for kind in ENGINES))
        speeds = [size / median(jobs[kind]) for kind in ENGINES]
        rows.append([name, size, median(bare), *speeds, *(ratio(each, bare) for each in of_bare)])
    rows.append(["mean", "", "", "", "", *(mean(row[column] for row in rows) for column in range(5, 10))])
    head = ["language", "MB of XML", "bz2, CPU s", "python, MB / CPU s", "core, MB / CPU s", "python job", "core job"]
    head += ["core job, dump's templates", "python alone", "core alone"]
    starts = ", ".join(f"{kind} {median(times[f'{kind}: start']):.2f}" for kind in ENGINES)
    text = f"Start, CPU s: {starts}. Jobs are less the start; they and the engines are in multiples of bz2."
    report("sentences against bz2 decompression", f"{table(head, rows)}\n\n{text}")
    compare_instructions(work, dumps)


def compare_instructions(work: Path, dumps: Mapping[str, Path]) -> None:
    """Print the instructions of the same jobs, where the machine can count them."""
    start = instructions([sys.executable, "-c", UNPACK, str(slices.one_page(work))])
    if start is None:
        print("This machine does not count instructions.\n")
        return

    def job_of(dump: Path, kind: str) -> int:
        flags = (f"--dumps={dump}", "--templates=builtin", f"--engine={kind}")
        output = f"--output={fresh(work / 'instructions')}"
        return instructions(wikianchor("sentences", *flags, output)) or 0

    starts = {kind: job_of(slices.one_page(work), kind) for kind in ENGINES}
    rows: list[list[Any]] = []
    for name, dump in dumps.items():
        bare = (instructions([sys.executable, "-c", UNPACK, str(dump)]) or 0) - start
        rows.append([name, bare / 1e9, *((job_of(dump, kind) - starts[kind]) / bare for kind in ENGINES)])
    rows.append(["mean", "", *(mean(row[column] for row in rows) for column in (2, 3))])
    text = table(["language", "bz2, billions", "python job", "core job"], rows)
    report("sentences against bz2 decompression, in instructions", f"{text}\n\nLess the start, in multiples of bz2.")


def page_elements(dump: Path) -> list[bytes]:
    """Return the page elements of a dump."""
    path = str(dump)
    part = Range(path, 0, dump.stat().st_size, True)
    return [raw for raw, _ in cut_pages(read_range(part), path)]


def unpack(path: Path) -> int:
    """Decompress a file, 4 MB at a time, and return its size in bytes."""
    openers: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open}
    with openers.get(path.suffix, open)(path, "rb") as file:
        return sum(map(len, iter(lambda: file.read(4 << 20), b"")))


def engine(kind: str, site: Site, elements: Sequence[bytes]) -> float:
    """Return the CPU of a new engine for all pages of a dump, from the page elements to the columns of all tables."""
    options = DumpReader(
        site, Workspace("", "", ""), "rules", "wikianchor", allow_truncated=False, fragments=True, engine=kind
    )
    reader = make_page_reader(options)
    tables = reader.new_tables()

    def read() -> None:
        for raw in elements:
            if (page := reader.parse(raw, "the dump", Counter(), [])) is not None:
                reader.read_page(page)
        for columns in tables:
            columns.take()

    # Garbage of earlier cases is not collected in its time.
    gc.collect()
    return seconds(read)


# --------------------------------------------------------------------------------------------------- wikitext in memory

# Reads {"title", "text"} a line, calls `read` on each, and prints the seconds of that.
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
    """An extractor: the code that defines `read(title, text)`, the multiple of its speed that is the target, and what
    it returns."""

    setup: str
    target: int
    output: str


IN_MEMORY = {
    "wikianchor": Tool(
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


def compare_parsers(arguments: Namespace) -> None:
    """Print the engine against the other extractors on the same pages."""
    homes = install(arguments.venvs, PYPI)
    pythons = {"wikianchor": Path(sys.executable)} | {name: home / "bin/python" for name, home in homes.items()}
    rows: list[list[Any]] = []
    for language in arguments.languages or sorted(slices.SLICES):
        texts = random_articles(generate.read_source(slices.paths(language)), arguments.pages)
        pages = arguments.work / f"parsers-{language}.ndjson"
        pages.parent.mkdir(parents=True, exist_ok=True)
        pages.write_text("".join(json.dumps({"title": title, "text": text}) + "\n" for text, title in texts), "utf-8")
        size = sum(len(text.encode()) for text, _ in texts) / 1e6
        cases = {name: partial(timed, python, name, pages, language) for name, python in pythons.items()}
        times = list(rounds_of(arguments.rounds, cases).values())
        speeds = [size / median(column) for column in times]
        rows.append([language, len(texts), size, *speeds, *(ratio(column, times[0]) for column in times[1:])])
    rows.append(["mean", "", "", *(mean(row[column] for row in rows) for column in range(3, len(rows[0])))])
    others = list(pythons)[1:]
    rows.append(["target", *[""] * (3 + len(others)), *(IN_MEMORY[name].target for name in others)])
    head = ["language", "pages", "MB", *(f"{name}, MB / CPU s" for name in pythons), *(f"times {n}" for n in others)]
    notes = "\n".join(f"- {name}: {IN_MEMORY[name].output}" for name in pythons)
    report("parsers: our engine and other extractors", f"{table(head, rows)}\n\n{notes}")


def timed(python: Path, name: str, pages: Path, language: str) -> float:
    """Return the user CPU of an extractor for pages, without its start."""
    command = [str(python), "-c", _TIMED.format(setup=IN_MEMORY[name].setup), str(pages), language]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1])


def random_articles(source: generate.Source, pages: int) -> list[tuple[str, str]]:
    """Return wikitext and title of random articles of a slice."""
    articles = list(filter(is_article, source.pages))
    chosen = random.Random(1).sample(articles, min(pages, len(articles)))
    return [(page.text.translate(dict.fromkeys({*range(32)} - {9, 10})), page.title) for page in chosen]


def compare_agreement(arguments: Namespace) -> None:
    """Print the speed of both parsers, and on how many links they agree."""
    names = arguments.languages or sorted(slices.SLICES)
    rows = [agreement(language, arguments.rounds, arguments.pages) for language in names]
    head = ["language", "pages", "links", *(f"{name}, MB / CPU s" for name in PARSERS), "times", "agreement"]
    report("parsers: our engine and mwparserfromhell", table(head, rows))


def agreement(language: str, rounds: int, pages: int) -> list[Any]:
    """Return the row of a language."""
    source = generate.read_source(slices.paths(language))
    texts = random_articles(source, pages)
    extracts: dict[str, list[Extract]] = {}

    def extract(name: str) -> float:
        extractor = make_extractor(name, source.site)
        gc.collect()
        return seconds(lambda: extracts.update({name: [extractor.extract(*page) for page in texts]}))

    times = rounds_of(rounds, {name: partial(extract, name) for name in PARSERS})
    either = both = 0
    for ours, theirs in zip(*(map(links, extracts[name]) for name in PARSERS), strict=True):
        either, both = either + (ours | theirs).total(), both + (ours & theirs).total()
    size = sum(len(text.encode()) for text, _ in texts) / 1e6
    speeds = [size / median(times[name]) for name in PARSERS]
    slower = ratio(*(times[name] for name in reversed(PARSERS)))
    return [language, len(texts), either, *speeds, slower, f"{both / either:.4f}"]


def links(extract: Extract) -> Counter[tuple[str, str]]:
    """Return what each link to an article shows and where it leads."""
    places = zip(extract.links.starts, extract.links.ends, extract.links.targets, strict=True)
    return Counter((extract.text[start:end], target) for start, end, target in places)


# ----------------------------------------------------------------------------------------------- the dump of next month

PAGES = re.compile(rb"  <page>.*?</page>\n", re.DOTALL)
PER_STREAM, CHANGED_EVERY = 100, 20


def compare_previous(arguments: Namespace) -> None:
    """Print `--previous` against a full build, for each packing."""
    work, language = arguments.work, (arguments.languages or ["uk"])[0]
    xml = bz2.decompress(slices.dump(work, language, 5 * arguments.megabytes).read_bytes())
    start = slices.one_page(work)
    rows: list[list[Any]] = []
    for packing in ("bz2", "gz", "plain"):
        old, new = (packed(work, xml, packing, month) for month in (1, 2))
        last = work / "previous-old"
        job("sentences", last, f"--dumps={old}")
        cases: dict[str, Callable[[], float]] = {
            "full": partial(job, "sentences", work / "previous-full", f"--dumps={new}"),
            "previous": partial(job, "sentences", work / "previous-new", f"--dumps={new}", f"--previous={last}"),
            "start": partial(sentences, work, start),
            "unpacking": partial(seconds, partial(unpack, new)),
        }
        times = rounds_of(arguments.rounds, cases)
        same = digest(work / "previous-full") == digest(work / "previous-new")
        full, again = times["full"], times["previous"]
        net = [less(of, times["start"]) for of in (full, again)]
        rest = [less(of, times["unpacking"]) for of in net]
        cells = [len(xml) / 1e6, median(full), median(again), ratio(full, again), ratio(*net)]
        rows.append([packing, *cells, median(times["unpacking"]), ratio(*rest), "yes" if same else "NO"])
    head = ["packing", "MB of XML", "full, CPU s", "--previous, CPU s", "times less", "both less start"]
    head += ["unpacking, CPU s", "both less start and unpacking", "same bytes"]
    report("sentences of a dump that differs by 5 % from the last", table(head, rows) + "\n\nTarget: 5 times less.")


def packed(work: Path, xml: bytes, packing: str, month: int) -> Path:
    """Write the dump of a month as multistream bz2, gzip or plain XML."""
    pages = PAGES.findall(xml)
    head, end = xml[: xml.index(pages[0])], b"</mediawiki>\n"
    if month == 2:
        pages = [page if number % CHANGED_EVERY else changed(page) for number, page in enumerate(pages)]
    path = work / f"previous-{month}-pages-articles.xml{'' if packing == 'plain' else f'.{packing}'}"
    if packing == "bz2":
        streams = [b"".join(pages[first : first + PER_STREAM]) for first in range(0, len(pages), PER_STREAM)]
        data = b"".join(bz2.compress(stream) for stream in (head, *streams, end))
    else:
        data = head + b"".join(pages) + end
        data = gzip.compress(data, 6, mtime=0) if packing == "gz" else data
    path.write_bytes(data)
    return path


def changed(page: bytes) -> bytes:
    """Return a page at another revision, with one sentence more."""
    page = re.sub(rb"(<revision>\s*<id>)(\d+)", lambda match: match[1] + b"9" + match[2], page, count=1)
    return page.replace(b"</text>", b"\n\nOne more sentence about the [[Moon]] was added here.\n</text>", 1)


# ------------------------------------------------------------------------------------------------------------- Wikidata


def compare_entities(arguments: Namespace) -> None:
    """Print `entities` against decompression."""
    work, language = arguments.work, (arguments.languages or ["en"])[0]
    files = {ending: wikidata(work, language, ending, arguments.lines) for ending in ("gz", "bz2")}

    def entities(path: Path, wiki: str) -> float:
        return job("entities", work / "entities", f"--wikidata={path}", f"--wikis={wiki}")

    # A file of the types alone, whose pages are of enwiki, measures the start.
    cases: dict[str, Callable[[], float]] = {"start": partial(entities, wikidata(work, language, "gz", 0), "enwiki")}
    for ending, path in files.items():
        cases[f"{ending}: bare"] = partial(seconds, partial(unpack, path))
        cases[f"{ending}: job"] = partial(entities, path, f"{language}wiki")
    times = rounds_of(arguments.rounds, cases)
    rows: list[list[Any]] = []
    size = unpack(files["gz"]) / 1e6
    for ending in files:
        bare, whole = times[f"{ending}: bare"], times[f"{ending}: job"]
        net = less(whole, times["start"])
        cells = [size, median(bare), median(whole), size / median(net), ratio(whole, bare), ratio(net, bare)]
        rows.append([ending, *cells])
    head = ["packing", "MB of JSON", "unpack, CPU s", "job, CPU s", "MB / CPU s", "job / unpack", "less start / unpack"]
    report("entities against decompression", f"{table(head, rows)}\n\nStart: {median(times['start']):.2f} CPU s.")


def wikidata(work: Path, language: str, ending: str, lines: int) -> Path:
    """Return a stand-in for Wikidata with three items without a page for each with one; write it unless it exists."""
    path = work / f"wikidata-{lines}x10000-{language}.json.{ending}"
    if not path.exists():
        unfinished = path.with_name(f"unfinished-{path.name}")
        dump = slices.dump(work, language, stubs=True)
        items = islice(generate.items_of(generate.articles([str(dump)])), lines // 4)
        generate.write_items(items, unfinished, line_bytes=10_000, others=3)
        unfinished.rename(path)
    return path


PARTS: dict[str, Callable[[Namespace], None]] = {
    "bz2": compare_bz2,
    "parsers": compare_parsers,
    "agreement": compare_agreement,
    "previous": compare_previous,
    "entities": compare_entities,
}

if __name__ == "__main__":
    main()
