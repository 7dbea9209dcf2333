"""What more workers gain, and a model of how long whole wikis take on many cores.

    WIKIANCHOR_DATA=data python benchmarks/scaling.py [limits] [files] [default] [cost]

- `limits`: what --workers=2 gains over --workers=1 in `sentences` (a multistream dump, and one bz2 stream), `pairs` and
  `mentions`, beside what this machine allows in the same minutes: two processes that only decompress the dump, and two
  copies of the stage on half of the input each, both 2 at most. "Start" is the same command on the sample. "Serial" are
  the seconds of steps that only one worker has, read from the status of the workers (`engine/worker_status.py`), by
  step; "waiting" those of other steps in which a worker has nothing to do. Speed-ups are less the start and the serial
  steps.

- `files`: one worker against two where both read a single file: `sentences` of real pages as a multistream dump, as one
  bz2 stream, as gzip members and as plain XML; `entities` of the members of a .json.gz (--packings). Each worker is
  bound to a core of its own. "Ranges / whole": the CPU of decompressing the file range by range over that of reading it
  from end to end. "Speed-up of unpacking": of two processes that only decompress, the most that this machine allows.
- `default`: from which size on workers pay. `sentences` and `build` with one worker, with one for each core, and with
  the default.
- `cost`: the hours that whole wikis take. CPU seconds are measured on real slices, less the start. A stage is its
  ranges, dealt out to cores as they become free; the last range to end sets the time. Sizes of dumps are rounded, as of
  2025 (bz2 for wikis, gz for Wikidata); `wikianchor download --dry_run` prints present ones. "Disk" is the dataset with
  every pair, and the scratch files of the shuffle; "memory" the peak of one worker on slices. Descriptions of ranges
  and their counts go through the shuffle, and with a sample its lowest hashes; sentences go from worker to worker as
  files.
"""

from __future__ import annotations

import bz2
import gzip
import heapq
import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from lib import generate, many_links, slices
from lib.measure import (
    ROOT,
    UNPACK,
    fresh,
    less,
    parser,
    ratio,
    report,
    rounds_of,
    run,
    run_parts,
    seconds,
    table,
    wikianchor,
)

from wikianchor.io.storage import file_size
from wikianchor.pipelines.commands.build.plan import (
    BYTES_PER_LINK,
    BYTES_PER_PAIR,
    BYTES_PER_SHUFFLED_ROW,
    ITEMS_DISK,
)
from wikianchor.pipelines.engine.machine import Load, cores, default_workers
from wikianchor.pipelines.engine.rates import dump_seconds
from wikianchor.pipelines.engine.worker_status import WorkerStatus
from wikianchor.pipelines.wikimedia.dumps import LARGEST_RANGE, RANGES, SMALLEST_RANGE, Range, read_range, split_dumps

sys.path.insert(0, str(ROOT))

from tests.engine.kills import workers_of


def main() -> None:
    """Measure and print the tables."""
    flags = parser(__doc__, parts=list(PARTS))
    flags.add_argument("--language", default="en", help="whose slices (en)")
    flags.add_argument("--megabytes", type=float, default=200, help="XML of the dump of `files` and `limits` (200)")
    flags.add_argument("--packings", nargs="+", choices=PACKINGS, default=PACKINGS, help="of `files` (all)")
    flags.add_argument("--sizes", default="0.5,30,60,90,120", help="MB of XML of each dump of `default`")
    flags.add_argument("--cores", default="2,16,64,256", help="of the model (2,16,64,256)")
    flags.add_argument("--links", type=int, default=1_500_000, help="of `pairs` and `mentions` (1500000)")
    run_parts(PARTS, flags)


# ----------------------------------------------------------------------------------------- two workers and their limits


