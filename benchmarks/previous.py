"""`wikianchor sentences --previous` against a full build, on two dumps that differ by one page in twenty.

    WIKIANCHOR_DATA=data python benchmarks/previous.py

A slice of a real dump is copied under new titles until there is enough to measure; in the second dump every twentieth
page has another revision and a sentence more. Both are packed as Wikimedia packs them (multistream bz2), and as gzip
and plain, which shows what decompression takes: to know which pages have changed all of a dump has to be unpacked. The
shards that come out are compared byte for byte. Starting Python and Beam is measured on a dump of one short article,
and the table gives the ratio with and without it.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import slices
from measure import fresh, parser, ratio, report, rounds_of, run, seconds, table, wikianchor

PAGES = re.compile(rb"  <page>.*?</page>\n", re.DOTALL)
SHARE = 20
PER_STREAM = 100


def main() -> None:
    """Measure and print a table."""
    flags = parser(__doc__)
    flags.add_argument("--language", default="uk", choices=sorted(slices.SLICES))
    flags.add_argument("--megabytes", type=float, default=40, help="XML at least (40)")
    arguments = flags.parse_args()
    work: Path = arguments.work
    xml = bz2.decompress(slices.dump(work, arguments.language, arguments.megabytes).read_bytes())
    nothing = slices.nothing(work, arguments.language)
    rows: list[list[Any]] = []
    for packing in ("bz2", "gz", "plain"):
        old, new = (pack(work, xml, packing, month) for month in (1, 2))
        job(old, work / "previous-old")
        cases: dict[str, Callable[[], float]] = {
            "full": partial(job, new, work / "previous-full"),
            "previous": partial(job, new, work / "previous-new", f"--previous={work / 'previous-old'}"),
            "start": partial(job, nothing, work / "previous-start"),
            "unpacking": partial(seconds, partial(unpack, new)),
        }
        found = rounds_of(arguments.rounds, cases)
        same = digest(work / "previous-full") == digest(work / "previous-new")
        net = {
            name: [time - start for time, start in zip(found[name], found["start"], strict=True)]
            for name in ("full", "previous")
        }
        unpacked = found["unpacking"]
        rest = {name: [time - one for time, one in zip(net[name], unpacked, strict=True)] for name in net}
        full, again = found["full"], found["previous"]
        rows.append(
            [
                packing,
                len(xml) / 1e6,
                median(full),
                median(again),
                ratio(full, again),
                ratio(net["full"], net["previous"]),
                median(unpacked),
                ratio(rest["full"], rest["previous"]),
                "yes" if same else "NO",
            ]
        )
    head = ["packing", "MB of XML", "full, CPU s", "--previous, CPU s", "times less", "both less start"]
    head += ["unpacking, CPU s", "both less start and unpacking", "same bytes"]
    report("sentences of a dump that differs by 5 % from the last", table(head, rows) + "\n\nTarget: 5 times less.")


def unpack(path: Path) -> None:
    """Read all of a dump, as Python unpacks it."""
    openers: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open}
    with openers.get(path.suffix, open)(path, "rb") as file:
        while file.read(1 << 20):
            pass


def job(dump: Path, output: Path, *flags: str) -> float:
    """Run the job and return its CPU."""
    return run(wikianchor("sentences", f"--dumps={dump}", f"--output={fresh(output)}", *flags)).user


def pack(work: Path, xml: bytes, packing: str, month: int) -> Path:
    """Write a month's dump."""
    pages = PAGES.findall(xml)
    head, end = xml[: xml.index(pages[0])], b"</mediawiki>\n"
    if month == 2:
        pages = [changed(page) if number % SHARE == 0 else page for number, page in enumerate(pages)]
    path = work / f"previous-{month}-pages-articles.xml{'' if packing == 'plain' else f'.{packing}'}"
    if packing == "bz2":
        streams = [b"".join(pages[first : first + PER_STREAM]) for first in range(0, len(pages), PER_STREAM)]
        data = b"".join(bz2.compress(stream) for stream in (head, *streams, end))
    else:
        data = head + b"".join(pages) + end
        data = gzip.compress(data, 6, mtime=0) if packing == "gz" else data
    path.write_bytes(data)
    return path


def changed(page: bytes) -> bytes:
    """Return a page at another revision, with a sentence more."""
    page = re.sub(rb"(<revision>\s*<id>)(\d+)", lambda found: found[1] + b"9" + found[2], page, count=1)
    return page.replace(b"</text>", b"\n\nOne more sentence about the [[Moon]] was added here.\n</text>", 1)


def digest(directory: Path) -> str:
    """Return one checksum for all files of a dataset."""
    found = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            found.update(f"{path.relative_to(directory)}\n".encode() + path.read_bytes())
    return found.hexdigest()


if __name__ == "__main__":
    main()
