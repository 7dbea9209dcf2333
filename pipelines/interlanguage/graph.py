"""`wikianchor interlanguage`: list the page of each item in each wiki, as a dataset of its own under CC0.

    sitelinks, titles of each wiki -> join_wiki -> parts -> commit_joined

One worker joins a wiki, which becomes one part of the dataset, sorted by item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from wikianchor.pipelines.dataset.inputs import input_records, open_inputs, wiki_of
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.stage import Stage, commit_dataset, run_stage
from wikianchor.pipelines.interlanguage.options import InterlanguageOptions
from wikianchor.schemas import mentions as schema


def run(config: InterlanguageOptions, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest.

    Raises:
        UsageError, InputError: the datasets do not go together, or one is missing.
    """
    sentences, entities = open_inputs(config.sentences, config.entities)
    stage = Stage(
        dataset="interlanguage",
        schema_version=schema.VERSION,
        output=config.output,
        inputs=input_records((*sentences, entities)),
        options={"wikis": entities.manifest["options"]["wikis"]},
        build=partial(build, config=config, sentences=sentences, entities=entities),
    )
    return run_stage(stage, beam_args)


def build(
    pipeline: Any,
    head: Mapping[str, Any],
    work: Workspace,
    config: InterlanguageOptions,
    sentences: Sequence[Dataset],
    entities: Dataset,
) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam

    from wikianchor.pipelines.engine.transforms import CallOnce, RunStep
    from wikianchor.pipelines.interlanguage.steps import JoinTask, join_wiki

    titles = {wiki_of(dataset): dataset.directory for dataset in sentences}
    wikis = entities.manifest["options"]["wikis"]
    tasks = [JoinTask(order, wiki, entities.directory, titles.get(wiki)) for order, wiki in enumerate(sorted(wikis))]
    joined = (
        pipeline
        | "List wikis" >> beam.Create(tasks)  # JoinTask
        | "Join wiki" >> RunStep(join_wiki, work, "join", work)  # Joined
    )
    _ = pipeline | "Commit" >> CallOnce(commit_joined, config.output, work, head, joined)


def commit_joined(output: str, work: Workspace, head: Mapping[str, Any], joined: Iterable[Any]) -> None:
    """Commit the dataset; the ledger has the rows of each wiki by kind: of pages, of redirects, of pages not seen."""
    wikis = sorted(joined, key=lambda result: result.wiki)
    ledger = {"rows": {result.wiki: result.counts for result in wikis}}
    parts = [part for result in wikis for part in result.parts]
    commit_dataset(output, work, head, parts=parts, ledger=ledger, problems=())
