"""A wiki of a million pages through `wikianchor build`, with one worker and with two.

    WIKIANCHOR_DATA=data python benchmarks/million.py --work=/a/disk/with/30/GB

The pages are real ones of a slice under new titles and ids, the long ones left out so that the mean is that of
Wikipedia, about ten KB; each has an item with a type, and every link leads to one of them. Memory is that of all
processes of a run together, shared pages counted once (proportional set size), sampled each second. A process may have
256 files open. Both runs must give the same bytes.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from lib import generate, slices
from lib.measure import digest, fresh, parser, report, table, wikianchor

from wikianchor.pipelines.wikimedia.pages import Page

MEAN_BYTES = 10_000
RUNS = {
    "one worker": [],
    "two workers": ["--workers=2"],
}


def main() -> None:
    """Measure and print the table."""
    flags = parser(__doc__, rounds=1)
    flags.add_argument("--language", default="en", help="whose slice (en)")
    flags.add_argument("--pages", type=int, default=1_000_000, help="number of pages (1000000)")
    flags.add_argument("--open_files", type=int, default=256, help="of a process, at most (256)")
    arguments = flags.parse_args()
    dumps: Path = arguments.work / f"million-{arguments.pages}"
    if not (dumps / "wikidata-20260101-all.json.gz").exists():
        # In a process of its own: a child's peak memory begins with that of this process.
        subprocess.run(
            [sys.executable, __file__, "--write", dumps, arguments.language, str(arguments.pages)], check=True
        )
    # Child processes inherit it.
    resource.setrlimit(resource.RLIMIT_NOFILE, (arguments.open_files, arguments.open_files))
    rows: list[list[Any]] = []
    digests: set[str] = set()
    for name, workers in RUNS.items():
        output = fresh(arguments.work / f"million-out-{len(rows)}")
        costs = watched(wikianchor("build", f"--dumps={dumps}", f"--output={output}", "--min_links=10", *workers))
        digests.add(digest(output))
        rows.append([name, *costs, *counts_of(output, f"{arguments.language}wiki")])
        print(rows[-1], file=sys.stderr)
    head = ["run", "user CPU s", "wall s", "peak of all processes, MB", "articles", "links seen", "pairs"]
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:,.0f} MB" for path in sorted(dumps.iterdir()))
    same = "the same" if len(digests) == 1 else "DIFFERENT"
    limits = f"less than 4,096 MB, {arguments.open_files} open files in a process"
    last = f"Shards of both runs: {same} bytes. Target: the same, {limits}."
    report("a million pages", f"{sizes}\n\n{table(head, rows)}\n\n{last}")


def write(dumps: Path, language: str, pages: int) -> None:
    """Write the dump and its items."""
    source = generate.read_source(slices.paths(language))
    # From the shortest on, as many as have the wanted mean.
    chosen: list[Page] = []
    size = 0
    for page in sorted(source.pages, key=lambda page: (len(page.text), page.page_id)):
        size += len(page.text)
        if size > MEAN_BYTES * (len(chosen) + 1):
            break
        chosen.append(page)
    source = generate.Source(source.head, source.site, sorted(chosen, key=lambda page: page.page_id))
    dump = dumps / f"{language}wiki-20260101-pages-articles.xml"
    generate.write_dump(source, dump, pages=pages, closed=True)
    unfinished = dumps / "unfinished-wikidata.json.gz"
    generate.write_items(generate.items_of(generate.articles([str(dump)])), unfinished, line_bytes=500)
    unfinished.rename(dumps / "wikidata-20260101-all.json.gz")


def watched(command: list[str | Path]) -> tuple[int, int, int]:
    """Run a command; return its user CPU and wall time in seconds, and the peak memory of all its processes in MB."""
    start, before, peak = time.monotonic(), os.times().children_user, 0
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=sys.stderr) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(shared_size, family(process.pid))))
            time.sleep(1)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return round(os.times().children_user - before), round(time.monotonic() - start), round(peak / 1024)


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    pids = [pid]
    for parent in pids:
        try:
            for task in Path(f"/proc/{parent}/task").iterdir():
                pids += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return pids


def shared_size(pid: int) -> int:
    """Return the proportional set size of a process in KB, 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def counts_of(output: Path, wiki: str) -> list[int]:
    """Return the numbers of articles, links and pairs by the manifests."""
    ledger = json.loads((output / f"sentences/{wiki}/manifest.json").read_text())["ledger"][wiki]
    pairs = json.loads((output / "pairs/manifest.json").read_text())
    return [ledger["pages"]["articles"], ledger["links"]["seen"], pairs["configs"]["pairs"]["rows"]]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        main()
