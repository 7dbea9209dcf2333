"""A wiki of a million pages through `wikianchor build` on this machine, twice, with another number of workers.

    WIKIANCHOR_DATA=data python benchmarks/million.py --work=/a/disk/with/30/GB

The pages are real ones of a slice under new titles and ids, the long ones left out so that the mean is that of
Wikipedia, about ten KB; each has an item with a type, and every link leads to one of them. Memory is that of all
processes of a run together, the pages that they share counted once (proportional set size), looked at each second.
A process may have 256 files open. Both runs must give the same manifests.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import generate
import slices
from measure import fresh, parser, report, table, wikianchor

MEAN_BYTES = 10_000
RUNS = {
    "one worker": [],
    "two workers": ["--direct_num_workers=2", "--direct_running_mode=multi_processing"],
}


def main() -> None:
    """Measure and print the table."""
    flags = parser(__doc__, rounds=1)
    flags.add_argument("--language", default="en", help="whose slice (en)")
    flags.add_argument("--pages", type=int, default=1_000_000, help="how many (1000000)")
    flags.add_argument("--open_files", type=int, default=256, help="that a process may have (256)")
    arguments = flags.parse_args()
    # The processes that are started here inherit it.
    resource.setrlimit(resource.RLIMIT_NOFILE, (arguments.open_files, arguments.open_files))
    dumps: Path = arguments.work / f"million-{arguments.pages}"
    made = make(dumps, arguments.language, arguments.pages)
    rows: list[list[Any]] = []
    digests: list[str] = []
    for name, more in RUNS.items():
        output = fresh(arguments.work / f"million-out-{len(digests)}")
        cost = watched(wikianchor("build", f"--dumps={dumps}", f"--output={output}", "--min_links=10", *more))
        digests.append(digest(output))
        found = ledger(output, arguments.language)
        rows.append([name, cost["seconds"], cost["wall"], cost["peak"], found["pages"], found["links"], found["pairs"]])
        print(rows[-1], file=sys.stderr)
    head = ["run", "user CPU s", "wall s", "peak of all processes, MB", "articles", "links seen", "pairs"]
    same = "the same" if len(set(digests)) == 1 else "DIFFERENT"
    limits = f"less than 4,096 MB, {arguments.open_files} open files in a process"
    last = f"Shards of both runs: {same} bytes. Target: the same, {limits}."
    report("a million pages", f"{made}\n\n{table(head, rows)}\n\n{last}")


def make(dumps: Path, language: str, pages: int) -> str:
    """Make the dump and its items unless they are there, and return a line about them."""
    dump = dumps / f"{language}wiki-20260101-pages-articles.xml"
    items = dumps / "wikidata-20260101-all.json.gz"
    if not items.exists():
        subprocess.run([sys.executable, __file__, "--make", str(dumps), language, str(pages)], check=True)
    return f"{dump.stat().st_size / 1e9:.1f} GB of XML, {items.stat().st_size / 1e6:.0f} MB of Wikidata."


def write(dumps: Path, language: str, pages: int) -> None:
    """Write the dump and its items, in a process that ends with it: a child's peak begins with its parent's."""
    source = generate.read_source(slices.paths(language))
    chosen = short_enough(source.pages)
    source = generate.Source(source.head, source.site, chosen)
    dump = dumps / f"{language}wiki-20260101-pages-articles.xml"
    generate.write_dump(source, dump, pages=pages, closed=True)
    unfinished = dumps / "unfinished-wikidata.json.gz"
    generate.write_items(generate.items_of(generate.articles([str(dump)])), unfinished, line_bytes=500)
    unfinished.rename(dumps / "wikidata-20260101-all.json.gz")


def short_enough(pages: list[Any]) -> list[Any]:
    """Return the pages, from the shortest on, that have the wanted mean, in their old order."""
    ordered = sorted(pages, key=lambda page: (len(page.text), page.page_id))
    size = 0
    for number, page in enumerate(ordered):
        size += len(page.text)
        if size > MEAN_BYTES * (number + 1):
            ordered = ordered[:number]
            break
    return sorted(ordered, key=lambda page: int(page.page_id))


def watched(command: list[str | Path]) -> dict[str, float]:
    """Run a command; return its user CPU and wall seconds, and the most memory that all its processes held, in MB."""
    start = time.monotonic()
    before = os.times().children_user
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=sys.stderr) as process:
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, sum(map(shared_size, family(process.pid))))
            time.sleep(1)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return {
        "seconds": round(os.times().children_user - before),
        "wall": round(time.monotonic() - start),
        "peak": round(peak / 1024),
    }


def family(pid: int) -> list[int]:
    """Return a process and its children, and theirs."""
    found = [pid]
    for parent in found:
        try:
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def shared_size(pid: int) -> int:
    """Return the proportional set size of a process in KB, 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def digest(output: Path) -> str:
    """Return one checksum for the shards and ledgers of all datasets."""
    found = hashlib.sha256()
    for path in sorted(output.rglob("manifest.json")):
        manifest = json.loads(path.read_text())
        found.update(json.dumps([manifest["configs"], manifest["ledger"]], sort_keys=True).encode())
    return found.hexdigest()


def ledger(output: Path, language: str) -> dict[str, int]:
    """Return what the manifests say of how much there was; that links balance is checked by the job itself."""
    sentences = json.loads((output / f"sentences/{language}wiki/manifest.json").read_text())
    pairs = json.loads((output / "pairs/manifest.json").read_text())
    known = sentences["ledger"][f"{language}wiki"]
    return {
        "pages": known["pages"]["articles"],
        "links": known["links"]["seen"],
        "pairs": pairs["configs"]["pairs"]["rows"],
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        write(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        main()
