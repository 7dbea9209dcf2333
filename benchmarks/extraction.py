"""The speed of reading dumps: `sentences` and `entities` against bare decompression.

    WIKIANCHOR_DATA=data python benchmarks/extraction.py [PART ...]

- `bz2`: `wikianchor sentences` with either engine against decompression of the same file: whole wikis with their
  templates, then slices. Needs the core (`make core`).
- `previous`: `sentences --previous` against a full build, on real dumps of two months.
- `entities`: `wikianchor entities` against decompression of a stand-in for Wikidata's dump with lines of 10 KB.

Starting Python and Beam takes over a second, half of the time of a slice and nothing of a dump. So each round also
measures a dump of one short article, and the speeds are without that time.
"""

from __future__ import annotations

import bz2
import gzip
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from itertools import islice, product
from pathlib import Path
from statistics import mean, median
from typing import Any

from lib import generate, slices
from lib.measure import (
    digest,
    job,
    less,
    parser,
    ratio,
    report,
    rounds_of,
    run_parts,
    seconds,
    table,
)

from wikianchor.pipelines.wikimedia.choices import ENGINES


def main() -> None:
    """Measure and print the tables."""
    flags = parser(__doc__, parts=list(PARTS))
    flags.add_argument("--languages", nargs="+", choices=sorted(slices.SLICES), help="whose slices (by part)")
    flags.add_argument("--megabytes", type=float, default=24, help="smallest XML of each language, `bz2` (24)")
    flags.add_argument("--lines", type=int, default=20_000, help="lines of Wikidata (20000)")
    run_parts(PARTS, flags)


def sentences(work: Path, wiki: str | None, dump: Path, *flags: str) -> float:
    """Run `wikianchor sentences` and return its CPU; `wiki` is given where the dump's header names none."""
    named = [f"--wikis={wiki}"] if wiki else []
    return job("sentences", work / "sentences", f"--dumps={dump}", *named, *flags)


# -------------------------------------------------------------------------------------------------------- decompression


def compare_bz2(arguments: Namespace) -> None:
    """Print `sentences` against decompression."""
    work, languages = arguments.work, arguments.languages or sorted(slices.SLICES)
    dumps = slices.given_or_whole([])
    dumps += [(None, slices.dump(work, name, arguments.megabytes)) for name in languages]
    cases: dict[str, Callable[[], float]] = {}
    for kind in ENGINES:
        cases[f"{kind}: start"] = partial(sentences, work, None, slices.one_page(work), f"--engine={kind}")
    for wiki, dump in dumps:
        cases[f"{dump.name}: bz2"] = partial(seconds, partial(unpack, dump))
        for kind in ENGINES:
            cases[f"{dump.name}: {kind}"] = partial(sentences, work, wiki, dump, f"--engine={kind}")
    times = rounds_of(arguments.rounds, cases)
    rows: list[list[Any]] = []
    for _, dump in dumps:
        bare, cells = times[f"{dump.name}: bz2"], []
        for kind in ENGINES:
            whole = times[f"{dump.name}: {kind}"]
            cells += [median(whole), ratio(less(whole, times[f"{kind}: start"]), bare)]
        rows.append([dump.name.partition(".")[0], unpack(dump) / 1e6, median(bare), *cells])
    for name, part in (("whole wikis", rows[: len(slices.WHOLE)]), ("slices", rows[len(slices.WHOLE) :])):
        ratios = [mean(row[column] for row in part) for column in (4, 6)]
        rows.append([f"mean of {name}", "", "", "", ratios[0], "", ratios[1]])
    head = ["dump", "MB of XML", "bz2, CPU s"]
    for kind in ENGINES:
        head += [f"{kind}, CPU s", f"{kind} less start / bz2"]
    starts = ", ".join(f"{kind} {median(times[f'{kind}: start']):.2f}" for kind in ENGINES)
    report("sentences against bz2 decompression", f"{table(head, rows)}\n\nStart, CPU s: {starts}.")


def unpack(path: Path) -> int:
    """Decompress a file, 4 MB at a time, and return its size in bytes."""
    openers: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open}
    with openers.get(path.suffix, open)(path, "rb") as file:
        return sum(map(len, iter(lambda: file.read(4 << 20), b"")))


