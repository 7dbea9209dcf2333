"""What it costs to shuffle rows, over spill files x output shards.

    python benchmarks/shuffle.py --work=/a/disk/with/25/GB [--parts files parquet beam engine requests] [--old=CHECKOUT]

The rows are like those of `pairs`, 350 bytes each, with random places. Every measurement is a process of its own:

- `files`: sorted runs are written, merged, and read shard by shard by the functions that `wikianchor pairs` calls, with
  at most 256 open files. Only the Parquet encoder is replaced by one that drops the rows. A run has 100,000 rows; where
  that makes more than --rows in all, a size is measured twice: `thin` has all runs and all shards, but fewer rows in
  each; `block` has all runs and as many rows in each shard as there would be, but only the first shards. `--old` runs
  the code of another checkout, before there was a shuffle (commit adce651), on the same rows.
- `parquet`: the smallest size with the encoder.
- `beam`: what our own code costs beside Beam's GroupByKey: rows are cut into pieces by output shard, and the pieces of
  an output shard are sorted. Twenty chunks of 100,000 rows are cut; shards are read out of as many of their pieces as
  there would be.
- `engine`: both shuffles through the direct runner, with 20 units and 8 shards. `beam` holds all rows in memory there.
- `requests`: requests of `wikianchor pairs` to an object store (moto), over sentence shards and output shards.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from measure import fresh, parser, report, table
from shuffle_cases import OPEN_FILES, RUN_ROWS, Case
from store_requests import request_table

HERE = Path(__file__).resolve().parent
SIZES = ("20x8", "980x400", "2300x920", "7000x3100")
# The engine is measured with fewer rows: it holds those of `beam` in memory.
ENGINE = Case(20, 8, 400_000, 8)
# What cutting and sorting pieces costs depends on their size alone, so fewer rows will do.
BEAM_ROWS = 2_000_000
FILES_COLUMNS = {
    "write": "write",
    "merge": "merge",
    "read": "read",
    "total": "in all",
    "system": "system CPU",
    "merged": "times merged",
    "written": "bytes written / row",
    "peak": "peak MB",
    "anonymous": "less mapped files, MB",
    "files": "open files",
}
BEAM_COLUMNS = {"sort": "sort", "cut": "cut", "read": "read", "total": "in all", "sent": "bytes sent / row"}
ENGINE_COLUMNS = {"total": "user CPU", "system": "system CPU", "peak": "peak MB"}
WHOLE = frozenset(("written", "peak", "anonymous", "files", "sent"))


def main() -> None:
    """Measure and print the tables."""
    flags = parser(__doc__, rounds=1)
    flags.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS), help="what is measured (all)")
    flags.add_argument("--sizes", nargs="+", default=SIZES, metavar="RUNSxSHARDS", help=f"({' '.join(SIZES)})")
    flags.add_argument("--rows", type=int, default=20_000_000, help="of a size, at most (20000000)")
    flags.add_argument("--old", type=Path, help="a checkout of the code before the shuffle")
    flags.add_argument("--old_sizes", nargs="+", default=SIZES[:2], help=f"sizes for it ({' '.join(SIZES[:2])})")
    arguments = flags.parse_args()
    for name in arguments.parts:
        PARTS[name](arguments)


def cases(size: str, rows: int) -> dict[str, Case]:
    """Return what stands for a size where at most so many rows fit."""
    runs, shards = map(int, size.split("x"))
    whole = runs * RUN_ROWS
    if whole <= rows:
        return {"whole": Case(runs, shards, whole, shards)}
    block = max(1, shards * rows // whole)
    return {"thin": Case(runs, shards, rows, shards), "block": Case(runs, shards, whole * block // shards, block)}


def files(arguments: Any) -> None:
    """Measure the shuffle by files."""
    lines = []
    for size in arguments.sizes:
        kinds = cases(size, arguments.rows)
        ways = [("files", kind) for kind in kinds]
        if arguments.old is not None and size in arguments.old_sizes:
            # Few rows in each piece are dearer for it than what is real.
            ways.append(("old", ways[-1][1]))
        # By turns, so that a busy machine is as busy for each.
        turns = [[measure(way, kinds[kind], arguments) for way, kind in ways] for _ in range(arguments.rounds)]
        for (way, kind), *costs in zip(ways, *turns, strict=True):
            case, code = kinds[kind], "old" if way == "old" else "present"
            named = [size.replace("x", " x "), kind, code, case.rows, case.block]
            lines.append([*named, *figures(costs, FILES_COLUMNS)])
    head = ["runs x shards", "rows are", "code", "rows", "shards with rows", *FILES_COLUMNS.values()]
    target = f"Target: at most 3 in all, 2 times merged, 64 open files. The present code may open {OPEN_FILES}."
    report("shuffle by files", f"{table(head, lines)}\n\nus of user CPU per row. {target}")


def beam(arguments: Any) -> None:
    """Measure cutting rows into pieces, and sorting pieces."""
    lines = []
    for size in arguments.sizes:
        chunks, shards = map(int, size.split("x"))
        costs = measured("beam", Case(chunks, shards, BEAM_ROWS, shards), arguments)
        lines.append([f"{chunks:,} x {shards:,}", RUN_ROWS // shards, *figures(costs, BEAM_COLUMNS)])
    head = ["chunks x shards", "rows of a piece", *BEAM_COLUMNS.values()]
    report("shuffle by Beam, less GroupByKey", f"{table(head, lines)}\n\nus of user CPU per row.")


def engine(arguments: Any) -> None:
    """Measure both shuffles through the direct runner."""
    lines = [
        [shuffle, ENGINE.rows, *figures(measured("engine", ENGINE, arguments, shuffle=shuffle), ENGINE_COLUMNS)]
        for shuffle in ("files", "beam")
    ]
    head = ["shuffle", "rows", *ENGINE_COLUMNS.values()]
    report("shuffle through the direct runner", f"{table(head, lines)}\n\nus of CPU per row, the graph included.")


def parquet(arguments: Any) -> None:
    """Measure the smallest size with the Parquet encoder, and without."""
    (case,) = cases(SIZES[0], arguments.rows).values()
    names = {"read": "read", "total": "in all", "system": "system CPU"}
    lines = [
        ["written" if encoded else "dropped", *figures(measured("files", case, arguments, parquet=encoded), names)]
        for encoded in (False, True)
    ]
    head = [f"{SIZES[0]}: rows are", *names.values()]
    report("shuffle and Parquet", f"{table(head, lines)}\n\nus of user CPU per row.")


def requests(arguments: Any) -> None:
    """Count requests to an object store."""
    report("shuffle: requests to an object store", request_table(fresh(arguments.work / "requests")))


def figures(costs: Sequence[Mapping[str, float]], names: Mapping[str, str]) -> list[float | int | str]:
    """Return the median of each cost, and of sizes the most."""
    found: list[float | int | str] = []
    for name in names:
        values = [cost[name] for cost in costs if name in cost]
        found.append("" if not values else round(max(values)) if name in WHOLE else float(median(values)))
    return found


def measured(function: str, case: Case, arguments: Any, **options: Any) -> list[dict[str, float]]:
    """Measure a case as many times as there are rounds."""
    return [measure(function, case, arguments, **options) for _ in range(arguments.rounds)]


def measure(function: str, case: Case, arguments: Any, **options: Any) -> dict[str, float]:
    """Measure a case in a process of its own."""
    directory = fresh(arguments.work / "shuffle")
    told = [function, json.dumps(case), str(directory), json.dumps(options)]
    root = arguments.old if function == "old" else HERE.parent
    command, environment = [sys.executable, str(HERE / "shuffle_cases.py"), *told], {"PYTHONPATH": str(root.resolve())}
    ended = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True)
    costs: dict[str, float] = json.loads(ended.stdout)
    print(f"{function} {case}: {costs}", file=sys.stderr)
    fresh(directory)
    return costs


PARTS: dict[str, Callable[[Any], None]] = {
    "files": files,
    "parquet": parquet,
    "beam": beam,
    "engine": engine,
    "requests": requests,
}


if __name__ == "__main__":
    main()
