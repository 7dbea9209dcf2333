"""`wikianchor extract`: the wikitext engine alone, for people and for checks.

Lines {"title", "text"} in, lines {"title", "blocks", "links"} out: the blocks of text that a reader of the page sees
(paragraphs, headings, list items) and the links in them as [anchor, target title], in the order of the page. Links to
other wikis, to the page itself and within it are text only; links to other namespaces carry the local namespace's name.
Or one page of a dump, to be read on the terminal.
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
from typing import Any

import orjson

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.output import printable_json
from wikianchor.io.storage import file_size, open_file
from wikianchor.pipelines.commands.extract.options import ExtractOptions
from wikianchor.pipelines.text.prose import Sentence, judged_sentences
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.wikimedia.dumps import Range, read_head, read_range
from wikianchor.pipelines.wikimedia.mwparser import make_extractor
from wikianchor.pipelines.wikimedia.page_kinds import PageKinds
from wikianchor.pipelines.wikimedia.pages import CONTROLS, Page, cut_pages, parse_page, unescape
from wikianchor.pipelines.wikimedia.site import Site, fold_name, site_for, site_from_header
from wikianchor.pipelines.wikimedia.titles import normalise_title
from wikianchor.pipelines.wikimedia.wikitext import Extract, Links
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LINE_MARKS, LIST, PREFORMATTED

# What a gap is shown as: Unicode's sign for something that stands here and is no text.
SHOWN_GAP = "\ufffc"


def run(config: ExtractOptions, beam_args: Sequence[str]) -> None:
    """Write what a reader sees of the pages on standard input, or of one page of a dump, on standard output."""
    site = read_site(config)
    reader = PageReader(config, site)
    try:
        if config.title is None:
            if sys.stdin.isatty():
                logging.getLogger("wikianchor").info('waiting for lines {"title": "...", "text": "..."} to be typed')
            for line in extracted(sys.stdin.buffer, reader):
                sys.stdout.buffer.write(line)
        else:
            for text in reader.readable(find_page(config.dumps, config.title, site)):
                print(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, `head` for one, has had enough; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def read_site(config: ExtractOptions) -> Site:
    """Return the wiki that the flags name.

    Raises:
        InputError: a file is not what its flag says.
        UsageError: they name none.
    """
    wiki = config.wiki
    if config.dumps:
        return site_from_header(read_head(config.dumps[0]).decode("utf-8", "replace"), wiki, config.dumps[0])
    if config.siteinfo is not None:
        return _site_of_api(config.siteinfo, wiki)
    if wiki is None:
        raise UsageError("say which wiki the pages are from, with --wikis=uk, --siteinfo=FILE or --dumps=FILES")
    return site_for(wiki)


def _site_of_api(path: str, wiki: str | None) -> Site:
    """Return a site with the names and aliases of namespaces that the wiki's API tells (formats 1 and 2)."""
    with open_file(path) as file:
        data = file.read()
    try:
        query = orjson.loads(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)["query"]
        names = {int(entry["id"]): str(entry.get("*", entry.get("name", ""))) for entry in query["namespaces"].values()}
        aliases = {
            str(entry.get("*", entry.get("alias", ""))): int(entry["id"]) for entry in query.get("namespacealiases", ())
        }
        told = query.get("general", {}).get("wikiid")
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError) as error:
        raise InputError(
            f"--siteinfo={path}: not the answer of a wiki's API to meta=siteinfo&siprop=namespaces|namespacealiases "
            f"({type(error).__name__}: {error})"
        ) from error
    if wiki is None and not isinstance(told, str):
        raise UsageError(f"--siteinfo={path} does not tell its language (siprop=general would): say it with --wikis=uk")
    site = site_for(wiki or told)
    names = {key: html.unescape(name).replace("_", " ").strip() for key, name in names.items() if name.strip()}
    return replace(
        site,
        namespaces=dict(site.namespaces)
        | {fold_name(name): key for name, key in aliases.items()}
        | {fold_name(name): key for key, name in names.items()},
        namespace_names=dict(site.namespace_names) | names,
    )


def find_page(dumps: Sequence[str], title: str, site: Site) -> Page:
    """Return a page of a dump by its title, which is read as one in a link is.

    Raises:
        InputError: it is not there, or the dump cannot be read.
    """
    wanted = normalise_title(title, site) or title
    for path in dumps:
        for raw, offset in cut_pages(read_range(Range(path, 0, file_size(path), True)), path):
            begin = raw.find(b"<title>") + len(b"<title>")
            if unescape(raw[begin : raw.find(b"</title>", begin)].decode("utf-8", "replace")) == wanted:
                return parse_page(raw, f"{path} near byte {offset}")
    raise InputError(f"{', '.join(dumps)}: no page has the title {wanted}: small and capital letters matter")


