"""`wikianchor build`: a directory of dumps in, training pairs out: `sentences` for each wiki, `entities`, `pairs`.

A stage that is done with the same inputs and options is skipped, so the same command goes on where it was interrupted.
"""

from __future__ import annotations

import argparse
import glob
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines import entities, pairs, sentences
from pipelines.errors import InputError, UsageError
from pipelines.wikimedia.dumps import read_head
from pipelines.wikimedia.site import site_from_header

_PAGES = re.compile(r"pages-(?:articles|meta-current|meta-history)")
_SPLIT_DUMP = re.compile(r"\.xml-p\d+p\d+")
_INDEX = re.compile(r"-index\d*\.txt")


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    dumps: str
    wikis: tuple[str, ...]
    output: str
    choices: pairs.Choices
    labels: tuple[str, ...]
    splitter: str
    allow_truncated: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.add_argument(
        "--dumps",
        required=True,
        metavar="DIR",
        help="directory with pages-articles dumps, Wikidata's JSON dump and page_props tables",
    )
    parser.add_argument(
        "--wikis", default="", help="database names with commas (default: every wiki that has a dump there)"
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="directory of the datasets")
    parser.add_argument(
        "--labels", default="", help="languages of entity labels, best first (default: en, then those of the wikis)"
    )
    parser.add_argument(
        "--splitter",
        choices=("rules", "icu", "polyglot"),
        help="sentence splitter (rules; the presets paper and released: polyglot)",
    )
    parser.add_argument("--allow_truncated", action="store_true", help="take cut-off dumps for what is in them")
    pairs.add_choices(parser)


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags."""
    wikis = entities.split_list(arguments.wikis)
    entities.check_wikis(wikis)
    return Config(
        dumps=arguments.dumps,
        wikis=wikis,
        output=arguments.output.rstrip("/"),
        choices=pairs.choices_from(arguments),
        labels=entities.split_list(arguments.labels),
        splitter=arguments.splitter or ("rules" if arguments.preset == "default" else "polyglot"),
        allow_truncated=arguments.allow_truncated,
    )


def run(config: Config, beam_args: Sequence[str]) -> None:
    """Run the stages and print the report."""
    from pipelines import report

    start = report.clock()
    found = find_dumps(config.dumps, config.wikis)
    wikis = tuple(found.pages)
    for wiki, paths in found.pages.items():
        stage = sentences.Config(
            paths, f"{config.output}/sentences/{wiki}", None, config.splitter, config.allow_truncated
        )
        sentences.run(stage, beam_args)
    required = (config.choices.required_wiki,) if config.choices.required_wiki else ()
    labels = config.labels or tuple(dict.fromkeys(("en", *(language(wiki) for wiki in wikis), "mul")))
    every = tuple(dict.fromkeys((*wikis, *required)))
    entities.run(
        entities.Config(
            found.wikidata, found.page_props, every, f"{config.output}/entities", labels, config.allow_truncated
        ),
        beam_args,
    )
    stages = ",".join(f"{config.output}/sentences/{wiki}" for wiki in wikis)
    pairs.run(pairs.Config(stages, f"{config.output}/entities", f"{config.output}/pairs", config.choices), beam_args)
    report.print_report(config.output, start)


def language(wiki: str) -> str:
    """Return the language code of a wiki."""
    from pipelines.wikimedia.languages import language_of_wiki

    return language_of_wiki(wiki)


@dataclass(frozen=True)
class Dumps:
    """Files by what they are; `pages` by wiki, in order."""

    pages: Mapping[str, tuple[str, ...]]
    wikidata: tuple[str, ...]
    page_props: tuple[str, ...]


def find_dumps(directory: str, wikis: Sequence[str]) -> Dumps:
    """Find the dumps in a directory, the wiki of each by its own header.

    Raises:
        UsageError: no such directory.
        InputError: there is no dump of a wiki asked for, none at all, or no Wikidata.
    """
    if not os.path.isdir(directory):
        raise UsageError(f"--dumps={directory}: no such directory")
    paths = sorted(path for path in glob.glob(f"{directory}/**", recursive=True) if os.path.isfile(path))
    names = {path: os.path.basename(path) for path in paths}
    pages: dict[str, list[str]] = {}
    for path in paths:
        if _PAGES.search(names[path]) and not _INDEX.search(names[path]) and ".xml" in names[path]:
            site = site_from_header(read_head(path).decode("utf-8", "replace"), None, path)
            pages.setdefault(site.wiki, []).append(path)
    chosen = {wiki: tuple(one_of_each(pages.get(wiki, ()))) for wiki in wikis or sorted(pages)}
    for wiki, found in chosen.items():
        if not found:
            raise InputError(
                f"--dumps={directory} has no pages-articles dump of {wiki}; it has {', '.join(sorted(pages)) or 'none'}"
            )
    if not chosen:
        raise InputError(
            f"--dumps={directory} has no pages-articles dump (a name such as enwiki-20260101-pages-articles.xml.bz2)"
        )
    wikidata = tuple(
        path for path in paths if re.search(r"wikidata|latest-all", names[path]) and ".json" in names[path]
    )
    props = tuple(
        path for path in paths if "-page_props.sql" in names[path] and names[path].partition("-")[0] in chosen
    )
    if not wikidata and not props:
        raise InputError(
            f"--dumps={directory} has no Wikidata dump (wikidata-*.json.gz or .bz2) "
            "and no page_props.sql.gz of these wikis"
        )
    return Dumps(chosen, one_kind(wikidata), props)


def one_of_each(paths: Sequence[str]) -> list[str]:
    """Of a wiki's files keep those that make one dump: the multistream files before the others, parts before or
    without the whole."""
    multistream = [path for path in paths if "multistream" in os.path.basename(path)]
    files = multistream or list(paths)
    parts = [path for path in files if _SPLIT_DUMP.search(os.path.basename(path))]
    return parts or files


def one_kind(paths: Sequence[str]) -> tuple[str, ...]:
    """Of Wikidata dumps in several packings keep one: gzip reads eight times faster than bzip2."""
    for ending in (".gz", ".json", ".bz2"):
        if chosen := tuple(path for path in paths if path.endswith(ending)):
            return chosen
    return tuple(paths)
