"""`wikianchor mewsc16`: make the dataset `mewsc16`, first sentences of articles with their topics, of Wikinews dumps.

    ranges of the dumps -> read_categories -> the topics of each category, template pages
    wikis -> read_tables (with these, and SQL tables) -> the topics of each page, packed; definitions of templates
    ranges of the dumps -> ReadNews (with both) -> candidates, counts
    candidates -> Shuffle (by language) -> decide -> parts, counts -> commit_decisions

Elements: `NewsRange` -> `CategoryReading`; `NewsWiki` -> `TableReading`; `NewsRange` -> `NewsReading`; language ->
`Decision` -> the manifest.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.options import recorded
from wikianchor.io.storage import file_size
from wikianchor.pipelines.dataset.changes import CRASHED
from wikianchor.pipelines.dataset.inputs import file_records
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import dump_seconds
from wikianchor.pipelines.engine.stage import Stage, commit_dataset, counts_by_kind, run_stage
from wikianchor.pipelines.mewsc16 import steps
from wikianchor.pipelines.mewsc16.editions import CLOSED, with_aliases
from wikianchor.pipelines.mewsc16.options import MIN_PAGES, Mewsc16Options
from wikianchor.pipelines.mewsc16.topic_map import OF_RELEASED, load_topics
from wikianchor.pipelines.sentences.graph import without_end
from wikianchor.pipelines.wikimedia.choices import FROM_DUMP
from wikianchor.pipelines.wikimedia.inventory import read_site
from wikianchor.pipelines.wikimedia.languages import PROJECTS, split_wiki
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.schemas import mewsc16 as schema

TABLES = ("categorylinks", "linktarget")
# Tables that a wiki has beside these, and that a glob for links may name.
UNREAD = ("page", "page_props", "langlinks", "pagelinks", "iwlinks", "externallinks", "templatelinks", "imagelinks")
_DATE = re.compile(r"-(\d{4})(\d\d)(\d\d)-")
# The count of kept pages, beside those of the reasons in `mewsc16.faults` and "fragment:...".
KEPT = "kept"


def run(config: Mewsc16Options, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest."""
    topics = load_topics(config.topics, OF_RELEASED if "old_map" in config.faults else None)
    wikis = read_wikis(config, topics)
    paper = config.mode == "paper"
    from_dump = config.templates == FROM_DUMP
    membership = config.membership or ("direct+templates" if config.sql or (from_dump and not paper) else "direct")
    if (
        membership == "direct+templates"
        and not from_dump
        and (bare := [wiki for wiki in wikis if "categorylinks" not in wiki.tables])
    ):
        raise InputError(
            f"--sql: no categorylinks.sql.gz of {bare[0].site.wiki}: give it, or choose --membership=direct"
        )
    reader = steps.NewsReader(
        topics=topics,
        membership=membership,
        faults=frozenset(config.faults) if paper else None,
        min_pages=config.min_pages or (MIN_PAGES if paper else 1),
        allow_truncated=config.allow_truncated,
        templates=from_dump,
    )
    paths = [path for wiki in wikis for path in (*wiki.dumps, *sorted(wiki.tables.values()))]
    inputs = [_input(path) for path in paths]
    options = {
        **recorded(config),
        "languages": [wiki.language for wiki in wikis],
        "membership": membership,
        "min_pages": reader.min_pages,
        # The map itself: a map of the same name may say something else.
        "topics": {wiki.language: dict(sorted(topics[wiki.language].items())) for wiki in wikis},
    }
    stage = Stage(
        dataset="mewsc16",
        schema_version=schema.VERSION,
        output=config.output,
        inputs=inputs,
        options=options,
        build=partial(build, config=config, wikis=wikis, reader=reader),
        bytes_read=sum(file_size(path) for path in config.dumps),
        load=Load(dump_seconds(config.dumps)),
    )
    manifest = run_stage(stage, beam_args)
    for line in remarks(manifest):
        logging.getLogger("wikianchor").info("%s", line)
    return manifest


def _input(path: str) -> dict[str, Any]:
    (entry,) = file_records([path])
    if date := _DATE.search(entry["path"]):
        entry["date"] = "-".join(date.groups())
        entry["before_closure"] = entry["date"] < CLOSED
    return entry


