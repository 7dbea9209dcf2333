"""The command line of `wikianchor sentences`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import expand
from wikianchor.pipelines.wikimedia.choices import PARSERS
from wikianchor.pipelines.wikimedia.dump_names import part_order
from wikianchor.pipelines.wikimedia.wiki_lists import only_wiki


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    dumps: tuple[str, ...]
    output: str
    wiki: str | None = None
    splitter: str = "rules"
    parser: str = "wikianchor"
    allow_truncated: bool = False
    previous: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.add_argument(
        "--dumps", required=True, metavar="FILES", help="pages-articles dump: a file, a glob, or several with commas"
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="directory of the dataset")
    parser.add_argument(
        "--wikis",
        metavar="WIKI",
        help="the one wiki that the dumps are of, such as enwiki, where their header does not say or is wrong",
    )
    parser.add_argument(
        "--splitter", choices=("rules", "icu", "polyglot"), default="rules", help="sentence splitter (default: rules)"
    )
    parser.add_argument(
        "--parser",
        choices=PARSERS,
        default=PARSERS[0],
        help="what reads wikitext (default: wikianchor; mwparserfromhell is slower and less exact, to compare with)",
    )
    parser.add_argument("--allow_truncated", action="store_true", help="take a cut-off dump for what is in it")
    parser.add_argument(
        "--previous",
        metavar="DIR",
        help="sentences of an earlier dump: pages that have not changed since are taken from there, to the same result",
    )


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags.

    Raises:
        UsageError: no file is named, or several wikis.
    """
    dumps = tuple(sorted(expand(arguments.dumps, "dumps"), key=part_order))
    if not dumps:
        raise UsageError("--dumps= names no file")
    return Config(
        dumps=dumps,
        output=arguments.output,
        wiki=only_wiki(arguments.wikis),
        splitter=arguments.splitter,
        parser=arguments.parser,
        allow_truncated=arguments.allow_truncated,
        previous=arguments.previous,
    )
