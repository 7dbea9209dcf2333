"""`wikianchor retrieval`: sentences with a masked name as queries, passages of the linked page as what is relevant.

    previous -> index_previous -> hashes of all its sentences
    documents, hashes -> find_candidates -> sentences with links that the previous dump lacks
    candidates, mentions, entities -> merge_candidates -> candidates with masked names
    previous, candidates -> find_near -> candidates that it nearly has
    corpus, candidates -> find_targets -> evidence of each candidate on the page of its target
    -> choose_queries -> queries, with the items whose pages are in the corpus
    corpus, queries -> write_passages -> parts of corpus, grades
    -> commit_retrieval -> parts of queries and qrels

The elements are shards. What is sampled follows from hashes of page ids and offsets, so it does not depend on shards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.options import recorded
from wikianchor.pipelines.dataset.inputs import input_records
from wikianchor.pipelines.dataset.reader import numbered_shards, open_one
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import LINKING
from wikianchor.pipelines.engine.stage import Stage, commit_dataset, counts_by_kind, run_stage
from wikianchor.pipelines.retrieval.options import RetrievalOptions
from wikianchor.schemas import documents as documents_schema
from wikianchor.schemas import entities as entities_schema
from wikianchor.schemas import mentions as mentions_schema
from wikianchor.schemas import retrieval as schema


def run(config: RetrievalOptions, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest.

    Raises:
        UsageError, InputError: the datasets do not go together, or one is missing.
    """
    paths = {"documents": config.documents, "corpus": config.corpus, "previous": config.previous}
    opened = {flag: open_one(path, "documents", documents_schema.VERSION, flag) for flag, path in paths.items() if path}
    mentions = open_one(config.mentions, "mentions", mentions_schema.VERSION, "mentions")
    entities = open_one(config.entities, "entities", entities_schema.VERSION, "entities")
    documents = opened["documents"]
    corpus = opened.get("corpus", documents)
    wikis = documents.options["wikis"]
    needed = [("mentions", mentions, wikis), ("entities", entities, corpus.options["wikis"])]
    needed += [("previous", opened["previous"], wikis)] if "previous" in opened else []
    for flag, dataset, of_documents in needed:
        if missing := sorted(set(of_documents).difference(dataset.options["wikis"])):
            raise InputError(
                f"--{flag}={dataset.directory} has nothing of {', '.join(missing)}, which "
                f"--{'corpus' if flag == 'entities' and config.corpus else 'documents'} has: build it again with that "
                "wiki"
            )
    inputs = [documents, *(opened[flag] for flag in ("corpus", "previous") if flag in opened), mentions, entities]
    stage = Stage(
        dataset="retrieval",
        schema_version=schema.VERSION,
        output=config.output,
        inputs=input_records(inputs),
        options=recorded(config) | {"wikis": wikis, "corpus_wikis": corpus.options["wikis"]},
        build=partial(
            build,
            config=config,
            documents=documents.directory,
            corpus=corpus.directory,
            previous=opened["previous"].directory if "previous" in opened else "",
            mentions=mentions.directory,
            entities=entities.directory,
        ),
        load=Load(sum(documents.sizes("documents")) / LINKING),
    )
    return run_stage(stage, beam_args)


def build(
    pipeline: Any,
    head: Mapping[str, Any],
    work: Workspace,
    *,
    config: RetrievalOptions,
    documents: str,
    corpus: str,
    previous: str,
    mentions: str,
    entities: str,
) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam

    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep
    from wikianchor.pipelines.retrieval.candidates import find_candidates, index_previous, merge_candidates
    from wikianchor.pipelines.retrieval.passages import find_targets, write_passages
    from wikianchor.pipelines.retrieval.queries import choose_queries, find_near
    from wikianchor.pipelines.retrieval.tables import RetrievalTask

    task = RetrievalTask(work=work, config=config, documents=documents, mentions=mentions, entities=entities)
    index = pipeline | "Index previous" >> CallOnce(index_previous, previous, task, work=work, name="index")
    before = [previous] if previous else []
    shards = {
        name: pipeline | f"List {name}" >> ListElements(numbered_shards, directories, "documents")  # NumberedShard
        for name, directories in (("documents", [documents]), ("previous", before), ("corpus", [corpus]))
    }
    candidates = shards["documents"] | "Find candidates" >> RunStep(  # Found
        find_candidates, work, "candidates", task, beam.pvalue.AsSingleton(index)
    )
    merged = pipeline | "Merge candidates" >> CallOnce(  # Merged
        merge_candidates, task, candidates, work=work, name="merge"
    )
    merged_side = beam.pvalue.AsSingleton(merged)
    near = shards["previous"] | "Find near" >> RunStep(find_near, work, "near", merged_side)  # Near
    targets = shards["corpus"] | "Find targets" >> RunStep(find_targets, work, "targets", merged_side)  # Targets
    chosen = pipeline | "Choose queries" >> CallOnce(  # Chosen
        choose_queries, task, merged_side, near, targets, work=work, name="choose"
    )
    passages = shards["corpus"] | "Write passages" >> RunStep(  # Passages
        write_passages, work, "passages", task, beam.pvalue.AsSingleton(chosen)
    )
    sides = (candidates, merged_side, beam.pvalue.AsSingleton(chosen), passages)
    _ = pipeline | "Commit" >> CallOnce(partial(commit_retrieval, config.output, task, head), *sides)


def commit_retrieval(
    output: str,
    task: Any,
    head: Mapping[str, Any],
    candidates: Iterable[Any],
    merged: Any,
    chosen: Any,
    passages: Iterable[Any],
) -> None:
    """Write queries and grades, and commit the dataset.

    The ledger has, by wiki, the links by what became of them, and the passages of the corpus.
    """
    from wikianchor.pipelines.retrieval.queries import write_queries

    shards = sorted(passages, key=attrgetter("order"))
    counts = counts_by_kind(result.counts for result in (merged, chosen, *candidates, *shards))
    parts = [part for shard in shards for part in shard.parts]
    parts += write_queries(task, chosen, shards)
    ledger = {kind: counts_by_kind([by_wiki]) for kind, by_wiki in counts.items()}
    commit_dataset(output, task.work, head, parts=parts, ledger=ledger, problems=())
