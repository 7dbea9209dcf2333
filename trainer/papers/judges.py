"""What the arms of a comparison are judged by: a value for each test item, so that intervals can hold over items."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.stats import rankdata, zscore

from wikianchor.trainer.evaluate.metrics import matching_hits, pair_cosines, unit
from wikianchor.trainer.evaluate.pairs import ScoredPairs
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.evaluate.tasks.tatoeba import ParallelSentences
from wikianchor.trainer.papers.intervals import Values

SEED = 20_220_705
# Candidates beside the right one, of entities of the same type; fewer where the type has fewer.
DISTRACTORS = 9
MASK = "…"


def set_values(part: ScoredPairs | ParallelSentences, vectors: SentenceVectors) -> Values:
    """Return (rows,) what each pair of a set of STS adds to Spearman's correlation, or of each translation the mean of
    both directions, 0, 0.5 or 1."""
    if isinstance(part, ScoredPairs):
        return correlation_shares(pair_cosines(vectors(part.first), vectors(part.second)), part.gold)
    return matching_hits(vectors(part.foreign), vectors(part.english)).mean(axis=0)


def correlation_shares(first: NDArray[np.float64], second: NDArray[np.float64]) -> Values:
    """Return (rows,) values whose mean is Spearman's correlation and whose variance is that of its influence function
    (Croux and Dehon 2010, https://doi.org/10.1007/s10260-010-0142-z, with ranks held fixed).

    >>> float(correlation_shares(np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 9.0])).mean())
    1.0
    """
    a, b = (zscore(rankdata(values)) for values in (first, second))
    rho = float((a * b).mean())
    return a * b + rho - rho / 2 * (a**2 + b**2)


def masked(rows: pa.Table) -> list[str]:
    """Return the texts with their links hidden, so that a name does not give the entity away."""
    columns = (rows[name].to_pylist() for name in ("text", "mention_start", "mention_end"))
    return [text[:start] + MASK + text[end:] for text, start, end in zip(*columns, strict=True)]


def one_of_each(rows: pa.Table) -> list[tuple[int, int]]:
    """Return two rows of different pages for each entity of a wiki that has them: query and answer."""
    by_entity: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row, key in enumerate(zip(rows["wiki"].to_pylist(), rows["entity_id"].to_pylist(), strict=True)):
        by_entity[key].append(row)
    pages = rows["page_id"].to_pylist()
    couples = [(same[0], [row for row in same if pages[row] != pages[same[0]]]) for same in by_entity.values()]
    return [(query, others[0]) for query, others in couples if others]


def typed_values(rows: pa.Table, vectors: SentenceVectors) -> Values:
    """Return for each held-out entity whether its other sentence is nearer than sentences of others of its type.

    Args:
        rows: those of held-out entities.
        vectors: encodes their texts without the names of the entities.
    """
    couples = one_of_each(rows)
    wikis, types = rows["wiki"].to_pylist(), rows["type_qid"].to_pylist()
    of_type: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, (query, _) in enumerate(couples):
        of_type[wikis[query], types[query]].append(number)
    texts, random = masked(rows), np.random.default_rng(SEED)
    units = unit(vectors([texts[row] for couple in couples for row in couple])).reshape(len(couples), 2, -1)
    values = []
    for same in of_type.values():
        for number in same if len(same) > 1 else ():
            others = [other for other in random.permutation(same) if other != number][:DISTRACTORS]
            query, answers = units[number, 0], units[[number, *others], 1]
            cosines = answers @ query
            values.append(float(cosines[0] > cosines[1:].max()))
    return np.array(values)


def item_values(rows: pa.Table, vectors: SentenceVectors) -> Values:
    """Return for each held-out entity that two wikis link to whether the sentences of both find each other.

    The candidates are those of all entities that the same two wikis share. A value is the mean of both directions.

    Args:
        rows: those of held-out entities.
        vectors: encodes their texts without the names of the entities.
    """
    rows_of: dict[int, dict[str, int]] = defaultdict(dict)
    for row, (wiki, entity) in enumerate(zip(rows["wiki"].to_pylist(), rows["entity_id"].to_pylist(), strict=True)):
        rows_of[entity].setdefault(wiki, row)
    texts = masked(rows)
    shared: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for by_wiki in rows_of.values():
        for left, right in combinations(sorted(by_wiki), 2):
            shared[left, right].append((by_wiki[left], by_wiki[right]))
    values: list[Values] = [np.empty(0)]
    for couples in (shared[key] for key in sorted(shared)):
        if len(couples) > 1:
            first, second = (vectors([texts[couple[side]] for couple in couples]) for side in (0, 1))
            values.append(matching_hits(first, second).mean(axis=0))
    return np.concatenate(values)
