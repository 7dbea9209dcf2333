"""Retrieval of texts by cosine: nDCG@10, the main score as in mteb, recall@10 and recall@100; MRR, MAP, P@1, P@5 as in
SDJC's evaluation on QABot. The table has BM25 beside the models.

The files are a dataset of `wikianchor retrieval` (data/corpus, data/queries, data/qrels), or have BEIR's layout:
corpus.jsonl and queries.jsonl (`_id`, `text`), qrels/test.tsv (query-id, corpus-id, score); or they are those of SDJC's
release, QAbot-relevant.csv (query and relevant question, separated by a tab) and annoymized_QABot_dataset_subset.csv
(question, answer, label). The release has 53 pairs of 20 queries, and 101 other questions; the paper ranks 1,142.

MAP is over the ranking of all texts. P@N divides by N, so a query with two relevant texts has a P@5 of at most 0.4.
Texts with equal scores are ranked in the order of the file.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import InputError
from wikianchor.io.parsing import malformed
from wikianchor.io.storage import reading
from wikianchor.trainer.evaluate.bm25 import K1, B, Bm25
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource, two_columns
from wikianchor.trainer.evaluate.metrics import TOP, top_scores, unit
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import (
    EvaluationTask,
    SentenceVectors,
    Subset,
    TableCell,
    TaskScores,
    mteb_row,
)

TABLE = "Retrieval"
# Configs of `wikianchor retrieval`, and what is read of each.
COLUMNS = {"corpus": ("id", "title", "text"), "queries": ("id", "text"), "qrels": ("query-id", "corpus-id", "score")}
DEEP = 100
BM25 = "BM25"
QUERIES_AT_ONCE = 256
# SDJC's release; its spelling.
RELEVANT, OTHERS = r"QAbot-relevant\.csv", r"an\w*_QABot_dataset_subset\.csv"


@dataclass(frozen=True)
class Retrieval(Subset):
    """Texts to rank, queries, and for each query the grade of each relevant text by its number."""

    texts: list[str]
    queries: list[str]
    relevant: list[dict[int, float]]


def load(data: EvaluationFiles, options: EvaluateOptions) -> list[Retrieval]:
    """Return all sets in BEIR's layout, named by their directories, and the released form of QABot."""
    names = sorted(data.match(rf"qrels/{options.split}\.tsv"))
    if options.split == "test" and data.match(RELEVANT):
        names.append(RELEVANT)
    parts = data.read_each(names, lambda name: (_released if name == RELEVANT else _read)(data, name))
    built = _built(data) if options.split == "test" else []
    parts += data.read_each(built, lambda root: _read_built(data, root))
    # A set may be there as an archive and unpacked.
    return list({(part.name, *part.source.files.values()): part for part in parts}.values())


def _built(data: EvaluationFiles) -> list[str]:
    """Return the directories of datasets of `wikianchor retrieval`, each with a slash at its end, or ""."""
    roots: dict[str, set[str]] = {}
    for name, match in data.match(r"data/(corpus|queries|qrels)/[^/]+\.parquet").items():
        roots.setdefault(name[: match.start(1)].removesuffix("data/"), set()).add(match[1])
    return sorted(root for root, configs in roots.items() if len(configs) == len(COLUMNS))


def _read_built(data: EvaluationFiles, root: str) -> Retrieval:
    source = SetSource()
    corpus, queries, qrels = (_rows(data, root, config, source) for config in COLUMNS)
    numbers = {row["id"]: number for number, row in enumerate(corpus)}
    relevant: dict[str, dict[int, float]] = {}
    for row in qrels:
        with malformed(f"{data.path(root)}: {row['corpus-id']} of qrels is not in the corpus"):
            relevant.setdefault(row["query-id"], {})[numbers[row["corpus-id"]]] = row["score"]
    source.rows = len(qrels)
    name = root.rstrip("/").rpartition("/")[2] or "retrieval"
    source.check(name)
    texts = [f"{row['title']} {row['text']}".strip() for row in corpus]
    judged = [row for row in queries if row["id"] in relevant]
    return Retrieval(name, source, texts, [row["text"] for row in judged], [relevant[row["id"]] for row in judged])


def _rows(data: EvaluationFiles, root: str, config: str, source: SetSource) -> list[dict[str, Any]]:
    """Return the rows of a config, in the order of the shards."""
    rows: list[dict[str, Any]] = []
    for name in data.match(rf"{re.escape(root)}data/{config}/[^/]+\.parquet"):
        source.files[name] = data.sha256(name)
        with reading(data.path(name)), malformed(f"{data.path(name)}: lacks {', '.join(COLUMNS[config])}"):
            rows += data.parquet(name).read(columns=list(COLUMNS[config])).select(COLUMNS[config]).to_pylist()
    return rows


def _released(data: EvaluationFiles, pattern: str) -> Retrieval:
    """Return QABot as released: the questions to rank are the relevant ones, and those of the subset if it is there."""
    pairs = str(data.find(pattern, "QABot"))
    source = SetSource()
    relevant: dict[str, dict[int, float]] = {}
    numbers: dict[str, int] = {}
    for query, question in data.rows(pairs, source, two_columns):
        relevant.setdefault(query, {})[numbers.setdefault(question, len(numbers))] = 1.0
    source.check("QABot")
    if others := data.find(OTHERS, "the questions of QABot"):
        lines = data.lines(others, source)
        with malformed(f"{data.path(others)}: no CSV with a column question"):
            for row in csv.DictReader(io.StringIO("\n".join(line or "" for line in lines))):
                numbers.setdefault(row["question"].strip(), len(numbers))
    return Retrieval("QABot", source, list(numbers), list(relevant), list(relevant.values()))


