"""`wikianchor extract`: run the wikitext parser alone, on pages from standard input or on one page of a dump.

Each line of input is JSON with "title" and "text" (wikitext); each line of output has "title", "blocks" and "links".
Blocks are the paragraphs, headings and list items that a reader of the page sees. A link is [anchor, target title];
links to other wikis, to the page itself and within it are text only. A page of a dump is printed for people to read.
"""

from __future__ import annotations

import gzip
import html
import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.output import printable_json
from wikianchor.io.storage import read_bytes
from wikianchor.pipelines.commands.extract.options import ExtractOptions
from wikianchor.pipelines.text.page_text import TextReader
from wikianchor.pipelines.text.prose import Sentence
from wikianchor.pipelines.text.writing import MISSING
from wikianchor.pipelines.wikimedia.choices import BUILTIN
from wikianchor.pipelines.wikimedia.pages import CONTROLS, Page
from wikianchor.pipelines.wikimedia.site import Site, fold_name, site_for
from wikianchor.pipelines.wikimedia.wikitext import Extract, Links
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LINE_MARKS, LIST, PREFORMATTED

if TYPE_CHECKING:
    from wikianchor.pipelines.sentences.wiki import Wiki


def run(config: ExtractOptions, beam_args: Sequence[str]) -> None:
    """Write the text of the pages on standard input, or of one page of a dump, to standard output.

    Raises:
        InputError: a line, a file or a dump is malformed.
        UsageError: the options do not say which wiki the pages are from.
    """
    wiki = open_dumps(config) if config.dumps else None
    if wiki is None or config.blank_templates:
        site = read_site(config) if wiki is None else wiki.site
        text = TextReader(site, config.parser, engine=config.engine, literal=config.blank_templates)
    else:
        text = wiki.text
    reader = PageExtractor(config, text)
    try:
        if wiki is None or config.title is None:
            if sys.stdin.isatty():
                logging.getLogger("wikianchor").info('waiting for lines {"title": "...", "text": "..."} to be typed')
            if not sum(map(sys.stdout.buffer.write, extracted(sys.stdin.buffer, reader))):
                logging.getLogger("wikianchor").warning("standard input is empty: no page was read; see --title")
        else:
            page = wiki.page(config.title)
            for shown in reader.readable(page, wiki.read(page).title is not None):
                print(shown)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the pipe has ended, such as `head`; Python would report it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_dumps(config: ExtractOptions) -> Wiki:
    """Return the wiki of the dumps that the options name."""
    # Deferred import: pyarrow takes longer than reading a few pages of standard input.
    from wikianchor.pipelines.sentences.wiki import open_wiki

    return open_wiki(
        config.dumps,
        wiki=config.wiki,
        templates=BUILTIN if config.blank_templates else config.templates,
        lua=config.lua,
        parser=config.parser,
        engine=config.engine,
    )


def read_site(config: ExtractOptions) -> Site:
    """Return the wiki that the options name without a dump.

    Raises:
        InputError: a file is malformed.
        UsageError: they name none.
    """
    if config.siteinfo is None:
        return site_for(str(config.wiki))
    # The answer of the wiki's API, of format version 1 or 2, has its namespaces.
    path, wiki = config.siteinfo, config.wiki
    data = read_bytes(path)
    try:
        query = orjson.loads(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)["query"]
        names = {int(entry["id"]): str(entry.get("*", entry.get("name", ""))) for entry in query["namespaces"].values()}
        aliases = {
            str(entry.get("*", entry.get("alias", ""))): int(entry["id"]) for entry in query.get("namespacealiases", ())
        }
        wiki_of_api = query.get("general", {}).get("wikiid")
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError) as error:
        raise InputError(
            f"--siteinfo={path}: not the answer of a wiki's API to meta=siteinfo&siprop=namespaces|namespacealiases "
            f"({type(error).__name__}: {error})"
        ) from error
    if wiki is None and not isinstance(wiki_of_api, str):
        raise UsageError(f"--siteinfo={path} does not tell its language (siprop=general would): say it with --wikis=uk")
    site = site_for(wiki or wiki_of_api)
    names = {key: html.unescape(name).replace("_", " ").strip() for key, name in names.items() if name.strip()}
    return replace(
        site,
        namespaces=dict(site.namespaces)
        | {fold_name(name): key for name, key in aliases.items()}
        | {fold_name(name): key for key, name in names.items()},
        namespace_names=dict(site.namespace_names) | names,
    )


