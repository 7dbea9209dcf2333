"""The options of `wikianchor build`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.options import among, at_least, option, option_group, without_slash
from wikianchor.pipelines.pairs.options import PairChoices
from wikianchor.pipelines.wikimedia.choices import ENGINES, PARSERS, SPLITTERS, TEMPLATES
from wikianchor.pipelines.wikimedia.wiki_lists import wikis_named
from wikianchor.schemas.choices import TEXTS


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
    texts: tuple[str, ...] = option(
        ("labels",),
        metavar="KINDS",
        help="texts of entities to keep in these languages: labels, descriptions, aliases",
        check=among(TEXTS),
    )
    splitter: str = option("rules", choices=SPLITTERS, help="sentence splitter")
    parser: str = option(PARSERS[0], choices=PARSERS, help="reader of wikitext")
    engine: str | None = option(
        None, choices=ENGINES, help="core, the compiled engine, where it is installed (make core), else python"
    )
    templates: str = option(
        TEMPLATES[0], choices=TEMPLATES, help="what templates show: by the dump's own definitions, or by built-in rules"
    )
    allow_truncated: bool = option(False, help="accept truncated dumps and process their complete pages")
    dry_run: bool = option(False, help="print the plan and do nothing")
    exclude_pages: str | None = option(
        None,
        metavar="FILES",
        help="leave out the pages of lists, such as takedowns: lines enwiki<TAB>title or page id, or addresses",
    )
    price_per_vcpu_hour: float = option(
        0.0,
        metavar="PRICE",
        help="price of a vCPU with its memory for an hour, in any currency: the plan shows the cost; 0: it shows none",
        check=at_least(0),
    )
    previous: str | None = option(
        None,
        metavar="DIR",
        help="the --output of an earlier build: pages that have not changed since are copied from its sentences, with "
        "the same result",
    )
    keep_older: bool = option(
        False, help="use finished datasets as they are, though rules or versions have changed since they were made"
    )
    choices: PairChoices = option_group(PairChoices, "which pairs come out")
