"""The product of a build: its totals, examples, outcomes by wiki, the funnel from pages to pairs, and its coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from wikianchor.io.units import size
from wikianchor.pipelines.arrays.sample_rows import sample
from wikianchor.pipelines.commands.report.model import Grid, GridRow, Item, PairExample, Product, Step
from wikianchor.pipelines.dataset.inputs import fingerprint, wiki_of
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.reasons import OUTCOMES, outcome_of

# Pairs that are shown, and rows that they are chosen from; types that have a column.
EXAMPLES, CANDIDATES, TYPES = 5, 60, 5
# Names of the frequency bins; the last one holds all larger ones.
FREQUENCIES = (
    "1\N{EN DASH}9",
    "10\N{EN DASH}99",
    "100\N{EN DASH}999",
    "1k\N{EN DASH}9.9k",
    "10k\N{EN DASH}99k",
    "100k\N{EN DASH}999k",
    "\N{GREATER-THAN OR EQUAL TO} 1M",
)
ALL = "all"
T = TypeVar("T")


class Labels(dict[int, str]):
    """Labels by number of the item."""

    def item(self, qid: int) -> Item:
        """Return an item with its label."""
        return Item(qid, self.get(qid, ""))


def labels_of(datasets: Iterable[Dataset], qids: Collection[int]) -> Labels:
    """Return the labels of items, from datasets of entities, and from the entity tables of datasets of pairs.

    In a dataset of entities, an item can have several labels: the language that comes first in --labels is taken.
    """
    labels = Labels()
    for dataset in datasets:
        if dataset.name == "entities":
            order = {language: rank for rank, language in enumerate(dataset.options.get("labels", ()))}
            for row in dataset.items("labels", qids):
                best = min(row["labels"], key=lambda label: order.get(label["language"], len(order)), default=None)
                if best:
                    labels.setdefault(row["qid"], best["text"])
        elif dataset.name == "pairs":
            labels |= {row["qid"]: row["label"] for row in dataset.items("label", qids) if row["label"]}
    return labels


def products_of(datasets: Sequence[Dataset], seed: int, coverage: bool = True) -> list[Product]:
    """Return the product of each dataset of pairs, or that of all datasets of sentences if there are no pairs.

    Args:
        datasets: those of a directory.
        seed: decides which pairs are shown.
        coverage: read all pairs to count their entities and types.
    """
    sentences = [dataset for dataset in datasets if dataset.name == "sentences"]
    pairs = [dataset for dataset in datasets if dataset.name == "pairs"]
    if not pairs and sentences:
        return [_of_sentences(sentences)]
    return [_of_pairs(dataset, made_from(dataset, datasets), seed, coverage) for dataset in pairs]


def made_from(pairs: Dataset, datasets: Iterable[Dataset]) -> list[Dataset]:
    """Return those datasets that a dataset of pairs was made from, by the checksums in its manifest."""
    inputs = {source.get("sha256") for source in pairs.manifest["inputs"]}
    of_interest = (dataset for dataset in datasets if dataset.name in ("sentences", "entities"))
    return [dataset for dataset in of_interest if fingerprint(dataset) in inputs]


def _of_sentences(sentences: Sequence[Dataset]) -> Product:
    ledgers = _ledgers(sentences)
    buckets = {wiki: _buckets(ledger) for wiki, ledger in ledgers.items()}
    rows = sum(dataset.rows("sentences") for dataset in sentences)
    totals = [
        (f"{rows:,}", "sentences"),
        (f"{len(buckets):,}", "wiki" if len(buckets) == 1 else "wikis"),
        (_size(sentences), "Parquet"),
    ]
    return Product(
        title=f"{rows:,} sentences from {_wikis(buckets)}",
        directory=sentences[0].directory if len(sentences) == 1 else "",
        totals=totals,
        outcomes=_outcomes(buckets, "in kept sentences"),
        funnels=_funnels(ledgers, buckets, "links in kept sentences"),
    )


def _of_pairs(pairs: Dataset, inputs: Sequence[Dataset], seed: int, coverage: bool) -> Product:
    kept = pairs.ledger["links"]
    ledgers = _ledgers(dataset for dataset in inputs if dataset.name == "sentences")
    # Without the sentences of every wiki, the report begins with the links in kept sentences.
    ledgers = ledgers if ledgers.keys() >= kept.keys() else {}
    buckets = {
        wiki: Counter(_without(links, "seen")) + _without(_buckets(ledgers.get(wiki, {})), "kept")
        for wiki, links in kept.items()
    }
    frequency, types, linked = _coverage(pairs) if coverage else (Counter(), Counter(), {})
    # Each sampled row costs the reading of a row group.
    rows = _different_wikis(sample(pairs, "pairs", CANDIDATES if len(kept) > 1 else EXAMPLES, seed))
    top = sum_of({qid: number} for (_, qid), number in types.items())
    columns = [qid for qid, _ in top.most_common(TYPES + 1) if qid >= 0][:TYPES]
    shown = {qid for row in rows for qid in (row["entity_qid"], *row["hard_negative_qids"], row["type_qid"] or 0)}
    labels = labels_of([*inputs, pairs], shown | set(columns))
    number, negatives = pairs.rows("pairs"), pairs.options.get("negatives", 0)
    return Product(
        title=f"{number:,} pairs from {_wikis(kept)}",
        directory=pairs.directory,
        totals=[
            (f"{number:,}", "pairs"),
            *([(f"{_different(linked):,}", "linked entities")] if coverage else []),
            (f"{len(kept):,}", "wiki" if len(kept) == 1 else "wikis"),
            (f"{negatives:,}", "hard negative per pair" if negatives == 1 else "hard negatives per pair"),
            (_size([pairs]), "Parquet"),
        ],
        outcomes=_outcomes(buckets, "pairs"),
        funnels=_funnels(ledgers, buckets, "pairs"),
        examples=[_example(row, labels) for row in rows],
        coverage=[_frequency_grid(list(kept), frequency, linked), _type_grid(list(kept), types, columns, labels)]
        if coverage
        else [],
    )


def _wikis(wikis: Collection[str]) -> str:
    return next(iter(wikis)) if len(wikis) == 1 else f"{len(wikis):,} wikis"


def _size(datasets: Iterable[Dataset]) -> str:
    return size(sum(shard["bytes"] for dataset in datasets for shard in dataset.entries()))


def _ledgers(sentences: Iterable[Dataset]) -> dict[str, Mapping[str, Mapping[str, int]]]:
    """Return the ledgers of datasets of sentences by wiki."""
    return {wiki_of(dataset): dataset.ledger.get(wiki_of(dataset), {}) for dataset in sentences}


def _without(buckets: Mapping[str, int], name: str) -> Counter[str]:
    return Counter({key: number for key, number in buckets.items() if key != name})


def _buckets(ledger: Mapping[str, Mapping[str, int]]) -> Counter[str]:
    return _without(ledger.get("links", {}), "seen")


def _outcomes(buckets: Mapping[str, Mapping[str, int]], kept: str) -> Grid:
    grouped = {
        wiki: sum_of({kept if name == "kept" else outcome_of(name): number} for name, number in counts.items())
        for wiki, counts in buckets.items()
    }
    dropped = [outcome.name for outcome in OUTCOMES if any(counts[outcome.name] for counts in grouped.values())]
    columns = [kept, *dropped]
    rows = [
        GridRow(wiki, [counts.total()], [counts[name] for name in columns], counts.total())
        for wiki, counts in grouped.items()
    ]
    return Grid(
        title="What became of the links",
        note="Every link ends in one column. The ledger of each dataset below has the reasons.",
        counts=["links"],
        parts=[*columns],
        kept=1,
        rows=_with_total(rows),
    )


def _with_total(rows: list[GridRow], counts: list[int] | None = None) -> list[GridRow]:
    """Put the sum of all rows before them if there are several; `counts` are those of all, where they are no sums."""
    if len(rows) < 2:
        return rows
    counts = counts or [sum(column) for column in zip(*(row.counts for row in rows), strict=True)]
    parts = [sum(column) for column in zip(*(row.parts for row in rows), strict=True)]
    return [GridRow(ALL, counts, parts, sum(row.total for row in rows)), *rows]


def _funnels(
    ledgers: Mapping[str, Mapping[str, Mapping[str, int]]], buckets: Mapping[str, Mapping[str, int]], last: str
) -> dict[str, list[Step]]:
    """Return the steps from pages to what is kept, by unit; steps that drop nothing are left out."""
    funnels = {}
    pages, sentences = (sum_of(ledger.get(name, {}) for ledger in ledgers.values()) for name in ("pages", "sentences"))
    if pages:
        disambiguation = pages.pop("disambiguation", 0)
        left, lost = pages["articles"] - disambiguation, [("disambiguation pages", disambiguation)]
        funnels["pages"] = [
            Step("pages in the dumps", pages.total(), []),
            Step("articles", pages["articles"], _dropped(_without(pages, "articles"))),
            *([Step("articles split into sentences", left, lost)] if disambiguation else []),
        ]
    if sentences:
        funnels["sentences"] = [
            Step("sentences in these articles", sentences.total(), []),
            Step("kept sentences", sentences["kept"], _dropped(_without(sentences, "kept"))),
        ]
    links = sum_of(buckets.values())
    left = links.total()
    funnels["links"] = [Step("links in the articles" if ledgers else "links in kept sentences", left, [])]
    for outcome in OUTCOMES:
        dropped = {
            name: number for name, number in links.items() if name != "kept" and outcome_of(name) == outcome.name
        }
        if any(dropped.values()):
            left -= sum(dropped.values())
            funnels["links"].append(Step(outcome.left, left, _dropped(dropped)))
    if len(funnels["links"]) > 1:
        funnels["links"][-1] = funnels["links"][-1]._replace(name=last)
    return funnels


def sum_of(counts: Iterable[Mapping[T, int]]) -> Counter[T]:
    """Return the sum of counts by name."""
    sums = Counter[T]()
    for each in counts:
        sums.update(each)
    return sums


def _dropped(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(((name, number) for name, number in counts.items() if number), key=lambda row: (-row[1], row[0]))


def _coverage(pairs: Dataset) -> tuple[Counter[tuple[str, int]], Counter[tuple[str, int]], dict[str, Any]]:
    """Read what is counted by wiki, in one pass.

    Returns:
        Pairs by wiki and frequency bin; by wiki and type, -1 for none; and for each wiki a bit for each entity.
    """
    frequency, types = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    linked: dict[str, Any] = {}
    for batch in pairs.batches("pairs", ["wiki", "type_qid", "frequency_bin", "entity_id"]):
        table = pa.Table.from_batches([batch])
        for row in _groups(table, "frequency_bin"):
            frequency[row["wiki"], min(row["frequency_bin"], len(FREQUENCIES) - 1)] += row["count_all"]
        for row in _groups(table, "type_qid"):
            types[row["wiki"], -1 if row["type_qid"] is None else row["type_qid"]] += row["count_all"]
        wikis, entities = batch["wiki"].to_numpy(zero_copy_only=False), batch["entity_id"].to_numpy()
        for wiki in set(wikis.tolist()):
            bits = linked.setdefault(wiki, np.zeros(pairs.rows("entities"), np.bool_))
            bits[entities[wikis == wiki]] = True
    return frequency, types, linked


def _different(linked: Mapping[str, Any]) -> int:
    """Return the number of different entities that the pairs of any wiki link to, given a bit for each entity."""
    return int(np.logical_or.reduce(list(linked.values())).sum()) if linked else 0


def _groups(table: pa.Table, column: str) -> list[dict[str, Any]]:
    return list(table.group_by(["wiki", column]).aggregate([([], "count_all")]).to_pylist())


def _frequency_grid(wikis: Sequence[str], frequency: Counter[tuple[str, int]], linked: Mapping[str, Any]) -> Grid:
    bins = range(min(max((number for _, number in frequency), default=0) + 1, len(FREQUENCIES)))
    rows = [
        GridRow(
            wiki, [int(linked[wiki].sum())], parts := [frequency.get((wiki, number), 0) for number in bins], sum(parts)
        )
        for wiki in wikis
        if wiki in linked
    ]
    return Grid(
        title="How frequent the entities are",
        note="Pairs by the number of links to their entity in all wikis; and the different entities of each wiki.",
        counts=["linked entities"],
        parts=[*FREQUENCIES[: len(bins)]],
        kept=len(bins),
        # Wikis share entities.
        rows=_with_total(rows, [_different(linked)]),
    )


def _type_grid(
    wikis: Sequence[str], types: Mapping[tuple[str, int], int], columns: Sequence[int], labels: Labels
) -> Grid:
    """Return pairs by type; the last parts are those of all other types, and those without a type if there are any."""
    rows = []
    for wiki in wikis:
        of_wiki = {qid: number for (name, qid), number in types.items() if name == wiki}
        if of_wiki:
            parts = [of_wiki.get(qid, 0) for qid in columns]
            total, untyped = sum(of_wiki.values()), of_wiki.pop(-1, 0)
            rows.append(GridRow(wiki, [len(of_wiki)], [*parts, total - untyped - sum(parts), untyped], total))
    rows = _with_total(rows, [len({qid for _, qid in types} - {-1})])
    names: list[str | Item] = [*map(labels.item, columns), "other types", "no type"]
    # Columns without any pair are left out.
    shown = [any(row.parts[index] for row in rows) for index in range(len(names))]
    return Grid(
        title="Which types the entities have",
        note="Pairs by the type that the entity and its hard negatives share; and the different types of each wiki.",
        counts=["types"],
        parts=[*compress(names, shown)],
        kept=sum(shown),
        rows=[row._replace(parts=[*compress(row.parts, shown)]) for row in rows],
    )


def _different_wikis(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return `EXAMPLES` rows from as many wikis as possible, in the order of the dataset."""
    wikis = [row["wiki"] for row in rows]
    rounds = sorted((wikis[:index].count(wiki), index) for index, wiki in enumerate(wikis))
    return [rows[index] for index in sorted(index for _, index in rounds[:EXAMPLES])]


def _example(row: Mapping[str, Any], labels: Labels) -> PairExample:
    text, start, end = row["text"], row["mention_start"], row["mention_end"]
    return PairExample(
        before=text[:start],
        mention=text[start:end],
        after=text[end:],
        entity=labels.item(row["entity_qid"]),
        negatives=[labels.item(qid) for qid in row["hard_negative_qids"]],
        kind=labels.item(row["type_qid"]) if row["type_qid"] else None,
        route=row["type_route"],
        wiki=row["wiki"],
        title=row["title"],
        rev_id=row["rev_id"],
    )
