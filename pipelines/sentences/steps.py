"""Reading a range of a dump: `Range` in, one `Reading` out, which names the parts that were written on the way.

Nothing but that small record flows through Beam: the rows go straight from the parser into Parquet, a row group at a
time.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from wikianchor.io.errors import InputError, Truncated
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import open_datasets
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.sentences.columns import LedgerColumns, Mixed, SentenceColumns, TitleColumns
from wikianchor.pipelines.sentences.previous import Earlier, EarlierPage, Group, groups_of
from wikianchor.pipelines.text.prose import page_sentences
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.text.template_losses import IN_RANGE, TEMPLATE, WHILE_READING, forget_rare
from wikianchor.pipelines.wikimedia.dumps import Chunk, Range, read_range, split_dumps
from wikianchor.pipelines.wikimedia.mwparser import make_extractor
from wikianchor.pipelines.wikimedia.page_kinds import PageKinds
from wikianchor.pipelines.wikimedia.pages import Page, cut_pages, page_namespace, parse_page, unescape
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.titles import parse_target
from wikianchor.schemas import sentences, titles

ROW_GROUP = 10_000
# Titles carry a list of links each, and articles a list of counts: a row group of them is bounded by those as well, so
# that the smallest range fills one and a larger one takes no more memory.
TITLE_LINKS = 50_000
LEDGER_COUNTS = 20_000
# A range with more broken pages than this is broken itself: nobody reads more lines about it.
PROBLEMS = 100
# What follows the last page, </mediawiki> and white space, is shorter.
TAIL = 64


class Task(NamedTuple):
    """A range of a dump and its place among all ranges, which is the place of its rows in the dataset."""

    order: int
    part: Range


class Reading(NamedTuple):
    """What became of a range.

    Attributes:
        order: as in the task.
        parts: the files written.
        counts: how many pages, sentences and links met which fate, as "pages:articles", "links:table".
        problems: what was wrong with the input, one line each.
        first_page, last_page: lowest and highest page id met, 0 for none.
        repeated: id of a page met twice, 0 for none.
        path: of the dump.
        tail: the last bytes that the range owns, for the commit to see whether the file has its end.
    """

    order: int
    parts: list[Part]
    counts: dict[str, int]
    problems: list[str]
    first_page: int
    last_page: int
    repeated: int
    path: str
    tail: bytes

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters: those of the ledger, less single templates."""
        counts = {name: number for name, number in self.counts.items() if not name.startswith(TEMPLATE)}
        return {**counts, "bytes:written": sum(part.size for part in self.parts)}


@dataclass(frozen=True)
class DumpReader:
    """How the pages of one wiki's dump become sentences and titles.

    Attributes:
        site: the wiki.
        work: of the run.
        splitter: name of the sentence splitter.
        parser: name of what reads wikitext.
        allow_truncated: take a cut-off file for what is in it.
        previous: directory of a dataset of an earlier dump, made in the same way: pages that are the same in both are
            taken from there.
    """

    site: Site
    work: Workspace
    splitter: str
    parser: str
    allow_truncated: bool
    previous: str | None = None


def list_tasks(dumps: Sequence[str]) -> list[Task]:
    """Cut dumps into ranges; the cut depends on the files alone."""
    return [Task(order, part) for order, part in enumerate(split_dumps(dumps))]


class ReadDump:
    """The step that reads a range; what is costly to set up is set up once a worker."""

    def __init__(self, reader: DumpReader) -> None:
        self._reader = reader

    @cached_property
    def _pages(self) -> PageReader:
        return PageReader(self._reader)

    @cached_property
    def _earlier(self) -> Mapping[str, Sequence[Group]] | None:
        previous = self._reader.previous
        if previous is None:
            return None
        return groups_of(open_datasets(previous, "sentences", sentences.VERSION, "previous")[0])

    def __call__(self, task: Task) -> Reading:
        return read_dump(task, self._reader, self._pages, self._earlier)


