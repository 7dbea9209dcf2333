"""How long whole wikis take on a number of cores, from what a slice takes here: a model, and what would upset it.

    WIKIANCHOR_DATA=data python benchmarks/cost.py --cores=2,16,64,256

CPU seconds are measured on real slices, less the start of the program. A stage is its ranges, dealt out to
cores as they become free; the last range to end says how long it takes. The sizes of the dumps are rounded, as of 2025
(bz2 for wikis, gz for Wikidata); yours are told by `wikianchor download --dry_run`. What is shuffled are descriptions
of ranges and their counts, and the lowest hashes where `pairs` draws a sample or caps entities; sentences are
never shuffled: they go from worker to worker as files, which is counted as well.

Title indexes, entity tables and name tables are each built on one worker. What a row of them costs is measured on
inputs as large as those of English Wikipedia (joins.py), and set against the wall time of the whole build.
"""

from __future__ import annotations

import gzip
import heapq
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import generate
import joins
import joins_inputs
import pairs
import slices
from measure import fresh, parser, report, run, table, wikianchor

from wikianchor.pipelines.wikimedia.dumps import LARGEST_RANGE, RANGES, SMALLEST_RANGE

# GB of pages-articles as bz2.
WIKIS = {
    "en": 24.5, "de": 7.7, "fr": 6.7, "ru": 6.0, "es": 5.1, "ja": 4.5, "it": 4.1, "zh": 3.4, "pl": 2.8, "uk": 2.8,
    "pt": 2.6, "nl": 2.1, "ar": 2.0, "sv": 2.0, "cs": 1.3, "fa": 1.4, "vi": 1.3, "ko": 1.2, "tr": 1.2,
}  # fmt: skip
EASE_18 = ("en", "de", "fr", "ru", "es", "ja", "it", "zh", "pl", "pt", "nl", "ar", "cs", "fa", "ko", "tr", "uk", "sv")
WIKIDATA_GB = 156
MEASURED = ("en", "de", "ja", "uk")
# Links of the dataset that `pairs` is measured on, about.
LINKS = 1_500_000
# Bytes of what a range tells about itself when it is done, pickled.
READING_BYTES = 2_000
# Titles and articles grow with the dump; a name table has about three nodes for each title.
TITLES_PER_GB, ITEMS_PER_GB = joins_inputs.TITLES / WIKIS["en"], joins_inputs.ARTICLES / WIKIS["en"]
NODES_PER_TITLE = 3
# Launching machines and starting Python on them.
START_SECONDS = {"here": 2, "cluster": 240}


class Job(NamedTuple):
    """A stage of a build: CPU seconds in all, in how many ranges, and bytes that go through files and through the
    shuffle."""

    name: str
    seconds: float
    ranges: int
    files: float
    shuffled: float


