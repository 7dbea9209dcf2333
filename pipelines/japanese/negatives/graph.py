"""`wikianchor negatives`: make the dataset `negatives`, sentences of a corpus whose nouns a T5 has replaced.

    shards of the corpus -> ChooseSpans -> RunInference (fill) -> WriteShard (judge, write) -> commit_negatives

Elements: `NumberedShard` -> `ShardTexts` -> `PredictionResult` -> `NegativesWritten` -> the manifest. A
shard is one element.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.options import recorded
from wikianchor.io.storage import sha1
from wikianchor.pipelines.dataset.inputs import input_records
from wikianchor.pipelines.dataset.reader import Dataset, numbered_shards, open_datasets
from wikianchor.pipelines.dataset.reasons import listed
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine import dataflow
from wikianchor.pipelines.engine.runner import runner_of
from wikianchor.pipelines.engine.stage import Stage, commit_dataset, run_stage
from wikianchor.pipelines.japanese.negatives.filler import load_filler
from wikianchor.pipelines.japanese.negatives.options import NegativesOptions
from wikianchor.pipelines.japanese.noun_phrases import make_reader
from wikianchor.schemas import corpus, sentinels
from wikianchor.schemas import negatives as schema


def run(config: NegativesOptions, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest."""
    datasets = open_datasets(config.corpus, "corpus", corpus.VERSION, "corpus")
    for dataset in datasets:
        if config.spans not in ("nouns", "nouns_names") and dataset.manifest["options"]["parser"] != "ginza":
            raise UsageError(f"--spans={config.spans} needs trees: {dataset.directory} was made with --parser=sudachi")
    check_model(config.model)
    # A model that cannot be read, a package that is not there, are found now, not on a worker.
    make_reader()
    most_holes = load_filler(config).most_holes
    model = {"model": os.path.basename(config.model.rstrip("/")), "sha1": model_digests(config.model)}
    stage = Stage(
        dataset="negatives",
        schema_version=schema.VERSION,
        output=config.output,
        inputs=[*input_records(datasets), model],
        options=recorded(config),
        build=partial(build, config=config, datasets=datasets, most_holes=most_holes),
    )
    return run_stage(stage, beam_args)


def check_model(directory: str) -> None:
    """Check that a directory holds a T5, before packages are imported that take seconds.

    Raises:
        InputError: it does not.
    """
    if not os.path.isdir(directory):
        raise InputError(f"--model={directory}: no such directory")
    if not os.path.isfile(f"{directory}/{sentinels.MODEL_FILE}"):
        inner = f"{directory.rstrip('/')}/model"
        is_inner = os.path.isfile(f"{inner}/{sentinels.MODEL_FILE}")
        advice = f"did you mean {inner}?" if is_inner else "wikianchor train t5 makes one"
        raise InputError(f"--model={directory}: holds no T5 ({sentinels.MODEL_FILE}): {advice}")


def model_digests(directory: str) -> dict[str, str]:
    """Return the sha1 of the files of a model that decide over what it says."""
    names = (name for name in sorted(os.listdir(directory)) if name.endswith((".safetensors", ".bin")))
    return {name: sha1(os.path.join(directory, name)) for name in (*names, sentinels.MODEL_FILE)}


def build(
    pipeline: Any,
    head: Mapping[str, Any],
    work: Workspace,
    config: NegativesOptions,
    datasets: Sequence[Dataset],
    most_holes: int,
) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam
    from apache_beam.ml.inference.base import RunInference

    from wikianchor.pipelines.engine.resume import order_of
    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep
    from wikianchor.pipelines.japanese.negatives import steps

    fill = RunInference(steps.FillerHandler(config))
    if dataflow.is_dataflow(runner_of(pipeline.options)) and config.device != "cpu":
        fill = fill.with_resource_hints(accelerator=dataflow.ACCELERATOR)
    write = RunStep(steps.WriteShard(config, work), work, steps.STEP, key=lambda result: order_of(result.example))
    chosen = (
        pipeline
        | "List shards" >> ListElements(numbered_shards, [dataset.directory for dataset in datasets], "corpus")
        | "Choose spans"
        >> beam.ParDo(steps.ChooseSpans(config, work, most_holes)).with_outputs(steps.FINISHED, main="to do")
    )
    made = (
        chosen["to do"]  # ShardTexts
        | "Fill" >> fill  # PredictionResult
        | "Write shard" >> write  # NegativesWritten
    )
    shards = (made, chosen[steps.FINISHED]) | "All shards" >> beam.Flatten()
    _ = pipeline | "Commit" >> CallOnce(commit_negatives, config.output, work, head, shards)


def commit_negatives(output: str, work: Workspace, head: Mapping[str, Any], made: Iterable[Any]) -> None:
    """Check the ledger and commit the dataset.

    Raises:
        InputError: the ledger does not balance, or no sentence has a negative.
    """
    from wikianchor.pipelines.japanese.negatives.steps import balance

    shards = list(made)
    ledger = balance(shards, output)
    parts = [part for shard in shards for part in shard.parts]
    problems = []
    if not parts:
        dropped = f"sentences: {listed('negatives', ledger['sentences'])}"
        dropped += f"; candidates: {listed('candidates', ledger['candidates'])}"
        problems = [f"{output}: no sentence has a negative: {dropped}"]
    commit_dataset(output, work, head, parts=parts, ledger=ledger, problems=problems)
