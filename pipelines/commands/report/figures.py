"""Tables of counts for the page, in one pass over the columns that matter, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.commands.report.model import Counts
from wikianchor.pipelines.commands.report.product import FREQUENCIES, labels_of, made_from, sum_of
from wikianchor.pipelines.dataset.reader import Dataset

# Sentences are counted by length, in steps of so many characters, and by links; the last bin holds everything above.
LENGTH_STEP, LENGTHS, LINKS = 20, 20, 10
# Rows of a table of items.
TOP = 20


def figures_of(dataset: Dataset, datasets: Sequence[Dataset]) -> list[Counts]:
    """Return the tables of a dataset of sentences, entities or pairs, none of any other.

    Args:
        dataset: any dataset.
        datasets: those beside it, which have the labels of types.
    """
    makers: Mapping[str, Callable[[Dataset], Iterator[Counts]]] = {
        "sentences": _sentences,
        "entities": _entities,
        "pairs": partial(_pairs, datasets=datasets),
    }
    return list(makers[dataset.name](dataset)) if dataset.name in makers else []


def _sentences(dataset: Dataset) -> Iterator[Counts]:
    lengths, links = Counter[int](), Counter[int]()
    for batch in dataset.batches("sentences", ["text", "links"]):
        _count(lengths, pc.divide(pc.utf8_length(batch["text"]), LENGTH_STEP))
        _count(links, pc.list_value_length(batch["links"]))
    yield _bins("Length of sentences", "characters", lengths, LENGTH_STEP, LENGTHS)
    yield _bins("Links in a sentence", "links", links, 1, LINKS)


def _bins(title: str, names: str, numbers: Mapping[int, int], step: int, bins: int) -> Counts:
    counts = sum_of({min(number, bins - 1): count} for number, count in numbers.items())
    rows = [
        (f"{index * step}{'+' * (index == bins - 1)}", counts[index]) for index in range(max(counts, default=-1) + 1)
    ]
    return _table(title, names, rows)


def _entities(dataset: Dataset) -> Iterator[Counts]:
    routes, types = Counter[str](), Counter[int]()
    for batch in dataset.batches("entities", ["types", "type_route"]):
        _count(routes, batch["type_route"])
        _count(types, batch["types"].flatten())
    yield _table("How types were found", "route", routes.most_common())
    yield _items("Most common types", "type", types.most_common(TOP), [dataset], dataset.rows("entities"))


def _pairs(dataset: Dataset, datasets: Sequence[Dataset]) -> Iterator[Counts]:
    routes, types = Counter[str](), Counter[int]()
    for batch in dataset.batches("pairs", ["type_route", "type_qid"]):
        _count(routes, batch["type_route"])
        _count(types, batch["type_qid"].drop_null())
    # Entities by number of links, the entities linked most often, which come first, and entities of each type.
    linked, most = np.zeros(len(FREQUENCIES), np.int64), list[tuple[int, int]]()
    links, pools = 0, Counter[int]()
    for batch in dataset.batches("entities", ["qid", "count", "types"]):
        counts = batch["count"].to_numpy()
        bins = np.searchsorted(10 ** np.arange(1, len(FREQUENCIES)), counts, side="right")
        linked += np.bincount(bins, minlength=len(linked))
        links += int(counts.sum())
        _count(pools, batch["types"].flatten())
        most += zip(batch["qid"][:TOP].to_pylist(), counts[:TOP].tolist(), strict=True)
    by_pool = Counter[int]()
    for qid, rows in types.items():
        by_pool[1 << max(0, pools[qid] - 1).bit_length()] += rows
    yield _table("Links to an entity", "links", list(zip(FREQUENCIES, linked.tolist(), strict=True)))
    pool_rows = [(f"{size:,}", rows) for size, rows in sorted(by_pool.items())]
    yield _table("Pools of hard negatives", "entities of the type, at most", pool_rows)
    sources, notes = (
        [*made_from(dataset, datasets), dataset],
        {qid: f"{number:,} entities" for qid, number in pools.items()},
    )
    yield _items("Types of the entities", "type", types.most_common(TOP), sources, dataset.rows("pairs"), notes)
    yield _table("How types were found", "route", routes.most_common())
    yield _items("Entities linked most often", "entity", most[:TOP], sources, links)


def _count(counter: Counter[Any], values: pa.Array) -> None:
    for entry in pc.value_counts(values).to_pylist():
        counter[entry["values"]] += entry["counts"]


def _table(title: str, names: str, rows: Sequence[tuple[str, int]]) -> Counts:
    return Counts(title, names, [(name, number, "") for name, number in rows], sum(number for _, number in rows))


def _items(
    title: str,
    names: str,
    rows: Sequence[tuple[int, int]],
    sources: Iterable[Dataset],
    total: int,
    notes: Mapping[int, str] | None = None,
) -> Counts:
    labels = labels_of(sources, [qid for qid, _ in rows])
    items = [(labels.item(qid), number, (notes or {}).get(qid, "")) for qid, number in rows]
    return Counts(title, names, items, total)
