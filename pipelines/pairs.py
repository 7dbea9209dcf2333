"""`wikianchor pairs`: `sentences`, `titles` and `entities` in, (sentence, entity, hard negatives) out, shuffled.

    titles + sitelinks -> BuildIndex -> a title index for each wiki
    sentences -> CountLinks -> link counts -> BuildTable -> the entity table (dense ids, types, pools)
    sentences -> [Caps] -> [Sample] -> DecideLinks -> rows in files, the ledger
    rows -> WriteShard -> parts -> commit

Elements are shards of datasets going in and small records coming out; every table is a file that workers map into
memory.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from pipelines.dataset.reader import Dataset, open_datasets
from pipelines.errors import InputError, UsageError
from pipelines.stage import finish, run_stage
from schemas import entities as entities_schema
from schemas import pairs as schema
from schemas import sentences as sentences_schema


@dataclass(frozen=True)
class Choices:
    """What decides which pairs come out; `paper` and `released` are EASE's (Nishikawa et al. 2022), `default` is ours.

    Attributes: see the flags of the same names.
    """

    min_links: int = 10
    floor: str = "corpus"
    negatives: int = 1
    candidates: int = 0
    types: str = "best_rank"
    refine_humans: int = 1000
    back_off: bool = True
    own_page_negatives: bool = False
    section_links: bool = False
    required_wiki: str = ""
    max_per_entity: int = 0
    sample: int = 0
    sample_per_wiki: bool = False
    seed: int = 42


PRESETS: Mapping[str, Choices] = {
    "default": Choices(),
    "paper": Choices(types="instance_of", refine_humans=0, back_off=False, own_page_negatives=True, sample=1_000_000),
    "released": Choices(
        floor="enwiki",
        candidates=10,
        types="any_rank",
        refine_humans=0,
        back_off=False,
        own_page_negatives=True,
        required_wiki="enwiki",
        max_per_entity=10_000,
        sample=1_000_000,
        sample_per_wiki=True,
    ),
}


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    sentences: str
    entities: str
    output: str
    choices: Choices = Choices()
    rows_per_shard: int = 250_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.add_argument(
        "--sentences", required=True, metavar="DIRS", help="datasets of `wikianchor sentences`: directories or globs"
    )
    parser.add_argument("--entities", required=True, metavar="DIR", help="dataset of `wikianchor entities`")
    parser.add_argument("--output", required=True, metavar="DIR", help="directory of the dataset")
    add_choices(parser)


def add_choices(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that decide which pairs come out; `build` has them too."""
    add = parser.add_argument_group("which pairs come out").add_argument
    add(
        "--preset",
        choices=sorted(PRESETS),
        default="default",
        help="start from our choices, the EASE paper's, or its released code's",
    )
    add("--min_links", type=int, metavar="N", help="keep entities linked to more often than N times (10)")
    add(
        "--floor",
        metavar="SCOPE",
        help="where links are counted for that: corpus (all wikis given), wiki (each by itself), or one such as enwiki",
    )
    add("--negatives", type=int, metavar="K", help="hard negatives for each pair (1); with 0, entities need no type")
    add(
        "--candidates",
        type=int,
        metavar="N",
        help="draw negatives from N entities fixed for each entity; 0: from its whole type (0)",
    )
    add(
        "--types",
        choices=("best_rank", "instance_of", "any_rank"),
        help="which Wikidata types count: P31 else P279, P31, or P31 of any rank",
    )
    add(
        "--refine_humans",
        type=int,
        metavar="N",
        help="where there are more than N humans, type them by occupation; 0: never (1000)",
    )
    add(
        "--back_off",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="go to the superclass of a type that has too few entities",
    )
    add(
        "--own_page_negatives",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="let the page's own entity be a negative",
    )
    add(
        "--section_links",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="take a link to a section for a link to its page",
    )
    add("--required_wiki", metavar="WIKI", help="keep entities that have a page in this wiki")
    add("--max_per_entity", type=int, metavar="N", help="at most N pairs of one entity; 0: any number (0)")
    add("--sample", type=int, metavar="N", help="exactly N pairs, or all where there are fewer; 0: all (0)")
    add("--sample_per_wiki", action=argparse.BooleanOptionalAction, default=None, help="take the sample from each wiki")
    add("--seed", type=int, help="key of every choice (42)")


