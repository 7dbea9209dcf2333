"""The options of `wikianchor export`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import Format, Output, Seed
from wikianchor.io.options import at_least, between, option
from wikianchor.pipelines.wikimedia.options import Entities, Sentences
from wikianchor.schemas.choices import FORMATS, KINDS, LANGUAGES


@dataclass(frozen=True, kw_only=True)
class ExportOptions(Seed, Format, Entities, Sentences, Output):
    """Options of the stage `export`."""

    FIRST: ClassVar[tuple[str, ...]] = ("pairs", "output", "kind", "format", "negatives")
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "format": {
            "choices": FORMATS,
            "help": "Parquet with the columns that sentence-transformers reads, JSON lines or CSV",
        }
    }

    pairs: str = option(metavar="DIR", help="dataset of `wikianchor pairs`", recorded=False)
    # The datasets that the pairs were built from: leads and titles are read there, and texts of `entities --texts`.
    sentences: str = ""
    entities: str = ""
    format: str = FORMATS[0]
    kind: str = option(
        "lead",
        choices=tuple(KINDS),
        help="anchor and positive. lead: a sentence that links to an entity, and the lead of the entity's own page, "
        "which is its first sentences. title-lead: title and lead of one page. section: the path of a heading, and the "
        "passage below it, for which sentences need --documents. neighbour: adjacent sentences of one page. "
        "cross-lingual-lead: the leads of one item in two languages. mention: two sentences that link to one entity, "
        "which need not say the same. first-sentence: the first sentence of a page, and the page's title. label, "
        "description, alias: a sentence, and that of its entity in Wikidata",
    )
    language: str = option(
        "",
        choices=LANGUAGES,
        help="language of the positive: that of the anchor, another one, which mixes languages on purpose, or any; "
        "negatives are in the positive's. Any label or description is the anchor's where there is one",
        unset="same; other for --kind=cross-lingual-lead",
    )
    negatives: int | None = option(
        None,
        metavar="K",
        help="negatives of each row; 0 for none",
        unset="as many as --pairs has",
        check=between(0, 1000),
    )
    lead_sentences: int = option(2, help="sentences of a lead, or of a passage", check=at_least(1))
    max_per_positive: int = option(
        5, help="at most N rows have the same positive, chosen at random; 0: any number", check=at_least(0)
    )
    near_duplicates: bool = option(
        default=False,
        help="keep rows whose anchors are nearly equal (MinHash; digits, links and titles of pages do not count) and "
        "have one entity",
    )
    sentences_per_entity: int = option(
        16,
        help="with mention, positives and negatives are drawn from N sampled sentences of an entity; with section and "
        "neighbour, rows are from N sampled sections or sentences of a page",
        check=at_least(2),
    )

    @property
    def anchor(self) -> str:
        """The kind of text that anchors are."""
        return KINDS[self.kind][0]

    @property
    def positive(self) -> str:
        """The kind of text that positives are."""
        return KINDS[self.kind][1]

    @property
    def negative(self) -> str:
        """The kind of text that negatives are."""
        return KINDS[self.kind][2]

    def completed(self) -> ExportOptions:
        """Fill in the language.

        Raises:
            UsageError: it does not go with the kind.
        """
        only = {"cross-lingual-lead": "other", "neighbour": "same", "section": "same"}.get(self.kind, "")
        if self.language and only and self.language != only:
            raise UsageError(f"--language={self.language}: rows of --kind={self.kind} have --language={only}")
        return replace(self, language=self.language or only or "same")
