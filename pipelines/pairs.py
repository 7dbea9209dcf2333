"""`wikianchor pairs`: `sentences`, `titles` and `entities` in, (sentence, entity, hard negatives) out, shuffled.

    titles + sitelinks -> BuildIndex -> a title index for each wiki
    sentences -> CountLinks -> targets, link counts -> BuildTable -> the entity table (dense ids, types, pools)
    sentences -> [Caps] -> [Sample] -> DecideLinks -> rows in files, the ledger
    rows -> WriteShard -> parts -> commit

Elements are shards of datasets going in and small records coming out; every table is a file that workers open.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from pipelines.dataset.reader import Dataset, open_datasets
from pipelines.errors import InputError, UsageError
from pipelines.flags.pairs import Choices, Config
from pipelines.stage import finish, run_stage
from schemas import entities as entities_schema
from schemas import pairs as schema
from schemas import sentences as sentences_schema

if TYPE_CHECKING:
    from pipelines.transforms.rows import DecideTask
    from pipelines.transforms.tables import TableTask


def run(config: Config, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest.

    Raises:
        UsageError: the datasets do not go together.
    """
    sentences = open_datasets(config.sentences, "sentences", sentences_schema.VERSION, "sentences")
    entities = open_datasets(config.entities, "entities", entities_schema.VERSION, "entities")
    if len(entities) != 1:
        raise UsageError(f"--entities={config.entities} names {len(entities)} datasets: name one")
    _check(config, sentences, entities[0])
    inputs = [
        {"dataset": one.manifest["dataset"], "wiki": one.manifest["options"].get("wiki"), "sha256": fingerprint(one)}
        for one in (*sentences, *entities)
    ]
    options = asdict(config.choices) | {"rows_per_shard": config.rows_per_shard}
    graph = partial(build, config=config, sentences=sentences, entities=entities[0])
    # Each shard of sentences is read twice at least: to count its links, and to decide on them.
    shards = [
        shard for one in sentences for shard in one.manifest["configs"].get("sentences", {"shards": []})["shards"]
    ]
    work = 2 * sum(shard["bytes"] for shard in shards)
    return run_stage("pairs", schema.VERSION, config.output, inputs, options, graph, beam_args, work)


def fingerprint(dataset: Dataset) -> str:
    """Return one checksum for the content of a dataset, from those of its shards."""
    digest = hashlib.sha256()
    for name, config in sorted(dataset.manifest["configs"].items()):
        digest.update(name.encode())
        for shard in config["shards"]:
            digest.update(shard["sha256"].encode())
    return digest.hexdigest()


def check_wikis(given: str, described: str, sentences: Sequence[Dataset], entities: Dataset) -> Sequence[str]:
    """Return the wikis that datasets of sentences are of, sorted.

    Args:
        given: the option --sentences.
        described: the option --entities.
        sentences: the datasets.
        entities: that of their items.

    Raises:
        UsageError: a wiki has two.
        InputError: the items of a wiki are not there.
    """
    wikis = Counter(one.manifest["options"]["wiki"] for one in sentences)
    known = entities.manifest["options"]["wikis"]
    for wiki, number in sorted(wikis.items()):
        if number > 1:
            raise UsageError(f"--sentences={given} names {number} datasets of {wiki}: name one for each wiki")
        if wiki not in known:
            raise InputError(
                f"--entities={described} was built for {','.join(known)}: build it again with {wiki} in --wikis"
            )
    return sorted(wikis)


def _check(config: Config, sentences: Sequence[Dataset], entities: Dataset) -> None:
    wikis = check_wikis(config.sentences, config.entities, sentences, entities)
    known = entities.manifest["options"]["wikis"]
    choices = config.choices
    if choices.required_wiki and choices.required_wiki not in known:
        raise InputError(
            f"--required_wiki={choices.required_wiki} is not in --entities: build it again with that wiki in --wikis"
        )
    check_floor(choices, wikis)
    if choices.negatives and not entities.rows("entities"):
        raise InputError(
            f"--entities={config.entities} knows no types: build it with --wikidata, or ask for --negatives=0"
        )


