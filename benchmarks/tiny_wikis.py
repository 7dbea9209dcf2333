"""What does `pairs` cost for each of many tiny wikis?

    python benchmarks/tiny_wikis.py

The wikis have six pages each. CPU of `pairs` for each wiki more, from a tenth of them to all, so without the start.
That the plan of a build is right to a factor of two is a test: tests/commands/test_many_wikis.py.
"""

from argparse import Namespace
from pathlib import Path
from typing import Any

from lib import generate
from lib.measure import fresh, job, report, run, run_parts, table, wikianchor

from tests.many_wikis import write

MIN_LINKS = "--min_links=0"


def compare_pairs(arguments: Namespace) -> None:
    """Print what `pairs` costs for each tiny wiki."""
    work: Path = arguments.work
    dumps = generate.kept(work / f"tiny-{arguments.wikis}", lambda path: write(path, arguments.wikis))
    # `build` skips finished stages, but its outputs would be those of another number of wikis.
    build = fresh(work / "tiny-build")
    run(wikianchor("build", f"--dumps={dumps}", f"--output={build}", MIN_LINKS))
    wikis = sorted((build / "sentences").iterdir())
    counts = (len(wikis) // 10, len(wikis))
    costs = []
    for count in counts:
        inputs = [f"--sentences={','.join(map(str, wikis[:count]))}", f"--entities={build}/entities", MIN_LINKS]
        costs.append(job("pairs", work / "tiny-pairs", *inputs))
    each = 1000 * (costs[1] - costs[0]) / (counts[1] - counts[0])
    head = ["wikis", "CPU, s", "wikis", "CPU, s", "CPU of a wiki, ms"]
    last = "Target: at most 15 ms of CPU for a wiki."
    report("pairs of tiny wikis", f"{table(head, [[str(counts[0]), costs[0], counts[1], costs[1], each]])}\n\n{last}")


if __name__ == "__main__":
    flags: dict[str, tuple[Any, str]] = {"--wikis": (310, "number of tiny wikis")}
    run_parts(__doc__, {"pairs": compare_pairs}, flags, rounds=1)
