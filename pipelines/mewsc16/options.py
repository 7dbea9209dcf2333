"""The command line of `wikianchor mewsc16`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import expand
from wikianchor.pipelines.mewsc16.choices import FAULTS, MIN_PAGES, MODES
from wikianchor.pipelines.wikimedia.dump_names import part_order
from wikianchor.pipelines.wikimedia.wiki_lists import split_list


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    dumps: tuple[str, ...]
    output: str
    sql: tuple[str, ...] = ()
    membership: str | None = None
    mode: str = "clean"
    faults: tuple[str, ...] = ()
    topics: str | None = None
    min_pages: int | None = None
    allow_truncated: bool = False
    compare: tuple[str, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.add_argument(
        "--dumps", default="", metavar="FILES", help="pages-articles dumps of one Wikinews or several: files or globs"
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="directory of the dataset")
    parser.add_argument(
        "--sql",
        default="",
        metavar="FILES",
        help="categorylinks.sql.gz and linktarget.sql.gz of the same dumps, which know the templates' categories",
    )
    parser.add_argument(
        "--membership",
        choices=MODES,
        help="which categories of a page count: those its text names, also those of its templates, also those right "
        "below a topic (default: direct+templates with --sql, else direct)",
    )
    parser.add_argument(
        "--mode",
        choices=("clean", "paper"),
        default="clean",
        help="clean sentences, or the rules of the released set (default: clean)",
    )
    parser.add_argument(
        "--faults",
        default="",
        metavar="NAMES",
        help=f"with --mode=paper: faults of the released set to make again, or all: {', '.join(FAULTS)}",
    )
    parser.add_argument("--topics", metavar="FILE", help="a topic map of your own (JSON) instead of the project's")
    parser.add_argument(
        "--min_pages",
        type=int,
        metavar="N",
        help=f"drop classes with fewer pages (default: 1; with --mode=paper {MIN_PAGES})",
    )
    parser.add_argument("--allow_truncated", action="store_true", help="take a cut-off dump for what is in it")
    parser.add_argument(
        "--compare",
        default="",
        metavar="FILES",
        help="released files, such as 'mewsc16/*': print how the dataset in --output agrees with them, after building "
        "it if --dumps is given",
    )


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags.

    Raises:
        UsageError: no file is named, or flags that do not go together.
    """
    dumps = tuple(sorted(expand(arguments.dumps, "dumps"), key=part_order))
    released = tuple(expand(arguments.compare, "compare"))
    if not dumps and not released:
        raise UsageError("mewsc16 needs --dumps=FILES, or --compare=FILES and a dataset in --output")
    names = tuple(FAULTS) if arguments.faults == "all" else split_list(arguments.faults)
    for name in names:
        if name not in FAULTS:
            raise UsageError(f"--faults={name}: there is no such fault, choose of {', '.join(FAULTS)}, or all")
    if names and arguments.mode != "paper":
        raise UsageError("--faults goes with --mode=paper: clean sentences have none")
    if "old_map" in names and arguments.topics:
        raise UsageError("--faults=old_map goes with the project's topic map, not with --topics")
    if arguments.membership == "direct+templates" and not arguments.sql:
        raise UsageError(
            "--membership=direct+templates needs the tables that know the templates' categories: "
            "--sql=categorylinks.sql.gz,linktarget.sql.gz"
        )
    if arguments.min_pages is not None and arguments.min_pages < 1:
        raise UsageError(f"--min_pages={arguments.min_pages}: has to be 1 or more")
    return Config(
        dumps=dumps,
        output=arguments.output,
        sql=tuple(expand(arguments.sql, "sql")),
        membership=arguments.membership,
        mode=arguments.mode,
        faults=tuple(name for name in FAULTS if name in names),
        topics=arguments.topics,
        min_pages=arguments.min_pages,
        allow_truncated=arguments.allow_truncated,
        compare=released,
    )
