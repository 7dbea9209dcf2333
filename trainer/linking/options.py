"""`wikianchor link`: link mentions to items by their names, and by a model, and score it.

    wikianchor link --linking=out/linking --data=mewsli-9/output/dataset
    wikianchor link --linking=out/linking --model=MODEL

The mentions are those of files, or those that --linking holds out (`linking_test`; all rows where nothing is held out).
Their candidates are the 30 most frequent items of the name in the wiki of their language. `prior` takes the most
frequent one; a model adds the cosine of the context and the first paragraph of the item's page. Files: Mewsli-9 (its
directory, with mentions.tsv and text/ for each language), Mewsli-X (wikinews_mentions-*.jsonl), AIDA (.tsv, CoNLL-YAGO)
and ELEVANT (.jsonl), whose `entity_mentions`, the answers of another linker, are scored too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.option_groups import Sample
from wikianchor.io.options import option, program, read_options
from wikianchor.trainer.option_groups import EvaluationData, ModelOptions


@dataclass(frozen=True, kw_only=True)
class LinkOptions(Sample, ModelOptions, EvaluationData):
    """Options of the command."""

    FIRST: ClassVar[tuple[str, ...]] = ("linking", "data", "model")
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "data": {
            "metavar": "PATHS",
            "help": "files with mentions, or directories of them, with commas",
            "unset": "the rows that --linking holds out",
        },
        "languages": {
            "help": "languages to score, with commas; a single one is that of files that name none",
            "unset": "all; en for files that name none",
        },
    }

    linking: str = option(metavar="DIR", help="dataset of `wikianchor linking`, as Parquet")
    sample: int = 10_000


def parse(argv: Sequence[str]) -> LinkOptions:
    """Return the options of a command line."""
    return read_options(LinkOptions, program("wikianchor link", __doc__ or "", LinkOptions).parse_args(argv))
