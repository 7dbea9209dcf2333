"""`wikianchor mentions`: `sentences`, `titles` and `entities` in, what names stand for and how often out.

    titles + sitelinks -> build_index -> a title index for each wiki
    sentences, titles -> gather_names -> rows (name, item) -> Shuffle -> merge_range -> the names of a range of keys
    names -> build_name_table -> a trie of names for each wiki
    sentences -> count_names -> rows (number of a name, occurrences) -> Shuffle -> write_range -> parts -> commit

Elements are shards of datasets going in and small records coming out; tables are files. A range of keys is merged and
written by one worker, so nothing is held whole but the trie, which workers map into memory. The merged rows of a range
are a file, too, with one reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.options import recorded
from wikianchor.pipelines.dataset.inputs import check_wikis, fingerprint, wiki_of
from wikianchor.pipelines.dataset.reader import Dataset, open_datasets
from wikianchor.pipelines.dataset.reasons import most
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import MENTIONS
from wikianchor.pipelines.engine.stage import finish, run_stage
from wikianchor.pipelines.mentions.options import MentionsOptions
from wikianchor.schemas import entities as entities_schema
from wikianchor.schemas import mentions as schema
from wikianchor.schemas import sentences as sentences_schema


def run(config: MentionsOptions, beam_args: Sequence[str]) -> dict[str, Any]:
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
    } | recorded(config)
    graph = partial(build, config=config, sentences=sentences, entities=entities[0])
    read = sum(
        shard["bytes"]
        for one in sentences
        for shard in one.manifest["configs"].get("sentences", {"shards": ()})["shards"]
    )
    load = Load(read / MENTIONS)
    return run_stage("mentions", schema.VERSION, config.output, inputs, options, graph, beam_args, load=load)


def build(
    pipeline: Any,
    head: Mapping[str, Any],
    work: Workspace,
    config: MentionsOptions,
    sentences: Sequence[Dataset],
    entities: Dataset,
) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam

    from wikianchor.pipelines.engine.shuffle import Shuffle
    from wikianchor.pipelines.engine.steps import List, Run
    from wikianchor.pipelines.mentions import steps
    from wikianchor.pipelines.titles.steps import WikiTitles, build_index

    task = steps.NamesTask(
        work,
        config.max_length,
        config.section_links,
        config.rows_per_shard,
        config.link_probability,
        config.commonness,
    )
    datasets = [(wiki_of(dataset), dataset.directory) for dataset in sorted(sentences, key=wiki_of)]
    wikis = [WikiTitles(wiki, directory, entities.directory) for wiki, directory in datasets]
    once = pipeline | "Once" >> beam.Create([None], reshuffle=False)
    shards = pipeline | "List shards" >> List(steps.list_name_shards, datasets)  # NameShard
    built = (
        pipeline
        | "List wikis" >> beam.Create(wikis)
        | "Build index" >> beam.ParDo(Run(build_index, work, "index", attrgetter("wiki")), work)
    )  # IndexBuilt
    indexes = beam.pvalue.AsDict(built | "By wiki" >> beam.Map(lambda index: (index.wiki, index)))
    meta = beam.pvalue.AsSingleton(
        pipeline
        | "Entities" >> beam.Create([entities.directory], reshuffle=False)
        | "Find meta items" >> beam.ParDo(Run(steps.find_meta_items, work, "meta", _only), work)
    )  # path
    gathered, merged = shards | "Shuffle names" >> Shuffle(
        "names",
        work,
        steps.BY_KEY,
        steps.gather_names,
        (task, indexes, meta),
        lambda units: beam.pvalue.AsSingleton(
            once
            | "Plan ranges"
            >> beam.Map(lambda _, units: steps.plan_ranges(units, config.rows_per_shard), beam.pvalue.AsList(units))
        ),
        steps.merge_range,
        lambda _: (work,),
    )  # Gathered, Merged
    numbers = beam.pvalue.AsSingleton(
        once | "Number names" >> beam.Map(lambda _, merged: steps.number_names(merged), beam.pvalue.AsList(merged))
    )  # list of KeyRange
    ranges = beam.pvalue.AsDict(merged | "By range" >> beam.Map(lambda part: (part.order, part)))
    table = beam.pvalue.AsDict(
        pipeline
        | "List names" >> beam.Create([wiki for wiki, _ in datasets])
        | "Build table" >> beam.ParDo(Run(steps.build_name_table, work, "table", str), ranges, numbers, work)
        | "Table by wiki" >> beam.Map(lambda built: (built.wiki, built))
    )  # wiki: TableBuilt
    counted, written = (
        shards
        | "Text" >> beam.Filter(lambda shard: shard.config == "sentences")
        | "Shuffle counts"
        >> Shuffle(
            "counts",
            work,
            steps.BY_NAME,
            steps.count_names,
            (table,),
            lambda _: numbers,
            steps.write_range,
            lambda _: (task, ranges),
            empty=True,
        )
    )  # NamesCounted, RangeWritten
    _ = once | "Commit" >> beam.Map(
        lambda _, *results: commit_mentions(config.output, work, head, *results),
        beam.pvalue.AsList(gathered),
        beam.pvalue.AsList(counted),
        beam.pvalue.AsList(written),
    )


def _only(element: Any) -> str:
    """Return the name of the one element of a step."""
    return "all"


def commit_mentions(
    output: str,
    work: Workspace,
    head: Mapping[str, Any],
    gathered: Iterable[Any],
    counted: Iterable[Any],
    written: Iterable[Any],
) -> None:
    """Check the ledger and commit the dataset.

    Raises:
        InputError: the ledger does not balance, or in a wiki no name stands for an item.
    """
    ledger: dict[str, Counter[str]] = {}
    for shard in gathered:
        ledger.setdefault(shard.wiki, Counter()).update(shard.links)
    occurrences: Counter[str] = Counter()
    for shard in counted:
        occurrences[shard.wiki] += shard.occurrences
    rows: dict[str, Counter[str]] = {wiki: Counter() for wiki in ledger}
    parts = []
    for part in written:
        written_rows = sum(one.rows for one in part.parts)
        rows[part.wiki].update(links=part.links, occurrences=part.occurrences, rows=written_rows)
        parts += part.parts
    for wiki, reasons in ledger.items():
        if reasons["kept"] != rows[wiki]["links"] or occurrences[wiki] != rows[wiki]["occurrences"]:
            raise InputError(
                f"{wiki}: the ledger does not balance: {reasons['kept']} links kept, {rows[wiki]['links']} in the rows "
                f"written; {occurrences[wiki]} occurrences counted, {rows[wiki]['occurrences']} in the rows written"
            )
    problems = []
    if lost := [wiki for wiki in ledger if not rows[wiki]["rows"]]:
        ended = most("mentions", sum((ledger[wiki] for wiki in lost), Counter[str]()))
        problems = [f"{output}: no name of {', '.join(lost)} stands for an item: most links ended as {ended}"]
    report = {
        wiki: {name: number for name, number in reasons.items() if number} | {"seen": reasons.total()}
        for wiki, reasons in sorted(ledger.items())
    }
    finish(output, work, head, parts, {"links": report}, problems)
