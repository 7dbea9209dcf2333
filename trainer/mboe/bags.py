"""The bag of entities of each document: its candidate items, each once, with its commonness."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence

import numpy as np

from wikianchor.io.errors import InputError
from wikianchor.io.parsing import malformed
from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.mboe.detector import Bag, bag_of, make_detector
from wikianchor.trainer.mboe.documents import Document, read_lines

# Returns the bag of a document.
BagMaker = Callable[[Document], Bag]


def make_bags(documents: Sequence[Document], bag_maker: BagMaker, most: int) -> list[Bag]:
    """Return the bags of documents, with at most `most` items each: the most frequent in the document, and of equally
    frequent ones those with the highest commonness."""
    bags = map(bag_maker, documents)
    return [bag.take(np.sort(np.lexsort((bag.qids, -bag.commonness, -bag.counts))[:most])) for bag in bags]


def sample_items(bag: Bag, document: Document, rate: float, seed: int) -> Bag:
    """Return the bag of a document with a random share of its items.

    The random number of an item does not depend on the rate, so a higher rate keeps all items that a lower one keeps.
    """
    digest = hashlib.sha256(f"{seed} {document.language} {document.split} {document.name}".encode()).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:8], "big")))
    return bag.take(generator.random(len(bag.qids)) < rate)


def make_bag_maker(config: MboeConfig) -> BagMaker:
    """Return the function that finds a document's entities, by `--entities`.

    Raises:
        InputError: the dictionary or the linker's file cannot be read.
    """
    if config.entities == "detected":
        detect = make_detector(config)
        return lambda document: bag_of(detect(document.text, document.language))
    if config.entities == "linker":
        links = read_links(config.links)
        return lambda document: _linked(links.get(document.name, ()))
    return _oracle if config.entities == "oracle" else lambda document: _linked(())


def _oracle(document: Document) -> Bag:
    if document.entities is None:
        raise InputError(
            f"{document.name}: does not say what it links to: give `entities` in every line, or --entities=detected"
        )
    return _linked(document.entities)


def _linked(entities: Sequence[int]) -> Bag:
    """Return a bag of linked items, whose commonness is 1."""
    qids, counts = np.unique(np.array(entities, np.int64), return_counts=True)
    return Bag(qids, np.ones(len(qids), np.float32), counts)


def read_links(path: str) -> dict[str, list[int]]:
    """Read an entity linker's output: lines of {"id", "entities": [item, ...]} with the ids of the documents.

    Raises:
        InputError: the file cannot be read, or a line is malformed.
    """
    links: dict[str, list[int]] = {}
    for number, line in enumerate(read_lines(path), 1):
        with malformed(f"{path}, line {number}: not an object with `id` and `entities`"):
            row = json.loads(line)
            links[str(row["id"])] = [int(item) for item in row["entities"]]
    return links
