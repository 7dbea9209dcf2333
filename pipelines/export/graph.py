"""`wikianchor export`: make (anchor, positive, negatives) as text of `pairs`, for sentence-transformers.

    pairs -> count_rows -> sum_counts -> Shuffle by entity (sample_sentences, write_piece) -> an index of sentences
    entities -> Shuffle by entity (read_texts, write_piece) -> an index of labels, descriptions or aliases
    pairs -> find_links -> join_links -> which sampled sentence links to which entity
    pairs, indexes -> export_shard -> parts -> commit_rows

The rows keep the order of `pairs`, which are shuffled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.options import recorded
from wikianchor.pipelines.dataset.inputs import input_records
from wikianchor.pipelines.dataset.reader import Dataset, open_datasets
from wikianchor.pipelines.dataset.reasons import most
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import export_seconds
from wikianchor.pipelines.engine.stage import commit_dataset, run_stage
from wikianchor.pipelines.export.options import ExportOptions
from wikianchor.pipelines.wikimedia.languages import language_of_wiki
from wikianchor.schemas import entities as entities_schema
from wikianchor.schemas import export as schema
from wikianchor.schemas import pairs as pairs_schema

if TYPE_CHECKING:
    from wikianchor.pipelines.export.steps import ExportTask

SENTENCE = "sentence"
TEXTS = {"label": "labels", "description": "descriptions", "alias": "aliases"}


def run(config: ExportOptions, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest.

    Raises:
        UsageError, InputError: the datasets do not go together, or one is missing.
    """
    pairs = _open_one(config.pairs, "pairs", pairs_schema.VERSION)
    entities = _open_one(config.entities, "entities", entities_schema.VERSION) if config.entities else None
    _check(config, pairs, entities)
    inputs = input_records([pairs] if entities is None else [pairs, entities])
    options = recorded(config) | {"negatives": negatives_of(config, pairs)}
    graph = partial(build, config=config, pairs=pairs, entities=entities)
    passes = 2 if SENTENCE in kinds_of(config, pairs) else 1
    size = sum(shard["bytes"] for shard in pairs.manifest["configs"]["pairs"]["shards"])
    load = Load(export_seconds(pairs.rows("pairs")))
    return run_stage("export", schema.VERSION, config.output, inputs, options, graph, beam_args, passes * size, load)


def _open_one(directory: str, name: str, version: str) -> Dataset:
    datasets = open_datasets(directory, name, version, name)
    if len(datasets) != 1:
        raise UsageError(f"--{name}={directory} names {len(datasets)} datasets: name one")
    return datasets[0]


def negatives_of(config: ExportOptions, pairs: Dataset) -> int:
    """Return the number of negatives of a row."""
    return int(pairs.manifest["options"]["negatives"]) if config.negatives is None else config.negatives


def kinds_of(config: ExportOptions, pairs: Dataset) -> list[str]:
    """Return the kinds of text that are needed."""
    return sorted({config.positive, *([config.negative] if negatives_of(config, pairs) else [])})


def wikis_of(pairs: Dataset) -> list[str]:
    """Return the wikis that pairs are of."""
    return sorted(pairs.manifest["ledger"]["links"])


def _check(config: ExportOptions, pairs: Dataset, entities: Dataset | None) -> None:
    known = int(pairs.manifest["options"]["negatives"])
    if (config.negatives or 0) > known:
        raise UsageError(
            f"--negatives={config.negatives}: the rows of --pairs={config.pairs} have {known}: "
            f"build them with `wikianchor pairs --negatives={config.negatives}`"
        )
    kinds = [kind for kind in kinds_of(config, pairs) if kind != SENTENCE]
    texts = () if entities is None else entities.manifest["options"].get("texts", ("labels",))
    missing = [TEXTS[kind] for kind in kinds if TEXTS[kind] not in texts]
    if entities is None and config.language == "any" and missing == ["labels"]:
        missing = []
    if missing and entities is None:
        raise UsageError(
            f"--{'language=' + config.language if missing == ['labels'] else 'positive=' + config.positive} needs "
            f"--entities=DIR, built with `wikianchor entities --texts=labels,{missing[0]}`".replace(",labels", "")
        )
    if missing:
        raise InputError(
            f"--entities={config.entities} has no {missing[0]}: build it again with --texts=labels,{missing[0]}"
        )
    languages = {language_of_wiki(wiki) for wiki in wikis_of(pairs)}
    if config.language == "other" and SENTENCE in kinds_of(config, pairs) and len(languages) < 2:
        raise UsageError(f"--language=other: the sentences of --pairs={config.pairs} are all in one language")


