"""The options of `wikianchor sentences`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wikianchor.io.option_groups import Output
from wikianchor.io.options import option
from wikianchor.pipelines.wikimedia.options import Documents, Dumps, Reading, Wiki


@dataclass(frozen=True, kw_only=True)
class SentencesOptions(Documents, Reading, Output, Wiki, Dumps):
    """Options of the stage `sentences`."""

    FIRST: ClassVar[tuple[str, ...]] = ("dumps", "wiki", "output", "templates", "lua", "fragments", "documents")

    fragments: bool = option(
        default=True,
        help="write the text that is no sentence of prose, such as most list items, to the config fragments",
    )
