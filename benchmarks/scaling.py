"""How much faster two workers are than one where all read a single file, and what splitting it costs.

    WIKIANCHOR_DATA=data python benchmarks/scaling.py

`sentences` reads real pages copied under new titles, as a multistream dump, as one bz2 stream, as gzip members, as
plain XML; `entities` the items of that dump as the members of a .json.gz. One worker and two are Beam's worker
processes, each bound to a core of its own, so that both pay for the same wire. A machine with other work shows less
than it could. What splitting costs is the CPU of unpacking a file range by range over that of reading it from end to
end, in one process.
"""

from __future__ import annotations

import bz2
import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import generate
import slices
from measure import fresh, parser, ratio, report, rounds_of, run, seconds, table, wikianchor

from wikianchor.io.storage import file_size
from wikianchor.pipelines.wikimedia.dumps import Range, read_range, split_dumps

PACKINGS = ("multistream bz2", "single bz2", "gz members", "plain")


def main() -> None:
    """Measure and print both tables."""
    flags = parser(__doc__)
    flags.add_argument("--language", default="en", help="whose slices (en)")
    flags.add_argument("--megabytes", type=float, default=200, help="XML of the dump (200)")
    arguments = flags.parse_args()
    work, cores = arguments.work, sorted(os.sched_getaffinity(0))
    jobs = {name: ("sentences", pack(work, arguments, name)) for name in PACKINGS}
    jobs["items, gz members"] = ("entities", items(work, arguments))
    rows: list[list[Any]] = []
    for name, (stage, path) in jobs.items():
        walls = rounds_of(
            arguments.rounds,
            {str(workers): job(stage, path, arguments, workers, cores) for workers in (1, 2)},
        )
        split = rounds_of(arguments.rounds, {"whole": whole(path), "ranges": ranges(path)})
        packed = name != "plain"
        rows.append(
            [
                name,
                path.stat().st_size / 1e6,
                len(split_dumps([str(path)])),
                median(walls["1"]),
                median(walls["2"]),
                ratio(walls["1"], walls["2"]),
                median(split["whole"]) if packed else "",
                ratio(split["ranges"], split["whole"]) if packed else "",
            ]
        )
        print(rows[-1], file=sys.stderr)
    head = ["file", "MB", "ranges", "one worker, s", "two, s", "speed-up", "unpacking whole, CPU s", "ranges / whole"]
    report("two workers on one file", f"{table(head, rows)}\n\nTargets: 1.7 times with both cores free; at most 1.15.")


def pack(work: Path, arguments: Any, name: str) -> Path:
    """Return the dump in a packing, made unless it is there."""
    ending = {"multistream bz2": "xml.bz2", "gz members": "xml.gz"}.get(name, "xml")
    if name == "gz members":
        return gz_members(slices.dump(work, arguments.language, arguments.megabytes, ending="xml"))
    path = slices.dump(work, arguments.language, arguments.megabytes, ending=ending)
    if name != "single bz2":
        return path
    single = path.with_name(f"single-{path.name}.bz2")
    if not single.exists():
        unfinished = single.with_suffix(".part")
        packer = bz2.BZ2Compressor()
        with path.open("rb") as source, unfinished.open("wb") as file:
            while data := source.read(1 << 20):
                file.write(packer.compress(data))
            file.write(packer.flush())
        unfinished.rename(single)
    return single


def gz_members(path: Path) -> Path:
    """Return a dump as gzip members of some MB, made unless it is there."""
    import gzip

    packed = path.with_name(f"members-{path.name}.gz")
    if not packed.exists():
        unfinished = packed.with_suffix(".part")
        with path.open("rb") as source, unfinished.open("wb") as file:
            while data := source.read(generate.MEMBER_BYTES):
                file.write(gzip.compress(data, mtime=0))
        unfinished.rename(packed)
    return packed


def items(work: Path, arguments: Any) -> Path:
    """Return the items of the dump, made unless they are there."""
    dump = slices.dump(work, arguments.language, arguments.megabytes, ending="xml")
    path = work / f"wikidata-{dump.stem}-20000.json.gz"
    if not path.exists():
        generate.write_items(generate.items_of(generate.articles([str(dump)])), path, line_bytes=20_000, others=3)
    return path


def job(stage: str, path: Path, arguments: Any, workers: int, cores: list[int]) -> Callable[[], float]:
    """Return a function that runs a stage and returns its wall seconds."""
    given = [f"--dumps={path}"] if stage == "sentences" else [f"--wikidata={path}", f"--wikis={arguments.language}wiki"]
    beam = [f"--direct_num_workers={workers}", "--direct_running_mode=multi_processing"]
    bound = ["taskset", "--cpu-list", ",".join(map(str, cores[:workers]))]

    def once() -> float:
        output = fresh(arguments.work / "scaling")
        return run([*bound, *wikianchor(stage, *given, *beam, f"--output={output}")]).wall

    return once


def whole(path: Path) -> Callable[[], float]:
    """Return a function that unpacks a file from end to end and returns its CPU seconds."""
    return lambda: seconds(lambda: drain([Range(str(path), 0, file_size(str(path)), True)]))


def ranges(path: Path) -> Callable[[], float]:
    """Return a function that unpacks a file range by range and returns its CPU seconds."""
    return lambda: seconds(lambda: drain(split_dumps([str(path)])))


def drain(parts: list[Range]) -> None:
    """Unpack what each range owns."""
    for part in parts:
        for chunk in read_range(part):
            if not chunk.owned:
                break


if __name__ == "__main__":
    main()
