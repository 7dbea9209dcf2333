"""`wikianchor export`: make (anchor, positive, negatives) as text of `pairs`, for sentence-transformers.

    sentences, titles -> read_page_texts -> Shuffle by entity (write_piece) -> an index of leads, titles, ...
    pairs -> count_rows -> sum_counts -> Shuffle by entity (sample_sentences, write_piece) -> an index of sentences
    entities -> Shuffle by entity (read_texts, write_piece) -> an index of labels, descriptions or aliases
    pairs -> find_links -> join_links -> which sampled sentence links to which entity
    pairs, indexes -> choose_texts -> the texts of each row, and its keys
    keys -> cap_rows -> which rows have too common a positive
    pairs, indexes, texts, caps -> compare_anchors -> keys -> cap_rows -> which rows have nearly equal anchors
    pairs, indexes, texts, keys, caps -> export_shard -> parts -> commit_rows

The rows keep the order of `pairs`, which are shuffled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.options import recorded
from wikianchor.pipelines.dataset.inputs import fingerprint, input_records, open_inputs, wiki_of
from wikianchor.pipelines.dataset.reader import Dataset, open_datasets
from wikianchor.pipelines.dataset.reasons import most
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import export_seconds
from wikianchor.pipelines.engine.stage import Stage, commit_dataset, run_stage
from wikianchor.pipelines.export.options import ExportOptions
from wikianchor.pipelines.export.texts import COLUMNS, OF_DOCUMENTS, OF_PAGES, PAGE_TEXTS, SENTENCE
from wikianchor.pipelines.wikimedia.languages import language_of_wiki
from wikianchor.schemas import entities as entities_schema
from wikianchor.schemas import export as schema
from wikianchor.schemas import pairs as pairs_schema

if TYPE_CHECKING:
    from wikianchor.pipelines.export.task import ExportTask


def run(config: ExportOptions, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest.

    Raises:
        UsageError, InputError: the datasets do not go together, or one is missing.
    """
    pairs = _open_one(config.pairs, "pairs", pairs_schema.VERSION)
    sources = _sources(config, pairs)
    _check(config, pairs, sources)
    inputs = input_records([pairs, *sources.sentences, *filter(None, [sources.entities])])
    options = recorded(config) | {"negatives": negatives_of(config, pairs)}
    graph = partial(build, config=config, pairs=pairs, sources=sources)
    passes = 3 + (SENTENCE in texts_of(config, pairs))
    size = sum(shard["bytes"] for shard in pairs.manifest["configs"]["pairs"]["shards"])
    load = Load(export_seconds(pairs.rows("pairs")))
    stage = Stage(
        dataset="export",
        schema_version=schema.VERSION,
        output=config.output,
        inputs=inputs,
        options=options,
        build=graph,
        bytes_read=passes * size,
        load=load,
    )
    return run_stage(stage, beam_args)


class Sources(NamedTuple):
    """What texts are read from, besides pairs.

    Attributes:
        sentences: the datasets of sentences, where texts of the entities' pages are needed.
        entities: the dataset of entities, where it is needed.
    """

    sentences: list[Dataset]
    entities: Dataset | None


def _sources(config: ExportOptions, pairs: Dataset) -> Sources:
    """Open the datasets of sentences and entities: those that options name, or those beside pairs.

    Raises:
        UsageError, InputError: they are not there, or pairs was built from others.
    """
    if not any(text in PAGE_TEXTS for text in texts_of(config, pairs)):
        entities = config.entities and _open_one(config.entities, "entities", entities_schema.VERSION)
        return Sources([], entities or None)
    beside = pairs.directory.rpartition("/")[0] or "."
    sentences, entities = open_inputs(
        config.sentences or f"{beside}/sentences", config.entities or f"{beside}/entities"
    )
    known = {fingerprint(dataset) for dataset in (*sentences, entities)}
    for source in pairs.manifest["inputs"]:
        if source["sha256"] not in known:
            name, wiki = source["dataset"], source["wiki"]
            raise InputError(
                f"--pairs={config.pairs} was built from another dataset of {name}{' of ' + wiki if wiki else ''} than "
                f"--{name}={getattr(config, name) or f'{beside}/{name}'}: name that one, or build the pairs again"
            )
    return Sources([dataset for dataset in sentences if wiki_of(dataset) in wikis_of(pairs)], entities)


