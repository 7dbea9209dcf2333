"""The speed of reading dumps: `sentences` against bare decompression.

    WIKIANCHOR_DATA=data python benchmarks/extraction.py bz2

`wikianchor sentences` with either engine against decompression of the same file by libbz2, and against wikrs: whole
wikis with their templates, then slices; and what decompression by the core takes. Needs the core (`make core`).

Starting Python and Beam takes over a second, half of the time of a slice and nothing of a dump. So each round also
measures the demo's dump of a few pages, and the speeds are without that time.
"""

from argparse import Namespace
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

from lib import slices, tools
from lib.measure import job, less, ratio, report, rounds_of, run, run_parts, seconds, table, unpack

from wikianchor.pipelines.wikimedia.choices import ENGINES
from wikianchor.pipelines.wikimedia.dumps import Range, read_range


def sentences(work: Path, wiki: str | None, dump: Path, *flags: str) -> float:
    """Run `wikianchor sentences` and return its CPU; `wiki` is given where the dump's header names none."""
    return job("sentences", work / "sentences", f"--dumps={dump}", *([f"--wikis={wiki}"] if wiki else []), *flags)


def unpack_by_core(dump: Path) -> None:
    """Decompress a dump as the pipelines do."""
    for _ in read_range(Range(str(dump), 0, dump.stat().st_size, last=True, blocks=False)):
        pass


def by_wikrs(home: Path, dump: Path, output: Path) -> float:
    """Run wikrs and return its CPU."""
    return run(tools.command_of("wikrs", home, dump, output, expand=True)).user


def compare_bz2(arguments: Namespace) -> None:
    """Print `sentences` against decompression."""
    work, wikrs = arguments.work, tools.install(arguments.tools, ["wikrs"])["wikrs"]
    sliced = [(None, slices.dump(work, name, arguments.megabytes)) for name in arguments.languages]
    dumps = [*slices.given_or_whole([]), *sliced]
    cases = {f"{kind}: start": partial(sentences, work, None, slices.DEMO, f"--engine={kind}") for kind in ENGINES}
    for wiki, dump in dumps:
        cases[f"{dump.name}: bz2"] = partial(seconds, partial(unpack, dump))
        cases[f"{dump.name}: wikrs"] = partial(by_wikrs, wikrs, dump, work / "wikrs.jsonl")
        cases[f"{dump.name}: by the core"] = partial(seconds, partial(unpack_by_core, dump))
        cases |= {f"{dump.name}: {kind}": partial(sentences, work, wiki, dump, f"--engine={kind}") for kind in ENGINES}
    times = rounds_of(arguments.rounds, cases)
    rows: list[list[Any]] = []
    for _, dump in dumps:
        bare = times[f"{dump.name}: bz2"]
        jobs = [(times[f"{dump.name}: {kind}"], times[f"{kind}: start"]) for kind in ENGINES]
        cells = [cell for whole, early in jobs for cell in (median(whole), ratio(less(whole, early), bare))]
        by_core, beside = (
            ratio(times[f"{dump.name}: by the core"], bare),
            ratio(less(*jobs[-1]), times[f"{dump.name}: wikrs"]),
        )
        rows.append([dump.name.partition(".")[0], unpack(dump) / 1e6, median(bare), by_core, *cells, beside])
    for name, part in (("whole wikis", rows[: len(slices.WHOLE)]), ("slices", rows[len(slices.WHOLE) : len(dumps)])):
        means = ["" if column in (1, 2, 4, 6) else mean(row[column] for row in part) for column in range(1, 9)]
        rows.append([f"mean of {name}", *means])
    columns = [f"{kind}{text}" for kind in ENGINES for text in (", CPU s", " less start / bz2")]
    starts = ", ".join(f"{kind} {median(times[f'{kind}: start']):.2f}" for kind in ENGINES)
    head = ["dump", "MB of XML", "bz2, CPU s", "by the core / bz2", *columns, "the same / wikrs"]
    report("sentences against bz2 decompression", f"{table(head, rows)}\n\nStart, CPU s: {starts}.")


if __name__ == "__main__":
    run_parts(
        __doc__,
        {"bz2": compare_bz2},
        {
            "--languages": (sorted(slices.SLICES), "whose slices, of `bz2`"),
            "--megabytes": (24.0, "smallest XML of each language, of `bz2`"),
            **tools.FLAG,
        },
    )
