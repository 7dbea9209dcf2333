"""LAReQA (https://aclanthology.org/2020.emnlp-main.477/): retrieve answers from one pool of sentences in all languages.

A question has an answer in each language, and a good model ranks all of them before unrelated sentences in the
question's language. The score is mAP@20, as in XTREME-R, by language of the question. A candidate is a sentence alone;
the benchmark's baselines encode its paragraph too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wikianchor.io.parsing import malformed
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.languages import check_language, tag
from wikianchor.trainer.evaluate.metrics import average_precision, cosine_blocks, top_scores, unit
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import (
    EvaluationTask,
    SentenceVectors,
    Subset,
    TableCell,
    TaskScores,
    mteb_row,
    progress,
)

TOP = 20
PROTOCOL = {
    "similarity": "cosine",
    "pool": "all sentences of all languages that are there, each by itself",
    "relevant": "the sentences with the answer to the same question, in all languages",
    "score": f"mean over questions of the average precision of the first {TOP}, over min(relevant, {TOP})",
}


@dataclass(frozen=True)
class QuestionSet(Subset):
    """A language's sentences, its questions by identifier, and the number of the sentence that answers each."""

    sentences: list[str]
    questions: dict[str, str]
    answers: dict[str, int]


def load(data: EvaluationFiles, options: EvaluateOptions, folder: str) -> list[QuestionSet]:
    """Return the languages of a folder such as xquad-r. With `--languages` the others are not in the pool either."""
    return data.by_language(rf"{folder}/([a-z]{{2}})\.json", folder, options.languages, read)


def read(data: EvaluationFiles, file: str, code: str) -> QuestionSet:
    """Read one language. A question whose answer is in no sentence is counted as broken."""
    source = SetSource({file: data.sha256(file)})
    questions = QuestionSet(code, source, [], {}, {})
    with malformed(f"{file}: not a file of LAReQA, get it again"):
        for article in json.loads(data.bytes(file))["data"]:
            for paragraph in article["paragraphs"]:
                _add(paragraph, questions)
    source.check(f"LAReQA {code}")
    check_language(file, [code], questions.sentences)
    return questions


def _add(paragraph: Mapping[str, Any], language: QuestionSet) -> None:
    first = len(language.sentences)
    language.sentences.extend(str(sentence) for sentence in paragraph["sentences"])
    for question in paragraph["qas"]:
        start = int(question["answers"][0]["answer_start"])
        breaks = paragraph["sentence_breaks"]
        numbers = [number for number, (begin, end) in enumerate(breaks) if begin <= start < end]
        language.source.rows += 1
        if len(numbers) == 1 and numbers[0] < len(paragraph["sentences"]) and str(question["question"]).strip():
            language.questions[question["id"]] = str(question["question"])
            language.answers[question["id"]] = first + numbers[0]
        else:
            language.source.broken += 1


def score(parts: Sequence[QuestionSet], vectors: SentenceVectors, options: EvaluateOptions, table: str) -> TaskScores:
    """Return mAP@20 by language of the question."""
    starts = np.cumsum([0, *(len(part.sentences) for part in parts)])
    pool = unit(np.concatenate([vectors(part.sentences) for part in parts]))
    relevant: dict[str, set[int]] = {}
    for part, start in zip(parts, starts, strict=False):
        for question, sentence in part.answers.items():
            relevant.setdefault(question, set()).add(int(start) + sentence)
    rows, cells = [], []
    for part in progress(parts):
        tops = ranked(unit(vectors(list(part.questions.values()))), pool, vectors.encoder.device)
        scores = []
        for question, top in zip(part.questions, tops.tolist(), strict=True):
            hits, count = [sentence in relevant[question] for sentence in top], len(relevant[question])
            scores.append({f"map_at_{TOP}": average_precision(hits, count), **top_scores(hits, [1] * count)})
        means = {name: float(np.mean([query[name] for query in scores])) for name in scores[0]}
        value = means[f"map_at_{TOP}"]
        counts = {"questions": len(scores), "candidates": len(pool)}
        rows.append(mteb_row(part.name, [tag(part.name)], value, **means, **counts))
        cells.append(TableCell(table, part.name, value))
    return TaskScores({"test": rows}, cells, PROTOCOL)


def ranked(queries: NDArray[np.float32], pool: NDArray[np.float32], device: torch.device) -> NDArray[np.int64]:
    """Return the numbers of the TOP nearest sentences of each query, (queries, TOP), the nearest first.

    Args:
        queries, pool: (rows, dim), of unit length.
        device: where the products are computed.
    """
    blocks = cosine_blocks(queries, pool, device)
    return torch.cat([block.topk(min(TOP, len(pool))).indices for block in blocks]).cpu().numpy()


def task(name: str, folder: str, group: str) -> EvaluationTask:
    table = f"LAReQA {name}, mAP@{TOP}"
    return EvaluationTask(
        name=f"{name}.map{TOP}",
        groups=("lareqa", "multilingual", "retrieval", group),
        load=lambda data, options: load(data, options, folder),
        score=lambda parts, vectors, options: score(parts, vectors, options, table),
        layout=f"{folder}/XX.json",
        home="https://github.com/google-research-datasets/lareqa",
    )


TASKS = [task("XQuAD-R", "xquad-r", "xquad-r"), task("MLQA-R", "mlqa(?:-dev)?-r", "mlqa-r")]
