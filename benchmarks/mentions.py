"""`wikianchor mentions` against wikipedia2vec's mention dictionary: how fast, on which names they agree, and what the
dictionary finds.

    WIKIANCHOR_DATA=data python benchmarks/mentions.py --venvs=out/venvs

Both read the same text: the sentences of real slices, written out again as a dump for wikipedia2vec, a page for a page,
its links leading to pages named like the items. What is timed is `wikipedia2vec build-mention-db` and
`wikianchor mentions`, user CPU of whole processes, less what each takes for a dataset of one page. The target is five
times its speed.

Where definitions coincide (links with a name to an item, hence commonness), names must be equal in 99 per cent; what
differs is told by class.

Recall: a tenth of the pages is held out, the dictionary built from the rest, and looked for is each link's item among
the candidates of its page.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import generate
import numpy as np
import pairs
import pyarrow as pa
import pyarrow.compute as pc
import slices
from measure import fresh, parser, ratio, report, rounds_of, run, table, wikianchor
from sentences import install

from wikianchor.aliases.folding import fold
from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.dataset.reader import Dataset, open_datasets, read_batches
from wikianchor.pipelines.mentions.anchors import Targets
from wikianchor.pipelines.titles.title_build import build_title_index
from wikianchor.pipelines.titles.title_index import TitleIndex
from wikianchor.schemas import entities as entities_schema
from wikianchor.schemas import mentions as mentions_schema
from wikianchor.schemas import sentences, titles
from wikianchor.trainer.mboe.detector import detect
from wikianchor.trainer.mboe.dictionary import open_dictionary, open_mentions

LONGEST = 50
HELD_OUT = 10
# What wikipedia2vec needs to do the same: nothing left out.
ALL_WORDS = ("--min-word-count=1000000", "--min-entity-count=1", "--min-paragraph-len=0")
ALL_NAMES = ("--min-link-prob=0", "--min-prior-prob=0", f"--max-mention-len={LONGEST}", "--tokenizer=regexp")
PRINT = """
import json, sys
from wikipedia2vec.dictionary import Dictionary
from wikipedia2vec.mention_db import MentionDB
dictionary = Dictionary.load(sys.argv[2])
for mention in MentionDB.load(sys.argv[1], dictionary):
    print(json.dumps([mention.text, mention.entity.title, mention.link_count, mention.doc_count]))
"""


def main() -> None:
    """Measure and print the tables."""
    flags = parser(__doc__)
    flags.add_argument("--languages", nargs="*", default=["en", "uk", "el", "de", "bn"], choices=sorted(slices.SLICES))
    flags.add_argument("--timed", nargs="*", default=["en", "uk"], help="languages that are timed (en uk)")
    flags.add_argument("--links", type=int, default=300_000, help="links of the datasets that are timed (300000)")
    flags.add_argument("--venvs", type=Path, default=Path("out/venvs"), help="where wikipedia2vec is installed")
    arguments = flags.parse_args()
    work: Path = arguments.work
    tools, missing = install(arguments.venvs)
    if "wikipedia2vec" not in tools:
        raise SystemExit(f"wikipedia2vec cannot be installed: {missing['wikipedia2vec']}")
    program = tools["wikipedia2vec"]
    if arguments.timed:
        rows = [speed(arguments, language, program) for language in arguments.timed]
        head = [
            "wiki",
            "MB of text",
            "mentions, CPU s",
            "MB / CPU s",
            "wikipedia2vec, CPU s",
            "MB / CPU s",
            "ratio",
            "target",
        ]
        report("mentions against wikipedia2vec", table(head, rows))
    if not arguments.languages:
        return
    rows, classes = [], Counter[str]()
    for language in arguments.languages:
        row, found = agreement(work, language, program)
        rows.append(row)
        classes.update(found)
    head = ["wiki", "names of both", "equal", "% equal", "differ, all told", "of wikipedia2vec alone", "of ours alone"]
    told = "\n".join(f"- {name}: {number:,}" for name, number in classes.most_common())
    report("mentions: agreement with wikipedia2vec", f"{table(head, rows)}\n\nDifferences by class:\n\n{told}")
    rows = [recall(work, language, spans) for language in arguments.languages for spans in (False, True)]
    head = ["wiki, spans", "links held out", "% with a name known", "% found", "candidates of a page", "for each link"]
    report("mentions: recall of held-out links", table(head, rows))


def sliced(work: Path, language: str) -> Dataset:
    """Return the sentences of a language's slices, made unless they are there."""
    output = work / f"sentences-{language}"
    if not (output / "manifest.json").exists():
        run(wikianchor("sentences", f"--dumps={slices.dump(work, language)}", f"--output={output}"))
    return opened(output)


