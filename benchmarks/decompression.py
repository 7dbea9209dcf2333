"""The whole `wikianchor sentences` job against nothing but bz2 decompression of the same files.

    WIKIANCHOR_DATA=data python benchmarks/decompression.py
    WIKIANCHOR_DATA=data python benchmarks/decompression.py --steps

Slices of real dumps are packed as multistream bz2, small ones copied under new titles until there is enough to
measure. Decompression is bz2.decompress of the file in this process. The job is a process of its own; starting Python,
Beam and its runner takes over a second, nothing for a dump and half of all for a slice, so it is measured each round on
a dump of one short article, and the table gives the ratio with and without it. The mean over languages, less the
start, shall be at most 4, and 2.2 is aimed at. The engine alone, wikitext in memory to text and links, is timed in this
process on the articles of the same file; 0.7 is aimed at. `--steps` prints where the time goes instead, in units of
decompression.
"""

from __future__ import annotations

import bz2
import gc
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

import generate
import slices
from measure import fresh, parser, ratio, report, rounds_of, run, seconds, table, wikianchor
from sampling import OTHER, sample

from wikianchor.pipelines.wikimedia.wikitext import Extractor

TARGETS = (
    "Targets for the mean less the start: 4 for the stage, 2.2 for the engine and all around it; 0.7 for the engine "
    "alone."
)
# Where the functions of a step are.
STEPS = {
    "decompress": ("wikimedia/dumps.py",),
    "cut and parse pages": ("wikimedia/pages.py",),
    "extract text and links": ("wikimedia/", "text/data"),
    "sentences": ("text/",),
    "Arrow and Parquet": ("dataset/",),
    "page by page": ("transforms/",),
}


def main() -> None:
    """Measure and print a table."""
    flags = parser(__doc__)
    flags.add_argument("--languages", nargs="+", default=sorted(slices.SLICES), choices=sorted(slices.SLICES))
    flags.add_argument("--megabytes", type=float, default=8, help="XML of each language at least (8)")
    flags.add_argument("--steps", action="store_true", help="print a profile by step")
    arguments = flags.parse_args()
    dumps = {name: slices.dump(arguments.work, name, arguments.megabytes) for name in arguments.languages}
    if arguments.steps:
        steps(dumps, arguments.work)
    else:
        whole(dumps, arguments.work, arguments.rounds)


def whole(dumps: dict[str, Path], work: Path, rounds: int) -> None:
    """Compare the job with decompression."""
    nothing = slices.nothing(work, next(iter(dumps)))
    cases: dict[str, Callable[[], float]] = {}
    for name, dump in dumps.items():
        cases[f"{name}: bz2"] = partial(seconds, partial(decompress, dump))
        cases[f"{name}: engine"] = partial(engine, generate.read_source([str(dump)]))
        cases[f"{name}: job"] = partial(job, dump, work)
    cases["start"] = partial(job, nothing, work)
    found = rounds_of(rounds, cases)
    rows: list[list[Any]] = []
    for name, dump in dumps.items():
        bare, times = found[f"{name}: bz2"], found[f"{name}: job"]
        net = [time - start for time, start in zip(times, found["start"], strict=True)]
        size = len(decompress(dump)) / 1e6
        ratios = [ratio(of, bare) for of in (times, net, found[f"{name}: engine"])]
        rows.append([name, size, median(bare), median(times), size / median(net), *ratios])
    rows.append(["mean", "", "", "", "", *(mean(row[place] for row in rows) for place in range(5, 8))])
    head = ["language", "MB of XML", "bz2, CPU s", "job, CPU s", "MB / CPU s"]
    head += ["job / bz2", "job less start / bz2", "engine / bz2"]
    report(
        "sentences against bz2 decompression",
        table(head, rows) + f"\n\nStart: {median(found['start']):.2f} CPU s. {TARGETS}",
    )


def decompress(dump: Path) -> bytes:
    """Return what is in a file."""
    return bz2.decompress(dump.read_bytes())


def engine(source: generate.Source) -> float:
    """Return the CPU of the engine for all articles of a dump; it has read no page before."""
    pages = [(page.text, page.title) for page in source.pages if not page.namespace and page.redirect is None]
    extractor = Extractor(source.site)
    # What others left is not to be cleared away in its time.
    gc.collect()

    def extract() -> None:
        for page in pages:
            extractor.extract(*page)

    return seconds(extract)


def job(dump: Path, work: Path) -> float:
    """Run the job and return its CPU."""
    return run(wikianchor("sentences", f"--dumps={dump}", f"--output={fresh(work / 'sentences')}")).user


def steps(dumps: dict[str, Path], work: Path) -> None:
    """Profile the job in this process, by step and by function."""
    from wikianchor.pipelines.cli.command_line import main as command

    rows: list[list[Any]] = []
    functions: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for language, dump in dumps.items():
        flags = ["sentences", f"--dumps={dump}", f"--output={fresh(work / 'sentences')}"]
        bare = seconds(partial(decompress, dump))
        found = sample(partial(command, flags))
        rows.append([language, bare, *(time / bare for time in found.by_step(STEPS).values())])
        for total, counted in ((functions, found.functions), (lines, found.lines)):
            total.update(counted)
    rows.append(["mean", *(mean(row[place] for row in rows) for place in range(1, len(rows[0])))])
    report("steps of sentences, in units of bz2 decompression", table(["language", "bz2, CPU s", *STEPS, OTHER], rows))
    bare = sum(row[1] for row in rows[:-1])
    for name, total in (("function", functions), ("line", lines)):
        costly = [[place, time, time / bare] for place, time in total.most_common(25)]
        report(f"sentences by {name}, with what it calls", table([name, "CPU s", "times bz2"], costly))


if __name__ == "__main__":
    main()
