"""`wikianchor mentions`: `sentences`, `titles` and `entities` in, what names stand for and how often out.

    titles + sitelinks -> BuildIndex -> a title index for each wiki
    sentences, titles -> GatherNames -> sorted rows (name, item) -> MergeRange -> the names of a range of keys
    names -> BuildTable -> a trie of names for each wiki; sentences -> CountNames -> occurrences
    names + occurrences -> WriteRange -> parts -> commit

Elements are shards of datasets going in and small records coming out; rows and tables are files. A range of keys is
merged and written by one worker, so nothing is held whole but the trie, which workers map into memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from pipelines.dataset.reader import Dataset, open_datasets
from pipelines.errors import InputError, UsageError
from pipelines.flags.mentions import Config
from pipelines.pairs import check_wikis, fingerprint, wiki_of
from pipelines.stage import finish, run_stage
from schemas import entities as entities_schema
from schemas import mentions as schema
from schemas import sentences as sentences_schema


def run(config: Config, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest.

    Raises:
        UsageError: the datasets do not go together.
    """
    sentences = open_datasets(config.sentences, "sentences", sentences_schema.VERSION, "sentences")
    entities = open_datasets(config.entities, "entities", entities_schema.VERSION, "entities")
    if len(entities) != 1:
        raise UsageError(f"--entities={config.entities} names {len(entities)} datasets: name one")
    check_wikis(config.sentences, config.entities, sentences, entities[0])
    inputs = [
        {"dataset": one.manifest["dataset"], "wiki": one.manifest["options"].get("wiki"), "sha256": fingerprint(one)}
        for one in (*sentences, *entities)
    ]
    options = {
        "wikis": sorted(map(wiki_of, sentences)),
        "languages": {wiki_of(one): one.manifest["options"]["language"] for one in sentences},
        "link_probability": config.link_probability,
        "commonness": config.commonness,
        "max_length": config.max_length,
        "section_links": config.section_links,
        "rows_per_shard": config.rows_per_shard,
    }
    graph = partial(build, config=config, sentences=sentences, entities=entities[0])
    return run_stage("mentions", schema.VERSION, config.output, inputs, options, graph, beam_args)


def build(
    pipeline: Any, head: Mapping[str, Any], config: Config, sentences: Sequence[Dataset], entities: Dataset
) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam

    from pipelines.transforms import names, tables

    output = config.output
    task = names.NamesTask(
        output,
        config.max_length,
        config.section_links,
        config.rows_per_shard,
        config.link_probability,
        config.commonness,
    )
    shards: list[names.NameShard] = []
    wikis: list[tables.WikiTitles] = []
    for one in sorted(sentences, key=wiki_of):
        wiki = wiki_of(one)
        wikis.append(tables.WikiTitles(wiki, tuple(one.shards("titles")), tuple(entities.shards("sitelinks"))))
        for kind in ("sentences", "titles"):
            shards += [
                names.NameShard(len(shards) + more, wiki, kind, path) for more, path in enumerate(one.shards(kind))
            ]
    once = pipeline | "Once" >> beam.Create([None], reshuffle=False)
    index_list = (
        pipeline | "List wikis" >> beam.Create(wikis) | "Build index" >> beam.Map(tables.build_index, output)
    )  # (wiki, IndexBuilt)
    meta = beam.pvalue.AsSingleton(
        once | "Find meta items" >> beam.Map(lambda _: names.find_meta_items(entities.shards("entities"), output))
    )  # path
    gathered = (
        pipeline
        | "List shards" >> beam.Create(shards)  # NameShard
        | "Gather names" >> beam.Map(names.gather_names, task, beam.pvalue.AsDict(index_list), meta)
    )  # Gathered
    merged = (
        once
        | "Plan ranges"
        >> beam.FlatMap(lambda _, found: names.plan_ranges(found, config.rows_per_shard), beam.pvalue.AsList(gathered))
        | "Spread ranges" >> beam.Reshuffle()
        | "Merge range" >> beam.Map(names.merge_range, output)
    )  # Merged
    table = beam.pvalue.AsDict(
        pipeline
        | "List names" >> beam.Create([one.wiki for one in wikis])
        | "Build table" >> beam.Map(names.build_name_table, beam.pvalue.AsList(merged), output)
    )  # (wiki, TableBuilt)
    counted = (
        pipeline
        | "List text" >> beam.Create([one for one in shards if one.config == "sentences"])
        | "Count names" >> beam.Map(names.count_names, table, output)
    )  # NamesCounted
    written = merged | "Write range" >> beam.Map(names.write_range, task, table, beam.pvalue.AsList(counted))
    _ = once | "Commit" >> beam.Map(
        lambda _, gathered, written: commit_mentions(output, head, gathered, written),
        beam.pvalue.AsList(gathered),
        beam.pvalue.AsList(written),
    )


def commit_mentions(output: str, head: Mapping[str, Any], gathered: Iterable[Any], written: Iterable[Any]) -> None:
    """Check the ledger and commit the dataset.

    Raises:
        InputError: the ledger does not balance, or no name stands for an item.
    """
    ledger: dict[str, Counter[str]] = {}
    for one in gathered:
        ledger.setdefault(one.wiki, Counter()).update(one.links)
    links: Counter[str] = Counter()
    parts = []
    for shard in written:
        links[shard.wiki] += shard.links
        parts += shard.parts
    for wiki, found in ledger.items():
        if found["kept"] != links[wiki]:
            raise InputError(
                f"{wiki}: the ledger does not balance: {found['kept']} links kept, {links[wiki]} in the rows written"
            )
    if not parts:
        reasons = ", ".join(f"{name} {number}" for name, number in sum(ledger.values(), Counter[str]()).most_common(2))
        raise InputError(f"{output}: no name stands for an item; links ended as {reasons or 'none'}: see --entities")
    report = {
        wiki: {name: number for name, number in found.items() if number} | {"seen": found.total()}
        for wiki, found in sorted(ledger.items())
    }
    finish(output, head, parts, {"links": report}, [])
