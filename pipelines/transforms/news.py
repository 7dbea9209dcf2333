"""Reading Wikinews: ranges of dumps in, small records out that name the parts written on the way.

A dump is read twice: once for its category pages, which tell what a category stands for, and once for its articles. In
between the wiki's own tables of categories are packed into a file that workers map into memory. Last, the candidates
of each language, a part for each range, are judged together: duplicates and small classes show in the whole only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from pipelines.dataset.memory import gives_back
from pipelines.dataset.parts import UNFINISHED, Part, PartWriter
from pipelines.dataset.pulse import Pulse
from pipelines.dataset.reader import read_batches
from pipelines.errors import InputError
from pipelines.transforms.dump import sound_pages
from pipelines.wikimedia.dumps import Range, read_range
from pipelines.wikimedia.pages import Page, cut_pages, page_namespace, parse_page
from pipelines.wikimedia.site import Site
from pipelines.wikimedia.titles import parse_target
from pipelines.wikinews import tables
from pipelines.wikinews.categories import CategoryReader
from pipelines.wikinews.facts import CATEGORY, licence
from pipelines.wikinews.lead import LeadReader
from pipelines.wikinews.membership import PUBLISHED, Categories, bits_of_names, label_of, topics_of_bits
from pipelines.wikinews.released import ReleasedReader
from pipelines.wikinews.signs import PublicationReader
from schemas.mewsc16 import SCHEMA, SUBCATEGORY, TEMPLATE, TOPICS

CANDIDATES = "candidates"
# Until a row group is written its rows are Python values, which take far more memory than columns.
ROW_GROUP = 2_000


@dataclass(frozen=True)
class NewsWiki:
    """One Wikinews: its site, its dumps, and its SQL tables by name, as far as they are given."""

    site: Site
    dumps: tuple[str, ...]
    tables: Mapping[str, str]

    @property
    def language(self) -> str:
        """The code that its host begins with."""
        return self.site.wiki.removesuffix("wikinews").replace("_", "-")


@dataclass(frozen=True)
class NewsReader:
    """How Wikinews becomes topic sentences.

    Attributes:
        output: directory of the dataset.
        topics: language -> category -> topic.
        membership: of `wikinews.names.MODES`.
        faults: of the released set, to be made again; None for clean sentences.
        min_pages: classes with fewer are dropped.
        allow_truncated: take a cut-off file for what is in it.
    """

    output: str
    topics: Mapping[str, Mapping[str, str]]
    membership: str
    faults: frozenset[str] | None
    min_pages: int
    allow_truncated: bool


class Task(NamedTuple):
    """A range of a wiki's dump and its place among all ranges."""

    order: int
    wiki: NewsWiki
    part: Range


class CategoryReading(NamedTuple):
    """What the category pages of a range say: (page id, category, what it stands for or "", categories it is in)."""

    language: str
    found: list[tuple[int, str, str, tuple[str, ...]]]


class TableReading(NamedTuple):
    """What a wiki's tables of categories gave: the file of the bits of its pages, "" without tables."""

    language: str
    path: str
    problems: list[str]


class NewsReading(NamedTuple):
    """What became of a range; `parts` hold candidates, `tail` is for the commit to see whether the file has its end."""

    order: int
    language: str
    parts: list[Part]
    counts: dict[str, int]
    problems: list[str]
    path: str
    tail: bytes
    newest: str


class Decision(NamedTuple):
    """What became of the candidates of a language."""

    language: str
    parts: list[Part]
    counts: dict[str, int]
    problems: list[str]


class ReadCategories(beam.DoFn):
    """Read the category pages of a range. What cannot be read here is found, and told, when the articles are read."""

    def __init__(self, reader: NewsReader) -> None:
        self._parents = reader.membership == "descend-1"

    def process(self, element: Task) -> Iterator[CategoryReading]:
        categories = CategoryReader(element.wiki.site)
        found: list[tuple[int, str, str, tuple[str, ...]]] = []
        try:
            for raw, offset in cut_pages(read_range(element.part), element.part.path):
                page = _category_page(raw, f"near byte {offset}", element.wiki.site)
                if page is None:
                    continue
                name = page.title.partition(":")[2]
                redirect = categories.redirect(page) or ""
                parents = tuple(categories.categories(page.text)) if self._parents and not redirect else ()
                if redirect or parents:
                    found.append((page.page_id, name, redirect, parents))
                elif self._parents:
                    found.append((page.page_id, name, "", ()))
        except InputError:
            pass
        yield CategoryReading(element.wiki.language, found)


