"""What `wikianchor` extracts of real pages: against what MediaWiki shows, and against sentence ends that a person
judged.

    WIKIANCHOR_DATA=data python benchmarks/rightness.py mediawiki --judge=RENDER --mediawiki=DIR
    python benchmarks/rightness.py templates --judge=RENDER --mediawiki=DIR
    WIKIANCHOR_DATA=data python benchmarks/rightness.py boundaries --venv=DIR

- `mediawiki`: `wikianchor extract --blank_templates` on all articles below $WIKIANCHOR_DATA/wikipedia-xml. The judge
  (`lib/mediawiki.py`) shows every template blank. Links are equal when target and anchor are; characters are those of
  equal blocks of text. Links to other wikis, within the page and to itself are left out on both sides.
- `templates`: `wikianchor sentences --templates=builtin` and `dump` on each dump. The judge expands templates by the
  pages of the dump, Lua included. A kept sentence is right when it stands word for word in the text of its page;
  others count under the reason why not. A hole is a sentence without words that MediaWiki shows.
- `boundaries`: the share of wrong decisions at places where a sentence might end. A place is a terminator with closing
  quotes and brackets, and more of the line to come. `tests/data/sentence_boundaries.json` has the verdicts by a hash of
  the surrounding text. Other splitters (PyICU, sentencex, blingfire, pysbd) run in the environment --venv.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lib import mediawiki, slices
from lib.measure import ROOT, job, parser, report, run_parts, table
from lib.mediawiki import REASONS, SAME, Rendered

from wikianchor.io.errors import InputError
from wikianchor.io.storage import file_size
from wikianchor.pipelines.commands.extract.command import shown_page
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.sentences.page_reader import DumpReader, PageReader
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.wikimedia.dumps import Range, read_head, read_range
from wikianchor.pipelines.wikimedia.languages import is_language_edition
from wikianchor.pipelines.wikimedia.pages import CONTROLS, Page, cut_pages
from wikianchor.pipelines.wikimedia.site import Site, site_for, site_from_header
from wikianchor.pipelines.wikimedia.wikitext import Extractor
from wikianchor.pipelines.wikimedia.wikitext.definitions import template_title
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import FUNCTIONS
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, LINE_MARKS

# Wikis with fewer links than this are summed up in one row, unless they miss a target.
SMALL = 1_000
LINKS, ALL_LINKS, CHARACTERS = 0.997, 0.999, 0.99


def main() -> None:
    """Compare and print the tables."""
    flags = parser(__doc__, rounds=1, parts=list(PARTS))
    mediawiki.add_flags(flags)
    flags.add_argument("--dumps", nargs="+", default=[], help=f"of `templates` (whole wikis): {slices.WIKI_AND_DUMP}")
    flags.add_argument("--show", type=int, default=0, help="differing sentences to print, of each dump (0)")
    flags.add_argument("--wikis", default="", help="database names, with commas between (all)")
    flags.add_argument("--venv", type=Path, help="environment of the other splitters")
    run_parts(PARTS, flags)


def compare_mediawiki(arguments: Namespace) -> None:
    """Print links and characters wiki by wiki."""
    wanted = set(filter(None, arguments.wikis.split(",")))
    totals: dict[str, Counter[str]] = {}
    for wiki, (site, pages) in sorted(articles(slices.data() / "wikipedia-xml").items()):
        if pages and (not wanted or wiki in wanted):
            truth = mediawiki.judged(arguments, wiki, site.language, pages)
            totals[wiki] = compare(site, pages, truth)
            print(f"{wiki}: {len(pages)} pages", file=sys.stderr)
    head = ["wiki", "pages", "links", "recall", "precision", "characters", "recall", "precision"]
    targets = f"Targets: links {LINKS} in each wiki and {ALL_LINKS} in all, characters {CHARACTERS} in each."
    report("rightness", table(head, list(rows(totals))) + "\n\n" + targets)


def articles(root: Path) -> dict[str, tuple[Site, dict[str, str]]]:
    """Return the articles of each wiki by title; of two dumps that hold a page the first counts.

    Files that are no dumps are left out, and a damaged dump counts as far as it goes.
    """
    wikis: dict[str, tuple[Site, dict[str, str]]] = {}
    for path in sorted(str(path) for path in root.rglob("*") if path.is_file()):
        try:
            site = site_of(path)
            pages = wikis.setdefault(site.wiki, (site, {}))[1]
            reader = page_reader(site)
            for page in pages_of(reader, path):
                if page.text.strip():
                    pages.setdefault(page.title, page.text)
        except InputError as error:
            print(f"left out: {str(error)[:150]}", file=sys.stderr)
    return wikis


def page_reader(site: Site) -> PageReader:
    """Return what `sentences` reads the pages of a wiki with."""
    work = Workspace("", "", "")
    return PageReader(DumpReader(site, work, splitter="rules", parser="wikianchor", allow_truncated=False))


def pages_of(reader: PageReader, path: str) -> Iterator[Page]:
    """Yield the articles of a dump that are no redirects."""
    for raw, _ in cut_pages(read_range(Range(path, 0, file_size(path), True)), path):
        page = reader.parse(raw, path, Counter(), [])
        if page is not None and page.redirect is None:
            yield page


def site_of(path: str) -> Site:
    """Return the wiki of a dump: by its file name or folder, because some samples have no header or that of another
    wiki; else by its header."""
    name, folder = re.match(r"([a-z_]+wiki)-", Path(path).name), Path(path).parent.name.replace("-", "_") + "wiki"
    for wiki in (name[1] if name else "", folder):
        if is_language_edition(wiki):
            return site_for(wiki)
    return site_from_header(read_head(path).decode("utf-8", "replace"), None, path)


def compare(site: Site, pages: dict[str, str], truth: dict[str, Any]) -> Counter[str]:
    """Return counts of links and characters of MediaWiki, of ours, and of both."""
    extractor, total = Extractor(site, literal=True), Counter(pages=len(truth))
    for title, answer in truth.items():
        text = pages[title].encode().translate(None, CONTROLS).decode()
        shown = shown_page(extractor.extract(text, title), title, "")
        for kind, of, size in (("links", mediawiki.links_of, lambda _: 1), ("characters", blocks_of, len)):
            theirs: Counter[Any] = of(answer)
            ours: Counter[Any] = of(shown)
            for side, counts in {"theirs": theirs, "ours": ours, "both": theirs & ours}.items():
                total[f"{kind} {side}"] += sum(size(key) * number for key, number in counts.items())
    return total


def blocks_of(page: dict[str, Any]) -> Counter[str]:
    """Return the blocks of text of a page."""
    return Counter(filter(None, map(mediawiki.fold, page["blocks"])))


def rows(totals: dict[str, Counter[str]]) -> Iterator[list[object]]:
    """Yield the rows of the table: wikis by their number of links, the small ones together, all together."""
    small: Counter[str] = Counter()
    number = 0
    for wiki, total in sorted(totals.items(), key=lambda pair: -pair[1]["links theirs"]):
        rates = _rates(total)
        if total["links theirs"] >= SMALL or min(rates[:2]) < LINKS or min(rates[2:]) < CHARACTERS:
            yield _row(wiki, total)
        else:
            small, number = small + total, number + 1
    yield _row(f"{number} more", small)
    yield _row("all", sum(totals.values(), Counter()))


def _row(name: str, total: Counter[str]) -> list[object]:
    rates = [f"{rate:.4f}" for rate in _rates(total)]
    return [name, total["pages"], total["links theirs"], *rates[:2], total["characters theirs"], *rates[2:]]


def _rates(total: Counter[str]) -> list[float]:
    """Return recall and precision of links, then of characters."""
    return [
        total[f"{kind} both"] / max(1, total[f"{kind} {side}"])
        for kind in ("links", "characters")
        for side in ("theirs", "ours")
    ]


# ------------------------------------------------------------------------------------------------------------ templates

_CALL = re.compile(r"\{\{\s*([^{}|\n]+)")


def compare_templates(arguments: Namespace) -> None:
    """Print how many kept sentences stand in the pages that MediaWiki shows, for each way to read templates."""
    lines: list[list[object]] = []
    for wiki, dump in slices.given_or_whole(arguments.dumps):
        name = dump.name.partition(".")[0]
        site = site_from_header(read_head(str(dump)).decode("utf-8", "replace"), wiki, str(dump))
        rendered, known = rendered_pages(arguments, dump, name, site)
        for templates in ("builtin", "dump"):
            counts, lost, differing = judge_sentences(arguments.work, site.wiki, dump, templates, rendered)
            kept = counts.total()
            chosen = random.Random(1).sample(differing, min(arguments.show, len(differing)))
            for title, reason, text in sorted(chosen):
                print(f"{name}, {templates}: {reason}: {title}: {text}", file=sys.stderr)
            shares = [f"{100 * part / max(1, of):.2f}" for part, of in ((lost, lost + kept), (counts[SAME], kept))]
            lines.append([name, known, templates, kept, *shares, *(counts[reason] for reason in REASONS)])
    head = ["wiki", "templates", "read by", "sentences kept", "lost to templates, %", "word for word, %", *REASONS]
    report("templates", table(head, lines))


def rendered_pages(arguments: Namespace, dump: Path, name: str, site: Site) -> tuple[dict[str, Rendered], int]:
    """Return the articles of a dump as MediaWiki shows them, by title, and the number of templates in the dump."""
    articles: dict[str, str] = {}
    definitions: dict[str, str] = {}
    for page in mediawiki.pages_of(dump):
        if page.namespace in (mediawiki.TEMPLATE, mediawiki.MODULE):
            definitions[page.title] = page.text
        elif not page.namespace and page.redirect is None:
            articles[page.title] = page.text
    titles = {template_title(title, site) for title in definitions}
    truth = mediawiki.judged(arguments, f"templates-{name}", site.language, articles, definitions)
    rendered: dict[str, Rendered] = {}
    for title, answer in truth.items():
        names = {match[1].strip() for match in _CALL.finditer(articles[title])}
        calls = {called for name in names if not is_function(name) and (called := template_title(name, site))}
        rendered[title] = Rendered(answer["blocks"], not calls <= titles)
    return rendered, len(titles)


def is_function(name: str) -> bool:
    """Return whether a call is one of a parser function or magic word, by its name."""
    head = name.partition(":")[0].strip()
    return head.isupper() or head.lower() in FUNCTIONS


def judge_sentences(
    work: Path, wiki: str, dump: Path, templates: str, rendered: Mapping[str, Rendered]
) -> tuple[Counter[str], int, list[tuple[str, str, str]]]:
    """Return the number of kept sentences by what the judge says, how many are lost to templates, and those that differ
    as (title, reason, text)."""
    output = work / f"templates-{templates}"
    flags = (f"--dumps={dump}", f"--wikis={wiki}", f"--templates={templates}", "--allow_truncated")
    job("sentences", output, *flags)
    counts: Counter[str] = Counter()
    differing: list[tuple[str, str, str]] = []
    for shard in shards_of(str(output), "sentences"):
        for batch in read_batches(shard, ["title", "text"]):
            for title, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if title in rendered:
                    reason = rendered[title].judge(text)
                    counts[reason] += 1
                    if reason != SAME:
                        differing.append((title, reason, text))
    ledger = next(iter(json.loads((output / "manifest.json").read_text())["ledger"].values()))
    return counts, ledger["sentences"].get("template", 0), differing


# -------------------------------------------------------------------------------------------------------- sentence ends

VERDICTS = ROOT / "tests/data/sentence_boundaries.json"
# Letters around a place that identify it.
BEFORE, AFTER = 45, 30
_PLACE = re.compile(r"[.!?…。．｡！？।॥؟۔։:;\u037e][.!?…]*[\"'”’»“«)\]）」』】]*[^\S\n]*(?=[^\s])")
# A colon or semicolon is a terminator in few languages.
_COLONS = {"el": ";\u037e", "hy": ":"}
PEERS = ("icu", "sentencex", "blingfire", "pysbd")
# Reads {"splitter", "language", "lines"} and prints the ends that it finds in each line.
_PEER = """
import json, sys
asked = json.load(sys.stdin)
name, language = asked["splitter"], asked["language"]
if name == "icu":
    import icu
    breaker = icu.BreakIterator.createSentenceInstance(icu.Locale(language))
    def ends(line):
        breaker.setText(icu.UnicodeString(line))
        units, at, found = line.encode("utf-16-le"), 0, []
        return [len(units[: 2 * end].decode("utf-16-le")) for end in breaker]
