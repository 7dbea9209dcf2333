"""The options of `wikianchor documents`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.option_groups import Output
from wikianchor.pipelines.wikimedia.options import Entities, Sentences


@dataclass(frozen=True, kw_only=True)
class DocumentsOptions(Output, Sentences, Entities):
    """Options of the stage `documents`."""
