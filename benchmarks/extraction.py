"""The speed of reading dumps: `sentences` against bare decompression.

    WIKIANCHOR_DATA=data python benchmarks/extraction.py bz2

`wikianchor sentences` with either engine against decompression of the same file by libbz2, and against wikrs: whole
wikis with their templates, then slices; and what decompression by the core takes. `wikidata`: `entities`
against decompression by zlib. Needs the core (`make core`).

Starting Python and Beam takes over a second, half of the time of a slice and nothing of a dump. So each round also
measures the demo's dump of a few pages, and the speeds are without that time.
"""

import gzip
from argparse import Namespace
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

from lib import generate, slices, tools
from lib.measure import fresh, job, less, ratio, report, rounds_of, run, run_parts, seconds, table, unpack, wikianchor

from wikianchor.pipelines.wikimedia.choices import ENGINES
from wikianchor.pipelines.wikimedia.dumps import content_of
from wikianchor.pipelines.wikimedia.wikidata import iter_lines


def sentences(work: Path, wiki: str | None, dump: Path, *flags: str) -> float:
    """Run `wikianchor sentences` and return its CPU; `wiki` is given where the dump's header names none."""
    return job("sentences", work / "sentences", f"--dumps={dump}", *([f"--wikis={wiki}"] if wiki else []), *flags)


def unpack_by_core(dump: Path) -> int:
    """Decompress a dump as the pipelines do, and return its size in bytes."""
    return sum(map(len, content_of(str(dump))))


def by_wikrs(home: Path, dump: Path, output: Path) -> float:
    """Run wikrs and return its CPU."""
    return run(tools.command_of("wikrs", home, dump, output, expand=True)).ru_utime


def compare_bz2(arguments: Namespace) -> None:
    """Print `sentences` against decompression."""
    work, wikrs = arguments.work, tools.install(arguments.tools, ["wikrs"])["wikrs"]
    sliced = [(None, slices.dump(work, name, arguments.megabytes)) for name in arguments.languages]
    dumps = [*slices.given_or_whole([]), *sliced]
    cases = {f"{kind}: start": partial(sentences, work, None, slices.DEMO, f"--engine={kind}") for kind in ENGINES}
    for wiki, dump in dumps:
        cases |= {
            f"{dump.name}: bz2": partial(seconds, partial(unpack, dump)),
            f"{dump.name}: wikrs": partial(by_wikrs, wikrs, dump, work / "wikrs.jsonl"),
            f"{dump.name}: by the core": partial(seconds, partial(unpack_by_core, dump)),
            **{f"{dump.name}: {kind}": partial(sentences, work, wiki, dump, f"--engine={kind}") for kind in ENGINES},
        }
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
    text = table(["dump", "MB of XML", "bz2, CPU s", "by the core / bz2", *columns, "the same / wikrs"], rows)
    report("sentences against bz2 decompression", f"{text}\n\nStart, CPU s: {starts}.")


# Runs `wikianchor` as where no core is installed.
WITHOUT_CORE = (
    "import runpy, sys; sys.modules['wikianchor_core'] = None; runpy.run_module('wikianchor', None, '__main__')"
)


def entities(work: Path, wiki: str, kind: str, dump: Path) -> float:
    """Run `wikianchor entities` with either engine and return its CPU."""
    command = wikianchor("entities", f"--wikidata={dump}", f"--wikis={wiki}", f"--output={fresh(work / 'entities')}")
    return run([command[0], "-c", WITHOUT_CORE, *command[3:]] if kind == "python" else command).ru_utime


def compare_wikidata(arguments: Namespace) -> None:
    """Print `entities` of a Wikidata dump against inflating it by zlib, both less the same of a 24th of it."""
    sample = slices.data() / "wikidata/opentapioca_sample_wikidata_items.json.bz2"
    text = b"\n".join((*iter_lines(content_of(str(sample))), b""))
    dumps = [
        generate.kept(
            arguments.work / f"wikidata-{copies}.json.gz", partial(Path.write_bytes, data=gzip.compress(text * copies))
        )
        for copies in (24, 1)
    ]
    # A wiki with a page of a tenth of the items, and one with a page of all.
    jobs = [(wiki, kind) for wiki in ("bugwiki", "enwiki") for kind in ENGINES]
    cases: dict[Any, Any] = {
        **{("zlib", dump): partial(seconds, partial(unpack, dump)) for dump in dumps},
        **{(job, dump): partial(entities, arguments.work, *job, dump) for job in jobs for dump in dumps},
    }
    times: dict[Any, Any] = rounds_of(arguments.rounds, cases)
    bare, *net = (less(*(times[name, dump] for dump in dumps)) for name in ("zlib", *jobs))
    rows = [[*job, median(time), median(bare), ratio(time, bare)] for job, time in zip(jobs, net, strict=True)]
    report("entities against zlib", table(["wiki", "engine", "CPU s", "zlib, CPU s", "ratio"], rows))


if __name__ == "__main__":
    run_parts(
        __doc__,
        {"bz2": compare_bz2, "wikidata": compare_wikidata},
        {
            "--languages": (sorted(slices.SLICES), "whose slices, of `bz2`"),
            "--megabytes": (24.0, "smallest XML of each language, of `bz2`"),
            **tools.FLAG,
        },
    )
