"""What `wikianchor` extracts of real pages, against what MediaWiki shows.

    WIKIANCHOR_DATA=data python benchmarks/rightness.py mediawiki --judge=RENDER --mediawiki=DIR
    python benchmarks/rightness.py templates --judge=RENDER --mediawiki=DIR
    python benchmarks/rightness.py documents --judge=RENDER --mediawiki=DIR
    python benchmarks/rightness.py prose --judge=RENDER --mediawiki=DIR

- `mediawiki`: `wikianchor extract --blank_templates` on all articles below $WIKIANCHOR_DATA/wikipedia-xml. The judge
  (`lib/mediawiki.py`) shows every template blank. Links are equal when target and anchor are; characters are those of
  equal blocks of text. Links to other wikis, within the page and to itself are left out on both sides.
- `templates`: `wikianchor sentences --templates=builtin` and `dump` on each dump. The judge expands templates by the
  pages of the dump, Lua included. A kept sentence is right when it stands word for word in the text of its page;
  others count under the reason why not. A hole is a sentence without words that MediaWiki shows.
- `documents`: `wikianchor sentences --documents` on each dump. Headings are equal when text and level are, paragraphs
  when the text between <p> and </p> is, without white space and missing words. Paragraphs of pages that call a template
  that the dump lacks do not count. "Own" paragraphs have most of their words in the wikitext of the page; others are
  those of templates, such as notes that an article is a stub, which documents leave out on purpose. Links are those of
  own paragraphs to other articles of the wiki; one of documents is equal when target and text are. FreeCAD's dump is
  not compared unless it is given: its <translate> needs an extension, without which MediaWiki shows the tag.
- `prose`: `wikianchor sentences --documents` on each dump. Recall is the part of the words of own paragraphs that stand
  in the text, or in kept sentences that are no list items; a paragraph in one piece counts first. "Cut or joined" are
  paragraphs of ours that MediaWiki shows with other bounds, "blanks" equal ones with other white space, "across"
  kept sentences that reach from one block into the next. Sentences with a template that MediaWiki lacks do not count,
  nor do the tags <translate> of FreeCAD's wiki, which MediaWiki shows without their extension.
  A second table has what is left out by its reason.
"""

import json
import random
import re
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from typing import Any

from lib import mediawiki, slices
from lib.measure import job, report, run_parts, table
from lib.mediawiki import (
    HOLE,
    JOINED,
    REASONS,
    SAME,
    Dump,
    Rendered,
    add_agreement,
    rates,
    rows_of,
    without_blanks,
)

from tests.real_pages import articles
from wikianchor.pipelines.commands.extract.command import shown_page
from wikianchor.pipelines.text.writing import MISSING
from wikianchor.pipelines.wikimedia.pages import CONTROLS
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.titles import parse_target
from wikianchor.pipelines.wikimedia.wikitext import Extractor
from wikianchor.pipelines.wikimedia.wikitext.definitions import template_title
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import FUNCTIONS

# Wikis with fewer links than this are summed up in one row, unless they miss a target.
SMALL = 1_000
KINDS = ("links", "characters")
LINKS, ALL_LINKS, CHARACTERS = 0.997, 0.999, 0.99
HEADINGS, PARAGRAPHS = 0.999, 0.99
# Letters of a paragraph that are looked up in wikitext together.
PIECE = 8
# Of `prose`: percentages, and the number of missing words of a paragraph that is printed.
PROSE, WORD_FOR_WORD, MANY_WORDS = 98, 99.5, 3
# A word, or an ideograph.
_IDEOGRAPHS = "\u2e80-\u9fff\uac00-\ud7a3"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+")
_LETTERS, _TRANSLATE = re.compile(r"\w+"), re.compile("&lt;/?translate&gt;")


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


