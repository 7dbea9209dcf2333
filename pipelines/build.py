"""`wikianchor build`: a directory of dumps in, training pairs out: `sentences` for each wiki, `entities`, `pairs`.

A stage that is done with the same inputs and options is skipped, so the same command goes on where it was interrupted.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipelines import entities, pairs, sentences
from pipelines.dataset.reader import find_datasets
from pipelines.errors import InputError, UsageError
from pipelines.flags import entities as entities_flags
from pipelines.flags import pairs as pairs_flags
from pipelines.flags import sentences as sentences_flags
from pipelines.flags.build import Config
from pipelines.runner import with_workers, workers_of
from pipelines.sentences import read_site
from pipelines.storage import files_in, matching
from pipelines.wikimedia.dump_names import is_part, of_newest_date, part_order
from pipelines.wikimedia.dumps import read_head

_XML = re.compile(r"\.xml|\.bz2$|\.gz$|\.xz$")
# Exports without the text of articles, parts of a page's history, and files that are still being fetched.
_NO_PAGES = re.compile(r"^stub-|-stub-|-index\d*\.txt|pages-logging|abstract|\.json|\.sql|-p\d+r\d+r\d+\.xml|\.part$")
_JSON = re.compile(r"\.json(?:\.(?:gz|bz2))?$")
_ENTITY = re.compile(rb'\s*(?:\[\s*)?\{[^\n]*?"type"\s*:\s*"(?:item|property|lexeme)"')
_PAGE_PROPS = re.compile(r"(\w+)-.*page_props\.sql(?:\.gz)?$")
ENTITY_BYTES = 1 << 16


def run(config: Config, beam_args: Sequence[str]) -> None:
    """Print the plan, run the stages and print the report."""
    from pipelines import report, summary
    from pipelines.plan import build_stages, plan_lines

    start = time.monotonic()
    found = find_dumps(config.dumps, config.wikis)
    wikis = tuple(found.pages)
    pairs.check_floor(config.choices, wikis)
    rows = config.choices.sample * (len(wikis) if config.choices.sample_per_wiki else 1)
    of_sentences, of_entities, of_pairs = stage_configs(config, found)
    options = [sentences.options_of(one, read_site(one.dumps, None)[0]) for one in of_sentences]
    options += [entities.options_of(of_entities), pairs.options_of(of_pairs)]
    stages = build_stages(dict(found.pages), found.wikidata, found.page_props, config.output, rows, options)
    workers = [workers_of(beam_args, stage.load) for stage in stages]
    print("\n".join(plan_lines(stages, config.output, workers)), flush=True)
    if config.dry_run:
        return
    # As many workers as the plan says: what a stage itself knows of its input may be another number.
    flags = [with_workers(beam_args, stage.load) for stage in stages]
    for one, stage_flags in zip(of_sentences, flags, strict=False):
        sentences.run(one, stage_flags)
    entities.run(of_entities, flags[-2])
    pairs.run(of_pairs, flags[-1])
    datasets = report.datasets_in(config.output)
    report.print_report(datasets)
    print(f"\n{summary.made_together(datasets, config.output)}\n{summary.spent(start)}")
    check = ["wikianchor", "verify", config.output, f"--against={config.dumps}"]
    print("\n".join(summary.next_lines(check, summary.train_ease(of_pairs.output))))


def stage_configs(
    config: Config, found: Dumps
) -> tuple[list[sentences_flags.Config], entities_flags.Config, pairs_flags.Config]:
    """Return what each stage of a build is asked for: `sentences` of each wiki, `entities` and `pairs`."""
    wikis, output = tuple(found.pages), config.output
    of_sentences = [
        sentences_flags.Config(
            paths,
            f"{output}/sentences/{wiki}",
            None,
            config.splitter,
            config.parser,
            config.allow_truncated,
            earlier_sentences(config.previous, wiki),
        )
        for wiki, paths in found.pages.items()
    ]
    required = (config.choices.required_wiki,) if config.choices.required_wiki else ()
    labels = config.labels or tuple(dict.fromkeys(("en", *(language(wiki) for wiki in wikis), "mul")))
    every = tuple(dict.fromkeys((*wikis, *required)))
    of_entities = entities_flags.Config(
        found.wikidata, found.page_props, every, f"{output}/entities", labels, config.allow_truncated
    )
    places = ",".join(f"{output}/sentences/{wiki}" for wiki in wikis)
    return (
        of_sentences,
        of_entities,
        pairs_flags.Config(places, f"{output}/entities", f"{output}/pairs", config.choices),
    )


def earlier_sentences(previous: str | None, wiki: str) -> str | None:
    """Return where an earlier build has the sentences of a wiki, None where it has none.

    Raises:
        UsageError: there is no earlier build at all.
    """
    if previous is None:
        return None
    every = (one for one in find_datasets(previous) if one.manifest["dataset"] == "sentences")
    found = {one.manifest["options"]["wiki"]: one for one in every}
    if not found:
        raise UsageError(f"--previous={previous} holds no sentences: give the --output of an earlier build")
    if wiki not in found:
        logging.getLogger("wikianchor").info("%s: not in --previous, so all of it is read", wiki)
        return None
    return found[wiki].directory


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


def find_dumps(places: str, wikis: Sequence[str]) -> Dumps:
    """Find the dumps among files, told by what is in them: the wiki of each by its own header.

    Args:
        places: directories, files and globs, separated by commas.
        wikis: the wikis wanted; none for all that are found.

    Raises:
        UsageError: no such directory or file.
        InputError: there is no dump of a wiki wanted, none at all, or no Wikidata; or a dump cannot be read.
    """
    paths = list_files(places)
    pages, wikidata, unread = tell_apart(paths)
    chosen = {wiki: tuple(one_of_each(pages.get(wiki, ()))) for wiki in wikis or sorted(pages)}
    missing = [wiki for wiki, found in chosen.items() if not found]
    if unread and (missing or not wikis):
        raise unread[0]
    if missing:
        raise InputError(
            f"--dumps={places} has no pages-articles dump of {missing[0]}; it has {', '.join(sorted(pages)) or 'none'}"
        )
    if not chosen:
        raise InputError(
            f"--dumps={places} has no pages-articles dump (a file such as enwiki-20260101-pages-articles.xml.bz2)"
        )
    props = tuple(props_of(paths, chosen))
    if not wikidata and not props:
        raise InputError(
            f"--dumps={places} has no JSON dump of Wikidata (wikidata-*.json.gz or .bz2) "
            "and no page_props.sql.gz of these wikis"
        )
    return Dumps(chosen, one_packing(wikidata), props)


def tell_apart(paths: Sequence[str]) -> tuple[dict[str, list[str]], list[str], list[InputError]]:
    """Tell files apart by what is in them: dumps of pages by wiki, dumps of Wikidata, and what cannot be read."""
    pages: dict[str, list[str]] = {}
    wikidata: list[str] = []
    unread: list[InputError] = []
    for path in paths:
        name = os.path.basename(path)
        try:
            if _XML.search(name) and not _NO_PAGES.search(name) and b"<mediawiki" in read_head(path):
                pages.setdefault(read_site([path], None)[0].wiki, []).append(path)
            elif _JSON.search(name) and _ENTITY.match(read_head(path, ENTITY_BYTES)):
                wikidata.append(path)
        except InputError as error:
            unread.append(error)
    return pages, wikidata, unread


def props_of(paths: Sequence[str], wikis: Iterable[str]) -> list[str]:
    """Return the page_props tables of wikis among files, the newest of each."""
    tables: dict[str, list[str]] = {wiki: [] for wiki in wikis}
    for path in paths:
        tables.get(page_props_wiki(path) or "", []).append(path)
    return sorted(path for found in tables.values() for path in of_newest_date(found))


def page_props_wiki(path: str) -> str | None:
    """Return the wiki that a page_props table is of by its name; None for any other file."""
    match = _PAGE_PROPS.match(os.path.basename(path))
    return match[1] if match else None


def list_files(places: str, flag: str = "dumps") -> list[str]:
    """Return the files in directories, and those named, sorted.

    Args:
        places: directories, files and globs, separated by commas.
        flag: that names them.

    Raises:
        UsageError: a place does not exist.
    """
    found: set[str] = set()
    for place in filter(None, (part.strip() for part in places.split(","))):
        directories, files = matching(place, directories=True), matching(place, directories=False)
        if not directories and not files:
            raise UsageError(f"--{flag}={place}: no such directory or file")
        found.update(files, *map(files_in, directories))
    return sorted(found)


def one_of_each(paths: Sequence[str]) -> list[str]:
    """Of a wiki's files keep those that make one dump, in the order of their pages: of the newest date, articles before
    exports and full histories, multistream before the same in one stream, parts before or without the whole."""
    files = of_newest_date(paths)
    for sort in ("pages-articles", "multistream"):
        files = [path for path in files if sort in os.path.basename(path)] or files
    parts = [path for path in files if is_part(path)]
    return sorted(parts or files, key=part_order)


def one_packing(paths: Sequence[str]) -> tuple[str, ...]:
    """Of the newest dump keep one packing where it is there in several: gzip reads eight times faster than bzip2."""
    best: dict[str, str] = {}
    files = of_newest_date(paths)
    for ending in (".bz2", "", ".gz"):
        best |= {path.removesuffix(ending): path for path in files if path.endswith(ending or ".json")}
    return tuple(sorted(best.values()))
