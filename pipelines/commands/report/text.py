"""The report on the terminal: the product first, then each dataset in lines and with some of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from wikianchor.pipelines.commands.report.model import Grid, GridRow, Item, Product, Step, share
from wikianchor.pipelines.commands.report.product import products_of
from wikianchor.pipelines.commands.report.summaries import blocks_of, title_of
from wikianchor.pipelines.dataset.reader import Dataset, read_batches
from wikianchor.pipelines.wikimedia.addresses import revision_address

# Names of a dataset of mentions, and sentences with negatives.
NAMES, WITH_NEGATIVES = 12, 4
# Wikis that a table shows; the page of a report shows all.
WIKIS = 20
# Characters that are shown on each side of a link, of a type's label, and reasons of a step.
CONTEXT, LABEL, REASONS = 50, 20, 4


def print_report(datasets: Sequence[Dataset], seed: int = 42, coverage: bool = True) -> None:
    """Print what datasets hold.

    Args:
        datasets: the datasets, in the order of a build.
        seed: decides which pairs are shown.
        coverage: read all pairs to count their entities and types.

    Raises:
        InputError: a manifest is not complete.
    """
    blocks = [blocks_of(dataset) for dataset in datasets]
    for product in products_of(datasets, seed, coverage):
        print(f"\n{product.title}  {product.directory}".rstrip())
        for line in _product(product):
            print(f"  {line}".rstrip())
    for dataset, blocks_of_dataset in zip(datasets, blocks, strict=True):
        print(f"\n{title_of(dataset)}  {dataset.directory}")
        for block in blocks_of_dataset:
            if line := block if isinstance(block, str) else block.line:
                print(f"  {line}")
        for line in _ROWS.get(dataset.name, lambda dataset: iter(()))(dataset):
            print(f"  {line}")


def _product(product: Product) -> Iterator[str]:
    yield ", ".join(" ".join(total) for total in product.totals)
    for example in product.examples:
        yield ""
        yield f"{example.wiki:8} {example.before[-CONTEXT:].lstrip()}[{example.mention}]{example.after[:CONTEXT]}"
        kind = f"type {example.kind}, {example.route}" if example.kind else example.route
        yield f"         = {example.entity}, not {', '.join(map(str, example.negatives)) or 'any'} ({kind})"
        yield f"         {example.title}  {revision_address(example.wiki, example.rev_id)}"
    yield from _grid(product.outcomes)
    for unit, steps in product.funnels.items():
        yield from _funnel(unit, steps)
    for grid in product.coverage:
        yield from _grid(grid)


def _grid(grid: Grid) -> Iterator[str]:
    yield ""
    yield f"{grid.title} (per cent of the row)"
    headings = [(part.label or str(part))[:LABEL] if isinstance(part, Item) else part for part in grid.parts]
    rows = [
        [row.name, *(f"{number:,}" for number in row.counts), *(share(part, row.total) or "." for part in row.parts)]
        for row in _largest(grid.rows)
    ]
    cells = [["", *grid.counts, *headings], *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        name, *numbers = (text.rjust(width) for text, width in zip(line, widths, strict=True))
        yield "  ".join(["", name.strip().ljust(widths[0]), *numbers])
    if len(grid.rows) > len(rows):
        yield f"  and {len(grid.rows) - len(rows)} wikis more, which `report --html` shows"


def _largest(rows: Sequence[GridRow]) -> Sequence[GridRow]:
    """Return the row of all wikis and those of the largest ones, in their order."""
    if len(rows) <= WIKIS + 1:
        return rows
    chosen = {row.name for row in sorted(rows[1:], key=lambda row: -row.total)[:WIKIS]}
    return [rows[0], *(row for row in rows[1:] if row.name in chosen)]


def _funnel(unit: str, steps: Sequence[Step]) -> Iterator[str]:
    yield ""
    yield f"From {unit} to {steps[-1].name}"
    names, numbers = max(len(step.name) for step in steps), len(f"{steps[0].number:,}")
    for step in steps:
        left = share(step.number, steps[0].number) or "0"
        reasons = ", ".join(f"{name} {number:,}" for name, number in shortened(step.dropped))
        yield f"  {step.name:{names}}  {step.number:{numbers},}  {left:>3} %  {reasons and 'without ' + reasons}"


def shortened(dropped: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the largest reasons of a step and the sum of all others.

    >>> shortened([("a", 5), ("b", 4), ("c", 3), ("d", 2), ("e", 1), ("f", 1)])
    [('a', 5), ('b', 4), ('c', 3), ('d', 2), ('other reasons', 2)]
    """
    others = sum(number for _, number in dropped[REASONS:])
    return [*dropped[:REASONS], *([("other reasons", others)] if others else [])]


def _mentions(dataset: Dataset) -> Iterator[str]:
    """Yield names, each with its link probability and its items by their commonness."""
    yield "names of the first shard that are linked most, with their items:"
    columns = ["wiki", "surface", "key", "qid", "link_probability", "commonness", "name_links"]
    names: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path in dataset.shards("candidates")[:1]:
        for batch in read_batches(path, columns):
            for row in batch.to_pylist():
                names.setdefault((row["wiki"], row["key"]), []).append(row)
    for rows in sorted(names.values(), key=lambda rows: -rows[0]["name_links"])[:NAMES]:
        items = ", ".join(f"Q{row['qid']} {row['commonness']:.2f}" for row in rows)
        yield f"  {rows[0]['wiki']:8} {rows[0]['surface']} ({rows[0]['link_probability']:.2f}): {items}"


def _negatives(dataset: Dataset) -> Iterator[str]:
    yield "examples:"
    batches = dataset.batches("negatives", ["text", "negatives"])
    rows = (row for batch in batches for row in batch.slice(0, WITH_NEGATIVES).to_pylist())
    for row in islice(rows, WITH_NEGATIVES):
        yield f"  {row['text']}"
        yield from (f"    {text}" for text in row["negatives"])


_ROWS: Mapping[str, Callable[[Dataset], Iterator[str]]] = {"mentions": _mentions, "negatives": _negatives}
