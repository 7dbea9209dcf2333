"""`wikianchor linking`: mentions of items with their contexts and candidates, and a knowledge base.

    documents, mentions, earlier documents -> build_indexes -> the look-up tables of each wiki
    documents, tables -> write_links -> parts of linking, linking_dev, linking_test
    entities, tables -> write_items -> parts of items
    mentions -> write_names -> parts of names
    parts -> commit_linking

The elements are wikis and shards. Rows keep the order of `documents`, `entities` and `mentions`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.options import recorded
from wikianchor.pipelines.dataset.inputs import input_records
from wikianchor.pipelines.dataset.reader import Dataset, numbered_shards, open_one
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import LINKING
from wikianchor.pipelines.engine.stage import Stage, commit_dataset, counts_by_kind, run_stage
from wikianchor.pipelines.linking.options import LinkingOptions
from wikianchor.schemas import documents as documents_schema
from wikianchor.schemas import entities as entities_schema
from wikianchor.schemas import linking as schema
from wikianchor.schemas import mentions as mentions_schema


def run(config: LinkingOptions, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest.

    Raises:
        UsageError, InputError: the datasets do not go together, or one is missing.
    """
    documents = open_one(config.documents, "documents", documents_schema.VERSION, "documents")
    mentions = open_one(config.mentions, "mentions", mentions_schema.VERSION, "mentions")
    entities = open_one(config.entities, "entities", entities_schema.VERSION, "entities")
    earlier = [open_one(config.previous, "documents", documents_schema.VERSION, "previous")] if config.previous else []
    wikis = documents.options["wikis"]
    names = {wiki: wiki_of_names(wiki, mentions.options["wikis"]) for wiki in wikis}
    needed = [("mentions", mentions, names.values()), ("entities", entities, wikis)]
    for flag, dataset, of_documents in (*needed, *(("previous", dataset, wikis) for dataset in earlier)):
        if missing := sorted(set(of_documents).difference(dataset.options["wikis"])):
            raise InputError(
                f"--{flag}={dataset.directory} has nothing of {', '.join(missing)}, which --documents has: build it "
                "again with that wiki"
            )
    stage = Stage(
        dataset="linking",
        schema_version=schema.VERSION,
        output=config.output,
        inputs=input_records([documents, mentions, entities, *earlier]),
        options=recorded(config) | {"wikis": wikis, "names": names},
        build=partial(build, config=config, documents=documents, mentions=mentions, entities=entities, earlier=earlier),
        load=Load(sum(documents.sizes("documents")) / LINKING),
    )
    return run_stage(stage, beam_args)


def wiki_of_names(wiki: str, known: Collection[str]) -> str:
    """Return the wiki whose names are those of a wiki: of a Wikinews the Wikipedia in its language, if it is known.

    >>> wiki_of_names("enwikinews", ["enwiki"]), wiki_of_names("enwikinews", ["enwikinews"])
    ('enwiki', 'enwikinews')
    """
    wikipedia = f"{wiki.partition('wiki')[0]}wiki"
    return wikipedia if wikipedia in known else wiki


def build(
    pipeline: Any,
    head: Mapping[str, Any],
    work: Workspace,
    config: LinkingOptions,
    documents: Dataset,
    mentions: Dataset,
    entities: Dataset,
    earlier: Sequence[Dataset],
) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam

    from wikianchor.pipelines.arrays.splits import Split
    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep, as_dict
    from wikianchor.pipelines.linking.indexes import IndexTask, build_indexes
    from wikianchor.pipelines.linking.steps import (
        LinkingTask,
        write_items,
        write_links,
        write_names,
    )

    wikis = tuple(sorted(documents.options["wikis"]))
    task = LinkingTask(work, config.format, Split(config.split, config.seed), wikis)
    before = earlier[0].directory if earlier else ""
    names = [wiki_of_names(wiki, mentions.options["wikis"]) for wiki in wikis]
    sources = (documents.directory, mentions.directory, before)
    tasks = [IndexTask(*of_wiki) for of_wiki in zip(wikis, names, strict=True)]
    built = (
        pipeline
        | "List wikis" >> beam.Create(tasks)  # IndexTask
        | "Build indexes"
        >> RunStep(build_indexes, work, "index", *sources, work, key=attrgetter("wiki"))  # WikiIndexes
    )
    indexes = as_dict(built, "Indexes by wiki", attrgetter("wiki"))
    steps = (
        ("links", documents, "documents", write_links, (task, indexes)),
        ("items", entities, "entities", write_items, (task, indexes)),
        ("names", mentions, "mentions", write_names, (task,)),
    )
    written = [
        pipeline
        | f"List {name}" >> ListElements(numbered_shards, [dataset.directory], config)  # NumberedShard
        | f"Write {name}" >> RunStep(step, work, name, *sides)  # Written
        for name, dataset, config, step, sides in steps
    ]
    _ = pipeline | "Commit" >> CallOnce(partial(commit_linking, config.output, work, head), *written)


def commit_linking(output: str, work: Workspace, head: Mapping[str, Any], *written: Iterable[Any]) -> None:
    """Commit the dataset.

    The ledger has the links of each wiki by whether they lead to an item; of its rows how many are in each split, and
    for how many the item is the first candidate, or among the 30 first; and the numbers of items and names.
    """
    shards = list(chain(*written))
    ledger: dict[str, Any] = counts_by_kind(shard.counts for shard in shards)
    ledger |= {kind: counts_by_kind([ledger[kind]]) for kind in ("links", "candidates") if kind in ledger}
    parts = [part for shard in shards for part in shard.parts]
    commit_dataset(output, work, head, parts=parts, ledger=ledger, problems=())
