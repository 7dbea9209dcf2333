"""Peak memory of each stage on dumps 1, 4 and 16 times the size.

    WIKIANCHOR_DATA=data python benchmarks/memory.py

Real slices are copied under new titles, with a page for every link target, and a stand-in of Wikidata is made for
their titles. `sentences`, `entities` and `pairs` run on each size as processes of their own, one worker each; the peak
is the resident memory that the kernel reports for the process (ru_maxrss). What matters is whether it grows from 4 to
16 times: the target is less than 10 per cent.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from measure import fresh, parser, report, run, table, wikianchor

TIMES = (1, 4, 16)
STAGES = ("sentences", "entities", "pairs")
HERE = Path(__file__).resolve().parent


def main() -> None:
    """Measure and print the table."""
    flags = parser(__doc__, rounds=1)
    flags.add_argument("--language", default="en", help="whose slices (en)")
    flags.add_argument("--megabytes", type=float, default=12, help="XML of the smallest dump (12)")
    flags.add_argument("--line_bytes", type=int, default=2_000, help="bytes of a line of Wikidata, about (2000)")
    arguments = flags.parse_args()
    peaks = {stage: [0.0] * len(TIMES) for stage in STAGES}
    sizes = []
    for place, times in enumerate(TIMES):
        dump, wikidata = inputs(arguments, times)
        sizes.append(dump.stat().st_size / 1e6)
        for _ in range(arguments.rounds):
            for stage, peak in stages(dump, wikidata, arguments.work, f"{arguments.language}wiki").items():
                print(f"{times} times: {stage}: {peak:.0f} MB", file=sys.stderr)
                peaks[stage][place] = max(peaks[stage][place], peak)
    rows: list[list[Any]] = [
        [stage, *(round(peak) for peak in found), f"{100 * (found[2] / found[1] - 1):+.1f} %"]
        for stage, found in peaks.items()
    ]
    head = ["peak MB", *(f"{times} times ({size:.0f} MB)" for times, size in zip(TIMES, sizes, strict=True)), "4 to 16"]
    report("memory", table(head, rows) + "\n\nTarget: less than +10 % from 4 to 16 times.")


def inputs(arguments: Any, times: int) -> tuple[Path, Path]:
    """Return a dump of so many times the size and its Wikidata. A child's peak begins with its parent's, so they are
    made by processes of their own and this one stays small."""
    work: Path = arguments.work
    megabytes = arguments.megabytes * times
    code = (
        f"import sys; sys.path.insert(0, {str(HERE)!r}); import slices; from pathlib import Path; "
        f"slices.dump(Path({str(work)!r}), {arguments.language!r}, {megabytes!r}, stubs=True, ending='xml')"
    )
    run([sys.executable, "-c", code])
    dump = work / f"{arguments.language}wiki-{megabytes:g}mb-stubs-pages-articles.xml"
    wikidata = work / f"wikidata-{dump.stem}-{arguments.line_bytes}.json.gz"
    if not wikidata.exists():
        command = [sys.executable, HERE / "generate.py", "items", "--dump", dump]
        run([*command, "--line_bytes", str(arguments.line_bytes), "--output", wikidata])
    return dump, wikidata


def stages(dump: Path, wikidata: Path, work: Path, wiki: str) -> dict[str, float]:
    """Run the stages and return the peak of each."""
    output = fresh(work / "memory")
    commands = {
        "sentences": [f"--dump={dump}", f"--output={output}/sentences"],
        "entities": [f"--wikidata={wikidata}", f"--wikis={wiki}", f"--output={output}/entities"],
        "pairs": [f"--sentences={output}/sentences", f"--entities={output}/entities", f"--output={output}/pairs"],
    }
    found = {stage: run(wikianchor(stage, *flags)).peak for stage, flags in commands.items()}
    fresh(output)
    return found


if __name__ == "__main__":
    main()
