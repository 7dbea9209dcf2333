"""What a monthly release costs: bytes that the Hub has not got yet, and the page index.

    WIKIANCHOR_DATA=data python benchmarks/publishing.py [PART ...]

- `dedup`: two months of a wiki, the second built with `--previous`, are uploaded by the Hub's own client (hf_xet) to a
  store on this disk, with and without Parquet's content-defined chunking. Needs the extra `hub` and pyarrow 21.
- `index`: size and CPU of a shard with and without the page index, and the pages that the index tells apart.

In the second month one of a hundred, or of twenty, pages has lost a sentence and has a new revision; one of a thousand
pages is gone, and as many are new. Which ones depends on hashes of the page ids.
"""

from __future__ import annotations

import bz2
import re
from argparse import Namespace
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from lib import generate, slices
from lib.measure import fresh, job, parser, ratio, report, rounds_of, run_parts, seconds, table

# Long articles, articles of middle length, and a whole wiki of short ones.
DUMPS = {"en": "", "el": "", "pap": "with-templates/papwiki-20220702.xml.bz2"}
RATES = (0.01, 0.05)
GONE = 0.001
# The chunks of Xet are 64 KB on average.
CHUNK = 64 << 10
# As `PartWriter` writes them.
TODAY: dict[str, Any] = {"compression": "zstd", "compression_level": 2, "write_page_checksum": True}
ROW_GROUP = 10_000
# Columns whose values repeat: a dictionary of sentences would be a page that is not cut by content.
REPEATING = ["wiki", "page_id", "rev_id", "title", "region", "sentence_index"]
PAGES = re.compile(rb"[ \t]*<page>.*?</page>\s*", re.DOTALL)
PROSE = re.compile(rb"^(?![ *#:;|{}<=!\[&])[^\n]{150,}$", re.MULTILINE)


def main() -> None:
    """Measure and print the tables."""
    flags = parser(__doc__, parts=list(PARTS))
    flags.add_argument("--languages", nargs="+", choices=list(DUMPS), default=list(DUMPS), help="wikis (all)")
    run_parts(PARTS, flags)


# ------------------------------------------------------------------------------------------------------- deduplication


def chunked(smallest: int) -> dict[str, Any]:
    """Return the writer's options for data pages of `smallest` to 4 times as many KB, cut by content."""
    sizes = {"min_chunk_size": smallest << 10, "max_chunk_size": 4 * smallest << 10}
    return {"use_dictionary": REPEATING, "use_content_defined_chunking": sizes}


WRITERS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "256 KB to 1 MB": chunked(256),
    "64 to 256 KB": chunked(64),
    "16 to 64 KB": chunked(16),
}


def compare_chunks(arguments: Namespace) -> None:
    """Print how much of the second month is uploaded, for each kind of data pages."""
    rows: list[list[Any]] = []
    for language in arguments.languages:
        for rate in RATES:
            months = [read(path) for path in two_months(arguments.work, language, rate)]
            sizes = {name: upload(arguments.work, months, options) for name, options in WRITERS.items()}
            whole = sizes["as it is"][0]
            pages = len(months[0]["page_id"].unique()) * CHUNK / whole
            grown = [size / whole for size, _ in list(sizes.values())[1:]]
            cells = [sent / size for size, sent in sizes.values()]
            rows.append([f"{language}, {100 * rate:.0f} %", whole / 1e6, pages, *cells, *grown])
    head = ["wiki, pages changed", "MB", "pages in 64 KB", *(f"sent, {name}" for name in WRITERS)]
    head += [f"size, {name}" for name in list(WRITERS)[1:]]
    report("releases of two months: share of the second that is sent, and size of the files", table(head, rows))


