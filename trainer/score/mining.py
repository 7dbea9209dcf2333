"""Find the hardest negatives: the nearest texts of entities of the row's type, by an exact search.

No text of the row's entity or of an entity that its page links to is returned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from wikianchor.trainer.score.vectors import Floats, Ints, Vectors

Hashes = NDArray[np.uint64]
# Rows, and texts of a pool, whose cosines are in memory together.
ROWS, TEXTS = 512, 32_768


class Relation(NamedTuple):
    """Pairs of a key and a value; the keys ascend."""

    keys: NDArray[Any]
    values: NDArray[Any]

    @staticmethod
    def make(keys: NDArray[Any], values: NDArray[Any]) -> Relation:
        """Return pairs in the order of their keys."""
        order = np.argsort(keys, kind="stable")
        return Relation(keys[order], values[order])

    def of(self, keys: NDArray[Any]) -> tuple[Ints, NDArray[Any]]:
        """Return all values of keys: for each the index of its key, and the value.

        >>> index, values = Relation(np.array([2, 3, 3, 5]), np.array([20, 30, 31, 50])).of(np.array([3, 4, 5]))
        >>> index.tolist(), values.tolist()
        ([0, 0, 2], [30, 31, 50])
        """
        low, high = (np.searchsorted(self.keys, keys, side) for side in ("left", "right"))
        index = np.repeat(np.arange(len(keys)), high - low)
        return index, self.values[np.arange(len(index)) - np.repeat(np.cumsum(high - low) - high, high - low)]


class Queries(NamedTuple):
    """Rows that need negatives, one array element for each.

    Attributes:
        anchors: rows in `Vectors`.
        texts: (rows, texts) keys of the texts that the row has.
        items, pages: the positives' items, and the anchors' pages.
        limits: cosines that negatives are below.
    """

    anchors: Ints
    texts: Hashes
    items: Ints
    pages: Hashes
    limits: Floats


class Search(NamedTuple):
    """What negatives are searched in.

    Attributes:
        vectors: those of all texts.
        rows: the rows in `Vectors` of the candidates, which are texts that may be negatives.
        keys: their keys, the same for texts that count as equal.
        pools: the candidates of each pool.
        links: the items that each page links to.
        texts: the keys of the texts that each item has.
        device: where cosines are computed.
    """

    vectors: Vectors
    rows: Ints
    keys: Hashes
    pools: Relation
    links: Relation
    texts: Relation
    device: torch.device

    def mine(self, queries: Queries, pools: Relation, count: int) -> tuple[Ints, Floats]:
        """Return the nearest candidates in the pools of each row, the nearest first, each text once.

        Args:
            queries: the rows.
            pools: the rows of each pool.
            count: candidates of a row.

        Returns:
            (rows, count) candidates and their cosines; -1 and -inf for none.
        """
        shape = len(queries.items), count
        mined, best = np.full(shape, -1), np.full(shape, -np.inf, np.float32)
        for pool in np.unique(pools.keys):
            members, rows = (relation.of(np.array([pool]))[1] for relation in (self.pools, pools))
            members = members[np.unique(self.keys[members], return_index=True)[1]]
            for start in range(0, len(rows) if len(members) else 0, ROWS):
                part = rows[start : start + ROWS]
                texts, cosines = self._nearest(Queries(*(column[part] for column in queries)), members, count)
                # A text may be in several pools of a row.
                before = np.where(mined[part] < 0, 0, self.keys[mined[part]])
                cosines[(self.keys[texts][:, :, None] == before[:, None]).any(axis=2)] = -np.inf
                texts, cosines = np.hstack([mined[part], texts]), np.hstack([best[part], cosines])
                order = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
                best[part] = np.take_along_axis(cosines, order, axis=1)
                mined[part] = np.where(np.isfinite(best[part]), np.take_along_axis(texts, order, axis=1), -1)
        return mined, best

    def _nearest(self, queries: Queries, members: Ints, count: int) -> tuple[Ints, Floats]:
        """Return the nearest of the candidates of a pool, which are in the order of their keys."""
        numbers = np.arange(len(queries.items))
        query, linked = self.links.of(queries.pages)
        item, text = self.texts.of(np.concatenate([queries.items, linked]))
        query = np.concatenate([np.concatenate([numbers, query])[item], *[numbers] * queries.texts.shape[1]])
        excluded = np.concatenate([text, *queries.texts.T])
        match, column = Relation(self.keys[members], np.arange(len(members))).of(excluded)
        query = query[match]
        anchors, limits = (torch.from_numpy(array) for array in (self.vectors.of(queries.anchors), queries.limits))
        best = torch.full((len(anchors), count), -torch.inf, device=self.device)
        chosen = torch.full((len(anchors), count), -1, device=self.device)
        for start in range(0, len(members), TEXTS):
            others = torch.from_numpy(self.vectors.of(self.rows[members[start : start + TEXTS]]))
            cosines = anchors.to(self.device) @ others.to(self.device).T
            inside = (column >= start) & (column < start + len(others))
            cosines[query[inside], column[inside] - start] = -torch.inf
            cosines[cosines >= limits.to(self.device)[:, None]] = -torch.inf
            best, index = torch.cat([best, cosines], dim=1).topk(count, dim=1)
            chosen = torch.where(index < count, chosen.gather(1, index.clamp(max=count - 1)), index - count + start)
        return members[chosen.cpu().numpy()], best.cpu().numpy()
