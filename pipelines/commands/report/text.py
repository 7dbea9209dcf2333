"""The report on the terminal: the product first, then each dataset in lines and with some of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from wikianchor.io.output import TITLE, columns, fitted, say, width
from wikianchor.pipelines.commands.report.model import Counts, Grid, GridRow, Item, PairExample, Product, Step, share
from wikianchor.pipelines.commands.report.product import ALL, products_of
from wikianchor.pipelines.commands.report.summaries import blocks_of, title_of
from wikianchor.pipelines.dataset.reader import Dataset, read_batches
from wikianchor.pipelines.wikimedia.addresses import revision_address

# Names of a dataset of mentions, and sentences with negatives.
NAMES, WITH_NEGATIVES = 12, 4
# Wikis that a table shows; the page of a report shows all.
WIKIS = 20
# Characters of a type's label that are shown, and reasons of a step.
LABEL, REASONS = 20, 4
# Pairs, and lines of a dataset without a product, that a summary shows.
EXAMPLES, LINES = 2, 14


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
        _print_under(f"{product.title}  {product.directory}", _product(product, columns() - 2))
    for dataset, blocks_of_dataset in zip(datasets, blocks, strict=True):
        rows = _ROWS[dataset.name](dataset) if dataset.name in _ROWS else ()
        _print_under(f"{title_of(dataset)}  {dataset.directory}", chain(_lines(blocks_of_dataset), rows))


def print_summary(datasets: Sequence[Dataset], seed: int = 42) -> None:
    """Print what matters of datasets in less than a screen: some pairs, and what became of the links.

    Raises:
        InputError: a manifest is not complete.
    """
    products = products_of(datasets, seed, coverage=False)
    for product in products:
        _print_under(f"{product.title}  {product.directory}", _short_product(product, columns() - 2))
    for dataset in () if products else datasets:
        lines = list(_lines(blocks_of(dataset)))
        shown = [fitted(line, columns() - 2) for line in lines[:LINES]]
        more = [f"and {len(lines) - LINES} lines more"] if len(lines) > LINES else []
        _print_under(f"{title_of(dataset)}  {dataset.directory}", [*shown, *more])


def _print_under(title: str, lines: Iterable[str]) -> None:
    """Print lines under a title."""
    say()
    say(title.rstrip(), TITLE)
    for line in lines:
        say(f"  {line}".rstrip())


def _lines(blocks: Iterable[str | Counts]) -> Iterator[str]:
    for block in blocks:
        if line := block if isinstance(block, str) else block.line:
            yield line


def _short_product(product: Product, limit: int) -> Iterator[str]:
    for example in product.examples[:EXAMPLES]:
        negatives = ", ".join(map(str, example.negatives)) or "any"
        yield from (_sentence(example, limit), fitted(f"         = {example.entity}, not {negatives}", limit))
    funnels = list(product.funnels.items())
    for unit, steps in funnels[-1:] if product.examples else funnels:
        title, *lines = list(_funnel(unit, steps, limit))[1:]
        yield from ("", *(line[2:] for line in lines)) if product.examples else (title, *lines)
    rows = sorted((row for row in product.outcomes.rows if row.name != ALL), key=lambda row: -row.parts[0])
    if len(rows) > 1:
        yield fitted(f"by wiki: {', '.join(f'{row.name} {row.parts[0]:,}' for row in rows)}", limit)


def _sentence(example: PairExample, limit: int) -> str:
    """Return the line with a pair's link and the text around it."""
    beginning, link = f"{example.wiki:8} ", f"[{example.mention}]"
    limit -= width(beginning) + width(link)
    # The end of what is before, and the beginning of what is after.
    before = fitted(example.before.lstrip()[::-1], max(3, limit // 2))[::-1]
    return beginning + before + link + fitted(example.after, max(3, limit - width(before)))


def _product(product: Product, limit: int) -> Iterator[str]:
    yield ", ".join(" ".join(total) for total in product.totals)
    for example in product.examples:
        yield ""
        yield _sentence(example, limit)
        kind = f"type {example.kind}, {example.route}" if example.kind else example.route
        yield f"         = {example.entity}, not {', '.join(map(str, example.negatives)) or 'any'} ({kind})"
        yield f"         {example.title}  {revision_address(example.wiki, example.rev_id)}"
    yield from _grid(product.outcomes, limit)
    for unit, steps in product.funnels.items():
        yield from _funnel(unit, steps, limit)
    for grid in product.coverage:
        yield from _grid(grid, limit)


def _grid(grid: Grid, limit: int) -> Iterator[str]:
    """Yield the lines of a table, with the columns that do not fit below the others."""
    yield ""
    yield f"{grid.title} (per cent of the row)"
    headings = [(part.label or str(part))[:LABEL] if isinstance(part, Item) else part for part in grid.parts]
    rows = [
        [row.name, *(f"{number:,}" for number in row.counts), *(share(part, row.total) or "." for part in row.parts)]
        for row in _largest(grid.rows)
    ]
    cells = [["", *grid.counts, *headings], *rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    first = 1
    while first < len(widths):
        last = first + 1
        while last < len(widths) and sum(widths[first : last + 1]) + 2 * (last + 2 - first) + widths[0] <= limit:
            last += 1
        for line in cells:
            numbers = [" " * (widths[index] - width(line[index])) + line[index] for index in range(first, last)]
            yield "  ".join(["", line[0].ljust(widths[0]), *numbers])
        first = last
    if len(grid.rows) > len(rows):
        yield f"  and {len(grid.rows) - len(rows)} wikis more, which `report --html` shows"


def _largest(rows: Sequence[GridRow]) -> Sequence[GridRow]:
    """Return the row of all wikis and those of the largest ones, in their order."""
    if len(rows) <= WIKIS + 1:
        return rows
    chosen = {row.name for row in sorted(rows[1:], key=lambda row: -row.total)[:WIKIS]}
    return [rows[0], *(row for row in rows[1:] if row.name in chosen)]


def _funnel(unit: str, steps: Sequence[Step], limit: int) -> Iterator[str]:
    yield ""
    yield f"From {unit} to {steps[-1].name}"
    names, numbers = max(len(step.name) for step in steps), len(f"{steps[0].number:,}")
    for step in steps:
        left = share(step.number, steps[0].number) or "0"
        beginning = f"  {step.name:{names}}  {step.number:{numbers},}  {left:>3} %"
        yield next(
            line
            for most in range(REASONS, -1, -1)
            if width(line := f"{beginning}{_reasons(step.dropped, most)}") <= limit or not most
        )


def _reasons(dropped: Sequence[tuple[str, int]], most: int) -> str:
    reasons = ", ".join(f"{name} {number:,}" for name, number in shortened(dropped, most))
    return f"  without {reasons}" if reasons else ""


def shortened(dropped: Sequence[tuple[str, int]], most: int = REASONS) -> list[tuple[str, int]]:
    """Return the largest reasons of a step and the sum of all others.

    >>> shortened([("a", 5), ("b", 4), ("c", 3), ("d", 1)], 2)
    [('a', 5), ('b', 4), ('others', 4)]
    """
    others = sum(number for _, number in dropped[most:])
    return [*dropped[:most], *([("others", others)] if others else [])]


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
