"""`wikianchor sentences`: make the dataset `sentences`, with `titles` beside it, of a Wikipedia dump.

    ranges of the dump -> read_templates -> parts -> save_definitions -> the table of templates
    ranges of the dump -> ReadDump (with the table) -> parts, counts -> commit_readings

Elements: `TemplateRange` -> `TemplateReading` -> path; `DumpRange` -> `Reading` -> the manifest. Rows never pass
through Beam: a range is read and written by one worker, so there is nothing to shuffle, and the dataset is in the order
of the dump whatever the number of workers.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.options import recorded
from wikianchor.io.storage import file_size, free_bytes, is_local
from wikianchor.pipelines.dataset.changes import CRASHED, CRASHED_TEMPLATE, difference
from wikianchor.pipelines.dataset.inputs import file_records
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.dataset.reader import open_one, read_batches
from wikianchor.pipelines.dataset.reasons import listed, most
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import dump_seconds, template_seconds
from wikianchor.pipelines.engine.stage import Stage, commit_dataset, counts_by_kind, made_with, run_stage
from wikianchor.pipelines.sentences.compiled_reader import engine_of
from wikianchor.pipelines.sentences.options import SentencesOptions
from wikianchor.pipelines.text.dump_sample import with_writing
from wikianchor.pipelines.text.template_losses import most_costly
from wikianchor.pipelines.wikimedia.choices import FROM_DUMP, PARSERS
from wikianchor.pipelines.wikimedia.core import core_of
from wikianchor.pipelines.wikimedia.excluded_pages import NO_PAGES, ExcludedPages, read_excluded_pages
from wikianchor.pipelines.wikimedia.extractors import make_extractor
from wikianchor.pipelines.wikimedia.inventory import read_site, wiki_of_header
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.unpacked import is_slow
from wikianchor.pipelines.wikimedia.wikitext.link_counts import unbalanced
from wikianchor.pipelines.wikimedia.wikitext.served import facts_of
from wikianchor.schemas import sentences as schema

# Codecs of copies of decompressed ranges: each for dumps of at most so many bytes, where so many times their size is
# free. Copies with zstd take up to 1.8 times. Those of a large wiki without compression would not stay in memory until
# they are read.
COPY_CODECS = (("none", 256 << 20, 64), ("zstd", 1 << 60, 4))


def run(
    config: SentencesOptions, beam_args: Sequence[str], keep_older: bool = False, may_be_empty: bool = False
) -> dict[str, Any]:
    """Run the stage and return its manifest.

    Args:
        config: options of the stage.
        beam_args: flags for Beam.
        keep_older: see `run_stage`.
        may_be_empty: warn of a wiki without a sentence instead of raising, because other wikis have some.
    """
    from wikianchor.pipelines.text.splitter import make_splitter

    site, footers = site_of(config)
    header_wiki = wiki_of_header(config.dumps[0])
    # A missing package is found now, not on a worker.
    make_splitter(config.splitter, site.language)
    if config.parser == "wikianchor":
        core_of(config.engine)
    else:
        make_extractor(site, parser=config.parser)
    excluded = excluded_pages(config, site)
    if config.documents and config.parser != PARSERS[0]:
        raise UsageError(f"--documents: --parser={config.parser} does not read them: leave one of the two out")
    options = options_of(config, site, excluded)
    if config.previous:
        check_previous(config, options)
    passes = 2 if config.templates == FROM_DUMP else 1
    engine = engine_of(config.engine, config.parser, config.splitter)
    stage = Stage(
        dataset="sentences",
        schema_version=schema.VERSION,
        output=config.output,
        inputs=file_records(config.dumps),
        options=options,
        build=partial(
            build,
            config=config,
            site=site,
            footers=footers,
            header_wiki=header_wiki,
            excluded=excluded,
            may_be_empty=may_be_empty,
        ),
        bytes_read=passes * sum(map(file_size, config.dumps)),
        load=Load(dump_seconds(config.dumps, engine == "core") + (template_seconds(config.dumps) if passes > 1 else 0)),
    )
    manifest = run_stage(stage, beam_args, keep_older=keep_older)
    ledger = manifest["ledger"].get(site.wiki, {})
    if (missing := manifest.get("missing_pages", {})).get("pages"):
        from wikianchor.pipelines.sentences.missing_pages import warning

        logging.getLogger("wikianchor").warning("%s", warning(missing, site.wiki))
    if may_be_empty and not ledger.get("sentences", {}).get("kept"):
        logging.getLogger("wikianchor").warning("%s: %s", config.output, why_empty(ledger, site.wiki, header_wiki))
    matches = ledger.get("pages", {}).get("excluded", 0)
    if matches < len(excluded):
        logging.getLogger("wikianchor").warning(
            "--exclude_pages=%s: %d of the %d pages of %s are in the dump",
            config.exclude_pages,
            matches,
            len(excluded),
            site.wiki,
        )
    return manifest


def site_of(config: SentencesOptions) -> tuple[Site, frozenset[str]]:
    """Return the wiki, and the files that should end with </mediawiki>.

    How the language is written is that of --previous, because the rows that are copied follow from it.
    """
    site, footers = read_site(config.dumps, config.wiki)
    if wiki_of_header(config.dumps[0]) not in ("", site.wiki):
        # A dump of another language than the user says: nothing is learnt of it, so that no sentence comes out.
        return site, footers
    previous = read_manifest(config.previous) if config.previous else None
    return with_writing(site, config.dumps, previous["options"] if previous else None), footers


def excluded_pages(config: SentencesOptions, site: Site) -> ExcludedPages:
    """Return the pages of the wiki that --exclude_pages names.

    Raises:
        InputError: the list cannot be read.
    """
    return read_excluded_pages(config.exclude_pages, site) if config.exclude_pages else NO_PAGES


def options_of(config: SentencesOptions, site: Site, excluded: ExcludedPages) -> dict[str, Any]:
    """Return the options that the manifest carries."""
    return {
        "wiki": site.wiki,
        "language": site.language,
        "site": site.digest(),
        "writing": site.writing.to_json(),
        "exclude_pages": excluded.digest(),
    } | recorded(config)


def check_previous(config: SentencesOptions, options: Mapping[str, Any]) -> None:
    """Check that the rows of --previous are what would come out now.

    Raises:
        UsageError: it was made otherwise.
        InputError: it is no dataset of sentences, or damaged.
    """
    assert config.previous is not None
    if os.path.abspath(config.previous) == os.path.abspath(config.output):
        raise UsageError(f"--previous={config.previous} is the output itself: name another --output")
    manifest = open_one(config.previous, "sentences", schema.VERSION, "previous").manifest
    # Excluded pages are not copied, and pages that were excluded are read: their list may be another one.
    names = [name for name in options if manifest["options"].get(name) != options[name] and name != "exclude_pages"]
    if names:
        raise UsageError(f"--previous={config.previous} was made with another {', '.join(names)}: leave it out")
    if change := difference(manifest, {"made_with": made_with("sentences")}):
        raise UsageError(f"--previous={config.previous} would give other rows, {change}: leave it out")


def build(
    pipeline: Any,
    head: Mapping[str, Any],
    work: Workspace,
    config: SentencesOptions,
    site: Site,
    footers: frozenset[str],
    header_wiki: str = "",
    excluded: ExcludedPages = NO_PAGES,
    may_be_empty: bool = False,
) -> None:
    """Add the graph to a pipeline."""
    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep
    from wikianchor.pipelines.sentences.page_reader import DumpReader
    from wikianchor.pipelines.sentences.steps import ReadDump, list_ranges, remove_copy

    reader = DumpReader(
        site=site,
        work=work,
        splitter=config.splitter,
        parser=config.parser,
        allow_truncated=config.allow_truncated,
        previous=config.previous,
        excluded=excluded,
        fragments=config.fragments,
        engine=config.engine,
        documents=config.documents,
    )
    definitions, tables = _definitions(pipeline, work, config, site) if config.templates == FROM_DUMP else ([], [])
    readings = (
        pipeline
        | "List ranges" >> ListElements(list_ranges, config.dumps)  # DumpRange
        | "Read dump" >> RunStep(ReadDump(reader), work, "read", *tables, release=partial(remove_copy, work))  # Reading
    )
    commit = partial(
        commit_readings,
        output=config.output,
        work=work,
        head=head,
        footers=footers,
        header_wiki=header_wiki,
        may_be_empty=may_be_empty,
        dumps=config.dumps,
    )
    _ = pipeline | "Commit" >> CallOnce(commit, readings, definitions)


def _definitions(pipeline: Any, work: Workspace, config: SentencesOptions, site: Site) -> tuple[Any, list[Any]]:
    """Return the definitions of templates, by range, and the tables of them that `ReadDump` takes: all of them, and
    those that have changed since --previous."""
    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep
    from wikianchor.pipelines.templates import steps
    from wikianchor.pipelines.templates.tables import save_changes, save_definitions

    read = partial(
        steps.read_templates,
        work=work,
        site=site,
        copies=codec_of_copies(config.dumps, work),
        lua=config.lua,
        engine=config.engine,
    )
    definitions = (
        pipeline
        | "List template ranges" >> ListElements(steps.list_ranges, config.dumps)  # TemplateRange
        | "Read templates" >> RunStep(read, work, "templates", result=steps.TemplateReading)
    )
    facts = facts_of(config.dumps, config.lua)
    store = CallOnce(save_definitions, definitions, site.language, work, facts, work=work, name="template_store")
    tables = [pipeline | "Save templates" >> store]  # path
    if config.previous:
        changes = CallOnce(save_changes, config.previous, definitions, work, work=work, name="template_changes")
        tables.append(pipeline | "Compare templates" >> changes)  # path
    return definitions, tables


def codec_of_copies(dumps: Sequence[str], work: Workspace) -> str:
    """Return the codec of the copies of ranges that the step that reads templates leaves; "" for no copies.

    There are copies where all workers share a local disk with room for them and the dataset, and decompressing takes
    long.
    """
    if work.shuffle != "files" or not is_local(work.scratch) or not any(map(is_slow, dumps)):
        return ""
    size, free = sum(map(file_size, dumps)), free_bytes(work.scratch)
    return next((codec for codec, most, times in COPY_CODECS if size <= most and free >= times * size), "")


def commit_readings(
    readings: Iterable[Any],
    definitions: Iterable[Any] = (),
    *,
    output: str,
    work: Workspace,
    head: Mapping[str, Any],
    footers: Collection[str] = (),
    header_wiki: str = "",
    may_be_empty: bool = False,
    dumps: Sequence[str] = (),
) -> None:
    """Check the results of all ranges and commit the dataset.

    Args:
        readings: the results of the ranges.
        definitions: those of templates, by range.
        output: directory of the dataset.
        work: directories of the run.
        head: that of the manifest.
        footers: the files that should end with </mediawiki>.
        header_wiki: what the header of the first dump says; "" where that is nothing.
        may_be_empty: commit a dataset without sentences too.
        dumps: the dumps, whose pages are compared with the page table beside them.

    Raises:
        InputError: an input was broken, a page came twice, no sentence came out, or the ledger does not balance.
    """
    ordered = sorted(readings, key=lambda reading: reading.order)
    counts: Counter[str] = Counter()
    for reading in ordered:
        counts.update(reading.counts)
    if crashed := sum(reading.counts.get(CRASHED, 0) for reading in definitions):
        counts[f"pages:{CRASHED_TEMPLATE}"] = crashed
    problems = [problem for reading in ordered for problem in reading.problems]
    # A file that was found to be cut off inside a page or its compression needs no second word about it.
    if not problems and not counts["files:truncated"] and (endless := without_end(ordered, footers)):
        counts["files:truncated"] = len(endless)
        if not head["options"]["allow_truncated"]:
            problems = [
                f"{path}: cut off after its last whole page, </mediawiki> is missing: fetch it again, "
                "or take what is there with --allow_truncated"
                for path in endless
            ]
    wiki = head["options"]["wiki"]
    ledger = balance(counts, wiki) if not problems else {}
    if not problems:
        problems = repeated_pages(ordered)
    if not problems and not may_be_empty and not counts["sentences:kept"]:
        problems = [f"{output}: {why_empty(ledger, wiki, header_wiki)}"]
    parts = [part for reading in (*ordered, *sorted(definitions)) for part in reading.parts]
    from wikianchor.pipelines.sentences.missing_pages import missing_pages, page_table

    if not problems and dumps and (table := page_table(dumps)):
        titles = [part.path for part in parts if part.config == "titles"]
        head = {**head, "missing_pages": missing_pages(table, dumps, titles)}
    commit_dataset(output, work, head, parts, ledger={wiki: ledger}, problems=problems, may_be_empty=may_be_empty)


def why_empty(ledger: Mapping[str, Mapping[str, int]], wiki: str, header_wiki: str) -> str:
    """Return why the dump of a wiki gave no sentence, as far as that is known."""
    pages = ledger.get("pages", {})
    if not pages.get("articles") and not pages.get("redirects"):
        return f"the dump of {wiki} holds no article: is it a pages-articles dump?"
    problem = f"no sentence came out of the dump of {wiki}"
    if header_wiki and header_wiki != wiki:
        return f"{problem}: its <siteinfo> says {header_wiki}: leave --wikis={wiki} out, or give a dump of {wiki}"
    if (sentences := most("sentences", ledger.get("sentences", {}))) != "none":
        return (
            f"{problem}: most are dropped as {sentences}: see one with `wikianchor extract --dumps=FILE --title=TITLE`"
        )
    return f"{problem}: its pages are {listed('sentences', pages)}: is it a pages-articles dump?"


def without_end(readings: Sequence[Any], footers: Collection[str]) -> list[str]:
    """Return the files that should end with </mediawiki> and do not; the end may lie across ranges."""
    ends: dict[str, bytes] = {}
    for reading in readings:
        ends[reading.path] = ends.get(reading.path, b"") + reading.tail
    return [path for path, end in ends.items() if path in footers and b"</mediawiki>" not in end]


def balance(counts: Mapping[str, int], wiki: str) -> dict[str, dict[str, int]]:
    """Return the ledger, by kind: every link of the wiki's articles under what became of it, and the templates that
    cost most sentences.

    Raises:
        InputError: the links seen are not those of the buckets, or not those of the source.
    """
    if (problem := unbalanced(counts)) is not None:
        raise InputError(f"{wiki}: the ledger does not balance: {problem}")
    kinds = ("pages", "sentences", "fragments", "links", "source", "text", "files", "templates")
    ledger: dict[str, dict[str, int]] = {kind: {} for kind in kinds} | counts_by_kind([counts])
    ledger["templates"] = most_costly(ledger["templates"])
    return {kind: names for kind, names in ledger.items() if names}


# Why links in prose are dropped, besides that they are in fragments of sentences ("fragment:...").
IN_FRAGMENTS = frozenset({"gap", "preformatted", "back_matter", "disambiguation_page"})


def repeated_pages(readings: Sequence[Any]) -> list[str]:
    """Return a problem where a page was read twice, as when a dump and its parts are given together."""
    import numpy as np

    # Ranges follow each other by page id nearly always, and then their bounds tell; within a range the reader has seen.
    spread = sorted((reading.first_page, reading.last_page) for reading in readings if reading.last_page)
    again = [reading.repeated for reading in readings if reading.repeated]
    if not again and not all(before[1] < after[0] for before, after in pairwise(spread)):
        titles = [part.path for reading in readings for part in reading.parts if part.config == "titles"]
        columns = [batch.column(0).to_numpy() for path in titles for batch in read_batches(path, ["page_id"])]
        page_ids, counts = np.unique(np.concatenate(columns), return_counts=True)
        again = page_ids[counts > 1].tolist()
    return [f"page {page} was given twice: give each page once, a dump or its parts" for page in again[:1]]