def compare_limits(arguments: Namespace) -> None:
    """Print what two workers gain, beside what the machine allows."""
    sample = arguments.work / "sample"
    run(wikianchor("build", f"--dumps={ROOT / 'demo/dumps'}", "--min_links=2", f"--output={fresh(sample)}"))
    demo = next((ROOT / "demo/dumps").glob("enwiki-*-pages-articles-multistream.xml.bz2"))
    small = {"sentences": [f"--dumps={demo}"]}
    tables = [f"--sentences={sample}/sentences/enwiki", f"--entities={sample}/entities"]
    small |= {"pairs": [*tables, "--min_links=2"], "mentions": tables}
    rows: list[list[Any]] = []
    for packing in ("multistream", "single"):
        whole = packed(arguments, packing)
        half = packed(Namespace(**{**vars(arguments), "megabytes": arguments.megabytes / 2}), packing)
        inputs = [[f"--dumps={whole}"], [f"--dumps={half}"], small["sentences"]]
        rows.append(limits_of(arguments, f"sentences, {packing}", "sentences", inputs, whole))
    datasets = [many_links.multiplied(arguments.work, "en", links) for links in (arguments.links, arguments.links // 2)]
    inputs = [
        [f"--sentences={rows_}", f"--entities={many_links.entities(arguments.work, rows_)}"] for rows_ in datasets
    ]
    rows += [limits_of(arguments, stage, stage, [*inputs, small[stage]]) for stage in ("pairs", "mentions")]
    head = ["job", "one worker, s", "two, s", "start, s", "serial, s", "waiting, s", "speed-up", "two copies"]
    report(
        "two workers and their limits",
        f"{table([*head, 'decompressing', 'share of the limit, %', 'serial steps'], rows)}\n\n"
        "Targets: 95 % of decompressing for `sentences`, 90 % of two copies for the others.",
    )


def limits_of(
    arguments: Namespace, name: str, stage: str, inputs: Sequence[Sequence[str]], dump: Path | None = None
) -> list[Any]:
    """Return the row of a job.

    Args:
        arguments: of the command.
        name: of the job.
        stage: the command.
        inputs: its flags for the whole input, half of it, and the sample.
        dump: the file that two processes decompress; None for none.
    """
    whole, half, small = inputs
    alone: list[defaultdict[str, float]] = []

    def case(given: Sequence[str], workers: int, copies: int = 1) -> Callable[[], float]:
        def measure() -> float:
            outputs = [fresh(arguments.work / f"limits-{number}") for number in range(copies)]
            commands = [wikianchor(stage, *given, f"--workers={workers}", f"--output={output}") for output in outputs]
            watched = workers if given is whole and workers > 1 else 0
            seconds, idle = run_beside(commands, watched)
            if watched:
                alone.append(idle)
            return seconds

        return measure

    cases = {"one": case(whole, 1), "two": case(whole, 2), "copies": case(half, 1, 2)}
    cases |= {"start of one": case(small, 1), "start of two": case(small, 2)}
    if dump is not None:
        cases["decompressing"] = partial(gain_of_two, dump)
    walls = rounds_of(arguments.rounds, cases)
    steps = {step for idle in alone for step in idle if not step.startswith("waiting")}
    serial = {step: median(idle[step] for idle in alone) for step in sorted(steps)}
    both = sum(serial.values())
    # Less the start, round by round.
    one, two = less(walls["one"], walls["start of one"]), less(walls["two"], walls["start of two"])
    gain = ratio([seconds - both for seconds in one], [seconds - both for seconds in two])
    # Two processes gain 2 at most; more is a machine that was slower for the one.
    copies = min(2.0, ratio(one, less(walls["copies"], walls["start of one"])))
    unpacking = median(walls["decompressing"]) if dump else None
    return [
        *(name, median(walls["one"]), median(walls["two"]), median(walls["start of two"]), both),
        *(median(idle["waiting"] for idle in alone), gain, copies, unpacking or "", 100 * gain / (unpacking or copies)),
        ", ".join(f"{step} {seconds:.1f}" for step, seconds in serial.items() if seconds >= LOOK_SECONDS),
    ]


LOOK_SECONDS = 0.1


def run_beside(commands: Sequence[Sequence[str | Path]], watched: int) -> tuple[float, defaultdict[str, float]]:
    """Run commands at the same time; return the seconds until the last has ended, and those in which only one worker
    process of the first had an element: by step, "waiting" for steps that others have been seen at too.

    Args:
        commands: to be run.
        watched: how many workers the first has, 0 not to look at them: looking takes time of a core.

    Raises:
        SystemExit: a command fails.
    """
    start, seen, shared = time.monotonic(), Counter[str](), set[str]()
    with tempfile.TemporaryFile() as log:
        processes = [subprocess.Popen(command, stdout=log, stderr=log) for command in commands]
        statuses: dict[int, WorkerStatus] = {}
        while any(process.poll() is None for process in processes):
            time.sleep(LOOK_SECONDS)
            if not watched:
                continue
            steps = steps_of(processes[0].pid, statuses, watched)
            shared |= {step for step in steps if steps.count(step) > 1}
            if len(steps) == 1:
                seen[steps[0]] += 1
        wall = time.monotonic() - start
        if any(process.returncode for process in processes):
            log.seek(0)
            raise SystemExit(f"{commands}: {log.read().decode()[-2000:]}")
    idle = defaultdict[str, float](float)
    for step, looks in seen.items():
        idle["waiting" if step in shared else step] += looks * LOOK_SECONDS
    return wall, idle


def steps_of(launcher: int, statuses: dict[int, WorkerStatus], workers: int) -> list[str]:
    """Return the steps that the worker processes of a launcher work on now; `statuses` keeps those that were found."""
    for process in workers_of(launcher) if len(statuses) < workers else ():
        with suppress(OSError, ValueError, IndexError):
            if process not in statuses:
                arguments = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
                told = json.loads(arguments[arguments.index(str(launcher).encode()) + 1])
                with open(f"/proc/{process}/fd/{told['status']}", "r+b") as file:
                    statuses[process] = WorkerStatus(file.fileno())
    return [step for status in statuses.values() if (step := status.position().unit.rpartition("-")[0])]


# ---------------------------------------------------------------------------------------------- two workers on one file


def compare_files(arguments: Namespace) -> None:
    """Print one worker against two, for each packing."""
    rows: list[list[Any]] = []
    for packing in arguments.packings:
        path = packed(arguments, packing)
        walls = rounds_of(arguments.rounds, {str(number): on_cores(arguments, path, number) for number in (1, 2)})
        whole, ranges = [Range(str(path), 0, file_size(str(path)), True)], split_dumps([str(path)])
        cells = [path.stat().st_size / 1e6, len(ranges), *map(median, walls.values()), ratio(walls["1"], walls["2"])]
        if packing != "plain":
            cases = {
                name: partial(seconds, partial(read_all, of)) for name, of in (("whole", whole), ("ranges", ranges))
            }
            split = rounds_of(arguments.rounds, cases)
            cells += [median(split["whole"]), ratio(split["ranges"], split["whole"])]
            cells.append(median(gain_of_two(path) for _ in range(arguments.rounds)))
        rows.append([packing, *cells, *[""] * (8 - len(cells))])
        print(rows[-1], file=sys.stderr)
    head = ["file", "MB", "ranges", "one worker, s", "two, s", "speed-up", "unpacking whole, CPU s", "ranges / whole"]
    head.append("speed-up of unpacking")
    report("two workers on one file", f"{table(head, rows)}\n\nTargets: 1.7 times with both cores free; at most 1.15.")


PACKINGS = ("multistream", "single", "members", "plain", "items")


def packed(arguments: Namespace, packing: str) -> Path:
    """Return the file of a packing; write it unless it exists."""
    if packing == "multistream":
        return slices.dump(arguments.work, arguments.language, arguments.megabytes)
    plain = slices.dump(arguments.work, arguments.language, arguments.megabytes, ending="xml")
    if packing == "single":
        return compressed(plain, ".single.xml.bz2", one_bz2)
    if packing == "members":
        return compressed(plain, ".members.xml.gz", gz_members)
    return items_of(plain) if packing == "items" else plain


def compressed(plain: Path, ending: str, pack: Callable[[Iterator[bytes]], Iterator[bytes]]) -> Path:
    """Return a dump in another packing; write it unless it exists."""
    path = plain.with_suffix(ending)
    if not path.exists():
        unfinished = path.with_suffix(".part")
        with plain.open("rb") as source, unfinished.open("wb") as file:
            file.writelines(pack(iter(lambda: source.read(generate.MEMBER_BYTES), b"")))
        unfinished.rename(path)
    return path


def one_bz2(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a single bz2 stream."""
    packer = bz2.BZ2Compressor()
    yield from map(packer.compress, chunks)
    yield packer.flush()


def gz_members(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a gzip member for each chunk."""
    return (gzip.compress(data, mtime=0) for data in chunks)


def items_of(dump: Path) -> Path:
    """Return a stand-in for Wikidata with the items of a dump; write it unless it exists."""
    path = dump.with_name(f"wikidata-{dump.stem}-20000.json.gz")
    if not path.exists():
        generate.write_items(generate.items_of(generate.articles([str(dump)])), path, line_bytes=20_000, others=3)
    return path


def on_cores(arguments: Namespace, path: Path, workers: int) -> Callable[[], float]:
    """Return a function that runs the stage of a file on so many cores and returns its wall seconds."""
    stage, flags = "sentences", [f"--dumps={path}"]
    if ".json" in path.name:
        stage, flags = "entities", [f"--wikidata={path}", f"--wikis={arguments.language}wiki"]
    flags.append(f"--workers={workers}")
    bound = ["taskset", "--cpu-list", ",".join(map(str, sorted(os.sched_getaffinity(0))[:workers]))]
    output = arguments.work / "scaling"
    return lambda: run([*bound, *wikianchor(stage, *flags, f"--output={fresh(output)}")]).wall


def gain_of_two(path: Path) -> float:
    """Return how much more two processes that decompress a file do than one, each on a core of its own: 2 at most.

    No job on this machine gains more: cores share memory, and often more than that. The one process runs before and
    after the two; where the machine was slower for it than for the two, the gain is 2.
    """
    program = [sys.executable, "-c", UNPACK, str(path)]
    walls = []
    for number in (1, 2, 1):
        start = time.monotonic()
        cores = sorted(os.sched_getaffinity(0))[:number]
        processes = [subprocess.Popen(["taskset", "--cpu-list", str(core), *program]) for core in cores]
        for process in processes:
            assert process.wait() == 0
        walls.append(time.monotonic() - start)
    return min(2.0, (walls[0] + walls[2]) / walls[1])


def read_all(ranges: list[Range]) -> None:
    """Decompress what each range owns."""
    for one in ranges:
        for chunk in read_range(one):
            if not chunk.owned:
                break


# --------------------------------------------------------------------------------------------------- workers by default


def compare_default(arguments: Namespace) -> None:
    """Print one worker, one for each core, and the default."""

    def walls(*command: str) -> list[float]:
        def case(*flags: str) -> Callable[[], float]:
            # Not `wikianchor()`, which sets the number of workers.
            output, program = arguments.work / "workers", [sys.executable, "-m", "wikianchor", *command, *flags]
            return lambda: run([*program, f"--output={fresh(output)}"]).wall

        cases = {"one": case("--workers=1"), "all": case(f"--workers={cores()}"), "default": case()}
        return [median(column) for column in rounds_of(arguments.rounds, cases).values()]

    rows: list[list[Any]] = [
        ["build, the sample", *walls("build", f"--dumps={ROOT / 'demo/dumps'}", "--min_links=2"), 1]
    ]
    for megabytes in map(float, arguments.sizes.split(",")):
        dump = slices.dump(arguments.work, arguments.language, megabytes)
        default = default_workers(Load(dump_seconds([str(dump)])))
        name = f"sentences, {dump.stat().st_size / 1e6:.1f} MB of bz2"
        rows.append([name, *walls("sentences", f"--dumps={dump}"), default])
    head = ["job", "one worker, s", f"{cores()} workers, s", "default, s", "workers by default"]
    report("workers by default", f"{table(head, rows)}\n\nTarget: the default takes no longer than one worker.")


# ------------------------------------------------------------------------------------------------------------ the model

# GB of pages-articles as bz2.
WIKIS = {
    "en": 24.5, "de": 7.7, "fr": 6.7, "ru": 6.0, "es": 5.1, "ja": 4.5, "it": 4.1, "zh": 3.4, "pl": 2.8, "uk": 2.8,
    "pt": 2.6, "nl": 2.1, "ar": 2.0, "sv": 2.0, "cs": 1.3, "fa": 1.4, "vi": 1.3, "ko": 1.2, "tr": 1.2,
}  # fmt: skip
EASE_18 = ("en", "de", "fr", "ru", "es", "ja", "it", "zh", "pl", "pt", "nl", "ar", "cs", "fa", "ko", "tr", "uk", "sv")
BUILDS = {"English Wikipedia": ("en",), "18 wikis of EASE": EASE_18}
# Unpacked, Wikidata is ten times its gz.
WIKIDATA_GB, WIKIDATA_RATIO = 156, 10
MEASURED = ("en", "de", "ja", "uk")
# What describes a finished range, pickled.
RANGE_BYTES = 2_000
# Launching machines and starting Python on them.
START_SECONDS = {"here": 2, "cluster": 240}


class Stage(NamedTuple):
    """A stage of a build: CPU seconds in all, number of ranges, bytes through files and through the shuffle, bytes on
    disk at most, and the peak of a worker in MB."""

    name: str
    seconds: float
    ranges: int
    files: float
    shuffled: float
    disk: float
    memory: float


def compare_cost(arguments: Namespace) -> None:
    """Measure slices, and print the hours of whole wikis."""
    numbers = [int(number) for number in arguments.cores.split(",")]
    rates = measured(arguments)
    rows: list[list[Any]] = []
    for build, languages in BUILDS.items():
        for stage in stages(languages, rates):
            hours = [spread(stage, number) / 3600 for number in numbers]
            through = f"{stage.files / 1e9:,.0f} GB", f"{stage.shuffled / 1e6:,.1f} MB"
            needs = f"{stage.disk / 1e9:,.0f} GB", f"{stage.memory:,.0f} MB"
            pays = max(1, stage.ranges // 4)
            rows.append([f"{build}: {stage.name}", stage.seconds / 3600, stage.ranges, *hours, pays, *through, *needs])
    head = ["stage", "CPU hours", "ranges", *(f"{number} cores, h" for number in numbers), "cores that pay"]
    lines = ", ".join(f"{name} {value:,.0f}" for name, value in rates.items())
    head += ["through files", "shuffled", "disk", "memory of a worker"]
    text = f"Measured here: {lines}.\n\n{table(head, rows)}"
    more = f"English Wikipedia's sentences on {numbers[-1]} cores:\n\n"
    report("time and cost", f"{text}\n\n{more}{stragglers(stages(('en',), rates)[0], numbers[-1])}")


def measured(arguments: Namespace) -> dict[str, float]:
    """Return the rates of this machine: CPU seconds, links and bytes per GB, and links per CPU second."""
    work: Path = arguments.work

    peaks: dict[str, float] = {}

    def cpu(stage: str, name: str, *flags: str | Path) -> float:
        command = wikianchor(stage, *flags, f"--output={work / 'cost' / name}")
        costs = []
        for _ in range(arguments.rounds):
            fresh(work / "cost" / name)
            costs.append(run(command))
        peaks[f"MB of {stage}"] = max(peaks.get(f"MB of {stage}", 0), *(cost.peak for cost in costs))
        return median(cost.user for cost in costs)

    start = cpu("sentences", "start", f"--dumps={slices.one_page(work)}")
    columns: dict[str, list[float]] = {"seconds": [], "links": [], "bytes": []}
    for language in MEASURED:
        dump = slices.dump(work, language)
        gigabytes = dump.stat().st_size / 1e9
        columns["seconds"].append((cpu("sentences", language, f"--dumps={dump}") - start) / gigabytes)
        manifest = json.loads((work / "cost" / language / "manifest.json").read_text())
        columns["links"].append(manifest["ledger"][f"{language}wiki"]["links"]["kept"] / gigabytes)
        size = sum(shard["bytes"] for shard in manifest["configs"]["sentences"]["shards"])
        columns["bytes"].append(size / gigabytes)
    items = items_of(slices.dump(work, "uk", ending="xml"))
    # The stand-in compresses better than Wikidata, so its rate is by unpacked bytes.
    with gzip.open(items) as file:
        unpacked = sum(map(len, iter(lambda: file.read(1 << 20), b""))) / 1e9
    entities = (cpu("entities", "items", f"--wikidata={items}", "--wikis=ukwiki") - start) / unpacked
    rows = many_links.multiplied(work, "en", arguments.links)
    given = [f"--sentences={rows}", f"--entities={many_links.entities(work, rows)}"]
    pairs = cpu("pairs", "pairs", *given) - start
    ledger = json.loads((work / "cost/pairs/manifest.json").read_text())["ledger"]["links"]
    return {
        "seconds per GB of bz2": median(columns["seconds"]),
        "links per GB": median(columns["links"]),
        "bytes of sentences per GB": median(columns["bytes"]),
        "seconds per GB of unpacked Wikidata": entities,
        "links per second of pairs": next(iter(ledger.values()))["seen"] / pairs,
        **peaks,
    }


def stages(languages: Sequence[str], rates: dict[str, float]) -> list[Stage]:
    """Return the stages of a build of some wikis and Wikidata."""
    gigabytes = sum(WIKIS[language] for language in languages)
    ranges = sum(count(WIKIS[language]) for language in languages)
    links, written = rates["links per GB"] * gigabytes, rates["bytes of sentences per GB"] * gigabytes
    reading = rates["seconds per GB of bz2"] * gigabytes
    items = rates["seconds per GB of unpacked Wikidata"] * WIKIDATA_GB * WIKIDATA_RATIO
    wikidata, shards = count(WIKIDATA_GB), max(ranges, int(links // 2_500_000))
    # Sentences are read twice and rows written twice; of these the lowest hashes of a sample are shuffled.
    files, hashes = 2 * written + 2 * BYTES_PER_PAIR * links, 8 * 1_000_000
    described, deciding = shards * RANGE_BYTES + hashes, links / rates["links per second of pairs"]
    entities, scratch = ITEMS_DISK * WIKIDATA_GB * 1e9, links * (BYTES_PER_SHUFFLED_ROW + BYTES_PER_LINK)
    memory = [rates[f"MB of {stage}"] for stage in ("sentences", "entities", "pairs")]
    return [
        Stage("sentences", reading, ranges, written, ranges * RANGE_BYTES, written, memory[0]),
        Stage("entities", items, wikidata, entities, wikidata * RANGE_BYTES, entities, memory[1]),
        Stage("pairs", deciding, shards, files, described, BYTES_PER_PAIR * links + scratch, memory[2]),
    ]


def count(gigabytes: float) -> int:
    """Return the number of ranges of a dump."""
    size = min(max(gigabytes * 1e9 / RANGES, SMALLEST_RANGE), LARGEST_RANGE)
    return max(1, round(gigabytes * 1e9 / size))


def spread(stage: Stage, number: int, slow: float = 0, heavy: float = 1) -> float:
    """Return the seconds of a stage on some cores: each takes the next range as it becomes free.

    Args:
        stage: the stage.
        number: of cores.
        slow: share of the cores that have a quarter of the others' speed.
        heavy: how many times as long one range in a hundred takes.
    """
    share = stage.seconds / stage.ranges
    free = [(0.0, core) for core in range(number)]
    end = 0.0
    for order in range(stage.ranges):
        begin, core = heapq.heappop(free)
        factor = (4 if core < slow * number else 1) * (heavy if order % 100 == 99 else 1)
        heapq.heappush(free, (begin + share * factor, core))
        end = max(end, begin + share * factor)
    return end + START_SECONDS["here" if number <= 16 else "cluster"]


def stragglers(stage: Stage, number: int) -> str:
    """Return the table of what stragglers and skew cost."""
    cases = {
        "as in the table": spread(stage, number),
        "a machine in ten at a quarter of the speed": spread(stage, number, slow=0.1),
        "one range in a hundred ten times as heavy (pages of 2 MB in a row)": spread(stage, number, heavy=10),
        "one file that cannot be cut (xz)": spread(stage._replace(ranges=1), number),
    }
    even = cases["as in the table"]
    return table(["case", "hours", "times"], [[name, time / 3600, time / even] for name, time in cases.items()])


PARTS: dict[str, Callable[[Namespace], None]] = {
    "limits": compare_limits,
    "files": compare_files,
    "default": compare_default,
    "cost": compare_cost,
}

if __name__ == "__main__":
    main()
