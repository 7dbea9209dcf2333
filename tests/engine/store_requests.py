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
from unittest import mock

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
METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE")
# werkzeug colours some of its lines.
_REQUEST = re.compile(rf'"(?:\x1b\[\d+m)*({"|".join(METHODS)}) ')


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
    level = log.level
    log.addHandler(counted)
    log.setLevel(logging.INFO)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    try:
        with mock.patch.dict(os.environ, {**keys, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}):
            files, inner = fs.FileSystem.from_uri("s3://bucket?allow_bucket_creation=true")
            files.create_dir(inner)
            yield "s3://bucket", counted
    finally:
        server.stop()
        log.removeHandler(counted)
        log.setLevel(level)


def request_table(work: Path) -> str:
    """Run the stage over the grid, and return a table of its requests and what they come to for each shard."""
    lines, fits = [], []
    with bucket() as (uri, counted):
        for shuffle in SHUFFLES:
            points = [(size, count_requests(work, uri, counted, shuffle, *size)) for size in GRID]
            for size, methods in points:
                lines.append([shuffle, *size, methods.total(), *(methods[name] for name in METHODS)])
            fits.append(f"`{shuffle}`: {_fit([(size, methods.total()) for size, methods in points])}")
    head = ["shuffle", "sentence shards S", "output shards O", "requests", *METHODS]
    return f"{table(head, lines)}\n\nLeast squares: {'; '.join(fits)}."


def count_requests(
    work: Path, uri: str, counted: Requests, shuffle: str, sentence_shards: int, output_shards: int
) -> Counter[str]:
    """Run the stage on a small wiki in a bucket, and return how many requests of each method it made.

    Args:
        work: for the inputs, before they are copied into the bucket.
        uri: of the bucket.
        counted: counts its requests.
        shuffle: "files" or "beam".
        sentence_shards: of the input; as many shards have its titles.
        output_shards: of pairs.
    """
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
    assert len(manifest["configs"]["pairs"]["shards"]) == output_shards
    print(f"{name}: {counted.methods}", file=sys.stderr)
    return counted.methods.copy()


def _links(pages: Sequence[Any]) -> int:
    return sum(sentence.count("[[") for page in pages for sentence in page.sentences)


def _fit(points: Sequence[tuple[tuple[int, int], int]]) -> str:
    """Return requests as a + b S + c O + d S O."""
    terms = np.array([[1, sentences, outputs, sentences * outputs] for (sentences, outputs), _ in points])
    totals = np.array([total for _, total in points])
    fitted = np.linalg.lstsq(terms, totals, rcond=None)[0]
    worst = float(np.abs(terms @ fitted - totals).max())
    a, b, c, d = fitted
    return f"{a:.0f} + {b:.1f} S + {c:.1f} O + {abs(d):.2f} S O, at most {worst:.0f} off"
