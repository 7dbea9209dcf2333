"""What `wikianchor extract --blank_templates` shows of real pages against what MediaWiki shows of them.

    WIKIANCHOR_DATA=data python benchmarks/rightness.py --judge=RENDER --mediawiki=DIR

The judge is a program `RENDER DIR LANGUAGE < pages.ndjson > truth.ndjson` that lets MediaWiki parse each {"title",
"text"}, every template blank, and prints {"title", "blocks", "links"}; its answers are kept under --work. All articles
below $WIKIANCHOR_DATA/wikipedia-xml are compared, wiki by wiki: links, equal when target and anchor are, and the
characters of equal blocks of text. Links to other wikis, within the page and to itself are left out on both sides.
Targets: links 0.997 in each wiki and 0.999 in all, characters 0.99 in each. A second table sorts what differs.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import slices
from measure import parser, report, table

from wikianchor.io.errors import InputError
from wikianchor.io.storage import file_size
from wikianchor.pipelines.commands.extract.command import shown_page
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.sentences.steps import DumpReader, PageReader
from wikianchor.pipelines.wikimedia.dumps import Range, read_head, read_range
from wikianchor.pipelines.wikimedia.languages import is_language_edition
from wikianchor.pipelines.wikimedia.pages import CONTROLS, cut_pages
from wikianchor.pipelines.wikimedia.site import Site, site_for, site_from_header
from wikianchor.pipelines.wikimedia.wikitext import Extractor

# Wikis with fewer links than this are summed up in one row, unless they miss a target.
SMALL = 1_000
LINKS, ALL_LINKS, CHARACTERS = 0.997, 0.999, 0.99


class Difference(NamedTuple):
    """A link or block that one side has and the other has not; `ours` tells which side has it."""

    kind: str
    title: str
    content: Any
    ours: bool


def main() -> None:
    """Compare and print the tables."""
    flags = parser(__doc__, rounds=1)
    flags.add_argument("--judge", type=Path, required=True, help="program that renders pages with MediaWiki")
    flags.add_argument("--mediawiki", type=Path, required=True, help="its MediaWiki")
    flags.add_argument("--wikis", default="", help="database names, with commas between; all without it")
    arguments = flags.parse_args()
    wanted = set(filter(None, arguments.wikis.split(",")))
    totals: dict[str, Counter[str]] = {}
    classes: Counter[str] = Counter()
    for wiki, (site, pages) in sorted(articles(slices.data() / "wikipedia-xml").items()):
        if pages and (not wanted or wiki in wanted):
            truth = judged(arguments, wiki, site.language, pages)
            totals[wiki] = compare(wiki, site, pages, truth, classes)
            print(f"{wiki}: {len(pages)} pages", file=sys.stderr)
    head = ["wiki", "pages", "links", "recall", "precision", "characters", "recall", "precision"]
    targets = f"Targets: links {LINKS} in each wiki and {ALL_LINKS} in all, characters {CHARACTERS} in each."
    report("rightness", table(head, list(rows(totals))) + "\n\n" + targets)
    report("what differs", table(["what differs, and who is right", "links and blocks"], classes.most_common()))


def articles(root: Path) -> dict[str, tuple[Site, dict[str, str]]]:
    """Return the articles of each wiki by title; of two dumps that hold a page the first counts."""
    found: dict[str, tuple[Site, dict[str, str]]] = {}
    for path in sorted(str(path) for path in root.rglob("*") if path.is_file()):
        try:
            site = site_of(path)
            pages = found.setdefault(site.wiki, (site, {}))[1]
            reader = PageReader(
                DumpReader(
                    site, work=Workspace("", "", ""), splitter="rules", parser="wikianchor", allow_truncated=False
                )
            )
            for raw, _ in cut_pages(read_range(Range(path, 0, file_size(path), True)), path):
                page = reader.parse(raw, path, Counter(), [])
                if page is not None and page.redirect is None and page.text.strip():
                    pages.setdefault(page.title, page.text)
        except InputError as error:
            print(f"left out: {str(error)[:150]}", file=sys.stderr)
    return found


def site_of(path: str) -> Site:
    """Return the wiki of a dump: by its name or folder, where these tell, for some samples have no header or that of
    another wiki; else by its header."""
    name, folder = re.match(r"([a-z_]+wiki)-", Path(path).name), Path(path).parent.name.replace("-", "_") + "wiki"
    for wiki in (name[1] if name else "", folder):
        if is_language_edition(wiki):
            return site_for(wiki)
    return site_from_header(read_head(path).decode("utf-8", "replace"), None, path)


def judged(arguments: Any, wiki: str, language: str, pages: dict[str, str]) -> dict[str, Any]:
    """Return what MediaWiki shows, by title."""
    asked = b"".join(orjson.dumps({"title": title, "text": text}) + b"\n" for title, text in pages.items())
    kept: Path = arguments.work / "rightness" / f"{wiki}.ndjson"
    question = kept.with_suffix(".asked")
    if not kept.exists() or not question.exists() or question.read_bytes() != asked:
        kept.parent.mkdir(parents=True, exist_ok=True)
        command = [arguments.judge, arguments.mediawiki, language]
        kept.write_bytes(subprocess.run(command, input=asked, stdout=subprocess.PIPE, check=True).stdout)
        question.write_bytes(asked)
    answers = (orjson.loads(line) for line in kept.read_bytes().splitlines())
    return {answer["title"]: answer for answer in answers}


def compare(wiki: str, site: Site, pages: dict[str, str], truth: dict[str, Any], classes: Counter[str]) -> Counter[str]:
    """Return counts of links and characters of MediaWiki, of ours, and of both; add what differs to its classes."""
    extractor, total = Extractor(site, literal=True), Counter(pages=len(truth))
    for title, answer in truth.items():
        text = pages[title].encode().translate(None, CONTROLS).decode()
        shown = shown_page(extractor.extract(text, title), title, "")
        different: list[Difference] = []
        for kind, of, size in (("links", links_of, lambda _: 1), ("characters", blocks_of, len)):
            theirs: Counter[Any] = of(answer)
            ours: Counter[Any] = of(shown)
            sides = {"theirs": theirs, "ours": ours, "both": theirs & ours}
            total.update(
                {f"{kind} {side}": sum(size(key) * n for key, n in found.items()) for side, found in sides.items()}
            )
            different += [Difference(kind, title, key, False) for key in (theirs - ours).elements()]
            different += [Difference(kind, title, key, True) for key in (ours - theirs).elements()]
        classes.update(class_of(one, different, text) for one in different)
    return total


def links_of(page: dict[str, Any]) -> Counter[tuple[str, str]]:
    """Return the links of a page as (target, anchor): those to a page of the same wiki."""
    found: Counter[tuple[str, str]] = Counter()
    for anchor, target in page["links"]:
        target = " ".join(target.replace("_", " ").split()).strip(" :")
        if target and target not in ("SELF", page["title"]) and not target.startswith(("#", "iw:")):
            found[target, " ".join(anchor.split())] += 1
    return found


def blocks_of(page: dict[str, Any]) -> Counter[str]:
    """Return the blocks of text of a page."""
    return Counter(filter(None, (" ".join(block.split()) for block in page["blocks"])))


def class_of(one: Difference, different: Iterable[Difference], text: str) -> str:
    """Return what a difference comes of, and who is right: told from the two sides and the wikitext."""
    others = [other.content for other in different if other.kind == one.kind and other.ours != one.ours]
    if one.kind == "links":
        target, anchor = one.content
        for other_target, other_anchor in others:
            if anchor == other_anchor and target.upper() == other_target.upper():
                return "first letter that MediaWiki 1.39 capitalises and the wikis do not (ß, Georgian): ours"
            if anchor == other_anchor and ":" in target and ":" in other_target:
                return "name of a namespace or special page that a newer MediaWiki changed: either"
        return "link that one side alone sees: MediaWiki"
    if get_close_matches(one.content[:300], [other[:300] for other in others], 1, 0.5):
        return "block that reads otherwise (date of today, mistaken reference, newline in a link): MediaWiki"
    if not one.ours and one.content[:15] not in text:
        return "message of MediaWiki's own, of a mistake in the page: ours"
    return "block that one side alone sees: MediaWiki"


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


if __name__ == "__main__":
    main()
