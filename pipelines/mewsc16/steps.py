"""The steps of `wikianchor mewsc16`.

A dump is read twice: once for its category pages, with their redirects and parents, and for its templates, and once for
its articles. In
between, the SQL tables of categories are packed into a file that workers memory-map. `ReadNews` is the map side and
`decide` the reduce side of a shuffle by language (`engine/shuffle.py`), because duplicates and small classes can be
found only among all candidates of a language. A candidate is a page with a topic and a sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wikianchor.io.errors import InputError
from wikianchor.pipelines.arrays.hashing import hash_string
from wikianchor.pipelines.arrays.tables import changes
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.engine.sorted_runs import KeyRange, Shard, Sorting
from wikianchor.pipelines.mewsc16 import category_tables as tables
from wikianchor.pipelines.mewsc16.categories import CategoryReader
from wikianchor.pipelines.mewsc16.editions import CATEGORY, licence
from wikianchor.pipelines.mewsc16.lead import LeadReader
from wikianchor.pipelines.mewsc16.membership import (
    PUBLISHED,
    TOPIC_BITS,
    UNPUBLISHED,
    Categories,
    bits_of_names,
    label_of,
    topics_of_bits,
)
from wikianchor.pipelines.mewsc16.publication import publication_status
from wikianchor.pipelines.mewsc16.released import ReleasedReader
from wikianchor.pipelines.mewsc16.template_pages import TemplateWriter, save_stores
from wikianchor.pipelines.sentences.page_reader import parse_article
from wikianchor.pipelines.sentences.steps import sound_pages
from wikianchor.pipelines.templates.store import TemplateStore
from wikianchor.pipelines.wikimedia.choices import OFF
from wikianchor.pipelines.wikimedia.dumps import Range, read_range, split_dumps
from wikianchor.pipelines.wikimedia.pages import Page, cut_pages, page_namespace, parse_page
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.titles import parse_target
from wikianchor.pipelines.wikimedia.wikitext.definitions import TEMPLATE as TEMPLATE_NAMESPACE
from wikianchor.pipelines.wikimedia.wikitext.served import facts_of
from wikianchor.schemas.mewsc16 import SCHEMA, SUBCATEGORY, TEMPLATE, TOPICS, WIKITEXT

# Candidates converted to Arrow at a time: Python values take far more memory.
ROW_GROUP = 2_000
# From the most to the least reliable.
ROUTES = (WIKITEXT, TEMPLATE, SUBCATEGORY)
# Sort key of a candidate: number of its range, and in the low 32 bits number of its row group in the range.
ROW_GROUP_KEY = "row_group"
BY_RANGE = Sorting(SCHEMA.append(pa.field(ROW_GROUP_KEY, pa.uint64(), nullable=False)), ROW_GROUP_KEY)
# Approximate number of candidates in memory while the rows of a language are decided on.
WINDOW_ROWS = 5 * ROW_GROUP


@dataclass(frozen=True)
class NewsWiki:
    """A Wikinews: its site, its dumps, and the SQL tables that are given, by name."""

    site: Site
    dumps: tuple[str, ...]
    tables: Mapping[str, str]

    @property
    def language(self) -> str:
        """The language code in the host name."""
        return self.site.wiki.removesuffix("wikinews").replace("_", "-")


@dataclass(frozen=True)
class NewsReader:
    """The options of the steps.

    Attributes:
        topics: language -> category -> topic.
        membership: which categories of a page count, see --membership.
        faults: the faults of the released set to reproduce; None for clean sentences.
        min_pages: topics with fewer pages in a language are dropped.
        allow_truncated: accept a truncated dump and process its complete pages.
        templates: whether templates show and set what the dump's own pages of them say.
    """

    topics: Mapping[str, Mapping[str, str]]
    membership: str
    faults: frozenset[str] | None
    min_pages: int
    allow_truncated: bool
    templates: bool


class NewsRange(NamedTuple):
    """A range of the dump of a wiki, and its number among all ranges."""

    order: int
    news: NewsWiki
    part: Range

    @property
    def wiki(self) -> str:
        """The language, by which candidates are grouped."""
        return self.news.language


class CategoryReading(NamedTuple):
    """The category and template pages of a range.

    Attributes:
        language: the wiki's language.
        pages: the category pages: (page id, category, target of its redirect or "", categories that it is in).
        templates: path of the file of its templates, "" without any.
    """

    language: str
    pages: list[tuple[int, str, str, tuple[str, ...]]]
    templates: WorkPath = ""


class TableReading(NamedTuple):
    """The tables of a wiki.

    Attributes:
        language: the wiki's language.
        path: the packed topics of its pages, "" without SQL tables.
        problems: errors in the SQL tables.
        templates: path of what its templates show, "" without their definitions.
        bodies: path of the whole bodies of its templates, "" without them.
    """

    language: str
    path: WorkPath
    problems: list[str]
    templates: WorkPath = ""
    bodies: WorkPath = ""


class NewsReading(NamedTuple):
    """The result of reading the articles of a range.

    Attributes:
        order: number of the range.
        language: the wiki's language.
        counts: number of pages by reason.
        problems: errors in the input, one line each.
        path: the dump.
        tail: the last bytes of the range. The commit checks that the last range of a file ends with </mediawiki>.
        newest: the latest timestamp of a revision.
    """

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
    """The rows of a language: the file, and numbers of candidates by outcome and of rows by label, licence, route."""

    language: str
    parts: list[Part]
    counts: dict[str, int]
    problems: list[str]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters: those of the ledger."""
        return self.counts


