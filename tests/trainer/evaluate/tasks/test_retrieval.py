"""Retrieval: measures by hand, BEIR's layout, and what is wrong with it."""

import json
import random
import shutil
from math import log, log2
from pathlib import Path

import numpy as np
import pytest

from tests.trainer.evaluate.conftest import write
from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.bm25 import Bm25
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.evaluate.tasks.retrieval import load, ranking_scores, score
from wikianchor.trainer.models.encoder import Encoder


@pytest.mark.parametrize(
    ("order", "relevant", "expected"),
    [
        ([0, 1, 2, 3, 4, 5], {0: 1}, {"mrr": 1, "map": 1, "p@1": 1, "p@5": 0.2, "ndcg": 1, "recall": 1}),
        (
            [3, 0, 1, 2, 4, 5],
            {0: 1, 2: 3},
            {"mrr": 1 / 2, "map": (1 / 2 + 2 / 4) / 2, "p@1": 0, "p@5": 0.4, "recall": 1}
            | {"ndcg": (1 / log2(3) + 3 / log2(5)) / (3 + 1 / log2(3))},
        ),
        (
            [5, 4, 3, 2, 1, 0],
            {0: 2},
            {"mrr": 1 / 6, "map": 1 / 6, "p@1": 0, "p@5": 0, "ndcg": 1 / log2(7), "recall": 1},
        ),
        ([0, 1], {0: 1, 1: 1}, {"mrr": 1, "map": 1, "p@1": 1, "p@5": 0.4, "ndcg": 1, "recall": 1}),
        (
            [*range(1, 12), 0],
            {0: 1, 1: 1},
            {"mrr": 1, "map": (1 + 2 / 12) / 2, "p@1": 1, "p@5": 0.2, "ndcg": 1 / (1 + 1 / log2(3)), "recall": 0.5},
        ),
    ],
)
def test_measures_of_a_query(order: list[int], relevant: dict[int, float], expected: dict[str, float]) -> None:
    named = {{"ndcg": "ndcg_at_10", "recall": "recall_at_10"}.get(name, name): expected[name] for name in expected}
    assert ranking_scores(np.array(order), relevant) == pytest.approx({"recall_at_100": 1, **named})


def test_measures_equal_those_of_mteb() -> None:
    trec = pytest.importorskip("pytrec_eval", reason="mteb's library is not installed")
    draw = random.Random(0)
    for _ in range(50):
        order, count = draw.sample(range(30), 30), draw.randint(1, 20)
        relevant = {number: draw.randint(1, 4) for number in draw.sample(range(30), count)}
        judged = trec.RelevanceEvaluator({"q": {str(n): g for n, g in relevant.items()}}, {"ndcg_cut.10", "recall.10"})
        theirs = judged.evaluate({"q": {str(n): float(-rank) for rank, n in enumerate(order)}})["q"]
        ours = ranking_scores(np.array(order), relevant)
        assert ours["ndcg_at_10"] == pytest.approx(theirs["ndcg_cut_10"])
        assert ours["recall_at_10"] == pytest.approx(theirs["recall_10"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    base = tmp_path / "qabot"
    words = ["kana", "lona", "mina", "rusi", "tena"]
    write(
        base / "corpus.jsonl", [json.dumps({"_id": f"d{n}", "title": "", "text": word}) for n, word in enumerate(words)]
    )
    write(base / "queries.jsonl", [json.dumps({"_id": f"q{n}", "text": words[n]}) for n in range(4)])
    lines = ["query-id\tcorpus-id\tscore", "q0\td0\t1", "q1\td1\t1", "q1\td2\t2", "q2\td0\t0", "q3\td3\t1"]
    write(base / "qrels/test.tsv", lines)
    return tmp_path


def test_a_set_is_found_and_scored(folder: Path, tiny_model: Path) -> None:
    (part,) = load(EvaluationFiles(str(folder)), EvaluateOptions())
    assert part.name == "qabot"
    assert part.queries == ["kana", "lona", "rusi"]
    assert part.relevant == [{0: 1}, {1: 1, 2: 2}, {3: 1}]
    actual = score([part], SentenceVectors(Encoder.load(str(tiny_model))), EvaluateOptions()).splits["test"][0]
    # A query that is a text finds it first.
    assert (actual["mrr"], actual["p@1"], actual["queries"]) == (1, 1, 3)
    assert actual["main_score"] == actual["ndcg_at_10"]
    assert load(EvaluationFiles(str(folder)), EvaluateOptions(split="dev")) == []


@pytest.mark.parametrize(
    ("name", "lines", "says"),
    [
        ("corpus.jsonl", ['{"_id": "d0"}'], "line 1 is no object"),
        ("queries.jsonl", ["["], "line 1 is no object"),
        ("qrels/test.tsv", ["h", "q0\tnone\t1"], "is in neither"),
        ("qrels/test.tsv", ["h", "q0\td0\t0"], "no row"),
    ],
)
def test_one_line_for_what_is_broken(name: str, lines: list[str], says: str, folder: Path) -> None:
    write(folder / "qabot" / name, lines)
    with pytest.raises(InputError, match=says):
        load(EvaluationFiles(str(folder)), EvaluateOptions())


def test_bm25_is_that_of_its_formula() -> None:
    scores = Bm25(["red red apple", "green apple", "blue sky here"]).scores(["Red APPLE, red?", "none"])
    lengths, mean = (3, 2, 3), 8 / 3
    weights = [
        sum(
            repeats * idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / mean))
            for repeats, idf, count in ((2, log(1 + 2.5 / 1.5), reds), (1, log(1 + 1.5 / 2.5), apples))
        )
        for length, reds, apples in zip(lengths, (2, 0, 0), (1, 1, 0), strict=True)
    ]
    assert scores[0].tolist() == pytest.approx(weights)
    assert scores[1].tolist() == [0, 0, 0]


