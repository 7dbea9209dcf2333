"""The command line of `wikianchor entities`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import expand
from wikianchor.pipelines.wikimedia.wiki_lists import split_list, wikis_named


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    wikidata: tuple[str, ...]
    page_props: tuple[str, ...]
    wikis: tuple[str, ...]
    output: str
    labels: tuple[str, ...] = ("en",)
    allow_truncated: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.add_argument(
        "--wikidata", default="", metavar="FILES", help="JSON dump of Wikidata: .json, .gz or .bz2; files or globs"
    )
    parser.add_argument(
        "--page_props",
        default="",
        metavar="FILES",
        help="page_props.sql.gz of the wikis: the other route from page to item",
    )
    parser.add_argument(
        "--wikis",
        required=True,
        help="languages or database names with commas, such as en,jawiki: items without a page there are left out",
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="directory of the dataset")
    parser.add_argument(
        "--labels",
        default="en",
        help="languages of the labels to keep, with commas; the first that exists is shown (default: en)",
    )
    parser.add_argument("--allow_truncated", action="store_true", help="take a cut-off dump for what is in it")


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags.

    Raises:
        UsageError: no input, or a name that is no wiki's.
    """
    wikis = wikis_named(arguments.wikis)
    if not arguments.wikidata and not arguments.page_props:
        raise UsageError("entities needs --wikidata=FILES or --page_props=FILES")
    return Config(
        wikidata=tuple(expand(arguments.wikidata, "wikidata")),
        page_props=tuple(expand(arguments.page_props, "page_props")),
        wikis=wikis,
        output=arguments.output,
        labels=split_list(arguments.labels),
        allow_truncated=arguments.allow_truncated,
    )