def compare(site: Site, pages: dict[str, str], truth: dict[str, Any]) -> Counter[str]:
    """Return counts of links and characters of MediaWiki, of ours, and of both."""
    extractor, total = Extractor(site, literal=True), Counter(pages=len(truth))
    for title, answer in truth.items():
        text = pages[title].encode().translate(None, CONTROLS).decode()
        shown = shown_page(extractor.extract(text, title), title, "")
        add_agreement(total, "links", mediawiki.links_of(answer), mediawiki.links_of(shown))
        add_agreement(total, "characters", blocks_of(answer), blocks_of(shown), size=len)
    return total


def blocks_of(page: dict[str, Any]) -> Counter[str]:
    """Return the blocks of text of a page."""
    return Counter(filter(None, map(mediawiki.with_plain_digits, page["blocks"])))


def rows(totals: dict[str, Counter[str]]) -> Iterator[list[object]]:
    """Yield the rows of the table: wikis by their number of links, the small ones together, all together."""
    small: Counter[str] = Counter()
    number = 0
    for wiki, total in sorted(totals.items(), key=lambda pair: -pair[1]["links theirs"]):
        shares = rates(total, *KINDS)
        if total["links theirs"] >= SMALL or min(shares[:2]) < LINKS or min(shares[2:]) < CHARACTERS:
            yield _row(wiki, total)
        else:
            small, number = small + total, number + 1
    yield _row(f"{number} more", small)
    yield _row("all", sum(totals.values(), Counter()))


def _row(name: str, total: Counter[str]) -> list[object]:
    shares = [f"{rate:.4f}" for rate in rates(total, *KINDS)]
    return [name, total["pages"], total["links theirs"], *shares[:2], total["characters theirs"], *shares[2:]]


# ------------------------------------------------------------------------------------------------------------ templates

_CALL = re.compile(r"\{\{\s*([^{}|\n]+)")


def compare_templates(arguments: Namespace) -> None:
    """Print how many kept sentences stand in the pages that MediaWiki shows, for each way to read templates."""
    lines: list[list[object]] = []
    for dump in (mediawiki.read_dump(*given) for given in slices.given_or_whole(arguments.dumps)):
        rendered, known = rendered_pages(arguments, dump)
        for templates in ("builtin", "dump"):
            output = arguments.work / f"templates-{templates}"
            flags = (
                f"--dumps={dump.path}",
                f"--wikis={dump.site.wiki}",
                f"--templates={templates}",
                "--allow_truncated",
            )
            job("sentences", output, *flags)
            judged = [
                (rendered[title].judge(text), title, text)
                for title, text in rows_of(output, "sentences", "title", "text")
                if title in rendered
            ]
            differing = [line for line in judged if line[0] != SAME]
            for line in sorted(random.Random(1).sample(differing, min(arguments.show, len(differing)))):
                print(f"{dump.name}, {templates}: {': '.join(line)}", file=sys.stderr)
            ledger = next(iter(json.loads((output / "manifest.json").read_text())["ledger"].values()))
            counts, lost = Counter(reason for reason, _, _ in judged), ledger["sentences"].get("template", 0)
            kept = len(judged)
            shares = [f"{100 * part / max(1, of):.2f}" for part, of in ((lost, lost + kept), (counts[SAME], kept))]
            lines.append([dump.name, known, templates, kept, *shares, *(counts[reason] for reason in REASONS)])
    head = ["wiki", "templates", "read by", "sentences kept", "lost to templates, %", "word for word, %", *REASONS]
    report("templates", table(head, lines))


def rendered_pages(arguments: Namespace, dump: Dump) -> tuple[dict[str, Rendered], int]:
    """Return the articles of a dump as MediaWiki shows them, by title, and the number of templates in the dump."""
    titles = titles_of_templates(dump)
    truth = mediawiki.judged(arguments, f"templates-{dump.name}", dump.site.language, dump.articles, dump.templates)
    rendered: dict[str, Rendered] = {}
    for title, answer in truth.items():
        rendered[title] = Rendered(answer["blocks"], not calls_of(dump.articles[title], dump.site) <= titles)
    return rendered, len(titles)


def titles_of_templates(dump: Dump) -> set[str]:
    """Return the titles of the templates of a dump, without the namespace."""
    return {template_title(title, dump.site) for title in dump.templates}