def list_ranges(wikis: Sequence[NewsWiki]) -> list[NewsRange]:
    """Cut the dumps of wikis into ranges. The cut depends only on the files."""
    by_path = {path: wiki for wiki in wikis for path in wiki.dumps}
    return [NewsRange(order, by_path[part.path], part) for order, part in enumerate(split_dumps(list(by_path)))]


def read_categories(task: NewsRange, reader: NewsReader, work: Workspace) -> CategoryReading:
    """Read the category and template pages of a range. Damage is reported when the articles are read."""
    with_parents = reader.membership == "descend-1"
    categories = CategoryReader(task.news.site)
    pages: list[tuple[int, str, str, tuple[str, ...]]] = []
    templates = TemplateWriter(task.news.site, work, task.order)
    try:
        for raw, offset in cut_pages(read_range(task.part), task.part.path):
            where = f"near byte {offset}"
            namespace = page_namespace(raw, where)
            if namespace == TEMPLATE_NAMESPACE and reader.templates:
                templates.add(raw, where)
            page = _category_page(raw, where, namespace, task.news.site)
            if page is None:
                continue
            name = page.title.partition(":")[2]
            redirect = categories.redirect(page) or ""
            parents = tuple(categories.categories(page.text)) if with_parents and not redirect else ()
            if redirect or with_parents:
                pages.append((page.page_id, name, redirect, parents))
    except InputError:
        pass
    return CategoryReading(task.wiki, pages, templates.close())


def _category_page(raw: bytes, where: str, namespace: int | None, site: Site) -> Page | None:
    """Return a page of the category namespace, None for any other."""
    if namespace not in (CATEGORY, None):
        return None
    page = parse_page(raw, where)
    target = parse_target(page.title, site)
    return page if target is not None and target.namespace == CATEGORY else None


def categories_of(language: str, readings: Iterable[CategoryReading]) -> Categories:
    """Return the category pages of a wiki, from all its ranges."""
    pages = [page for reading in readings if reading.language == language for page in reading.pages]
    redirects = {name: redirect for _, name, redirect, _ in pages if redirect}
    parents = {name: page_parents for _, name, _, page_parents in pages if page_parents}
    ids = {page_id: name for page_id, name, _, _ in pages}
    return Categories(dict(sorted(redirects.items())), dict(sorted(parents.items())), ids)


