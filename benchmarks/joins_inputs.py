"""Made-up inputs of the joins that `joins.py` measures, with as many rows in a shard as real wikis have.

Rows per shard follow from the sizes in `cost.py`: English Wikipedia is read in 365 ranges, Wikidata in 2,325, and each
range gives one shard.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import generate
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.arrays.tables import save_tables
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.schemas import entities, titles

WIKI = "enwiki"
# Pages of English Wikipedia: titles of articles and redirects, and articles alone.
TITLES, ARTICLES = 17_000_000, 7_000_000
TITLES_PER_SHARD, ITEMS_PER_SHARD, PAGE_PROPS_PER_SHARD = 46_000, 3_000, 200_000
# Links in a shard of `sentences`: `cost.py` counts 337 million in 365 shards.
LINKS_PER_SHARD = 924_000
NODES_PER_RANGE = 1_000_000
HUMAN, CLASSES = 5, 50_000
# Languages of labels, about as many as an item has of those of 18 wikis.
LANGUAGES = ("en", "de", "fr", "ru", "es", "ja", "it", "mul")

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def title_shards(directory: Path, rows: int, items_per_shard: int = ITEMS_PER_SHARD) -> None:
    """Write shards of `titles` and `sitelinks` of a wiki with so many titles, 10 redirects for 7 articles."""
    pages = np.arange(rows, dtype=np.int64)
    redirects = _share(1, pages, 1 - ARTICLES / TITLES)
    _write(directory, "titles", titles.SCHEMA, TITLES_PER_SHARD, pages, lambda some: _titles(some, rows, redirects))
    # Two in a hundred redirects have an item as well, as most articles have; some links lead out of the wiki's dump.
    linked = pages[np.where(redirects, _share(2, pages, 0.02), _share(2, pages, 0.97))]
    linked = np.concatenate([linked, np.arange(rows, rows + rows // 500)])
    _write(directory, "sitelinks", entities.SITELINKS, items_per_shard, linked, _sitelinks)
    props = pages[~redirects & _share(3, pages, 0.97)]
    _write(directory, "page_props", entities.SITELINKS, PAGE_PROPS_PER_SHARD, props, _page_props)


def entity_shards(directory: Path, items: int, shards: int) -> None:
    """Write a dataset of so many entities, and the links counted in so many shards of `sentences`."""
    dataset, numbers = directory / "entities", np.arange(1, items + 1)
    parts = _write(dataset, "entities", entities.SCHEMA, ITEMS_PER_SHARD, numbers, _entities)
    generate.finish(dataset, parts, {"dataset": "entities", "schema_version": entities.VERSION})
    for number in range(shards):
        found, counts = _counts(items, number)
        save_tables(f"{directory}/counts", f"links-{number:06d}", {"items": found, "counts": counts})


def counted_items(items: int, shards: int) -> int:
    """Return how many different items the links of so many shards lead to, shard by shard, about."""
    rank = np.geomspace(1, items, 1_000)
    met = 1 - np.exp(-LINKS_PER_SHARD / np.log(items) / rank)
    return round(shards * float((np.diff(rank) * (met[1:] + met[:-1]) / 2).sum()))


def _counts(items: int, shard: int) -> tuple[Ints, Ints]:
    """Return the items that the links of a shard lead to, ascending, and how often each is linked to."""
    # The n-th item by frequency has a share of the links of 1 / n (Zipf). Ranks are spread over all item numbers.
    rank = np.exp(np.random.default_rng(shard).random(LINKS_PER_SHARD) * np.log(items)).astype(np.int64)
    found, counts = np.unique(rank * 7_919 % items + 1, return_counts=True)
    return found, counts


def name_ranges(directory: Path, nodes: int) -> None:
    """Write the trie nodes of ranges of names: half of them names, and half prefixes of names."""
    for number in range(max(1, nodes // NODES_PER_RANGE)):
        rng = np.random.default_rng(number)
        hashes = np.unique(rng.integers(0, 1 << 64, NODES_PER_RANGE, np.uint64))
        values = np.where(rng.random(len(hashes)) < 0.5, 2 * np.arange(len(hashes)) // 2 * 2, -1).astype(np.int32)
        save_tables(f"{directory}/ranges", f"range-{number:06d}", {"hashes": hashes, "values": values})


def _write(
    directory: Path,
    config: str,
    schema: pa.Schema,
    rows_per_shard: int,
    rows: Ints,
    columns: Callable[[Ints], dict[str, Any]],
) -> list[Part | None]:
    """Write shards of a config under temporary names, which keep their order."""
    parts = []
    for order, first in enumerate(range(0, len(rows), rows_per_shard)):
        with PartWriter(generate.parts_of(directory), config, order, schema) as writer:
            found = columns(rows[first : first + rows_per_shard])
            arrays = [
                column if isinstance(column, pa.Array) else pa.array(column, field.type)
                for field, column in ((field, found[field.name]) for field in schema)
            ]
            writer.write(pa.RecordBatch.from_arrays(arrays, schema=schema))
        parts.append(writer.part)
    return parts


def shards(directory: Path, config: str) -> list[str]:
    """Return the shards of a config, in order."""
    return sorted(map(str, Path(generate.parts_of(directory)).glob(f"{config}-*.parquet")))


def _share(seed: int, numbers: Ints, share: float) -> Mask:
    """Choose a share of numbers by their hash."""
    return mix(seed, numbers) < np.uint64(int(share * (1 << 64)))


def _title(numbers: Ints) -> pa.Array:
    return pc.binary_join_element_wise("Title of page", pa.array(numbers).cast(pa.string()), " ")


def _masked(values: pa.Array, mask: Mask) -> pa.Array:
    return pa.array(np.where(mask, values.to_numpy(zero_copy_only=False), None), values.type)


def _titles(pages: Ints, rows: int, redirects: Mask) -> dict[str, Any]:
    # Most redirects lead to an article; two in a hundred lead to any title, or to one that is not in the dump.
    hashes, articles = mix(4, pages), np.flatnonzero(~redirects)
    targets = articles[hashes % np.uint64(len(articles))]
    chained = _share(5, pages, 0.02)
    targets[chained] = hashes[chained] % np.uint64(rows + rows // 20)
    redirect = redirects[pages]
    flags = np.array([[], ["disambiguation"], ["list"]], object)
    kind = np.where(_share(6, pages, 0.03), 1, np.where(_share(7, pages, 0.02), 2, 0))
    return {
        "wiki": pa.repeat(pa.scalar(WIKI), len(pages)),
        "title": _title(pages),
        "page_id": pages + 1,
        "rev_id": pages + 1,
        "redirect": _masked(_title(targets), redirect),
        "redirect_fragment": _masked(pa.array(np.where(_share(8, pages, 0.15), "Section", "")), redirect),
        "flags": flags[np.where(redirect, 0, kind)].tolist(),
        "links": [[]] * len(pages),
    }


def _item(pages: Ints) -> Ints:
    return pages * 7_919 % 120_000_007 + 1


def _sitelinks(pages: Ints) -> dict[str, Any]:
    count = len(pages)
    return {
        "wiki": pa.repeat(pa.scalar(WIKI), count),
        "qid": _item(pages),
        "title": _title(pages),
        "page_id": pa.nulls(count, pa.int64()),
        "source": pa.repeat(pa.scalar("wikidata"), count),
    }


def _page_props(pages: Ints) -> dict[str, Any]:
    count = len(pages)
    return {
        "wiki": pa.repeat(pa.scalar(WIKI), count),
        # One in a thousand is in conflict with the sitelink.
        "qid": np.where(_share(9, pages, 0.001), 1, _item(pages)),
        "title": pa.nulls(count, pa.string()),
        "page_id": pages + 1,
        "source": pa.repeat(pa.scalar("page_props"), count),
    }


def _entities(items: Ints) -> dict[str, Any]:
    human = _share(10, items, 0.3)
    uniform = mix(11, items).astype(np.float64) / (1 << 64)
    types = np.where(human, HUMAN, np.exp(uniform * np.log(CLASSES)).astype(np.int64) + 10)
    jobs = (mix(12, items) % np.uint64(5_000)).astype(np.int64) + 100_000
    types_of = [[number] for number in types.tolist()]
    return {
        "qid": items,
        "types": types_of,
        "type_route": pa.repeat(pa.scalar("instance_of"), len(items)),
        "any_rank_types": types_of,
        "superclasses": [[number // 50 + 10] if number <= CLASSES else [] for number in items.tolist()],
        "occupations": [[job] if flag else [] for job, flag in zip(jobs.tolist(), human.tolist(), strict=True)],
        "labels": _labels(items),
        "lastrevid": items,
    }


def _labels(items: Ints) -> pa.Array:
    number = np.repeat(items, len(LANGUAGES))
    texts = pc.binary_join_element_wise("Label of item", pa.array(number).cast(pa.string()), " ")
    languages = pa.array(np.tile(LANGUAGES, len(items)))
    offsets = pa.array(np.arange(len(items) + 1, dtype=np.int32) * len(LANGUAGES))
    choices = pa.StructArray.from_arrays([languages, texts], fields=list(entities.LABEL))
    return pa.ListArray.from_arrays(offsets, choices, type=entities.SCHEMA.field("labels").type)