else:
    if name == "sentencex":
        from sentencex import segment
        pieces = lambda line: list(segment(language, line))
    elif name == "blingfire":
        from blingfire import text_to_sentences
        pieces = lambda line: text_to_sentences(line).split("\\n")
    else:
        import pysbd
        from pysbd.languages import LANGUAGE_CODES
        segmenter = pysbd.Segmenter(language=language if language in LANGUAGE_CODES else "en", clean=False)
        pieces = segmenter.segment
    def ends(line):
        at, found = 0, []
        for piece in pieces(line):
            # Some give pieces with their blanks changed.
            for word in str(piece).split():
                place = line.find(word, at)
                at = place + len(word) if place >= 0 else at
            found.append(at)
        return found
print(json.dumps([ends(line) for line in asked["lines"]]))
"""

Splitter = Callable[[str, list[str]], list[list[int]]]


def compare_boundaries(arguments: Namespace) -> None:
    """Print the share of wrong decisions of our splitter and of others."""
    verdicts: dict[str, dict[str, int]] = json.loads(VERDICTS.read_text())
    pages = articles(slices.data() / "wikipedia-xml")
    splitters: dict[str, Splitter] = {"ours": ours}
    if arguments.venv:
        splitters |= {name: partial(peer, arguments.venv, name) for name in PEERS}
    lines: list[list[Any]] = []
    sums = [0.0] * (1 + len(splitters))
    for wiki in sorted(set(verdicts) & set(arguments.wikis.split(",") if arguments.wikis else verdicts)):
        counts = wrong_ends(*pages[wiki], verdicts[wiki], splitters)
        shares = [f"{100 * wrong / counts[0]:.1f}" for wrong in counts[1:]]
        lines.append([wiki, counts[0], *shares])
        sums = [total + number for total, number in zip(sums, counts, strict=True)]
    lines.append(["all", round(sums[0]), *(f"{100 * wrong / sums[0]:.1f}" for wrong in sums[1:])])
    report("boundaries", table(["wiki", "places", *(f"{name}, % wrong" for name in splitters)], lines))


def wrong_ends(
    site: Site, pages: dict[str, str], judged: dict[str, int], splitters: Mapping[str, Splitter]
) -> list[float]:
    """Return the number of judged places of a wiki, and at how many of them each splitter is wrong (NaN: not
    installed)."""
    lines = lines_of(site, pages)
    known = [place for place in all_places(lines, site.language) if place[0] in judged]
    wanted = sorted({line for _, line, _ in known})
    counts: list[float] = [len(known)]
    for splitter in splitters.values():
        ends_by_line = splitter(site.language, [lines[number] for number in wanted])
        starts = {
            (number, _next(lines[number], end))
            for number, ends in zip(wanted, ends_by_line, strict=False)
            for end in ends
        }
        wrong = sum(judged[key] != ((line, place) in starts) for key, line, place in known)
        counts.append(wrong if ends_by_line else math.nan)
    return counts


def lines_of(site: Site, pages: dict[str, str]) -> list[str]:
    """Return the paragraphs of a wiki's pages."""
    extractor = Extractor(site)
    text = "\n".join(extractor.extract(text, title).text for title, text in pages.items())
    lines = (line.replace(GAP, " ").strip() for line in text.split("\n") if line[:1] not in LINE_MARKS)
    return list(filter(None, lines))


