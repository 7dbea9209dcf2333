"""Apache Beam transforms for other people's pipelines: dumps and datasets as rows with a schema.

    import apache_beam as beam
    from wikianchor.beam import ReadSentences

    with beam.Pipeline() as pipeline:
        sentences = pipeline | ReadSentences("dumps/ukwiki-*-pages-articles*.xml.bz2")

Their rows are those that `wikianchor.open_wiki` and `wikianchor sentences` give for the same dump. Rows are NamedTuples
with a Beam schema, so they can be used in Beam YAML (`wikianchor/beam.yaml` names the transforms), in SqlTransform, and
from Java.
"""

# No deferred annotations: Beam reads the types of the fields.
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Optional

import apache_beam as beam
import pyarrow as pa
from apache_beam import coders
from apache_beam.typehints import row_type

from wikianchor.api.datasets import open_dataset
from wikianchor.api.text import site_of
from wikianchor.io.cache import cache_directory, is_cached
from wikianchor.io.errors import Truncated, UsageError
from wikianchor.io.storage import expand
from wikianchor.pipelines.dataset.manifest import discard
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.entities.steps import owned_lines
from wikianchor.pipelines.sentences.wiki import Wiki, open_wiki, wiki_of_site
from wikianchor.pipelines.templates.cache import cached_table, find_table, table_key
from wikianchor.pipelines.templates.steps import TemplateReading, list_ranges, read_templates
from wikianchor.pipelines.templates.tables import shard_rows, shards_of_readings
from wikianchor.pipelines.wikimedia.choices import BUILTIN, FROM_DUMP, OFF, ON
from wikianchor.pipelines.wikimedia.dumps import Range, read_range, split_dumps
from wikianchor.pipelines.wikimedia.pages import Page, cut_pages, page_namespace, parse_page
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wiki_lists import wikis_given
from wikianchor.pipelines.wikimedia.wikidata import iter_lines, wanted_items
from wikianchor.pipelines.wikimedia.wikitext.served import DumpFacts, facts_of


class LinkRow(NamedTuple):
    """A link of a sentence: offsets in code points, end exclusive."""

    start: int
    end: int
    target: str
    fragment: str


class SentenceRow(NamedTuple):
    """A row of `sentences` or `fragments`: `wikianchor.schemas.sentences` says what the fields are."""

    wiki: str
    page_id: int
    rev_id: int
    title: str
    region: str
    sentence_index: int
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


# A page of a dump: see `wikianchor.read_pages`.
PageRow = Page
for _row in (PageRow, LinkRow, SentenceRow, KeyedText, ItemRow):
    coders.registry.register_coder(_row, coders.RowCoder)


