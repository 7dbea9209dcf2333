"""How rows of pairs become rows of text: what all steps of a run know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.minhash import OF_ANY, OF_ONE
from wikianchor.pipelines.dataset.reader import shards_of
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.export.anchors import UNRELATED
from wikianchor.pipelines.export.caps import Cap
from wikianchor.pipelines.export.text_index import EVERY_LANGUAGE, Ints, LanguageRule
from wikianchor.pipelines.export.texts import LEAD, OF_PAGES, PAGE_TEXTS, SENTENCE

# Why a row of `pairs` is or is not exported.
REASONS = (
    *("kept", "no_anchor_text", "no_positive_text", "weak_anchor", "no_negative_text", "equal_negative"),
    *("near_duplicate", "over_cap", "unrelated"),
)


class InputShard(NamedTuple):
    """A shard of `pairs` or `entities`, with its number among them."""

    order: int
    path: str


@dataclass(frozen=True)
class ExportTask:
    """How rows of pairs become rows of text.

    Attributes:
        work: the directories of the run.
        format: the format of the files, one of `schemas.choices.FORMATS`.
        anchor, positive, negative: kinds of text.
        language: accepted languages, one of `schemas.choices.LANGUAGES`.
        negatives: the number of negatives of a row.
        sentences: the number of sampled sentences of an entity.
        lead_sentences: the number of sentences of a lead.
        seed: key of all choices.
        wikis: database names; texts name them by index.
        wiki_languages: the language of each wiki.
        languages: all languages, those of labels first and in the order of --labels.
        entities: number of entities.
        dataset: directory of `entities`, "" where labels are those of `pairs`.
        near_duplicates: whether rows with nearly equal anchors are kept.
        max_per_positive: the largest number of rows of a positive, 0 for any number.
    """

    work: Workspace
    format: str
    anchor: str
    positive: str
    negative: str
    language: str
    negatives: int
    sentences: int
    lead_sentences: int
    seed: int
    wikis: tuple[str, ...]
    wiki_languages: tuple[str, ...]
    languages: tuple[str, ...]
    entities: int
    dataset: str
    near_duplicates: bool
    max_per_positive: int

    @property
    def caps(self) -> list[Cap]:
        """Which rows are left out because of others. A text of an entity stands once as an anchor, whatever its near
        duplicates."""
        anchors = 0 if self.near_duplicates and self.anchor == SENTENCE else 1
        caps = [Cap("positives", "keys", self.max_per_positive, self.unrelated), Cap("anchors", "anchors", anchors)]
        return [cap for cap in caps if cap.most]

    @property
    def unrelated(self) -> np.uint64 | None:
        """The rank of sentences without a word of their lead, which are left out where others have one."""
        return UNRELATED if (self.anchor, self.positive) == (SENTENCE, LEAD) else None

    @property
    def bands(self) -> int:
        """The number of keys of an anchor (`minhash`)."""
        return OF_ONE if self.anchor == SENTENCE else OF_ANY

    @property
    def is_of_one_page(self) -> bool:
        """Whether anchor and positive are texts of one page, which belong together."""
        return self.language == "same" and {self.anchor, self.positive}.issubset(PAGE_TEXTS)

    def wiki_codes(self, wikis: pa.Array) -> npt.NDArray[np.int16]:
        """Return the index of each wiki."""
        codes = pc.index_in(wikis, value_set=pa.array(self.wikis))
        return codes.to_numpy(zero_copy_only=False).astype(np.int16)

    def language_codes(self, wiki_codes: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        """Return the index of the language of each wiki, given by index."""
        return np.array([self.languages.index(code) for code in self.wiki_languages], np.int16)[wiki_codes]

    def entity_keys(self, wiki_codes: npt.NDArray[np.int16], entities: npt.NDArray[Any]) -> Ints:
        """Return a number for each (wiki, entity), below `len(wikis) * entities`."""
        return wiki_codes.astype(np.int64) * self.entities + entities

    def rule(self, kind: str) -> LanguageRule:
        """Return which languages of a kind of text are accepted."""
        return LanguageRule(self.language, self.every_language, kind not in OF_PAGES)

    @property
    def every_language(self) -> int:
        """The index of `EVERY_LANGUAGE`, -1 without it."""
        return self.languages.index(EVERY_LANGUAGE) if EVERY_LANGUAGE in self.languages else -1

    def negative_rule(self) -> LanguageRule:
        """Return which languages of negatives go with the language of the positive: no other, so that the language does
        not tell the positive from them."""
        rule = self.rule(self.negative)
        return rule if rule.is_ranked and rule.name == "any" else rule._replace(name="same")


def list_shards(directory: str, config: str) -> list[InputShard]:
    """Return the shards of a config."""
    return [InputShard(order, path) for order, path in enumerate(shards_of(directory, config))]
