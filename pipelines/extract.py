"""`wikianchor extract`: the wikitext engine alone, for people and for checks.

Lines {"title", "text"} in, lines {"title", "blocks", "links"} out: the blocks of text that a reader of the page sees
(paragraphs, headings, list items) and the links in them as [anchor, target title], in the order of the page. Links to
other wikis, to the page itself and within it are text only; links to other namespaces carry the local namespace's name.
"""

from __future__ import annotations

import argparse
import gzip
import html
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from pipelines.errors import InputError, UsageError
from pipelines.wikimedia.dumps import open_file, read_head
from pipelines.wikimedia.languages import RENAMED, is_language_edition
from pipelines.wikimedia.pages import CONTROLS
from pipelines.wikimedia.site import Site, fold_name, site_for, site_from_header
from pipelines.wikimedia.wikitext import Extract, Extractor
from pipelines.wikimedia.wikitext.marks import GAP, LINE_MARKS

# What a gap is shown as: Unicode's sign for something that stands here and is no text.
SHOWN_GAP = "\ufffc"


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    language: str | None
    siteinfo: str | None
    dump: str | None
    blank_templates: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.add_argument("--lang", metavar="CODE", help="language of the Wikipedia the pages are from, such as uk")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--siteinfo",
        metavar="FILE",
        help="the wiki's namespaces as its API tells them (siteinfo-namespaces.json, .gz too); needs --lang",
    )
    source.add_argument("--dump", metavar="FILE", help="a dump of the wiki: its header tells language and namespaces")
    parser.add_argument(
        "--blank_templates", action="store_true", help="let every template vanish, even those that carry words"
    )


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags."""
    if arguments.dump is None and arguments.lang is None:
        raise UsageError("say which wiki the pages are from, with --lang=uk or --dump=FILE")
    return Config(arguments.lang, arguments.siteinfo, arguments.dump, arguments.blank_templates)


def run(config: Config, beam_args: Sequence[str]) -> None:
    """Read pages on standard input until it ends, write what a reader sees of them on standard output."""
    if beam_args:
        raise UsageError(f"extract has no flag {beam_args[0]}, and runs without Beam")
    extractor = Extractor(read_site(config), config.blank_templates)
    try:
        for line in extracted(sys.stdin.buffer, extractor, "" if config.blank_templates else SHOWN_GAP):
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # The reader, `head` for one, has had enough; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def read_site(config: Config) -> Site:
    """Return the wiki that the flags name.

    Raises:
        InputError: a file is not what its flag says.
        UsageError: the language has no Wikipedia.
    """
    site = None
    if config.language is not None:
        names = {language: wiki for wiki, language in RENAMED.items() if wiki != "simple"}
        wiki = names.get(config.language, config.language).replace("-", "_") + "wiki"
        if not is_language_edition(wiki):
            raise UsageError(f"--lang={config.language}: no Wikipedia has this code")
        site = site_for(wiki)
    if config.dump is not None:
        return site_from_header(
            read_head(config.dump).decode("utf-8", "replace"), site.wiki if site else None, config.dump
        )
    if site is None:
        raise UsageError("say which wiki the pages are from, with --lang=uk or --dump=FILE")
    return site if config.siteinfo is None else _with_siteinfo(site, config.siteinfo)


def _with_siteinfo(site: Site, path: str) -> Site:
    """Return a site with the names and aliases of namespaces that the wiki's API tells (formats 1 and 2)."""
    with open_file(path) as file:
        data = file.read()
    try:
        query = orjson.loads(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)["query"]
        names = {int(entry["id"]): str(entry.get("*", entry.get("name", ""))) for entry in query["namespaces"].values()}
        aliases = {
            str(entry.get("*", entry.get("alias", ""))): int(entry["id"]) for entry in query.get("namespacealiases", ())
        }
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError) as error:
        raise InputError(
            f"--siteinfo={path}: not the answer of a wiki's API to meta=siteinfo&siprop=namespaces|namespacealiases "
            f"({type(error).__name__}: {error})"
        ) from error
    names = {key: html.unescape(name).replace("_", " ").strip() for key, name in names.items() if name.strip()}
    return replace(
        site,
        namespaces=dict(site.namespaces)
        | {fold_name(name): key for name, key in aliases.items()}
        | {fold_name(name): key for key, name in names.items()},
        namespace_names=dict(site.namespace_names) | names,
    )


def extracted(lines: Iterable[bytes], extractor: Extractor, gap: str) -> Iterator[bytes]:
    """Yield a line of JSON for each line of JSON; `gap` stands where words are missing.

    Raises:
        InputError: a line is not what it should be; the message has its number.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            page = orjson.loads(line)
            title, text = page["title"], page["text"]
            raw = text.encode().translate(None, CONTROLS)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f'standard input, line {number}: not a page {{"title": "...", "text": "..."}} '
                f"({type(error).__name__}: {error})"
            ) from error
        yield orjson.dumps(shown_page(extractor.extract(raw.decode(), title), title, gap)) + b"\n"


def shown_page(extract: Extract, title: str, gap: str) -> dict[str, Any]:
    """Return the line of a page, ready for JSON; `gap` stands where words are missing."""
    text = extract.text
    links = sorted(
        (start, end, target)
        for found in (extract.links, extract.other_links)
        for start, end, target in zip(found.starts, found.ends, found.targets, strict=True)
    )
    marks = {ord(mark): "" for mark in LINE_MARKS} | {ord(GAP): gap}
    blocks = (" ".join(line.translate(marks).split()) for line in text.split("\n"))
    return {
        "title": title,
        "blocks": [block for block in blocks if block],
        "links": [[" ".join(text[start:end].translate(marks).split()), target] for start, end, target in links],
    }
