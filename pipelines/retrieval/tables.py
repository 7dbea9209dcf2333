"""What the steps of `retrieval` share: how rows are made, the tables between steps, the passages of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from wikianchor.pipelines.arrays.hashing import Hashes, hash_strings
from wikianchor.pipelines.arrays.minhash import fold
from wikianchor.pipelines.dataset.part_writer import Part, write_part
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.retrieval.options import RetrievalOptions
from wikianchor.schemas.fields import integers, strings

# Candidates that are looked at for a query that is wanted: many have no evidence, or a target that has enough queries.
CANDIDATES_OF_QUERY = 20
# Queries of a page, and of an item that is looked for.
OF_PAGE, OF_TARGET = 5, 5
# Passages of a page that are in the corpus: the first ones. Long articles would have most of it.
PASSAGES_OF_PAGE = 4
# Bytes of a sentence, of letters and digits that are left of it beside masked names, and of a passage that is not too
# short: of scripts that need fewer letters each takes more bytes. Characters of a passage that are kept.
SENTENCE, LEFT, SHORT, KEPT = (40, 1_000), 30, 40, 2_000
PARAGRAPH = "paragraph"
HOLE = "\ufffc"

CANDIDATES = pa.schema(
    [
        ("rank", pa.uint64()),
        ("order", pa.uint64()),
        ("wiki", pa.string()),
        ("page_id", pa.int64()),
        ("rev_id", pa.int64()),
        ("timestamp", pa.string()),
        ("title", pa.string()),
        ("qid", pa.int64()),
        ("sentence_index", pa.int32()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("sentence", pa.string()),
        ("link", pa.int32()),
        ("surface", pa.string()),
        ("target", pa.string()),
        ("target_qid", pa.int64()),
        ("others", integers(pa.int64())),
        # Of merged candidates alone.
        ("text", pa.string()),
        ("masked", strings()),
        ("hints", integers(pa.int64())),
        # Of queries alone.
        ("evidence", integers(pa.int64())),
        ("distractors", integers(pa.int64())),
    ]
)


class Found(NamedTuple):
    """The candidates of a shard: their table, and counts of links by wiki."""

    order: int
    path: WorkPath
    counts: dict[str, int]


class Merged(NamedTuple):
    """The candidates of all shards: their table, and counts of links by wiki."""

    path: WorkPath
    counts: dict[str, int]


class Near(NamedTuple):
    """The candidates that earlier documents nearly have, by a shard of these."""

    numbers: list[int]


class Chosen(NamedTuple):
    """The queries: their table, the share of other pages that the corpus has, and counts of links by wiki."""

    path: WorkPath
    share: float
    counts: dict[str, int]


class Targets(NamedTuple):
    """What a shard says of the pages of targets.

    Attributes:
        numbers: the candidates whose target has a page here.
        evidence: for each of these the items of its page and sentence to which passages of the target link.
        repeated: the candidates whose sentence is, or nearly is, on the page of the target.
        passages: number of all passages.
    """

    numbers: list[int]
    evidence: list[list[int]]
    repeated: list[int]
    passages: int


class Passages(NamedTuple):
    """The part of a shard.

    Attributes:
        order: number of the shard.
        parts: the part, if it has rows.
        graded: item, id and grade of each passage of targets.
        items: items of distractors that have a passage.
        counts: of passages by wiki.
    """

    order: int
    parts: tuple[Part, ...]
    graded: list[tuple[int, str, int]]
    items: list[int]
    counts: dict[str, int]


@dataclass(frozen=True)
class RetrievalTask:
    """How rows are made.

    Attributes:
        work: the directories of the run.
        config: `seed`, `sample`, `negatives` and `max_passages` are used.
        documents, mentions, entities: directories of the datasets.
    """

    work: Workspace
    config: RetrievalOptions
    documents: str
    mentions: str
    entities: str


def write_table(work: Workspace, name: str, order: int, rows: Sequence[Mapping[str, Any]]) -> str:
    """Write candidates below the workspace, and return the path; "" for none."""
    whole = [{**dict.fromkeys(CANDIDATES.names), **row} for row in rows]
    return next((part.path for part in write_part(work.scratch, name, order, CANDIDATES, whole)), "")


def read_table(path: str) -> list[dict[str, Any]]:
    """Return candidates; none for ""."""
    return [row for batch in read_batches(path, CANDIDATES.names) for row in batch.to_pylist()] if path else []


def sentences_of(document: Mapping[str, Any]) -> list[str]:
    """Return the sentences of a document."""
    return [document["text"][sentence["start"] : sentence["end"]] for sentence in document["sentences"]]


def text_keys(texts: Sequence[str]) -> Hashes:
    """Return a hash of each text. Texts that differ in digits, case or white space only have the same."""
    return hash_strings(pa.array(map(fold, texts), pa.string())) if texts else np.zeros(0, np.uint64)


class Passage(NamedTuple):
    """A paragraph: its block, its text without holes, and the items that it links to."""

    block: Mapping[str, Any]
    text: str
    links: frozenset[int]


def passages_of(document: Mapping[str, Any]) -> list[Passage]:
    """Return the paragraphs of a document that are long enough."""
    links: dict[int, set[int]] = {}
    for link in document["links"]:
        if link["qid"] is not None:
            links.setdefault(link["block"], set()).add(link["qid"])
    passages = []
    for number, block in enumerate(document["blocks"]):
        if block["kind"] == PARAGRAPH:
            text = " ".join(document["text"][block["start"] : block["end"]].replace(HOLE, "").split())[:KEPT]
            if len(text.encode()) >= SHORT:
                passages.append(Passage(block, text, frozenset(links.get(number, ()))))
    return passages
