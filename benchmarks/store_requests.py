"""Requests of `wikianchor pairs` to an object store, over sentence shards and output shards: for benchmarks/shuffle.py.

The store is moto, in this process; everything is counted from the start of the stage to its end. Sentences, titles
and entities are read from the store and the dataset is written to it, by each kind of shuffle.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from measure import table
from pyarrow import fs

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.stand_in import run_pairs, small_wiki, write_entities, write_sentences  # noqa: E402

PAGES, WIKI = 240, "enwiki"
# Sentence shards x output shards: the four corners, and two between them that the fit is checked with.
GRID = ((4, 4), (4, 24), (24, 4), (24, 24), (12, 12), (8, 16))
SHUFFLES = ("files", "beam")
_REQUEST = re.compile(r'"(?:\x1b\[\d+m)*(GET|HEAD|PUT|POST|DELETE) ')


class Requests(logging.Handler):
    """Counts the requests that a server logs, by method."""

    def __init__(self) -> None:
        super().__init__()
        self.methods: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        self.methods.update(_REQUEST.findall(record.getMessage()))


@contextmanager
def bucket() -> Iterator[tuple[str, Requests]]:
    """Start a store, and give the URI of a bucket in it and the count of its requests."""
    from moto.server import ThreadedMotoServer

    server, counted, log = ThreadedMotoServer(port=0, verbose=False), Requests(), logging.getLogger("werkzeug")
    log.handlers, log.propagate = [counted], False
    log.setLevel(logging.INFO)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    os.environ.update({**keys, "AWS_ENDPOINT_URL": f"http://{host}:{port}"})
    try:
        files, inner = fs.FileSystem.from_uri("s3://bucket?allow_bucket_creation=true")
        files.create_dir(inner)
        yield "s3://bucket", counted
    finally:
        server.stop()


def request_counts(work: Path) -> str:
    """Run the stage over the grid, and return a table of its requests and what they come to for each shard."""
    lines, fits = [], []
    with bucket() as (uri, counted):
        for shuffle in SHUFFLES:
            points = [point for sizes in GRID if (point := _counted(work, uri, counted, shuffle, *sizes))]
            for sentences, outputs, methods in points:
                of_method = [methods[name] for name in ("GET", "HEAD", "PUT", "POST", "DELETE")]
                lines.append([shuffle, sentences, outputs, methods.total(), *of_method])
            fits.append(f"`{shuffle}`: {_fit(points)}")
    head = ["shuffle", "sentence shards S", "output shards O", "requests", "GET", "HEAD", "PUT", "POST", "DELETE"]
    return f"{table(head, lines)}\n\nLeast squares, O output shards: {'; '.join(fits)}."


def _counted(
    work: Path, uri: str, counted: Requests, shuffle: str, sentence_shards: int, output_shards: int
) -> tuple[int, int, Counter[str]]:
    name = f"{shuffle}-{sentence_shards}-{output_shards}"
    pages, items = small_wiki(PAGES)
    write_sentences(work / name / "sentences", WIKI, pages, sentence_shards)
    write_entities(work / name / "entities", [WIKI], items)
    fs.copy_files(str(work / name), f"{uri}/{name}")
    counted.methods.clear()
    sentences: Any = [f"{uri}/{name}/sentences"]
    entities: Any = f"{uri}/{name}/entities"
    output: Any = f"{uri}/{name}/pairs"
    rows_per_shard = -(-_links(pages) // output_shards)
    manifest = run_pairs(sentences, entities, output, [f"--shuffle={shuffle}"], rows_per_shard, duplicates=True)
    found = counted.methods.copy()
    print(f"{name}: {found}", file=sys.stderr)
    return sentence_shards, len(manifest["configs"]["pairs"]["shards"]), found


def _links(pages: Sequence[Any]) -> int:
    return sum(sentence.count("[[") for page in pages for sentence in page.sentences)


def _fit(points: Sequence[tuple[int, int, Counter[str]]]) -> str:
    """Return requests as a + b S + c O + d S O."""
    terms = np.array([[1, sentences, outputs, sentences * outputs] for sentences, outputs, _ in points])
    totals = np.array([methods.total() for *_, methods in points])
    a, b, c, d = np.linalg.lstsq(terms, totals, rcond=None)[0]
    worst = float(np.abs(terms @ np.array([a, b, c, d]) - totals).max())
    return f"{a:.0f} + {b:.1f} S + {c:.1f} O + {d:.2f} S O, at most {worst:.0f} off"
