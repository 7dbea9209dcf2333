"""The options of `wikianchor mentions`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.options import at_least, between, option


@dataclass(frozen=True, kw_only=True)
class MentionsOptions:
    """Options of the stage `mentions`."""

    sentences: str = option(
        metavar="DIRS",
        help="datasets of `wikianchor sentences`: directories, globs, or the directory that holds them",
        recorded=False,
    )
    entities: str = option(metavar="DIR", help="dataset of `wikianchor entities`", recorded=False)
    output: str = option(metavar="DIR", help="directory of the dataset", recorded=False)
    link_probability: float = option(
        0.01,
        metavar="P",
        help="of the config `candidates`: smallest share of a name's occurrences that are links",
        check=between(0, 1),
    )
    commonness: float = option(
        0.05,
        metavar="P",
        help="of the config `candidates`: smallest share of a name's links that lead to the item",
        check=between(0, 1),
    )
    max_length: int = option(50, help="leave out names of more characters", check=at_least(1))
    section_links: bool = option(False, help="count a link to a section as a link to its page")
    rows_per_shard: int = 500_000
