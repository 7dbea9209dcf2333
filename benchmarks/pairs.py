"""Links decided per CPU second of the whole `wikianchor pairs` job, on several million links.

    WIKIANCHOR_DATA=data python benchmarks/pairs.py
    WIKIANCHOR_DATA=data python benchmarks/pairs.py --steps

`sentences` reads the real slices of a language; its rows are then copied under new titles (a quarter of a copy's links
lead to the copy of their target), every link target gets a title, and a stand-in of Wikidata gives each title an item.
The job is run as a process on two such stand-ins, one whose types share the items unevenly and one where a single type
has nine tenths of them: the ratio shows what skew costs. The limit it is compared with is to read the columns that are
needed and write as many rows of the same columns, sorted by a random key, deciding nothing. What the job costs above
that is what it costs to decide, start-up and title index included; the target for it is 300,000 links per CPU second.
`--steps` profiles the job in this process instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import generate
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import slices
from measure import fresh, parser, ratio, report, rounds_of, run, seconds, table, wikianchor
from sampling import sample

from wikianchor.pipelines.arrays.hashing import hash_strings, mix
from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.dataset.reader import Dataset, open_datasets, read_batches
from wikianchor.pipelines.pairs.steps import SENTENCE_COLUMNS
from wikianchor.schemas import pairs as pairs_schema
from wikianchor.schemas import sentences, titles

ROW_GROUP = 20_000
SHARD_COPIES = 4
FLAT, DOMINANT = "many types", "one type of 90 %"


def main() -> None:
    """Measure and print a table."""
    flags = parser(__doc__)
    flags.add_argument("--language", default="en", choices=sorted(slices.SLICES), help="whose slices (en)")
    flags.add_argument("--links", type=int, default=3_000_000, help="links at least (3000000)")
    flags.add_argument("--steps", action="store_true", help="print where the time goes")
    arguments = flags.parse_args()
    work: Path = arguments.work
    rows = multiplied(work, arguments.language, arguments.links)
    items = {name: entities(work, rows, dominant) for name, dominant in ((FLAT, 0.0), (DOMINANT, 0.9))}
    output = work / "pairs"
    if arguments.steps:
        profile(rows, items[FLAT], output)
        return
    cases: dict[str, Callable[[], float]] = {}
    ledgers: dict[str, dict[str, int]] = {}

    def job(name: str) -> float:
        flags = [f"--sentences={rows}", f"--entities={items[name]}", f"--output={fresh(output)}"]
        time = run(wikianchor("pairs", *flags)).user
        ledgers[name] = next(iter(json.loads((output / "manifest.json").read_text())["ledger"]["links"].values()))
        return time

    cases[FLAT] = lambda: job(FLAT)
    cases["read, sort, write"] = lambda: seconds(lambda: limit(rows, output))
    cases[DOMINANT] = lambda: job(DOMINANT)
    found = rounds_of(arguments.rounds, cases)
    rows_of_table: list[list[Any]] = []
    for name in (FLAT, DOMINANT):
        seen, kept = ledgers[name]["seen"], ledgers[name]["kept"]
        time = median(found[name])
        against = ratio(found[name], found["read, sort, write"]) if name == FLAT else ""
        rows_of_table.append([name, seen, kept, time, round(seen / time), against, ratio(found[name], found[FLAT])])
    bare = median(found["read, sort, write"])
    seen = ledgers[FLAT]["seen"]
    rows_of_table.append(["read, sort, write alone", seen, ledgers[FLAT]["kept"], bare, round(seen / bare), "", ""])
    rest = median(job - one for job, one in zip(found[FLAT], found["read, sort, write"], strict=True))
    rows_of_table.append(["many types, less that", seen, ledgers[FLAT]["kept"], rest, round(seen / rest), "", ""])
    head = ["job", "links", "kept", "CPU s", "links / CPU s", "times read, sort, write", f"times {FLAT}"]
    report("pairs", table(head, rows_of_table) + "\n\nTarget for deciding: at least 300,000 links per CPU second.")


def multiplied(work: Path, language: str, links: int) -> Path:
    """Return a dataset `sentences` with at least so many links, made unless it is there."""
    output = work / f"sentences-{language}-{links}"
    if (output / "manifest.json").exists():
        return output
    base = work / f"sentences-{language}"
    if not (base / "manifest.json").exists():
        run(wikianchor("sentences", f"--dumps={slices.dump(work, language)}", f"--output={base}"))
    dataset = open_datasets(str(base), "sentences", sentences.VERSION, "sentences")[0]
    batches = {name: _whole(dataset, name) for name in ("sentences", "titles")}
    copies = -(-links // len(batches["sentences"].column("links").flatten()))
    directory = generate.parts_of(output)
    parts = []
    for shard, first in enumerate(range(0, copies, SHARD_COPIES)):
        with (
            PartWriter(directory, "sentences", shard, sentences.SCHEMA) as rows,
            PartWriter(directory, "titles", shard, titles.SCHEMA) as names,
        ):
            for number in range(first, min(first + SHARD_COPIES, copies)):
                _write_copy(batches, number, rows, names)
        parts += [writer.part for writer in (rows, names)]
    head = {name: value for name, value in dataset.manifest.items() if name != "configs"}
    generate.finish(output, parts, head)
    return output


def _whole(dataset: Dataset, name: str) -> pa.RecordBatch:
    columns = (sentences if name == "sentences" else titles).SCHEMA.names
    batches = [batch for shard in dataset.shards(name) for batch in read_batches(shard, columns)]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _write_copy(batches: dict[str, pa.RecordBatch], number: int, rows: PartWriter, names: PartWriter) -> None:
    """Write a copy of all sentences and titles, and a title for each link target that has none."""
    sentence, title = batches["sentences"], batches["titles"]
    shift = number * 10 ** len(str(2 * pc.max(title.column("page_id")).as_py() + 10_000_000))
    links = sentence.column("links")
    flat = links.flatten()
    pages = sentence.column("page_id").to_numpy()[pc.list_parent_indices(links).to_numpy()]
    targets = _renamed(flat.field("target"), pages, number)
    members = [flat.field(field.name) if field.name != "target" else targets for field in links.type.value_type]
    struct = pa.StructArray.from_arrays(members, fields=list(links.type.value_type))
    moved = _moved(sentence, shift, number)
    moved["links"] = pa.ListArray.from_arrays(links.offsets, struct, type=links.type)
    for start in range(0, sentence.num_rows, ROW_GROUP):
        rows.write(_batch(moved, sentences.SCHEMA).slice(start, ROW_GROUP))

    anywhere = title.column("links")
    pages = title.column("page_id").to_numpy()[pc.list_parent_indices(anywhere).to_numpy()]
    linked = _renamed(anywhere.flatten(), pages, number)
    moved = _moved(title, shift, number)
    moved["redirect"] = _suffixed(title.column("redirect"), number)
    moved["links"] = pa.ListArray.from_arrays(anywhere.offsets, linked, type=anywhere.type)
    names.write(_batch(moved, titles.SCHEMA))
    if number:
        linked = linked.filter(pc.ends_with(linked, _suffix(number)))
    missing = pc.unique(linked)
    missing = missing.filter(pc.invert(pc.is_in(missing, value_set=moved["title"])))
    count = len(missing)
    ids = pa.array(np.arange(count) + shift + int(pc.max(title.column("page_id")).as_py()) + 1)
    nothing = pa.array([[]] * count, titles.SCHEMA.field("links").type)
    stubs = {
        "wiki": pa.repeat(title.column("wiki")[0], count),
        "title": missing,
        "page_id": ids,
        "rev_id": ids,
        "redirect": pa.nulls(count, pa.string()),
        "redirect_fragment": pa.nulls(count, pa.string()),
        "flags": nothing.cast(titles.SCHEMA.field("flags").type),
        "links": nothing,
    }
    names.write(_batch(stubs, titles.SCHEMA))


def _suffix(number: int) -> str:
    return f" ({number})"


def _suffixed(texts: pa.Array, number: int) -> pa.Array:
    return pc.binary_join_element_wise(texts, _suffix(number), "") if number else texts


def _renamed(targets: pa.Array, pages: Any, number: int) -> pa.Array:
    """Lead a quarter of the links of a copy to the copy of their target, by a hash of page and target."""
    if not number:
        return targets
    own = mix(number, pages, hash_strings(targets).view(np.int64)) % np.uint64(4) == 0
    return pc.if_else(pa.array(own), _suffixed(targets, number), targets)


def _moved(batch: pa.RecordBatch, shift: int, number: int) -> dict[str, pa.Array]:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    for name in ("page_id", "rev_id"):
        columns[name] = pc.add(columns[name], shift)
    columns["title"] = _suffixed(columns["title"], number)
    if number and "text" in columns:
        # The same sentence twice is a duplicate to the job.
        columns["text"] = pc.binary_join_element_wise(columns["text"], f" Copy {_word(number)}.", "")
    return columns


def _word(number: int) -> str:
    """Return a number in letters: the job takes digits for alike."""
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


def _batch(columns: dict[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def entities(work: Path, rows: Path, dominant: float) -> Path:
    """Return the dataset `entities` for the titles of a dataset, made unless it is there."""
    output = work / f"entities-{rows.name}-{dominant:g}"
    if (output / "manifest.json").exists():
        return output
    dataset = open_datasets(str(rows), "sentences", sentences.VERSION, "sentences")[0]
    wiki = dataset.manifest["options"]["wiki"]
    found = (
        (wiki, name, 0)
        for shard in dataset.shards("titles")
        for batch in read_batches(shard, ["title", "redirect"])
        for name in batch.filter(batch.column("redirect").is_null()).column("title").to_pylist()
    )
    wikidata = work / f"wikidata-{rows.name}-{dominant:g}.json"
    generate.write_items(generate.items_of(found), wikidata, dominant)
    run(wikianchor("entities", f"--wikidata={wikidata}", f"--wikis={wiki}", f"--output={output}"))
    wikidata.unlink()
    return output


def limit(rows: Path, pairs: Path) -> None:
    """Read what the job reads and write rows like those it wrote, in an order that is random to what is read."""
    dataset = open_datasets(str(rows), "sentences", sentences.VERSION, "sentences")[0]
    for shard in dataset.shards("sentences"):
        for _ in read_batches(shard, SENTENCE_COLUMNS):
            pass
    written = open_datasets(str(pairs), "pairs", pairs_schema.VERSION, "pairs")[0]
    directory = str(fresh(pairs.with_name("limit")))
    for number, shard in enumerate(written.shards("pairs")):
        table = pa.Table.from_batches(list(read_batches(shard, pairs_schema.SCHEMA.names)))
        keys = mix(number, np.arange(table.num_rows))
        table = table.take(pa.array(np.argsort(keys)))
        with PartWriter(directory, "pairs", number, pairs_schema.SCHEMA, pairs_schema.REPEATING) as writer:
            for start in range(0, table.num_rows, ROW_GROUP):
                writer.write(table.slice(start, ROW_GROUP))


def profile(rows: Path, items: Path, output: Path) -> None:
    """Profile the job in this process, by function and by line."""
    from wikianchor.pipelines.cli.command_line import main as command

    flags = ["pairs", f"--sentences={rows}", f"--entities={items}", f"--output={fresh(output)}"]
    found = sample(lambda: command(flags))
    for name, counted in (("function", found.functions), ("line", found.lines)):
        costly = sorted(counted.items(), key=lambda pair: -pair[1])[:25]
        shares = [[place, time, 100 * time / found.total()] for place, time in costly]
        report(f"pairs by {name}, with what it calls", table([name, "CPU s", "% of the job"], shares))


if __name__ == "__main__":
    main()
