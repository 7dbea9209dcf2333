"""The options of `wikianchor linking`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.option_groups import Format, Output, Seed
from wikianchor.pipelines.wikimedia.options import DocumentsOf, Entities, Mentions, Previous, Split
from wikianchor.schemas.choices import LINKING_FORMATS


@dataclass(frozen=True, kw_only=True)
class LinkingOptions(Split, Seed, Previous, Format, Output, Entities, Mentions, DocumentsOf):
    """Options of the stage `linking`."""

    TITLE: ClassVar[str] = ""
    FIRST: ClassVar[tuple[str, ...]] = ("documents", "mentions", "entities", "output", "format")
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "format": {
            "choices": LINKING_FORMATS,
            "help": "Parquet with all columns; or JSON lines as the loaders of KILT, BLINK, mGENRE, or what spaCy's "
            "KnowledgeBase is filled with",
        },
        "previous": {"help": "dataset of `wikianchor documents` of an earlier dump: links that it has are old"},
        "split": {
            "help": "hold out these shares of the items for dev and test, such as 0.05,0.05: a page is where its item "
            "is, and a column says where the item of each mention is"
        },
    }

    format: str = LINKING_FORMATS[0]