def choices_from(arguments: argparse.Namespace) -> Choices:
    """Read the flags: a preset, and what was said besides.

    Raises:
        UsageError: a number is out of range.
    """
    preset = PRESETS[arguments.preset]
    given = {name: getattr(arguments, name) for name in asdict(preset) if getattr(arguments, name) is not None}
    choices = replace(preset, **given)
    for name in ("min_links", "negatives", "candidates", "refine_humans", "max_per_entity", "sample"):
        if getattr(choices, name) < 0:
            raise UsageError(f"--{name}={getattr(choices, name)}: must not be negative")
    if choices.candidates and choices.candidates < choices.negatives:
        raise UsageError(f"--candidates={choices.candidates} is fewer than --negatives={choices.negatives}")
    return choices


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags."""
    return Config(arguments.sentences, arguments.entities, arguments.output, choices_from(arguments))


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
    return run_stage("pairs", schema.VERSION, config.output, inputs, options, graph, beam_args)


def fingerprint(dataset: Dataset) -> str:
    """Return one checksum for the content of a dataset, from those of its shards."""
    import hashlib

    digest = hashlib.sha256()
    for name, config in sorted(dataset.manifest["configs"].items()):
        digest.update(name.encode())
        for shard in config["shards"]:
            digest.update(shard["sha256"].encode())
    return digest.hexdigest()


def _check(config: Config, sentences: Sequence[Dataset], entities: Dataset) -> None:
    wikis = Counter(one.manifest["options"]["wiki"] for one in sentences)
    known = entities.manifest["options"]["wikis"]
    choices = config.choices
    for wiki, number in sorted(wikis.items()):
        if number > 1:
            raise UsageError(
                f"--sentences={config.sentences} names {number} datasets of {wiki}: name one for each wiki"
            )
        if wiki not in known:
            raise InputError(
                f"--entities={config.entities} was built for {','.join(known)}: build it again with {wiki} in --wikis"
            )
    if choices.required_wiki and choices.required_wiki not in known:
        raise InputError(
            f"--required_wiki={choices.required_wiki} is not in --entities: build it again with that wiki in --wikis"
        )
    if choices.floor not in ("corpus", "wiki", *wikis):
        raise UsageError(f"--floor={choices.floor}: must be corpus, wiki, or one of {','.join(sorted(wikis))}")
    if choices.negatives and not entities.rows("entities"):
        raise InputError(
            f"--entities={config.entities} knows no types: build it with --wikidata, or ask for --negatives=0"
        )


def build(
    pipeline: Any, head: Mapping[str, Any], config: Config, sentences: Sequence[Dataset], entities: Dataset
) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam

    from pipelines.transforms import linking as steps

    choices, output = config.choices, config.output
    table_task, decide_task = _tasks(config, entities)
    shards: list[steps.SentenceShard] = []
    for one in sorted(sentences, key=lambda one: one.manifest["options"]["wiki"]):
        wiki, titles = one.manifest["options"]["wiki"], tuple(one.shards("titles"))
        shards += [
            steps.SentenceShard(len(shards) + place, wiki, path, titles)
            for place, path in enumerate(one.shards("sentences"))
        ]
    wikis = [
        steps.WikiTitles(
            one.manifest["options"]["wiki"], tuple(one.shards("titles")), tuple(entities.shards("sitelinks"))
        )
        for one in sentences
    ]
    once = pipeline | "Once" >> beam.Create([None], reshuffle=False)
    parts = pipeline | "List shards" >> beam.Create(shards)  # SentenceShard
    index_list = (
        pipeline | "List wikis" >> beam.Create(wikis) | "Build index" >> beam.Map(steps.build_index, output)
    )  # (wiki, IndexBuilt)
    indexes = beam.pvalue.AsDict(index_list)
    counted = (
        parts
        | "Count links" >> beam.Map(steps.count_shard, indexes, choices.section_links)  # (wiki, LinkCounts)
        | "Sum counts" >> beam.CombinePerKey(steps.SumCounts())  # (wiki, LinkCounts)
    )
    tables = once | "Build table" >> beam.Map(
        lambda _, found: steps.build_table(table_task, found), beam.pvalue.AsList(counted)
    )
    table = beam.pvalue.AsSingleton(tables)
    caps: Any = None
    if choices.max_per_entity:
        highest = (
            parts
            | "Find rows over the cap"
            >> beam.FlatMap(steps.cap_candidates, decide_task, indexes, table)  # (entity, hashes)
            | "Lowest of each entity"
            >> beam.CombinePerKey(steps.LowestHashes(choices.max_per_entity))  # (entity, (count, hash))
        )
        capped = once | "Save caps" >> beam.Map(
            lambda _, found: steps.save_caps(output, choices.max_per_entity, found), beam.pvalue.AsList(highest)
        )
        caps = beam.pvalue.AsSingleton(capped)
    samples: Any = {}
    if choices.sample:
        lowest = (
            parts
            | "Find lowest hashes"
            >> beam.FlatMap(steps.sample_candidates, decide_task, indexes, table, caps)  # (wiki or "", hashes)
            | "Lowest of all" >> beam.CombinePerKey(steps.LowestHashes(choices.sample))  # (wiki or "", (count, hash))
            | "Limits"
            >> beam.MapTuple(lambda wiki, found: (wiki, found[1] if found[0] >= choices.sample else (1 << 63) - 1))
        )
        samples = beam.pvalue.AsDict(lowest)
    decided = parts | "Decide links" >> beam.Map(
        steps.decide_shard, decide_task, indexes, table, caps, samples
    )  # Decided
    written = (
        once
        | "Plan shards"
        >> beam.FlatMap(lambda _, found: steps.plan_shards(found), beam.pvalue.AsList(decided))  # ShardTask
        | "Spread shards" >> beam.Reshuffle()
        | "Write shard" >> beam.Map(steps.write_shard, output)  # ShardWritten
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


def _tasks(config: Config, entities: Dataset) -> tuple[Any, Any]:
    from pipelines.linking.decisions import DecisionOptions
    from pipelines.linking.entity_table import TableOptions
    from pipelines.transforms.linking import DecideTask, TableTask

    choices = config.choices
    options = TableOptions(choices.min_links, choices.negatives, choices.types, choices.refine_humans, choices.back_off)
    table = TableTask(
        config.output,
        tuple(entities.shards("entities")),
        tuple(entities.shards("sitelinks")),
        choices.floor,
        choices.required_wiki,
        tuple(entities.manifest["options"]["labels"]),
        options,
    )
    decision = DecisionOptions(
        seed=choices.seed,
        negatives=choices.negatives,
        candidates=choices.candidates,
        own_page=not choices.own_page_negatives,
        sections=choices.section_links,
        min_links=choices.min_links if choices.floor == "wiki" else 0,
    )
    decide = DecideTask(
        config.output, decision, config.rows_per_shard, choices.sample, choices.sample_per_wiki, choices.max_per_entity
    )
    return table, decide


def commit_pairs(
    output: str,
    head: Mapping[str, Any],
    indexes: Iterable[tuple[str, Any]],
    counted: Iterable[tuple[str, Any]],
    table: Any,
    decided: Iterable[Any],
    written: Iterable[Any],
) -> None:
    """Check the ledger and commit the dataset.

    Raises:
        InputError: the ledger does not balance, or no pair came out; the message names the fullest bucket.
    """
    from pipelines.linking.decisions import BUCKETS

    shards = list(written)
    ledger: dict[str, Counter[str]] = {}
    for one in decided:
        ledger.setdefault(one.wiki, Counter()).update(dict(zip(BUCKETS, one.buckets, strict=True)))
    for shard in shards:
        for wiki, number in shard.duplicates.items():
            ledger[wiki]["duplicate"] += number
            ledger[wiki]["kept"] -= number
    kept: Counter[str] = Counter()
    for shard in shards:
        kept.update(shard.kept)
    for wiki, counts in counted:
        found = ledger.setdefault(wiki, Counter())
        total = sum(found.values())
        if total != counts.seen or found["kept"] != kept[wiki]:
            raise InputError(
                f"{wiki}: the ledger does not balance: {counts.seen} links seen, {total} decided, "
                f"{found['kept']} kept, {kept[wiki]} written"
            )
        found["seen"] = counts.seen
    if not shards:
        reasons = sum(
            (Counter({k: v for k, v in found.items() if k not in ("seen", "kept")}) for found in ledger.values()),
            Counter(),
        )
        reason = reasons.most_common(1)[0] if reasons else ("no link at all", 0)
        raise InputError(
            f"{output}: no pair came out; most links ended as {reason[0]} ({reason[1]}): see --min_links and --entities"
        )
    report = {
        "links": {
            wiki: {name: number for name, number in found.items() if number} for wiki, found in sorted(ledger.items())
        },
        "titles": {wiki: built.counts for wiki, built in sorted(indexes)},
    }
    parts = [part for shard in shards for part in shard.parts] + list(table.parts)
    finish(output, head, parts, report, [])
