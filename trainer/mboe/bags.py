"""The bag of entities of each document: its candidate items, each once, with its commonness."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import InputError
from wikianchor.io.parsing import malformed
from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.mboe.detector import Bag, bag_of, make_detector
from wikianchor.trainer.mboe.documents import Document, read_lines

# Returns the bag of a document.
BagMaker = Callable[[Document], Bag]


@dataclass(frozen=True)
class Bags:
    """Bags of documents, concatenated.

    Attributes:
        starts: (documents + 1,) where each bag begins.
        qids: (items,) int64, 42 for Q42.
        commonness: (items,) float32, the highest commonness of the item among its names in the document.
    """

    starts: NDArray[np.int64]
    qids: NDArray[np.int64]
    commonness: NDArray[np.float32]

    def sizes(self) -> NDArray[np.int64]:
        """Return the number of items of each document."""
        sizes: NDArray[np.int64] = np.diff(self.starts)
        return sizes

    def where(self, kept: NDArray[np.bool_]) -> Bags:
        """Return the bags with some of their items."""
        return Bags(np.append(0, np.cumsum(kept))[self.starts], self.qids[kept], self.commonness[kept])


def make_bags(documents: Sequence[Document], bag_maker: BagMaker, most: int) -> Bags:
    """Return the bags of documents, with at most `most` items each: the most frequent in the document, and of equally
    frequent ones those with the highest commonness."""
    bags = [_truncate(bag_maker(document), most) for document in documents]
    sizes = [len(bag.qids) for bag in bags]
    return Bags(
        np.append(0, np.cumsum(np.array(sizes, np.int64))),
        np.concatenate([np.zeros(0, np.int64), *(bag.qids for bag in bags)]),
        np.concatenate([np.zeros(0, np.float32), *(bag.commonness for bag in bags)]),
    )


def _truncate(bag: Bag, most: int) -> Bag:
    if len(bag.qids) <= most:
        return bag
    rows = np.sort(np.lexsort((bag.qids, -bag.commonness, -bag.counts))[:most])
    return Bag(bag.qids[rows], bag.commonness[rows], bag.counts[rows])


def sample_items(bags: Bags, documents: Sequence[Document], rate: float, seed: int) -> Bags:
    """Return the bags with a random share of their items.

    The random number of an item does not depend on the rate, so a higher rate keeps all items that a lower one keeps.
    """
    draws = np.empty(len(bags.qids))
    for row, document in enumerate(documents):
        first, last = bags.starts[row : row + 2].tolist()
        digest = hashlib.sha256(f"{seed} {document.language} {document.split} {document.name}".encode()).digest()
        generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:8], "big")))
        draws[first:last] = generator.random(last - first)
    return bags.where(draws < rate)


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
    if config.entities == "oracle":
        return _oracle
    return lambda document: _linked(())


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