def _category_page(raw: bytes, where: str, site: Site) -> Page | None:
    namespace = page_namespace(raw, where)
    if namespace not in (CATEGORY, None):
        return None
    page = parse_page(raw, where)
    target = parse_target(page.title, site)
    return page if target is not None and target.namespace == CATEGORY else None


def categories_of(language: str, readings: Iterable[CategoryReading]) -> Categories:
    """Join what the ranges of a wiki say of its categories."""
    redirects: dict[str, str] = {}
    parents: dict[str, tuple[str, ...]] = {}
    ids: dict[int, str] = {}
    for reading in readings:
        if reading.language == language:
            for page_id, name, redirect, above in reading.found:
                ids[page_id] = name
                if redirect:
                    redirects[name] = redirect
                if above:
                    parents[name] = above
    return Categories(dict(sorted(redirects.items())), dict(sorted(parents.items())), ids)


class ReadTables(beam.DoFn):
    """Pack the tables of categories of a wiki."""

    def __init__(self, reader: NewsReader) -> None:
        self._reader = reader

    def process(self, element: NewsWiki, categories: Sequence[CategoryReading]) -> Iterator[TableReading]:
        language, problems = element.language, list[str]()
        path = ""
        if "categorylinks" in element.tables:
            try:
                path = self._pack(element, categories_of(language, categories))
            except InputError as error:
                problems.append(str(error))
        yield TableReading(language, path, problems)

    def _pack(self, wiki: NewsWiki, categories: Categories) -> str:
        reader = self._reader
        link_targets = wiki.tables.get("linktarget")
        numbers = dict(tables.category_titles(link_targets)) if link_targets else {}
        rows = wiki.tables["categorylinks"]
        names = names_of(wiki, reader, categories, table_parents(wiki, reader, categories, numbers))
        found = tables.PageBits.of_rows(tables.bits_by_page(tables.category_rows(rows, link_targets), numbers, names))
        return found.save(f"{reader.output}/{UNFINISHED}", f"pages-{wiki.language}")


def table_parents(
    wiki: NewsWiki, reader: NewsReader, categories: Categories, numbers: Mapping[int, str]
) -> list[tuple[str, str]]:
    """Return (category, one that it is in) by the wiki's tables; none where sub-categories do not count."""
    if reader.membership != "descend-1":
        return []
    found = []
    for page, target in tables.category_rows(wiki.tables["categorylinks"], wiki.tables.get("linktarget")):
        if (child := categories.ids.get(page)) is not None:
            found.append((child, numbers.get(target, "") if isinstance(target, int) else target))
    return found


def names_of(
    wiki: NewsWiki, reader: NewsReader, categories: Categories, parents: Iterable[tuple[str, str]] = ()
) -> dict[str, int]:
    """Return the bits of each category of a wiki that tells something."""
    return bits_of_names(wiki.site.language, reader.topics[wiki.language], categories, reader.membership, parents)


class ReadNews(beam.DoFn):
    """Read the articles of a range and write the candidates among them; what is costly is set up once a wiki."""

    def __init__(self, reader: NewsReader) -> None:
        self._reader = reader

    def setup(self) -> None:
        self._pages: dict[str, PageReader] = {}

    def process(
        self, element: Task, categories: Sequence[CategoryReading], packed: Sequence[TableReading]
    ) -> Iterator[NewsReading]:
        language = element.wiki.language
        if language not in self._pages:
            table = next(found for found in packed if found.language == language)
            names = names_of(element.wiki, self._reader, categories_of(language, categories))
            self._pages[language] = PageReader(
                element.wiki, self._reader, names, tables.PageBits.load(table.path) if table.path else None
            )
        yield read_news(element, self._reader, self._pages[language])


@gives_back
def read_news(task: Task, reader: NewsReader, pages: PageReader) -> NewsReading:
    """Read a range of a dump and write the pages with a topic and a sentence, fit or not to be kept.

    Raises:
        InputError: the output cannot be written.
    """
    counts: Counter[str] = Counter()
    problems: list[str] = []
    tail, newest = bytearray(), ""
    language = task.wiki.language
    with PartWriter(reader.output, f"{CANDIDATES}-{language}", task.order, SCHEMA) as file:
        rows: list[tuple[object, ...]] = []
        pulse = Pulse(reader.output, f"{task.order}")
        for page in sound_pages(task.part, reader.allow_truncated, pages.parse, counts, problems, tail, pulse):
            newest = max(newest, page.timestamp)
            row, reason = pages.read(page, counts)
            if row is None:
                counts[f"pages:{reason}"] += 1
                continue
            rows.append(row)
            if len(rows) >= ROW_GROUP:
                file.write(_batch(rows))
                rows.clear()
        if rows:
            file.write(_batch(rows))
    parts = [file.part] if file.part is not None else []
    return NewsReading(task.order, language, parts, dict(counts), problems, task.part.path, bytes(tail), newest)


