"""`wikianchor sentences` of a MediaWiki Content File Export against the same articles as a dump.

    WIKIANCHOR_DATA=data python benchmarks/exports.py

An export is one bz2 stream a file, and holds the pages of all namespaces, about twice the bytes of the articles. Here
each article of a slice has a talk page of the same text. The rows must be the same; what the export costs more is the
decompression of those pages, which are passed over before their text is decoded, and finding the blocks of a stream.
What it takes to start is left out.
"""

from __future__ import annotations

import bz2
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import slices
from measure import fresh, parser, ratio, report, rounds_of, run, seconds, table, wikianchor

from wikianchor.pipelines.wikimedia.dumps import Chunk
from wikianchor.pipelines.wikimedia.pages import cut_pages, page_namespace

TALK = 1


def main() -> None:
    """Measure and print a table."""
    flags = parser(__doc__)
    flags.add_argument("--language", default="en", choices=sorted(slices.SLICES), help="whose slices (en)")
    flags.add_argument("--megabytes", type=float, default=64, help="XML of the dump (64)")
    arguments = flags.parse_args()
    work: Path = arguments.work
    dump = slices.dump(work, arguments.language, arguments.megabytes)
    files = {
        "dump, multistream": dump,
        "the same in one stream": one_stream(dump, "single", lambda data: [data]),
        "export, with talk pages": one_stream(dump, "export", with_talk),
    }
    nothing = slices.nothing(work, arguments.language)
    cases: dict[str, Callable[[], float]] = {"start": partial(job, nothing, work)}
    for name, path in files.items():
        cases[f"{name}: job"] = partial(job, path, work)
        cases[f"{name}: bz2"] = partial(seconds, partial(decompress, path))
    found = rounds_of(arguments.rounds, cases)
    net = {
        name: [time - start for time, start in zip(found[f"{name}: job"], found["start"], strict=True)]
        for name in files
    }
    rows: list[list[Any]] = []
    expected = sentences_of(dump, work)
    for name, path in files.items():
        if not sentences_of(path, work).equals(expected):
            raise SystemExit(f"{path}: other rows than those of {dump}")
        unpacked, bare = len(decompress(path)) / 1e6, found[f"{name}: bz2"]
        more = ratio(net[name], net["dump, multistream"])
        rows.append([name, path.stat().st_size / 1e6, unpacked, median(bare), median(net[name]), more])
    head = ["file", "MB", "MB of XML", "bz2, CPU s", "job, CPU s", "job / job of the dump"]
    report("exports and dumps", f"{table(head, rows)}\n\nThe {expected.num_rows:,} rows of all three are the same.")


def one_stream(dump: Path, name: str, change: Callable[[bytes], list[bytes] | Iterator[bytes]]) -> Path:
    """Return a dump packed again as one bz2 stream, made unless it is there."""
    path = dump.with_name(f"{name}-{dump.name}")
    if not path.exists():
        unfinished = path.with_suffix(".part")
        with bz2.open(unfinished, "wb") as file:
            for data in change(decompress(dump)):
                file.write(data)
        unfinished.rename(path)
    return path


def with_talk(data: bytes) -> Iterator[bytes]:
    """Yield a document with a talk page of the same length behind each article."""
    begin = data.index(b"<page>")
    yield data[:begin]
    for page, _ in cut_pages([Chunk(data[begin:], 0, True)], "dump"):
        yield page + b"\n"
        if page_namespace(page, "dump") == 0:
            page = page.replace(b"<title>", b"<title>Talk:", 1).replace(b"<ns>0</ns>", b"<ns>%d</ns>" % TALK, 1)
            before, _, after = page.partition(b"<id>")
            # An id that no other page has.
            yield before + b"<id>9" + after + b"\n"
    yield b"</mediawiki>\n"


def decompress(dump: Path) -> bytes:
    """Return what is in a file."""
    return bz2.decompress(dump.read_bytes())


def job(dump: Path, work: Path) -> float:
    """Run the job and return its CPU."""
    return run(wikianchor("sentences", f"--dumps={dump}", f"--output={fresh(work / 'sentences')}")).user


def sentences_of(dump: Path, work: Path) -> pa.Table:
    """Run the job and return its sentences, in their order."""
    job(dump, work)
    return pq.read_table(work / "sentences/data/sentences")


if __name__ == "__main__":
    main()
