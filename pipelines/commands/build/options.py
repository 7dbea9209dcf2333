"""The command line of `wikianchor build`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from wikianchor.pipelines.pairs.options import Choices, add_choices, choices_from
from wikianchor.pipelines.wikimedia.choices import PARSERS
from wikianchor.pipelines.wikimedia.wiki_lists import split_list, wikis_named


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    dumps: str
    wikis: tuple[str, ...]
    output: str
    choices: Choices
    labels: tuple[str, ...]
    splitter: str
    parser: str
    allow_truncated: bool
    dry_run: bool = False
    previous: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.add_argument(
        "--dumps",
        required=True,
        metavar="PLACES",
        help="pages-articles dumps, Wikidata's JSON dump, page_props tables: directories, files or globs",
    )
    parser.add_argument(
        "--wikis",
        default="",
        help="languages or database names with commas, such as en,jawiki (default: every wiki that has a dump there)",
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="directory of the datasets")
    parser.add_argument(
        "--labels", default="", help="languages of entity labels, best first (default: en, then those of the wikis)"
    )
    parser.add_argument(
        "--splitter",
        choices=("rules", "icu", "polyglot"),
        help="sentence splitter (rules; the presets paper and released: polyglot)",
    )
    parser.add_argument(
        "--parser", choices=PARSERS, default=PARSERS[0], help="what reads wikitext (default: wikianchor)"
    )
    parser.add_argument("--allow_truncated", action="store_true", help="take cut-off dumps for what is in them")
    parser.add_argument(
        "--previous",
        metavar="DIR",
        help="the --output of an earlier build: pages that have not changed since are taken from its sentences, "
        "to the same result",
    )
    parser.add_argument("--dry_run", action="store_true", help="print the plan and do nothing")
    add_choices(parser)


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags."""
    return Config(
        dumps=arguments.dumps,
        wikis=wikis_named(arguments.wikis),
        output=arguments.output.rstrip("/"),
        choices=choices_from(arguments),
        labels=split_list(arguments.labels),
        splitter=arguments.splitter or ("rules" if arguments.preset == "default" else "polyglot"),
        parser=arguments.parser,
        allow_truncated=arguments.allow_truncated,
        dry_run=arguments.dry_run,
        previous=arguments.previous,
    )