def calls_of(text: str, site: Site) -> set[str]:
    """Return the titles of the templates that wikitext calls."""
    names = {match[1].strip() for match in _CALL.finditer(text)}
    return {called for name in names if not is_function(name) and (called := template_title(name, site))}


def is_function(name: str) -> bool:
    """Return whether a call is one of a parser function or magic word, by its name."""
    head = name.partition(":")[0].strip()
    return head.isupper() or head.lower() in FUNCTIONS


# ------------------------------------------------------------------------------------------------------------ documents


def compare_documents(arguments: Namespace) -> None:
    """Print how many headings and paragraphs of documents are those of MediaWiki."""
    columns = ("title", "text", "sections", "blocks", "links")
    lines: list[list[object]] = []
    chosen = [given for given in slices.given_or_whole(arguments.dumps) if arguments.dumps or given[0] is None]
    for dump in (mediawiki.read_dump(*given) for given in chosen):
        name, templates = f"documents-{dump.name}", titles_of_templates(dump)
        truth = mediawiki.judged(arguments, name, dump.site.language, dump.articles, dump.templates)
        output = arguments.work / "documents"
        flags = (f"--dumps={dump.path}", f"--wikis={dump.site.wiki}", "--documents", "--allow_truncated")
        job("sentences", output, *flags)
        total: Counter[str] = Counter()
        differing: list[tuple[str, str, Any]] = []
        for title, text, sections, blocks, links in rows_of(output, "documents", *columns):
            html = truth.get(title, {}).get("html")
            if html is None:
                continue
            theirs = mediawiki.structure_of(html)
            ours: tuple[Counter[Any], Counter[Any]] = (
                Counter((section["level"], without_blanks(section["title"])) for section in sections),
                Counter(
                    without_blanks(text[block["start"] : block["end"]])
                    for block in blocks
                    if block["kind"] in ("paragraph", "quotation")
                ),
            )
            # Of a formula alone.
            ours[1].pop("", None)
            total["pages"] += 1
            kinds = ["headings"]
            if calls_of(dump.articles[title], dump.site) <= templates:
                kinds.append("paragraphs")
                own = own_paragraphs(theirs[1], dump.articles[title])
                add_agreement(total, "own", own, ours[1])
                of_both = paragraph_links(dump, title, own, html), document_links(dump, title, text, links)
                add_agreement(total, "links", *of_both)
                differing += [(title, "no link", each) for each in of_both[0] - of_both[1]]
            for kind, of_theirs, of_ours in zip(kinds, theirs, ours, strict=False):
                add_agreement(total, kind, of_theirs, of_ours)
                differing += [(title, f"no {kind[:-1]}", each) for each in of_theirs - of_ours]
                differing += [(title, f"{kind[:-1]} of ours", each) for each in of_ours - of_theirs]
        for difference in sorted(random.Random(1).sample(differing, min(arguments.show, len(differing)))):
            print(f"{dump.name}: {difference}", file=sys.stderr)
        shares = [f"{rate:.4f}" for rate in rates(total, "headings", "paragraphs")]
        parts = [f"{rates(total, kind)[0]:.4f} of {total[f'{kind} theirs']:,}" for kind in ("own", "links")]
        counts = [
            total["pages"],
            total["headings theirs"],
            *shares[:2],
            total["paragraphs theirs"],
            *shares[2:],
            *parts,
        ]
        lines.append([dump.name, *counts])
    head = [
        "wiki",
        "pages",
        "headings",
        "recall",
        "precision",
        "paragraphs",
        "recall",
        "precision",
        "recall, own",
        "links",
    ]
    targets = f"Targets: headings {HEADINGS}, paragraphs {PARAGRAPHS}, links {ALL_LINKS}."
    report("documents", f"{table(head, lines)}\n\n{targets}")


