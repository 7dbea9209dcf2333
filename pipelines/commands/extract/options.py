"""The command line of `wikianchor extract`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import expand
from wikianchor.pipelines.wikimedia.choices import PARSERS
from wikianchor.pipelines.wikimedia.wiki_lists import only_wiki

DESCRIPTION = """\
What a reader sees of wikitext: text and links, without markup. Of each page

  {"title": "Bus", "text": "A '''bus''' carries [[passenger]]s."}

on standard input, one a line, it writes

  {"title": "Bus", "blocks": ["A bus carries passengers."], "links": [["passengers", "Passenger"]]}

on standard output: blocks are the paragraphs, headings and list items; links are [what is shown, title of the target].
Tables, captions and footnotes are left out. A template that carries words is rendered by rule; U+FFFC stands where one
that is not known left a gap.

With --sentences each page also has "sentences": [{"text", "block", "start", "end", "region", "links", "dropped"}].
A sentence is blocks[block][start:end], white space aside; its links have "start" and "end" in its own text, "target"
and "fragment"; "dropped" is the reason why it is not taken for training, null if it is.

With --dumps and --title it shows one page of a dump to be read: [bus], or [buses -> Bus] where the link leads to
another title than it shows, and {name} for the gap that a template left.
"""

EXAMPLES = """\
examples:
  wikianchor extract --wikis=uk < pages.ndjson
  wikianchor extract --dumps=enwiki-pages-articles.xml.bz2 --title='Alan Turing' --sentences
"""


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    wiki: str | None
    siteinfo: str | None
    dumps: tuple[str, ...]
    title: str | None
    blank_templates: bool
    sentences: bool
    parser: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.description, parser.epilog = DESCRIPTION, EXAMPLES
    parser.add_argument("--wikis", metavar="WIKI", help="the one wiki that the pages are from, such as uk or ukwiki")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--siteinfo",
        metavar="FILE",
        help="the wiki's namespaces as its API tells them (siteinfo-namespaces.json, .gz too); --wikis may be needed",
    )
    source.add_argument("--dumps", metavar="FILES", help="dumps of the wiki: their header has language and namespaces")
    parser.add_argument("--title", help="show this page of the dump instead of reading standard input")
    parser.add_argument(
        "--blank_templates",
        action="store_true",
        help="let every template vanish, even those that carry words, to compare with MediaWiki without templates",
    )
    parser.add_argument("--sentences", action="store_true", help="add the sentences, and why they are dropped")
    parser.add_argument(
        "--parser", choices=PARSERS, default=PARSERS[0], help="what reads wikitext (default: wikianchor)"
    )


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags.

    Raises:
        UsageError: no wiki or several, one that does not exist, or a title without a dump.
    """
    if arguments.dumps is None and arguments.wikis is None and arguments.siteinfo is None:
        raise UsageError("say which wiki the pages are from, with --wikis=uk, --siteinfo=FILE or --dumps=FILES")
    if arguments.title is not None and arguments.dumps is None:
        raise UsageError(f"--title={arguments.title} needs the dump that it is in: --dumps=FILES")
    dumps = () if arguments.dumps is None else tuple(expand(arguments.dumps, "dumps"))
    if arguments.dumps is not None and not dumps:
        raise UsageError("--dumps= names no file")
    return Config(
        wiki=only_wiki(arguments.wikis),
        siteinfo=arguments.siteinfo,
        dumps=dumps,
        title=arguments.title,
        blank_templates=arguments.blank_templates,
        sentences=arguments.sentences,
        parser=arguments.parser,
    )
