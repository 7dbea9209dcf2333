"""Datasets that are inputs of a stage: opened, checked against each other, and recorded in the manifest."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.storage import file_size, sha1
from wikianchor.pipelines.dataset.changes import RULES, rules_of
from wikianchor.pipelines.dataset.provenance import MADE_OF, stages_of
from wikianchor.pipelines.dataset.reader import Dataset, open_datasets, open_one
from wikianchor.schemas import entities as entities_schema
from wikianchor.schemas import sentences as sentences_schema


def open_inputs(sentences: str, entities: str) -> tuple[list[Dataset], Dataset]:
    """Open the datasets of sentences and the dataset of entities that two options name.

    Args:
        sentences: the option --sentences.
        entities: the option --entities.

    Raises:
        UsageError: there are several datasets of entities, or two datasets of sentences of one wiki.
        InputError: a dataset is missing or unfinished, or the items of a wiki are missing.
    """
    of_sentences = open_datasets(sentences, "sentences", sentences_schema.VERSION, "sentences")
    of_entities = open_one(entities, "entities", entities_schema.VERSION, "entities")
    known = of_entities.options["wikis"]
    for wiki, number in sorted(Counter(map(wiki_of, of_sentences)).items()):
        if number > 1:
            raise UsageError(f"--sentences={sentences} names {number} datasets of {wiki}: name one for each wiki")
        if wiki not in known:
            raise InputError(
                f"--entities={entities} was built for {','.join(known)}: build it again with {wiki} in --wikis"
            )
    return of_sentences, of_entities


def input_records(datasets: Iterable[Dataset]) -> list[dict[str, Any]]:
    """Return what a manifest says of the datasets that a stage read; the rules that they were made by, of which
    `run_stage` keeps those that are not the rules of this program; and the stages behind them."""
    return [
        {
            "dataset": dataset.name,
            "wiki": dataset.options.get("wiki"),
            "sha256": fingerprint(dataset),
            RULES: rules_of(dataset.manifest),
            MADE_OF: stages_of(dataset.manifest),
        }
        for dataset in datasets
    ]


def file_records(paths: Iterable[str]) -> list[dict[str, Any]]:
    """Return what a manifest says of the files that a stage read."""
    return [{"path": path.rpartition("/")[2], "bytes": file_size(path), "sha1": sha1(path)} for path in paths]


def fingerprint(dataset: Dataset) -> str:
    """Return one checksum for the rows of a dataset, from those of its shards."""
    configs = sorted(dataset.configs.items())
    parts = (part for name, config in configs for part in (name, *(shard["sha256"] for shard in config["shards"])))
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def wiki_of(sentences: Dataset) -> str:
    """Return the database name of the wiki of a dataset of sentences."""
    return str(sentences.options["wiki"])
