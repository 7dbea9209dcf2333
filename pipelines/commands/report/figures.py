"""Figures of datasets for the page: one pass over the columns that matter, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.commands.report.charts import Chart, curve, histogram
from wikianchor.pipelines.commands.verify.derive_again import sample
from wikianchor.pipelines.dataset.reader import Dataset, read_batches
from wikianchor.pipelines.dataset.text_report import EXAMPLES, Counts, entity_labels

# Bins of the histograms of sentences: characters by twenties, and links; the last bin holds everything above.
LENGTH_STEP, LENGTHS, LINKS = 20, 20, 10
# Rows of a table of counts, and points of a curve.
TOP, POINTS = 20, 120


@dataclass(frozen=True)
class PairExample:
    """A pair, with the names of its items."""

    row: Mapping[str, Any]
    entity: str
    negatives: str
    kind: str


@dataclass(frozen=True)
class SampledRows:
    """Rows of a config as they are, with their columns."""

    config: str
    rows: list[dict[str, Any]]


@dataclass
class Figures:
    """What the page shows of a dataset besides its summary."""

    charts: list[Chart] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    examples: list[PairExample] = field(default_factory=list)
    samples: list[SampledRows] = field(default_factory=list)


def figures_of(dataset: Dataset, entities: Dataset | None, seed: int) -> Figures:
    """Return the figures of a dataset.

    Args:
        dataset: any dataset.
        entities: the dataset of entities beside it, which has the labels of types.
        seed: decides which rows are shown.
    """
    name = dataset.manifest["dataset"]
    if name == "sentences":
        return _sentences(dataset)
    if name == "entities":
        return _entities(dataset)
    if name == "pairs":
        return _pairs(dataset, entities, seed)
    samples = [SampledRows(config, sample(dataset, config, EXAMPLES, seed)) for config in dataset.manifest["configs"]]
    return Figures(samples=[rows for rows in samples if rows.rows])


def _sentences(dataset: Dataset) -> Figures:
    lengths, links = np.zeros(LENGTHS, np.int64), np.zeros(LINKS, np.int64)
    for path in dataset.shards("sentences"):
        for batch in read_batches(path, ["text", "links"]):
            lengths += _histogram(pc.divide(pc.utf8_length(batch["text"]), LENGTH_STEP), LENGTHS)
            links += _histogram(pc.list_value_length(batch["links"]), LINKS)
    return Figures(
        [
            histogram(_bins(lengths, LENGTH_STEP), "Length of sentences", "characters"),
            histogram(_bins(links, 1), "Links in a sentence", "sentences by number of links"),
        ]
    )


def _histogram(values: pa.Array, bins: int) -> Any:
    return np.bincount(np.minimum(values.to_numpy(zero_copy_only=False), bins - 1), minlength=bins)


def _bins(counts: Any, step: int) -> list[tuple[str, int]]:
    last = len(counts) - 1
    return [(f"{index * step}{'+' * (index == last)}", int(count)) for index, count in enumerate(counts)]


def _entities(dataset: Dataset) -> Figures:
    routes: Counter[str] = Counter()
    types: Counter[int] = Counter()
    for path in dataset.shards("entities"):
        for batch in read_batches(path, ["types", "type_route"]):
            _count(routes, batch["type_route"])
            _count(types, batch["types"].flatten())
    top = types.most_common(TOP)
    labels = _labels(dataset, [qid for qid, _ in top])
    return Figures(
        counts=[
            _table("How types were found", "route", routes.most_common(), dataset.rows("entities")),
            _items("Most common types", "type", top, labels, dataset.rows("entities")),
        ]
    )


def _pairs(dataset: Dataset, entities: Dataset | None, seed: int) -> Figures:
    wikis: Counter[str] = Counter()
    routes: Counter[str] = Counter()
    types: Counter[int] = Counter()
    for path in dataset.shards("pairs"):
        for batch in read_batches(path, ["wiki", "type_route", "type_qid"]):
            _count(wikis, batch["wiki"])
            _count(routes, batch["type_route"])
            _count(types, batch["type_qid"].drop_null())
    # Links to each entity, in descending order, and entities of each type.
    links, most = [np.zeros(0, np.int64)], list[tuple[int, int]]()
    pools: Counter[int] = Counter()
    for path in dataset.shards("entities"):
        for batch in read_batches(path, ["qid", "count", "types"]):
            links.append(batch["count"].to_numpy())
            _count(pools, batch["types"].flatten())
            most += zip(batch["qid"][:TOP].to_pylist(), batch["count"][:TOP].to_pylist(), strict=True)
    counts, top, total = np.concatenate(links), types.most_common(TOP), dataset.rows("pairs")
    rows = sample(dataset, "pairs", EXAMPLES, seed)
    qids = {qid for row in rows for qid in (row["entity_qid"], *row["hard_negative_qids"])}
    shown = qids | {qid for qid, _ in (*top, *most[:TOP])}
    labels = (_labels(entities, [qid for qid, _ in top]) if entities else {}) | entity_labels(dataset, shown)
    return Figures(
        [
            curve(curve_points(counts), "Links to an entity", "by rank, both logarithmic", "rank"),
            histogram(pool_bins(types, pools), "Pools of hard negatives", "rows by entities of the type, at most"),
        ],
        [
            _table("Rows of each wiki", "wiki", wikis.most_common(), total),
            _items("Types of the entities", "type", top, labels, total, pools),
            _table("How types were found", "route", routes.most_common(), total),
            _items("Entities linked most often", "entity", most[:TOP], labels, int(counts.sum())),
        ],
        [_example(row, labels) for row in rows],
    )


def _count(counter: Counter[Any], values: pa.Array) -> None:
    for entry in pc.value_counts(values).to_pylist():
        counter[entry["values"]] += entry["counts"]


def _table(title: str, names: str, rows: Iterable[tuple[str, int]], total: int) -> Counts:
    return Counts(title, names, [(name, number, "") for name, number in rows], total)


def _items(
    title: str,
    names: str,
    rows: Iterable[tuple[int, int]],
    labels: Mapping[int, str],
    total: int,
    pools: Mapping[int, int] | None = None,
) -> Counts:
    notes = {qid: f"{number:,} entities" for qid, number in (pools or {}).items()}
    return Counts(title, names, [(_name(qid, labels), number, notes.get(qid, "")) for qid, number in rows], total)


def _name(qid: int, labels: Mapping[int, str]) -> str:
    return f"{labels[qid]} (Q{qid})" if qid in labels else f"Q{qid}"


def _example(row: Mapping[str, Any], labels: Mapping[int, str]) -> PairExample:
    kind = f"{_name(row['type_qid'], labels)}, {row['type_route']}" if row["type_qid"] else row["type_route"]
    negatives = ", ".join(_name(qid, labels) for qid in row["hard_negative_qids"]) or "none"
    return PairExample(row, _name(row["entity_qid"], labels), negatives, kind)


def _labels(entities: Dataset, qids: Collection[int]) -> dict[int, str]:
    """Return the labels of items from a dataset of entities, in the first language of its options that each has."""
    labels: dict[int, str] = {}
    order = {language: index for index, language in enumerate(entities.manifest["options"].get("labels", ()))}
    for path in entities.shards("entities") if qids else ():
        for batch in read_batches(path, ["qid", "labels"]):
            wanted = pa.array(np.isin(batch["qid"].to_numpy(), list(qids)))
            for row in batch.filter(wanted).to_pylist():
                if row["labels"]:
                    best = min(row["labels"], key=lambda label: order.get(label["language"], len(order)))
                    labels[row["qid"]] = best["text"]
    return labels


def curve_points(counts: Any) -> list[tuple[float, float]]:
    """Return (rank, links) of entities, at most `POINTS`, evenly spread over a logarithmic axis.

    Args:
        counts: links to each entity, in descending order.
    """
    if not len(counts):
        return []
    ranks = np.unique(np.geomspace(1, len(counts), POINTS).astype(np.int64))
    return [(float(rank), float(max(1, counts[rank - 1]))) for rank in ranks]


def pool_bins(types: Mapping[int, int], pools: Mapping[int, int]) -> Sequence[tuple[str, int]]:
    """Return how many rows draw their hard negatives from a pool of which size, by powers of two.

    Args:
        types: rows of each type.
        pools: entities of each type.
    """
    bins: Counter[int] = Counter()
    for qid, rows in types.items():
        bins[max(0, pools.get(qid, 0) - 1).bit_length()] += rows
    return [
        (f"{1 << power}" if power < 10 else f"{1 << power >> 10}k", bins[power])
        for power in range(max(bins, default=0) + 1)
    ]