def extracted(lines: Iterable[bytes], reader: PageReader) -> Iterator[bytes]:
    """Yield a line of JSON for each line of JSON.

    Raises:
        InputError: a line is not what it should be; the message has its number.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            title, text = _read_line(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, number)
            yield printable_json(orjson.dumps(reader.shown(title, text)).decode()).encode() + b"\n"


def _read_line(line: bytes, number: int) -> tuple[str, str]:
    try:
        page = orjson.loads(line)
    except ValueError as error:
        problem = f"not JSON ({error})"
    else:
        if not isinstance(page, dict):
            problem = "no JSON object"
        else:
            missing = [name for name in ("title", "text") if not isinstance(page.get(name), str)]
            if not missing:
                return page["title"], page["text"].encode().translate(None, CONTROLS).decode()
            problem = f'"{missing[0]}" is {"no string" if missing[0] in page else "missing"}'
    raise InputError(f'standard input, line {number}: {problem}: each line has to be {{"title": "...", "text": "..."}}')


class PageReader:
    """Reads pages as the flags say; holds what is costly to make."""

    def __init__(self, config: ExtractOptions, site: Site) -> None:
        self._site = site
        self._gap = "" if config.blank_templates else SHOWN_GAP
        self._extractor = make_extractor(config.parser, site, config.blank_templates)
        self._split = make_splitter("rules", site.language) if config.sentences else None
        self._kinds = PageKinds(site.language)

    def shown(self, title: str, text: str) -> dict[str, Any]:
        """Return the line of a page, ready for JSON."""
        extract = self._extractor.extract(text, title)
        line = shown_page(extract, title, self._gap)
        if self._split is not None:
            judged = self._judged(extract, title, text)
            line["sentences"] = list(shown_sentences(extract, line["blocks"], judged, self._gap))
        return line

    def readable(self, page: Page) -> Iterator[str]:
        """Yield the lines in which a page is shown on the terminal."""
        yield f"{page.title}\n{'=' * len(page.title)}"
        if page.redirect is not None:
            yield f"a redirect to {page.redirect or 'another page'}"
        elif page.model not in ("wikitext", ""):
            yield f"no wikitext, but {page.model}"
        else:
            extract = self._extractor.extract(page.text, page.title)
            if self._split is None:
                yield from readable_blocks(extract)
            else:
                yield from readable_sentences(extract, self._judged(extract, page.title, page.text))

    def _judged(self, extract: Extract, title: str, text: str) -> Iterator[tuple[Sentence, str | None]]:
        """Yield the sentences of a page with the reasons why `wikianchor sentences` drops them."""
        assert self._split is not None
        disambiguation = "disambiguation" in self._kinds.flags(title, text)
        for sentence, reason in judged_sentences(extract, self._split, self._site.language):
            yield sentence, "disambiguation_page" if disambiguation else reason


def _links(*columns: Links) -> list[tuple[int, int, str]]:
    """Return links as (start, end, title with fragment), in the order of the page."""
    return sorted(
        (start, end, target + (f"#{fragment}" if fragment else ""))
        for found in columns
        for start, end, target, fragment in zip(found.starts, found.ends, found.targets, found.fragments, strict=True)
    )


def shown_page(extract: Extract, title: str, gap: str) -> dict[str, Any]:
    """Return the line of a page, ready for JSON; `gap` stands where words are missing."""
    text = extract.text
    marks = _marks(gap)
    blocks = (" ".join(line.translate(marks).split()) for line in text.split("\n"))
    return {
        "title": title,
        "blocks": [block for block in blocks if block],
        "links": [
            [" ".join(text[start:end].translate(marks).split()), target.partition("#")[0]]
            for start, end, target in _links(extract.links, extract.other_links)
        ],
    }


def _marks(gap: str) -> dict[int, str]:
    return {ord(mark): "" for mark in LINE_MARKS} | {ord(GAP): gap}


def shown_sentences(
    extract: Extract, blocks: Sequence[str], judged: Iterable[tuple[Sentence, str | None]], gap: str
) -> Iterator[dict[str, Any]]:
    """Yield the sentences of a page, ready for JSON, each with its place in the blocks."""
    links, marks = extract.links, _marks(gap)
    block = place = 0
    for sentence, reason in judged:
        text = sentence.text.translate(marks)
        # White space is folded in blocks; what stands between two sentences is no text.
        folded = " ".join(text.split())
        if not folded:
            continue
        while (start := blocks[block].find(folded, place)) < 0:
            block, place = block + 1, 0
        place = start + len(folded)
        yield {
            "text": text,
            "block": block,
            "start": start,
            "end": place,
            "region": sentence.region,
            "links": [
                {
                    "start": links.starts[at] - sentence.start,
                    "end": links.ends[at] - sentence.start,
                    "target": links.targets[at],
                    "fragment": links.fragments[at],
                }
                for at in range(sentence.first, sentence.last)
            ],
            "dropped": reason,
        }


# What the extractor marks text with; the text itself holds no such character.
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
    """Yield a page sentence by sentence, with its links marked, and what becomes of each."""
    links = _links(extract.links)
    counted = passed = kept = dropped = 0
    for sentence, reason in judged:
        passed += extract.text.count(GAP, counted, sentence.start)
        counted = sentence.start
        names = iter(extract.gaps[passed : passed + sentence.text.count(GAP)])
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
        # Where it leads is plain to see but for a capital.
        plain = anchor[1:] == target[1:] and anchor[:1].lower() == target[:1].lower()
        pieces.append(f"[{anchor}]" if plain else f"[{anchor} -> {target}]")
        position = end - offset
    pieces.append(text[position:])
    return re.sub(GAP, lambda gap: f"{{{next(names, '') or '...'}}}", "".join(pieces))
