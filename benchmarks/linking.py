"""The speed of `wikianchor pairs` and `wikianchor mentions`, the names that `mentions` lacks, and how many held-out
links a name dictionary finds.

    WIKIANCHOR_DATA=data python benchmarks/linking.py [pairs] [mentions] [agreement] [recall]

- `pairs`: links decided per CPU second of the whole job, on real sentences copied under new titles and a stand-in for
  Wikidata that gives each title an item. "One type of 90 %": a single type has nine tenths of the items. The lower
  bound reads the same columns and writes as many rows, sorted by a random key; the CPU above it is that of deciding.
  Target: 300,000 links decided per CPU second.
- `mentions`: against wikipedia2vec's `build-mention-db` on the same text: the sentences of real slices, written out as
  a dump whose links lead to pages named like the items. User CPU of whole processes, less that for one page. Target:
  5 times the speed of wikipedia2vec.
- `agreement`: the names of pages that wikipedia2vec finds in a raw dump, and how many of them `mentions` lacks, from
  sentences alone and with regions of fragments. Every link target has a page and an item. wikipedia2vec takes [[bus]]es
  for the name bus; the last column leaves out what is missing because a reader sees the longer name.
- `recall`: a tenth of the pages is held out and the dictionary built from the rest. A link counts as found when its
  item is among the candidates of its page.
"""

from __future__ import annotations

import html
import json
import subprocess
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lib import generate, slices
from lib.many_links import ROW_GROUP, entities, head_of, multiplied, open_dataset
from lib.measure import fresh, job, less, parser, ratio, report, rounds_of, run, run_parts, seconds, table
from lib.tools import install

from wikianchor.aliases.folding import fold
from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.dataset.reader import Dataset, open_datasets, read_batches
from wikianchor.pipelines.mentions.anchors import Targets
from wikianchor.pipelines.pairs.steps import SENTENCE_COLUMNS
from wikianchor.pipelines.titles.title_build import build_title_index
from wikianchor.pipelines.titles.title_index import TitleIndex
from wikianchor.schemas import pairs as pairs_schema
from wikianchor.schemas import sentences, titles
from wikianchor.trainer.mboe.detector import detect
from wikianchor.trainer.mboe.dictionary import open_dictionary, open_mentions

# What makes wikipedia2vec leave nothing out, as we do.
ALL_WORDS = ("--min-word-count=1000000", "--min-entity-count=1", "--min-paragraph-len=0")
ALL_NAMES = ("--min-link-prob=0", "--min-prior-prob=0", "--max-mention-len=50", "--tokenizer=regexp")
Span = tuple[int, int, int]


def main() -> None:
    """Measure and print the tables."""
    flags = parser(__doc__, parts=list(PARTS))
    flags.add_argument("--languages", nargs="+", choices=sorted(slices.SLICES), help="whose slices (by part)")
    flags.add_argument("--links", type=int, default=3_000_000, help="smallest number of links, `pairs` (3000000)")
    flags.add_argument("--venvs", type=Path, default=Path("out/venvs"), help="where wikipedia2vec is installed")
    run_parts(PARTS, flags)


# ---------------------------------------------------------------------------------------------------------------- pairs


