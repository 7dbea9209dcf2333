"""The steps of `wikianchor mewsc16`: ranges of Wikinews dumps in, the rows of each language out.

A dump is read twice: once for its category pages, which tell what a category stands for, and once for its articles. In
between the wiki's own tables of categories are packed into a file that workers map into memory. `ReadNews` and `decide`
are the two sides of a shuffle (`engine/shuffle.py`): all candidates of a language are judged together, because
duplicates and small classes show in the whole language only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from wikianchor.io.errors import InputError
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.engine.sorted_runs import KeyRange, Shard, Sorting
from wikianchor.pipelines.mewsc16 import category_tables as tables
from wikianchor.pipelines.mewsc16.categories import CategoryReader
from wikianchor.pipelines.mewsc16.editions import CATEGORY, licence
from wikianchor.pipelines.mewsc16.lead import LeadReader
from wikianchor.pipelines.mewsc16.membership import PUBLISHED, Categories, bits_of_names, label_of, topics_of_bits
from wikianchor.pipelines.mewsc16.publication import PublicationReader
from wikianchor.pipelines.mewsc16.released import ReleasedReader
from wikianchor.pipelines.sentences.steps import sound_pages
from wikianchor.pipelines.wikimedia.dumps import Range, read_range, split_dumps
from wikianchor.pipelines.wikimedia.pages import Page, cut_pages, page_namespace, parse_page
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.titles import parse_target
from wikianchor.schemas.mewsc16 import SCHEMA, SUBCATEGORY, TEMPLATE, TOPICS

# Candidates of a range that become columns together: as Python values they take far more memory.
ROW_GROUP = 2_000
# Of a candidate: the number of its range, and in the low 32 bits that of its row group in the range.
ROW_GROUP_KEY = "row_group"
BY_RANGE = Sorting(SCHEMA.append(pa.field(ROW_GROUP_KEY, pa.uint64(), False)), ROW_GROUP_KEY)
# Candidates that memory holds, about, while a language is judged and written.
WINDOW_ROWS = 5 * ROW_GROUP


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
        topics: language -> category -> topic.
        membership: of `wikinews.names.MODES`.
        faults: of the released set, to be made again; None for clean sentences.
        min_pages: classes with fewer are dropped.
        allow_truncated: take a cut-off file for what is in it.
    """

    topics: Mapping[str, Mapping[str, str]]
    membership: str
    faults: frozenset[str] | None
    min_pages: int
    allow_truncated: bool


class Task(NamedTuple):
    """A range of a wiki's dump and its place among all ranges."""

    order: int
    news: NewsWiki
    part: Range

    @property
    def wiki(self) -> str:
        """The language, by which candidates are grouped."""
        return self.news.language


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
    """What became of the pages of a range; `tail` is for the commit to see whether the file has its end."""

    order: int
    language: str
    counts: dict[str, int]
    problems: list[str]
    path: str
    tail: bytes
    newest: str

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters: those of the ledger."""
        return self.counts


class Decision(NamedTuple):
    """What became of the candidates of a language."""

    language: str
    parts: list[Part]
    counts: dict[str, int]
    problems: list[str]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters: those of the ledger."""
        return {**self.counts, "bytes:written": sum(part.size for part in self.parts)}


def list_tasks(wikis: Sequence[NewsWiki]) -> list[Task]:
    """Cut the dumps of wikis into ranges; the cut depends on the files alone."""
    by_path = {path: wiki for wiki in wikis for path in wiki.dumps}
    return [Task(order, by_path[part.path], part) for order, part in enumerate(split_dumps(list(by_path)))]


