"""The options of `wikianchor build`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.options import option, option_group, without_slash
from wikianchor.pipelines.pairs.options import PairChoices
from wikianchor.pipelines.wikimedia.choices import PARSERS, SPLITTERS
from wikianchor.pipelines.wikimedia.wiki_lists import wikis_named


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """Options of the command `build`."""

    dumps: str = option(
        metavar="PATHS",
        help="pages-articles dumps, Wikidata's JSON dump, page_props tables: directories, files or globs",
    )
    wikis: tuple[str, ...] = option(
        (),
        metavar="WIKIS",
        help="languages or database names with commas, such as en,jawiki",
        unset="every wiki that has a dump there",
        parse=wikis_named,
    )
    output: str = option(metavar="DIR", help="directory of the datasets", parse=without_slash)
    labels: tuple[str, ...] = option(
        (),
        metavar="LANGUAGES",
        help="languages of entity labels, best first",
        unset="en, then those of the wikis",
    )
    splitter: str = option("rules", choices=SPLITTERS, help="sentence splitter")
    parser: str = option(PARSERS[0], choices=PARSERS, help="reader of wikitext")
    allow_truncated: bool = option(False, help="accept truncated dumps and process their complete pages")
    dry_run: bool = option(False, help="print the plan and do nothing")
    previous: str | None = option(
        None,
        metavar="DIR",
        help="the --output of an earlier build: pages that have not changed since are copied from its sentences, with "
        "the same result",
    )
    choices: PairChoices = option_group(PairChoices, "which pairs come out")