def opened(path: Path, name: str = "sentences") -> Dataset:
    """Open one of our datasets."""
    version = {"sentences": sentences, "entities": entities_schema, "mentions": mentions_schema}[name].VERSION
    return open_datasets(str(path), name, version, name)[0]


def with_targets(work: Path, dataset: Dataset) -> Dataset:
    """Return the same with a title for each link target that has none, so that all links lead somewhere."""
    output = work / f"{Path(dataset.directory).name}-with-targets"
    if not (output / "manifest.json").exists():
        with (
            PartWriter(generate.parts_of(output), "sentences", 0, sentences.SCHEMA) as rows,
            PartWriter(generate.parts_of(output), "titles", 0, titles.SCHEMA) as names,
        ):
            pairs._write_copy({name: pairs._whole(dataset, name) for name in ("sentences", "titles")}, 0, rows, names)
        generate.finish(
            output, [rows.part, names.part], {key: value for key, value in dataset.manifest.items() if key != "configs"}
        )
    return opened(output)


def select(dataset: Dataset, output: Path, keep: Callable[[Any], Any]) -> Path:
    """Write a dataset with the sentences of some pages, and all titles."""
    fresh(output)
    with PartWriter(generate.parts_of(output), "sentences", 0, sentences.SCHEMA) as rows:
        for shard in dataset.shards("sentences"):
            for batch in read_batches(shard, sentences.SCHEMA.names):
                rows.write(batch.filter(pa.array(keep(batch.column("page_id").to_numpy()))))
    with PartWriter(generate.parts_of(output), "titles", 0, titles.SCHEMA) as names:
        for shard in dataset.shards("titles"):
            for batch in read_batches(shard, titles.SCHEMA.names):
                names.write(batch)
    generate.finish(
        output, [rows.part, names.part], {key: value for key, value in dataset.manifest.items() if key != "configs"}
    )
    return output


def held_out(pages: Any) -> Any:
    """Whether pages are of the tenth that the dictionary does not see."""
    return mix(1, pages) % np.uint64(HELD_OUT) == 0


def targets_of(dataset: Dataset, items: Path) -> Targets:
    """Return what the links of a dataset lead to, as `mentions` sees it but for items that are no things."""
    wiki = dataset.manifest["options"]["wiki"]
    sitelinks = opened(items, "entities").shards("sitelinks")
    # The table is read as long as it is asked.
    place = fresh(Path(f"{dataset.directory}-titles"))
    path, _ = build_title_index(dataset.shards("titles"), sitelinks, wiki, str(place))
    return Targets(TitleIndex(path), np.zeros(0, np.int64), False)


