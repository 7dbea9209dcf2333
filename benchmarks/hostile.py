"""The wikitext engine on pages made to be slow, at 100 KB, 1 MB and 10 MB.

    python benchmarks/hostile.py

Each class of tests/wikimedia/wikitext/hostile.py is read in a process of its own, as a page of English and of Chinese
(which has one more kind of markup). Time must grow with the page: at most 12 times from 1 to 10 MB, where short times
are left out, and no page over 1.5 seconds a MB; memory at most 20 times the page, above what the process holds before.
What is beyond a target is measured again, up to `--rounds` times in all, and the least time of each size counts: a busy
machine adds to a time and takes nothing off. The table has the slowest, the hungriest and the least linear; `--all`
prints every class.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from functools import partial
from operator import itemgetter
from pathlib import Path

from measure import parser, report, seconds, table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.wikimedia.wikitext.hostile import HOSTILE  # noqa: E402
from wikianchor.pipelines.wikimedia.site import site_for  # noqa: E402
from wikianchor.pipelines.wikimedia.wikitext import Extractor  # noqa: E402

GROWTH, SECONDS, MEMORY = 12, 1.5, 20
# Below this a time is mostly noise, and its growth says nothing.
MEASURABLE = 0.02
SHOWN = 6


def main() -> None:
    """Measure and print the table."""
    flags = parser(__doc__)
    flags.add_argument("--all", action="store_true", help="print every class")
    flags.add_argument("--one", help="measure this class once: seconds by size, memory as times the largest")
    flags.add_argument("--megabytes", type=int, default=10, help="the largest pages with --one (10)")
    arguments = flags.parse_args()
    if arguments.one:
        print(json.dumps(measured(arguments.one, arguments.megabytes * 1_000_000)))
        return
    rows: list[tuple[str, float, float, float, float]] = []
    for name in HOSTILE:
        times, memory = least(name, arguments.rounds)
        growth = growth_of(times)
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


def least(name: str, rounds: int) -> tuple[list[float], float]:
    """Return the least CPU seconds of each size in so many runs, of fewer where targets are met before, and the most
    memory."""
    command = [sys.executable, __file__, f"--one={name}"]
    found: list[tuple[list[float], float]] = []
    for _ in range(rounds):
        found.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        times = [min(times) for times in zip(*(times for times, _ in found), strict=True)]
        if times[2] / 10 <= SECONDS and growth_of(times) <= GROWTH:
            break
    return times, max(memory for _, memory in found)


def growth_of(times: list[float]) -> float:
    """Return how many times the largest page takes longer than one of a tenth, 0 where both are too short to say."""
    return times[2] / times[1] if times[1] > MEASURABLE else 0.0


def measured(name: str, largest: int) -> tuple[list[float], float]:
    """Return the CPU seconds of pages of a hundredth, a tenth and all of a size, and the memory of the largest as times
    its size."""
    extractors = [Extractor(site_for(wiki)) for wiki in ("enwiki", "zhwiki")]
    times = []
    for size in (largest // 100, largest // 10, largest):
        page = HOSTILE[name](size)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        spent = 0.0
        for extractor in extractors:
            spent = max(spent, seconds(partial(read, extractor, page)))
        times.append(spent)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return times, (peak - before) * 1024 / largest


def read(extractor: Extractor, page: str) -> None:
    """Read a page as `wikianchor sentences` does."""
    extractor.extract(page, "Title")
    extractor.linked_titles(page, "Title")


if __name__ == "__main__":
    main()
