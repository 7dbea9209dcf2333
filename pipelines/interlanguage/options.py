"""The options of `wikianchor interlanguage`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.option_groups import Output
from wikianchor.pipelines.wikimedia.options import Entities, Sentences


@dataclass(frozen=True, kw_only=True)
class InterlanguageOptions(Output, Sentences, Entities):
    """Options of the stage `interlanguage`."""

    # Their titles have page ids and redirects.
    sentences: str = ""
