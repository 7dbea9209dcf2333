"""What becomes of each link: batches of sentences in, rows of pairs and a ledger out. Every link ends in exactly one
bucket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import Hashes, below, hash_string, hash_strings, mix, mix_hashes
from wikianchor.pipelines.arrays.tables import find
from wikianchor.pipelines.pairs.entity_table import ABSENT, META, NONE, ROUTES, EntityIds
from wikianchor.pipelines.pairs.negatives import Draws, draw_from_fixed, draw_negatives
from wikianchor.pipelines.pairs.page_links import PageLinks
from wikianchor.pipelines.titles.counts import ShardLinks
from wikianchor.pipelines.titles.title_index import (
    BROKEN,
    DISAMBIGUATION,
    FINE,
    LIST,
    LOOP,
    NO_ITEM,
    RED,
    SECTION,
    Codes,
    Ints,
)
from wikianchor.schemas import pairs as schema

BUCKETS = (
    "kept",
    "section_link",
    "section_redirect",
    "disambiguation",
    "list",
    "red_link",
    "broken_redirect",
    "redirect_loop",
    "no_item",
    "own_page",
    "meta_item",
    "not_in_required_wiki",
    "below_floor",
    "over_cap",
    "not_sampled",
    "no_type",
    "small_pool",
    "no_negative",
    "duplicate",
)
BUCKET = {name: number for number, name in enumerate(BUCKETS)}
KEPT = BUCKET["kept"]
_OF_CODE = {
    FINE: "kept",
    NO_ITEM: "no_item",
    SECTION: "section_redirect",
    DISAMBIGUATION: "disambiguation",
    LIST: "list",
    RED: "red_link",
    BROKEN: "broken_redirect",
    LOOP: "redirect_loop",
}
_BUCKET_OF_CODE = np.array([BUCKET[_OF_CODE[code]] for code in range(len(_OF_CODE))])
_BUCKET_OF_LEFT_OUT = np.array([BUCKET[{META: "meta_item", ABSENT: "not_in_required_wiki"}[why]] for why in range(2)])
_POWERS_OF_TEN = 10 ** np.arange(1, 19)
# Sets the hash that rows are put in order by apart from the one that they are sampled and capped by.
_SHUFFLE = 1
# Rows carry this besides what is published.
SHUFFLE_KEY = "shuffle_key"
ROW_SCHEMA = pa.schema([*schema.SCHEMA, pa.field(SHUFFLE_KEY, pa.uint64(), False)])
# The highest sample key there is.
ANY_KEY = (1 << 63) - 1


@dataclass(frozen=True)
class DecisionOptions:
    """How links become rows.

    Attributes:
        seed: key of every choice.
        negatives: hard negatives for each row; 0 for none, and then no type is needed.
        candidates: hard negatives come from so many entities fixed for each positive; 0 for the whole pool.
        sections: whether links to a section count as links to its page.
        duplicates: whether rows are kept that say the same as another of the wiki.
    """

    seed: int
    negatives: int
    candidates: int
    sections: bool
    duplicates: bool


@dataclass(frozen=True)
class KeyLimits:
    """Which rows of those that are fit are taken, by their sample key.

    Attributes:
        sample: the highest sample key taken.
        capped: dense ids with more rows than the cap, ascending.
        caps: the highest sample key taken for each of them.
    """

    sample: int
    capped: Ints
    caps: Hashes

    @staticmethod
    def none() -> KeyLimits:
        """Take all."""
        return KeyLimits(ANY_KEY, np.zeros(0, np.int64), np.zeros(0, np.uint64))


@dataclass(frozen=True)
class Fit:
    """Links that nothing speaks against so far, as columns.

    Attributes:
        places: among the links of the batch.
        rows: sentence of each in the batch.
        entities: dense ids.
        pages: page ids.
        sentences: sentence ids.
        starts: offset of each in its sentence.
        sample_keys: a hash of the row's content, 63 bits. The rows with the smallest keys make the sample, and
            those kept under a cap. Duplicates have equal keys: the same sentence, digits aside, with a link at the same
            offset to the same entity.
    """

    places: Ints
    rows: Ints
    entities: Ints
    pages: Ints
    sentences: Ints
    starts: Ints
    sample_keys: Hashes

    def where(self, chosen: npt.NDArray[np.bool_]) -> Fit:
        """Return some of them."""
        return Fit(
            self.places[chosen],
            self.rows[chosen],
            self.entities[chosen],
            self.pages[chosen],
            self.sentences[chosen],
            self.starts[chosen],
            self.sample_keys[chosen],
        )


class Linked(NamedTuple):
    """What links lead to, by link.

    Attributes:
        codes: of the target in the title index.
        items: 0 for links that do not count.
        entities: dense ids, -1 for none.
    """

    codes: Codes
    items: Ints
    entities: Ints

    def slice(self, first: int, last: int) -> Linked:
        """Return a stretch of them."""
        return Linked(self.codes[first:last], self.items[first:last], self.entities[first:last])


def linked_of(found: ShardLinks, ids: EntityIds) -> Linked:
    """Return what the links of a shard lead to."""
    # Which is -1 where a link does not count: the last.
    items, entities = np.append(found.items, 0), np.append(ids.of(found.items), -1)
    return Linked(found.codes, items[found.which], entities[found.which].astype(np.int64))


class Drawn(NamedTuple):
    """Hard negatives of links, -1 where there is none, with the pool they come from and how it was found."""

    negatives: Ints
    pools: Ints
    routes: Ints


class Decider:
    """Decides on the links of one wiki.

    Args:
        wiki: database name.
        own: pages, ascending, and what each is about, 0 for nothing.
        table: the entity table; where the floor is per wiki, `frequent-<wiki>` tells which entities are above it here.
        page_links: what its pages link to.
        options: how links become rows.
    """

    def __init__(
        self,
        wiki: str,
        own: tuple[Ints, Ints],
        table: Mapping[str, npt.NDArray[Any]],
        page_links: PageLinks,
        options: DecisionOptions,
    ) -> None:
        self._wiki, self._own = wiki, own
        self._table, self._page_links, self._options = table, page_links, options
        self._wiki_hash = hash_string(wiki)

    def decide(self, batch: pa.RecordBatch, linked: Linked, limits: KeyLimits) -> tuple[Ints, pa.Table]:
        """Decide on the links of a batch of sentences.

        Args:
            batch: rows of `sentences`.
            linked: what their links lead to.
            limits: which fit links are taken.

        Returns:
            How many links fell into each of `BUCKETS`, and the rows kept, in ROW_SCHEMA.
        """
        verdict, fit = self._fit(batch, linked)
        found = self._limited(fit, limits)
        verdict[fit.places] = found
        fit = fit.where(found == KEPT)
        found, drawn = self._draw(fit)
        verdict[fit.places] = found
        kept = found == KEPT
        drawn = Drawn(*(column[kept] for column in drawn))
        return np.bincount(verdict, minlength=len(BUCKETS)), self._rows(batch, fit.where(kept), drawn)

    def sample_keys(
        self, batch: pa.RecordBatch, linked: Linked, limits: KeyLimits, only: npt.NDArray[np.bool_] | None = None
    ) -> tuple[Ints, Hashes]:
        """Return entity and sample key of each row that `decide` would keep, of the entities of a mask only."""
        _, fit = self._fit(batch, linked)
        wanted = self._limited(fit, limits) == KEPT
        if only is not None:
            wanted &= only[fit.entities]
        fit = fit.where(wanted)
        fit = fit.where(self._draw(fit)[0] == KEPT)
        return fit.entities, fit.sample_keys

    def _fit(self, batch: pa.RecordBatch, linked: Linked) -> tuple[Ints, Fit]:
        """Return a verdict on each link from what it links to, and the links that are fit so far."""
        links = batch.column("links")
        rows, flat = pc.list_parent_indices(links).to_numpy(), links.flatten()
        items, entities = linked.items, linked.entities
        verdict = _BUCKET_OF_CODE[linked.codes]
        if not self._options.sections:
            to_section = pc.not_equal(flat.field("fragment"), "").to_numpy(zero_copy_only=False)
            verdict[to_section] = BUCKET["section_link"]
        pages, numbers = batch.column("page_id").to_numpy(), batch.column("sentence_index").to_numpy()
        own_pages, own_items = self._own
        own = own_items[np.searchsorted(own_pages, pages)]
        verdict[(verdict == KEPT) & (items == own[rows])] = BUCKET["own_page"]
        self._judge_entities(verdict, items, entities)

        fit = np.flatnonzero(verdict == KEPT)
        rows, entities = rows[fit], entities[fit]
        sentences = mix(self._wiki_hash, pages, numbers) >> np.uint64(1)
        starts = flat.field("start").to_numpy()[fit].astype(np.int64)
        says = sentences if self._options.duplicates else _hash_texts(batch.column("text"), rows)
        keys = mix(self._options.seed, self._wiki_hash, says[rows], self._table["qids"][entities], starts)
        sentences = sentences.astype(np.int64)
        return verdict, Fit(fit, rows, entities, pages[rows], sentences[rows], starts, keys >> np.uint64(1))

    def _judge_entities(self, verdict: Ints, items: Ints, entities: Ints) -> None:
        """Give a verdict on links to items that are not in the table, not for this wiki, or without a pool to draw
        from."""
        out = np.flatnonzero((verdict == KEPT) & (entities < 0))
        known = find(self._table["left_out"], items[out])
        why = self._table["left_out_why"][known[known >= 0]]
        verdict[out] = BUCKET["below_floor"]
        verdict[out[known >= 0]] = _BUCKET_OF_LEFT_OUT[why]
        if (frequent := self._table.get(f"frequent-{self._wiki}")) is not None:
            fit = np.flatnonzero(verdict == KEPT)
            verdict[fit[~frequent[entities[fit]]]] = BUCKET["below_floor"]
        if self._options.negatives:
            fit = np.flatnonzero(verdict == KEPT)
            starts = self._table["choice_starts"]
            fit = fit[starts[entities[fit]] == starts[entities[fit] + 1]]
            typed = self._table["typed"][entities[fit]]
            verdict[fit] = np.where(typed, BUCKET["small_pool"], BUCKET["no_type"])

    def _limited(self, fit: Fit, limits: KeyLimits) -> Ints:
        """Return a verdict on each link from what is taken; keys are cheap, so before negatives are drawn."""
        verdict = np.full(len(fit.places), KEPT)
        verdict[fit.sample_keys > np.uint64(limits.sample)] = BUCKET["not_sampled"]
        place = find(limits.capped, fit.entities)
        capped = np.flatnonzero(place >= 0)
        verdict[capped[fit.sample_keys[capped] > limits.caps[place[capped]]]] = BUCKET["over_cap"]
        return verdict

    def _draw(self, fit: Fit) -> tuple[Ints, Drawn]:
        """Draw negatives, and give a verdict on the links that have not enough of them."""
        options, table, count = self._options, self._table, len(fit.places)
        if not options.negatives or not count:
            nothing = np.full((count, options.negatives), -1)
            return np.full(count, KEPT), Drawn(nothing, np.full(count, -1), np.full(count, NONE))
        keys = mix(options.seed, fit.sentences, fit.starts)
        entity_keys = mix(options.seed, table["qids"][fit.entities])
        first, last = table["choice_starts"][fit.entities], table["choice_starts"][fit.entities + 1]
        choice = first + below(entity_keys if options.candidates else keys, last - first)
        pools = table["choice_pools"][choice]
        starts, ends = table["pool_starts"][pools], table["pool_starts"][pools + 1]
        draws = Draws(fit.entities, fit.pages, starts, ends - starts, keys)
        members, excluded = table["pool_members"], self._page_links.of_pages(fit.pages)
        if options.candidates:
            found = draw_from_fixed(draws, members, excluded, options.negatives, options.candidates, entity_keys)
        else:
            found = draw_negatives(draws, members, excluded, options.negatives)
        verdict = np.where((found < 0).any(axis=1), BUCKET["no_negative"], KEPT)
        return verdict, Drawn(found, pools.astype(np.int64), table["choice_routes"][choice])

    def _rows(self, batch: pa.RecordBatch, fit: Fit, drawn: Drawn) -> pa.Table:
        table, count = self._table, len(fit.places)
        qids = table["qids"]
        flat, places = batch.column("links").flatten(), pa.array(fit.places)
        types = np.full(count, -1)
        with_type = drawn.pools >= 0
        types[with_type] = table["pool_types"][drawn.pools[with_type]]
        copied = batch.select(["text", "page_id", "rev_id", "title"]).take(pa.array(fit.rows))
        columns: dict[str, pa.Array] = dict(zip(copied.schema.names, copied.columns, strict=True))
        columns |= {
            "mention_start": flat.field("start").take(places),
            "mention_end": flat.field("end").take(places),
            "entity_id": pa.array(fit.entities.astype(np.int32)),
            "entity_qid": pa.array(qids[fit.entities]),
            "hard_negative_ids": _lists(drawn.negatives.astype(np.int32), "hard_negative_ids"),
            "hard_negative_qids": _lists(qids[drawn.negatives], "hard_negative_qids"),
            "type_qid": pa.array(types, mask=~with_type),
            "type_route": pa.DictionaryArray.from_arrays(pa.array(drawn.routes.astype(np.int8)), ROUTES).cast(
                pa.string()
            ),
            "sentence_id": pa.array(fit.sentences),
            "wiki": pa.repeat(pa.scalar(self._wiki), count),
            "frequency_bin": pa.array(
                np.searchsorted(_POWERS_OF_TEN, table["counts"][fit.entities], side="right").astype(np.int8)
            ),
            SHUFFLE_KEY: pa.array(mix_hashes(fit.sample_keys, _SHUFFLE)),
        }
        return pa.Table.from_arrays([columns[name] for name in ROW_SCHEMA.names], schema=ROW_SCHEMA)


def _hash_texts(texts: pa.Array, rows: Ints) -> Hashes:
    """Return the hash of each text that stands in one of the rows, made the same for texts that differ in numbers."""
    hashes = np.zeros(len(texts), np.uint64)
    used = np.zeros(len(texts), np.bool_)
    used[rows] = True
    hashes[used] = hash_strings(pc.replace_substring_regex(texts.filter(pa.array(used)), r"\p{Nd}+", "0"))
    return hashes


def _lists(values: npt.NDArray[Any], name: str) -> pa.ListArray:
    rows, width = values.shape
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * np.int32(width))
    return pa.ListArray.from_arrays(offsets, pa.array(values.ravel()), type=schema.SCHEMA.field(name).type)
