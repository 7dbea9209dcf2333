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

import re
import sys
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from lib import mediawiki, slices
from lib.measure import report, run_parts, table
from lib.mediawiki import (
    HOLE,
    JOINED,
    REASONS,
    SAME,
    Dump,
    Page,
    Rendered,
    add_agreement,
    judge_all,
    per_cent,
    rates,
    rows_of,
    sentences_of,
    show_some,
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
    totals: dict[str, Counter[str]] = {}
    for wiki, (site, pages) in sorted(articles(slices.data() / "wikipedia-xml").items()):
        if pages and wiki in (arguments.wikis or [wiki]):
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
        titles = titles_of_templates(dump)
        name = f"templates-{dump.name}"
        truth = mediawiki.judged(arguments, name, dump.site.language, dump.articles, dump.templates)
        pages = {
            title: Rendered(answer["blocks"], not calls_of(dump.articles[title], dump.site) <= titles)
            for title, answer in truth.items()
        }
        for templates in ("builtin", "dump"):
            dataset = sentences_of(dump, arguments.work / f"templates-{templates}", f"--templates={templates}")
            judged = judge_all(pages, rows_of(dataset, "sentences", "title", "text"))
            show_some(f"{dump.name}, {templates}", [line for line in judged if line[0] != SAME], arguments.show)
            counts, kept = Counter(reason for reason, _, _ in judged), len(judged)
            lost = dataset.ledger[dump.site.wiki]["sentences"].get("template", 0)
            shares = [per_cent(lost, lost + kept), per_cent(counts[SAME], kept)]
            lines.append([dump.name, len(titles), templates, kept, *shares, *(counts[reason] for reason in REASONS)])
    head = ["wiki", "templates", "read by", "sentences kept", "lost to templates, %", "word for word, %", *REASONS]
    report("templates", table(head, lines))


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
        templates = titles_of_templates(dump)
        truth = html_of(arguments, dump)
        dataset = sentences_of(dump, arguments.work / "documents", "--documents")
        total: Counter[str] = Counter()
        differing: list[tuple[str, str, Any]] = []
        for title, text, *parts in rows_of(dataset, "documents", *columns):
            if title not in truth:
                continue
            total["pages"] += 1
            sides = sides_of(dump, title, truth[title], text, *parts)
            if not calls_of(dump.articles[title], dump.site) <= templates:
                sides = {"heading": sides["heading"]}
            for kind, (theirs, ours) in sides.items():
                add_agreement(total, kind, theirs, ours)
                differing += [(title, f"no {kind}", each) for each in theirs - ours]
                if kind in ("heading", "paragraph"):
                    differing += [(title, f"{kind} of ours", each) for each in ours - theirs]
        show_some(dump.name, differing, arguments.show)
        shares = [f"{rate:.4f}" for rate in rates(total, "heading", "paragraph")]
        recalls = [f"{rates(total, kind)[0]:.4f} of {total[f'{kind} theirs']:,}" for kind in ("own paragraph", "link")]
        sizes = total["heading theirs"], total["paragraph theirs"]
        lines.append([dump.name, total["pages"], sizes[0], *shares[:2], sizes[1], *shares[2:], *recalls])
    head = ["wiki", "pages", "headings", "recall", "precision", "paragraphs", "recall", "precision", "recall, own"]
    targets = f"Targets: headings {HEADINGS}, paragraphs {PARAGRAPHS}, links {ALL_LINKS}."
    report("documents", f"{table([*head, 'links'], lines)}\n\n{targets}")


def html_of(arguments: Namespace, dump: Dump) -> dict[str, str]:
    """Return the HTML of the articles of a dump, by title."""
    name = f"documents-{dump.name}"
    truth = mediawiki.judged(arguments, name, dump.site.language, dump.articles, dump.templates)
    return {title: answer["html"] for title, answer in truth.items() if answer["html"] is not None}


def sides_of(
    dump: Dump, title: str, html: str, text: str, sections: Any, blocks: Any, links: Any
) -> dict[str, tuple[Counter[Any], Counter[Any]]]:
    """Return what MediaWiki shows of an article and what its document has, by kind."""
    page = Page(html)
    paragraphs = Counter(map(without_blanks, page.paragraphs))
    own = own_paragraphs(paragraphs, dump.articles[title])
    ours = Counter(
        without_blanks(text[block["start"] : block["end"]])
        for block in blocks
        if block["kind"] in ("paragraph", "quotation")
    )
    # Of a formula alone.
    ours.pop("", None)
    return {
        "heading": (
            page.headings,
            Counter((section["level"], without_blanks(section["title"])) for section in sections),
        ),
        "paragraph": (paragraphs, ours),
        "own paragraph": (own, ours),
        "link": (paragraph_links(dump, title, own, page), document_links(dump, title, text, links)),
    }


def paragraph_links(dump: Dump, title: str, own: Counter[str], page: Page) -> Counter[tuple[str, str]]:
    """Return the links of own paragraphs to other articles of the wiki: their target and their text."""
    links: Counter[tuple[str, str]] = Counter()
    for text, given in zip(page.paragraphs, page.links, strict=True):
        for name, anchor in given if without_blanks(text) in own else ():
            target = parse_target(name, dump.site)
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
        titles, truth = titles_of_templates(dump), html_of(arguments, dump)
        dataset = sentences_of(dump, arguments.work / "prose", "--documents")
        kept: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for title, text, region in rows_of(dataset, "sentences", "title", "text", "region"):
            kept[title].append((text, region))
        total: Counter[str] = Counter()
        differing: list[tuple[str, str, str]] = []
        for title, text, blocks in rows_of(dataset, "documents", "title", "text", "blocks"):
            if title not in truth:
                continue
            ours = [(block["kind"], text[block["start"] : block["end"]]) for block in blocks]
            page = Page(_TRANSLATE.sub("", truth[title]))
            wikitext = dump.articles[title]
            missing = add_prose(total, wikitext, page, ours, kept[title])
            differing += [("lost", title, " ".join(words)) for words in missing if words.total() >= MANY_WORDS]
            rendered = Rendered(page.blocks, not calls_of(wikitext, dump.site) <= titles)
            judged = judge_all({title: rendered}, ((title, sentence) for sentence, _ in kept[title]))
            total.update(reason for reason, _, _ in judged)
            differing += [line for line in judged if line[0] in (HOLE, JOINED)]
        show_some(dump.name, differing, arguments.show)
        shares = [per_cent(total[f"{kind} found"], total["words"]) for kind in ("text", "kept")]
        bounds = [per_cent(total[kind], total["paragraphs"]) for kind in ("bounds", "blanks")]
        sentences = sum(map(len, kept.values()))
        same = per_cent(total[SAME], sentences - total["template unknown"])
        lines.append([dump.name, total["words"], *shares, *bounds, sentences, same, total[JOINED], total[HOLE]])
        ledger = dataset.ledger[dump.site.wiki]["sentences"]
        losses[dump.name] = Counter({reason.removeprefix("fragment:"): number for reason, number in ledger.items()})
    head = ["wiki", "words of prose", "in the text, %", "in kept sentences, %", "cut or joined, %", "blanks, %"]
    head += ["sentences kept", "word for word, %", "across", "holes"]
    reasons = [reason for reason, _ in sum(losses.values(), Counter[str]()).most_common() if reason != "kept"]
    rows_of_losses = [
        [name, *(per_cent(loss[reason], loss.total()) for reason in reasons)] for name, loss in losses.items()
    ]
    targets = f"Targets: {PROSE} % of the words in the text, no holes, {WORD_FOR_WORD} % word for word."
    report("prose", f"{table(head, lines)}\n\n{targets}\n\n{table(['left out, %', *reasons], rows_of_losses)}")


def add_prose(
    total: Counter[str],
    wikitext: str,
    page: Page,
    ours: list[tuple[str, str]],
    kept: list[tuple[str, str]],
) -> Iterator[Counter[str]]:
    """Add to `total` how much of the prose of a page we have; yield the words of paragraphs that we have not.

    Args:
        total: words of own paragraphs, those of them that our text and kept sentences have, and differing paragraphs.
        wikitext: that of the page.
        page: what MediaWiki shows of it.
        ours: our blocks, as kind and text.
        kept: our sentences, as text and region.
    """
    paragraphs = [each for each in page.paragraphs if own_paragraphs(Counter([without_blanks(each)]), wikitext)]
    blocks = Counter(without_blanks(text) for kind, text in ours if kind != "heading")
    spaced = {mediawiki.fold(text.replace(MISSING, "")) for _, text in ours}
    missing: list[Counter[str]] = []
    for paragraph in paragraphs:
        unspaced, words = without_blanks(paragraph), Counter(_WORD.findall(paragraph))
        total["words"] += words.total()
        if blocks[unspaced]:
            blocks[unspaced] -= 1
            total["text found"] += words.total()
            total["blanks"] += paragraph not in spaced
        else:
            missing.append(words)
    others = " ".join(text for kind, text in ours if kind != "heading" and blocks[without_blanks(text)])
    rest = Counter(_WORD.findall(others))
    for words in missing:
        total["text found"] += (words & rest).total()
        yield words - rest
        rest -= words
    words_kept = Counter(_WORD.findall(" ".join(text for text, region in kept if region != "list")))
    total["kept found"] += (Counter(_WORD.findall(" ".join(paragraphs))) & words_kept).total()
    # Paragraphs that MediaWiki shows with other bounds.
    shown = set(map(without_blanks, (*page.paragraphs, *page.blocks)))
    together = "".join(map(without_blanks, page.blocks))
    texts = [without_blanks(text) for kind, text in ours if kind in ("paragraph", "quotation")]
    total["paragraphs"] += len(texts)
    total["bounds"] += sum(text not in shown and text in together for text in texts)


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
            "--wikis": ([], "database names, of `mediawiki` (all)"),
        },
        rounds=1,
    )
