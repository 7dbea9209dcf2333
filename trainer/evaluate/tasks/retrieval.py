"""Retrieval of questions, as SDJC does on QABot: each query ranks all texts by cosine; MRR, MAP, P@1 and P@5.

Files are laid out as in BEIR: corpus.jsonl and queries.jsonl (`_id`, `text`), qrels/test.tsv (query-id, corpus-id,
score). MAP counts all relevant texts, found early or late; P@N divides by N, so that a query with two relevant texts
has P@5 of 0.4 at most. Of equally near texts the earlier in the file comes first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.files import Data, Source
from wikianchor.trainer.evaluate.metrics import unit
from wikianchor.trainer.evaluate.task import Cell, Options, Scores, Task, Vectors

TABLE = "Retrieval"
QUERIES_AT_ONCE = 256


@dataclass(frozen=True)
class Retrieval:
    """Texts to rank, queries, and the numbers of each query's relevant texts."""

    name: str
    texts: list[str]
    queries: list[str]
    relevant: list[frozenset[int]]
    source: Source


def load(data: Data, options: Options) -> list[Retrieval]:
    """Return the sets in the directory, each named by its folder."""
    found = []
    for name in sorted(data.match(rf"qrels/{options.split}\.tsv")):
        folder = name[: -len(f"qrels/{options.split}.tsv")]
        corpus, queries = f"{folder}corpus.jsonl", f"{folder}queries.jsonl"
        for needed in (corpus, queries):
            if needed not in data.names:
                raise InputError(f"{data.path(needed)}: missing beside {data.path(name)}: BEIR's layout has both")
        found.append(_read(data, folder.rstrip("/").rpartition("/")[2] or "retrieval", corpus, queries, name))
    return found


def _read(data: Data, name: str, corpus: str, queries: str, qrels: str) -> Retrieval:
    source = Source()
    texts, asked = _texts(data, corpus, source), _texts(data, queries, source)
    numbers = {one: number for number, one in enumerate(texts)}
    relevant: dict[str, set[int]] = {}
    for line in data.lines(qrels, source)[1:]:
        source.rows += 1
        cells = (line or "").split("\t")
        try:
            query, text, score = cells[0], cells[1], float(cells[2])
        except (IndexError, ValueError):
            source.broken += 1
            continue
        if query not in asked or text not in numbers:
            raise InputError(f"{data.path(qrels)}: {query} or {text} is in neither {queries} nor {corpus}")
        if score > 0:
            relevant.setdefault(query, set()).add(numbers[text])
        else:
            source.blank += 1
    source.check(name)
    ids = [one for one in asked if one in relevant]
    return Retrieval(
        name, list(texts.values()), [asked[one] for one in ids], [frozenset(relevant[one]) for one in ids], source
    )


def _texts(data: Data, name: str, source: Source) -> dict[str, str]:
    found = {}
    for number, line in enumerate(data.lines(name, source), 1):
        try:
            value = json.loads(line or "")
            title, text = str(value.get("title") or ""), str(value["text"])
            found[str(value["_id"])] = f"{title} {text}".strip()
        except (ValueError, KeyError, AttributeError, RecursionError) as error:
            raise InputError(f"{data.path(name)}: line {number} is no object of _id and text") from error
    return found


def ranking_scores(order: NDArray[np.int64], relevant: frozenset[int]) -> dict[str, float]:
    """Return the measures of one query.

    order: (texts,) numbers of all texts, the nearest first; relevant: those that answer it, one at least.
    """
    hits = np.flatnonzero(np.isin(order, list(relevant))) + 1
    precisions = np.arange(1, len(hits) + 1) / hits
    return {
        "mrr": float(1 / hits[0]),
        "map": float(precisions.sum() / len(relevant)),
        "p@1": float((hits <= 1).sum()),
        "p@5": float((hits <= 5).sum() / 5),
    }


def score(parts: Sequence[Retrieval], vectors: Vectors, options: Options) -> Scores:
    """Return the plain means over the queries of each set."""
    rows, cells = [], []
    for part in parts:
        texts = unit(vectors(part.texts))
        found: list[Mapping[str, float]] = []
        for start in range(0, len(part.queries), QUERIES_AT_ONCE):
            asked = part.queries[start : start + QUERIES_AT_ONCE]
            similarity = unit(vectors(asked)) @ texts.T
            for line, relevant in zip(similarity, part.relevant[start:], strict=False):
                found.append(ranking_scores(np.argsort(-line, kind="stable"), relevant))
        means = {name: float(np.mean([one[name] for one in found])) for name in ("mrr", "map", "p@1", "p@5")}
        sizes = {"queries": len(part.queries), "texts": len(part.texts)}
        rows.append({"hf_subset": part.name, "languages": [], "main_score": means["mrr"], **means, **sizes})
        cells += [
            Cell(f"{TABLE}, {part.name}", name.upper(), value, per_cent=False, average=False)
            for name, value in means.items()
        ]
    protocol = {"similarity": "cosine", "ranked": "all texts", "map": "over all relevant texts", "p@n": "divided by n"}
    return Scores({options.split: rows}, cells, protocol)


TASKS = [
    Task(
        "QABot",
        ("beir", "retrieval"),
        load,
        score,
        "qrels/test.tsv with corpus.jsonl and queries.jsonl",
        "your own questions: SDJC's are private",
    )
]