def pages_of(dataset: Dataset, targets: Targets) -> Iterable[tuple[int, list[tuple[str, list[tuple[int, int, int]]]]]]:
    """Yield pages: their sentences, each with (start, end, item) of its links that lead to one."""
    columns = ["page_id", "text", "links.list.element.start", "links.list.element.end"]
    page = -1
    held: list[tuple[str, list[tuple[int, int, int]]]] = []
    for shard in dataset.shards("sentences"):
        leads_to, _ = targets.of_links(shard)
        for batch in read_batches(shard, columns):
            links = batch.column("links")
            flat = links.flatten()
            items, leads_to = leads_to[: len(flat)], leads_to[len(flat) :]
            ends = np.append(0, np.cumsum(pc.list_value_length(links).to_numpy()))
            spans = list(
                zip(flat.field("start").to_pylist(), flat.field("end").to_pylist(), items.tolist(), strict=True)
            )
            for row, (number, text) in enumerate(
                zip(batch.column("page_id").to_pylist(), batch.column("text").to_pylist(), strict=True)
            ):
                if number != page and held:
                    yield page, held
                    held = []
                page = number
                held.append((text, [span for span in spans[ends[row] : ends[row + 1]] if span[2] > 0]))
    if held:
        yield page, held


def write_text_dump(dataset: Dataset, items: Path, path: Path) -> tuple[Path, float]:
    """Write the sentences as a dump whose wikitext says them and nothing else; return it and the megabytes of text."""
    head = (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="{0}">\n<siteinfo>\n'
        "<sitename>Wikipedia</sitename><dbname>{0}wiki</dbname><base>https://{0}.wikipedia.org/wiki/Main</base>\n"
        '<namespaces><namespace key="0" case="first-letter" /></namespaces>\n</siteinfo>\n'
    )
    size, qids = 0, set()
    with path.open("w", encoding="utf-8") as stream:
        stream.write(head.format(dataset.manifest["options"]["language"]))
        for number, page in pages_of(dataset, targets_of(dataset, items)):
            lines = []
            for text, links in page:
                size += len(text.encode())
                pieces, end = [], 0
                for start, stop, qid in links:
                    pieces += [escaped(text[end:start]), f"[[Q{qid}|{escaped(text[start:stop])}]]"]
                    end = stop
                    qids.add(qid)
                lines.append("".join([*pieces, escaped(text[end:])]))
            stream.write(_page(f"Page {number}", number, "\n\n".join(lines)))
        for qid in sorted(qids):
            stream.write(_page(f"Q{qid}", 10**12 + qid, "Item."))
        stream.write("</mediawiki>\n")
    run(["bzip2", "-f", "-k", path])
    return path.with_name(f"{path.name}.bz2"), size / 1e6


def escaped(text: str) -> str:
    """Return text as wikitext that means nothing else: what could be markup as an entity."""
    return "".join(f"&#{ord(letter)};" if letter in "[]{}<>&'=*#:;|~_-\"!\n" else letter for letter in text)


def _page(title: str, number: int, text: str) -> str:
    return (
        f"<page><title>{html.escape(title)}</title><ns>0</ns><id>{number}</id><revision><id>{number}</id>"
        f'<text xml:space="preserve">{html.escape(text, quote=False)}</text></revision></page>\n'
    )


def prepared(work: Path, dataset: Dataset, items: Path, program: Path) -> tuple[Path, Path, float]:
    """Return wikipedia2vec's page database and dictionary of a dataset, and the megabytes of its text."""
    name = Path(dataset.directory).name
    dump, size = write_text_dump(dataset, items, work / f"{name}-text.xml")
    database, dictionary = (work / f"{name}-wikipedia2vec.{ending}" for ending in ("db", "dic"))
    for path in (database, dictionary):
        path.unlink(missing_ok=True)
    command = [program.with_name("wikipedia2vec")]
    run([*command, "build-dump-db", dump, database, "--pool-size=1"])
    run([*command, "build-dictionary", database, dictionary, "--tokenizer=regexp", *ALL_WORDS, "--pool-size=1"])
    return database, dictionary, size


def theirs(program: Path, database: Path, dictionary: Path, output: Path) -> float:
    """Run wikipedia2vec and return its CPU."""
    output.unlink(missing_ok=True)
    flags = [*ALL_NAMES, "--pool-size=1"]
    return run([program.with_name("wikipedia2vec"), "build-mention-db", database, dictionary, output, *flags]).user


