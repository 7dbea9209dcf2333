"""Derive sampled rows of a dataset again from the dumps, as the pipeline does, and compare them.

Rows are sampled by a keyed hash, so the same command checks the same rows. A dump is read once, and only the pages and
items of these rows are parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from wikianchor.pipelines.arrays.sample_rows import sample
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.entities.steps import entity_batch, item_lines, page_props_of
from wikianchor.pipelines.sentences.compiled_reader import engine_of
from wikianchor.pipelines.sentences.wiki import PageRows, Wiki, element_title, open_wiki
from wikianchor.pipelines.wikimedia.choices import PARSERS, SPLITTERS
from wikianchor.pipelines.wikimedia.pages import page_id
from wikianchor.pipelines.wikimedia.wikidata import BadLine, Item, Skip, parse_item, wanted_filter

# In the place of the number of a sentence.
_DOCUMENT = -1
# Redirects in a row that are followed; the bots of wikis remove longer chains.
HOPS = 3


@dataclass
class Sources:
    """Dumps by what they are.

    Attributes:
        pages: dumps of pages, by wiki.
        wikidata: dumps of Wikidata.
        page_props: page_props tables, by wiki.
        options: options of the dataset of sentences, by wiki.
    """

    pages: Mapping[str, Sequence[str]]
    wikidata: Sequence[str]
    page_props: Mapping[str, str]
    options: Mapping[str, Mapping[str, Any]]


class Again:
    """Sampled rows of a dataset, derived again.

    Args:
        dataset: one of `DERIVED`.
        sources: the dumps.
        rows: the largest number of rows of each config.
        seed: the key of the sample.

    Attributes:
        checked: number of rows that were derived again.
        engines: what read their pages.
        problems: their differences.
        skipped: what was not looked at, and why.

    Raises:
        InputError: a dump cannot be read.
    """

    def __init__(self, dataset: Dataset, sources: Sources, rows: int, seed: int) -> None:
        self._dataset, self._sources = dataset, sources
        self._sample = partial(sample, dataset, rows=rows, seed=seed)
        self.checked = 0
        self.engines: tuple[str, ...] = ()
        self.problems: list[str] = []
        self.skipped: list[str] = []
        DERIVED[dataset.name](self)

    def _compare(
        self, where: str, row: Mapping[str, Any], derived: Mapping[str, Any] | None, lacking: str = "is not in the dump"
    ) -> None:
        """Compare a row with what was derived again; None where nothing was."""
        if derived is None:
            self.problems.append(f"{where}: {lacking}")
            return
        self.checked += 1
        self.problems += [
            f"{where}: {name} is {row[name]!r:.300}, derived again it is {derived[name]!r:.300}"
            for name in row
            if row[name] != derived[name]
        ]

    def _open(self, paths: Sequence[str], options: Mapping[str, Any]) -> list[Wiki]:
        """Return a wiki that is read with the options of its dataset of sentences, by each engine that is installed."""
        names = ("wiki", "templates", "lua", "splitter", "parser", "fragments", "documents")
        given = {name: options[name] for name in names if name in options}
        core = engine_of(None, given.get("parser", PARSERS[0]), given.get("splitter", SPLITTERS[0]))
        self.engines = tuple(dict.fromkeys(("python", core)))
        wikis = (open_wiki(paths, **given, engine=engine, allow_truncated=True) for engine in self.engines)
        return [wiki.as_in(options) for wiki in wikis]

    def _read(
        self, wikis: Sequence[Wiki], page_ids: Collection[int], titles: Collection[str] = ()
    ) -> Iterator[tuple[Any, PageRows]]:
        """Yield the row of `titles`, and all rows, of each page asked for, by id or title. A page of which the engines
        make other rows is a problem."""
        for raw, where in wikis[0].elements():
            number = page_id(raw)
            if number in page_ids or (titles and element_title(raw) in titles):
                rows, *others = (wiki.read_element(raw, where) for wiki in wikis)
                if any(other != rows for other in others):
                    problem = f"{' and '.join(self.engines)} read it otherwise"
                    self.problems.append(f"{wikis[0].site.wiki} page {number}: {problem}")
                if rows.title is not None:
                    yield rows.title, rows

    def _dump_of(self, wiki: str) -> Sequence[str]:
        paths = self._sources.pages.get(wiki, ())
        if not paths:
            self.skipped.append(f"{wiki} has no dump there")
        return paths

    def _items(self, options: Mapping[str, Any], is_wanted: Callable[[Item], bool]) -> Iterator[Item]:
        """Yield items of the Wikidata dumps, read with the options of a dataset."""
        wikis, labels, texts = options["wikis"], options["labels"], options.get("texts", ("labels",))
        wanted = wanted_filter(wikis)
        for path in self._sources.wikidata:
            for line in filter(wanted, item_lines(path)):
                with suppress(BadLine):
                    item = parse_item(line, wikis, labels, texts)
                    if not isinstance(item, Skip) and is_wanted(item):
                        yield item

    def sentences(self) -> None:
        """Derive rows of `sentences`, `fragments`, `titles` and `documents` again."""
        wiki = self._dataset.wiki
        if not (paths := self._dump_of(wiki)):
            return
        wanted: dict[tuple[int, int | None], Mapping[str, Any]] = {
            (row["page_id"], row["sentence_index"]): row
            for config in ("sentences", "fragments")
            for row in self._sample(config=config)
        }
        wanted |= {(row["page_id"], None): row for row in self._sample(config="titles")}
        wanted |= {(row["page_id"], _DOCUMENT): row for row in self._sample(config="documents")}
        for title, rows in self._read(self._open(paths, self._dataset.options), {page for page, _ in wanted}):
            page = title["page_id"]
            derived = {sentence["sentence_index"]: sentence for sentence in (*rows.sentences, *rows.fragments)}
            derived |= {} if rows.document is None else {_DOCUMENT: rows.document}
            for key in [key for key in wanted if key[0] == page]:
                row, number = wanted.pop(key), key[1]
                lacking = f"has no sentence {number}: {row.get('text')!r:.300}"
                again = title if number is None else derived.get(number)
                self._compare(f"{wiki} page {page} ({row['title']})", row, again, lacking)
        for (page, _), row in wanted.items():
            self._compare(f"{wiki} page {page}", row, None)

    def documents(self) -> None:
        """Derive rows of `documents` again: what the pages say, and the items of pages and links."""
        by_wiki: dict[str, list[dict[str, Any]]] = {}
        for row in self._sample(config="documents"):
            by_wiki.setdefault(row["wiki"], []).append(row)
        for wiki, rows in by_wiki.items():
            if not (paths := self._dump_of(wiki)):
                continue
            wanted = {row["page_id"]: row for row in rows}
            for title, rows_of_page in self._read(self._open(paths, self._options_of(wiki)), wanted.keys()):
                row = wanted.pop(title["page_id"])
                links = [{**link, "qid": None} for link in row["links"]]
                where = f"{wiki} page {row['page_id']} ({row['title']})"
                self._compare(where, {**row, "qid": None, "links": links}, rows_of_page.document)
            for page, row in wanted.items():
                self._compare(f"{wiki} page {page} ({row['title']})", row, None)
        if self._sources.wikidata:
            self._items_of_documents([row for rows in by_wiki.values() for row in rows])
        else:
            self.skipped.append("items: Wikidata has no dump there")

    def _options_of(self, wiki: str) -> Mapping[str, Any]:
        """Return the options with which the documents of a wiki were read."""
        return {**self._sources.options.get(wiki, {"wiki": wiki}), "documents": True}

    def _items_of_documents(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Compare the items of titles, of pages and in links, with those that dumps tell."""
        recorded: dict[tuple[str, str, int | None], str] = {}
        for row in rows:
            where = f"{row['wiki']} page {row['page_id']} ({row['title']})"
            recorded.setdefault((row["wiki"], row["title"], row["qid"]), where)
            for link in row["links"]:
                recorded.setdefault((link["wiki"], link["target"], link["qid"]), where)
        # Of these wikis the redirects were known too.
        with_titles = {source["wiki"] for source in self._dataset.manifest["inputs"] if source["wiki"]}
        for wiki in sorted({wiki for wiki, _, _ in recorded} & with_titles - {row["wiki"] for row in rows}):
            self._dump_of(wiki)
        derivable = with_titles & self._sources.pages.keys()
        pages: dict[tuple[str, str], Mapping[str, Any]] = {}
        for wiki in sorted(derivable):
            wikis = self._open(self._sources.pages[wiki], self._options_of(wiki))
            known = self._chains(wikis, {title for of_wiki, title, _ in recorded if of_wiki == wiki})
            pages |= {(wiki, title): page for title, page in known.items()}
        by_title = self._items_by_title({(wiki, title) for wiki, title, _ in recorded}, pages)
        for (wiki, title, qid), where in recorded.items():
            derived = _items_of(wiki, title, pages, by_title)
            # `entities` may not have been asked for the sitelinks of a wiki without titles.
            is_derivable = wiki in derivable or (wiki not in with_titles and qid is not None)
            if is_derivable and qid not in derived:
                shown = " or ".join(sorted("none" if item is None else f"Q{item}" for item in derived))
                self.problems.append(f"{where}: the item of {wiki} {title!r} is {qid}, derived again it is {shown}")

    def _items_by_title(
        self, titles: Collection[tuple[str, str]], pages: Mapping[tuple[str, str], Mapping[str, Any]]
    ) -> dict[tuple[str, str], set[int]]:
        """Return the items that Wikidata and page_props give to titles of wikis.

        Args:
            titles: the titles.
            pages: rows of `titles`, whose items are returned too.
        """
        wanted = pages.keys() | titles
        items: dict[tuple[str, str], set[int]] = {}
        options = {"wikis": tuple(sorted({wiki for wiki, _ in wanted})), "labels": ()}
        for item in self._items(options, lambda item: not wanted.isdisjoint(item.sitelinks)):
            for sitelink in wanted.intersection(item.sitelinks):
                items.setdefault(sitelink, set()).add(item.qid)
        ids = {(wiki, page["page_id"]): title for (wiki, title), page in pages.items()}
        for wiki in {wiki for wiki, _ in pages} & self._sources.page_props.keys():
            for page_number, qid in page_props_of(self._sources.page_props[wiki]):
                if (title := ids.get((wiki, page_number))) is not None:
                    items.setdefault((wiki, title), set()).add(qid)
        return items

    def _chains(self, wikis: Sequence[Wiki], titles: Collection[str]) -> dict[str, Mapping[str, Any]]:
        """Return the rows of `titles` of some titles, and of those that redirects lead to."""
        known: dict[str, Mapping[str, Any]] = {}
        sought: set[str] = set()
        while missing := {_end(title, known) for title in titles} - sought:
            known |= {title["title"]: title for title, _ in self._read(wikis, (), missing)}
            sought |= missing
        return known

    def entities(self) -> None:
        """Derive rows of `entities` and `sitelinks` again."""
        options = self._dataset.options
        if not self._sources.wikidata and self._dataset.rows("entities"):
            self.skipped.append("Wikidata has no dump there")
            return
        items = {row["qid"]: row for row in self._sample(config="entities")}
        links = self._sample(config="sitelinks")
        titles = {(row["qid"], row["wiki"]): row["title"] for row in links if row["source"] == "wikidata"}
        qids = items.keys() | {qid for qid, _ in titles}
        for item in self._items(options, lambda item: item.qid in qids):
            if (row := items.pop(item.qid, None)) is not None:
                derived = entity_batch([item], options.get("texts", ("labels",))).to_pylist()[0]
                self._compare(f"Q{item.qid}", row, derived)
            for wiki, title in item.sitelinks:
                if (recorded := titles.pop((item.qid, wiki), None)) is not None:
                    self._compare(f"Q{item.qid} in {wiki}", {"title": recorded}, {"title": title})
        for qid, row in items.items():
            self._compare(f"Q{qid}", row, None)
        for (qid, wiki), title in titles.items():
            self._compare(f"Q{qid} in {wiki}", {"title": title}, None)
        self._page_props([row for row in links if row["source"] == "page_props"])

    def _page_props(self, links: Sequence[Mapping[str, Any]]) -> None:
        for wiki in sorted({row["wiki"] for row in links}):
            if wiki not in self._sources.page_props:
                self.skipped.append(f"{wiki} has no page_props there")
                continue
            wanted = {row["page_id"]: row["qid"] for row in links if row["wiki"] == wiki}
            derived = {page: qid for page, qid in page_props_of(self._sources.page_props[wiki]) if page in wanted}
            for page, qid in wanted.items():
                again = {"qid": derived[page]} if page in derived else None
                self._compare(f"{wiki} page {page}", {"qid": qid}, again)

    def pairs(self) -> None:
        """Find the sentences of pairs again, with their links to the entity and none to its hard negatives."""
        sampled = self._sample(config="pairs")
        by_wiki = {
            wiki: [row for row in sampled if row["wiki"] == wiki]
            for wiki in dict.fromkeys(row["wiki"] for row in sampled)
            if self._dump_of(wiki)
        }
        rows = list(chain.from_iterable(by_wiki.values()))
        qids = {qid for row in rows for qid in (row["entity_qid"], *row["hard_negative_qids"])}
        pages_of: dict[tuple[str, int], str] = {}
        if self._sources.wikidata:
            for item in self._items({"wikis": tuple(by_wiki), "labels": ()}, lambda item: item.qid in qids):
                pages_of |= {(wiki, item.qid): title for wiki, title in item.sitelinks}
        else:
            self.skipped.append("entities: Wikidata has no dump there")
        for wiki, rows_of_wiki in by_wiki.items():
            self._pairs_of_wiki(wiki, rows_of_wiki, pages_of)

    def _pairs_of_wiki(
        self, wiki: str, rows: Sequence[dict[str, Any]], pages_of: Mapping[tuple[str, int], str]
    ) -> None:
        pages = self._open(self._sources.pages[wiki], self._sources.options.get(wiki, {"wiki": wiki}))
        wanted: dict[int, list[dict[str, Any]]] = {}
        for row in rows:
            wanted.setdefault(row["page_id"], []).append(row)
        # Rows whose link leads to another title than their entity's, perhaps a redirect.
        redirected: list[tuple[dict[str, Any], str]] = []
        for title, rows_of_page in self._read(pages, wanted.keys()):
            for row in wanted.pop(title["page_id"], ()):
                where = f"{wiki} page {row['page_id']} ({row['title']})"
                self._compare(where, {name: row[name] for name in ("rev_id", "title")}, title)
                targets = _targets(row, rows_of_page.sentences)
                if not targets:
                    self.problems.append(f"{where}: has no such sentence with such a link: {row['text']!r:.300}")
                    continue
                for qid in row["hard_negative_qids"]:
                    if pages_of.get((wiki, qid)) in title["links"]:
                        self.problems.append(f"{where}: links to its hard negative Q{qid}")
                if pages_of and pages_of.get((wiki, row["entity_qid"])) not in targets:
                    redirected.append((row, targets[0]))
        for page in wanted:
            self._compare(f"{wiki} page {page}", {}, None)
        self._follow(wiki, pages, redirected, pages_of)

    def _follow(
        self,
        wiki: str,
        pages: Sequence[Wiki],
        redirected: Sequence[tuple[dict[str, Any], str]],
        pages_of: Mapping[tuple[str, int], str],
    ) -> None:
        """Follow redirects from the links of rows to the pages of their entities."""
        known = self._chains(pages, {target for _, target in redirected})
        page_items: dict[int, int] = {}
        if redirected and wiki in self._sources.page_props:
            ids = {known[end]["page_id"] for _, target in redirected if (end := _end(target, known)) in known}
            page_items = {page: qid for page, qid in page_props_of(self._sources.page_props[wiki]) if page in ids}
        for row, target in redirected:
            end = _end(target, known)
            page = known.get(end, {}).get("page_id")
            if pages_of.get((wiki, row["entity_qid"])) != end and page_items.get(page or 0) != row["entity_qid"]:
                self.problems.append(
                    f"{wiki} page {row['page_id']} ({row['title']}): links to {end!r}, which is not "
                    f"Q{row['entity_qid']}"
                )