def read_dump(
    task: Task, reader: DumpReader, pages: PageReader, earlier: Mapping[str, Sequence[Group]] | None = None
) -> Reading:
    """Read a range of a dump and write its sentences and titles.

    A damaged or truncated file is read as far as it goes, and what is wrong is returned as a problem.

    Raises:
        InputError: the output cannot be written.
    """
    counts: Counter[str] = Counter()
    problems: list[str] = []
    ids = array("q")
    wiki, tail = reader.site.wiki, bytearray()
    rows, names, ledger = SentenceColumns(wiki), TitleColumns(wiki), LedgerColumns(wiki)
    all_rows, all_names, all_ledgers = Mixed(rows), Mixed(names), Mixed(ledger)
    unchanged = _Unchanged(pages, earlier) if earlier is not None else None
    # What waits with the titles and in the ledger, the rows of an earlier dataset among it: row groups end at the same
    # page whether a page was read or taken from there.
    links = reasons = 0
    with (
        PartWriter(reader.work.parts, "sentences", task.order, sentences.SCHEMA) as sentence_file,
        PartWriter(reader.work.parts, "titles", task.order, titles.SCHEMA) as title_file,
        PartWriter(reader.work.parts, "ledger", task.order, sentences.LEDGER) as ledger_file,
    ):
        progress_file = ProgressFile(reader.work.scratch, f"{task.order}")
        parse = pages.parse if unchanged is None else unchanged.parse
        for page in sound_pages(task.part, reader.allow_truncated, parse, counts, problems, tail, progress_file):
            ids.append(page.page_id)
            if unchanged is not None and (found := unchanged.found) is not None:
                all_names.add_earlier(*found.title)
                links += found.links
                if found.sentences is not None:
                    all_rows.add_earlier(*found.sentences)
                if found.ledger is not None:
                    all_ledgers.add_earlier(*found.ledger)
                own = found.counts or {"pages:redirects": 1}
                reasons += len(found.counts)
            else:
                before = names.links
                own = pages.read_page(page, rows, names)
                links += names.links - before
                if page.redirect is None:
                    ledger.add(page, own)
                    reasons += len(own)
            add_counts(counts, own)
            if len(all_rows) >= ROW_GROUP:
                sentence_file.write(all_rows.take())
            if len(all_names) >= ROW_GROUP or links >= TITLE_LINKS:
                title_file.write(all_names.take())
                links = 0
            if len(all_ledgers) >= ROW_GROUP or reasons >= LEDGER_COUNTS:
                ledger_file.write(all_ledgers.take())
                reasons = 0
        sentence_file.write(all_rows.take())
        title_file.write(all_names.take())
        ledger_file.write(all_ledgers.take())
    forget_rare(counts, IN_RANGE)
    parts = [writer.part for writer in (sentence_file, title_file, ledger_file) if writer.part is not None]
    return Reading(task.order, parts, dict(counts), problems, *_bounds(ids), task.part.path, bytes(tail))


def _bounds(page_ids: array[int]) -> tuple[int, int, int]:
    """Return lowest and highest of some page ids, and one that is there twice; 0 for none."""
    if not page_ids:
        return 0, 0, 0
    ordered = np.sort(np.frombuffer(page_ids, np.int64))
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    return int(ordered[0]), int(ordered[-1]), int(again[0]) if len(again) else 0


# A page's own title and id, its first revision, and the tag of that one's text.
_HEAD = re.compile(rb"<title>([^<]*)</title>.*?<id>(\d+)</id>", re.DOTALL)
_REVISION = re.compile(rb"<revision>\s*<id>(\d+)</id>.*?<text([^>]*)>", re.DOTALL)
HEAD_BYTES = 8192


class _Unchanged:
    """Finds the pages of a range that an earlier dataset has already, before their text is looked at.

    `found` is what is known of the page that was parsed last, None for one that has to be read.
    """

    def __init__(self, pages: PageReader, groups: Mapping[str, Sequence[Group]]) -> None:
        self._pages, self._earlier = pages, Earlier(groups)
        self.found: EarlierPage | None = None

    def parse(self, raw: bytes, where: str, counts: Counter[str], problems: list[str]) -> Page | None:
        """Return a page as `PageReader.parse` does; one that has not changed without its text."""
        self.found = None
        head, revision = _HEAD.search(raw, 0, HEAD_BYTES), _REVISION.search(raw, 0, HEAD_BYTES)
        if head is not None and revision is not None and page_namespace(raw, where) == 0:
            title = unescape(head[1].decode("utf-8", "replace"))
            # Text has no < of its own. The text of a revision that was read before may be hidden now.
            end_of_text = raw.find(b"<", revision.end())
            if raw.find(b"<revision>", end_of_text) < 0 and b"deleted" not in revision[2]:
                self.found = self._earlier.page(int(head[2]), int(revision[1]), title)
            if self.found is not None:
                return Page(title, 0, int(head[2]), int(revision[1]), "", None, "wikitext", "")
        return self._pages.parse(raw, where, counts, problems)


def add_counts(counts: Counter[str], own: Mapping[str, int]) -> None:
    """Add what became of a page to what became of all."""
    counts.update(own)
    if len(counts) > WHILE_READING:
        forget_rare(counts, IN_RANGE)


def sound_pages(
    part: Range,
    allow_truncated: bool,
    parse: Callable[[bytes, str, Counter[str], list[str]], Page | None],
    counts: Counter[str],
    problems: list[str],
    tail: bytearray,
    progress_file: ProgressFile,
) -> Iterator[Page]:
    """Yield the pages of a range that `parse` returns; stop at what cannot be read and say so."""
    read = 0
    try:
        for raw, offset in cut_pages(_watched(read_range(part), tail), part.path):
            read += 1
            if len(problems) >= PROBLEMS:
                return
            where = f"{part.path} near byte {offset}"
            if (page := parse(raw, where, counts, problems)) is not None:
                yield page
            if read % 100 == 0 and progress_file.is_due():
                progress_file.write(min(offset, part.end) - part.start, so_far(counts, read))
        progress_file.write(part.end - part.start, so_far(counts, read))
    except Truncated as error:
        counts["files:truncated"] += 1
        if not allow_truncated:
            problems.append(f"{error}, or take what is there with --allow_truncated")
    except InputError as error:
        problems.append(str(error))


