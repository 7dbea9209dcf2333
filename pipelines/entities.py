"""`wikianchor entities`: Wikidata in, the dataset `entities` (types and labels) and beside it `sitelinks` (which page
is which item) out.

    files -> ReadItems (filter, parse, write) -> parts, counts -> commit

Elements: `Source` -> `ItemReading` -> the manifest. Two routes lead from a page to its item, the items' own sitelinks
and the wiki's
page_props table; either may be given, both are kept apart by `source`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pipelines.errors import UsageError
from pipelines.stage import finish, run_stage
from pipelines.storage import expand, file_size, sha1
from pipelines.wikimedia.dumps import Range, split_dumps
from pipelines.wikimedia.languages import is_language_edition
from schemas import entities as schema


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    wikidata: tuple[str, ...]
    page_props: tuple[str, ...]
    wikis: tuple[str, ...]
    output: str
    labels: tuple[str, ...] = ("en",)
    allow_truncated: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.add_argument(
        "--wikidata", default="", metavar="FILES", help="JSON dump of Wikidata: .json, .gz or .bz2; files or globs"
    )
    parser.add_argument(
        "--page_props",
        default="",
        metavar="FILES",
        help="page_props.sql.gz of the wikis: the other route from page to item",
    )
    parser.add_argument(
        "--wikis",
        required=True,
        help="database names with commas, such as enwiki,jawiki: items without a page there are left out",
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="directory of the dataset")
    parser.add_argument(
        "--labels",
        default="en",
        help="languages of the labels to keep, with commas; the first that exists is shown (default: en)",
    )
    parser.add_argument("--allow_truncated", action="store_true", help="take a cut-off dump for what is in it")


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags.

    Raises:
        UsageError: no input, or a name that is no wiki's.
    """
    wikis = split_list(arguments.wikis)
    if not arguments.wikidata and not arguments.page_props:
        raise UsageError("entities needs --wikidata=FILES or --page_props=FILES")
    check_wikis(wikis)
    return Config(
        wikidata=tuple(expand(arguments.wikidata, "wikidata")),
        page_props=tuple(expand(arguments.page_props, "page_props")),
        wikis=wikis,
        output=arguments.output,
        labels=split_list(arguments.labels),
        allow_truncated=arguments.allow_truncated,
    )


def split_list(value: str) -> tuple[str, ...]:
    """Return the parts of a comma-separated list, each once, in order."""
    return tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))


def check_wikis(wikis: Sequence[str]) -> None:
    """Check database names.

    Raises:
        UsageError: a name is not that of a wiki in a language.
    """
    for wiki in wikis:
        if not is_language_edition(wiki):
            raise UsageError(f"--wikis: {wiki} is not the database name of a wiki in a language: write it like enwiki")


def run(config: Config, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest."""
    paths = [*config.wikidata, *config.page_props]
    inputs = [{"path": path.rpartition("/")[2], "bytes": file_size(path), "sha1": sha1(path)} for path in paths]
    options = {"wikis": sorted(config.wikis), "labels": list(config.labels), "allow_truncated": config.allow_truncated}
    return run_stage(
        "entities",
        schema.VERSION,
        config.output,
        inputs,
        options,
        partial(build, config=config),
        beam_args,
        sum(file_size(path) for path in paths),
    )


def wiki_of(path: str, wikis: Sequence[str]) -> str:
    """Return the wiki that a table dump is of, which its name begins with.

    Raises:
        UsageError: it is none of those asked for.
    """
    wiki = path.rpartition("/")[2].partition("-")[0]
    if wiki not in wikis:
        raise UsageError(f"--page_props: {path} is not of a wiki in --wikis={','.join(wikis)}")
    return wiki


def build(pipeline: Any, head: Mapping[str, Any], config: Config) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam

    from pipelines.transforms.items import ItemReader, ReadItems, Source

    tables = [(path, wiki_of(path, config.wikis)) for path in config.page_props]
    parts = [(part, "") for part in split_dumps(config.wikidata)]
    parts += [(Range(path, 0, file_size(path), True), wiki) for path, wiki in tables]
    reader = ItemReader(config.output, tuple(sorted(config.wikis)), config.labels, config.allow_truncated)
    readings = (
        pipeline
        | "List ranges"
        >> beam.Create([Source(order, part, wiki) for order, (part, wiki) in enumerate(parts)])  # Source
        | "Read items" >> beam.ParDo(ReadItems(reader))  # ItemReading
    )
    (
        pipeline
        | "Once" >> beam.Create([None], reshuffle=False)
        | "Commit"
        >> beam.Map(lambda _, found: commit_readings(config, head, found), found=beam.pvalue.AsList(readings))
    )


def commit_readings(config: Config, head: Mapping[str, Any], readings: Iterable[Any]) -> None:
    """Check what the files gave and commit the dataset.

    Raises:
        InputError: an input was broken, or knows nothing of a wiki asked for.
    """
    from pipelines.transforms.items import file_problems

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
    finish(config.output, head, [part for reading in ordered for part in reading.parts], ledger, problems)
