"""Peak memory of each stage on inputs 1, 4, 16 and 64 times the size.

    WIKIANCHOR_DATA=data python benchmarks/memory.py [--engine=portable]

`sentences` reads real slices copied under new titles, with a page for every link target; `entities` a stand-in of
Wikidata for the titles of that dump; `pairs` and `mentions` the datasets of benchmarks/pairs.py, of which the
largest has twelve million links. Each stage runs as a process of its own, one worker; the peak is the resident memory
that the kernel reports for it (ru_maxrss), mapped files included. What matters is whether it grows from 4 times on:
the target is less than 10 per cent. The portable engine is Beam's own, with its workers in the same process.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from measure import fresh, parser, report, run, table, wikianchor

TIMES = (1, 4, 16, 64)
ENGINES: dict[str, list[str | Path]] = {
    "direct": [],
    "portable": ["--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=LOOPBACK"],
}
STAGES = ("sentences", "entities", "pairs", "mentions")
HERE = Path(__file__).resolve().parent
IMPORTS = "import slices, pairs; from pathlib import Path"


def main() -> None:
    """Measure and print the table."""
    flags = parser(__doc__, rounds=1)
    flags.add_argument("--language", default="en", help="whose slices (en)")
    flags.add_argument("--megabytes", type=float, default=12, help="XML of the smallest dump (12)")
    flags.add_argument("--line_bytes", type=int, default=2_000, help="bytes of a line of Wikidata, about (2000)")
    flags.add_argument("--links", type=int, default=187_500, help="links of the smallest dataset (187500)")
    flags.add_argument("--stages", nargs="+", default=STAGES, choices=STAGES, help="what is measured (all)")
    flags.add_argument("--engine", default="direct", choices=ENGINES, help="what runs the graphs (direct)")
    arguments = flags.parse_args()
    engine = ENGINES[arguments.engine]
    stages = [stage for stage in STAGES if stage in arguments.stages]
    peaks = {stage: [0.0] * len(TIMES) for stage in stages}
    sizes: dict[str, list[str]] = {stage: [] for stage in stages}
    for place, times in enumerate(TIMES):
        wiki, output = f"{arguments.language}wiki", fresh(arguments.work / "memory")
        commands: dict[str, tuple[str, list[str]]] = {}
        if {"sentences", "entities"} & set(stages):
            dump, wikidata = dump_and_wikidata(arguments, times)
            commands["sentences"] = megabytes(dump), [f"--dump={dump}"]
            commands["entities"] = megabytes(wikidata), [f"--wikidata={wikidata}", f"--wikis={wiki}"]
        if {"pairs", "mentions"} & set(stages):
            rows, items, links = datasets(arguments, times)
            for stage in ("pairs", "mentions"):
                commands[stage] = f"{links:,} links", [f"--sentences={rows}", f"--entities={items}"]
        for stage in stages:
            size, flags_of_stage = commands[stage]
            sizes[stage].append(size)
            for _ in range(arguments.rounds):
                peak = run(wikianchor(stage, *flags_of_stage, *engine, f"--output={fresh(output)}")).peak
                print(f"{times} times: {stage}: {peak:.0f} MB", file=sys.stderr)
                peaks[stage][place] = max(peaks[stage][place], peak)
    table_rows: list[list[Any]] = []
    for stage, found in peaks.items():
        growth = [f"{100 * (peak / found[1] - 1):+.1f} %" for peak in found[2:]]
        table_rows.append([f"{stage} ({', '.join(sizes[stage])})", *(round(peak) for peak in found), *growth])
    head = ["stage (inputs)", *(f"{times} times, MB" for times in TIMES), *(f"4 to {times}" for times in TIMES[2:])]
    report(f"memory, {arguments.engine}", table(head, table_rows) + "\n\nTarget: less than +10 % from 4 times on.")


def megabytes(path: Path) -> str:
    """Return the size of a file."""
    return f"{path.stat().st_size / 1e6:.0f} MB"


def dump_and_wikidata(arguments: Any, times: int) -> tuple[Path, Path]:
    """Return a dump of so many times the size and its Wikidata. A child's peak begins with its parent's, so they are
    made by processes of their own and this one stays small."""
    work: Path = arguments.work
    size = arguments.megabytes * times
    _apart(f"slices.dump(Path({str(work)!r}), {arguments.language!r}, {size!r}, stubs=True, ending='xml')")
    dump = work / f"{arguments.language}wiki-{size:g}mb-stubs-pages-articles.xml"
    wikidata = work / f"wikidata-{dump.stem}-{arguments.line_bytes}.json.gz"
    if not wikidata.exists():
        command = [sys.executable, HERE / "generate.py", "items", "--dump", dump]
        run([*command, "--line_bytes", str(arguments.line_bytes), "--output", wikidata])
    return dump, wikidata


def datasets(arguments: Any, times: int) -> tuple[Path, Path, int]:
    """Return the datasets that `pairs` reads, and how many links they have at least."""
    work, links = arguments.work, arguments.links * times
    call = f"pairs.multiplied(Path({str(work)!r}), {arguments.language!r}, {links})"
    _apart(f"pairs.entities(Path({str(work)!r}), {call}, 0.0)")
    rows = work / f"sentences-{arguments.language}-{links}"
    return rows, work / f"entities-{rows.name}-0", links


def _apart(code: str) -> None:
    run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(HERE)!r}); {IMPORTS}; {code}"])


if __name__ == "__main__":
    main()
