"""A wiki of a million pages through `wikianchor build`, with one worker and with two.

    WIKIANCHOR_DATA=data python benchmarks/million.py --work=/a/disk/with/30/GB

The pages are real ones of a slice under new titles and ids, the long ones left out so that the mean is that of
Wikipedia, about ten KB; each has an item with a type, and every link leads to one of them. No two have a sentence with
a link in common, since `pairs` leaves such sentences out. Memory is that of all processes of a run together, shared
pages counted once (proportional set size), sampled each second. A process may have 256 files open. Both runs must give
the same bytes.
"""

import resource
import sys
from argparse import Namespace
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any

from lib import generate, slices
from lib.measure import apart, digest, fresh, report, run_parts, table, watched, wikianchor

from wikianchor.pipelines.dataset.reader import dataset_at

MEAN_BYTES = 10_000


def compare(arguments: Namespace) -> None:
    """Measure and print the table."""
    dumps: Path = arguments.work / f"million-{arguments.pages}"
    if not (dumps / "wikidata-20260101-all.json.gz").exists():
        apart(write, dumps, arguments.language, arguments.pages)
    # Child processes inherit it.
    resource.setrlimit(resource.RLIMIT_NOFILE, (arguments.open_files, arguments.open_files))
    rows: list[list[Any]] = []
    wiki = f"{arguments.language}wiki"
    digests: set[str] = set()
    for name, workers in {"one worker": [], "two workers": ["--workers=2"]}.items():
        output = fresh(arguments.work / f"million-out-{len(rows)}")
        costs = watched(wikianchor("build", f"--dumps={dumps}", f"--output={output}", "--min_links=10", *workers))
        digests.add(digest(output))
        counts = dataset_at(f"{output}/sentences/{wiki}").ledger[wiki]
        pairs = dataset_at(f"{output}/pairs").rows("pairs")
        rows.append([name, *costs, counts["pages"]["articles"], counts["links"]["seen"], pairs])
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
    pages_by_size = sorted(source.pages, key=lambda page: (len(page.text), page.page_id))
    sizes = enumerate(accumulate(len(page.text) for page in pages_by_size), 1)
    count = sum(1 for _ in takewhile(lambda item: item[1] <= MEAN_BYTES * item[0], sizes))
    chosen = sorted(pages_by_size[:count], key=lambda page: page.page_id)
    source = generate.Source(source.head, source.site, chosen)
    dump = dumps / f"{language}wiki-20260101-pages-articles.xml"
    generate.write_dump(source, dump, pages=pages, closed=True, distinct=True)
    titles = generate.article_titles(str(dump))
    wikidata = dumps / "wikidata-20260101-all.json.gz"
    generate.kept(wikidata, lambda path: generate.write_items(f"{language}wiki", titles, path, line_bytes=500))


if __name__ == "__main__":
    flags: dict[str, tuple[Any, str]] = {
        "--language": ("en", "whose slice"),
        "--pages": (1_000_000, "number of pages"),
        "--open_files": (256, "of a process, at most"),
    }
    run_parts(__doc__, {"million": compare}, flags, rounds=1)