class ReadPages(beam.PTransform):
    """Read the pages of dumps: begin of a pipeline -> PageRow.

    A dump is read by many workers, one stream of bzip2 included. Of dumps that are cut off, the complete pages are read
    unless `strict`.

    Args:
        path: the path of a dump, or a glob, or several with commas between them.
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
                yield parse_page(raw, where)
    except Truncated:
        if strict:
            raise


class ReadSentences(beam.PTransform):
    """Read the rows of `wikianchor sentences` from the dumps of a wiki: begin of a pipeline -> SentenceRow.

    Template pages are read first, by all workers, into a table in `cache`, unless it is there. Workers on several
    machines need a `cache` that all of them reach, such as gs://bucket/cache.

    Args:
        dumps: path of a dump, or a glob, or several with commas between them.
        config: "sentences", or "fragments" for the text that is no sentence.
        wiki, templates, lua, splitter, parser, engine, allow_truncated, exclude_pages, cache: as for
            `wikianchor.open_wiki`.

    Raises:
        InputError: a file is missing, or no dump, or the dumps are of several wikis.
        UsageError: an option has no such value.
    """

    def __init__(
        self,
        dumps: str,
        config: str = "sentences",
        wiki: Optional[str] = None,  # noqa: UP045 (Beam YAML reads the types)
        templates: str = FROM_DUMP,
        lua: str = OFF,
        splitter: str = "rules",
        parser: str = "wikianchor",
        engine: Optional[str] = None,  # noqa: UP045
        allow_truncated: bool = False,
        exclude_pages: Optional[str] = None,  # noqa: UP045
        cache: Optional[str] = None,  # noqa: UP045
    ) -> None:
        super().__init__()
        if config not in ("sentences", "fragments"):
            raise UsageError(f"config={config!r}: choose of sentences, fragments")
        self._config = config
        self._source = _Source(
            dumps,
            templates,
            cache,
            wiki=wiki,
            lua=lua,
            splitter=splitter,
            parser=parser,
            engine=engine,
            allow_truncated=allow_truncated,
            exclude_pages=exclude_pages,
        )

    def expand(self, pcoll: Any) -> Any:
        """Add the transform to a pipeline."""
        source = self._source
        read = _ReadRows(source.wiki, source.cache, partial(_rows_of_range, config=self._config))
        return (
            pcoll
            | "Dumps" >> beam.Create([source.wiki.dumps])
            | "List ranges" >> beam.FlatMap(split_dumps)
            | "Spread" >> beam.Reshuffle()
            | "Read" >> beam.ParDo(read, source.table(pcoll)).with_output_types(SentenceRow)
        )


class ExtractSentences(beam.PTransform):
    """Extract the sentences of articles: PageRow -> SentenceRow. Redirects and pages without wikitext give none.

    With `dumps`, the rows are those of `ReadSentences`. With `language`, they are those of `wikianchor sentences
    --templates=builtin`, because the wiki's own templates are not known.

    Args:
        language: the language of the pages, such as "uk"; or the database name of their wiki.
        dumps: the dumps of the wiki of the pages, instead of its language.
        templates, lua, cache: what goes with `dumps`, as for `ReadSentences`.

    Raises:
        InputError: the dumps cannot be read.
        UsageError: both or none of `language` and `dumps` are given, or there is no such language.
    """

    def __init__(
        self,
        language: str = "",
        dumps: str = "",
        templates: str = FROM_DUMP,
        lua: str = OFF,
        cache: Optional[str] = None,  # noqa: UP045
    ) -> None:
        super().__init__()
        if bool(language) == bool(dumps):
            raise UsageError("ExtractSentences: give the language of the pages, or the dumps of their wiki")
        self._source = _Source(dumps, templates, cache, lua=lua) if dumps else None
        self._wiki = self._source.wiki if self._source else wiki_of_site(site_of(language))

    def expand(self, pcoll: Any) -> Any:
        """Add the transform to a pipeline."""
        source = self._source
        cache, table = (source.cache, source.table(pcoll.pipeline)) if source else ("", "")
        return pcoll | beam.ParDo(_ReadRows(self._wiki, cache, _rows_of_page), table).with_output_types(SentenceRow)


class _Source:
    """The dumps of a wiki, and the table of its templates in a cache.

    Attributes:
        wiki: the wiki, without its templates.
        cache: directory of caches.
    """

    def __init__(
        self,
        dumps: str,
        templates: str,
        cache: Optional[str],  # noqa: UP045
        **options: Any,
    ) -> None:
        from_dump = templates == FROM_DUMP
        opened = open_wiki(dumps, templates=BUILTIN if from_dump else templates, cache=cache, **options)
        self.wiki, self.cache = opened.with_templates(None), cache or cache_directory()
        self._facts = facts_of(opened.dumps, options.get("lua", OFF))
        # A table in the cache has the name of its directory.
        in_cache = os.path.basename(os.path.dirname(opened.templates or ""))
        self._key = table_key(opened.dumps, opened.site, self._facts) if from_dump else in_cache
        unfinished = f"{self.cache}/unfinished-{self._key}"
        self._work = Workspace(unfinished, unfinished, "")

    def table(self, begin: Any) -> beam.pvalue.AsSingleton:
        """Return the name of the table in the cache, "" for none; read the Template pages if it is not there."""
        if not self._key or is_cached(self.cache, self._key):
            return beam.pvalue.AsSingleton(begin | "Table" >> beam.Create([self._key]))
        readings = (
            begin
            | "Dumps of templates" >> beam.Create([self.wiki.dumps])
            | "List template ranges" >> beam.FlatMap(list_ranges)
            | "Spread templates" >> beam.Reshuffle()
            | "Read templates"
            >> beam.Map(read_templates, self._work, self.wiki.site, lua=ON if self._facts.lua else OFF)
        )
        saved = (
            begin
            | "Table" >> beam.Create([self._key])
            | "Save table"
            >> beam.Map(_save_table, beam.pvalue.AsList(readings), self._work, self.wiki.site, self.cache, self._facts)
        )
        return beam.pvalue.AsSingleton(saved)


def _save_table(
    key: str, readings: Sequence[TemplateReading], work: Workspace, site: Site, cache: str, facts: DumpFacts
) -> str:
    cached_table(key, lambda: shard_rows(shards_of_readings(readings)), site, cache, facts)
    discard(work)
    return key


class _ReadRows(beam.DoFn):
    """Reads rows of a wiki by the table of its templates, which a worker opens once.

    Args:
        wiki: the wiki, without its templates.
        cache: directory of caches.
        rows_of: returns the rows of an element.
    """

    def __init__(self, wiki: Wiki, cache: str, rows_of: Callable[[Wiki, Any], Iterable[Mapping[str, Any]]]) -> None:
        self._wiki, self._cache, self._rows_of = wiki, cache, rows_of
        self._opened: Optional[Wiki] = None  # noqa: UP045

    def process(self, element: Any, key: str) -> Iterator[SentenceRow]:
        if self._opened is None:
            self._opened = self._wiki.with_templates(find_table(key, self._cache) if key else None)
        for row in self._rows_of(self._opened, element):
            yield SentenceRow(**{**row, "links": [LinkRow(**link) for link in row["links"]]})


def _rows_of_range(wiki: Wiki, part: Range, config: str) -> Iterator[Mapping[str, Any]]:
    return wiki.rows(config, part)


def _rows_of_page(wiki: Wiki, page: Any) -> Iterable[Mapping[str, Any]]:
    return wiki.read(Page(*page)).sentences


class ReadItems(beam.PTransform):
    """Read the items of a Wikidata dump that have a page in one of some wikis: begin of a pipeline -> ItemRow.

    Args:
        path: the path of a dump, or a glob.
        wikis: languages or database names, as the option --wikis: "en,jawiki", or a list of them.
        languages: codes of the languages whose labels are kept.
    """

    def __init__(self, path: str, wikis: str | Sequence[str], languages: Sequence[str] = ("en", "mul")) -> None:
        super().__init__()
        self._path, self._wikis, self._languages = path, wikis_given(wikis), tuple(languages)

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
    lines = iter_lines(owned_lines(read_range(part), at_start=part.start == 0), part.path)
    where = f"{part.path}: a line after byte {part.start}"
    for item in wanted_items(lines, wikis, languages, where=lambda _: where):
        yield ItemRow(
            qid=item.qid,
            types=item.types,
            type_route=item.type_route,
            superclasses=item.superclasses,
            occupations=item.occupations,
            sitelinks=[KeyedText(*pair) for pair in item.sitelinks],
            labels=[KeyedText(*pair) for pair in item.labels],
        )


class ReadDataset(beam.PTransform):
    """Read a table of a finished dataset: begin of a pipeline -> rows with the schema of the table, or Arrow batches.

    Args:
        directory: the directory of the dataset.
        config: the table, by default that of the dataset's name.
        columns: the columns to read; all by default. "entity" and "hard_negatives" are labels, as in
            `OpenDataset.batches`.
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


def _rows(batch: pa.RecordBatch) -> list[beam.Row]:
    return [beam.Row(**row) for row in batch.to_pylist()]


_TYPES = (
    (pa.types.is_string, str),
    (pa.types.is_boolean, bool),
    (pa.types.is_integer, int),
    (pa.types.is_floating, float),
)


def _fields(schema: Iterable[pa.Field]) -> list[tuple[str, Any]]:
    """Return the fields of an Arrow schema, or of a struct, as Beam types."""
    return [(field.name, _type(field.type, field.nullable)) for field in schema]


def _type(arrow: pa.DataType, nullable: bool) -> Any:
    kind: Any = next((kind for is_kind, kind in _TYPES if is_kind(arrow)), Any)
    if pa.types.is_list(arrow):
        kind = Sequence[_type(arrow.value_type, nullable=False)]  # type: ignore[misc]
    elif pa.types.is_struct(arrow):
        kind = row_type.RowTypeConstraint.from_fields(_fields(arrow))
    return Optional[kind] if nullable else kind  # noqa: UP045 (a value, not an annotation)