def all_places(lines: list[str], language: str) -> Iterator[tuple[str, int, int]]:
    """Yield (hash, number of the line, offset of what follows) of every place."""
    for number, line in enumerate(lines):
        for match in _PLACE.finditer(line):
            blank = line[match.end() - 1].isspace()
            if match[0][0] in ":;\u037e" and match[0][0] not in _COLONS.get(language, ""):
                continue
            # Nobody errs at a dot within a word or number.
            if not blank and match[0][0] in ".!?…:;":
                continue
            around = line[max(0, match.end() - BEFORE) : match.end() + AFTER]
            yield hashlib.sha256(around.encode()).hexdigest()[:12], number, match.end()


def ours(language: str, lines: list[str]) -> list[list[int]]:
    """Return the ends that our rules find in each line."""
    split = make_splitter("rules", language)
    return [split(line) for line in lines]


def peer(venv: Path, name: str, language: str, lines: list[str]) -> list[list[int]]:
    """Return the ends that another splitter finds in each line; nothing where it is not installed."""
    asked = json.dumps({"splitter": name, "language": language, "lines": lines})
    ended = subprocess.run([venv / "bin/python", "-c", _PEER], input=asked, capture_output=True, text=True)
    if ended.returncode:
        print(f"{name}, {language}: left out: {ended.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return []
    ends: list[list[int]] = json.loads(ended.stdout.splitlines()[-1])
    return ends


def _next(line: str, end: int) -> int:
    return len(line) - len(line[end:].lstrip())


PARTS: dict[str, Callable[[Namespace], None]] = {
    "mediawiki": compare_mediawiki,
    "templates": compare_templates,
    "boundaries": compare_boundaries,
}

if __name__ == "__main__":
    main()
