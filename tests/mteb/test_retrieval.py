"""A dataset of `wikianchor retrieval` as a task of mteb, read by its own loader."""

from pathlib import Path
from typing import Any

from tests.retrieval.test_retrieval import config_of
from tests.retrieval.test_retrieval import sources as sources
from tests.stand_in import read_rows
from wikianchor.mteb import WikiRetrieval
from wikianchor.pipelines.retrieval import graph
from wikianchor.trainer.evaluate.bm25 import Bm25
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.tasks.retrieval import load, query_scores


def test_mteb_reads_and_scores_it(sources: Path, tmp_path: Path, tiny_model: Path) -> None:
    import mteb
    from sentence_transformers import SentenceTransformer

    directory = tmp_path / "retrieval"
    graph.run(config_of(sources, directory), [])
    task = WikiRetrieval(str(directory))
    task.metadata._validate_metadata()
    task.load_data()
    data: Any = task.dataset["default"]["test"]
    assert sorted(data["queries"]["id"]) == sorted(row["id"] for row in read_rows(directory, "queries"))
    assert sorted(data["corpus"]["id"]) == sorted(row["id"] for row in read_rows(directory, "corpus"))
    pairs = {(query, text): grade for query, grades in data["relevant_docs"].items() for text, grade in grades.items()}
    rows = read_rows(directory, "qrels")
    assert pairs == {(row["query-id"], row["corpus-id"]): row["score"] for row in rows}
    model = SentenceTransformer(str(tiny_model), device="cpu")
    actual = mteb.evaluate(model, [task], cache=None, show_progress_bar=False, co2_tracker=False).task_results[0]
    assert 0 <= actual.scores["test"][0]["main_score"] <= 1
    assert actual.dataset_revision == task.metadata.revision


def test_evaluate_reads_it(sources: Path, tmp_path: Path) -> None:
    graph.run(config_of(sources, tmp_path / "retrieval"), [])
    (part,) = load(EvaluationFiles(str(tmp_path)), EvaluateOptions())
    assert (part.name, len(part.queries)) == ("retrieval", len(read_rows(tmp_path / "retrieval", "queries")))
    assert sum(map(len, part.relevant)) == len(read_rows(tmp_path / "retrieval", "qrels"))
    scores = query_scores(Bm25(part.texts).scores(part.queries), part.relevant)
    assert all(0 <= query["ndcg_at_10"] <= query["recall_at_100"] == 1 for query in scores)