def test_a_file_that_is_missing_is_named(folder: Path) -> None:
    (folder / "qabot/queries.jsonl").unlink()
    with pytest.raises(InputError, match=r"queries.jsonl: missing"):
        load(EvaluationFiles(str(folder)), EvaluateOptions())


def test_a_set_that_is_broken_or_there_twice_does_not_stop_the_others(folder: Path) -> None:
    shutil.copytree(folder / "qabot", folder / "broken")
    shutil.make_archive(str(folder / "beir"), "zip", folder, "qabot")
    (folder / "broken/corpus.jsonl").unlink()
    files = EvaluationFiles(str(folder))
    assert [part.name for part in load(files, EvaluateOptions())] == ["qabot"]
    (line,) = files.failed
    assert "broken/corpus.jsonl: missing" in line


def test_qabot_is_read_as_released(tmp_path: Path, tiny_model: Path) -> None:
    write(tmp_path / "dataset/QAbot-relevant.csv", ["kana?\tkana", "kana?\tlona", "mina?\tlona"])
    lines = ["question,answer,label", "lona,yes,0", '"rusi', 'tena",no,0', "mina,,0"]
    write(tmp_path / "data/annoymized_QABot_dataset_subset.csv", lines)
    files = EvaluationFiles(str(tmp_path))
    (part,) = load(files, EvaluateOptions())
    assert (part.name, part.queries) == ("QABot", ["kana?", "mina?"])
    assert part.texts == ["kana", "lona", "rusi\ntena", "mina"]
    assert [sorted(some) for some in part.relevant] == [[0, 1], [1]]
    scores = score([part], SentenceVectors(Encoder.load(str(tiny_model))), EvaluateOptions()).splits["test"][0]
    assert (scores["queries"], scores["texts"]) == (2, 4)
    assert load(files, EvaluateOptions(split="dev")) == []


def test_a_file_of_qabot_without_questions_is_one_line(tmp_path: Path) -> None:
    write(tmp_path / "QAbot-relevant.csv", ["kana?\tkana"])
    write(tmp_path / "annoymized_QABot_dataset_subset.csv", ["text,label", "lona,0"])
    with pytest.raises(InputError, match="no CSV with a column question"):
        load(EvaluationFiles(str(tmp_path)), EvaluateOptions())
