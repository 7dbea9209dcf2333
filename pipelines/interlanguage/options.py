"""The options of `wikianchor interlanguage`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.options import option


@dataclass(frozen=True, kw_only=True)
class InterlanguageOptions:
    """Options of the stage `interlanguage`."""

    entities: str = option(metavar="DIR", help="dataset of `wikianchor entities`", recorded=False)
    output: str = option(metavar="DIR", help="directory of the dataset", recorded=False)
    sentences: str = option(
        "",
        metavar="DIRS",
        help="datasets of `wikianchor sentences`, whose titles have page ids and redirects",
        unset="none",
        recorded=False,
    )
