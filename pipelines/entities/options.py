"""The options of `wikianchor entities`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import Output
from wikianchor.io.options import option
from wikianchor.io.storage import expand
from wikianchor.pipelines.wikimedia.options import EntityTexts, Truncated, Wikis


@dataclass(frozen=True, kw_only=True)
class EntitiesOptions(Truncated, EntityTexts, Output, Wikis):
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

    def completed(self) -> EntitiesOptions:
        """Check that there is an input.

        Raises:
            UsageError: there is none.
        """
        if not self.wikidata and not self.page_props:
            raise UsageError("entities needs --wikidata=FILES or --page_props=FILES")
        return self
