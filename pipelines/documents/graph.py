"""`wikianchor documents`: join the documents of `sentences` with the items of their pages and links.

    titles, sitelinks -> BuildIndex -> a title index of each wiki
    documents -> join_shard -> parts -> commit_joined

One worker joins a shard, which becomes one part of the dataset. Datasets of sentences without documents, such as those
of the Wikipedias that a Wikinews links to, only give titles and redirects. Of other wikis, the sitelinks alone tell the
items of titles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.pipelines.dataset.inputs import input_records, open_inputs, wiki_of
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.documents.options import DocumentsOptions
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import DOCUMENTS
from wikianchor.pipelines.engine.stage import Stage, commit_dataset, counts_by_kind, run_stage
from wikianchor.pipelines.wikimedia.languages import is_wikipedia
from wikianchor.schemas import documents as schema


def run(config: DocumentsOptions, beam_args: Sequence[str], keep_older: bool = False) -> dict[str, Any]:
    """Run the stage and return its manifest.

    Args:
        config: options of the stage.
        beam_args: flags for Beam.
        keep_older: see `run_stage`.

    Raises:
        UsageError, InputError: the datasets do not go together, one is missing, or none has documents.
    """
    sentences, entities = open_inputs(config.sentences, config.entities)
    with_documents = [dataset for dataset in sentences if dataset.configs.get("documents")]
    if not with_documents:
        raise InputError(f"{sentences[0].directory}: has no documents: build it again with --documents")
    read = sum(size for dataset in with_documents for size in dataset.sizes("documents"))
    stage = Stage(
        dataset="documents",
        schema_version=schema.VERSION,
        output=config.output,
        inputs=input_records((*sentences, entities)),
        options=options_of(map(wiki_of, with_documents)),
        build=partial(build, config=config, sentences=sentences, entities=entities),
        load=Load(read / DOCUMENTS),
    )
    return run_stage(stage, beam_args, keep_older=keep_older)


def options_of(wikis: Iterable[str]) -> dict[str, Any]:
    """Return the options that the manifest carries."""
    return {"wikis": sorted(wikis)}


def build(
    pipeline: Any,
    head: Mapping[str, Any],
    work: Workspace,
    config: DocumentsOptions,
    sentences: Sequence[Dataset],
    entities: Dataset,
) -> None:
    """Add the graph to a pipeline."""
    from wikianchor.pipelines.documents.steps import join_shard, list_shards
    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep, as_dict
    from wikianchor.pipelines.titles.steps import BuildIndex

    ordered = [dataset for dataset in sorted(sentences, key=wiki_of) if dataset.configs.get("documents")]
    datasets = [(wiki_of(dataset), dataset.directory) for dataset in ordered]
    others = sorted(set(filter(is_wikipedia, entities.options["wikis"])).difference(map(wiki_of, sentences)))
    built = pipeline | "Build title indexes" >> BuildIndex(sentences, entities, work, others)  # IndexBuilt
    indexes = as_dict(built, "Indexes by wiki", attrgetter("wiki"))
    joined = (
        pipeline
        | "List shards" >> ListElements(list_shards, datasets)  # DocumentShard
        | "Join shard" >> RunStep(join_shard, work, "join", indexes, work)  # Joined
    )
    _ = pipeline | "Commit" >> CallOnce(commit_joined, config.output, work, head, joined)


def commit_joined(output: str, work: Workspace, head: Mapping[str, Any], joined: Iterable[Any]) -> None:
    """Commit the dataset; the ledger has the links of each wiki by whether they got an item."""
    shards = list(joined)
    counts = ({f"{shard.wiki}:{name}": number for name, number in shard.links.items()} for shard in shards)
    parts = [part for shard in shards for part in shard.parts]
    commit_dataset(output, work, head, parts=parts, ledger={"links": counts_by_kind(counts)}, problems=())