def ours(dataset: Dataset, items: Path, output: Path) -> float:
    """Run our job and return its CPU."""
    command = [f"--sentences={dataset.directory}", f"--entities={items}", f"--output={fresh(output)}"]
    return run(wikianchor("mentions", *command)).user


def speed(arguments: Any, language: str, program: Path) -> list[Any]:
    """Return the row of a wiki: both jobs on the same text, less what they take to start."""
    work: Path = arguments.work
    sliced(work, language)
    many = opened(pairs.multiplied(work, language, arguments.links))
    one = opened(select(many, work / f"sentences-{language}-first", lambda pages: pages == pages[0]))
    cases: dict[str, Callable[[], float]] = {}
    sizes = {}
    for name, dataset in (("", many), (", start", one)):
        items = pairs.entities(work, Path(many.directory), 0.0)
        database, dictionary, sizes[name] = prepared(work, dataset, items, program)
        cases[f"ours{name}"] = partial(ours, dataset, items, work / "mentions")
        cases[f"theirs{name}"] = partial(theirs, program, database, dictionary, work / "mentions-wikipedia2vec")
    found = rounds_of(arguments.rounds, cases)
    net = {
        name: [time - start for time, start in zip(found[name], found[f"{name}, start"], strict=True)]
        for name in ("ours", "theirs")
    }
    size = sizes[""] - sizes[", start"]
    own, other = median(net["ours"]), median(net["theirs"])
    return [language, size, own, size / own, other, size / other, ratio(net["theirs"], net["ours"]), 5]


def agreement(work: Path, language: str, program: Path) -> tuple[list[Any], Counter[str]]:
    """Return the row of a wiki, and the names that differ by class."""
    dataset = with_targets(work, sliced(work, language))
    items = pairs.entities(work, Path(dataset.directory), 0.0)
    database, dictionary, _ = prepared(work, dataset, items, program)
    saved = work / "mentions-wikipedia2vec"
    theirs(program, database, dictionary, saved)
    printed = subprocess.run(
        [program, "-c", PRINT, saved, dictionary], capture_output=True, text=True, check=True
    ).stdout
    output = work / f"mentions-{language}"
    ours(dataset, items, output)
    their: dict[str, dict[int, int]] = {}
    for line in printed.splitlines():
        name, title, links, _ = json.loads(line)
        their.setdefault(name, {})[int(title[1:])] = links
    own: dict[str, dict[int, int]] = {}
    for shard in opened(output, "mentions").shards("mentions"):
        for batch in read_batches(shard, ["key", "qid", "links"]):
            for key, qid, links in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if links:
                    own.setdefault(key, {})[qid] = links
    return compare(language, their, own, dataset, items)


def compare(
    language: str, their: Mapping[str, dict[int, int]], own: Mapping[str, dict[int, int]], dataset: Dataset, items: Path
) -> tuple[list[Any], Counter[str]]:
    """Compare names: equal where both have the same items with the same number of links."""
    classes = Counter[str]()
    joined: dict[str, list[str]] = {}
    for name in their:
        joined.setdefault(fold(name), []).append(name)
    meta = meta_items(items)
    equal = both = alone = 0
    for key, names in joined.items():
        sums = Counter[int]()
        for name in names:
            sums.update(their[name])
        found = own.get(key)
        if found is None:
            alone += 1
            classes["wikipedia2vec alone: " + why_alone(key, sums, meta)] += 1
            continue
        both += 1
        if len(names) == 1 and their[names[0]] == found:
            equal += 1
        elif dict(sums) == found:
            classes["differ: names that folding makes one (apostrophes, dashes, final sigma)"] += 1
        elif {qid: count for qid, count in sums.items() if qid not in meta} == found:
            classes["differ: items that are no things of the world, which we leave out"] += 1
        elif all(sums[qid] <= count for qid, count in found.items()):
            classes["differ: we count more, of a name that wikipedia2vec's dropped variants fold to"] += 1
        else:
            classes["differ: unexplained"] += 1
    only_ours = [key for key in own if key not in joined]
    lost, cut = lost_names(dataset, items)
    for key in only_ours:
        classes["ours alone: " + why_ours(key, lost, cut)] += 1
    share = 100 * equal / max(1, both)
    return [language, both, equal, share, both - equal, alone, len(only_ours)], classes


