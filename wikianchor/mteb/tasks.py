"""The tasks: `AbsTaskClustering` of mteb over a dataset on disk, all of it or balanced subsets."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
from mteb.abstasks.clustering import AbsTaskClustering
from mteb.abstasks.task_metadata import TaskMetadata

from wikianchor.io.errors import InputError
from wikianchor.pipelines.arrays.hashing import hash_string, mix
from wikianchor.pipelines.dataset.reader import Dataset, open_one
from wikianchor.schemas import mewsc16 as schema
from wikianchor.trainer.evaluate.languages import short, tag

SPLIT = "test"
# Texts of each class in the balanced subset: as many as in mteb's SpanishWikinewsClusteringS2S.
MOST = 100
DESCRIPTION = (
    "Clustering of the first sentences of Wikinews articles by topic, in 16 languages and up to 13 topics. MewsC-16 "
    "rebuilt from dumps with clean sentences: no category names, captions, missing words or duplicates."
)
CITATION = r"""
@inproceedings{nishikawa-etal-2022-ease,
  address = {Seattle, United States},
  author = {Nishikawa, Sosuke and Ri, Ryokan and Yamada, Ikuya and Tsuruoka, Yoshimasa and Echizen, Isao},
  booktitle = {Proceedings of the 2022 Conference of the North American Chapter of the Association for Computational Linguistics: Human Language Technologies},
  doi = {10.18653/v1/2022.naacl-main.284},
  month = jul,
  pages = {3870--3885},
  publisher = {Association for Computational Linguistics},
  title = {{EASE}: Entity-Aware Contrastive Learning of Sentence Embedding},
  url = {https://aclanthology.org/2022.naacl-main.284},
  year = {2022},
}
"""  # noqa: E501


COLUMNS = ("page_id", "sentence", "label")


def open_mewsc16(directory: str) -> Dataset:
    """Open a finished dataset with clean sentences.

    Args:
        directory: the directory of the dataset, a path or a URI.

    Raises:
        InputError: there is no finished dataset `mewsc16`, a shard is missing, or it was built with --mode=paper.
        UsageError: there are several.
    """
    dataset = open_one(directory, "mewsc16", schema.VERSION, "data")
    mode = dataset.manifest.get("options", {}).get("mode")
    if mode != "clean":
        raise InputError(f"--data={directory} was built with --mode={mode}: the tasks are of clean sentences")
    return dataset


def choose_languages(dataset: Dataset, languages: Sequence[str]) -> tuple[str, ...]:
    """Return two-letter codes, sorted.

    Args:
        dataset: must have rows in each of them.
        languages: codes of two or three letters, such as ja or jpn; none for all sixteen.

    Raises:
        InputError: a language is none of MewsC-16's, or the dataset has no rows in it.
    """
    chosen = sorted({short(language) for language in languages} or schema.LANGUAGES)
    if unknown := [language for language in chosen if language not in schema.LANGUAGES]:
        raise InputError(f"--languages={','.join(unknown)}: MewsC-16 is in {', '.join(schema.LANGUAGES)}")
    if missing := [language for language in chosen if not dataset.rows(language)]:
        present = ",".join(language for language in schema.LANGUAGES if dataset.rows(language))
        raise InputError(
            f"{dataset.directory}: no rows in {', '.join(missing)}: build them with `wikianchor mewsc16`, or choose "
            f"those that are there, --languages={present}"
        )
    return tuple(chosen)


def read_rows(dataset: Dataset, language: str) -> pa.Table:
    """Return the rows of a language, with `COLUMNS`.

    Raises:
        InputError: a shard cannot be read, or all rows have the same label.
    """
    rows = pa.Table.from_batches(dataset.batches(language, COLUMNS))
    if len(rows["label"].unique()) < 2:
        raise InputError(f"{dataset.directory}: {language} has one label: there is nothing to cluster")
    return rows


def balanced(rows: pa.Table, language: str, most: int) -> pa.Table:
    """Return at most `most` rows of each label, in their order.

    Those with the smallest hashes of language and page id are kept, so the subset depends neither on the order of the
    rows nor on those of other labels.

    >>> rows = pa.table({"page_id": range(9), "label": list("aaaaaabbc")})
    >>> balanced(rows, "ja", 2)["label"].to_pylist()
    ['a', 'a', 'b', 'b', 'c']
    """
    hashes = mix(hash_string(f"MewsC-16, balanced: {language}"), rows["page_id"].to_numpy())
    labels = rows["label"].to_pylist()
    by_label: dict[str, list[int]] = {}
    for number in np.argsort(hashes, kind="stable"):
        by_label.setdefault(labels[number], []).append(int(number))
    return rows.take(sorted(number for numbers in by_label.values() for number in numbers[:most]))


def revision(dataset: Dataset) -> str:
    """Return a hash of the contents of all shards, 40 hexadecimal digits."""
    configs = dataset.manifest["configs"]
    digests = [shard["sha256"] for config in sorted(configs) for shard in configs[config]["shards"]]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:40]


def _metadata(name: str, description: str) -> TaskMetadata:
    return TaskMetadata(
        name=name,
        description=description,
        reference="https://aclanthology.org/2022.naacl-main.284",
        # A task has the directory of its dataset and a hash of its content here.
        dataset={"path": "mewsc16", "revision": "local"},
        type="Clustering",
        category="t2c",
        modalities=["text"],
        eval_splits=[SPLIT],
        eval_langs={language: [tag(language)] for language in schema.LANGUAGES},
        main_score="v_measure",
        # From the first edition of Wikinews to the day when all were closed.
        date=("2004-11-01", "2026-05-07"),
        domains=["News", "Written"],
        task_subtypes=["Thematic clustering"],
        # CC BY 2.5 for most revisions; each row of the dataset has its own.
        license="multiple",
        # Topics are the categories that the authors put the articles into.
        annotations_creators="derived",
        dialect=[],
        sample_creation="found",
        bibtex_citation=CITATION,
        prompt="Identify the topic of the news article from its first sentence",
    )


class MewsC16Clustering(AbsTaskClustering):
    """Cluster all texts of each language.

    Args:
        path: directory of a dataset that `wikianchor mewsc16` made.
        languages: codes of two or three letters; none for all sixteen.
        seed: the seed of mteb's bootstrap and k-means.

    Raises:
        InputError: the dataset is unfinished, damaged, not of clean sentences, or has no rows in a language.

    Example:
        mteb.evaluate(model, [MewsC16Clustering("out/mewsc16", languages=["ja", "de"])], cache=None)
    """

    # mteb's default is to embed 4 % of the texts.
    max_fraction_of_documents_to_embed = None
    most_of_class: int | None = None
    data_loaded: bool = False
    metadata = _metadata("MewsC16Clustering", DESCRIPTION)

    def __init__(self, path: str, languages: Sequence[str] = (), seed: int = 42, **kwargs: Any) -> None:
        self._source = open_mewsc16(str(path))
        chosen = choose_languages(self._source, languages)
        changes = {
            "dataset": {"path": self._source.directory, "revision": revision(self._source)},
            "eval_langs": {language: [tag(language)] for language in chosen},
        }
        self.metadata = type(self).metadata.model_copy(update=changes)
        super().__init__(seed, **kwargs)

    def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
        """Read the languages that are evaluated.

        Raises:
            InputError: a shard is damaged, or a language has one label.
        """
        if self.data_loaded:
            return
        self.dataset = {}
        for language in self.hf_subsets:
            rows = read_rows(self._source, language)
            if self.most_of_class is not None:
                rows = balanced(rows, language, self.most_of_class)
            columns = {"sentences": rows["sentence"].to_pylist(), "labels": rows["label"].to_pylist()}
            self.dataset[language] = datasets.DatasetDict({SPLIT: datasets.Dataset.from_dict(columns)})
        self.data_loaded = True

    def unload_data(self) -> None:
        """Drop the rows. mteb drops the metadata of the task with them, which is kept here."""
        metadata = self.metadata
        super().unload_data()
        self.metadata = metadata

    def calculate_descriptive_statistics(
        self, overwrite_results: bool = False, num_proc: int | None = None
    ) -> dict[str, Any]:
        """Return the statistics in mteb's form: overall, and by language.

        mteb keeps them in a file of its own package by the name of a task, whatever the dataset; this writes nothing.
        """
        self.load_data()
        statistics: dict[str, Any] = dict(
            self._calculate_descriptive_statistics_from_split(SPLIT, compute_overall=True, num_proc=num_proc)
        )
        statistics["hf_subset_descriptive_stats"] = {
            language: self._calculate_descriptive_statistics_from_split(SPLIT, hf_subset=language, num_proc=num_proc)
            for language in self.metadata.hf_subsets
        }
        return {SPLIT: statistics}

    def _evaluate_subset(self, model: Any, data_split: Any, **kwargs: Any) -> Any:
        # mteb draws the bootstrap samples of all languages from one generator: the score of a language would depend on
        # those that were scored before it.
        self.rng_state = random.Random(self.seed)
        return super()._evaluate_subset(model, data_split, **kwargs)


class MewsC16BalancedClustering(MewsC16Clustering):
    """Cluster at most 100 texts of each class; arguments as of `MewsC16Clustering`."""

    most_of_class = MOST
    metadata = _metadata(
        "MewsC16BalancedClustering",
        f"{DESCRIPTION} At most {MOST} texts of each class, drawn by a hash of their page ids.",
    )


TASKS: dict[str, type[MewsC16Clustering]] = {
    task.metadata.name: task for task in (MewsC16Clustering, MewsC16BalancedClustering)
}