def read_categories(task: Task, reader: NewsReader) -> CategoryReading:
    """Read the category pages of a range. What cannot be read here is reported when the articles are read."""
    with_parents = reader.membership == "descend-1"
    categories = CategoryReader(task.news.site)
    found: list[tuple[int, str, str, tuple[str, ...]]] = []
    try:
        for raw, offset in cut_pages(read_range(task.part), task.part.path):
            page = _category_page(raw, f"near byte {offset}", task.news.site)
            if page is None:
                continue
            name = page.title.partition(":")[2]
            redirect = categories.redirect(page) or ""
            parents = tuple(categories.categories(page.text)) if with_parents and not redirect else ()
            if redirect or with_parents:
                found.append((page.page_id, name, redirect, parents))
    except InputError:
        pass
    return CategoryReading(task.wiki, found)


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


def read_tables(
    wiki: NewsWiki, reader: NewsReader, work: Workspace, categories: Sequence[CategoryReading]
) -> TableReading:
    """Pack the tables of categories of a wiki."""
    path, problems = "", list[str]()
    if "categorylinks" in wiki.tables:
        try:
            path = _pack(wiki, reader, work, categories_of(wiki.language, categories))
        except InputError as error:
            problems.append(str(error))
    return TableReading(wiki.language, path, problems)


def _pack(wiki: NewsWiki, reader: NewsReader, work: Workspace, categories: Categories) -> str:
    link_targets = wiki.tables.get("linktarget")
    numbers = dict(tables.category_titles(link_targets)) if link_targets else {}
    rows = wiki.tables["categorylinks"]
    names = names_of(wiki, reader, categories, table_parents(wiki, reader, categories, numbers))
    bits = tables.PageBits.of_rows(tables.bits_by_page(tables.category_rows(rows, link_targets), numbers, names))
    return bits.save(work.scratch, f"pages-{wiki.language}")


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


class ReadNews:
    """The step that reads the articles of a range; what is costly to set up is set up once for a wiki."""

    def __init__(self, reader: NewsReader, work: Workspace) -> None:
        self._reader, self._work = reader, work
        self._pages: dict[str, PageReader] = {}

    def __call__(
        self, task: Task, categories: Sequence[CategoryReading], packed: Sequence[TableReading]
    ) -> Generator[pa.Table, None, NewsReading]:
        if task.wiki not in self._pages:
            self._pages[task.wiki] = make_page_reader(task.news, self._reader, categories, packed)
        return (yield from read_news(task, self._reader, self._work, self._pages[task.wiki]))


def make_page_reader(
    wiki: NewsWiki, reader: NewsReader, categories: Sequence[CategoryReading], packed: Sequence[TableReading]
) -> PageReader:
    """Return what reads the articles of a wiki.

    Args:
        wiki: whose articles they are.
        reader: the options.
        categories: what the category pages say; those of other wikis are left out.
        packed: the tables, one of this wiki among them.
    """
    names = names_of(wiki, reader, categories_of(wiki.language, categories))
    path = next(table.path for table in packed if table.language == wiki.language)
    return PageReader(wiki, reader, names, tables.PageBits.load(path) if path else None)


def read_news(
    task: Task, reader: NewsReader, work: Workspace, pages: PageReader
) -> Generator[pa.Table, None, NewsReading]:
    """Read a range of a dump, and yield the candidates: pages with a topic and a sentence, whether kept or not."""
    counts: Counter[str] = Counter()
    problems: list[str] = []
    tail, newest = bytearray(), ""
    rows: list[tuple[object, ...]] = []
    key = task.order << 32
    progress_file = ProgressFile(work.scratch, f"{task.order}")
    for page in sound_pages(task.part, reader.allow_truncated, pages.parse, counts, problems, tail, progress_file):
        newest = max(newest, page.timestamp)
        row, reason = pages.read(page, counts)
        if row is None:
            counts[f"pages:{reason}"] += 1
            continue
        rows.append((*row, key))
        if len(rows) >= ROW_GROUP:
            yield _table(rows)
            rows.clear()
            key += 1
    if rows:
        yield _table(rows)
    return NewsReading(task.order, task.wiki, dict(counts), problems, task.part.path, bytes(tail), newest)


