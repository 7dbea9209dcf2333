"""The bag of entities of each document: items that it may speak of, with the commonness of their names there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import InputError
from wikianchor.io.storage import reading
from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.mboe.detector import Bag, bag_of, detect
from wikianchor.trainer.mboe.dictionary import Dictionary, open_dictionary, open_mentions
from wikianchor.trainer.mboe.documents import Document

# From a document to its bag.
Source = Callable[[Document], Bag]


@dataclass(frozen=True)
class Bags:
    """Bags of documents, end to end.

    Attributes:
        starts: (documents + 1,) where each begins.
        qids: the items.
        commonness: of their likeliest names.
    """

    starts: NDArray[np.int64]
    qids: NDArray[np.int64]
    commonness: NDArray[np.float32]

    def sizes(self) -> NDArray[np.int64]:
        """Return the number of items of each document."""
        found: NDArray[np.int64] = np.diff(self.starts)
        return found

    def where(self, keep: NDArray[np.bool_]) -> Bags:
        """Return the same without some items."""
        kept = np.append(0, np.cumsum(keep))[self.starts]
        return Bags(kept, self.qids[keep], self.commonness[keep])


def make_bags(documents: Sequence[Document], source: Source, most: int) -> Bags:
    """Return the bags of documents, of each at most so many items: those found most often, then the commonest."""
    found = [_largest(source(document), most) for document in documents]
    sizes = [len(bag.qids) for bag in found]
    return Bags(
        np.append(0, np.cumsum(np.array(sizes, np.int64))),
        np.concatenate([np.zeros(0, np.int64), *(bag.qids for bag in found)]),
        np.concatenate([np.zeros(0, np.float32), *(bag.commonness for bag in found)]),
    )


def _largest(bag: Bag, most: int) -> Bag:
    if len(bag.qids) <= most:
        return bag
    rows = np.sort(np.lexsort((bag.qids, -bag.commonness, -bag.counts))[:most])
    return Bag(bag.qids[rows], bag.commonness[rows], bag.counts[rows])


def thinned(bags: Bags, documents: Sequence[Document], rate: float, seed: int) -> Bags:
    """Return the bags with a share of their items, drawn by lot; the same lots for every rate, so that a higher rate
    keeps what a lower one does."""
    lots = np.empty(len(bags.qids))
    for row, document in enumerate(documents):
        first, last = bags.starts[row : row + 2].tolist()
        digest = hashlib.sha256(f"{seed} {document.language} {document.split} {document.name}".encode()).digest()
        draw = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:8], "big")))
        lots[first:last] = draw.random(last - first)
    return bags.where(lots < rate)


def make_source(config: MboeConfig) -> Source:
    """Return where the entities of documents come from.

    Raises:
        InputError: the dictionary or the linker's file cannot be read.
    """
    if config.entities == "detected":
        return _Detected(config)
    if config.entities == "linker":
        links = read_links(config.links)
        return lambda document: _given(links.get(document.name, ()))
    if config.entities == "oracle":
        return _oracle
    return lambda document: _given(())


class _Detected:
    """Finds names in documents; a dictionary is opened when its language first comes."""

    def __init__(self, config: MboeConfig) -> None:
        self._config = config
        self._mentions = open_mentions(config.mentions)
        self._held: dict[str, Dictionary] = {}

    def __call__(self, document: Document) -> Bag:
        config, language = self._config, document.language
        if language not in self._held:
            thresholds = config.link_probability, config.commonness
            self._held[language] = open_dictionary(self._mentions, language, config.cache, *thresholds)
        return bag_of(detect(document.text, self._held[language], config.all_spans))


def _oracle(document: Document) -> Bag:
    if document.entities is None:
        raise InputError(
            f"{document.name}: does not say what it links to: give `entities` in every line, or --entities=detected"
        )
    return _given(document.entities)


def _given(entities: Sequence[int]) -> Bag:
    """Return a bag of items that are certain."""
    qids, counts = np.unique(np.array(entities, np.int64), return_counts=True)
    return Bag(qids, np.ones(len(qids), np.float32), counts)


def read_links(path: str) -> dict[str, list[int]]:
    """Read an entity linker's output: lines of {"id", "entities": [item, ...]}; ids are those of the documents.

    Raises:
        InputError: a line is something else.
    """
    found: dict[str, list[int]] = {}
    with reading(path), open(path, encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            try:
                row = json.loads(line)
                found[str(row["id"])] = [int(item) for item in row["entities"]]
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise InputError(f"{path}, line {number}: not an object with `id` and `entities` ({error})") from error
    return found