def read_wikis(config: Mewsc16Options, topics: Mapping[str, Mapping[str, str]]) -> list[steps.NewsWiki]:
    """Return the wikis that the dumps are of, by language, with their tables.

    Raises:
        InputError: a file is no export of a Wikinews in a language of the topic map, or a table is of none of them.
    """
    sites: dict[str, Site] = {}
    dumps: dict[str, list[str]] = {}
    for path in config.dumps:
        site = _news_site(path, topics)
        sites.setdefault(site.wiki, site)
        dumps.setdefault(site.wiki, []).append(path)
    tables: dict[str, dict[str, str]] = {wiki: {} for wiki in sites}
    for path in config.sql:
        wiki, table = table_of(path)
        if table in UNREAD:
            logging.getLogger("wikianchor").info("%s: not needed, left unread", path)
            continue
        if wiki not in tables:
            raise InputError(f"--sql: {path} is of {wiki or 'no wiki that its name tells'}, and no dump is")
        if table not in TABLES:
            raise InputError(f"--sql: {path} is none of the tables {', '.join(TABLES)}: their names end so")
        if table in tables[wiki]:
            raise InputError(f"--sql: {tables[wiki][table]} and {path} are the same table of {wiki}: give one of them")
        tables[wiki][table] = path
    for wiki, paths in tables.items():
        if "linktarget" in paths and "categorylinks" not in paths:
            raise InputError(f"--sql: {paths['linktarget']} needs categorylinks.sql.gz of {wiki} beside it")
    return [steps.NewsWiki(with_aliases(sites[wiki]), tuple(dumps[wiki]), tables[wiki]) for wiki in sorted(sites)]


def table_of(path: str) -> tuple[str, str]:
    """Return wiki and table by the name of a file, such as jawikinews-20260601-categorylinks.sql.gz."""
    name = path.rpartition("/")[2].partition(".sql")[0]
    parts = name.split("-")
    return (parts[0], parts[-1]) if len(parts) > 1 else ("", name)


def _news_site(path: str, topics: Mapping[str, Mapping[str, str]]) -> Site:
    site, _ = read_site([path], None)
    code, project = split_wiki(site.wiki)
    if project != "wikinews":
        family = PROJECTS[project][0] if project else "another wiki"
        raise InputError(f"{path}: is of {site.wiki} ({family}), not of a Wikinews, such as {code or 'en'}wikinews")
    if code not in topics:
        raise InputError(
            f"{path}: is of {site.wiki}, and the topic map has no categories in {code}: it has "
            f"{', '.join(sorted(topics))}; add some with --topics=FILE"
        )
    return site


def build(
    pipeline: Any,
    head: Mapping[str, Any],
    work: Workspace,
    config: Mewsc16Options,
    wikis: Sequence[steps.NewsWiki],
    reader: steps.NewsReader,
) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam

    from wikianchor.pipelines.engine.shuffle import Shuffle
    from wikianchor.pipelines.engine.sorted_runs import KeyRange
    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep

    languages = [KeyRange(number, wiki.language, None, None) for number, wiki in enumerate(wikis)]
    output_shards = beam.pvalue.AsList(pipeline | "List languages" >> beam.Create(languages))

    ranges = pipeline | "List ranges" >> ListElements(steps.list_ranges, wikis)  # NewsRange
    categories = ranges | "Read categories" >> RunStep(steps.read_categories, work, "categories", reader, work)
    # CategoryReading
    tables = (
        pipeline
        | "List wikis" >> beam.Create(wikis)  # NewsWiki
        | "Read tables"
        >> RunStep(
            partial(steps.read_tables, reader=reader, work=work),
            work,
            "tables",
            categories,
            key=attrgetter("language"),
            result=steps.TableReading,
        )
    )  # TableReading
    readings, decisions = ranges | "Shuffle candidates" >> Shuffle(
        "candidates",
        work,
        steps.BY_RANGE,
        map_step=steps.ReadNews(reader, work),
        map_sides=(beam.pvalue.AsList(categories), beam.pvalue.AsList(tables)),
        ranges=lambda _: output_shards,
        reduce_step=steps.decide,
        reduce_sides=(reader, work),
    )  # NewsReading, Decision
    _ = pipeline | "Commit" >> CallOnce(partial(commit_decisions, config, work, head), readings, tables, decisions)