def check_floor(choices: Choices, wikis: Sequence[str]) -> None:
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
    pipeline: Any, head: Mapping[str, Any], config: Config, sentences: Sequence[Dataset], entities: Dataset
) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam

    from pipelines.transforms import rows, tables

    choices, output = config.choices, config.output
    table_task, decide_task = _tasks(config, entities)
    shards: list[tables.SentenceShard] = []
    wikis: list[tables.WikiTitles] = []
    for one in sorted(sentences, key=wiki_of):
        titles = tuple(one.shards("titles"))
        wikis.append(tables.WikiTitles(wiki_of(one), titles, tuple(entities.shards("sitelinks"))))
        for path in one.shards("sentences"):
            shards.append(tables.SentenceShard(len(shards), wiki_of(one), path, titles))
    once = pipeline | "Once" >> beam.Create([None], reshuffle=False)
    parts = pipeline | "List shards" >> beam.Create(shards)  # SentenceShard
    index_list = (
        pipeline | "List wikis" >> beam.Create(wikis) | "Build index" >> beam.Map(tables.build_index, output)
    )  # (wiki, IndexBuilt)
    indexes = beam.pvalue.AsDict(index_list)
    counted = parts | "Count links" >> beam.Map(tables.count_shard, indexes, choices.section_links, output)  # Counted
    links = beam.pvalue.AsDict(counted | "By shard" >> beam.Map(lambda one: (one.order, one.path)))  # order: path
    table = beam.pvalue.AsSingleton(
        once
        | "Build table"
        >> beam.Map(lambda _, counted: tables.build_table(table_task, counted), beam.pvalue.AsList(counted))
    )  # TableBuilt
    caps: Any = None
    if choices.max_per_entity:
        highest = (
            parts
            | "Lots under the cap"
            >> beam.FlatMap(rows.cap_lots, decide_task, indexes, links, table).with_output_types(
                tuple[tuple[str, int], bytes]
            )  # ((scope, id), lots)
            | "Lowest of each entity" >> beam.CombinePerKey(rows.LowestLots(choices.max_per_entity))
        )  # ((scope, id), highest lot taken)
        caps = beam.pvalue.AsSingleton(
            once
            | "Save caps" >> beam.Map(lambda _, found: rows.save_caps(decide_task, found), beam.pvalue.AsList(highest))
        )  # path
    samples: Any = {}
    if choices.sample:
        samples = beam.pvalue.AsDict(
            parts
            | "Lots of the sample"
            >> beam.FlatMap(rows.sample_lots, decide_task, indexes, links, table, caps).with_output_types(
                tuple[str, bytes]
            )  # (scope, lots)
            | "Lowest of all" >> beam.CombinePerKey(rows.LowestLots(choices.sample))
        )  # scope: highest lot taken
    decided = parts | "Decide links" >> beam.Map(
        rows.decide_shard, decide_task, indexes, links, table, caps, samples
    )  # Decided
    written = (
        once
        | "Plan shards"
        >> beam.FlatMap(lambda _, found: rows.plan_shards(found), beam.pvalue.AsList(decided))  # ShardTask
        | "Spread shards" >> beam.Reshuffle()
        | "Write shard" >> beam.Map(rows.write_shard, output)  # ShardWritten
    )
    _ = once | "Commit" >> beam.Map(
        lambda _, indexes, counted, table, decided, written: commit_pairs(
            output, head, indexes, counted, table, decided, written
        ),
        beam.pvalue.AsList(index_list),
        beam.pvalue.AsList(counted),
        table,
        beam.pvalue.AsList(decided),
        beam.pvalue.AsList(written),
    )


def wiki_of(sentences: Dataset) -> str:
    """Return the database name of the wiki that a dataset of sentences is of."""
    return str(sentences.manifest["options"]["wiki"])


def _tasks(config: Config, entities: Dataset) -> tuple[TableTask, DecideTask]:
    from pipelines.linking.decisions import DecisionOptions
    from pipelines.linking.entity_table import TableOptions
    from pipelines.transforms.rows import DecideTask
    from pipelines.transforms.tables import TableTask

    choices = config.choices
    table = TableTask(
        output=config.output,
        entities=tuple(entities.shards("entities")),
        sitelinks=tuple(entities.shards("sitelinks")),
        min_links=choices.min_links,
        floor=choices.floor,
        required=choices.required_wiki,
        cap=choices.max_per_entity,
        languages=tuple(entities.manifest["options"]["labels"]),
        options=TableOptions(choices.negatives, choices.types, choices.refine_humans, choices.back_off),
    )
    decide = DecideTask(
        output=config.output,
        options=DecisionOptions(
            seed=choices.seed,
            negatives=choices.negatives,
            candidates=choices.candidates,
            sections=choices.section_links,
            duplicates=choices.duplicates,
        ),
        own_page=not choices.own_page_negatives,
        rows_per_shard=config.rows_per_shard,
        sample=choices.sample,
        cap=choices.max_per_entity,
        per_wiki=choices.sample_per_wiki,
    )
    return table, decide


def commit_pairs(
    output: str,
    head: Mapping[str, Any],
    indexes: Iterable[tuple[str, Any]],
    counted: Iterable[Any],
    table: Any,
    decided: Iterable[Any],
    written: Iterable[Any],
) -> None:
    """Check the ledger and commit the dataset.

    Raises:
        InputError: the ledger does not balance, or no pair came out; the message names the fullest bucket.
    """
    from pipelines.linking.decisions import BUCKETS

    shards, titles = list(written), dict(indexes)
    seen = Counter[str]()
    for one in counted:
        seen[one.wiki] += one.seen
    ledger: dict[str, Counter[str]] = {wiki: Counter() for wiki in sorted(titles)}
    for one in decided:
        ledger[one.wiki].update(dict(zip(BUCKETS, one.buckets, strict=True)))
    kept: Counter[str] = Counter()
    for shard in shards:
        kept.update(shard.kept)
        for wiki, number in shard.duplicates.items():
            ledger[wiki].update(duplicate=number, kept=-number)
    for wiki, found in ledger.items():
        if found.total() != seen[wiki] or found["kept"] != kept[wiki]:
            raise InputError(
                f"{wiki}: the ledger does not balance: {seen[wiki]} links seen, {found.total()} decided, "
                f"{found['kept']} kept, {kept[wiki]} written"
            )
    if not shards:
        reasons = sum(ledger.values(), Counter[str]()).most_common(1)
        reason, number = reasons[0] if reasons else ("no link at all", 0)
        raise InputError(
            f"{output}: no pair came out; most links ended as {reason} ({number}): see --min_links and --entities"
        )
    report = {
        "links": {
            wiki: {name: number for name, number in found.items() if number} | {"seen": seen[wiki]}
            for wiki, found in ledger.items()
        },
        "titles": {wiki: built.counts for wiki, built in sorted(titles.items())},
    }
    parts = [part for shard in shards for part in shard.parts] + list(table.parts)
    finish(output, head, parts, report, [])