def build(
    pipeline: Any,
    head: Mapping[str, Any],
    work: Workspace,
    config: ExportOptions,
    pairs: Dataset,
    entities: Dataset | None,
) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam

    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep
    from wikianchor.pipelines.export.steps import export_shard, list_shards
    from wikianchor.pipelines.export.transforms import FindLinks, IndexSentences, IndexTexts

    task = _task(config, work, pairs, entities)
    shards = pipeline | "List pairs" >> ListElements(list_shards, pairs.directory, "pairs")  # InputShard
    indexes: dict[str, Any] = {}
    for kind in kinds_of(config, pairs):
        if kind == SENTENCE:
            built = shards | "Index sentences" >> IndexSentences(task)
        else:
            built = pipeline | f"Index {TEXTS[kind]}" >> IndexTexts(task, kind, pairs.directory)
        indexes[kind] = beam.pvalue.AsSingleton(built)  # path
    linked: Any = None
    if task.negatives and config.negative == SENTENCE:
        linked = beam.pvalue.AsSingleton(shards | "Find links" >> FindLinks(indexes[SENTENCE], work))  # path
    texts = indexes[config.positive], indexes[config.negative] if task.negatives else None
    exported = shards | "Export" >> RunStep(export_shard, work, "export", task, *texts, linked)  # Exported
    _ = pipeline | "Commit" >> CallOnce(commit_rows, config.output, work, head, pairs.rows("pairs"), exported)


def _task(config: ExportOptions, work: Workspace, pairs: Dataset, entities: Dataset | None) -> ExportTask:
    from wikianchor.pipelines.export.steps import ExportTask
    from wikianchor.pipelines.export.text_index import EVERY_LANGUAGE

    wikis = wikis_of(pairs)
    of_wikis = tuple(map(language_of_wiki, wikis))
    labels = entities.manifest["options"]["labels"] if entities else (EVERY_LANGUAGE,)
    return ExportTask(
        work=work,
        format=config.format,
        positive=config.positive,
        negative=config.negative,
        language=config.language,
        negatives=negatives_of(config, pairs),
        sentences=config.sentences_per_entity,
        seed=config.seed,
        wikis=tuple(wikis),
        wiki_languages=of_wikis,
        languages=tuple(dict.fromkeys((*labels, *of_wikis))),
        entities=pairs.rows("entities"),
        dataset=entities.directory if entities else "",
    )


def commit_rows(output: str, work: Workspace, head: Mapping[str, Any], rows: int, exported: Iterable[Any]) -> None:
    """Check that every row of pairs is counted, and commit the dataset.

    Raises:
        InputError: a row is missing in the ledger, or no row is exported; the message names the most frequent reason.
    """
    from wikianchor.pipelines.export.steps import REASONS

    shards = list(exported)
    ledger: dict[str, Counter[str]] = {}
    for shard in shards:
        for wiki, counts in shard.counts.items():
            ledger.setdefault(wiki, Counter()).update(dict(zip(REASONS, counts, strict=True)))
    total = sum(ledger.values(), Counter[str]())
    if total.total() != rows:
        raise InputError(f"{output}: the ledger does not balance: {rows} pairs, {total.total()} counted")
    problems = [] if total["kept"] else [f"{output}: no row came out: most pairs ended as {most('export', total)}"]
    report = {
        wiki: {name: number for name, number in counts.items() if number} | {"seen": counts.total()}
        for wiki, counts in sorted(ledger.items())
    }
    commit_dataset(output, work, head, [part for shard in shards for part in shard.parts], {"rows": report}, problems)
