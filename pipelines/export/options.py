"""The options of `wikianchor export`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wikianchor.io.options import at_least, option
from wikianchor.schemas.choices import FORMATS, LANGUAGES, NEGATIVES, POSITIVES


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Options of the stage `export`."""

    pairs: str = option(metavar="DIR", help="dataset of `wikianchor pairs`", recorded=False)
    output: str = option(metavar="DIR", help="directory of the dataset", recorded=False)
    format: str = option(
        FORMATS[0], choices=FORMATS, help="Parquet with the columns that sentence-transformers reads, JSON lines or CSV"
    )
    positive: str = option(
        POSITIVES[0],
        choices=POSITIVES,
        help="the positive: another sentence that links to the entity, or its label, description or an alias",
    )
    negative: str = option(
        "",
        choices=NEGATIVES,
        help="the same of the hard negatives",
        unset="that of --positive; label for aliases",
    )
    language: str = option(
        LANGUAGES[0],
        choices=LANGUAGES,
        help="language of positive and negatives: that of the anchor, another one, or any; any label or description is "
        "the anchor's where there is one",
    )
    entities: str = option(
        "",
        metavar="DIR",
        help="dataset of `wikianchor entities`, built with --texts: for descriptions, aliases, and labels in several "
        "languages",
        unset="none: labels are those of --pairs",
        recorded=False,
    )
    negatives: int | None = option(
        None, metavar="K", help="negatives of each row; 0 for none", unset="as many as --pairs has", check=at_least(0)
    )
    sentences_per_entity: int = option(
        16, help="positive and negative sentences are drawn from N sampled sentences of an entity", check=at_least(2)
    )
    seed: int = option(42, help="key of every random choice")

    def completed(self) -> ExportOptions:
        """Fill in the kind of the negatives."""
        return replace(self, negative=self.negative or ("label" if self.positive == "alias" else self.positive))
