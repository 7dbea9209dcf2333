"""The whole `wikianchor entities` job against nothing but decompression of the same file, gzip and bz2.

    WIKIANCHOR_DATA=data python benchmarks/entities.py

The file is a stand-in of Wikidata for the titles of real slices: lines of 10 KB, filled with labels, claims and
references, three without a page in the wiki for each with one. Decompression is done by Python's own gzip and bz2
modules, 4 MB at a time, in this process. The time to start is measured each round on a file of the types alone.
"""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import generate
import slices
from measure import fresh, parser, ratio, report, rounds_of, run, seconds, table, wikianchor

OTHERS = 3
CHUNK_BYTES = 4 << 20


def main() -> None:
    """Measure and print the table."""
    flags = parser(__doc__)
    flags.add_argument("--language", default="en", choices=sorted(slices.SLICES), help="whose titles (en)")
    flags.add_argument("--lines", type=int, default=20_000, help="lines of the file, about (20000)")
    flags.add_argument("--line_bytes", type=int, default=10_000, help="bytes of a line, about (10000)")
    arguments = flags.parse_args()
    work: Path = arguments.work
    files = {ending: wikidata(arguments, ending, arguments.lines) for ending in ("gz", "bz2")}
    types = wikidata(arguments, "gz", 0)
    wiki = f"{arguments.language}wiki"
    cases: dict[str, Callable[[], float]] = {}
    for ending, file in files.items():
        cases[f"{ending}: bare"] = partial(seconds, partial(unpack, file))
        cases[f"{ending}: job"] = partial(job, file, wiki, work)
    cases["start"] = partial(job, types, "enwiki", work)
    found = rounds_of(arguments.rounds, cases)
    rows: list[list[Any]] = []
    size = unpack(files["gz"]) / 1e6
    for ending in files:
        bare, times = found[f"{ending}: bare"], found[f"{ending}: job"]
        net = [time - start for time, start in zip(times, found["start"], strict=True)]
        rows.append(
            [ending, size, median(bare), median(times), size / median(net), ratio(times, bare), ratio(net, bare)]
        )
    head = ["packing", "MB of JSON", "unpack, CPU s", "job, CPU s", "MB / CPU s", "job / unpack", "less start / unpack"]
    report("entities against decompression", table(head, rows) + f"\n\nStart: {median(found['start']):.2f} CPU s.")


def wikidata(arguments: Any, ending: str, lines: int) -> Path:
    """Return the stand-in, made unless it is there."""
    path: Path = arguments.work / f"wikidata-{lines}x{arguments.line_bytes}-{arguments.language}.json.{ending}"
    if not path.exists():
        unfinished = path.with_name(f"unfinished-{path.name}")
        dump = slices.dump(arguments.work, arguments.language, stubs=True)
        items = islice(generate.items_of(generate.articles([str(dump)])), lines // (1 + OTHERS))
        generate.write_items(items, unfinished, line_bytes=arguments.line_bytes, others=OTHERS)
        unfinished.rename(path)
    return path


def unpack(path: Path) -> int:
    """Decompress a file and return how many bytes there are."""
    size = 0
    with gzip.open(path) if path.suffix == ".gz" else bz2.open(path) as file:
        while data := file.read(CHUNK_BYTES):
            size += len(data)
    return size


def job(file: Path, wiki: str, work: Path) -> float:
    """Run the job and return its CPU."""
    output = fresh(work / "entities")
    return run(wikianchor("entities", f"--wikidata={file}", f"--wikis={wiki}", f"--output={output}")).user


if __name__ == "__main__":
    main()
