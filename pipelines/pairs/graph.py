"""`wikianchor pairs`: make shuffled rows (sentence, entity, hard negatives) of `sentences`, `titles` and `entities`.

    titles, sitelinks -> BuildIndex -> a title index of each wiki
    sentences -> count_shards -> links and their counts -> build_table -> the entity table (dense ids, types, pools)
    titles, labels, mentions -> [build_names] -> the names of the entities in each wiki
    links and their counts, the entity table -> [build_pools] -> the pools of entities with a page in each wiki
    sentences -> [CheckSentences] -> which sentences are left out, whatever they link to
    sentences -> [FindCaps] -> [FindSamples] -> ShufflePairs (decide_shards, write_shard) -> parts -> commit_pairs

The elements are shards of datasets, and small records of what was done with them; tiny shards and wikis are in groups.
Every table is a file that workers open.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.options import recorded
from wikianchor.io.storage import sha1
from wikianchor.pipelines.dataset.inputs import input_records, open_inputs, wiki_of
from wikianchor.pipelines.dataset.reader import Dataset, open_datasets
from wikianchor.pipelines.dataset.reasons import most
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import pair_seconds
from wikianchor.pipelines.engine.stage import Stage, commit_dataset, run_stage
from wikianchor.pipelines.pairs.options import PairChoices, PairsOptions
from wikianchor.schemas import mentions as mentions_schema
from wikianchor.schemas import pairs as schema

if TYPE_CHECKING:
    from wikianchor.pipelines.pairs.entity_names import NameSources
    from wikianchor.pipelines.pairs.sentence_checks import CheckTask
    from wikianchor.pipelines.pairs.steps import DecideTask
    from wikianchor.pipelines.pairs.table_steps import TableTask


def run(config: PairsOptions, beam_args: Sequence[str], keep_older: bool = False) -> dict[str, Any]:
    """Run the stage and return its manifest.

    Raises:
        UsageError, InputError: the datasets do not go together, or one is missing.
    """
    sentences, entities = open_inputs(config.sentences, config.entities)
    _check(config, sentences, entities)
    inputs = input_records((*sentences, entities, *open_mentions(config.mentions)))
    options = options_of(config)
    graph = partial(build, config=config, sentences=sentences, entities=entities)
    # Each shard of sentences is read to count its links, to check its sentences, and to decide on its links.
    shards = [
        shard
        for dataset in sentences
        for shard in dataset.manifest["configs"].get("sentences", {"shards": []})["shards"]
    ]
    choices = config.choices
    checks = _other_checks(choices) or (bool(choices.max_repeats) and not limits_when_written(choices))
    work = (2 + checks) * sum(shard["bytes"] for shard in shards)
    links = sum(
        ledger.get("links", {}).get("kept", 0)
        for dataset in sentences
        for ledger in dataset.manifest["ledger"].values()
    )
    load = Load(pair_seconds(links, len(sentences)))
    stage = Stage(
        dataset="pairs",
        schema_version=schema.VERSION,
        output=config.output,
        inputs=inputs,
        options=options,
        build=graph,
        bytes_read=work,
        load=load,
    )
    manifest = run_stage(stage, beam_args, keep_older=keep_older)
    ledger = {wiki: Counter(links) for wiki, links in manifest["ledger"].get("links", {}).items()}
    if problem := _wikis_without_pairs(config.output, ledger):
        logging.getLogger("wikianchor").warning("%s", problem)
    return manifest


def options_of(config: PairsOptions) -> dict[str, Any]:
    """Return the options that the manifest carries; the files of --exclude_text are known by their checksums."""
    texts = [f"{path.rpartition('/')[2]} {sha1(path)}" for path in config.choices.exclude_text]
    return recorded(config) | {"exclude_text": texts}


def _check(config: PairsOptions, sentences: Sequence[Dataset], entities: Dataset) -> None:
    known = entities.manifest["options"]["wikis"]
    choices = config.choices
    if choices.required_wiki and choices.required_wiki not in known:
        raise InputError(
            f"--required_wiki={choices.required_wiki} is not in --entities: build it again with that wiki in --wikis"
        )
    check_floor(choices, sorted(map(wiki_of, sentences)))
    if choices.negatives and not entities.rows("entities"):
        raise InputError(
            f"--entities={config.entities} knows no types: build it with --wikidata, or ask for --negatives=0"
        )


def check_floor(choices: PairChoices, wikis: Sequence[str]) -> None:
    """Check that links can be counted where the floor says.

    Raises:
        UsageError: they cannot; the preset `released` counts those of enwiki.
    """
    if choices.floor not in ("corpus", "wiki", *wikis):
        raise UsageError(
            f"--floor={choices.floor} is none of the wikis given ({','.join(wikis)}): "
            f"give the sentences of {choices.floor} too, or say --floor=corpus, --floor=wiki or one of them"
        )


def build(
    pipeline: Any,
    head: Mapping[str, Any],
    work: Workspace,
    config: PairsOptions,
    sentences: Sequence[Dataset],
    entities: Dataset,
) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam

    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunGroups, RunStep, as_dict, groups_of
    from wikianchor.pipelines.pairs.entity_names import NamesBuilt, build_names
    from wikianchor.pipelines.pairs.sentence_checks import CheckSentences
    from wikianchor.pipelines.pairs.steps import LookUps
    from wikianchor.pipelines.pairs.table_steps import build_table, count_shards, list_sentence_shards
    from wikianchor.pipelines.pairs.transforms import FindCaps, FindSamples, ShufflePairs
    from wikianchor.pipelines.pairs.wiki_pools import build_pools
    from wikianchor.pipelines.titles.steps import BuildIndex

    table_task, decide_task = _tasks(config, work, entities, name_languages(config, sentences, entities))
    choices = config.choices
    check_task = _check_task(config, work)
    ordered = sorted(sentences, key=wiki_of)
    datasets = [(wiki_of(dataset), dataset.directory) for dataset in ordered]
    sizes = [sum(entry["bytes"] for entry in dataset.entries()) for dataset in ordered]

    built = pipeline | "Build title indexes" >> BuildIndex(sentences, entities, work)  # IndexBuilt
    indexes = as_dict(built, "Indexes by wiki", attrgetter("wiki"))
    groups = pipeline | "List shards" >> ListElements(list_sentence_shards, datasets)  # Group of SentenceShard
    shards = groups | "Shards" >> beam.FlatMap(attrgetter("members"))  # SentenceShard
    counted = (
        groups
        | "Count links" >> RunStep(count_shards, work, "count", indexes, choices.section_links, work)
        | "Counts of shards" >> beam.FlatMap(lambda counts: counts)
    )  # Counted
    links = beam.pvalue.AsDict(counted | "Links by shard" >> beam.Map(lambda shard: (shard.order, shard.path)))
    table = beam.pvalue.AsSingleton(
        pipeline | "Build entity table" >> CallOnce(build_table, table_task, counted, work=work, name="table")
    )  # TableBuilt

    names: Any = {}
    if choices.negatives and not choices.named_negatives:
        built_names = (
            pipeline
            | "List sources of names" >> ListElements(list, groups_of(name_sources(config, sentences, entities), sizes))
            | "Build names" >> RunGroups(build_names, work, "names", indexes, table, work, result=NamesBuilt)
        )
        names = as_dict(built_names, "Names by wiki", attrgetter("wiki"))
    pools: Any = {}
    if choices.negatives and not (choices.candidates or choices.pageless_negatives):
        built_pools = (
            pipeline
            | "List wikis" >> ListElements(list, groups_of([wiki for wiki, _ in datasets], sizes))
            | "Build pools" >> RunGroups(build_pools, work, "pools", counted, table, work)
        )
        pools = as_dict(built_pools, "Pools by wiki", attrgetter("wiki"))
    look_ups = LookUps(indexes, links, table, names, pools)
    limits: Any = None
    if check_task:
        # SentenceLimits
        limits = beam.pvalue.AsSingleton(shards | "Check sentences" >> CheckSentences(check_task, links))
    caps: Any = None
    if decide_task.cap:
        caps = beam.pvalue.AsSingleton(shards | "Find caps" >> FindCaps(decide_task, look_ups, limits))  # path
    samples: Any = {}
    if decide_task.sample:
        samples = beam.pvalue.AsDict(shards | "Find samples" >> FindSamples(decide_task, look_ups, caps, limits))
    # Decided, ShardWritten
    shuffled = groups | "Shuffle pairs" >> ShufflePairs(decide_task, look_ups, caps, samples, limits)
    _ = pipeline | "Commit" >> CallOnce(commit_pairs, config.output, work, head, built, counted, table, *shuffled)


def name_languages(config: PairsOptions, sentences: Sequence[Dataset], entities: Dataset) -> tuple[str, ...]:
    """Return the languages of labels by which pages may name an entity; none where that does not matter."""
    from wikianchor.pipelines.pairs.entity_names import is_name_in

    if config.choices.named_negatives or not config.choices.negatives:
        return ()
    of_wikis = [dataset.manifest["options"]["language"] for dataset in sentences]
    languages = entities.manifest["options"]["labels"]
    return tuple(name for name in languages if any(is_name_in(name, language) for language in of_wikis))


def name_sources(config: PairsOptions, sentences: Sequence[Dataset], entities: Dataset) -> list[NameSources]:
    """Return where the names of entities in each wiki are from, beside their labels."""
    from wikianchor.pipelines.pairs.entity_names import NameSources

    mentions = open_mentions(config.mentions)
    shards = tuple(path for dataset in mentions for path in dataset.shards("candidates"))
    return [
        NameSources(
            wiki=wiki_of(dataset),
            language=dataset.manifest["options"]["language"],
            titles=dataset.directory,
            entities=entities.directory,
            mentions=shards,
        )
        for dataset in sorted(sentences, key=wiki_of)
    ]


def open_mentions(paths: str) -> list[Dataset]:
    """Return the datasets `mentions` that --mentions names."""
    return open_datasets(paths, "mentions", mentions_schema.VERSION, "mentions") if paths else []


def _tasks(
    config: PairsOptions, work: Workspace, entities: Dataset, name_languages: tuple[str, ...] = ()
) -> tuple[TableTask, DecideTask]:
    from wikianchor.pipelines.arrays.splits import Split
    from wikianchor.pipelines.pairs.decisions import DecisionOptions
    from wikianchor.pipelines.pairs.entity_table import TableOptions
    from wikianchor.pipelines.pairs.steps import DecideTask
    from wikianchor.pipelines.pairs.table_steps import TableTask

    choices = config.choices
    split = Split(choices.split, choices.seed)
    table = TableTask(
        work=work,
        dataset=entities.directory,
        choices=choices,
        languages=tuple(entities.manifest["options"]["labels"]),
        options=TableOptions(
            negatives=choices.negatives,
            types=choices.types,
            refine_humans=choices.refine_humans,
            back_off=choices.back_off,
            split=split,
            excluded=choices.exclude_types,
        ),
        name_languages=name_languages,
    )
    decide = DecideTask(
        work=work,
        options=DecisionOptions(
            seed=choices.seed,
            negatives=choices.negatives,
            candidates=choices.candidates,
            sections=choices.section_links,
            duplicates=choices.duplicates,
            split=split,
            repeats=limits_when_written(choices),
        ),
        sentences_of_text=choices.max_repeats,
        own_page=not choices.own_page_negatives,
        rows_per_shard=config.rows_per_shard,
        sample=choices.sample,
        cap=choices.max_per_entity,
        per_wiki=choices.sample_per_wiki,
    )
    return table, decide


def limits_when_written(choices: PairChoices) -> bool:
    """Return whether repeated texts are left out where rows are written, without reading the sentences once more."""
    needed_before = choices.sample or choices.max_per_entity
    return bool(choices.max_repeats) and not (needed_before or _other_checks(choices))


def _other_checks(choices: PairChoices) -> bool:
    return bool(choices.split or choices.exclude_text or choices.max_near_duplicates)


def _check_task(config: PairsOptions, work: Workspace) -> CheckTask:
    from wikianchor.pipelines.arrays.splits import Split
    from wikianchor.pipelines.pairs.sentence_checks import CheckTask

    choices = config.choices
    split = Split(choices.split, choices.seed)
    return CheckTask(
        work=work,
        seed=choices.seed,
        exclude_text=choices.exclude_text,
        max_near_duplicates=choices.max_near_duplicates,
        sentences_of_text=0 if limits_when_written(choices) else choices.max_repeats,
        split=split,
    )


# Buckets of links that are pairs unless an option leaves them out.
LEFT = (
    *("kept", "excluded_type", "over_cap", "not_sampled"),
    *("other_split", "evaluation_text", "text_in_other_split", "near_duplicate", "repeated_text"),
)


def commit_pairs(
    output: str,
    work: Workspace,
    head: Mapping[str, Any],
    indexes: Iterable[Any],
    counted: Iterable[Any],
    table: Any,
    decided: Iterable[Any],
    written: Iterable[Any],
) -> None:
    """Check the ledger and commit the dataset.

    Raises:
        InputError: the ledger does not balance, or a wiki has no pair; the message names the fullest bucket.
    """
    from wikianchor.pipelines.pairs.decisions import BUCKETS

    shards, titles = list(written), {index.wiki: index for index in indexes}
    seen = Counter[str]()
    for shard in counted:
        seen[shard.wiki] += shard.seen
    ledger: dict[str, Counter[str]] = {wiki: Counter() for wiki in sorted(titles)}
    for group in decided:
        for wiki, numbers in group.buckets.items():
            ledger[wiki].update(dict(zip(BUCKETS, numbers, strict=True)))
    kept: Counter[str] = Counter()
    for shard in shards:
        kept.update(shard.kept)
        for wiki, number in shard.duplicates.items():
            ledger[wiki].update(duplicate=number, kept=-number)
        for wiki, number in shard.repeats.items():
            ledger[wiki].update(repeated_text=number, kept=-number)
    for wiki, links in ledger.items():
        if links.total() != seen[wiki] or links["kept"] != kept[wiki]:
            raise InputError(
                f"{wiki}: the ledger does not balance: {seen[wiki]} links seen, {links.total()} decided, "
                f"{links['kept']} kept, {kept[wiki]} written"
            )
    report = {
        "links": {
            wiki: {name: number for name, number in links.items() if number} | {"seen": seen[wiki]}
            for wiki, links in ledger.items()
        },
        "titles": {wiki: built.counts for wiki, built in sorted(titles.items())},
    }
    parts = [part for shard in shards for part in shard.parts] + list(table.parts)
    is_empty = not any(links[name] for links in ledger.values() for name in LEFT)
    commit_dataset(output, work, head, parts, report, [_wikis_without_pairs(output, ledger)] if is_empty else [])


def _wikis_without_pairs(output: str, ledger: Mapping[str, Counter[str]]) -> str:
    """Return a sentence if a wiki has no pair, else "". It may have none left after the options of `LEFT`, but not
    before."""
    if lost := [wiki for wiki, links in ledger.items() if not any(links[name] for name in LEFT)]:
        reasons = sum((ledger[wiki] for wiki in lost), Counter[str]())
        ended = f"most links ended as {most('pairs', reasons)}" if reasons.total() else "its sentences hold no link"
        return f"{output}: no pair of {', '.join(lost)} came out: {ended}"
    return ""