def paragraph_links(dump: Dump, title: str, own: Counter[str], html: str) -> Counter[tuple[str, str]]:
    """Return the links of own paragraphs to other articles of the wiki: their target and their text."""
    links: Counter[tuple[str, str]] = Counter()
    for text, pages in mediawiki.linked_paragraphs(html):
        for page, anchor in pages if text in own else ():
            target = parse_target(page, dump.site)
            if target and anchor and not target.namespace and not target.interwiki and target.title not in ("", title):
                links[target.title, anchor] += 1
    return links


def document_links(dump: Dump, title: str, text: str, links: Any) -> Counter[tuple[str, str]]:
    """Return the links of a document, in all of its blocks."""
    return Counter(
        (link["target"], without_blanks(text[link["start"] : link["end"]]))
        for link in links
        if link["wiki"] == dump.site.wiki and link["target"] != title
    )


def own_paragraphs(paragraphs: Counter[str], wikitext: str) -> Counter[str]:
    """Return the paragraphs of a page, without white space, of which most pieces stand in its wikitext.

    >>> own_paragraphs(Counter({"Thebusstopshere.": 1, "Thisisastub.": 1}), "The [[bus]] stops here.")
    Counter({'Thebusstopshere.': 1})
    """
    source = "".join(_LETTERS.findall(wikitext))

    def is_own(text: str) -> bool:
        letters = "".join(_LETTERS.findall(text))
        pieces = [letters[start : start + PIECE] for start in range(0, max(1, len(letters) - PIECE + 1), PIECE)]
        return 2 * sum(piece in source for piece in pieces) >= len(pieces)

    return Counter({text: number for text, number in paragraphs.items() if is_own(text)})


# ----------------------------------------------------------------------------------------------------------------prose


def compare_prose(arguments: Namespace) -> None:
    """Print how much of the prose that MediaWiki shows is kept, what is lost for which reason, and how bounds agree."""
    lines: list[list[object]] = []
    losses: dict[str, Counter[str]] = {}
    more = [] if arguments.dumps else list(map(slices.whole, slices.WITH_MODULES))
    for dump in (mediawiki.read_dump(*given) for given in (*slices.given_or_whole(arguments.dumps), *more)):
        name, titles = f"documents-{dump.name}", titles_of_templates(dump)
        truth = mediawiki.judged(arguments, name, dump.site.language, dump.articles, dump.templates)
        output = arguments.work / "prose"
        flags = (f"--dumps={dump.path}", f"--wikis={dump.site.wiki}", "--documents", "--allow_truncated")
        job("sentences", output, *flags)
        kept: dict[str, list[tuple[str, str]]] = {}
        for title, text, region in rows_of(output, "sentences", "title", "text", "region"):
            kept.setdefault(title, []).append((text, region))
        total: Counter[str] = Counter()
        for title, text, blocks in rows_of(output, "documents", "title", "text", "blocks"):
            if (html := truth.get(title, {}).get("html")) is None:
                continue
            ours = [(block["kind"], text[block["start"] : block["end"]]) for block in blocks]
            theirs = mediawiki.text_of(_TRANSLATE.sub("", html))
            wikitext = dump.articles[title]
            for missing in add_prose(total, wikitext, theirs, ours, kept.get(title, [])):
                if sum(missing.values()) >= MANY_WORDS and arguments.show:
                    print(f"{dump.name}: {title}: {' '.join(missing)}", file=sys.stderr)
            rendered = Rendered(theirs[1], not calls_of(wikitext, dump.site) <= titles)
            for sentence, _ in kept.get(title, []):
                reason = rendered.judge(sentence)
                total[reason] += 1
                if reason in (HOLE, JOINED) and arguments.show:
                    print(f"{dump.name}: {title}: {reason}: {sentence}", file=sys.stderr)
        shares = [f"{100 * total[f'{kind} found'] / max(1, total['words']):.2f}" for kind in ("text", "kept")]
        sentences = sum(map(len, kept.values()))
        same = f"{100 * total[SAME] / max(1, sentences - total['template unknown']):.2f}"
        bounds = [f"{100 * total[kind] / max(1, total['paragraphs']):.2f}" for kind in ("bounds", "blanks")]
        lines.append([dump.name, total["words"], *shares, *bounds, sentences, same, total[JOINED], total[HOLE]])
        ledger = next(iter(json.loads((output / "manifest.json").read_text())["ledger"].values()))
        losses[dump.name] = Counter({reason.removeprefix("fragment:"): n for reason, n in ledger["sentences"].items()})
    head = ["wiki", "words of prose", "in the text, %", "in kept sentences, %", "cut or joined, %", "blanks, %"]
    head += ["sentences kept", "word for word, %", "across", "holes"]
    reasons = sorted(
        set().union(*losses.values()) - {"kept"}, key=lambda each: -sum(loss[each] for loss in losses.values())
    )
    rows_of_losses = [
        [name, *(f"{100 * loss[reason] / max(1, loss.total()):.2f}" for reason in reasons)]
        for name, loss in losses.items()
    ]
    targets = f"Targets: {PROSE} % of the words in the text, no holes, {WORD_FOR_WORD} % word for word."
    report("prose", f"{table(head, lines)}\n\n{targets}\n\n{table(['left out, %', *reasons], rows_of_losses)}")


