"""What becomes of each link: batches of sentences in, rows of pairs and a ledger out. Every link ends in exactly one
bucket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.linking.entity_table import ABSENT, NONE, ROUTES
from pipelines.linking.hashing import Hashes, hash_column, hash_string, mix, mix_hashes
from pipelines.linking.negatives import Draws, draw_from_fixed, draw_negatives
from pipelines.linking.page_links import PageLinks
from pipelines.linking.tables import find, find_ids
from pipelines.linking.title_index import DISAMBIGUATION, LIST, LOOP, NO_ITEM, RED, SECTION, Ints, TitleIndex
from schemas import pairs as schema

BUCKETS = (
    "kept",
    "section_link",
    "section_redirect",
    "disambiguation",
    "list",
    "red_link",
    "redirect_loop",
    "no_item",
    "own_page",
    "meta_item",
    "not_in_required_wiki",
    "below_floor",
    "no_type",
    "small_pool",
    "no_negative",
    "over_cap",
    "not_sampled",
    "duplicate",
)
BUCKET = {name: number for number, name in enumerate(BUCKETS)}
_CODES = {
    SECTION: "section_redirect",
    DISAMBIGUATION: "disambiguation",
    LIST: "list",
    RED: "red_link",
    LOOP: "redirect_loop",
    NO_ITEM: "no_item",
}
# Columns that order rows and are not published.
ORDER = ("order", "sentence_index")


@dataclass(frozen=True)
class DecisionOptions:
    """How links become rows.

    Attributes:
        seed: key of every choice.
        negatives: hard negatives for each row; 0 for none, and then no type is needed.
        candidates: hard negatives come from so many entities fixed for each positive; 0 for the whole pool.
        own_page: whether the page's own entity is barred from being a negative.
        sections: whether links to a section count as links to its page.
        min_links: in the wiki of the row itself, where the floor is per wiki; 0 otherwise.
    """

    seed: int
    negatives: int
    candidates: int
    own_page: bool
    sections: bool
    min_links: int


@dataclass(frozen=True)
class Limits:
    """Which rows of those that are fit are taken, by their order hash.

    Attributes:
        sample: the highest hash taken, None for all.
        capped: dense ids with more rows than the cap, ascending.
        caps: the highest hash taken for each of them.
    """

    sample: int | None
    capped: Ints
    caps: Hashes

    @staticmethod
    def none() -> Limits:
        """Take all."""
        return Limits(None, np.zeros(0, np.int64), np.zeros(0, np.uint64))


class Decider:
    """Decides on the links of one wiki."""

    def __init__(
        self,
        wiki: str,
        index: TitleIndex,
        table: Mapping[str, npt.NDArray[Any]],
        wiki_counts: tuple[Ints, Ints],
        options: DecisionOptions,
    ) -> None:
        self._wiki, self._index, self._table, self._options = wiki, index, table, options
        self._wiki_counts = wiki_counts
        self._wiki_hash = hash_string(wiki) >> 1

    def decide(self, batch: pa.RecordBatch, page_links: PageLinks, limits: Limits) -> tuple[Ints, pa.Table]:
        """Decide on the links of a batch of sentences.

        Args:
            batch: rows of `sentences`.
            page_links: what the pages of the wiki link to.
            limits: which fit rows are taken.

        Returns:
            How many links fell into each of `BUCKETS`, and the rows kept: the columns of `schemas.pairs` and those of
            `ORDER`.
        """
        links = batch.column("links")
        rows = pc.list_parent_indices(links).to_numpy()
        flat = links.flatten()
        verdict = np.zeros(len(rows), np.int64)
        dense = self._positives(batch, rows, flat, verdict)
        at = np.flatnonzero(verdict == 0)
        order, sentence_ids = self._order(batch, rows[at], flat, at, dense[at])
        pages, places = np.unique(batch.column("page_id").to_numpy()[rows[at]], return_inverse=True)
        drawn, pools, routes = self._negatives(verdict, at, dense[at], pages, places, sentence_ids, flat, page_links)
        self._limit(verdict, at, dense[at], order, limits)
        kept = verdict[at] == 0
        counts = np.bincount(verdict, minlength=len(BUCKETS))
        table = self._rows(
            batch,
            rows[at[kept]],
            flat,
            at[kept],
            dense[at[kept]],
            drawn[kept],
            pools[kept],
            routes[kept],
            order[kept],
            sentence_ids[kept],
        )
        return counts, table

    def _positives(self, batch: pa.RecordBatch, rows: Ints, flat: pa.StructArray, verdict: Ints) -> Ints:
        """Return the dense id of each link's entity, and give a verdict where it has none that may be kept."""
        values = self._index.resolve(flat.field("target"))
        if not self._options.sections:
            verdict[pc.not_equal(flat.field("fragment"), "").to_numpy(zero_copy_only=False)] = BUCKET["section_link"]
        for code, name in _CODES.items():
            verdict[(verdict == 0) & (values == code)] = BUCKET[name]
        own = self._index.resolve(batch.column("title"))[rows]
        verdict[(verdict == 0) & (values == own)] = BUCKET["own_page"]
        dense = find_ids(self._table, values)
        absent = (verdict == 0) & (dense < 0)
        why = self._table["left_out_why"]
        left = find(self._table["left_out"], values)
        verdict[absent] = BUCKET["below_floor"]
        known = absent & (left >= 0)
        verdict[known] = np.where(why[left[known]] == ABSENT, BUCKET["not_in_required_wiki"], BUCKET["meta_item"])
        if self._options.min_links:
            qids, counts = self._wiki_counts
            place = find(qids, values)
            below = (verdict == 0) & ((place < 0) | (counts[np.maximum(place, 0)] <= self._options.min_links))
            verdict[below] = BUCKET["below_floor"]
        return dense

    def _order(
        self, batch: pa.RecordBatch, rows: Ints, flat: pa.StructArray, at: Ints, dense: Ints
    ) -> tuple[Hashes, Ints]:
        """Return the hash that orders, samples and caps rows, and the id of each row's sentence.

        The order is a hash of what the row says, digits made equal, so that the same sentence on several pages comes
        together.
        """
        texts = pc.replace_substring_regex(batch.column("text"), "[0-9]+", "0")
        hashes, places = hash_column(texts)
        qids = self._table["qids"][dense] if len(dense) else dense
        starts = flat.field("start").to_numpy()[at]
        order = mix_hashes(
            mix_hashes(mix_hashes(hashes[places[rows]], qids), starts), self._options.seed & 0xFFFFFFFFFFFFFFFF
        )
        ids = mix(self._wiki_hash, batch.column("page_id").to_numpy(), batch.column("sentence_index").to_numpy())
        return order >> np.uint64(1), (ids >> np.uint64(1)).astype(np.int64)[rows]

    def _negatives(
        self,
        verdict: Ints,
        at: Ints,
        dense: Ints,
        pages: Ints,
        places: Ints,
        sentence_ids: Ints,
        flat: pa.StructArray,
        page_links: PageLinks,
    ) -> tuple[Ints, Ints, Ints]:
        """Return negatives, pool and route of each row, and give a verdict where there are not enough."""
        options, table, count = self._options, self._table, self._options.negatives
        nothing = np.full(len(at), -1, np.int64)
        if count == 0:
            return np.zeros((len(at), 0), np.int64), nothing, np.full(len(at), NONE)
        first = table["choice_starts"][dense]
        choices = table["choice_starts"][dense + 1] - first if len(dense) else first
        verdict[at[choices == 0]] = np.where(
            table["typed"][dense[choices == 0]], BUCKET["small_pool"], BUCKET["no_type"]
        )
        fit = np.flatnonzero(choices > 0)
        drawn = np.full((len(at), count), -1, np.int64)
        pools, routes = nothing, np.full(len(at), NONE)
        if not len(fit):
            return drawn, pools, routes
        keys = mix(options.seed, sentence_ids[fit], flat.field("start").to_numpy()[at[fit]])
        entity_keys = mix(options.seed, table["qids"][dense[fit]])
        choice = first[fit] + ((entity_keys if options.candidates else keys) % choices[fit].astype(np.uint64)).astype(
            np.int64
        )
        pools[fit] = table["choice_pools"][choice]
        routes[fit] = table["choice_routes"][choice]
        excluded = page_links.excluded(pages, options.own_page)
        starts = table["pool_starts"][pools[fit]]
        draws = Draws(dense[fit], places[fit], starts, table["pool_starts"][pools[fit] + 1] - starts, keys)
        if options.candidates:
            drawn[fit] = draw_from_fixed(draws, table["pool_members"], excluded, count, options.candidates, entity_keys)
        else:
            drawn[fit] = draw_negatives(draws, table["pool_members"], excluded, count)
        short = fit[(drawn[fit] < 0).any(axis=1)]
        verdict[at[short]] = BUCKET["no_negative"]
        return drawn, pools, routes

    def _limit(self, verdict: Ints, at: Ints, dense: Ints, order: Hashes, limits: Limits) -> None:
        fit = verdict[at] == 0
        if len(limits.capped):
            place = find(limits.capped, dense)
            over = fit & (place >= 0) & (order > limits.caps[np.maximum(place, 0)])
            verdict[at[over]] = BUCKET["over_cap"]
            fit &= ~over
        if limits.sample is not None:
            verdict[at[fit & (order > np.uint64(limits.sample))]] = BUCKET["not_sampled"]

    def _rows(
        self,
        batch: pa.RecordBatch,
        rows: Ints,
        flat: pa.StructArray,
        at: Ints,
        dense: Ints,
        drawn: Ints,
        pools: Ints,
        routes: Ints,
        order: Hashes,
        sentence_ids: Ints,
    ) -> pa.Table:
        table, taken = self._table, pa.array(rows)
        counts = table["counts"][dense] if len(dense) else dense
        columns: dict[str, pa.Array] = {
            name: batch.column(name).take(taken) for name in ("text", "page_id", "rev_id", "title", "sentence_index")
        }
        columns |= {
            "mention_start": flat.field("start").take(pa.array(at)),
            "mention_end": flat.field("end").take(pa.array(at)),
            "entity_id": pa.array(dense.astype(np.int32)),
            "entity_qid": pa.array(table["qids"][dense]),
            "hard_negative_ids": _lists(drawn.astype(np.int32), "hard_negative_ids"),
            "hard_negative_qids": _lists(table["qids"][drawn] if drawn.size else drawn, "hard_negative_qids"),
            "type_qid": pa.array(
                table["pool_types"][np.maximum(pools, 0)] if len(table["pool_types"]) else pools, mask=pools < 0
            ),
            "type_route": pa.DictionaryArray.from_arrays(pa.array(routes.astype(np.int8)), pa.array(ROUTES)).cast(
                pa.string()
            ),
            "sentence_id": pa.array(sentence_ids),
            "wiki": pa.repeat(pa.scalar(self._wiki), len(rows)),
            "frequency_bin": pa.array((np.floor(np.log10(np.maximum(counts, 1)) + 1e-9)).astype(np.int8)),
            "order": pa.array(order),
        }
        return pa.Table.from_arrays([columns[name] for name in ROW_SCHEMA.names], schema=ROW_SCHEMA)


ROW_SCHEMA = pa.schema(
    [*schema.SCHEMA, pa.field("order", pa.uint64(), False), pa.field("sentence_index", pa.int32(), False)]
)


def _lists(values: npt.NDArray[Any], name: str) -> pa.ListArray:
    rows, width = values.shape
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * np.int32(width))
    return pa.ListArray.from_arrays(offsets, pa.array(values.ravel()), type=schema.SCHEMA.field(name).type)


def count_links(batches: Sequence[pa.RecordBatch], index: TitleIndex, sections: bool) -> tuple[Ints, Ints, int]:
    """Count how often each item is linked to; a link to a section counts where `sections` says so, as in `Decider`.

    Returns:
        Items, ascending; their counts; and the number of links seen.
    """
    values = [np.zeros(0, np.int64)]
    seen = 0
    for batch in batches:
        flat = batch.column("links").flatten()
        seen += len(flat)
        found = index.resolve(flat.field("target"))
        if not sections:
            found = found[pc.equal(flat.field("fragment"), "").to_numpy(zero_copy_only=False)]
        values.append(found[found > 0])
    items, counts = np.unique(np.concatenate(values), return_counts=True)
    return items, counts, seen