def _read(data: EvaluationFiles, qrels: str) -> Retrieval:
    source = SetSource()
    folder = qrels.rpartition("qrels/")[0]
    corpus, queries = f"{folder}corpus.jsonl", f"{folder}queries.jsonl"
    for needed in (corpus, queries):
        if needed not in data.names:
            raise InputError(f"{data.path(needed)}: missing beside {data.path(qrels)}: BEIR's layout has both")
    name = folder.rstrip("/").rpartition("/")[2] or "retrieval"
    texts, queries_by_id = _texts(data, corpus, source), _texts(data, queries, source)
    numbers = {text_id: number for number, text_id in enumerate(texts)}
    relevant: dict[str, dict[int, float]] = {}
    for query, text, score in data.rows(qrels, source, _judgement, skip=1):
        if query not in queries_by_id or text not in numbers:
            raise InputError(f"{data.path(qrels)}: {query} or {text} is in neither {queries} nor {corpus}")
        if score > 0:
            relevant.setdefault(query, {})[numbers[text]] = score
        else:
            source.blank += 1
    source.check(name)
    ids = [query for query in queries_by_id if query in relevant]
    judged = [relevant[query] for query in ids]
    return Retrieval(name, source, list(texts.values()), [queries_by_id[query] for query in ids], judged)


def _judgement(line: str) -> tuple[str, str, float] | None:
    try:
        query, text, score, *_ = line.split("\t")
        return query, text, float(score)
    except ValueError:
        return None


def _texts(data: EvaluationFiles, name: str, source: SetSource) -> dict[str, str]:
    """Return the texts of a file of JSON lines by their ids."""
    texts = {}
    for number, line in enumerate(data.lines(name, source), 1):
        with malformed(f"{data.path(name)}: line {number} is no object of _id and text"):
            value = json.loads(line or "")
            title, text = str(value.get("title") or ""), str(value["text"])
            texts[str(value["_id"])] = f"{title} {text}".strip()
    return texts


def ranking_scores(order: NDArray[np.int64], relevant: Mapping[int, float]) -> dict[str, float]:
    """Return the scores of one query.

    Args:
        order: (texts,) numbers of all texts, the nearest first.
        relevant: grades of the relevant texts by their numbers, one or more.

    >>> ranking_scores(np.array([2, 0, 1]), {0: 1})["mrr"]
    0.5
    """
    hits = np.flatnonzero(np.isin(order, list(relevant))) + 1
    precisions = np.arange(1, len(hits) + 1) / hits
    return {
        **top_scores([relevant.get(int(number), 0) for number in order[:TOP]], list(relevant.values())),
        f"recall_at_{DEEP}": float((hits <= DEEP).sum() / len(relevant)),
        "mrr": float(1 / hits[0]),
        "map": float(precisions.sum() / len(relevant)),
        "p@1": float((hits <= 1).sum()),
        "p@5": float((hits <= 5).sum() / 5),
    }


def query_scores(
    similarity: NDArray[np.floating[Any]], relevant: Sequence[Mapping[int, float]]
) -> list[dict[str, float]]:
    """Return the scores of each query.

    Args:
        similarity: (queries, texts).
        relevant: by query the grades of the relevant texts.
    """
    orders = (np.argsort(-line, kind="stable") for line in similarity)
    return [ranking_scores(order, grades) for order, grades in zip(orders, relevant, strict=True)]


def score(parts: Sequence[Retrieval], vectors: SentenceVectors, options: EvaluateOptions) -> TaskScores:
    """Return the means over the queries of each set."""
    rows, cells = [], []
    for part in parts:
        texts, index = unit(vectors(part.texts)), Bm25(part.texts)
        by_model: dict[str, list[dict[str, float]]] = {"": [], BM25: []}
        for start in range(0, len(part.queries), QUERIES_AT_ONCE):
            chosen = slice(start, start + QUERIES_AT_ONCE)
            queries, relevant = part.queries[chosen], part.relevant[chosen]
            by_model[""] += query_scores(unit(vectors(queries)) @ texts.T, relevant)
            by_model[BM25] += query_scores(index.scores(queries), relevant)
        means = {
            model: {name: float(np.mean([query[name] for query in scores])) for name in scores[0]}
            for model, scores in by_model.items()
        }
        sizes = {"queries": len(part.queries), "texts": len(part.texts), "bm25": means[BM25]}
        rows.append(mteb_row(part.name, [], means[""][f"ndcg_at_{TOP}"], **means[""], **sizes))
        cells += [
            TableCell(
                *(f"{TABLE}, {part.name}", name.upper().replace("_AT_", "@"), value),
                row=model,
                per_cent=False,
                average=False,
            )
            for model, scores in means.items()
            for name, value in scores.items()
        ]
    protocol = {
        "similarity": "cosine",
        "ranked": "all texts",
        "map": "over all relevant texts",
        "p@n": "divided by n",
        "bm25": f"k1 {K1}, b {B}, idf of Lucene; words in lower case",
        "ndcg": "gain is the grade, discount is log2 of rank + 1, as in trec_eval and mteb",
    }
    return TaskScores({options.split: rows}, cells, protocol)


TASKS = [
    EvaluationTask(
        name="QABot",
        groups=("beir", "retrieval"),
        load=load,
        score=score,
        layout="qrels/test.tsv with corpus.jsonl and queries.jsonl, data/qrels/*.parquet with data/corpus and "
        "data/queries, or QAbot-relevant.csv",
        home="your own questions, `wikianchor retrieval`, or the files of SDJC's repository: most of its questions are "
        "private",
        splits=("test", "dev"),
    )
]
