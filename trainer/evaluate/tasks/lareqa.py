"""LAReQA: the sentences that answer a question, found in one pool of all languages.

A question of one language has an answer in each: good models rank those before unrelated sentences of the question's
own language. The score is mAP@20, as in XTREME-R, by language of the question. A candidate is a sentence by itself;
the benchmark's own baselines see its paragraph too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.files import Data, Source
from wikianchor.trainer.evaluate.languages import asked, tag
from wikianchor.trainer.evaluate.metrics import average_precision, unit
from wikianchor.trainer.evaluate.task import Cell, Options, Scores, Task, Vectors, progress

TOP = 20
PROTOCOL = {
    "similarity": "cosine",
    "pool": "all sentences of all languages that are there, each by itself",
    "relevant": "the sentences with the answer to the same question, in all languages",
    "score": f"mean over questions of the average precision of the first {TOP}, over min(relevant, {TOP})",
}
# Cosines held at once: 512 MB.
BLOCK = 1 << 27


@dataclass(frozen=True)
class Language:
    """A language's sentences, its questions by identifier, and the number of the sentence that answers each."""

    name: str
    sentences: list[str]
    questions: dict[str, str]
    answers: dict[str, int]
    source: Source


def load(data: Data, options: Options, folder: str) -> list[Language]:
    """Return the languages of a folder such as xquad-r. `--languages` leaves the others out of the pool too."""
    names: dict[str, list[str]] = {}
    for file, match in data.match(rf"{folder}/([a-z]{{2}})\.json").items():
        names.setdefault(match[1], []).append(file)
    chosen = sorted(code for code in names if options.split == "test" and asked(code, options.languages))
    return [read(data, str(data.same(names[code], f"{folder} {code}")), code) for code in chosen]


def read(data: Data, file: str, code: str) -> Language:
    """Read one language; a question whose answer lies in no sentence counts as broken."""
    source = Source({file: data.sha256(file)})
    found = Language(code, [], {}, {}, source)
    try:
        for paragraph in _paragraphs(json.loads(data.bytes(file))):
            _add(paragraph, found)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise InputError(f"{file}: not a file of LAReQA ({type(error).__name__}: {error}): get it again") from error
    source.check(f"LAReQA {code}")
    return found


def _paragraphs(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for article in content["data"]:
        yield from article["paragraphs"]


def _add(paragraph: Mapping[str, Any], language: Language) -> None:
    first = len(language.sentences)
    language.sentences.extend(str(sentence) for sentence in paragraph["sentences"])
    for question in paragraph["qas"]:
        start = int(question["answers"][0]["answer_start"])
        places = [number for number, (begin, end) in enumerate(paragraph["sentence_breaks"]) if begin <= start < end]
        language.source.rows += 1
        if len(places) == 1 and places[0] < len(paragraph["sentences"]) and str(question["question"]).strip():
            language.questions[question["id"]] = str(question["question"])
            language.answers[question["id"]] = first + places[0]
        else:
            language.source.broken += 1


def score(parts: Sequence[Language], vectors: Vectors, options: Options, table: str) -> Scores:
    """Return mAP@20 by language of the question."""
    starts = np.cumsum([0, *(len(part.sentences) for part in parts)])
    pool = unit(np.concatenate([vectors(part.sentences) for part in parts]))
    relevant: dict[str, set[int]] = {}
    for part, start in zip(parts, starts, strict=False):
        for question, place in part.answers.items():
            relevant.setdefault(question, set()).add(int(start) + place)
    rows, cells = [], []
    for part in progress(parts):
        tops = ranked(unit(vectors(list(part.questions.values()))), pool, vectors.encoder.device)
        found = [
            average_precision([place in relevant[question] for place in top], len(relevant[question]))
            for question, top in zip(part.questions, tops.tolist(), strict=True)
        ]
        value = float(np.mean(found))
        name = f"map_at_{TOP}"
        rows.append(
            {
                "hf_subset": part.name,
                "languages": [tag(part.name)],
                "main_score": value,
                name: value,
                "questions": len(found),
                "candidates": len(pool),
            }
        )
        cells.append(Cell(table, part.name, value))
    return Scores({"test": rows}, cells, PROTOCOL)


def ranked(queries: NDArray[np.float32], pool: NDArray[np.float32], device: torch.device) -> NDArray[np.int64]:
    """queries, pool: (rows, dim) unit-norm; returns (queries, 20), the nearest first."""
    against = torch.from_numpy(pool).to(device).T
    step, top = max(1, BLOCK // len(pool)), min(TOP, len(pool))
    found = [
        (torch.from_numpy(queries[start : start + step]).to(device) @ against).topk(top).indices
        for start in range(0, len(queries), step)
    ]
    return torch.cat(found).cpu().numpy()


def task(name: str, folder: str, group: str) -> Task:
    table = f"LAReQA {name}, mAP@{TOP}"
    return Task(
        f"{name}.map{TOP}",
        ("lareqa", "multilingual", "retrieval", group),
        lambda data, options: load(data, options, folder),
        lambda parts, vectors, options: score(parts, vectors, options, table),
        f"{folder}/XX.json",
        "https://github.com/google-research-datasets/lareqa",
    )


TASKS = [task("XQuAD-R", "xquad-r", "xquad-r"), task("MLQA-R", "mlqa(?:-dev)?-r", "mlqa-r")]