def _table(rows: Sequence[tuple[object, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, BY_RANGE.schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=BY_RANGE.schema)


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
    def read(shard: Shard) -> Candidates:
        """Read them in the order of the dump."""
        ids, keys, labels = np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.int8)
        columns = [Candidates(ids, keys, labels, np.zeros(0, np.bool_))]
        for rows in shard.windows(WINDOW_ROWS):
            sentences = rows["sentence"].to_pylist()
            same = [
                xxhash.xxh3_64_intdigest(_SAME.sub(" ", sentence.casefold()).strip().encode()) for sentence in sentences
            ]
            codes = [TOPICS.index(label) for label in rows["label"].to_pylist()]
            unknown = [status == "unknown" for status in rows["status"].to_pylist()]
            ids = rows["page_id"].to_numpy().astype(np.int64)
            columns.append(Candidates(ids, np.array(same, np.uint64), np.array(codes, np.int8), np.array(unknown)))
        return Candidates(*map(np.concatenate, zip(*columns, strict=True)))


def decide(wanted: KeyRange, shard: Shard, reader: NewsReader, work: Workspace) -> Decision:
    """Decide which candidates of a language are kept and write them.

    Of sentences that say the same, whatever their signs and capitals, the first is kept; all go where their labels
    differ, as those of a template's text do.
    """
    language = wanted.group
    candidates = Candidates.read(shard)
    problems = []
    pages, times = np.unique(candidates.ids, return_counts=True)
    if len(pages) < len(candidates.ids):
        twice = pages[times.argmax()]
        problems.append(f"{language}: page {twice} was given twice: give each page once, a dump or its parts")
    fates = _fates(candidates, reader)
    numbers = np.bincount(fates, minlength=len(FATES)).tolist()
    counts = Counter({f"pages:{fate}": number for fate, number in zip(FATES, numbers, strict=True) if number})
    begin = 0
    with PartWriter(work.parts, language, wanted.number, SCHEMA) as file:
        for rows in _row_groups(shard):
            stays = fates[begin : begin + rows.num_rows] == _KEPT
            begin += rows.num_rows
            kept = rows.filter(pa.array(stays))
            file.write(kept)
            _count_rows(kept, counts)
    return Decision(language, [file.part] if file.part is not None else [], dict(counts), problems)


def _fates(candidates: Candidates, reader: NewsReader) -> NDArray[np.int8]:
    """Return the place in FATES of what becomes of each candidate."""
    fates = np.full(len(candidates.ids), _KEPT, np.int8)
    if reader.faults is None:
        if not candidates.unknown.all():
            # Some pages say that they are published: those that do not are not.
            fates[candidates.unknown] = _UNPUBLISHED
        _drop_duplicates(fates, candidates)
    sizes = np.bincount(candidates.labels[fates == _KEPT], minlength=len(TOPICS))
    fates[(fates == _KEPT) & (sizes[candidates.labels] < reader.min_pages)] = _SMALL_CLASS
    return fates


def _row_groups(shard: Shard) -> Iterator[pa.Table]:
    """Yield the candidates of a language by row group; their bounds depend on the dump alone."""
    for rows in shard.windows(WINDOW_ROWS):
        keys = rows[ROW_GROUP_KEY].to_numpy()
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])).tolist()
        rows = rows.select(SCHEMA.names).cast(SCHEMA)
        for first, last in pairwise([*starts, rows.num_rows]):
            yield rows.slice(first, last - first)


def _count_rows(rows: pa.Table, counts: Counter[str]) -> None:
    """Count the rows of a dataset by label, licence, status and surest route."""
    for column, kind in (("label", "labels"), ("licence", "licences"), ("status", "status")):
        counts.update(f"{kind}:{value}" for value in rows[column].to_pylist())
    for routes in rows["routes"].to_pylist():
        counts[f"routes:{min(routes, key=_strength)}"] += 1


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
