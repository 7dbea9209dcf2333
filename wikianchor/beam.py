"""Apache Beam transforms for other people's pipelines: dumps and datasets as rows with a schema.

    import apache_beam as beam
    from wikianchor.beam import ExtractSentences, ReadPages

    with beam.Pipeline() as pipeline:
        sentences = pipeline | ReadPages("dumps/ukwiki-*-pages-articles*.xml.bz2") | ExtractSentences("uk")

Each is a thin wrapper of the function of the same name that `import wikianchor` gives. Rows are NamedTuples with a Beam
schema, so they can be used in Beam YAML (`wikianchor/beam.yaml` names the transforms), in SqlTransform, and from Java.
"""

# No deferred annotations: Beam reads the types of the fields.
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Optional

import apache_beam as beam
import pyarrow as pa
from apache_beam import coders
from apache_beam.typehints import row_type

from wikianchor.api.datasets import open_dataset
from wikianchor.api.text import sentences
from wikianchor.io.errors import InputError, Truncated
from wikianchor.io.storage import expand
from wikianchor.pipelines.entities.steps import owned_lines
from wikianchor.pipelines.wikimedia.dumps import Range, read_range, split_dumps
from wikianchor.pipelines.wikimedia.pages import cut_pages, page_namespace, parse_page
from wikianchor.pipelines.wikimedia.wikidata import BadLine, Item, iter_lines, parse_item, wanted_filter


class PageRow(NamedTuple):
    """A page of a dump: see `wikianchor.read_pages`. `redirect` is the title that it leads to, None for an article."""

    title: str
    namespace: int | None
    page_id: int
    rev_id: int
    timestamp: str
    redirect: str | None
    model: str
    text: str


class LinkRow(NamedTuple):
    """A link of a sentence: offsets in code points, end exclusive."""

    start: int
    end: int
    target: str
    fragment: str


class SentenceRow(NamedTuple):
    """A sentence of a page: see `wikianchor.sentences`."""

    title: str
    page_id: int
    rev_id: int
    number: int
    region: str
    text: str
    links: Sequence[LinkRow]


class KeyedText(NamedTuple):
    """A text in a language: the label of an item, or its page on a wiki."""

    key: str
    text: str


class ItemRow(NamedTuple):
    """A Wikidata item: see `wikianchor.read_items`. `qid` is 42 for Q42; `key` is a wiki or a language."""

    qid: int
    types: Sequence[int]
    type_route: str
    superclasses: Sequence[int]
    occupations: Sequence[int]
    sitelinks: Sequence[KeyedText]
    labels: Sequence[KeyedText]


for _row in (PageRow, LinkRow, SentenceRow, KeyedText, ItemRow):
    coders.registry.register_coder(_row, coders.RowCoder)


class ReadPages(beam.PTransform):
    """Read the pages of dumps: begin of a pipeline -> PageRow.

    A dump is read by many workers, one stream of bzip2 included. Of dumps that are cut off, the complete pages are read
    unless `strict`.

    Args:
        path: of a dump, or a glob, or several with commas between them.
        namespaces: those wanted; 0 for articles. Empty for all.
        strict: fail where a dump ends inside a page.
    """

    def __init__(self, path: str, namespaces: Sequence[int] = (0,), strict: bool = True) -> None:
        super().__init__()
        self._path, self._namespaces, self._strict = path, frozenset(namespaces), strict

    def expand(self, pcoll: Any) -> Any:
        """Add the transform to a pipeline."""
        return (
            pcoll
            | "Path" >> beam.Create([self._path])
            | "List ranges" >> beam.FlatMap(_list_ranges)
            | "Spread" >> beam.Reshuffle()
            | "Read" >> beam.FlatMap(_read_range, self._namespaces, self._strict).with_output_types(PageRow)
        )


def _list_ranges(path: str) -> list[Range]:
    return split_dumps(expand(path, "path"))


def _read_range(part: Range, namespaces: frozenset[int], strict: bool) -> Iterator[PageRow]:
    try:
        for raw, offset in cut_pages(read_range(part), part.path):
            where = f"{part.path} near byte {offset}"
            if not namespaces or page_namespace(raw, where) in namespaces:
                yield PageRow(*parse_page(raw, where))
    except Truncated:
        if strict:
            raise


class ExtractSentences(beam.PTransform):
    """Extract the sentences of articles: PageRow -> SentenceRow. Redirects and pages without wikitext give none.

    Args:
        language: of the pages, such as "uk"; or the database name of their wiki.
        include_dropped: give the stretches of text too that are not fit to learn from.
    """

    def __init__(self, language: str, include_dropped: bool = False) -> None:
        super().__init__()
        self._language, self._include_dropped = language, include_dropped

    def expand(self, pcoll: Any) -> Any:
        """Add the transform to a pipeline."""
        return pcoll | beam.FlatMap(extract_sentences, self._language, self._include_dropped).with_output_types(
            SentenceRow
        )


