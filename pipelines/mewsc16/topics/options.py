"""The options of `wikianchor topics`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.options import option
from wikianchor.pipelines.mewsc16.options import WikinewsTables


@dataclass(frozen=True, kw_only=True)
class TopicsOptions(WikinewsTables):
    """Options of the command `topics`."""

    output: str = option(metavar="FILE", help="the topic map, for mewsc16 --topics")