def _open_one(directory: str, name: str, version: str) -> Dataset:
    datasets = open_datasets(directory, name, version, name)
    if len(datasets) != 1:
        raise UsageError(f"--{name}={directory} names {len(datasets)} datasets: name one")
    return datasets[0]


def negatives_of(config: ExportOptions, pairs: Dataset) -> int:
    """Return the number of negatives of a row."""
    return int(pairs.manifest["options"]["negatives"]) if config.negatives is None else config.negatives


def texts_of(config: ExportOptions, pairs: Dataset) -> list[str]:
    """Return the kinds of text that are read by entity: all but the sentences of anchors."""
    anchor = [] if config.anchor == SENTENCE else [config.anchor]
    return sorted({*anchor, config.positive, *([config.negative] if negatives_of(config, pairs) else [])})


def wikis_of(pairs: Dataset) -> list[str]:
    """Return the wikis that pairs are of."""
    return sorted(pairs.manifest["ledger"]["links"])


def _check(config: ExportOptions, pairs: Dataset, sources: Sources) -> None:
    entities = sources.entities
    known = int(pairs.manifest["options"]["negatives"])
    if (config.negatives or 0) > known:
        raise UsageError(
            f"--negatives={config.negatives}: the rows of --pairs={config.pairs} have {known}: "
            f"build them with `wikianchor pairs --negatives={config.negatives}`"
        )
    needed = [text for text in texts_of(config, pairs) if text in COLUMNS]
    texts = () if entities is None else entities.manifest["options"].get("texts", ("labels",))
    missing = [COLUMNS[text] for text in needed if COLUMNS[text] not in texts]
    if entities is None and config.language == "any" and missing == ["labels"]:
        missing = []
    if missing and entities is None:
        raise UsageError(
            f"--{'language=' + config.language if missing == ['labels'] else 'kind=' + config.kind} needs "
            f"--entities=DIR, built with `wikianchor entities --texts=labels,{missing[0]}`".replace(",labels", "")
        )
    if missing:
        raise InputError(
            f"--entities={config.entities} has no {missing[0]}: build it again with --texts=labels,{missing[0]}"
        )
    for dataset in sources.sentences if config.positive in OF_DOCUMENTS else ():
        if "documents" not in dataset.configs:
            raise InputError(
                f"--kind={config.kind} needs documents: {dataset.directory}: build it again with --documents"
            )
    languages = {language_of_wiki(wiki) for wiki in wikis_of(pairs)}
    if config.language == "other" and set(OF_PAGES).intersection(texts_of(config, pairs)) and len(languages) < 2:
        raise UsageError(
            f"--kind={config.kind} with --language=other: the sentences of --pairs={config.pairs} are all in one "
            "language: build pairs of several wikis"
        )