def add_prose(
    total: Counter[str],
    wikitext: str,
    theirs: tuple[list[str], list[str]],
    ours: list[tuple[str, str]],
    kept: list[tuple[str, str]],
) -> Iterator[Counter[str]]:
    """Add to `total` how much of the prose of a page we have; yield the words of paragraphs that we have not.

    Args:
        total: words of own paragraphs, those of them that our text and kept sentences have, and differing paragraphs.
        wikitext: that of the page.
        theirs: the paragraphs and all blocks that MediaWiki shows, from `mediawiki.text_of`.
        ours: our blocks, as kind and text.
        kept: our sentences, as text and region.
    """
    paragraphs = [each for each in theirs[0] if own_paragraphs(Counter([without_blanks(each)]), wikitext)]
    blocks = Counter(without_blanks(text) for kind, text in ours if kind != "heading")
    spaced = Counter(mediawiki.fold(text.replace(MISSING, "")) for kind, text in ours)
    missing: list[Counter[str]] = []
    for paragraph in paragraphs:
        unspaced, words = without_blanks(paragraph), Counter(_WORD.findall(paragraph))
        total["words"] += words.total()
        if blocks[unspaced]:
            blocks[unspaced] -= 1
            total["text found"] += words.total()
            total["blanks"] += not spaced[paragraph]
        else:
            missing.append(words)
    rest = Counter[str]()
    for kind, text in ours:
        if kind != "heading" and blocks[without_blanks(text)]:
            rest.update(_WORD.findall(text))
    for words in missing:
        total["text found"] += (words & rest).total()
        yield words - rest
        rest -= words
    words_kept = Counter(_WORD.findall(" ".join(text for text, region in kept if region != "list")))
    total["kept found"] += (Counter(_WORD.findall(" ".join(paragraphs))) & words_kept).total()
    # Paragraphs that MediaWiki shows with other bounds.
    shown = Counter(map(without_blanks, (*theirs[0], *theirs[1])))
    together = "".join(map(without_blanks, theirs[1]))
    for kind, text in ours:
        if kind in ("paragraph", "quotation"):
            unspaced = without_blanks(text)
            total["paragraphs"] += 1
            total["bounds"] += not shown[unspaced] and unspaced in together


if __name__ == "__main__":
    run_parts(
        __doc__,
        {
            "mediawiki": compare_mediawiki,
            "templates": compare_templates,
            "documents": compare_documents,
            "prose": compare_prose,
        },
        {
            **mediawiki.FLAGS,
            "--dumps": ([], f"of `templates` and `documents` (whole wikis): {slices.WIKI_AND_DUMP}"),
            "--show": (0, "differing sentences, headings and paragraphs to print, of each dump"),
            "--wikis": ("", "database names, with commas between (all)"),
        },
        rounds=1,
    )
