"""What is counted in datasets for their report: one pass over the columns that matter, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.compute as pc

from wikianchor.pipelines.dataset.reader import Dataset, read_batches

# Characters of a sentence, by tens; links of a sentence, one by one; the last bin takes all that is longer.
LENGTH_STEP, LENGTHS, LINKS = 20, 20, 10
TOP = 20


@dataclass
class Sentences:
    """Of a dataset of sentences: how many have which length (by `LENGTH_STEP` characters) and how many links."""

    lengths: Any = field(default_factory=lambda: np.zeros(LENGTHS, np.int64))
    links: Any = field(default_factory=lambda: np.zeros(LINKS, np.int64))


def of_sentences(one: Dataset) -> Sentences:
    """Count lengths and links."""
    found = Sentences()
    for path in one.shards("sentences"):
        for batch in read_batches(path, ["text", "links"]):
            sizes = pc.utf8_length(batch["text"]).to_numpy(zero_copy_only=False) // LENGTH_STEP
            found.lengths += np.bincount(np.minimum(sizes, LENGTHS - 1), minlength=LENGTHS)
            numbers = pc.list_value_length(batch["links"]).to_numpy(zero_copy_only=False)
            found.links += np.bincount(np.minimum(numbers, LINKS - 1), minlength=LINKS)
    return found


def of_entities(one: Dataset) -> tuple[Counter[str], Counter[int]]:
    """Count the routes to types, and the types."""
    routes: Counter[str] = Counter()
    types: Counter[int] = Counter()
    for path in one.shards("entities"):
        for batch in read_batches(path, ["types", "type_route"]):
            _count(routes, batch["type_route"])
            _count(types, batch["types"].flatten())
    return routes, types


@dataclass
class Pairs:
    """Of a dataset of pairs.

    Attributes:
        wikis, routes, types: rows by wiki, by route to the type, and by type.
        counts: links to each entity, most frequent first.
        pools: entities of each type that rows have.
        labels: of entities, by item, as far as they are needed here.
    """

    wikis: Counter[str] = field(default_factory=Counter)
    routes: Counter[str] = field(default_factory=Counter)
    types: Counter[int] = field(default_factory=Counter)
    counts: Any = field(default_factory=lambda: np.zeros(0, np.int64))
    pools: Counter[int] = field(default_factory=Counter)
    labels: dict[int, str] = field(default_factory=dict)
    most: list[tuple[int, int]] = field(default_factory=list)


def of_pairs(one: Dataset, wanted: Sequence[int]) -> Pairs:
    """Count rows, pools and frequencies; keep the labels of the items wanted, and of those that are shown here."""
    found = Pairs()
    for path in one.shards("pairs"):
        for batch in read_batches(path, ["wiki", "type_route", "type_qid"]):
            _count(found.wikis, batch["wiki"])
            _count(found.routes, batch["type_route"])
            _count(found.types, batch["type_qid"].drop_null())
    counts = []
    named = {*wanted, *(qid for qid, _ in found.types.most_common(TOP))}
    for path in one.shards("entities"):
        for batch in read_batches(path, ["qid", "count", "label", "types"]):
            counts.append(batch["count"].to_numpy())
            _count(found.pools, batch["types"].flatten())
            qids, labels = batch["qid"].to_numpy(), batch["label"]
            if len(found.most) < TOP:
                more = list(zip(qids.tolist(), counts[-1].tolist(), strict=True))
                found.most += more[: TOP - len(found.most)]
                named |= {qid for qid, _ in found.most}
            for place in np.flatnonzero(np.isin(qids, list(named))):
                if (label := labels[int(place)].as_py()) is not None:
                    found.labels[int(qids[place])] = label
    found.counts = np.concatenate(counts) if counts else found.counts
    return found


def labels_of(one: Dataset, wanted: Sequence[int]) -> dict[int, str]:
    """Return labels of items out of a dataset of entities, in the best language that each has."""
    found: dict[int, str] = {}
    items = np.array(sorted(set(wanted)), np.int64)
    best = {language: place for place, language in enumerate(one.manifest["options"].get("labels", ()))}
    for path in one.shards("entities") if len(items) else ():
        for batch in read_batches(path, ["qid", "labels"]):
            qids = batch["qid"].to_numpy()
            for place in np.flatnonzero(np.isin(qids, items)):
                labels = batch["labels"][int(place)].as_py()
                if labels:
                    first = min(labels, key=lambda label: best.get(label["language"], len(best)))
                    found[int(qids[place])] = first["text"]
    return found


def _count(counter: Counter[Any], values: Any) -> None:
    for entry in pc.value_counts(values).to_pylist():
        counter[entry["values"]] += entry["counts"]


def curve_points(counts: Any) -> list[tuple[float, float]]:
    """Return (rank, links) of entities, few points, evenly spread over a logarithmic axis."""
    if not len(counts):
        return []
    ranks = np.unique(np.geomspace(1, len(counts), 120).astype(np.int64))
    return [(float(rank), float(max(1, counts[rank - 1]))) for rank in ranks]


def pool_bins(found: Pairs) -> list[tuple[str, int]]:
    """Return how many rows draw their hard negatives from a pool of which size, by powers of two."""
    bins: Counter[int] = Counter()
    for qid, rows in found.types.items():
        bins[max(0, found.pools[qid] - 1).bit_length()] += rows
    return [
        (f"{1 << power}" if power < 10 else f"{1 << power >> 10}k", bins[power])
        for power in range(max(bins, default=0) + 1)
    ]