def read_tables(
    wiki: NewsWiki, categories: Sequence[CategoryReading], reader: NewsReader, work: Workspace
) -> TableReading:
    """Pack the topics of the pages of a wiki, from its SQL tables, and the definitions of its templates."""
    path, problems = "", list[str]()
    if "categorylinks" in wiki.tables:
        try:
            path = _pack(wiki, reader, work, categories_of(wiki.language, categories))
        except InputError as error:
            problems.append(str(error))
    stores = save_stores(
        (reading.templates for reading in categories if reading.language == wiki.language),
        work,
        wiki.language,
        facts_of(wiki.dumps, OFF),
    )
    return TableReading(wiki.language, path, problems, *stores)


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
    """Return (category, category that it is in) from the SQL tables; empty if sub-categories do not count."""
    if reader.membership != "descend-1":
        return []
    rows = tables.category_rows(wiki.tables["categorylinks"], wiki.tables.get("linktarget"))
    return [
        (categories.ids[page], numbers.get(target, "") if isinstance(target, int) else target)
        for page, target in rows
        if page in categories.ids
    ]


def names_of(
    wiki: NewsWiki, reader: NewsReader, categories: Categories, parents: Iterable[tuple[str, str]] = ()
) -> dict[str, int]:
    """Return the bits of the categories of a wiki that have any, see `membership`."""
    return bits_of_names(wiki.site.language, reader.topics[wiki.language], categories, reader.membership, parents)


class ReadNews:
    """The step that reads the articles of a range, and yields the candidates as tables of at most ROW_GROUP rows.

    The rules of a wiki are loaded once for each worker.
    """

    def __init__(self, reader: NewsReader, work: Workspace) -> None:
        self._reader, self._work = reader, work
        self._pages: dict[str, ArticleReader] = {}

    def __call__(
        self, task: NewsRange, categories: Sequence[CategoryReading], packed: Sequence[TableReading]
    ) -> Generator[pa.Table, None, NewsReading]:
        if task.wiki not in self._pages:
            names = names_of(task.news, self._reader, categories_of(task.wiki, categories))
            table = next(table for table in packed if table.language == task.wiki)
            self._pages[task.wiki] = ArticleReader(task.news, self._reader, names, table)
        pages = self._pages[task.wiki]
        counts: Counter[str] = Counter()
        problems: list[str] = []
        tail, newest = bytearray(), ""
        rows: list[tuple[object, ...]] = []
        key = task.order << 32
        for page in sound_pages(
            read_range(task.part),
            task.part,
            self._reader.allow_truncated,
            pages.parse,
            counts=counts,
            problems=problems,
            tail=tail,
            progress_file=ProgressFile(self._work.scratch, f"{task.order}"),
        ):
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
        return NewsReading(
            task.order, task.wiki, dict(counts), problems, path=task.part.path, tail=bytes(tail), newest=newest
        )