def _targets(row: Mapping[str, Any], sentences: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the targets of the link of a row, in the sentences of its page that have the same text."""
    span = (row["mention_start"], row["mention_end"])
    return [
        link["target"]
        for sentence in sentences
        if sentence["text"] == row["text"]
        for link in sentence["links"]
        if (link["start"], link["end"]) == span
    ]


def _end(title: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    """Follow redirects from a title, as far as they are known."""
    for _ in range(HOPS):
        title = (known.get(title) or {}).get("redirect") or title
    return title


def _items_of(
    wiki: str,
    title: str,
    pages: Mapping[tuple[str, str], Mapping[str, Any]],
    by_title: Mapping[tuple[str, str], Collection[int]],
) -> Collection[int | None]:
    """Return the items that a link to a title may have, None for none: its own, or that of the article that it
    redirects to.

    Args:
        wiki: database name.
        title: that of the link.
        pages: rows of `titles` by wiki and title.
        by_title: items of titles themselves.
    """
    to_section = False
    for _ in range(HOPS + 1):
        if items := by_title.get((wiki, title)):
            return {None} if to_section else items
        page = pages.get((wiki, title))
        if page is None or page["redirect"] is None:
            break
        to_section = to_section or page["redirect_fragment"] != ""
        title = page["redirect"]
    return {None}


# The datasets whose rows can be derived again. A row of the others follows from all pages, or from a model;
# `wikianchor rebuild` makes all rows again.
DERIVED = {
    "sentences": Again.sentences,
    "entities": Again.entities,
    "pairs": Again.pairs,
    "documents": Again.documents,
}
