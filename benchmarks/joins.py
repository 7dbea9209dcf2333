"""The joins of `pairs` and `mentions` that one worker does for a whole wiki: CPU, wall time and peak memory by size.

    python benchmarks/joins.py [--duckdb]

Inputs are made up (joins_inputs.py), with as many rows in a shard as real wikis have; each join runs in a process of
its own. `cost.py` takes the cost per row from here and says what share of a build these joins are. With `--duckdb` the
title index is also built by SQL in DuckDB (title_sql.py), and the arrays are compared.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import joins_inputs as inputs
import numpy as np
from measure import Cost, fresh, parser, report, run, table

from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.mentions import steps as names
from wikianchor.pipelines.pairs import table_steps as tables
from wikianchor.pipelines.pairs.entity_table import TableOptions
from wikianchor.pipelines.titles.title_build import build_title_index

# The default of `wikianchor pairs`.
MIN_LINKS = 10
# Threads and memory_limit in MB.
DUCKDB_CASES = ((1, 300), (2, 300), (1, 1_000))
COLUMNS = ("user CPU s", "system CPU s", "wall s", "peak MB")


class Case(NamedTuple):
    """An input of a join: the directory that it is kept in, what writes it, and its size in `Join.units`."""

    directory: str
    write: Callable[[Path], None]
    size: tuple[int, ...]


class Join(NamedTuple):
    """A join: what does it in a directory, what its cost grows with, and the inputs that are measured."""

    do: Callable[[Path], object]
    units: tuple[str, ...]
    cases: tuple[Case, ...]


class Measured(NamedTuple):
    """What a join costs on an input."""

    case: Case
    cost: Cost


def main() -> None:
    """Measure and print the tables, or do one join."""
    flags = parser(__doc__)
    flags.add_argument("--joins", nargs="+", default=list(JOINS), choices=list(JOINS), help="what is measured (all)")
    flags.add_argument("--duckdb", action="store_true", help="compare the title index with SQL in DuckDB")
    flags.add_argument("--do", nargs="+", metavar="VALUE", help="do one join: NAME DIR, or duckdb DIR THREADS MB")
    arguments = flags.parse_args()
    if arguments.do:
        do(*arguments.do)
    elif arguments.duckdb:
        compare(arguments.work, arguments.rounds)
    else:
        for name in arguments.joins:
            print_join(name, measure_join(arguments.work, name, arguments.rounds))


def measure_join(work: Path, name: str, rounds: int) -> list[Measured]:
    """Return what a join costs on each input."""
    found = []
    for case in JOINS[name].cases:
        directory = written(work, case)
        cost = middle([run([sys.executable, __file__, "--do", name, directory]) for _ in range(rounds)])
        found.append(Measured(case, cost))
        print(f"{name}: {case.directory}: {cost}", file=sys.stderr)
    return found


def rates(measurements: Sequence[Measured]) -> list[float]:
    """Return by unit the seconds of CPU that one more of it costs: a linear fit, the start of the process apart."""
    sizes = np.array([[1, *one.case.size] for one in measurements], np.float64)
    seconds = np.array([one.cost.user + one.cost.system for one in measurements])
    # Relative errors are made small: otherwise the largest input decides alone.
    fitted = np.linalg.lstsq(sizes / seconds[:, None], np.ones(len(seconds)), rcond=None)[0]
    return [float(rate) for rate in fitted[1:]]


def print_join(name: str, measurements: Sequence[Measured]) -> None:
    """Print the table of a join."""
    units = JOINS[name].units
    rows = [[f"{one.case.size[0]:,}", *one.case.size[1:], *columns(one.cost)] for one in measurements]
    costs = zip(units, rates(measurements), strict=True)
    fitted = ", ".join(f"{1e6 * rate:,.2f} us for each of the {unit}" for unit, rate in costs)
    report(f"joins: {name}", f"{table([*units, *COLUMNS], rows)}\n\nCPU by a linear fit: {fitted}.")


def compare(work: Path, rounds: int) -> None:
    """Print what the title index costs by our code and by SQL, in turn."""
    rows: list[list[Any]] = []
    for case in (title_case(2_000_000), title_case(8_000_000)):
        directory = written(work, case)
        ways = {"title_build": ["title_index", str(directory)]}
        for threads, memory in DUCKDB_CASES:
            label = f"DuckDB, threads={threads}, memory_limit={memory}MB"
            ways[label] = ["duckdb", str(directory), str(threads), str(memory)]
        costs: dict[str, list[Cost]] = {label: [] for label in ways}
        sums: dict[str, str] = {}
        for _ in range(rounds):
            for label, way in ways.items():
                costs[label].append(run([sys.executable, __file__, "--do", *way]))
                sums[label] = (directory / f"{way[0]}.txt").read_text()
                print(f"{case.directory}: {label}: {costs[label][-1]}", file=sys.stderr)
        for label, found in costs.items():
            same = "same" if sums[label] == sums["title_build"] else "differ"
            rows.append([f"{case.size[0]:,} titles: {label}", *columns(middle(found)), same])
    report("joins: the title index in DuckDB", table(["built by", *COLUMNS, "arrays"], rows))


def middle(costs: Sequence[Cost]) -> Cost:
    """Return the median of times, and the highest peak."""
    user, system, wall = (median(getattr(cost, name) for cost in costs) for name in ("user", "system", "wall"))
    return Cost(user, system, wall, max(cost.peak for cost in costs))


def columns(cost: Cost) -> list[Any]:
    """Return the cells of a cost."""
    return [cost.user, cost.system, cost.wall, round(cost.peak)]


def written(work: Path, case: Case) -> Path:
    """Return the directory of an input, made by a process of its own unless it is there: a child's peak begins with its
    parent's."""
    directory = work / "joins" / case.directory
    if not directory.exists():
        run([sys.executable, __file__, "--do", "write", directory])
    return directory


