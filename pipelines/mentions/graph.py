"""`wikianchor mentions`: count which items each name links to, and how often it occurs, in `sentences` and `titles`.

    titles, sitelinks -> BuildIndex -> a title index of each wiki
    sentences, titles -> MergeNames (gather_names, shuffle by name, merge_range) -> the names of each range of keys
    names -> BuildNameTable -> a trie of names of each wiki
    sentences -> CountNames (count_names, shuffle by number of the name, write_range) -> parts -> commit_mentions

The elements are shards of datasets, and small records of what was done with them; tables are files. A range of keys is
merged and written by one worker, so only the tries are held whole, and workers map these into memory. The merged rows
of a range are a file, too, which one worker reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.options import recorded
from wikianchor.pipelines.dataset.inputs import input_records, open_inputs, wiki_of
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.reasons import most
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import MENTIONS
from wikianchor.pipelines.engine.stage import commit_dataset, run_stage
from wikianchor.pipelines.mentions.options import MentionsOptions
from wikianchor.schemas import mentions as schema


def run(config: MentionsOptions, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest.

    Raises:
        UsageError, InputError: the datasets do not go together, or one is missing.
    """
    sentences, entities = open_inputs(config.sentences, config.entities)
    inputs = input_records((*sentences, entities))
    options = {
        "wikis": sorted(map(wiki_of, sentences)),
        "languages": {wiki_of(dataset): dataset.manifest["options"]["language"] for dataset in sentences},
    } | recorded(config)
    graph = partial(build, config=config, sentences=sentences, entities=entities)
    read = sum(
        shard["bytes"]
        for dataset in sentences
        for shard in dataset.manifest["configs"].get("sentences", {"shards": ()})["shards"]
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

    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, as_dict
    from wikianchor.pipelines.mentions.steps import NamesTask, find_meta_items, list_name_shards, number_names
    from wikianchor.pipelines.mentions.transforms import BuildNameTable, CountNames, MergeNames
    from wikianchor.pipelines.titles.steps import BuildIndex, WikiTitles

    task = NamesTask(
        work,
        config.max_length,
        config.section_links,
        config.rows_per_shard,
        config.link_probability,
        config.commonness,
    )
    datasets = [(wiki_of(dataset), dataset.directory) for dataset in sorted(sentences, key=wiki_of)]
    wikis = [WikiTitles(wiki, directory, entities.directory) for wiki, directory in datasets]

    built = pipeline | "Build title indexes" >> BuildIndex(wikis, work)  # IndexBuilt
    indexes = as_dict(built, "Indexes by wiki", attrgetter("wiki"))
    meta = pipeline | "Find meta items" >> CallOnce(find_meta_items, entities.directory, work, work=work, name="meta")
    shards = pipeline | "List shards" >> ListElements(list_name_shards, datasets)  # NameShard
    gathered, merged = shards | "Merge names" >> MergeNames(task, indexes, beam.pvalue.AsSingleton(meta))
    ranges = as_dict(merged, "Names by range", attrgetter("order"))  # Merged
    numbers = beam.pvalue.AsSingleton(pipeline | "Number names" >> CallOnce(number_names, merged))  # list of KeyRange
    tables = pipeline | "Build name tables" >> BuildNameTable([wiki for wiki, _ in datasets], ranges, numbers, work)
    counted, written = shards | "Count names" >> CountNames(
        task, as_dict(tables, "Tables by wiki", attrgetter("wiki")), ranges, numbers
    )  # NamesCounted, RangeWritten
    _ = pipeline | "Commit" >> CallOnce(commit_mentions, config.output, work, head, gathered, counted, written)


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
        written_rows = sum(file.rows for file in part.parts)
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
    commit_dataset(output, work, head, parts, {"links": report}, problems)
