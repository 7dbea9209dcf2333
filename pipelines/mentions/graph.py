"""`wikianchor mentions`: count which items each name links to, and how often it occurs, in `sentences` and `titles`.

    titles, sitelinks -> BuildIndex -> a title index of each wiki
    sentences, fragments, titles -> gather_names -> Shuffle (by name) -> merge_range -> the names of each range of keys
    names -> build_name_table -> a trie of names of each wiki
    sentences, fragments -> count_names -> Shuffle (by number of the name) -> write_range -> parts -> commit_mentions

The elements are shards of datasets, and small records of what was done with them; tables are files. A range of keys is
merged and written by one worker, so only the tries are held whole, and workers map these into memory. The merged rows
of a range are a file, too, which one worker reads.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.options import recorded
from wikianchor.pipelines.dataset.inputs import input_records, open_inputs, wiki_of
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.reasons import most
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import MENTIONS
from wikianchor.pipelines.engine.stage import Stage, commit_dataset, run_stage
from wikianchor.pipelines.mentions.options import MentionsOptions
from wikianchor.schemas import mentions as schema
from wikianchor.schemas.choices import REGIONS


def run(config: MentionsOptions, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest.

    Raises:
        UsageError, InputError: the datasets do not go together, or one is missing.
    """
    sentences, entities = open_inputs(config.sentences, config.entities)
    check_regions(config.regions, sentences)
    inputs = input_records((*sentences, entities))
    options = {
        "wikis": sorted(map(wiki_of, sentences)),
        "languages": {wiki_of(dataset): dataset.manifest["options"]["language"] for dataset in sentences},
    } | recorded(config)
    read = sum(sum(dataset.sizes(name)) for dataset in sentences for name in ("sentences", "fragments"))
    stage = Stage(
        dataset="mentions",
        schema_version=schema.VERSION,
        output=config.output,
        inputs=inputs,
        options=options,
        build=partial(build, config=config, sentences=sentences, entities=entities),
        load=Load(read / MENTIONS),
    )
    return run_stage(stage, beam_args)


def check_regions(regions: Sequence[str], sentences: Sequence[Dataset]) -> None:
    """Check that the datasets have the regions.

    Raises:
        UsageError: a region is in `fragments` alone, and a dataset has none.
    """
    in_fragments = [name for name in regions if name not in REGIONS]
    without = [dataset.directory for dataset in sentences if dataset.manifest["options"].get("fragments") is False]
    if in_fragments and without:
        raise UsageError(
            f"--regions={','.join(regions)}: {without[0]} was made with --no-fragments and has no {in_fragments[0]}: "
            f"build it with --fragments, or leave out {', '.join(in_fragments)}"
        )


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
    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep, as_dict
    from wikianchor.pipelines.mentions import steps
    from wikianchor.pipelines.titles.steps import BuildIndex

    datasets = [(wiki_of(dataset), dataset.directory) for dataset in sorted(sentences, key=wiki_of)]

    built = pipeline | "Build title indexes" >> BuildIndex(sentences, entities, work)  # IndexBuilt
    indexes = as_dict(built, "Indexes by wiki", attrgetter("wiki"))
    find_meta_items = CallOnce(steps.find_meta_items, entities.directory, work, work=work, name="meta")
    meta = beam.pvalue.AsSingleton(pipeline | "Find meta items" >> find_meta_items)  # path
    shards = pipeline | "List shards" >> ListElements(steps.list_name_shards, datasets)  # NameShard

    def plan_ranges(gathered: beam.PCollection[Any]) -> beam.pvalue.AsSingleton:
        ranges = CallOnce(steps.plan_ranges, gathered, config.rows_per_shard)
        return beam.pvalue.AsSingleton(pipeline | "Plan ranges" >> ranges)  # list of KeyRange

    gathered, merged = shards | "Merge names" >> Shuffle(
        "names",
        work,
        steps.BY_KEY,
        map_step=steps.gather_names,
        map_sides=(config, indexes, meta),
        ranges=plan_ranges,
        reduce_step=steps.merge_range,
        reduce_sides=(work,),
    )  # Gathered, Merged
    ranges = as_dict(merged, "Names by range", attrgetter("order"))
    number_names = CallOnce(steps.number_names, merged)
    numbers = beam.pvalue.AsSingleton(pipeline | "Number names" >> number_names)  # list of KeyRange
    table_step = partial(steps.build_name_table, work=work)
    build_name_table = RunStep(table_step, work, "table", ranges, numbers, key=str, result=steps.NameTableBuilt)
    tables = (
        pipeline
        | "List wikis" >> beam.Create([wiki for wiki, _ in datasets])
        | "Build name table" >> build_name_table  # NameTableBuilt
    )
    texts = shards | "Keep text" >> beam.Filter(lambda shard: shard.is_text)
    counted, written = texts | "Count names" >> Shuffle(
        "counts",
        work,
        steps.BY_NAME,
        map_step=steps.count_names,
        map_sides=(config, as_dict(tables, "Tables by wiki", attrgetter("wiki"))),
        ranges=lambda _: numbers,
        reduce_step=steps.write_range,
        reduce_sides=(config, work, ranges),
        empty=True,
    )  # NamesCounted, RangeWritten
    _ = pipeline | "Commit" >> CallOnce(partial(commit_mentions, config.output, work, head), gathered, counted, written)


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
    shards, ranges = list(gathered), list(written)
    ledger = _sums((shard.wiki, shard.links) for shard in shards)
    regions = _sums((shard.wiki, shard.regions) for shard in shards)
    seen = _sums((shard.wiki, {"occurrences": shard.occurrences}) for shard in counted)
    parts = [file for part in ranges for file in part.parts]
    rows = _sums(
        (
            part.wiki,
            {"links": part.links, "occurrences": part.occurrences, "rows": sum(file.rows for file in part.parts)},
        )
        for part in ranges
    )
    for wiki, reasons in ledger.items():
        kept, occurrences, of_rows = reasons["kept"], seen[wiki]["occurrences"], rows[wiki]
        if kept != of_rows["links"] or occurrences != of_rows["occurrences"]:
            raise InputError(
                f"{wiki}: the ledger does not balance: {kept} links kept, {of_rows['links']} in the rows written; "
                f"{occurrences} occurrences counted, {of_rows['occurrences']} in the rows written"
            )
    problems = []
    if lost := [wiki for wiki in ledger if not rows[wiki]["rows"]]:
        ended = most("mentions", sum((ledger[wiki] for wiki in lost), Counter[str]()))
        problems = [f"{output}: no name of {', '.join(lost)} stands for an item: most links ended as {ended}"]
    # `+` leaves out the reasons and regions without a link.
    counted_links = {wiki: dict(+reasons) | {"seen": reasons.total()} for wiki, reasons in sorted(ledger.items())}
    counts = {"links": counted_links, "regions": {wiki: dict(+regions[wiki]) for wiki in sorted(regions)}}
    commit_dataset(output, work, head, parts=parts, ledger=counts, problems=problems)


def _sums(counts: Iterable[tuple[str, Mapping[str, int]]]) -> dict[str, Counter[str]]:
    """Return the sums of counts that are given by wiki."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for wiki, of_wiki in counts:
        sums[wiki].update(of_wiki)
    return sums