def so_far(counts: Mapping[str, int], read: int) -> dict[str, int]:
    """Return what is told of a range while it is read."""
    kept = ("links:kept", "links:prose")
    return {
        "pages": read,
        "sentences": counts.get("sentences:kept", 0),
        "links kept": counts.get("links:kept", 0),
        "dropped": sum(number for name, number in counts.items() if name.startswith("links:") and name not in kept),
    }


def _watched(chunks: Iterator[Chunk], tail: bytearray) -> Iterator[Chunk]:
    """Keep the last owned bytes that went by."""
    for chunk in chunks:
        if chunk.owned:
            tail += chunk.data[-TAIL:]
            del tail[:-TAIL]
        yield chunk


class PageReader:
    """Reads the pages of one wiki; holds what is costly to make."""

    def __init__(self, reader: DumpReader) -> None:
        site = reader.site
        self._site = site
        self._extractor = make_extractor(reader.parser, site)
        self._split = make_splitter(reader.splitter, site.language)
        self._kinds = PageKinds(site.language)
        words = "|".join(re.escape(word.lstrip("#")) for word in site.redirect_words)
        self._redirect = re.compile(rf"\s*[#＃](?i:{words}|redirect)\s*:?\s*\[\[([^\]|\n]*)")
        self._redirect_target = re.compile(r"\[\[([^\]|\n]*)")

    def parse(self, raw: bytes, where: str, counts: Counter[str], problems: list[str]) -> Page | None:
        """Return an article or redirect of the main namespace, or None, counted, for any other page."""
        try:
            namespace = page_namespace(raw, where)
            if namespace:
                counts["pages:other_namespace"] += 1
                return None
            page = parse_page(raw, where)
        except InputError as error:
            problems.append(str(error))
            return None
        if namespace is None:
            # Exports before 0.5 tell the namespace by the title alone, and redirects by the text.
            target = parse_target(page.title, self._site)
            if target is None or target.namespace or target.interwiki:
                counts["pages:other_namespace"] += 1
                return None
            if page.redirect is None and (match := self._redirect.match(page.text)):
                page = page._replace(redirect=match[1])
        if page.model not in ("wikitext", ""):
            counts["pages:other_model"] += 1
            return None
        return page

    def read(self, page: Page, rows: SentenceColumns, names: TitleColumns, counts: Counter[str]) -> None:
        """Add a page's title and sentences to the columns, and count every link in it."""
        add_counts(counts, self.read_page(page, rows, names))

    def read_page(self, page: Page, rows: SentenceColumns, names: TitleColumns) -> Counter[str]:
        """Add a page's title and sentences to the columns, and return what became of it and of every link in it."""
        counts: Counter[str] = Counter()
        if page.redirect is not None:
            counts["pages:redirects"] += 1
            names.add_redirect(page, *self._redirected(page))
            return counts
        counts["pages:articles"] += 1
        flags = self._kinds.flags(page.title, page.text)
        names.add_article(page, flags, self._extractor.linked_titles(page.text, page.title))
        extract = self._extractor.extract(page.text, page.title)
        dropped: Counter[str] = Counter()
        if "disambiguation" in flags:
            counts["pages:disambiguation"] += 1
            dropped["disambiguation_page"] = len(extract.links.starts)
        else:
            found = page_sentences(extract, self._split, self._site.language, dropped)
            rows.add(page, found, extract.links)
            counts["links:kept"] += sum(sentence.last - sentence.first for sentence in found)
            counts["sentences:kept"] += len(found)
        for reason, number in extract.counts.items():
            if reason != "link":
                counts[f"links:{reason}"] += number
        for reason, number in dropped.items():
            counts[reason if reason.startswith(("sentences:", TEMPLATE)) else f"links:{reason}"] += number
        counts["links:prose"] += len(extract.links.starts)
        return counts

    def _redirected(self, page: Page) -> tuple[str, str]:
        """Return title and fragment of a redirect's target: the title as the export gives it, the fragment from the
        text."""
        named = (page.redirect or "").partition("#")
        match = self._redirect_target.search(page.text)
        written = parse_target(match[1], self._site) if match else None
        title = parse_target(named[0], self._site) if named[0] else written
        if title is None or not title.title:
            return named[0], named[2]
        same = written is not None and written.title == title.title
        return title.title, named[2] or (written.fragment if same and written is not None else "")