def compare_pairs(arguments: Namespace) -> None:
    """Print links per CPU second, with many types and with one, and of the lower bound."""
    work, output = arguments.work, arguments.work / "pairs"
    rows = multiplied(work, (arguments.languages or ["en"])[0], arguments.links)
    links: dict[str, dict[str, int]] = {}

    def pairs(name: str, dominant: float) -> float:
        time = job("pairs", output, f"--sentences={rows}", f"--entities={entities(work, rows, dominant)}")
        links[name] = next(iter(json.loads((output / "manifest.json").read_text())["ledger"]["links"].values()))
        return time

    many, single, bound = "many types", "one type of 90 %", "read, sort, write alone"
    cases: dict[str, Callable[[], float]] = {
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
        lines.append([name, counts["seen"], counts["kept"], time, round(counts["seen"] / time), against, skew])
    head = ["job", "links", "kept", "CPU s", "links / CPU s", "times read, sort, write", f"times {many}"]
    report("pairs", f"{table(head, lines)}\n\nTargets: 300,000 links decided per CPU second; at most 1.2 times.")


def read_sort_write(rows: Path, pairs: Path) -> None:
    """Read the columns that `pairs` reads and write its rows again in a random order."""
    for shard in open_dataset(rows).shards("sentences"):
        for _ in read_batches(shard, SENTENCE_COLUMNS):
            pass
    written = open_datasets(str(pairs), "pairs", pairs_schema.VERSION, "pairs")[0]
    directory = str(fresh(pairs.with_name("read-sort-write")))
    for number, shard in enumerate(written.shards("pairs")):
        batches = pa.Table.from_batches(list(read_batches(shard, pairs_schema.SCHEMA.names)))
        batches = batches.take(pa.array(np.argsort(mix(number, np.arange(batches.num_rows)))))
        with PartWriter(directory, "pairs", number, pairs_schema.SCHEMA, pairs_schema.REPEATING) as writer:
            for start in range(0, batches.num_rows, ROW_GROUP):
                writer.write(batches.slice(start, ROW_GROUP))


# ------------------------------------------------------------------------------------------------------------- mentions


def compare_mentions(arguments: Namespace) -> None:
    """Print the speed of `mentions` and wikipedia2vec on the same text."""
    work = arguments.work
    program = install(arguments.venvs, ["wikipedia2vec"])["wikipedia2vec"] / "bin/wikipedia2vec"
    rows: list[list[Any]] = []
    for language in arguments.languages or ("en", "uk"):
        many = open_dataset(multiplied(work, language, arguments.links // 10))
        items = entities(work, Path(many.directory))
        one = select(many, work / f"sentences-{language}-first", lambda pages: pages == pages[0])
        cases: dict[str, Callable[[], float]] = {}
        sizes = {}
        for name, dataset in (("", many), (", start", one)):
            database, dictionary, sizes[name] = prepare_wikipedia2vec(work, dataset, items, program)
            cases[f"ours{name}"] = partial(mentions, dataset, items, work / "mentions")
            cases[f"theirs{name}"] = partial(wikipedia2vec, program, database, dictionary)
        times = rounds_of(arguments.rounds, cases)
        ours, theirs = (less(times[name], times[f"{name}, start"]) for name in ("ours", "theirs"))
        size = sizes[""] - sizes[", start"]
        speeds = [value for time in (median(ours), median(theirs)) for value in (time, size / time)]
        rows.append([language, size, *speeds, ratio(theirs, ours), 5])
    head = ["wiki", "MB of text", "mentions, CPU s", "MB / CPU s", "wikipedia2vec, CPU s", "MB / CPU s"]
    report("mentions against wikipedia2vec", table([*head, "ratio", "target"], rows))


def mentions(dataset: Dataset, items: Path, output: Path) -> float:
    """Run `wikianchor mentions` and return its CPU."""
    return job("mentions", output, f"--sentences={dataset.directory}", f"--entities={items}")


def prepare_wikipedia2vec(work: Path, dataset: Dataset, items: Path, program: Path) -> tuple[Path, Path, float]:
    """Return wikipedia2vec's page database and dictionary of a dataset, and the MB of its text."""
    name = Path(dataset.directory).name
    dump, size = write_text_dump(dataset, items, work / f"{name}-text.xml")
    database, dictionary = (work / f"{name}-wikipedia2vec.{ending}" for ending in ("db", "dic"))
    for path in (database, dictionary):
        path.unlink(missing_ok=True)
    run([program, "build-dump-db", dump, database, "--pool-size=1"])
    run([program, "build-dictionary", database, dictionary, "--tokenizer=regexp", *ALL_WORDS, "--pool-size=1"])
    return database, dictionary, size


def wikipedia2vec(program: Path, database: Path, dictionary: Path) -> float:
    """Run `wikipedia2vec build-mention-db` and return its CPU."""
    output = database.with_suffix(".mentions")
    output.unlink(missing_ok=True)
    return run([program, "build-mention-db", database, dictionary, output, *ALL_NAMES, "--pool-size=1"]).user


def write_text_dump(dataset: Dataset, items: Path, path: Path) -> tuple[Path, float]:
    """Write the sentences as a dump that holds nothing else; return its path and the MB of text."""
    wiki = dataset.manifest["options"]["language"]
    size, qids = 0, set()
    with path.open("w", encoding="utf-8") as stream:
        stream.write(
            '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" '
            f'xml:lang="{wiki}">\n<siteinfo>\n<sitename>Wikipedia</sitename><dbname>{wiki}wiki</dbname>'
            f"<base>https://{wiki}.wikipedia.org/wiki/Main</base>\n"
            '<namespaces><namespace key="0" case="first-letter" /></namespaces>\n</siteinfo>\n'
        )
        for number, page in linked_pages(dataset, targets_of(dataset, items)):
            lines = []
            for text, links in page:
                size += len(text.encode())
                pieces, end = [], 0
                for start, stop, qid in links:
                    pieces += [escaped(text[end:start]), f"[[Q{qid}|{escaped(text[start:stop])}]]"]
                    end = stop
                    qids.add(qid)
                lines.append("".join([*pieces, escaped(text[end:])]))
            stream.write(page_xml(f"Page {number}", number, "\n\n".join(lines)))
        stream.writelines(page_xml(f"Q{qid}", 10**12 + qid, "Item.") for qid in sorted(qids))
        stream.write("</mediawiki>\n")
    run(["bzip2", "-f", "-k", path])
    return path.with_name(f"{path.name}.bz2"), size / 1e6


def escaped(text: str) -> str:
    """Return text as wikitext, with what could be markup as character references."""
    return "".join(f"&#{ord(letter)};" if letter in "[]{}<>&'=*#:;|~_-\"!\n" else letter for letter in text)


def page_xml(title: str, number: int, text: str) -> str:
    """Return a page of a dump."""
    return (
        f"<page><title>{html.escape(title)}</title><ns>0</ns><id>{number}</id><revision><id>{number}</id>"
        f'<text xml:space="preserve">{html.escape(text, quote=False)}</text></revision></page>\n'
    )


def select(dataset: Dataset, output: Path, keep: Callable[[Any], Any]) -> Dataset:
    """Write a dataset with the sentences of some pages, and all titles."""
    directory = generate.parts_of(fresh(output))
    parts: list[Any] = []
    for name, schema in (("sentences", sentences.SCHEMA), ("titles", titles.SCHEMA)):
        with PartWriter(directory, name, 0, schema) as writer:
            for batch in (batch for shard in dataset.shards(name) for batch in read_batches(shard, schema.names)):
                pages = batch.column("page_id").to_numpy()
                writer.write(batch.filter(pa.array(keep(pages))) if name == "sentences" else batch)
        parts.append(writer.part)
    generate.finish(output, parts, head_of(dataset))
    return open_dataset(output)


def targets_of(dataset: Dataset, items: Path) -> Targets:
    """Return the items of the links of a dataset, as `mentions` sees them but for items that are no things."""
    wiki = dataset.manifest["options"]["wiki"]
    directory = fresh(Path(f"{dataset.directory}-titles"))
    sitelinks = open_dataset(items, "entities").shards("sitelinks")
    path, _ = build_title_index(dataset.shards("titles"), sitelinks, wiki, str(directory))
    return Targets(TitleIndex(path), np.zeros(0, np.int64), False)


def linked_pages(dataset: Dataset, targets: Targets) -> Iterator[tuple[int, list[tuple[str, list[Span]]]]]:
    """Yield (page id, its sentences), each sentence with (start, end, item) of its links that lead to one."""
    for page, group in groupby(linked_sentences(dataset, targets), key=itemgetter(0)):
        yield page, [(text, spans) for _, text, spans in group]


def linked_sentences(dataset: Dataset, targets: Targets) -> Iterable[tuple[int, str, list[Span]]]:
    """Yield (page id, text, links) of each sentence."""
    columns = ["page_id", "text", "links.list.element.start", "links.list.element.end"]
    for shard in dataset.shards("sentences"):
        items, _ = targets.of_links(shard)
        for batch in read_batches(shard, columns):
            flat = batch.column("links").flatten()
            spans = list(
                zip(*(flat.field(name).to_pylist() for name in ("start", "end")), items.tolist(), strict=False)
            )
            items = items[len(flat) :]
            ends = np.append(0, np.cumsum(pc.list_value_length(batch.column("links")).to_numpy()))
            texts = zip(batch.column("page_id").to_pylist(), batch.column("text").to_pylist(), strict=True)
            for row, (number, text) in enumerate(texts):
                yield number, text, [span for span in spans[ends[row] : ends[row + 1]] if span[2] > 0]


# ------------------------------------------------------------------------------------------------------------ agreement


# Prints each name with the title of its page.
PRINT_NAMES = """
import json, sys
from wikipedia2vec.dictionary import Dictionary
from wikipedia2vec.mention_db import MentionDB
for mention in MentionDB.load(sys.argv[1], Dictionary.load(sys.argv[2])):
    print(json.dumps([mention.text, mention.entity.title]))
"""
# Datasets and regions that are compared.
TEXTS = {
    "sentences alone": ("--no-fragments", "lead,body,list"),
    "with fragments": ("--fragments", "lead,body,list"),
    "and back matter": ("--fragments", "lead,body,list,back_matter"),
    "by default": ("--fragments", "lead,body,list,back_matter,disambiguation,table,caption"),
}


def compare_agreement(arguments: Namespace) -> None:
    """Print how many of the names that wikipedia2vec finds in a dump are missing."""
    work = arguments.work
    python = install(arguments.venvs, ["wikipedia2vec"])["wikipedia2vec"] / "bin/python"
    rows: list[list[Any]] = []
    for language in arguments.languages or ("en", "ja", "uk"):
        dump = slices.dump(work, language, stubs=True)
        theirs = names_of_wikipedia2vec(python, dump, work)
        row: list[Any] = [language]
        for flag, regions in TEXTS.values():
            output = work / f"sentences-{language}-stubs{flag}"
            if not (output / "manifest.json").exists():
                job("sentences", output, f"--dumps={dump}", flag)
            names = work / f"mentions-{language}-stubs"
            flags = (f"--sentences={output}", f"--entities={entities(work, output)}", f"--regions={regions}")
            job("mentions", names, *flags)
            ours = names_of_mentions(names, entities(work, output))
            articles = articles_of(open_dataset(output))
            wanted = {(name, title) for name, title in theirs if title in articles}
            missing = wanted - ours
            row = [*(row if len(row) > 1 else (language, len(wanted))), 100 * len(missing) / len(wanted)]
        rows.append([*row, 100 * len(missing - beginnings(missing, ours)) / len(wanted), len(ours)])
    head = [
        "wiki",
        "names of wikipedia2vec",
        *(f"% missing, {text}" for text in TEXTS),
        "% without trails",
        "our names",
    ]
    report("mentions: names of the raw dump", table(head, rows))


Name = tuple[str, str]


def names_of_mentions(names: Path, items: Path) -> set[Name]:
    """Return the folded names of links in a dataset `mentions`, each with the title of its page."""
    titles_of = {
        row["qid"]: row["title"]
        for shard in open_dataset(items, "entities").shards("sitelinks")
        for batch in read_batches(shard, ["qid", "title"])
        for row in batch.to_pylist()
    }
    return {
        (row["key"], titles_of[row["qid"]])
        for shard in open_dataset(names, "mentions").shards("mentions")
        for batch in read_batches(shard, ["key", "qid", "links"])
        for row in batch.filter(pc.greater(batch.column("links"), 0)).to_pylist()
    }


def beginnings(missing: set[Name], ours: set[Name]) -> set[Name]:
    """Return the names that become one of ours for the same page by letters at their end."""
    keys: dict[str, list[str]] = {}
    for key, title in ours:
        keys.setdefault(title, []).append(key)
    return {
        (name, title)
        for name, title in missing
        if any(key.startswith(name) and " " not in key[len(name) :] for key in keys.get(title, ()))
    }


def articles_of(dataset: Dataset) -> set[str]:
    """Return the titles of articles; disambiguation pages and lists are no entities."""
    return {
        row["title"]
        for shard in dataset.shards("titles")
        for batch in read_batches(shard, ["title", "redirect", "flags"])
        for row in batch.to_pylist()
        if row["redirect"] is None and not row["flags"]
    }


def names_of_wikipedia2vec(python: Path, dump: Path, work: Path) -> set[Name]:
    """Return the folded names, each with the title of its page, that wikipedia2vec finds in a dump."""
    program = python.with_name("wikipedia2vec")
    database, dictionary, names = (work / f"{dump.name}.wikipedia2vec.{ending}" for ending in ("db", "dic", "mentions"))
    for path in (database, dictionary, names):
        path.unlink(missing_ok=True)
    run([program, "build-dump-db", dump, database, "--pool-size=1"])
    run([program, "build-dictionary", database, dictionary, "--tokenizer=regexp", *ALL_WORDS, "--pool-size=1"])
    run([program, "build-mention-db", database, dictionary, names, *ALL_NAMES, "--pool-size=1"])
    printed = subprocess.run([python, "-c", PRINT_NAMES, names, dictionary], check=True, capture_output=True, text=True)
    pairs = map(json.loads, printed.stdout.splitlines())
    return {(fold(name), title) for name, title in pairs if name.strip()}


# --------------------------------------------------------------------------------------------------------------- recall


def compare_recall(arguments: Namespace) -> None:
    """Print which links of held-out pages are found."""
    names = arguments.languages or ("en", "uk", "el", "de", "bn")
    rows = [recall(arguments.work, name, spans) for name in names for spans in (False, True)]
    head = ["wiki, spans", "links held out", "% with a name known", "% found", "candidates of a page", "for each link"]
    report("mentions: recall of held-out links", table(head, rows))


def recall(work: Path, language: str, all_spans: bool) -> list[Any]:
    """Return the row of a wiki: links of held-out pages whose item is among the candidates of the page."""
    dataset = open_dataset(multiplied(work, language))
    items = entities(work, Path(dataset.directory))
    seen = select(dataset, work / f"sentences-{language}-seen", lambda pages: ~held_out(pages))
    output = work / f"mentions-{language}-seen"
    mentions(seen, items, output)
    dictionary = open_dictionary(open_mentions(str(output)), language, str(work / "dictionaries"))
    names = {
        fold(name)
        for shard in open_dataset(output, "mentions").shards("candidates")
        for batch in read_batches(shard, ["key"])
        for name in batch.column("key").to_pylist()
    }
    links = known = matched = candidates = pages = 0
    for number, page in linked_pages(dataset, targets_of(dataset, items)):
        if not held_out(np.array([number]))[0]:
            continue
        detected = detect("\n".join(text for text, _ in page), dictionary, all_spans)
        bag = set(detected.qids.tolist())
        pages, candidates = pages + 1, candidates + len(detected.qids)
        for text, spans in page:
            links += len(spans)
            known += sum(fold(text[start:end]) in names for start, end, _ in spans)
            matched += sum(qid in bag for *_, qid in spans)
    shares = [100 * known / links, 100 * matched / links, candidates / pages, candidates / links]
    return [f"{language}, {'all' if all_spans else 'longest'}", links, *shares]


def held_out(pages: Any) -> Any:
    """Return whether pages are in the held-out tenth."""
    return mix(1, pages) % np.uint64(10) == 0


PARTS: dict[str, Callable[[Namespace], None]] = {
    "pairs": compare_pairs,
    "mentions": compare_mentions,
    "agreement": compare_agreement,
    "recall": compare_recall,
}

if __name__ == "__main__":
    main()