def main() -> None:
    """Measure, and print the tables."""
    flags = parser(__doc__)
    flags.add_argument("--cores", default="2,16,64,256", help="how many (2,16,64,256)")
    arguments = flags.parse_args()
    cores = [int(number) for number in arguments.cores.split(",")]
    rates = measured(arguments)
    targets = {
        "English Wikipedia": jobs(("en",), rates),
        "18 wikis of EASE": jobs(EASE_18, rates),
    }
    rows: list[list[Any]] = []
    for target, stages in targets.items():
        for one in stages:
            hours = [spread(one, number) / 3600 for number in cores]
            most = max(1, one.ranges // 4)
            through = f"{one.files / 1e9:,.0f} GB", f"{one.shuffled / 1e6:,.1f} MB"
            rows.append([f"{target}: {one.name}", one.seconds / 3600, one.ranges, *hours, most, *through])
    head = ["stage", "CPU hours", "ranges", *(f"{number} cores, h" for number in cores), "cores that pay"]
    lines = ", ".join(f"{name} {value:,.0f}" for name, value in rates.items())
    text = f"Measured here: {lines}.\n\n{table([*head, 'through files', 'shuffled'], rows)}"
    more = f"What upsets it, English Wikipedia's sentences on {cores[-1]} cores:\n\n{upset(targets, cores[-1])}"
    report("time and cost", f"{text}\n\n{more}")
    report("joins on one worker", shares(targets, serial_rates(arguments), cores))


def measured(arguments: Any) -> dict[str, float]:
    """Return CPU seconds per GB of bz2 and of Wikidata's gz, links per CPU second, and per GB links and bytes."""
    work: Path = arguments.work
    found: dict[str, list[float]] = {"seconds": [], "links": [], "bytes": []}
    nothing = median(
        run(wikianchor("sentences", f"--dumps={slices.nothing(work, 'en')}", f"--output={fresh(work / 'cost')}")).user
        for _ in range(arguments.rounds)
    )
    for language in MEASURED:
        dump, output = slices.dump(work, language), work / "cost" / language
        users = [
            run(wikianchor("sentences", f"--dumps={dump}", f"--output={fresh(output)}")).user
            for _ in range(arguments.rounds)
        ]
        gigabytes = dump.stat().st_size / 1e9
        manifest = json.loads((output / "manifest.json").read_text())
        found["seconds"].append((median(users) - nothing) / gigabytes)
        found["links"].append(manifest["ledger"][f"{language}wiki"]["links"]["kept"] / gigabytes)
        size = sum(shard["bytes"] for shard in manifest["configs"]["sentences"]["shards"])
        found["bytes"].append(size / gigabytes)
        print(language, {name: round(values[-1]) for name, values in found.items()}, file=sys.stderr)
    items = work / "cost-wikidata.json.gz"
    if not items.exists():
        some = generate.items_of(generate.articles([str(slices.dump(work, "uk"))]))
        generate.write_items(some, items, line_bytes=20_000, others=30)
    command = wikianchor("entities", f"--wikidata={items}", "--wikis=ukwiki", f"--output={work / 'cost/items'}")
    users = []
    for _ in range(arguments.rounds):
        fresh(work / "cost/items")
        users.append(run(command).user)
    rows = pairs.multiplied(work, "en", LINKS)
    given = [f"--sentences={rows}", f"--entities={pairs.entities(work, rows, 0.0)}"]
    joins = [
        run(wikianchor("pairs", *given, f"--output={fresh(work / 'cost/pairs')}")).user for _ in range(arguments.rounds)
    ]
    manifest = json.loads((work / "cost/pairs/manifest.json").read_text())
    links = next(iter(manifest["ledger"]["links"].values()))["seen"]
    # These items shrink more than real ones do, so the rate is by what they are unpacked, told by the real ratio.
    unpacked = sum(len(data) for data in iter_gzip(items))
    seconds = (median(users) - nothing) / (unpacked / 1e9)
    return {
        "seconds per GB of bz2": median(found["seconds"]),
        "links per GB": median(found["links"]),
        "bytes of sentences per GB": median(found["bytes"]),
        "seconds per GB of unpacked Wikidata": seconds,
        "links per second of pairs": links / (median(joins) - nothing),
    }


def iter_gzip(path: Path) -> Any:
    """Yield a gzip file unpacked."""
    with gzip.open(path, "rb") as file:
        while data := file.read(1 << 20):
            yield data


def jobs(languages: Sequence[str], rates: dict[str, float]) -> list[Job]:
    """Return the stages of a build of some wikis and Wikidata."""
    gigabytes = sum(WIKIS[language] for language in languages)
    ranges = sum(count(WIKIS[language]) for language in languages)
    links = rates["links per GB"] * gigabytes
    shards = max(ranges, int(links // 2_500_000))
    wikidata = count(WIKIDATA_GB)
    return [
        Job(
            "sentences",
            rates["seconds per GB of bz2"] * gigabytes,
            ranges,
            rates["bytes of sentences per GB"] * gigabytes,
            ranges * READING_BYTES,
        ),
        # Unpacked, Wikidata is ten times its gz.
        Job(
            "entities",
            rates["seconds per GB of unpacked Wikidata"] * WIKIDATA_GB * 10,
            wikidata,
            0.02 * WIKIDATA_GB * 1e9,
            wikidata * READING_BYTES,
        ),
        # Sentences are read twice, rows written twice; of these the sample's lowest hashes are all that is shuffled.
        Job(
            "pairs",
            links / rates["links per second of pairs"],
            shards,
            2 * rates["bytes of sentences per GB"] * gigabytes + 2 * 120 * links,
            shards * (READING_BYTES + 8 * 1_000_000 / max(1, shards)),
        ),
    ]


def serial_rates(arguments: Any) -> dict[str, list[float]]:
    """Return by join the CPU seconds that a row of each of its inputs costs."""
    return {name: joins.rates(joins.measure_join(arguments.work, name, arguments.rounds)) for name in joins.JOINS}


def serial_joins(languages: Sequence[str], rates: dict[str, list[float]]) -> dict[str, list[float]]:
    """Return by join the seconds that each of its tables takes on one worker."""
    title, sitelink_shard = rates["title_index"]
    item, counted = rates["entity_table"]
    (node,) = rates["name_table"]
    titles = [TITLES_PER_GB * WIKIS[language] for language in languages]
    items = [round(ITEMS_PER_GB * WIKIS[language]) for language in languages]
    # A shard of sitelinks holds rows of all wikis, so each wiki opens all of them.
    shards = count(WIKIDATA_GB)
    counts = sum(
        joins_inputs.counted_items(number, count(WIKIS[language]))
        for language, number in zip(languages, items, strict=True)
    )
    return {
        "title index": [title * number + sitelink_shard * shards for number in titles],
        "entity table": [item * sum(items) + counted * counts],
        "name table (mentions)": [node * NODES_PER_TITLE * number for number in titles],
    }


def shares(targets: dict[str, list[Job]], rates: dict[str, list[float]], cores: Sequence[int]) -> str:
    """Return the table of what share of a build's wall time each join takes. The tables of several wikis are built side
    by side."""
    rows: list[list[Any]] = []
    for target, languages in (("English Wikipedia", ("en",)), ("18 wikis of EASE", EASE_18)):
        found = serial_joins(languages, rates)
        for name, seconds in found.items():
            percents = []
            for number in cores:
                wall = {join: max(max(each), sum(each) / number) for join, each in found.items()}
                build = sum(spread(one, number) for one in targets[target])
                build += wall["title index"] + wall["entity table"]
                percents.append(100 * wall[name] / build)
            rows.append([f"{target}: {name}", len(seconds), max(seconds), *percents])
    head = ["join", "tables", "largest, s", *(f"{number} cores, % of the build" for number in cores)]
    return table(head, rows)


def count(gigabytes: float) -> int:
    """Return into how many ranges a dump is cut."""
    size = min(max(gigabytes * 1e9 / RANGES, SMALLEST_RANGE), LARGEST_RANGE)
    return max(1, round(gigabytes * 1e9 / size))


def spread(one: Job, cores: int, slow: float = 0, heavy: float = 1) -> float:
    """Return the seconds that a stage takes on some cores: each takes the next range as it becomes free.

    Args:
        one: the stage.
        cores: how many.
        slow: share of the cores that have a quarter of the others' speed.
        heavy: how many times as long one range in a hundred takes.
    """
    share = one.seconds / one.ranges
    free = [(0.0, number) for number in range(cores)]
    end = 0.0
    for place in range(one.ranges):
        begin, number = heapq.heappop(free)
        factor = (4 if number < slow * cores else 1) * (heavy if place % 100 == 99 else 1)
        done = begin + share * factor
        end = max(end, done)
        heapq.heappush(free, (done, number))
    return end + START_SECONDS["here" if cores <= 16 else "cluster"]


def upset(targets: dict[str, list[Job]], cores: int) -> str:
    """Return the table of what stragglers and skew cost."""
    one = targets["English Wikipedia"][0]
    even = spread(one, cores)
    cases = {
        "all as it should be": even,
        "a machine in ten at a quarter of the speed": spread(one, cores, slow=0.1),
        "one range in a hundred ten times as heavy (pages of 2 MB in a row)": spread(one, cores, heavy=10),
        "one file that cannot be cut (xz)": spread(one._replace(ranges=1), cores),
        "the same file as one bz2 stream or as gz members: it is cut": even,
    }
    return table(["case", "hours", "times"], [[name, found / 3600, found / even] for name, found in cases.items()])


if __name__ == "__main__":
    main()
