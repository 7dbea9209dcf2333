"""Figures of datasets for the page: one pass over the columns that matter, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.sample_rows import sample
from wikianchor.pipelines.commands.report.charts import curve, histogram
from wikianchor.pipelines.commands.report.labels import Labels, labels_of
from wikianchor.pipelines.commands.report.model import Counts, Figures, SampledRows
from wikianchor.pipelines.commands.report.product import made_from
from wikianchor.pipelines.dataset.reader import Dataset, read_batches

# Bins of the histograms of sentences: characters by twenties, and links; the last bin holds everything above.
LENGTH_STEP, LENGTHS, LINKS = 20, 20, 10
# Rows of a table of counts, and points of a curve.
TOP, POINTS = 20, 120
# Rows of each config that are shown.
ROWS = 12


def figures_of(dataset: Dataset, datasets: Sequence[Dataset], seed: int) -> Figures:
    """Return the figures of a dataset.

    Args:
        dataset: any dataset.
        datasets: those beside it, which have the labels of types.
        seed: decides which rows are shown.
    """
    name = dataset.name
    if name == "sentences":
        return _sentences(dataset)
    if name == "entities":
        return _entities(dataset)
    if name == "pairs":
        return _pairs(dataset, made_from(dataset, datasets))
    samples = [SampledRows(config, sample(dataset, config, ROWS, seed)) for config in dataset.configs]
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
    labels = labels_of([dataset], [qid for qid, _ in top])
    return Figures(
        counts=[
            _table("How types were found", "route", routes.most_common(), dataset.rows("entities")),
            _items("Most common types", "type", top, labels, dataset.rows("entities")),
        ]
    )


def _pairs(dataset: Dataset, inputs: Sequence[Dataset]) -> Figures:
    routes: Counter[str] = Counter()
    types: Counter[int] = Counter()
    for path in dataset.shards("pairs"):
        for batch in read_batches(path, ["type_route", "type_qid"]):
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
    labels = labels_of([*inputs, dataset], {qid for qid, _ in (*top, *most[:TOP])})
    return Figures(
        [
            curve(curve_points(counts), "Links to an entity", "by rank, both logarithmic", "rank"),
            histogram(pool_bins(types, pools), "Pools of hard negatives", "rows by entities of the type, at most"),
        ],
        [
            _items("Types of the entities", "type", top, labels, total=total, pools=pools),
            _table("How types were found", "route", routes.most_common(), total),
            _items("Entities linked most often", "entity", most[:TOP], labels, int(counts.sum())),
        ],
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
    labels: Labels,
    total: int,
    pools: Mapping[int, int] | None = None,
) -> Counts:
    notes = {qid: f"{number:,} entities" for qid, number in (pools or {}).items()}
    return Counts(title, names, [(labels.item(qid), number, notes.get(qid, "")) for qid, number in rows], total)


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
