"""The wikitext engine on pages made to be slow, and on a million random splices of real wikitext and markup.

    python benchmarks/hostile.py slow --engine=python
    WIKIANCHOR_DATA=data python benchmarks/hostile.py fuzz --cases=1000000 --seed=1

- `slow`: each class of tests/wikimedia/wikitext/hostile.py is read in a process of its own, as a page of English and of
  Chinese (which has one more kind of markup), at 100 KB, 1 MB and 10 MB. Targets: at most 12 times the time from 1 to
  10 MB, where short times are left out; 1.5 seconds a MB; and memory of 20 times the page. A class beyond a target is
  measured again, up to --rounds times, and the least time of each size counts. The table has the slowest, the hungriest
  and the least linear.
- `fuzz`: the cases and checks of tests/fuzzing.py: nothing is raised; links are in order, within the text, and show
  something; every gap has its name; no mark of the engine is left in the text; sentences are pieces of the text and
  account for every link; another engine, which has not read the same pages, returns the same. One case in a thousand is
  repeated 256 and 2,048 times: its time must grow no faster. A failing case is cut down and printed, and the exit
  status is 1; --only=NUMBER runs one case.
"""

import os
import resource
import sys
from argparse import Namespace
from functools import partial
from operator import itemgetter
from typing import Any

from lib.measure import apart, report, run_parts, seconds, table

from tests import fuzzing
from tests.wikimedia.wikitext.hostile import HOSTILE, make_extractor
from wikianchor.pipelines.wikimedia.choices import ENGINES

GROWTH, SECONDS, MEMORY = 12, 1.5, 20
# Below this a time is mostly noise, and its growth says nothing.
MEASURABLE = 0.02


def compare_slow(arguments: Namespace) -> None:
    """Print time and memory of the classes of slow pages."""
    rows: list[tuple[str, float, float, float, float]] = []
    for name in HOSTILE:
        times, memory = least(name, arguments.engine, arguments.rounds)
        rows.append((name, times[1], times[2] / 10, growth_of(times), memory))
        print(f"{name}: {rows[-1]}", file=sys.stderr)
    missed = [row for row in rows if row[2] > SECONDS or row[3] > GROWTH or row[4] > MEMORY]
    shown = {row for column in (2, 3, 4) for row in sorted(rows, key=itemgetter(column), reverse=True)[:6]}
    cells = [[f"`{name.strip()}`", *numbers] for name, *numbers in rows if (name, *numbers) in shown]
    head = ["class", "1 MB, s", "10 MB, s / MB", "10 MB / 1 MB", "memory / page"]
    targets = f"at most {SECONDS} s / MB, {GROWTH} times, {MEMORY} times"
    report(
        "hostile",
        f"{table(head, cells)}\n\n{arguments.engine}: {len(rows)} classes, {len(missed)} beyond a target: {targets}.",
    )


def least(name: str, engine: str, rounds: int) -> tuple[list[float], float]:
    """Return the least CPU seconds of each size, and the most memory, in so many runs or until the targets are met."""
    runs: list[tuple[list[float], float]] = []
    for _ in range(rounds):
        runs.append(apart(measured, name, engine))
        times = [min(column) for column in zip(*(times for times, _ in runs), strict=True)]
        if times[2] / 10 <= SECONDS and growth_of(times) <= GROWTH:
            break
    return times, max(memory for _, memory in runs)


def growth_of(times: list[float]) -> float:
    """Return the time of the largest page over that of one of a tenth, 0 where both are too short to compare."""
    return times[2] / times[1] if times[1] > MEASURABLE else 0.0


def measured(name: str, engine: str, largest: int = 10_000_000) -> tuple[list[float], float]:
    """Return the CPU seconds of pages of a hundredth, a tenth and all of a size, and the memory of the largest over its
    size."""
    extractors = [make_extractor(wiki, engine) for wiki in ("enwiki", "zhwiki")]
    times = []
    for size in (largest // 100, largest // 10, largest):
        page = HOSTILE[name](size)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        times.append(max(seconds(partial(read, extractor, page)) for extractor in extractors))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return times, (peak - before) * 1024 / largest


def read(extractor: Any, page: str) -> None:
    """Read a page as `wikianchor sentences` does."""
    extractor.extract(page, "Title")
    extractor.linked_titles(page, "Title")


def compare_fuzz(arguments: Namespace) -> None:
    """Run random cases, and print what they came to."""
    numbers = range(arguments.cases) if arguments.only < 0 else [arguments.only]
    counts, slowest, failures = fuzzing.run_cases(arguments.seed, numbers)
    row = [f"seed {arguments.seed}", len(numbers), counts["characters"], counts["links"], counts["sentences"], failures]
    head = ["", "cases", "characters", "links", "sentences kept", "failures", "time for 8 times the text, at most"]
    text = table([*head, "s / MB, at most", "CPU s"], [[*row, *slowest.values(), os.times().user]])
    report("fuzz", f"{text}\n\nTarget: no failures.")
    if failures:
        raise SystemExit(1)


if __name__ == "__main__":
    flags: dict[str, tuple[Any, str]] = {
        "--engine": ("python", f"of {', '.join(ENGINES)}, that reads the slow pages"),
        "--cases": (1_000_000, "number of random cases"),
        "--seed": (1, "of the random cases"),
        "--only": (-1, "run the case with this number; -1 for all"),
    }
    run_parts(__doc__, {"slow": compare_slow, "fuzz": compare_fuzz}, flags)