def build(
    pipeline: Any, head: Mapping[str, Any], work: Workspace, config: ExportOptions, pairs: Dataset, sources: Sources
) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam

    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep, as_dict
    from wikianchor.pipelines.export.caps import cap_rows
    from wikianchor.pipelines.export.choices import Indexes, choose_texts, compare_anchors
    from wikianchor.pipelines.export.rows import export_shard
    from wikianchor.pipelines.export.task import list_shards
    from wikianchor.pipelines.export.transforms import FindLinks, IndexPageTexts, IndexSentences, IndexTexts
    from wikianchor.pipelines.titles.steps import BuildIndex

    task = _task(config, work, pairs, sources.entities)
    shards = pipeline | "List pairs" >> ListElements(list_shards, pairs.directory, "pairs")  # InputShard
    titles: Any = None
    directories = [(wiki_of(dataset), dataset.directory) for dataset in sources.sentences]
    if sources.sentences and sources.entities:
        built = pipeline | "Title indexes" >> BuildIndex(sources.sentences, sources.entities, work)  # IndexBuilt
        titles = as_dict(built, "By wiki", attrgetter("wiki"))
    paths: dict[str, Any] = {}
    for text in texts_of(config, pairs):
        if text == SENTENCE:
            built = shards | "Index sentences" >> IndexSentences(task)
        elif text in PAGE_TEXTS:
            built = pipeline | f"Index {text}" >> IndexPageTexts(task, text, pairs.directory, directories, titles)
        else:
            built = pipeline | f"Index {COLUMNS[text]}" >> IndexTexts(task, text, pairs.directory)
        paths[text] = beam.pvalue.AsSingleton(built)
    indexes = Indexes(paths.get(config.anchor) if config.anchor != SENTENCE else None, paths[config.positive])
    if task.negatives:
        indexes = indexes._replace(negative=paths[config.negative])
        if config.negative == SENTENCE:
            linked = shards | "Find links" >> FindLinks(paths[SENTENCE], work)  # path
            indexes = indexes._replace(linked=beam.pvalue.AsSingleton(linked))
    chosen = shards | "Choose" >> RunStep(choose_texts, work, "choose", task, *indexes)  # ShardChoices
    limits: dict[str, Any] = {}
    for cap in task.caps:
        if cap.name == "anchors":
            sides = (task, as_dict(chosen, "By pairs", attrgetter("order")), limits.get("positives"), *indexes[:2])
            chosen = shards | "Compare" >> RunStep(compare_anchors, work, "compare", *sides)  # ShardChoices
        keys = chosen | f"Keys of {cap.name}" >> beam.Map(attrgetter(cap.table))  # path
        capped = CallOnce(cap_rows, keys, cap, work, work=work, name=f"cap-{cap.name}")
        limits[cap.name] = beam.pvalue.AsSingleton(pipeline | f"Cap {cap.name}" >> capped)
    caps = (limits.get("anchors"), limits.get("positives"))
    exported = shards | "Export" >> RunStep(
        export_shard, work, "export", task, as_dict(chosen, "By shard", attrgetter("order")), *caps, *indexes
    )  # Exported
    _ = pipeline | "Commit" >> CallOnce(commit_rows, config.output, work, head, task, pairs.rows("pairs"), exported)


def _task(config: ExportOptions, work: Workspace, pairs: Dataset, entities: Dataset | None) -> ExportTask:
    from wikianchor.pipelines.export.task import ExportTask
    from wikianchor.pipelines.export.text_index import EVERY_LANGUAGE

    wikis = wikis_of(pairs)
    of_wikis = tuple(map(language_of_wiki, wikis))
    labels = entities.manifest["options"]["labels"] if entities else (EVERY_LANGUAGE,)
    return ExportTask(
        work=work,
        format=config.format,
        anchor=config.anchor,
        positive=config.positive,
        negative=config.negative,
        language=config.language,
        negatives=negatives_of(config, pairs),
        sentences=config.sentences_per_entity,
        lead_sentences=config.lead_sentences,
        seed=config.seed,
        wikis=tuple(wikis),
        wiki_languages=of_wikis,
        languages=tuple(dict.fromkeys((*labels, *of_wikis))),
        entities=pairs.rows("entities"),
        dataset=entities.directory if entities else "",
        near_duplicates=config.near_duplicates,
        max_per_positive=config.max_per_positive,
    )


def commit_rows(
    output: str, work: Workspace, head: Mapping[str, Any], task: ExportTask, rows: int, exported: Iterable[Any]
) -> None:
    """Check that every row of pairs is counted, and commit the dataset.

    Raises:
        InputError: a row is missing in the ledger, or no row is exported; the message names the most frequent reason.
    """
    from wikianchor.pipelines.export.rows import count_entities
    from wikianchor.pipelines.export.task import REASONS

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
    entities = count_entities([shard.entities for shard in shards], task)
    parts = [part for shard in shards for part in shard.parts]
    commit_dataset(output, work, head, parts, {"rows": report, "entities": entities}, problems)
