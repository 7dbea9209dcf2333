"""The options of `wikianchor topics`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.options import option
from wikianchor.pipelines.wikimedia.dump_names import files_named


@dataclass(frozen=True, kw_only=True)
class TopicsOptions:
    """Options of the command `topics`."""

    sql: tuple[str, ...] = option(
        metavar="FILES",
        help="tables of Wikinews: page of every wiki, langlinks of the English one, page_props of every wiki",
        parse=files_named,
    )
    output: str = option(metavar="FILE", help="the topic map, for mewsc16 --topics")
