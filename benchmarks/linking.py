"""The speed of `wikianchor pairs`, `wikianchor mentions` and `wikianchor export`.

    WIKIANCHOR_DATA=data python benchmarks/linking.py [pairs] [mentions] [export]

They read real sentences copied under new titles, and a stand-in for Wikidata that gives each title an item.

- `pairs`: links decided per CPU second of the whole job. "One type of 90 %": a single type has nine tenths of the
  items. "Without curation": by the options NO_CURATION. The lower bound reads the same columns and writes as many rows,
  sorted by a random key; the CPU above it is that of deciding. Target: 300,000 links decided per CPU second, and
  curation takes at most 1.15 times.
- `mentions`: links and MB of text per CPU second, less the start, which is the same command on the demo's wiki.
  Targets: 200,000 links, and 5 times the speed of wikipedia2vec, which is in
  docs/explanation/studies/mentions-against-wikipedia2vec.md.
- `export`: rows of `pairs` per CPU second, by default options, less the start as above. Target: 150,000.
"""

from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from lib.many_links import entities, many_sentences, sample
from lib.measure import fresh, job, less, ratio, report, rounds_of, run_parts, seconds, table
from results import machine

from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.dataset.reader import dataset_at, read_batches
from wikianchor.pipelines.pairs.steps import SENTENCE_COLUMNS
from wikianchor.schemas import pairs as pairs_schema

ROW_GROUP = 20_000
NO_CURATION = ("--exclude_types=none", "--named_negatives", "--pageless_negatives", "--max_repeats=0")


def compare_pairs(arguments: Namespace) -> None:
    """Print links per CPU second, with many types and with one, without curation, and of the lower bound."""
    work, output = arguments.work, arguments.work / "pairs"
    rows = many_sentences(work, arguments.languages[0], arguments.links)
    links: dict[str, dict[str, int]] = {}

    def pairs(name: str, dominant: float, *choices: str) -> float:
        time = job("pairs", output, f"--sentences={rows}", f"--entities={entities(work, rows, dominant)}", *choices)
        links[name] = links_of(output)
        return time

    many, single, bound = "many types", "one type of 90 %", "read, sort, write alone"
    raw = "without curation"
    cases: dict[str, Callable[[], float]] = {
        raw: partial(pairs, raw, 0.0, *NO_CURATION),
        many: partial(pairs, many, 0.0),
        bound: lambda: seconds(lambda: read_sort_write(rows, output)),
        single: partial(pairs, single, 0.9),
    }
    times = rounds_of(arguments.rounds, cases)
    times["many types, less that"] = less(times[many], times[bound])
    ratios = {
        many: [ratio(times[many], times[bound]), "", ratio(times[many], times[raw])],
        single: ["", ratio(times[single], times[many]), ""],
    }
    lines: list[list[Any]] = []
    for name, column in times.items():
        counts, time = links.get(name, links[many]), median(column)
        rate = round(counts["seen"] / time)
        lines.append([name, counts["seen"], counts["kept"], time, rate, *ratios.get(name, ["", "", ""])])
    head = ["job", "links", "kept", "CPU s", "links / CPU s", f"times {bound.removesuffix(' alone')}"]
    head += [f"times {many}", f"times {raw}"]
    targets = "Targets: 300,000 links decided per CPU second; a type at most 1.2 times, curation at most 1.15 times."
    report("pairs", f"{table(head, lines)}\n\n{targets} On {machine()}.")


def read_sort_write(rows: Path, pairs: Path) -> None:
    """Read the columns that `pairs` reads and write its rows again in a random order."""
    for _ in dataset_at(str(rows)).batches("sentences", SENTENCE_COLUMNS):
        pass
    directory = str(fresh(pairs.with_name("read-sort-write")))
    for number, shard in enumerate(dataset_at(str(pairs)).shards("pairs")):
        batches = pa.Table.from_batches(list(read_batches(shard, pairs_schema.SCHEMA.names)))
        batches = batches.take(pa.array(np.argsort(mix(number, np.arange(batches.num_rows)))))
        with PartWriter(directory, "pairs", number, pairs_schema.SCHEMA, pairs_schema.REPEATING) as writer:
            for start in range(0, batches.num_rows, ROW_GROUP):
                writer.write(batches.slice(start, ROW_GROUP))


def datasets_of(arguments: Namespace) -> dict[str, tuple[Path, list[str]]]:
    """Return the sentences of each language, and of the demo's wiki, which measure the start; and the flags that name
    them and their entities."""
    inputs = {name: many_sentences(arguments.work, name, arguments.links // 10) for name in arguments.languages}
    datasets = {name: (rows, entities(arguments.work, rows)) for name, rows in inputs.items()}
    datasets["start"] = sample(arguments.work)
    return {name: (rows, [f"--sentences={rows}", f"--entities={items}"]) for name, (rows, items) in datasets.items()}


def compare_mentions(arguments: Namespace) -> None:
    """Print the links and the MB of text that `mentions` reads in a CPU second."""
    work, datasets, lines = arguments.work, datasets_of(arguments), list[list[Any]]()
    cases = {name: partial(job, "mentions", work / f"mentions-{name}", *of[1]) for name, of in datasets.items()}
    times = rounds_of(arguments.rounds, cases)
    for name in arguments.languages:
        texts = dataset_at(str(datasets[name][0])).iterate("sentences", ["text"])
        size = sum(len(row["text"].encode()) for row in texts) / 1e6
        links, time = links_of(work / f"mentions-{name}")["seen"], median(less(times[name], times["start"]))
        lines.append([name, links, size, median(times[name]), round(links / time), size / time])
    report("mentions", table(["wiki", "links", "MB of text", "CPU s", "links / CPU s", "MB / CPU s"], lines))


def links_of(directory: Path) -> dict[str, int]:
    """Return the ledger of the links of the only wiki of a dataset."""
    return next(iter(dataset_at(str(directory)).ledger["links"].values()))


def compare_export(arguments: Namespace) -> None:
    """Print the rows of `pairs` that `export` reads in a CPU second."""
    work, datasets = arguments.work, datasets_of(arguments)
    for name, (_, flags) in datasets.items():
        job("pairs", work / f"pairs-{name}", *flags, *(["--min_links=2"] if name == "start" else []))
        flags.append(f"--pairs={work}/pairs-{name}")
    cases = {name: partial(job, "export", work / "export", *flags) for name, (_, flags) in datasets.items()}
    times = rounds_of(arguments.rounds, cases)
    rows = {name: links_of(work / f"pairs-{name}")["kept"] for name in arguments.languages}
    net = ((name, median(less(times[name], times["start"]))) for name in rows)
    lines = [[name, rows[name], median(times[name]), round(rows[name] / time)] for name, time in net]
    report("export", table(["wiki", "rows of `pairs`", "CPU s", "rows of `pairs` / CPU s"], lines))


if __name__ == "__main__":
    run_parts(
        __doc__,
        {"pairs": compare_pairs, "mentions": compare_mentions, "export": compare_export},
        {
            "--languages": (["en", "uk"], "whose slices; `pairs` takes the first"),
            "--links": (3_000_000, "number of links of `pairs`, about; the others take a tenth"),
        },
    )
