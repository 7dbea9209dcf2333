"""The wikitext engine on pages made to be slow, at 100 KB, 1 MB and 10 MB.

    python benchmarks/hostile.py

Each class of tests/wikimedia/wikitext/hostile.py is read in a process of its own, as a page of English and of Chinese
(which has one more kind of markup). Time must grow with the page: at most 12 times from 1 to 10 MB, where short times
are left out, and no page over 1.5 seconds a MB; memory at most 20 times the page, above what the process holds before.
The table has the slowest, the hungriest and the least linear; `--all` prints every class.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from operator import itemgetter
from pathlib import Path

from measure import parser, report, table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pipelines.wikimedia.site import site_for  # noqa: E402
from pipelines.wikimedia.wikitext import Extractor  # noqa: E402
from tests.wikimedia.wikitext.hostile import HOSTILE  # noqa: E402

SIZES = (100_000, 1_000_000, 10_000_000)
GROWTH, SECONDS, MEMORY = 12, 1.5, 20
# Below this a time is mostly noise, and its growth says nothing.
MEASURABLE = 0.02
SHOWN = 6


def main() -> None:
    """Measure and print the table."""
    flags = parser(__doc__, rounds=1)
    flags.add_argument("--all", action="store_true", help="print every class")
    flags.add_argument("--one", help=argparse.SUPPRESS)
    arguments = flags.parse_args()
    if arguments.one:
        print(json.dumps(measured(arguments.one)))
        return
    rows: list[tuple[str, float, float, float, float]] = []
    for name in HOSTILE:
        command = [sys.executable, __file__, f"--one={name}"]
        times, memory = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        growth = times[2] / times[1] if times[1] > MEASURABLE else 0.0
        rows.append((name, times[1], times[2] / 10, growth, memory))
        print(f"{name}: {times[2] / 10:.2f} s/MB, {growth:.1f}, {memory:.1f}", file=sys.stderr)
    missed = [row for row in rows if row[2] > SECONDS or row[3] > GROWTH or row[4] > MEMORY]
    shown = {row for column in (2, 3, 4) for row in sorted(rows, key=itemgetter(column), reverse=True)[:SHOWN]}
    cells = [[f"`{name.strip()}`", *numbers] for name, *numbers in rows if arguments.all or (name, *numbers) in shown]
    head = ["class", "1 MB, s", "10 MB, s / MB", "10 MB / 1 MB", "memory / page"]
    text = (
        f"{len(rows)} classes, {len(missed)} beyond a target: at most {SECONDS} s / MB, {GROWTH} times, {MEMORY} times."
    )
    report("hostile", table(head, cells) + "\n\n" + text)


def measured(name: str) -> tuple[list[float], float]:
    """Return the CPU seconds of each size, and the memory of the largest as times its size."""
    extractors = [Extractor(site_for(wiki)) for wiki in ("enwiki", "zhwiki")]
    times = []
    for size in SIZES:
        page = HOSTILE[name](size)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        spent = 0.0
        for extractor in extractors:
            start = time.process_time()
            extractor.extract(page, "Title")
            extractor.linked_titles(page, "Title")
            spent = max(spent, time.process_time() - start)
        times.append(spent)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return times, (peak - before) * 1024 / SIZES[-1]


if __name__ == "__main__":
    main()