def two_months(work: Path, language: str, rate: float) -> list[Path]:
    """Build `sentences` of a dump and, with `--previous`, of the dump of a month later; return both datasets."""
    path = slices.data() / DUMPS[language] if DUMPS[language] else slices.dump(work, language)
    xml = bz2.decompress(path.read_bytes())
    pages = PAGES.findall(xml)
    head, end = xml[: xml.index(pages[0])], b"</mediawiki>\n"
    new = max(1, round(GONE * len(pages)))
    first = pages[:-new]
    second = [lose_sentence(page) if share("changed", page) < rate else page for page in first]
    second = [page for page in second if share("gone", page) >= GONE] + pages[-new:]
    outputs: list[Path] = []
    for number, month in enumerate((first, second), 1):
        dump = work / f"month-{number}-{language}wiki-pages-articles.xml"
        dump.write_bytes(head + b"".join(month) + end)
        output = work / f"month-{number}"
        job("sentences", output, f"--dumps={dump}", *(f"--previous={last}" for last in outputs))
        outputs.append(output)
    return outputs


def share(purpose: str, page: bytes) -> float:
    """Return a number in [0, 1) by the hash of a page's id."""
    match = re.search(rb"<id>(\d+)</id>", page)
    return generate.key_of(purpose, match[1].decode() if match else "") / 2**64


def lose_sentence(page: bytes) -> bytes:
    """Return a page at another revision, with one sentence less in one of its paragraphs."""
    page = re.sub(rb"(<revision>\s*<id>)(\d+)", lambda match: match[1] + b"9" + match[2], page, count=1)
    paragraphs = list(PROSE.finditer(page, page.index(b"<text")))
    if not paragraphs:
        return page
    paragraph = paragraphs[int(share("paragraph", page) * len(paragraphs))]
    last = paragraph[0].rfind(b". ", 0, -40)
    return page[: paragraph.start()] + paragraph[0][: max(0, last + 1)] + page[paragraph.end() :]


def read(dataset: Path) -> pa.Table:
    """Return the sentences of a dataset."""
    return pq.read_table(dataset / "data" / "sentences")


def write(path: Path, rows: pa.Table, options: Mapping[str, Any]) -> Path:
    """Write rows as `PartWriter` does, with other options, and return the path."""
    with pq.ParquetWriter(path, rows.schema, **{"write_page_index": True, **TODAY, **options}) as file:
        for begin in range(0, len(rows), ROW_GROUP):
            file.write_table(rows.slice(begin, ROW_GROUP), row_group_size=ROW_GROUP)
    return path


def upload(work: Path, months: list[pa.Table], options: Mapping[str, Any]) -> tuple[int, int]:
    """Upload two months one after the other; return the size of the second and the bytes of it that were sent."""
    from hf_xet import XetSession

    store = fresh(work / "xet").absolute()
    store.mkdir(parents=True)
    sent, size = 0, 0
    for number, rows in enumerate(months):
        path = write(work / f"month-{number}.parquet", rows, options)
        commit = XetSession().new_upload_commit(endpoint=f"local://{store}")
        commit.start_upload_file(str(path.absolute()))
        sent, size = commit.wait_to_finish().dedup_metrics.total_bytes_uploaded, path.stat().st_size
    return size, sent


# ---------------------------------------------------------------------------------------------------------- page index


def compare_index(arguments: Namespace) -> None:
    """Print size and CPU with and without the page index."""
    rows: list[list[Any]] = []
    for language in arguments.languages:
        months = two_months(arguments.work, language, RATES[0])
        months_rows = read(months[0])
        paths = {name: arguments.work / f"{name}.parquet" for name in ("with", "without")}

        def written(name: str, paths: Mapping[str, Path] = paths, table_rows: pa.Table = months_rows) -> float:
            options = {"write_page_index": name == "with"}
            return seconds(lambda: [write(paths[name], table_rows, options) for _ in range(5)])

        times = rounds_of(arguments.rounds, {name: partial(written, name) for name in paths})
        sizes = {name: path.stat().st_size for name, path in paths.items()}
        grown = 100 * (sizes["with"] / sizes["without"] - 1)
        groups = pq.ParquetFile(paths["with"]).num_row_groups
        cells = [sizes["without"] / 1e6, grown, median(times["without"]) / 5]
        rows.append([language, *cells, ratio(times["with"], times["without"]), groups])
    head = ["wiki", "MB without", "% more with", "CPU s without", "times with", "row groups"]
    report("page index", table(head, rows))


PARTS = {"dedup": compare_chunks, "index": compare_index}

if __name__ == "__main__":
    main()
