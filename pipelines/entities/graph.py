"""`wikianchor entities`: make the dataset `entities` (types and labels), with `sitelinks` (the item of each page)
beside it, of Wikidata.

    ranges of the files -> read_items (filter, parse, write) -> parts, counts -> commit_readings

Elements: `ItemRange` -> `ItemReading` -> the manifest. Two routes lead from a page to its item, the items' own
sitelinks and the wiki's page_props table; either may be given, both are kept apart by `source`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from wikianchor.io.errors import UsageError
from wikianchor.io.options import recorded
from wikianchor.io.storage import file_size
from wikianchor.pipelines.dataset.inputs import file_records
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import item_seconds
from wikianchor.pipelines.engine.stage import Stage, commit_dataset, run_stage
from wikianchor.pipelines.entities.options import EntitiesOptions
from wikianchor.schemas import entities as schema


def run(config: EntitiesOptions, beam_args: Sequence[str], keep_older: bool = False) -> dict[str, Any]:
    """Run the stage and return its manifest."""
    paths = [*config.wikidata, *config.page_props]
    stage = Stage(
        dataset="entities",
        schema_version=schema.VERSION,
        output=config.output,
        inputs=file_records(paths),
        options=options_of(config),
        build=partial(build, config=config),
        bytes_read=sum(map(file_size, paths)),
        load=Load(item_seconds(paths)),
    )
    return run_stage(stage, beam_args, keep_older=keep_older)


def options_of(config: EntitiesOptions) -> dict[str, Any]:
    """Return the options that the manifest carries."""
    return recorded(config) | {"wikis": sorted(config.wikis)}


def wiki_of(path: str, wikis: Sequence[str]) -> str:
    """Return the wiki that a table dump is of, which its name begins with.

    Raises:
        UsageError: it is none of those asked for.
    """
    wiki = path.rpartition("/")[2].partition("-")[0]
    if wiki not in wikis:
        raise UsageError(f"--page_props: {path} is not of a wiki in --wikis={','.join(wikis)}")
    return wiki


def build(pipeline: Any, head: Mapping[str, Any], work: Workspace, config: EntitiesOptions) -> None:
    """Add the graph to a pipeline."""
    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep
    from wikianchor.pipelines.entities.steps import ItemReader, list_ranges, read_items

    tables = [(path, wiki_of(path, config.wikis)) for path in config.page_props]
    reader = ItemReader(work, tuple(sorted(config.wikis)), config.labels, config.texts, config.allow_truncated)
    readings = (
        pipeline
        | "List ranges" >> ListElements(list_ranges, config.wikidata, tables)  # ItemRange
        | "Read items" >> RunStep(read_items, work, "read", reader)  # ItemReading
    )
    _ = pipeline | "Commit" >> CallOnce(commit_readings, config, work, head, readings)


def commit_readings(config: EntitiesOptions, work: Workspace, head: Mapping[str, Any], readings: Iterable[Any]) -> None:
    """Check the results of all ranges and commit the dataset.

    Raises:
        InputError: an input was broken, or knows nothing of a wiki asked for.
    """
    from wikianchor.pipelines.entities.steps import file_problems

    ordered = sorted(readings, key=lambda reading: reading.order)
    counts: Counter[str] = Counter()
    sitelinks: Counter[str] = Counter()
    for reading in ordered:
        counts.update(reading.counts)
        sitelinks.update(reading.sitelinks)
    problems = [problem for reading in ordered for problem in reading.problems]
    of_files, truncated = file_problems(ordered, config.allow_truncated)
    problems += of_files
    if truncated:
        counts["truncated"] += truncated
    if not problems:
        problems = [
            f"no item has a page in {wiki}: is {wiki} in the Wikidata dump given? else give its page_props.sql.gz"
            for wiki in config.wikis
            if not sitelinks[wiki]
        ]
    ledger = {"lines": dict(sorted(counts.items())), "sitelinks": dict(sorted(sitelinks.items()))}
    commit_dataset(config.output, work, head, [part for reading in ordered for part in reading.parts], ledger, problems)
