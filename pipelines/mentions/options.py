"""The options of `wikianchor mentions`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wikianchor.io.option_groups import Output
from wikianchor.io.options import among, at_least, between, option
from wikianchor.pipelines.wikimedia.options import Entities, SectionLinks, Sentences
from wikianchor.schemas.choices import FRAGMENT_REGIONS


@dataclass(frozen=True, kw_only=True)
class MentionsOptions(SectionLinks, Output, Entities, Sentences):
    """Options of the stage `mentions`."""

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
    regions: tuple[str, ...] = option(
        ("lead", "body", "list", "back_matter", "disambiguation", "table", "caption"),
        metavar="NAMES",
        help=f"parts of pages whose links and occurrences are counted: {', '.join(FRAGMENT_REGIONS)}",
        check=among(FRAGMENT_REGIONS),
    )
    rows_per_shard: int = 500_000

    def completed(self) -> MentionsOptions:
        """Return the options with the regions in their order."""
        return replace(self, regions=tuple(name for name in FRAGMENT_REGIONS if name in self.regions))
