"""BM25, the lexical baseline of retrieval.

Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), with the idf of Lucene, which is
never negative. Terms are those of `wikianchor.aliases.folding`: words in lower case; in scripts without spaces, single
characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wikianchor.aliases.folding import code_points, cut

# As in Anserini's and mteb's baselines, about.
K1, B = 1.2, 0.75


def terms_of(text: str) -> list[str]:
    """Return the terms of a text.

    >>> terms_of("It is 3 km from ROME, Rome.")
    ['it', 'is', '3', 'km', 'from', 'rome', 'rome']
    """
    folded = cut(code_points(text))
    line = folded.points.tobytes().decode("utf-32-le", "surrogatepass")
    atoms = (line[first:last] for first, last in zip(folded.first.tolist(), folded.last.tolist(), strict=True))
    return [atom for atom in atoms if any(map(str.isalnum, atom))]


class Bm25:
    """An index of texts.

    >>> Bm25(["a red apple", "a green pear"]).scores(["red"])[0].round(3).tolist()
    [0.693, 0.0]
    """

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(terms_of(text)) for text in texts]
        self._numbers = {
            term: number for number, term in enumerate(dict.fromkeys(term for text in counts for term in text))
        }
        lengths = np.array([sum(text.values()) for text in counts], float)
        rows = np.repeat(np.arange(len(counts)), list(map(len, counts)))
        columns = np.array([self._numbers[term] for text in counts for term in text], np.int64)
        frequencies = np.array([number for text in counts for number in text.values()], float)
        documents = np.bincount(columns, minlength=len(self._numbers))
        idf = np.log1p((len(counts) - documents + 0.5) / (documents + 0.5))
        norms = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))
        weights = idf[columns] * frequencies * (K1 + 1) / (frequencies + norms[rows])
        self._weights = csr_array((weights, (columns, rows)), (len(self._numbers), len(counts)))

    def scores(self, queries: Sequence[str]) -> NDArray[np.float64]:
        """Return (queries, texts) scores."""
        known = [[self._numbers[term] for term in terms_of(query) if term in self._numbers] for query in queries]
        rows = np.repeat(np.arange(len(known)), list(map(len, known)))
        columns = np.array([number for query in known for number in query], np.int64)
        terms = csr_array((np.ones(len(columns)), (rows, columns)), (len(known), len(self._numbers)))
        return np.asarray((terms @ self._weights).todense())
