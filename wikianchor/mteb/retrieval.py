"""Retrieval of a dataset on disk as a task of mteb, whose own loader reads the directory."""

from __future__ import annotations

from typing import Any

from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata

from wikianchor.mteb.tasks import SPLIT, revision
from wikianchor.pipelines.dataset.reader import open_one
from wikianchor.pipelines.wikimedia.languages import language_of_wiki
from wikianchor.schemas import retrieval as schema
from wikianchor.trainer.evaluate.languages import tag


class WikiRetrieval(AbsTaskRetrieval):
    """Find the passages of a page by sentences in which its name is masked.

    Args:
        path: directory of a dataset that `wikianchor retrieval` made.

    Raises:
        InputError: the dataset is unfinished or of another version.

    Example:
        mteb.evaluate(model, [WikiRetrieval("out/retrieval")], cache=None)
    """

    metadata = TaskMetadata(
        name="WikiRetrieval",
        description="Find an article by a sentence of another one that links to it, with its name masked.",
        # A task has the directory of its dataset and a hash of its content here.
        dataset={"path": "retrieval", "revision": "local"},
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=[SPLIT],
        eval_langs=["eng-Latn"],
        main_score="ndcg_at_10",
        domains=["Encyclopaedic", "Written"],
        task_subtypes=["Article retrieval"],
        license="cc-by-sa-4.0",
        annotations_creators="derived",
        dialect=[],
        sample_creation="found",
        prompt={"query": "Given a sentence with a masked name, retrieve passages about what the name stands for"},
    )

    def __init__(self, path: str, **kwargs: Any) -> None:
        dataset = open_one(str(path), "retrieval", schema.VERSION, "data")
        languages = {tag(language_of_wiki(wiki)) for wiki in dataset.options["wikis"]}
        self.metadata = type(self).metadata.model_copy(
            update={
                "dataset": {"path": dataset.directory, "revision": revision(dataset)},
                "eval_langs": sorted(languages),
            }
        )
        super().__init__(**kwargs)