# ----------------------------------------------------------------------------------------------- the dump of next month

# Dumps of one wiki, a month apart.
MONTHS = (("dsbwiki-20220501", "dsbwiki-20220601"), ("kwwiki-20220501", "kwwiki-20220601"))


def compare_previous(arguments: Namespace) -> None:
    """Print `--previous` against a full build."""
    work = arguments.work
    rows: list[list[Any]] = []
    for months, kind in product(MONTHS, ENGINES):
        old, new = (slices.data() / "states" / f"{month}-pages-articles.xml.bz2" for month in months)
        last, flag = work / "previous-old", f"--engine={kind}"
        job("sentences", last, f"--dumps={old}", flag)
        cases: dict[str, Callable[[], float]] = {
            "full": partial(job, "sentences", work / "previous-full", f"--dumps={new}", flag),
            "previous": partial(job, "sentences", work / "previous-new", f"--dumps={new}", f"--previous={last}", flag),
            "start": partial(sentences, work, None, slices.one_page(work), flag),
            "unpacking": partial(seconds, partial(unpack, new)),
        }
        times = rounds_of(arguments.rounds, cases)
        same = digest(work / "previous-full") == digest(work / "previous-new")
        full, again = times["full"], times["previous"]
        net = [less(of, times["start"]) for of in (full, again)]
        rest = [less(of, times["unpacking"]) for of in net]
        cells = [unpack(new) / 1e6, median(full), median(again), ratio(full, again), ratio(*net)]
        rows.append([f"{months[1]}, {kind}", *cells, median(times["unpacking"]), ratio(*rest), "yes" if same else "NO"])
    head = ["dump, engine", "MB of XML", "full, CPU s", "--previous, CPU s", "times less", "both less start"]
    head += ["unpacking, CPU s", "both less start and unpacking", "same bytes"]
    report("sentences of the next month's dump", table(head, rows))


# ------------------------------------------------------------------------------------------------------------- Wikidata


def compare_entities(arguments: Namespace) -> None:
    """Print `entities` against decompression."""
    work, language = arguments.work, (arguments.languages or ["en"])[0]
    files = {ending: wikidata(work, language, ending, arguments.lines) for ending in ("gz", "bz2")}

    def entities(path: Path, wiki: str) -> float:
        return job("entities", work / "entities", f"--wikidata={path}", f"--wikis={wiki}")

    # A file of the types alone, whose pages are of enwiki, measures the start.
    cases: dict[str, Callable[[], float]] = {"start": partial(entities, wikidata(work, language, "gz", 0), "enwiki")}
    for ending, path in files.items():
        cases[f"{ending}: bare"] = partial(seconds, partial(unpack, path))
        cases[f"{ending}: job"] = partial(entities, path, f"{language}wiki")
    times = rounds_of(arguments.rounds, cases)
    rows: list[list[Any]] = []
    size = unpack(files["gz"]) / 1e6
    for ending in files:
        bare, whole = times[f"{ending}: bare"], times[f"{ending}: job"]
        net = less(whole, times["start"])
        cells = [size, median(bare), median(whole), size / median(net), ratio(whole, bare), ratio(net, bare)]
        rows.append([ending, *cells])
    head = ["packing", "MB of JSON", "unpack, CPU s", "job, CPU s", "MB / CPU s", "job / unpack", "less start / unpack"]
    report("entities against decompression", f"{table(head, rows)}\n\nStart: {median(times['start']):.2f} CPU s.")


def wikidata(work: Path, language: str, ending: str, lines: int) -> Path:
    """Return a stand-in for Wikidata with three items without a page for each with one; write it unless it exists."""
    path = work / f"wikidata-{lines}x10000-{language}.json.{ending}"
    if not path.exists():
        unfinished = path.with_name(f"unfinished-{path.name}")
        dump = slices.dump(work, language, stubs=True)
        items = islice(generate.items_of(generate.articles([str(dump)])), lines // 4)
        generate.write_items(items, unfinished, line_bytes=10_000, others=3)
        unfinished.rename(path)
    return path


PARTS: dict[str, Callable[[Namespace], None]] = {
    "bz2": compare_bz2,
    "previous": compare_previous,
    "entities": compare_entities,
}

if __name__ == "__main__":
    main()