def extract_sentences(page: Any, language: str, include_dropped: bool = False) -> Iterator[SentenceRow]:
    """Yield the sentences of a page, given as a row with the fields of `PageRow`."""
    if page.redirect is not None or page.model not in ("wikitext", ""):
        return
    kept = sentences(page.text, language=language, title=page.title, include_dropped=include_dropped)
    for number, sentence in enumerate(kept):
        links = [LinkRow(link.start, link.end, link.target, link.fragment) for link in sentence.links]
        yield SentenceRow(page.title, page.page_id, page.rev_id, number, sentence.region, sentence.text, links)


class ReadItems(beam.PTransform):
    """Read the items of a Wikidata dump that have a page in one of some wikis: begin of a pipeline -> ItemRow.

    Args:
        path: of a dump, or a glob.
        wikis: database names, such as ["enwiki"].
        languages: codes of the languages whose labels are kept.
    """

    def __init__(self, path: str, wikis: Sequence[str], languages: Sequence[str] = ("en", "mul")) -> None:
        super().__init__()
        self._path, self._wikis, self._languages = path, tuple(wikis), tuple(languages)

    def expand(self, pcoll: Any) -> Any:
        """Add the transform to a pipeline."""
        return (
            pcoll
            | "Path" >> beam.Create([self._path])
            | "List ranges" >> beam.FlatMap(_list_ranges)
            | "Spread" >> beam.Reshuffle()
            | "Read" >> beam.FlatMap(_read_items, self._wikis, self._languages).with_output_types(ItemRow)
        )


def _read_items(part: Range, wikis: Sequence[str], languages: Sequence[str]) -> Iterator[ItemRow]:
    is_wanted = wanted_filter(wikis)
    for line in iter_lines(owned_lines(read_range(part), at_start=part.start == 0), part.path):
        if not is_wanted(line):
            continue
        try:
            item = parse_item(line, wikis, languages)
        except BadLine as error:
            raise InputError(f"{part.path}: a line after byte {part.start}: {error}: fetch the file again") from error
        if isinstance(item, Item):
            yield ItemRow(
                item.qid,
                item.types,
                item.type_route,
                item.superclasses,
                item.occupations,
                [KeyedText(*pair) for pair in item.sitelinks],
                [KeyedText(*pair) for pair in item.labels],
            )


class ReadDataset(beam.PTransform):
    """Read a table of a finished dataset: begin of a pipeline -> rows with the schema of the table, or Arrow batches.

    Args:
        directory: of the dataset.
        config: the table, by default that of the dataset's name.
        columns: to read; all by default. "entity" and "hard_negatives" are labels, as in `OpenDataset.batches`.
        as_batches: give `pyarrow.RecordBatch`, a row group each, instead of rows.

    Raises:
        InputError: there is no finished dataset, or no such table.
    """

    def __init__(
        self, directory: str, config: str = "", columns: Sequence[str] | None = None, as_batches: bool = False
    ) -> None:
        super().__init__()
        self._directory, self._config, self._as_batches = directory, config, as_batches
        self._columns = None if columns is None else tuple(columns)
        dataset = open_dataset(directory)
        self._shards = range(len(dataset.shards(config)))
        self._fields = _fields(dataset.schema(config, columns))

    def expand(self, pcoll: Any) -> Any:
        """Add the transform to a pipeline."""
        batches = (
            pcoll
            | "Shards" >> beam.Create(self._shards)
            | "Spread" >> beam.Reshuffle()
            | "Read"
            >> beam.FlatMap(_read_shard, self._directory, self._config, self._columns).with_output_types(pa.RecordBatch)
        )
        if self._as_batches:
            return batches
        rows = row_type.RowTypeConstraint.from_fields(self._fields)
        return batches | "Rows" >> beam.FlatMap(_rows).with_output_types(rows)


def _read_shard(number: int, directory: str, config: str, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    dataset = open_dataset(directory)
    yield from dataset.batches(config, columns, dataset.shards(config)[number : number + 1])


def _rows(batch: pa.RecordBatch) -> Iterator[beam.Row]:
    for row in batch.to_pylist():
        yield beam.Row(**row)


def _fields(schema: pa.Schema) -> list[tuple[str, Any]]:
    """Return the fields of an Arrow schema as Beam types."""
    return [(field.name, _type(field.type, field.nullable)) for field in schema]


def _type(arrow: pa.DataType, nullable: bool) -> Any:
    kind: Any = Any
    if pa.types.is_list(arrow):
        kind = Sequence[_type(arrow.value_type, nullable=False)]  # type: ignore[misc]
    elif pa.types.is_struct(arrow):
        kind = row_type.RowTypeConstraint.from_fields(
            [(field.name, _type(field.type, field.nullable)) for field in arrow]
        )
    elif pa.types.is_string(arrow):
        kind = str
    elif pa.types.is_boolean(arrow):
        kind = bool
    elif pa.types.is_integer(arrow):
        kind = int
    elif pa.types.is_floating(arrow):
        kind = float
    return Optional[kind] if nullable else kind  # noqa: UP045 (a value, not an annotation)