def commit_decisions(
    config: Mewsc16Options,
    work: Workspace,
    head: Mapping[str, Any],
    readings: Iterable[Any],
    tables: Iterable[Any],
    decisions: Iterable[Any],
) -> None:
    """Check the results of all ranges and languages and commit the dataset.

    Raises:
        InputError: an input was broken, a language has no row, or the ledger does not balance.
    """
    ordered = sorted(readings, key=lambda reading: reading.order)
    by_language = {decision.language: decision for decision in decisions}
    # Nothing is decided for a language without any candidate.
    decided = [
        by_language.get(language, steps.Decision(language, [], {}, []))
        for language in sorted(head["options"]["languages"])
    ]
    problems = [problem for reading in ordered for problem in reading.problems]
    problems += [problem for table in tables for problem in table.problems]
    if not problems and not config.allow_truncated:
        cut_off = {reading.path for reading in ordered if reading.counts.get("files:truncated")}
        problems = [
            f"{path}: cut off after its last whole page, </mediawiki> is missing: fetch it again, "
            "or take what is there with --allow_truncated"
            for path in without_end(ordered, frozenset(config.dumps))
            if path not in cut_off
        ]
    problems += [problem for decision in decided for problem in decision.problems]
    ledger = {
        decision.language: ledger_of(
            decision, [reading for reading in ordered if reading.language == decision.language]
        )
        for decision in (decided if not problems else ())
    }
    problems += [no_page_left(language, counts) for language, counts in ledger.items() if not counts["pages"].get(KEPT)]
    parts = [part for decision in decided for part in decision.parts]
    commit_dataset(config.output, work, head, parts=parts, ledger=ledger, problems=problems)


def ledger_of(decision: Any, readings: Sequence[Any]) -> dict[str, Any]:
    """Return the ledger of a language: every page under what became of it, and what the rows are.

    Raises:
        InputError: the pages seen are not those kept and those dropped with a reason, or the rows not those kept.
    """
    ledger: dict[str, Any] = {"pages": {}, "labels": {}}
    ledger |= counts_by_kind(result.counts for result in (decision, *readings))
    pages, labels = ledger["pages"], dict.fromkeys(schema.TOPICS, 0) | ledger["labels"]
    seen, kept = pages.get("seen", 0), pages.get(KEPT, 0)
    # Of a page that ended its worker not even the namespace is known.
    parted = sum(number for name, number in pages.items() if name not in ("seen", CRASHED))
    rows = sum(part.rows for part in decision.parts)
    if parted != seen or rows != kept or sum(labels.values()) != kept:
        raise InputError(
            f"{decision.language}: the ledger does not balance: {seen} pages seen, {parted} kept or dropped; "
            f"{kept} kept, {rows} rows, {sum(labels.values())} labels"
        )
    ledger["labels"] = labels
    ledger["dump"] = {"newest_revision": max((reading.newest for reading in readings), default="")}
    return ledger


def no_page_left(language: str, ledger: Mapping[str, Any]) -> str:
    """Return the problem of a language without a page that is kept."""
    lost = {name: number for name, number in ledger["pages"].items() if name not in ("seen", "other_namespace")}
    most = max(lost, key=lambda name: (lost[name], name), default="")
    return (
        f"{language}wikinews: no page is left"
        + (f": most are dropped as {most} ({lost[most]} of {ledger['pages']['seen']})" if most else ": it holds none")
        + "; is the dump a pages-articles dump, and the topic map its own?"
    )


def remarks(manifest: Mapping[str, Any]) -> Iterable[str]:
    """Yield remarks for the user about a complete dataset."""
    for item in manifest["inputs"]:
        if item.get("before_closure"):
            yield f"{item['path']}: made before Wikinews was closed: a later dump has more pages"
    for language, ledger in manifest["ledger"].items():
        newest = ledger["dump"]["newest_revision"]
        if newest < CLOSED and not any("date" in item for item in manifest["inputs"]):
            yield f"{language}: the newest revision is of {newest[:10]}: the dump may be older than the wiki's closure"
        names = set(manifest["options"]["topics"][language].values())
        empty = [topic for topic, number in ledger["labels"].items() if not number and topic in names]
        if empty:
            yield f"{language}: no page of {', '.join(empty)}"
        if manifest["options"]["mode"] == "clean" and set(ledger.get("status", ())) == {"unknown"}:
            yield f"{language}: no page tells whether it is published, so all count"
