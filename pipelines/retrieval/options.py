"""The options of `wikianchor retrieval`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.option_groups import Negatives, Output, Sample
from wikianchor.io.options import at_least, directory, option
from wikianchor.pipelines.wikimedia.options import DocumentsOf, Entities, Mentions, Previous


@dataclass(frozen=True, kw_only=True)
class RetrievalOptions(Negatives, Sample, Previous, Output, Entities, Mentions, DocumentsOf):
    """Options of the stage `retrieval`."""

    TITLE: ClassVar[str] = ""
    FIRST: ClassVar[tuple[str, ...]] = ("documents", "mentions", "entities", "output", "previous", "corpus")
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "documents": {"help": "dataset of `wikianchor documents`, whose sentences become queries"},
        "mentions": {"help": "dataset of `wikianchor mentions` of the same wikis: the names that are masked"},
        "entities": {"help": "dataset of `wikianchor entities` of the wikis of the corpus: types, labels and aliases"},
        "previous": {
            "help": "dataset of `wikianchor documents` of an earlier dump: sentences that it has, or nearly has, are "
            "no queries",
            "unset": "any sentence may be a query",
        },
        "sample": {"help": "queries, at most; 0: as many as there are"},
        "negatives": {
            "metavar": "K",
            "help": "items of a type of each target whose pages are in the corpus",
        },
    }

    corpus: str = option(
        "",
        metavar="DIR",
        help="dataset of `wikianchor documents` to take passages from, such as one of another language; targets are "
        "found by their items",
        unset="that of --documents",
        parse=directory,
        recorded=False,
    )
    max_passages: int = option(
        100_000,
        help="passages of the corpus, about: pages beside those of targets and their types are sampled",
        check=at_least(1),
    )
    sample: int = 2_000
    negatives: int = 5
