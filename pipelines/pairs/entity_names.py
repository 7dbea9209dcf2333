"""Collect the names of the entities of pairs: titles and redirects, labels, and names of `mentions`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import mix_hashes
from wikianchor.pipelines.arrays.spill import Rows, Spill, rows_of
from wikianchor.pipelines.arrays.tables import changes, find, open_tables, save_pieces, save_tables
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.pairs.named_entities import EntityNames, NameSearch, name_keys
from wikianchor.pipelines.pairs.page_bitmaps import page_bitmaps
from wikianchor.pipelines.pairs.page_fragments import PageFragments
from wikianchor.pipelines.pairs.words import WordFinder
from wikianchor.pipelines.text.writing import holds_no_spaces
from wikianchor.pipelines.titles.row_groups import row_groups
from wikianchor.pipelines.titles.steps import IndexBuilt
from wikianchor.pipelines.titles.title_index import FINE, Ints, TitleIndex

if TYPE_CHECKING:
    from wikianchor.pipelines.pairs.table_steps import TableBuilt

NAME = np.dtype([("entity", np.int64), ("first", np.uint64), ("last", np.uint64)])
# Names whose words are looked for at a time, about.
TOGETHER = 1 << 14
# Redirects that are looked up at a time: each time reads the whole index of titles.
LOOKED_UP_TOGETHER = 1 << 18
# Dense ids have 31 bits.
_ENTITY_BITS = 31
# Labels in these languages are names in every wiki.
EVERYWHERE = ("en", "mul")


def is_name_in(language: str, wiki_language: str) -> bool:
    """Return whether labels in a language are names in a wiki, given by its language."""
    return language in EVERYWHERE or language.partition("-")[0] == wiki_language.partition("-")[0]


class LabelNames:
    """The labels of entities as names, collected by language on disk.

    Args:
        languages: the languages of the labels that are collected.
        directory: the directory of the file.
    """

    def __init__(self, languages: Sequence[str], directory: str) -> None:
        self._languages, self._directory = languages, directory
        self._spill = Spill(NAME, max(1, len(languages)), directory)

    def add(self, labels: pa.ListArray, entities: Ints) -> None:
        """Add the labels of entities, given as dense ids."""
        flat = labels.flatten()
        of_label = entities[pc.list_parent_indices(labels).to_numpy()]
        for part, language in enumerate(self._languages):
            wanted = pc.equal(flat.field("language"), language)
            rows = _rows(
                flat.field("text").filter(wanted),
                of_label[wanted.to_numpy(zero_copy_only=False)],
                WordFinder(holds_no_spaces(language)),
            )
            self._spill.add(rows, np.full(len(rows), part))

    def save(self) -> WorkPath:
        """Write an array of names for each language; return their path."""
        with self._spill:
            names = ({language: self._spill.read(part)} for part, language in enumerate(self._languages))
            lengths = {language: self._spill.count(part) for part, language in enumerate(self._languages)}
            return save_pieces(self._directory, "labels", lengths, names)


class NameSources(NamedTuple):
    """Where the names of entities in a wiki are from, beside their labels.

    Attributes:
        wiki: database name.
        language: its language.
        titles: directory of the dataset with its `titles`, for redirects, and its `fragments`.
        entities: directory of the dataset with `sitelinks`.
        mentions: shards of the config `candidates` of `mentions`.
    """

    wiki: str
    language: str
    titles: str
    entities: str
    mentions: tuple[str, ...]


class NamesBuilt(NamedTuple):
    """The names of entities in a wiki, on disk: the arrays of `EntityNames`, and the row groups of its fragments."""

    wiki: str
    path: WorkPath
    unspaced: bool
    directory: str

    def open(self) -> NameSearch:
        """Return what searches pages for the names."""
        tables = open_tables(self.path)
        fragments = PageFragments(shards_of(self.directory, "fragments"), tables["groups"])
        return NameSearch(EntityNames(tables["starts"], tables["keys"]), page_bitmaps(self.unspaced), fragments)


def build_names(
    sources: NameSources, indexes: Mapping[str, IndexBuilt], table: TableBuilt, work: Workspace
) -> NamesBuilt:
    """Write the names of the entities in a wiki.

    Args:
        sources: where they are from, beside labels.
        indexes: the title index of each wiki.
        table: the entity table, and the names that are labels.
        work: the workspace of the run.
    """
    unspaced = holds_no_spaces(sources.language)
    finder = WordFinder(unspaced)
    # Mapped once for all wikis of a worker.
    of_languages, entities = open_tables(table.labels), open_tables(table.path)
    rows = [of_languages[language] for language in of_languages if is_name_in(language, sources.language)]
    qids, ids = entities["sorted_qids"], entities["sorted_ids"]
    for part in _together(_names(sources, TitleIndex(indexes[sources.wiki].path)), TOGETHER):
        index = find(qids, part["item"].to_numpy())
        known = index >= 0
        # Without a qualifier: "Mercury" for "Mercury (planet)".
        texts = pc.replace_substring_regex(part["name"].filter(pa.array(known)), r"(.) ?\([^()]*\)$", r"\1")
        rows.append(_rows(texts, ids[index[known]].astype(np.int64), finder))
    names = np.concatenate([np.zeros(0, NAME), *rows])
    # Equal names of an entity are next to each other, and in any order otherwise.
    contents = mix_hashes(names["first"], names["last"]) >> np.uint64(_ENTITY_BITS)
    names = names[np.argsort(names["entity"].astype(np.uint64) << np.uint64(64 - _ENTITY_BITS) | contents)]
    names = names[changes(names["entity"], names["first"], names["last"])]
    starts = np.searchsorted(names["entity"], np.arange(len(qids) + 1))
    groups = row_groups(shards_of(sources.titles, "fragments"))
    tables = {"starts": starts, "keys": np.stack([names["first"], names["last"]], axis=1), "groups": groups}
    path = save_tables(work.scratch, f"names-{sources.wiki}", tables)
    return NamesBuilt(sources.wiki, path, unspaced, sources.titles)


def _names(sources: NameSources, index: TitleIndex) -> Iterator[pa.Table]:
    """Yield names and their items: titles, redirects and mentions."""
    named = [(shard, "title") for shard in shards_of(sources.entities, "sitelinks")]
    for shard, column in (*named, *((shard, "surface") for shard in sources.mentions)):
        for batch in read_batches(shard, ["qid", column], only=("wiki", sources.wiki)):
            batch = batch.filter(batch.column(column).is_valid())
            yield pa.table({"name": batch.column(column), "item": batch.column("qid")})
    titles = (
        pa.table([batch.column("title").filter(batch.column("redirect").is_valid())], ["name"])
        for shard in shards_of(sources.titles, "titles")
        for batch in read_batches(shard, ["title", "redirect"])
    )
    for redirects in _together(titles, LOOKED_UP_TOGETHER):
        items, codes = index.look_up(redirects["name"].chunks)
        yield redirects.append_column("item", [np.where(codes == FINE, items, 0)])


def _together(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Put tables together to some with a number of rows or more; the last may have fewer."""
    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += len(table)
        if count >= rows:
            yield pa.concat_tables(waiting)
            waiting, count = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def _rows(names: pa.StringArray | pa.ChunkedArray, entities: Ints, finder: WordFinder) -> Rows:
    """Return names as of NAME."""
    texts = names.to_pylist()
    # Outside ASCII, a page may write the first letter of a name in the other case.
    foreign = [index for index, text in enumerate(texts) if not text[:1].isascii()]
    texts += [texts[index][0].swapcase() + texts[index][1:] for index in foreign]
    entities = np.concatenate([entities, entities[np.array(foreign, np.int64)]])
    keys, usable = name_keys(texts, finder)
    return rows_of(NAME, entity=entities[usable], first=keys[usable, 0], last=keys[usable, 1])