def _batch(rows: Sequence[tuple[object, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, SCHEMA.field(number).type) for number, values in enumerate(columns)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


class PageReader:
    """Reads the articles of one wiki; holds what is costly to make."""

    def __init__(
        self, wiki: NewsWiki, reader: NewsReader, names: Mapping[str, int], table: tables.PageBits | None
    ) -> None:
        site = wiki.site
        self._site, self._language = site, wiki.language
        self._host = f"https://{wiki.language}.wikinews.org"
        self._names, self._table = names, table
        self._direct = reader.membership == "direct"
        faults = reader.faults
        self._clean = faults is None
        self._all_namespaces = faults is not None and "all_namespaces" in faults
        self._categories = CategoryReader(site)
        self._signs = PublicationReader(site.language)
        self._lead = LeadReader(site) if faults is None else None
        self._released = None if faults is None else ReleasedReader(site, faults)
        self._redirect = re.compile(rf"\s*[#＃](?i:{'|'.join(word.lstrip('#') for word in site.redirect_words)})\b")

    def parse(self, raw: bytes, where: str, counts: Counter[str], problems: list[str]) -> Page | None:
        """Return an article, or None, counted, for any other page."""
        counts["pages:seen"] += 1
        try:
            namespace = page_namespace(raw, where)
            if namespace and not self._all_namespaces:
                counts["pages:other_namespace"] += 1
                return None
            page = parse_page(raw, where)
        except InputError as error:
            problems.append(str(error))
            return None
        if namespace is None and not self._all_namespaces:
            # Exports before 0.5 tell the namespace by the title alone.
            target = parse_target(page.title, self._site)
            if target is None or target.namespace or target.interwiki:
                counts["pages:other_namespace"] += 1
                return None
        if page.redirect is not None or (page.text[:1] in "#＃ \n" and self._redirect.match(page.text)):
            counts["pages:redirect"] += 1
            return None
        if page.model not in ("wikitext", ""):
            counts["pages:other_model"] += 1
            return None
        return page

    def read(self, page: Page, counts: Counter[str]) -> tuple[tuple[object, ...] | None, str]:
        """Return the row of a page and "", or None and the reason why it has none."""
        if self._released is not None:
            named = self._released.categories(page.text, self._categories)
        else:
            named = self._categories.categories(page.text)
        written = 0
        for name in named:
            written |= self._names.get(name, 0)
        listed = self._table[page.page_id] if self._table is not None else 0
        if self._table is not None:
            _count_routes(written, listed, counts)
        topics = topics_of_bits(written, 0 if self._direct else listed)
        if not topics:
            return None, "no_topic"
        label = label_of(topics)
        if label is None:
            return None, "several_topics"
        status = self._signs.status(page.text, bool((written | listed) & PUBLISHED))
        if self._clean and status == "unpublished":
            return None, "unpublished"
        if self._lead is not None:
            sentence, reason = self._lead.first_sentence(page.text, page.title)
        else:
            assert self._released is not None
            sentence, reason = self._released.first_sentence(page.text, page.title)
        if reason:
            return None, reason
        return (
            self._language,
            page.page_id,
            page.rev_id,
            page.timestamp,
            page.title,
            sentence,
            label,
            list(topics),
            list(topics.values()),
            status,
            licence(self._language, page.timestamp),
            f"{self._host}/w/index.php?oldid={page.rev_id}",
        ), ""


def _count_routes(written: int, listed: int, counts: Counter[str]) -> None:
    """Count the topics of a page by who knows of them: its text, the wiki's table, or both."""
    own = (1 << len(TOPICS)) - 1
    counts["memberships:both"] += (written & listed & own).bit_count()
    counts["memberships:text_only"] += (written & ~listed & own).bit_count()
    counts["memberships:table_only"] += (listed & ~written & own).bit_count()


class Decide(beam.DoFn):
    """Judge the candidates of a language together and write those that are kept."""

    def __init__(self, reader: NewsReader) -> None:
        self._reader = reader

    def process(self, element: tuple[int, str], readings: Sequence[NewsReading]) -> Iterator[Decision]:
        order, language = element
        mine = sorted((reading for reading in readings if reading.language == language), key=lambda found: found.order)
        yield decide(language, order, [part.path for reading in mine for part in reading.parts], self._reader)


# What makes two sentences the same: their letters and numbers.
_SAME = re.compile(r"[\W_]+")
KEPT = "kept"
# What becomes of a candidate; a number stands for each while a language is judged.
FATES = (KEPT, "unpublished", "several_labels", "duplicate", "small_class")
_KEPT, _UNPUBLISHED, _SEVERAL_LABELS, _DUPLICATE, _SMALL_CLASS = range(len(FATES))


class Candidates(NamedTuple):
    """What is judged of the candidates of a language, an array each: a page takes 18 bytes."""

    ids: NDArray[np.int64]
    keys: NDArray[np.uint64]
    labels: NDArray[np.int8]
    unknown: NDArray[np.bool_]

    @staticmethod
    def read(paths: Sequence[str]) -> Candidates:
        """Read them in the order of the parts."""
        ids, keys, labels = np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.int8)
        found = [Candidates(ids, keys, labels, np.zeros(0, np.bool_))]
        for path in paths:
            for batch in read_batches(path, ["page_id", "sentence", "label", "status"]):
                same = [
                    xxhash.xxh3_64_intdigest(_SAME.sub(" ", sentence.casefold()).strip().encode())
                    for sentence in batch.column("sentence").to_pylist()
                ]
                codes = [TOPICS.index(label) for label in batch.column("label").to_pylist()]
                unknown = [status == "unknown" for status in batch.column("status").to_pylist()]
                ids = batch.column("page_id").to_numpy().astype(np.int64)
                found.append(Candidates(ids, np.array(same, np.uint64), np.array(codes, np.int8), np.array(unknown)))
        return Candidates(*map(np.concatenate, zip(*found, strict=True)))


def decide(language: str, order: int, paths: Sequence[str], reader: NewsReader) -> Decision:
    """Decide which candidates are kept and write them.

    Of sentences that say the same, whatever their signs and capitals, the first is kept; all go where their labels
    differ, as those of a template's text do.
    """
    candidates = Candidates.read(paths)
    problems = []
    pages, times = np.unique(candidates.ids, return_counts=True)
    if len(pages) < len(candidates.ids):
        twice = pages[times.argmax()]
        problems.append(f"{language}: page {twice} was given twice: give each page once, a dump or its parts")
    fates = np.full(len(candidates.ids), _KEPT, np.int8)
    if reader.faults is None:
        if not candidates.unknown.all():
            # Some pages say that they are published: those that do not are not.
            fates[candidates.unknown] = _UNPUBLISHED
        _drop_duplicates(fates, candidates)
    sizes = np.bincount(candidates.labels[fates == _KEPT], minlength=len(TOPICS))
    fates[(fates == _KEPT) & (sizes[candidates.labels] < reader.min_pages)] = _SMALL_CLASS
    numbers = np.bincount(fates, minlength=len(FATES)).tolist()
    counts = Counter({f"pages:{fate}": number for fate, number in zip(FATES, numbers, strict=True) if number})
    begin = 0
    with PartWriter(reader.output, language, order, SCHEMA) as file:
        for path in paths:
            for batch in read_batches(path, SCHEMA.names):
                stays = fates[begin : begin + batch.num_rows] == _KEPT
                begin += batch.num_rows
                kept = pa.Table.from_batches([batch], SCHEMA).filter(pa.array(stays))
                file.write(kept.combine_chunks())
                for column, kind in (("label", "labels"), ("licence", "licences"), ("status", "status")):
                    counts.update(f"{kind}:{value}" for value in kept.column(column).to_pylist())
                for routes in kept.column("routes").to_pylist():
                    counts[f"routes:{min(routes, key=_strength)}"] += 1
    return Decision(language, [file.part] if file.part is not None else [], dict(counts), problems)


def _strength(route: str) -> int:
    return {TEMPLATE: 1, SUBCATEGORY: 2}.get(route, 0)


def _drop_duplicates(fates: NDArray[np.int8], candidates: Candidates) -> None:
    """Set the fates of kept candidates whose sentence another one has."""
    rows = np.flatnonzero(fates == _KEPT)
    rows = rows[np.argsort(candidates.keys[rows], kind="stable")]
    if not len(rows):
        return
    keys, labels = candidates.keys[rows], candidates.labels[rows]
    first = np.append(True, keys[1:] != keys[:-1])
    starts = np.flatnonzero(first)
    group = np.cumsum(first) - 1
    several = np.logical_or.reduceat(labels != labels[starts][group], starts)[group]
    fates[rows[several]] = _SEVERAL_LABELS
    fates[rows[~several & ~first]] = _DUPLICATE