def why_alone(key: str, items: Mapping[int, int], meta: set[int]) -> str:
    """Return why we have not a name that wikipedia2vec has."""
    if len(key) > LONGEST:
        return "longer than we take"
    return "items that are no things of the world" if set(items) <= meta else "unexplained"


def lost_names(dataset: Dataset, items: Path) -> tuple[set[str], set[str]]:
    """Return the names that are links only on pages which grow when lower-cased, so that wikipedia2vec's places
    in them are wrong; and those that never begin and end where a word does."""
    safe, every, whole = set[str](), set[str](), set[str]()
    for _, page in pages_of(dataset, targets_of(dataset, items)):
        grows = any(len(text.lower()) != len(text) for text, _ in page)
        for text, links in page:
            for start, end, _ in links:
                key = fold(text[start:end])
                every.add(key)
                if not grows:
                    safe.add(key)
                if not (_word(text[start - 1 : start]) and _word(text[start])) and not (
                    _word(text[end - 1]) and _word(text[end : end + 1])
                ):
                    whole.add(key)
    return every - safe, every - whole


def _word(letter: str) -> bool:
    return bool(re.match(r"\w", letter))


def why_ours(key: str, lost: set[str], cut: set[str]) -> str:
    """Return why wikipedia2vec has not a name that we have."""
    if not _word(key[0]) or not _word(key[-1]):
        return "begins or ends with what is no word to its tokenizer, or with a mark"
    if key in lost:
        return "stands only on pages which grow when lower-cased, where its places are wrong"
    return "is a link inside of words only" if key in cut else "unexplained"


def meta_items(items: Path) -> set[int]:
    """Return the items that `mentions` leaves out by their types."""
    from wikianchor.pipelines.wikimedia.wikidata import META_CLASSES

    found: set[int] = set()
    for shard in opened(items, "entities").shards("entities"):
        for batch in read_batches(shard, ["qid", "types"]):
            for qid, types in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if META_CLASSES.keys() & set(types):
                    found.add(qid)
    return found


def recall(work: Path, language: str, all_spans: bool) -> list[Any]:
    """Return the row of a wiki: which links of pages never seen have their item among the candidates of the page."""
    dataset = with_targets(work, sliced(work, language))
    items = pairs.entities(work, Path(dataset.directory), 0.0)
    seen = opened(select(dataset, work / f"sentences-{language}-seen", lambda pages: ~held_out(pages)))
    output = work / f"mentions-{language}-seen"
    ours(seen, items, output)
    dictionary = open_dictionary(open_mentions(str(output)), language, str(work / "dictionaries"))
    known = {fold(name) for name in keys_of(output)}
    links = there = found = candidates = pages = 0
    for number, page in pages_of(dataset, targets_of(dataset, items)):
        if not held_out(np.array([number]))[0]:
            continue
        detected = detect("\n".join(text for text, _ in page), dictionary, all_spans)
        bag = set(detected.qids.tolist())
        pages += 1
        candidates += len(detected.qids)
        for text, spans in page:
            for start, end, qid in spans:
                links += 1
                there += fold(text[start:end]) in known
                found += qid in bag
    shares: Sequence[float] = [100 * there / links, 100 * found / links, candidates / pages, candidates / links]
    return [f"{language}, {'all' if all_spans else 'longest'}", links, *shares]


def keys_of(output: Path) -> Iterable[str]:
    """Yield the names of a dataset of mentions that are candidates."""
    for shard in opened(output, "mentions").shards("candidates"):
        for batch in read_batches(shard, ["key"]):
            yield from batch.column("key").to_pylist()


if __name__ == "__main__":
    main()