def extracted(lines: Iterable[bytes], reader: PageExtractor) -> Iterator[bytes]:
    """Yield a line of JSON for each line of JSON.

    Raises:
        InputError: a line is malformed; the message has its number.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            title, text = _read_line(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, number)
            yield printable_json(orjson.dumps(reader.shown(title, text)).decode()).encode() + b"\n"


class _Line(msgspec.Struct):
    """A line of input."""

    title: str
    text: str


def _read_line(line: bytes, number: int) -> tuple[str, str]:
    try:
        page = msgspec.json.decode(line, type=_Line)
    except ValueError as error:
        raise InputError(
            f'standard input, line {number}: no page ({error}): each line has to be {{"title": "...", "text": "..."}}'
        ) from error
    return page.title, page.text.encode().translate(None, CONTROLS).decode()


class PageExtractor:
    """Extracts the text and the links of the pages of a wiki, with the options of the command."""

    def __init__(self, config: ExtractOptions, text: TextReader) -> None:
        self._text, self._with_sentences = text, config.sentences
        self._gap = "" if config.blank_templates else MISSING

    def shown(self, title: str, text: str) -> dict[str, Any]:
        """Return the line of a page, as a dict for JSON."""
        extract = self._text.extractor.extract(text, title)
        line = shown_page(extract, title, self._gap)
        if self._with_sentences:
            judged = self._text.outcomes(extract, text, title)
            line["sentences"] = list(shown_sentences(extract, line["blocks"], judged, self._gap))
        return line

    def readable(self, page: Page, is_article: bool = True) -> Iterator[str]:
        """Yield the lines of a page for the terminal; only of an article with its sentences."""
        yield f"{page.title}\n{'=' * len(page.title)}"
        if page.redirect is not None:
            yield f"a redirect to {page.redirect or 'another page'}"
        elif page.model not in ("wikitext", ""):
            yield f"no wikitext, but {page.model}"
        elif not self._with_sentences:
            yield from readable_blocks(self._text.extractor.extract(page.text, page.title, page.timestamp))
        elif not is_article:
            yield "no article: `wikianchor sentences` leaves it out"
        else:
            extract = self._text.extractor.extract(page.text, page.title, page.timestamp)
            yield from readable_sentences(extract, self._text.outcomes(extract, page.text, page.title))


def _links(*columns: Links) -> list[tuple[int, int, str]]:
    """Return links as (start, end, title with fragment), in the order of the page."""
    return sorted(
        (start, end, target + (f"#{fragment}" if fragment else ""))
        for links in columns
        for start, end, target, fragment in zip(links.starts, links.ends, links.targets, links.fragments, strict=True)
    )


def shown_page(extract: Extract, title: str, gap: str) -> dict[str, Any]:
    """Return the line of a page, as a dict for JSON; `gap` replaces missing words."""
    marks = _marks(gap)

    def shown(text: str) -> str:
        return " ".join(text.translate(marks).split())

    return {
        "title": title,
        "blocks": [block for line in extract.text.split("\n") if (block := shown(line))],
        "links": [
            [shown(extract.text[start:end]), target.partition("#")[0]]
            for start, end, target in _links(extract.links, extract.other_links)
        ],
    }


def _marks(gap: str) -> dict[int, str]:
    return {ord(mark): "" for mark in LINE_MARKS} | {ord(GAP): gap}


def shown_sentences(
    extract: Extract, blocks: Sequence[str], judged: Iterable[tuple[Sentence, str | None]], gap: str
) -> Iterator[dict[str, Any]]:
    """Yield the sentences of a page, as dicts for JSON, each with its offsets in its block."""
    links, marks = extract.links, _marks(gap)
    block = position = 0
    for sentence, reason in judged:
        text = sentence.text.translate(marks)
        # As in blocks, white space is folded.
        folded = " ".join(text.split())
        if not folded:
            continue
        while (start := blocks[block].find(folded, position)) < 0:
            block, position = block + 1, 0
        position = start + len(folded)
        yield {
            "text": text,
            "block": block,
            "start": start,
            "end": position,
            "region": sentence.region,
            "links": [
                {
                    "start": links.starts[index] - sentence.start,
                    "end": links.ends[index] - sentence.start,
                    "target": links.targets[index],
                    "fragment": links.fragments[index],
                }
                for index in range(sentence.first, sentence.last)
            ],
            "dropped": reason,
        }


# Characters with which the extractor marks text; the text itself does not contain them.
_INNER_MARKS = re.compile("[\x00-\x08\x0b-\x1f]")


def readable_blocks(extract: Extract) -> Iterator[str]:
    """Yield a page block by block, with its links marked."""
    names = iter(extract.gaps)
    text = _marked(extract.text, _links(extract.links, extract.other_links), 0, names)
    shown = {HEADING: ("\n== ", " =="), LIST: ("  * ", ""), PREFORMATTED: ("    ", "")}
    for line in text.split("\n"):
        if words := line.strip(LINE_MARKS + " "):
            before, after = shown.get(line[0], ("\n", ""))
            yield before + _INNER_MARKS.sub("", words) + after


def readable_sentences(extract: Extract, judged: Iterable[tuple[Sentence, str | None]]) -> Iterator[str]:
    """Yield a page sentence by sentence, with its links marked, and why it is dropped."""
    links = _links(extract.links)
    position = gaps = kept = dropped = 0
    for sentence, reason in judged:
        gaps += extract.text.count(GAP, position, sentence.start)
        position = sentence.start
        names = iter(extract.gaps[gaps : gaps + sentence.text.count(GAP)])
        text = _marked(sentence.text, links[sentence.first : sentence.last], sentence.start, names)
        kept, dropped = kept + (reason is None), dropped + (reason is not None)
        yield f"{reason or 'kept':22} {_INNER_MARKS.sub('', ' '.join(text.split()))}"
    yield f"{kept} sentences kept, {dropped} dropped"


def _marked(text: str, links: Iterable[tuple[int, int, str]], offset: int, names: Iterator[str]) -> str:
    """Mark links and gaps in a text that begins at an offset of its page; `names` are those of its gaps."""
    pieces, position = [], 0
    for start, end, target in links:
        anchor = text[max(0, start - offset) : end - offset]
        pieces.append(text[position : max(0, start - offset)])
        # The target is left out where it differs from the anchor in a capital at most.
        plain = anchor[1:] == target[1:] and anchor[:1].lower() == target[:1].lower()
        pieces.append(f"[{anchor}]" if plain else f"[{anchor} -> {target}]")
        position = end - offset
    pieces.append(text[position:])
    return re.sub(GAP, lambda gap: f"{{{next(names, '') or '...'}}}", "".join(pieces))
