"""The options of `wikianchor export`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import Output, Seed
from wikianchor.io.options import at_least, option
from wikianchor.pipelines.wikimedia.options import Entities, Sentences
from wikianchor.schemas.choices import ANCHORS, FORMATS, LANGUAGES, NEGATIVES, POSITIVES


@dataclass(frozen=True, kw_only=True)
class ExportOptions(Seed, Entities, Sentences, Output):
    """Options of the stage `export`."""

    FIRST: ClassVar[tuple[str, ...]] = ("pairs", "output", "format", "positive", "negatives")

    pairs: str = option(metavar="DIR", help="dataset of `wikianchor pairs`", recorded=False)
    # The datasets that the pairs were built from: leads and titles are read there, and texts of `entities --texts`.
    sentences: str = ""
    entities: str = ""
    format: str = option(
        FORMATS[0], choices=FORMATS, help="Parquet with the columns that sentence-transformers reads, JSON lines or CSV"
    )
    anchor: str = option(
        ANCHORS[0],
        choices=ANCHORS,
        help="the anchor: the sentence that links to the entity; or the title or the lead of the entity's own page, "
        "once for each language",
    )
    positive: str = option(
        POSITIVES[0],
        choices=POSITIVES,
        help="the positive: the lead of the entity's own page, which is its first sentences; another sentence that "
        "links to the entity, which need not say the same; its label, description or an alias",
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
        help="language of the positive: that of the anchor, another one, or any; negatives are in the positive's. Any "
        "label or description is the anchor's where there is one",
    )
    negatives: int | None = option(
        None, metavar="K", help="negatives of each row; 0 for none", unset="as many as --pairs has", check=at_least(0)
    )
    lead_sentences: int = option(2, help="sentences of a lead", check=at_least(1))
    max_per_positive: int = option(
        5, help="at most N rows have the same positive, chosen at random; 0: any number", check=at_least(0)
    )
    near_duplicates: bool = option(
        default=False,
        help="keep rows whose anchors link to one entity and differ in nothing but digits and their page's title",
    )
    sentences_per_entity: int = option(
        16, help="positive and negative sentences are drawn from N sampled sentences of an entity", check=at_least(2)
    )

    def completed(self) -> ExportOptions:
        """Fill in the kind of the negatives.

        Raises:
            UsageError: the anchor would be its own positive.
        """
        if self.anchor == self.positive == "lead" and self.language != "other":
            raise UsageError(f"--anchor={self.anchor} is its own --positive={self.positive}: add --language=other")
        return replace(self, negative=self.negative or ("label" if self.positive == "alias" else self.positive))
