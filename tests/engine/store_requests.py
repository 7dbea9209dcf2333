"""Count the requests of `wikianchor pairs` to an object store (moto, in this process)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from pyarrow import fs

from tests.servers import s3_server
from tests.stand_in import run_pairs, small_wiki, write_entities, write_sentences

PAGES, WIKI = 60, "enwiki"
SHUFFLES = ("files", "beam")


@contextmanager
def bucket() -> Iterator[tuple[str, Counter[str]]]:
    """Start a store, and give the URI of a bucket in it and the count of its requests by method."""
    counted: Counter[str] = Counter()
    with s3_server.serving(counted) as environment, mock.patch.dict(os.environ, environment):
        files, inner = fs.FileSystem.from_uri("s3://bucket?allow_bucket_creation=true")
        files.create_dir(inner)
        yield "s3://bucket", counted


def count_requests(
    work: Path, uri: str, counted: Counter[str], shuffle: str, sentence_shards: int, output_shards: int
) -> Counter[str]:
    """Run the stage on a small wiki in a bucket, and return how many requests of each method it made.

    Args:
        work: for the inputs, before they are copied into the bucket.
        uri: the address of the bucket.
        counted: counts its requests.
        shuffle: "files" or "beam".
        sentence_shards: the sentence shards of the input; as many shards have its titles.
        output_shards: the output shards of pairs.
    """
    name = f"{shuffle}-{sentence_shards}-{output_shards}"
    pages, items = small_wiki(PAGES)
    write_sentences(work / name / "sentences", WIKI, pages, sentence_shards)
    write_entities(work / name / "entities", [WIKI], items)
    fs.copy_files(str(work / name), f"{uri}/{name}")
    counted.clear()
    sentences: Any = [f"{uri}/{name}/sentences"]
    entities: Any = f"{uri}/{name}/entities"
    output: Any = f"{uri}/{name}/pairs"
    rows_per_shard = -(-_links(pages) // output_shards)
    manifest = run_pairs(sentences, entities, output, [f"--shuffle={shuffle}"], rows_per_shard, duplicates=True)
    assert len(manifest["configs"]["pairs"]["shards"]) == output_shards
    return counted.copy()


def _links(pages: Sequence[Any]) -> int:
    return sum(sentence.count("[[") for page in pages for sentence in page.sentences)
