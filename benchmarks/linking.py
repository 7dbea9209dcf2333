"""The speed of `wikianchor pairs` and `wikianchor mentions`.

    WIKIANCHOR_DATA=data python benchmarks/linking.py [pairs] [mentions]

Both read real sentences copied under new titles, and a stand-in for Wikidata that gives each title an item.

- `pairs`: links decided per CPU second of the whole job. "One type of 90 %": a single type has nine tenths of the
  items. "Without curation": by the options NO_CURATION. The lower bound reads the same columns and writes as many rows,
  sorted by a random key; the CPU above it is that of deciding. Target: 300,000 links decided per CPU second, and
  curation takes at most 1.15 times.
- `mentions`: MB of text per CPU second, less the start, which is the same command on the demo's wiki. Target: 5 times
  the speed of wikipedia2vec, which is in docs/explanation/studies/mentions-against-wikipedia2vec.md.
"""

import json
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lib.many_links import entities, many_sentences, open_dataset, sample
from lib.measure import fresh, job, less, ratio, report, rounds_of, run_parts, seconds, table
from results import machine

from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.dataset.reader import open_datasets, read_batches
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
        links[name] = next(iter(json.loads((output / "manifest.json").read_text())["ledger"]["links"].values()))
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
    lines: list[list[Any]] = []
    for name, column in times.items():
        counts, time = links.get(name, links[many]), median(column)
        against = ratio(column, times[bound]) if name == many else ""
        skew = ratio(column, times[many]) if name == single else ""
        ratios = [against, skew, ratio(column, times[raw]) if name == many else ""]
        lines.append([name, counts["seen"], counts["kept"], time, round(counts["seen"] / time), *ratios])
    head = ["job", "links", "kept", "CPU s", "links / CPU s", f"times {bound.removesuffix(' alone')}"]
    head += [f"times {many}", f"times {raw}"]
    targets = "Targets: 300,000 links decided per CPU second; a type at most 1.2 times, curation at most 1.15 times."
    report("pairs", f"{table(head, lines)}\n\n{targets} On {machine()}.")


def read_sort_write(rows: Path, pairs: Path) -> None:
    """Read the columns that `pairs` reads and write its rows again in a random order."""
    for _ in open_dataset(rows).batches("sentences", SENTENCE_COLUMNS):
        pass
    written = open_datasets(str(pairs), "pairs", pairs_schema.VERSION, "pairs")[0]
    directory = str(fresh(pairs.with_name("read-sort-write")))
    for number, shard in enumerate(written.shards("pairs")):
        batches = pa.Table.from_batches(list(read_batches(shard, pairs_schema.SCHEMA.names)))
        batches = batches.take(pa.array(np.argsort(mix(number, np.arange(batches.num_rows)))))
        with PartWriter(directory, "pairs", number, pairs_schema.SCHEMA, pairs_schema.REPEATING) as writer:
            for start in range(0, batches.num_rows, ROW_GROUP):
                writer.write(batches.slice(start, ROW_GROUP))


def compare_mentions(arguments: Namespace) -> None:
    """Print the MB of text that `mentions` reads in a CPU second."""
    work = arguments.work
    inputs = {name: many_sentences(work, name, arguments.links // 10) for name in arguments.languages}
    datasets = {name: (rows, entities(work, rows)) for name, rows in inputs.items()} | {"start": sample(work)}
    times = rounds_of(
        arguments.rounds,
        {
            name: partial(job, "mentions", work / "mentions", f"--sentences={rows}", f"--entities={items}")
            for name, (rows, items) in datasets.items()
        },
    )
    lines: list[list[Any]] = []
    for name, rows in inputs.items():
        texts = open_dataset(rows).batches("sentences", ["text"])
        size = sum(pc.sum(pc.binary_length(batch.column("text"))).as_py() or 0 for batch in texts) / 1e6
        lines.append([name, size, median(times[name]), size / median(less(times[name], times["start"]))])
    report("mentions", table(["wiki", "MB of text", "CPU s", "MB / CPU s, less the start"], lines))


if __name__ == "__main__":
    run_parts(
        __doc__,
        {"pairs": compare_pairs, "mentions": compare_mentions},
        {
            "--languages": (["en", "uk"], "whose slices; `pairs` takes the first"),
            "--links": (3_000_000, "number of links of `pairs`, about; `mentions` takes a tenth"),
        },
    )
