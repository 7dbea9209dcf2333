"""Decide for every link whether it becomes a row of `pairs`, and with which hard negatives.

Each link ends in exactly one of `BUCKETS`, which the ledger counts. The rules follow EASE (Nishikawa et al., NAACL
2022, section 3); docs/explanation/differences.md lists where the default options differ from the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import Hashes, below, hash_string, hash_strings, mix, mix_hashes
from wikianchor.pipelines.arrays.splits import NO_SPLIT, Split
from wikianchor.pipelines.arrays.tables import find
from wikianchor.pipelines.pairs.entity_table import ABSENT, EXCLUDED, META, NONE, ROUTES, EntityIds
from wikianchor.pipelines.pairs.named_entities import NameSearch
from wikianchor.pipelines.pairs.negatives import Draws, draw_from_fixed, draw_negatives
from wikianchor.pipelines.pairs.page_links import PageLinks
from wikianchor.pipelines.pairs.wiki_pools import Pools
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
    "excluded_type",
    "not_in_required_wiki",
    "below_floor",
    "other_split",
    "evaluation_text",
    "text_in_other_split",
    "near_duplicate",
    "repeated_text",
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
_BUCKET_OF_LEFT_OUT = np.zeros(3, np.int64)
_BUCKET_OF_LEFT_OUT[META] = BUCKET["meta_item"]
_BUCKET_OF_LEFT_OUT[ABSENT] = BUCKET["not_in_required_wiki"]
_BUCKET_OF_LEFT_OUT[EXCLUDED] = BUCKET["excluded_type"]
# The first bytes in UTF-8 of all digits outside ASCII. A pattern of these takes as long to compile as for 100 texts.
FOREIGN_DIGITS = b"\xd9\xdb\xdf\xe0\xe1\xea\xef\xf0"
_POWERS_OF_TEN = 10 ** np.arange(1, 19)
# Makes the shuffle key independent of the sample key: else the first output shards would hold all rows of a sample.
_SHUFFLE = 1
# Column of the shuffle: output shards are ranges of this key. It is not published. With --split, its highest bits are
# the split, so that each output shard is of one split.
SHUFFLE_KEY = "shuffle_key"
# Column of the shuffle: `Eligible.texts`. It is not published.
TEXT_HASH = "text_hash"
SPLIT_SHIFT = 62
ROW_SCHEMA = pa.schema(
    [*schema.SCHEMA, *(pa.field(name, pa.uint64(), nullable=False) for name in (TEXT_HASH, SHUFFLE_KEY))]
)
# The greatest sample key: as a limit it excludes no row.
ANY_KEY = (1 << 63) - 1


@dataclass(frozen=True)
class DecisionOptions:
    """How links become rows.

    Attributes:
        seed: key of every choice.
        negatives: hard negatives of each row. With 0, an entity needs no type.
        candidates: draw the hard negatives of an entity from this many members of its pool, chosen once for each
            entity, as the released EASE data were made; 0: from the whole pool.
        sections: count a link to a section as a link to its page.
        duplicates: keep rows whose content equals that of another row of the wiki.
        repeats: whether repeated texts are left out where rows are written.
        split: how pages are assigned to splits.
    """

    seed: int
    negatives: int
    candidates: int
    sections: bool
    duplicates: bool
    split: Split = NO_SPLIT
    repeats: bool = False


@dataclass(frozen=True)
class KeyLimits:
    """The greatest sample keys that are kept; the default keeps all rows.

    Attributes:
        sample: the greatest key of a row that is sampled.
        capped: dense ids of the entities that have more rows than the cap, ascending.
        caps: the greatest key of a row of each of these entities.
    """

    sample: int = ANY_KEY
    capped: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    caps: Hashes = field(default_factory=lambda: np.zeros(0, np.uint64))


class Eligible(NamedTuple):
    """The links of a batch that no rule has excluded yet, one array element for each link.

    Attributes:
        links: index among the links of the batch.
        rows: index of the sentence in the batch.
        entities: dense ids.
        pages: page ids.
        sentences: sentence ids.
        starts: offset in the sentence, code points.
        texts: a hash of the sentence, in which digits do not count; 0 where it is not needed.
        sample_keys: a hash of the row's content, 63 bits. The rows with the smallest keys make the sample, and
            those kept under a cap. Duplicates have equal keys: the same sentence, digits aside, with a link at the same
            offset to the same entity.
    """

    links: Ints
    rows: Ints
    entities: Ints
    pages: Ints
    sentences: Ints
    starts: Ints
    texts: Hashes
    sample_keys: Hashes

    def where(self, mask: npt.NDArray[np.bool_]) -> Eligible:
        """Return the links of a mask."""
        return Eligible._make(column[mask] for column in self)


class Linked(NamedTuple):
    """The targets of links, one array element for each link.

    Attributes:
        codes: the codes of the title index (`titles.title_index`).
        items: Wikidata items; 0 for links that do not count.
        entities: dense ids of the entity table; -1 for none.
        dropped: the bucket of the sentence, `kept` or the reason why it is left out (`sentence_checks`).
    """

    codes: Codes
    items: Ints
    entities: Ints
    dropped: Ints

    def slice(self, first: int, last: int) -> Linked:
        """Return the links [first, last)."""
        return Linked._make(column[first:last] for column in self)


def linked_of(links: ShardLinks, ids: EntityIds, dropped: Ints | None = None) -> Linked:
    """Return the targets of the links of a shard.

    Args:
        links: the links of the shard.
        ids: dense ids of items.
        dropped: the bucket of the sentence of each link; None where all sentences are kept.
    """
    # `which` is -1 for a link that does not count, which is the appended element.
    items, entities = np.append(links.items, 0), np.append(ids.of(links.items), -1)
    if dropped is None:
        dropped = np.full(len(links.which), KEPT)
    return Linked(links.codes, items[links.which], entities[links.which].astype(np.int64), dropped)


class DrawnNegatives(NamedTuple):
    """The hard negatives of links.

    Attributes:
        negatives: (links, negatives) dense ids; -1 where the pool has no more.
        pools: number of the pool that they are drawn from; -1 for none.
        routes: index into `ROUTES`: how the type of the pool was found.
    """

    negatives: Ints
    pools: Ints
    routes: Ints


class Decider:
    """Decide on the links of one wiki.

    Args:
        wiki: database name.
        page_items: page ids, ascending, and the item of each page; 0 for none.
        table: the entity table. With --floor=wiki, the array `frequent-<wiki>` says which entities are above the
            floor in the wiki.
        page_links: the entities that its pages link to.
        options: how links become rows.
        names: searches pages for the names of entities; None to draw entities that the page names too.
        pools: the pools of the wiki, which negatives are drawn from where there are enough; None to draw from those of
            all wikis.
    """

    def __init__(
        self,
        wiki: str,
        page_items: tuple[Ints, Ints],
        table: Mapping[str, npt.NDArray[Any]],
        page_links: PageLinks,
        options: DecisionOptions,
        names: NameSearch | None = None,
        pools: Pools | None = None,
    ) -> None:
        self._wiki, self._page_items = wiki, page_items
        self._table, self._page_links, self._options = table, page_links, options
        self._names, self._pools = names, pools
        self._wiki_hash = hash_string(wiki)

    def decide(self, batch: pa.RecordBatch, linked: Linked, limits: KeyLimits) -> tuple[Ints, pa.Table]:
        """Decide on the links of a batch of sentences.

        Args:
            batch: rows of `sentences`; all sentences of their pages.
            linked: the targets of their links.
            limits: the sample keys that are kept.

        Returns:
            The number of links in each of `BUCKETS`, and the rows kept, in ROW_SCHEMA.
        """
        buckets, links = self._eligible(batch, linked)
        limited = self._limited(links, limits)
        buckets[links.links] = limited
        links = links.where(limited == KEPT)
        drawn_buckets, drawn = self._draw(batch, links)
        buckets[links.links] = drawn_buckets
        kept = drawn_buckets == KEPT
        drawn = DrawnNegatives(*(column[kept] for column in drawn))
        return np.bincount(buckets, minlength=len(BUCKETS)), self._rows(batch, links.where(kept), drawn)

    def sample_keys(
        self, batch: pa.RecordBatch, linked: Linked, limits: KeyLimits, only: npt.NDArray[np.bool_] | None = None
    ) -> tuple[Ints, Hashes]:
        """Return the entity and the sample key of each row that `decide` would keep.

        Args:
            batch: rows of `sentences`.
            linked: the targets of their links.
            limits: the sample keys that are kept.
            only: mask of dense ids: rows of other entities are left out.
        """
        _, links = self._eligible(batch, linked)
        wanted = self._limited(links, limits) == KEPT
        if only is not None:
            wanted &= only[links.entities]
        links = links.where(wanted)
        links = links.where(self._draw(batch, links)[0] == KEPT)
        return links.entities, links.sample_keys

    def _eligible(self, batch: pa.RecordBatch, linked: Linked) -> tuple[Ints, Eligible]:
        """Return the bucket of each link by its target alone, and the links that are still in `kept`."""
        links = batch.column("links")
        rows, flat = pc.list_parent_indices(links).to_numpy(), links.flatten()
        items, entities = linked.items, linked.entities
        buckets = _BUCKET_OF_CODE[linked.codes]
        if not self._options.sections:
            to_section = pc.not_equal(flat.field("fragment"), "").to_numpy(zero_copy_only=False)
            buckets[to_section] = BUCKET["section_link"]
        pages, numbers = batch.column("page_id").to_numpy(), batch.column("sentence_index").to_numpy()
        known_pages, page_items = self._page_items
        items_of_pages = page_items[np.searchsorted(known_pages, pages)]
        buckets[(buckets == KEPT) & (items == items_of_pages[rows])] = BUCKET["own_page"]
        self._check_entities(buckets, items, entities)
        if self._options.split:
            splits = self._options.split.of_pages(self._wiki_hash, pages, items_of_pages)
            kept = np.flatnonzero(buckets == KEPT)
            buckets[kept[splits[rows[kept]] != self._table["splits"][entities[kept]]]] = BUCKET["other_split"]
        buckets = np.where(buckets == KEPT, linked.dropped, buckets)

        eligible = np.flatnonzero(buckets == KEPT)
        rows, entities = rows[eligible], entities[eligible]
        sentences = mix(self._wiki_hash, pages, numbers) >> np.uint64(1)
        starts = flat.field("start").to_numpy()[eligible].astype(np.int64)
        options = self._options
        texts = None if options.duplicates and not options.repeats else hash_texts(batch.column("text"), rows)
        contents = sentences if options.duplicates or texts is None else texts
        keys = mix(options.seed, self._wiki_hash, contents[rows], self._table["qids"][entities], starts)
        return buckets, Eligible(
            links=eligible,
            rows=rows,
            entities=entities,
            pages=pages[rows],
            sentences=sentences.astype(np.int64)[rows],
            starts=starts,
            texts=np.zeros(len(rows), np.uint64) if texts is None else texts[rows],
            sample_keys=keys >> np.uint64(1),
        )

    def _check_entities(self, buckets: Ints, items: Ints, entities: Ints) -> None:
        """Set the bucket of links to entities that are not in the table, below the floor of this wiki, or without a
        pool to draw from."""
        missing = np.flatnonzero((buckets == KEPT) & (entities < 0))
        left_out = find(self._table["left_out"], items[missing])
        buckets[missing] = BUCKET["below_floor"]
        reasons = self._table["left_out_why"][left_out[left_out >= 0]]
        buckets[missing[left_out >= 0]] = _BUCKET_OF_LEFT_OUT[reasons]
        if (frequent := self._table.get(f"frequent-{self._wiki}")) is not None:
            kept = np.flatnonzero(buckets == KEPT)
            buckets[kept[~frequent[entities[kept]]]] = BUCKET["below_floor"]
        if self._options.negatives:
            kept = np.flatnonzero(buckets == KEPT)
            starts = self._table["choice_starts"]
            no_pool = kept[starts[entities[kept]] == starts[entities[kept] + 1]]
            typed = self._table["typed"][entities[no_pool]]
            buckets[no_pool] = np.where(typed, BUCKET["small_pool"], BUCKET["no_type"])

    def _limited(self, links: Eligible, limits: KeyLimits) -> Ints:
        """Return the bucket of each link by its sample key: `kept`, `not_sampled` or `over_cap`.

        Comparing keys is cheap, so it is done before negatives are drawn.
        """
        buckets = np.full(len(links.links), KEPT)
        buckets[links.sample_keys > np.uint64(limits.sample)] = BUCKET["not_sampled"]
        entity = find(limits.capped, links.entities)
        capped = np.flatnonzero(entity >= 0)
        buckets[capped[links.sample_keys[capped] > limits.caps[entity[capped]]]] = BUCKET["over_cap"]
        return buckets

    def _draw(self, batch: pa.RecordBatch, links: Eligible) -> tuple[Ints, DrawnNegatives]:
        """Draw the negatives of links; return the bucket of each link, `kept` or `no_negative`, and the negatives."""
        options, table, count = self._options, self._table, len(links.links)
        if not options.negatives or not count:
            nothing = np.full((count, options.negatives), -1)
            return np.full(count, KEPT), DrawnNegatives(nothing, np.full(count, -1), np.full(count, NONE))
        keys = mix(options.seed, links.sentences, links.starts)
        entity_keys = mix(options.seed, table["qids"][links.entities])
        choice = self._choose_pools(links.entities, entity_keys if options.candidates else keys)
        pools = table["choice_pools"][choice].astype(np.int64)
        of_all = Pools(table["pool_starts"], table["pool_members"])
        excluded = self._page_links.of_pages(links.pages)
        if self._names:
            pages = batch.column("page_id").to_numpy()
            excluded = replace(excluded, named=self._names.open(batch.column("text"), pages, links.rows))

        def draws_from(source: Pools) -> Draws:
            return Draws(links.entities, links.pages, source.starts[pools], source.sizes(pools), keys)

        draws = draws_from(of_all)
        if options.candidates:
            negatives = draw_from_fixed(
                draws, of_all.members, excluded, options.negatives, options.candidates, entity_keys
            )
        elif self._pools is None:
            negatives = draw_negatives(draws, of_all.members, excluded, options.negatives)
        else:
            negatives = draw_negatives(draws_from(self._pools), self._pools.members, excluded, options.negatives)
            lacking = np.flatnonzero((negatives < 0).any(axis=1))
            negatives[lacking] = draw_negatives(draws.at(lacking), of_all.members, excluded, options.negatives)
        buckets = np.where((negatives < 0).any(axis=1), BUCKET["no_negative"], KEPT)
        return buckets, DrawnNegatives(negatives, pools, table["choice_routes"][choice])

    def _choose_pools(self, entities: Ints, keys: Hashes) -> Ints:
        """Choose a pool for each link: the index into `choice_pools`. Pools with enough members that have a page in the
        wiki come first."""
        first, last = self._table["choice_starts"][entities], self._table["choice_starts"][entities + 1]
        choice: Ints = first + below(keys, last - first)
        if self._pools is None:
            return choice
        several = np.flatnonzero(last - first > 1)
        counts = (last - first)[several]
        row = np.repeat(np.arange(len(several)), counts)
        candidates = np.arange(len(row)) + np.repeat(first[several] - (np.cumsum(counts) - counts), counts)
        usable = self._pools.sizes(self._table["choice_pools"][candidates]) > self._options.negatives
        row, candidates = row[usable], candidates[usable]
        counts = np.bincount(row, minlength=len(several))
        some = np.flatnonzero(counts)
        starts = (np.cumsum(counts) - counts)[some]
        choice[several[some]] = candidates[starts + below(keys[several[some]], counts[some])]
        return choice

    def _rows(self, batch: pa.RecordBatch, links: Eligible, drawn: DrawnNegatives) -> pa.Table:
        """Return the rows of links, in ROW_SCHEMA."""
        table, count = self._table, len(links.links)
        qids = table["qids"]
        flat, indices = batch.column("links").flatten(), pa.array(links.links)
        types = np.full(count, -1)
        with_type = drawn.pools >= 0
        types[with_type] = table["pool_types"][drawn.pools[with_type]]
        copied = batch.select(["text", "page_id", "rev_id", "title"]).take(pa.array(links.rows))
        columns: dict[str, pa.Array] = dict(zip(copied.schema.names, copied.columns, strict=True))
        columns |= {
            "mention_start": flat.field("start").take(indices),
            "mention_end": flat.field("end").take(indices),
            "entity_id": pa.array(links.entities.astype(np.int32)),
            "entity_qid": pa.array(qids[links.entities]),
            "hard_negative_ids": _lists(drawn.negatives.astype(np.int32), "hard_negative_ids"),
            "hard_negative_qids": _lists(qids[drawn.negatives], "hard_negative_qids"),
            "type_qid": pa.array(types, mask=~with_type),
            "type_route": pa.DictionaryArray.from_arrays(pa.array(drawn.routes.astype(np.int8)), ROUTES).cast(
                pa.string()
            ),
            "sentence_id": pa.array(links.sentences),
            "wiki": pa.repeat(pa.scalar(self._wiki), count),
            "frequency_bin": pa.array(
                np.searchsorted(_POWERS_OF_TEN, table["counts"][links.entities], side="right").astype(np.int8)
            ),
            TEXT_HASH: pa.array(links.texts),
            SHUFFLE_KEY: pa.array(self._shuffle_keys(links)),
        }
        return pa.Table.from_arrays([columns[name] for name in ROW_SCHEMA.names], schema=ROW_SCHEMA)

    def _shuffle_keys(self, links: Eligible) -> Hashes:
        keys = mix_hashes(links.sample_keys, _SHUFFLE)
        if not self._options.split:
            return keys
        splits = self._table["splits"][links.entities].astype(np.uint64)
        return keys >> np.uint64(64 - SPLIT_SHIFT) | splits << np.uint64(SPLIT_SHIFT)


def hash_texts(texts: pa.Array, rows: Ints) -> Hashes:
    """Return the hash of each text whose index is in `rows`, else 0. Texts that differ only in digits are equal."""
    hashes = np.zeros(len(texts), np.uint64)
    used = np.zeros(len(texts), np.bool_)
    used[rows] = True
    texts = texts.filter(pa.array(used))
    data = bytes(texts.buffers()[2] or b"")
    digits = r"\p{Nd}+" if any(byte in data for byte in FOREIGN_DIGITS) else "[0-9]+"
    hashes[used] = hash_strings(pc.replace_substring_regex(texts, digits, "0"))
    return hashes


def _lists(values: npt.NDArray[Any], name: str) -> pa.ListArray:
    rows, width = values.shape
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * np.int32(width))
    return pa.ListArray.from_arrays(offsets, pa.array(values.ravel()), type=schema.SCHEMA.field(name).type)