def do(name: str, directory: str, threads: str = "1", memory_mb: str = "0") -> None:
    """Write an input, or do one join; the checksum of a title index and its counts go to a file."""
    path = Path(directory)
    if name == "write":
        unfinished = fresh(path.with_name(f"unfinished-{path.name}"))
        {case.directory: case for join in JOINS.values() for case in join.cases}[path.name].write(unfinished)
        unfinished.rename(path)
    elif name == "duckdb":
        import title_sql

        output = str(fresh(path / "output"))
        found = title_sql.build_title_index(*title_arguments(path), output, int(threads), int(memory_mb))
        save_checksum(path / "duckdb.txt", *found)
    else:
        JOINS[name].do(path)


def title_case(rows: int, times: int = 1) -> Case:
    """Return an input with so many titles, and times as many shards of sitelinks as usual."""
    shards = times * (-(-rows * inputs.ARTICLES // inputs.TITLES // inputs.ITEMS_PER_SHARD))
    write = partial(inputs.title_shards, rows=rows, items_per_shard=inputs.ITEMS_PER_SHARD // times)
    return Case(f"titles-{rows}-{times}", write, (rows, shards))


def title_arguments(directory: Path) -> tuple[list[str], list[str], str]:
    """Return the shards of an input: titles, sitelinks, and the wiki."""
    sitelinks = inputs.shards(directory, "sitelinks") + inputs.shards(directory, "page_props")
    return inputs.shards(directory, "titles"), sitelinks, inputs.WIKI


def do_titles(directory: Path) -> None:
    """Build the title index."""
    output = str(fresh(directory / "output"))
    save_checksum(directory / "title_index.txt", *build_title_index(*title_arguments(directory), output))


def save_checksum(file: Path, arrays: str, counts: dict[str, int]) -> None:
    """Write what tells two title indexes apart."""
    paths = sorted(Path(arrays).iterdir())
    digests = [f"{path.name} {_sha256(path)}" for path in paths]
    file.write_text("\n".join([*digests, *(f"{name} {number}" for name, number in sorted(counts.items()))]))


def _sha256(path: Path) -> str:
    """Return the checksum of a file that may be larger than the memory that is measured."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            digest.update(data)
    return digest.hexdigest()


def entity_case(items: int, shards: int) -> Case:
    """Return an input with so many entities, and the counts of so many shards of sentences."""
    write = partial(inputs.entity_shards, items=items, shards=shards)
    return Case(f"entities-{items}-{shards}", write, (items, inputs.counted_items(items, shards)))


def do_entities(directory: Path) -> None:
    """Build the entity table, as `pairs` does without flags."""
    counted = [
        tables.Counted(order, inputs.WIKI, inputs.LINKS_PER_SHARD, str(path))
        for order, path in enumerate(sorted((directory / "counts").iterdir()))
    ]
    task = tables.TableTask(
        work=_work(directory),
        dataset=str(directory / "entities"),
        min_links=MIN_LINKS,
        floor="corpus",
        required="",
        cap=0,
        languages=inputs.LANGUAGES[::-1],
        options=TableOptions(negatives=1, types="best_rank", refine_humans=1000, back_off=True),
    )
    tables.build_table(task, counted)


def names_case(nodes: int) -> Case:
    """Return an input with so many nodes of names."""
    return Case(f"names-{nodes}", partial(inputs.name_ranges, nodes=nodes), (nodes,))


def do_names(directory: Path) -> None:
    """Build the name table."""
    merged = {
        order: names.Merged(order, inputs.WIKI, str(path), "", inputs.NODES_PER_RANGE // 2)
        for order, path in enumerate(sorted((directory / "ranges").iterdir()))
    }
    names.build_name_table(inputs.WIKI, merged, names.number_names(merged.values()), _work(directory))


def _work(directory: Path) -> Workspace:
    output = str(fresh(directory / "output"))
    return Workspace(output, output, "")


JOINS = {
    "title_index": Join(
        do_titles,
        ("titles", "shards of sitelinks"),
        (title_case(500_000), title_case(500_000, 8), title_case(2_000_000), title_case(inputs.TITLES)),
    ),
    "entity_table": Join(
        do_entities,
        ("items", "counts of items by shard"),
        (
            entity_case(500_000, 8),
            entity_case(500_000, 64),
            entity_case(2_000_000, 128),
            entity_case(inputs.ARTICLES, 365),
        ),
    ),
    "name_table": Join(do_names, ("nodes of the trie",), tuple(map(names_case, (2_000_000, 8_000_000, 32_000_000)))),
}


if __name__ == "__main__":
    main()
