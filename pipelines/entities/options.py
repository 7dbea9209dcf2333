"""The options of `wikianchor entities`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.options import among, option
from wikianchor.io.storage import expand
from wikianchor.pipelines.wikimedia.wiki_lists import wikis_named
from wikianchor.schemas.choices import TEXTS


@dataclass(frozen=True, kw_only=True)
class EntitiesOptions:
    """Options of the stage `entities`."""

    wikidata: tuple[str, ...] = option(
        (),
        metavar="FILES",
        help="JSON dump of Wikidata: .json, .gz or .bz2; files or globs",
        parse=expand,
        recorded=False,
    )
    page_props: tuple[str, ...] = option(
        (),
        metavar="FILES",
        help="page_props.sql.gz of the wikis: the other route from page to item",
        parse=expand,
        recorded=False,
    )
    wikis: tuple[str, ...] = option(
        metavar="WIKIS",
        help="languages or database names with commas, such as en,jawiki: items without a page there are left out",
        parse=wikis_named,
    )
    output: str = option(metavar="DIR", help="directory of the dataset", recorded=False)
    labels: tuple[str, ...] = option(
        ("en",),
        metavar="LANGUAGES",
        help="languages of the labels to keep, with commas; the first that exists is shown",
    )
    texts: tuple[str, ...] = option(
        ("labels",),
        metavar="KINDS",
        help="texts to keep in these languages: labels, descriptions, aliases; `wikianchor export` reads them",
        check=among(TEXTS),
    )
    allow_truncated: bool = option(False, help="accept a truncated dump and process its complete items")

    def completed(self) -> EntitiesOptions:
        """Check that there is an input.

        Raises:
            UsageError: there is none.
        """
        if not self.wikidata and not self.page_props:
            raise UsageError("entities needs --wikidata=FILES or --page_props=FILES")
        return self