def _table(rows: Sequence[tuple[object, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, BY_RANGE.schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=BY_RANGE.schema)


class ArticleReader:
    """Read the articles of one wiki.

    Args:
        wiki: the wiki.
        reader: the options.
        names: bits of its categories.
        read: its tables.
    """

    def __init__(self, wiki: NewsWiki, reader: NewsReader, names: Mapping[str, int], read: TableReading) -> None:
        site = wiki.site
        self._site, self._language = site, wiki.language
        self._host = f"https://{wiki.language}.wikinews.org"
        self._names = names
        # Bits of its pages from the SQL tables.
        self._table = tables.PageBits.load(read.path) if read.path else None
        find_template = TemplateStore(read.templates).find if read.templates else None
        find_body = TemplateStore(read.bodies).find if read.bodies else None
        self._direct = reader.membership == "direct"
        faults = reader.faults
        self._clean = faults is None
        self._all_namespaces = faults is not None and "all_namespaces" in faults
        self._categories = CategoryReader(site, find_body)
        self._released = None if faults is None else ReleasedReader(site, faults, find_template)
        self._sentences = self._released or LeadReader(site, find_template, find_body)
        self._redirect = re.compile(rf"\s*[#＃](?i:{'|'.join(word.lstrip('#') for word in site.redirect_words)})\b")

    def parse(self, raw: bytes, where: str, counts: Counter[str], problems: list[str]) -> Page | None:
        """Return an article; count any other page and return None.

        Args:
            raw: the <page> element.
            where: file and offset, for messages.
            counts: the range's counts, added to.
            problems: errors in the input, added to.
        """
        counts["pages:seen"] += 1
        page = parse_article(raw, where, self._site, counts, problems, any_namespace=self._all_namespaces)
        if page is None:
            return None
        if page.redirect is not None or (page.text[:1] in "#＃ \n" and self._redirect.match(page.text)):
            counts["pages:redirect"] += 1
            return None
        if page.model not in ("wikitext", ""):
            counts["pages:other_model"] += 1
            return None
        return page

    def _bits(self, names: Iterable[str]) -> int:
        return reduce(or_, (self._names.get(name, 0) for name in names), 0)

    def read(self, page: Page, counts: Counter[str]) -> tuple[tuple[object, ...] | None, str]:
        """Return the row of a page and "", or None and the reason why it has none."""
        names = (
            self._categories.categories(page.text)
            if self._released is None
            else self._released.categories(page.text, self._categories)
        )
        in_text, in_table = self._bits(names), 0
        if self._table is not None:
            in_table = self._table[page.page_id]
            _count_routes(in_text, in_table, counts)
        in_table |= self._bits(self._categories.template_categories(page.text, page.title))
        topics = topics_of_bits(in_text, 0 if self._direct else in_table)
        if not topics:
            return None, "no_topic"
        label = label_of(topics)
        if label is None:
            return None, "several_topics"
        signs = in_text | in_table
        status = publication_status(page.text, self._site.language, bool(signs & PUBLISHED), bool(signs & UNPUBLISHED))
        if self._clean and status == "unpublished":
            return None, "unpublished"
        sentence, reason = self._sentences.first_sentence(page.text, page.title)
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


def _count_routes(in_text: int, in_table: int, counts: Counter[str]) -> None:
    """Count the topics of a page that are in its wikitext, in the SQL tables, or in both."""
    counts["memberships:both"] += (in_text & in_table & TOPIC_BITS).bit_count()
    counts["memberships:text_only"] += (in_text & ~in_table & TOPIC_BITS).bit_count()
    counts["memberships:table_only"] += (in_table & ~in_text & TOPIC_BITS).bit_count()


# Sentences are duplicates if they agree in everything but these characters and case.
_IGNORED = re.compile(r"[\W_]+")
OUTCOMES = ("kept", "unpublished", "several_labels", "duplicate", "small_class")
# Share of the candidates that have the sign of publication in a wiki that marks published pages. With a smaller share
# the sign is of some years only.
MARKED_SHARE = 0.5
_KEPT, _UNPUBLISHED, _SEVERAL_LABELS, _DUPLICATE, _SMALL_CLASS = range(len(OUTCOMES))


class CandidateColumns(NamedTuple):
    """The candidates of a language, 18 bytes for each.

    Attributes:
        ids: page ids.
        keys: hashes of the letters and digits of the sentences.
        labels: indices into `TOPICS`.
        unknown: whether the page has no sign of being published or unpublished.
    """

    ids: NDArray[np.int64]
    keys: NDArray[np.uint64]
    labels: NDArray[np.int8]
    unknown: NDArray[np.bool_]

    @staticmethod
    def read(shard: Shard) -> CandidateColumns:
        """Read the candidates of a language in the order of the dump."""
        kinds = (np.int64, np.uint64, np.int8, np.bool_)
        parts: list[tuple[NDArray[Any], ...]] = [tuple(np.zeros(0, kind) for kind in kinds)]
        for rows in shard.windows(WINDOW_ROWS):
            sentences = rows["sentence"].to_pylist()
            keys = [hash_string(_IGNORED.sub(" ", sentence.casefold()).strip()) for sentence in sentences]
            labels = [TOPICS.index(label) for label in rows["label"].to_pylist()]
            unknown = [status == "unknown" for status in rows["status"].to_pylist()]
            columns = (rows["page_id"].to_numpy(), keys, labels, unknown)
            parts.append(tuple(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)))
        return CandidateColumns(*map(np.concatenate, zip(*parts, strict=True)))


def decide(wanted: KeyRange, shard: Shard, reader: NewsReader, work: Workspace) -> Decision:
    """Decide which candidates of a language are kept, and write them.

    Of duplicates, the first in the order of the dump is kept; if their labels differ, all are dropped, because such a
    sentence is the text of a template.
    """
    language = wanted.group
    candidates = CandidateColumns.read(shard)
    problems = []
    pages, times = np.unique(candidates.ids, return_counts=True)
    if len(pages) < len(candidates.ids):
        twice = pages[times.argmax()]
        problems.append(f"{language}: page {twice} was given twice: give each page once, a dump or its parts")
    outcomes = _outcomes(candidates, reader)
    numbers = np.bincount(outcomes, minlength=len(OUTCOMES)).tolist()
    counts = Counter({f"pages:{name}": number for name, number in zip(OUTCOMES, numbers, strict=True) if number})
    begin = 0
    with PartWriter(work.parts, language, wanted.number, SCHEMA) as file:
        for rows in _row_groups(shard):
            kept = rows.filter(pa.array(outcomes[begin : begin + rows.num_rows] == _KEPT))
            begin += rows.num_rows
            file.write(kept)
            _count_rows(kept, counts)
    return Decision(language, [file.part] if file.part is not None else [], dict(counts), problems)


def _outcomes(candidates: CandidateColumns, reader: NewsReader) -> NDArray[np.int8]:
    """Return the index into OUTCOMES of each candidate."""
    outcomes = np.full(len(candidates.ids), _KEPT, np.int8)
    if reader.faults is None:
        if np.count_nonzero(candidates.unknown) <= len(candidates.unknown) * (1 - MARKED_SHARE):
            # In a wiki that marks published pages, a page without a mark is unpublished.
            outcomes[candidates.unknown] = _UNPUBLISHED
        _drop_duplicates(outcomes, candidates)
    sizes = np.bincount(candidates.labels[outcomes == _KEPT], minlength=len(TOPICS))
    outcomes[(outcomes == _KEPT) & (sizes[candidates.labels] < reader.min_pages)] = _SMALL_CLASS
    return outcomes


def _row_groups(shard: Shard) -> Iterator[pa.Table]:
    """Yield the candidates of a language by row group. The row groups depend only on the dump."""
    for rows in shard.windows(WINDOW_ROWS):
        keys = rows[ROW_GROUP_KEY].to_numpy()
        starts = np.flatnonzero(changes(keys)).tolist()
        rows = rows.select(SCHEMA.names).cast(SCHEMA)
        for first, last in pairwise([*starts, rows.num_rows]):
            yield rows.slice(first, last - first)


def _count_rows(rows: pa.Table, counts: Counter[str]) -> None:
    """Count rows by label, licence, status and most reliable route."""
    for column, kind in (("label", "labels"), ("licence", "licences"), ("status", "status")):
        counts.update(f"{kind}:{value}" for value in rows[column].to_pylist())
    for routes in rows["routes"].to_pylist():
        counts[f"routes:{min(routes, key=ROUTES.index)}"] += 1


def _drop_duplicates(outcomes: NDArray[np.int8], candidates: CandidateColumns) -> None:
    """Set the outcomes of kept candidates with equal sentences."""
    rows = np.flatnonzero(outcomes == _KEPT)
    labels = candidates.labels[rows]
    _, first, group = np.unique(candidates.keys[rows], return_index=True, return_inverse=True)
    several = np.zeros(len(first), np.bool_)
    several[group[labels != labels[first][group]]] = True
    is_first = np.zeros(len(rows), np.bool_)
    is_first[first] = True
    outcomes[rows[~is_first]] = _DUPLICATE
    outcomes[rows[several[group]]] = _SEVERAL_LABELS
