"""`wikianchor topics`: derive a topic map from SQL tables of Wikinews, and compare it with the map in use.

There are two routes from a category of English Wikinews to that of another wiki: the interlanguage links of its page
(`langlinks`), and the Wikidata item of both pages (`page_props`). Both refer to pages by id; `page` has their titles.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from wikianchor.io.errors import InputError
from wikianchor.io.storage import writing
from wikianchor.pipelines.dataset.summary import next_lines, spent
from wikianchor.pipelines.mewsc16.category_tables import category_titles, title_of
from wikianchor.pipelines.mewsc16.topic_map import TopicMap, load_topics
from wikianchor.pipelines.mewsc16.topics.options import TopicsOptions
from wikianchor.pipelines.wikimedia.dumps import content_of
from wikianchor.pipelines.wikimedia.sql import page_props_items, read_table
from wikianchor.schemas.mewsc16 import LANGUAGES, TOPICS

_NAME = re.compile(r"(?:.*/)?([a-z_]+)wikinews-(\w+)-(\w+)\.sql(?:\.gz)?")
TABLES = ("langlinks", "page", "page_props")
ENGLISH = "en"
TITLE, LANGLINKS, ITEM = "title", "langlinks", "wikibase_item"
EVIDENCE = {
    TITLE: "the English topic category itself",
    LANGLINKS: "an interlanguage link of the English topic category, from {dump}",
    ITEM: "the same Wikidata item as the English topic category, from the page_props of the wikis",
}


class TopicCategory(NamedTuple):
    """A category of a topic.

    Attributes:
        topic: the topic.
        language: the wiki's language.
        name: the category's name.
        kind: the evidence, a key of `EVIDENCE`.
        item: the Wikidata item that led to it; "" for other evidence.
    """

    topic: str
    language: str
    name: str
    kind: str
    item: str


def run(config: TopicsOptions, beam_args: Sequence[str]) -> None:
    """Derive the map, write it, and print where it differs from the one in use."""
    start = time.monotonic()
    tables = tables_of(config.sql)
    topics = load_topics()
    categories = list(derive(tables, topics))
    if not categories:
        raise InputError("--sql: no category of another wiki leads to an English topic: is page_props given of both?")
    with writing(config.output), open(config.output, "w", encoding="utf-8") as file:
        file.write(as_json(categories, tables))
    for line in differences(categories, topics):
        print(line)
    # The log goes to stderr: stdout has only the table.
    languages = {category.language for category in categories}
    about = f"{len(categories):,} categories of {len(languages)} languages: {config.output}"
    comes_next = ["wikianchor", "mewsc16", "--dumps=FILES", f"--topics={config.output}", "--output=out/mewsc16"]
    logging.getLogger("wikianchor").info("%s; %s; %s", about, spent(start), *next_lines(comes_next))


def tables_of(paths: Iterable[str]) -> dict[tuple[str, str], str]:
    """Return the files by language and table.

    Raises:
        InputError: a file is not named like a table of a Wikinews, or a necessary table is missing.
    """
    tables: dict[tuple[str, str], str] = {}
    for path in paths:
        match = _NAME.fullmatch(path)
        if match is None:
            raise InputError(f"--sql: {path} is not named like enwikinews-20260601-langlinks.sql.gz")
        if match[3] not in TABLES:
            logging.getLogger("wikianchor").info("%s: not needed, left unread", path)
            continue
        tables[match[1].replace("_", "-"), match[3]] = path
    if (ENGLISH, "page") not in tables:
        raise InputError("--sql: enwikinews-...-page.sql.gz is missing: it has the ids of the English categories")
    if (ENGLISH, "langlinks") not in tables and (ENGLISH, "page_props") not in tables:
        raise InputError("--sql: give langlinks or page_props of enwikinews: they lead to the other wikis")
    for language, table in sorted(tables):
        if table == "page_props" and (language, "page") not in tables:
            raise InputError(f"--sql: {tables[language, table]} needs page.sql.gz of the same wiki")
    return tables


def derive(tables: Mapping[tuple[str, str], str], topics: TopicMap) -> Iterator[TopicCategory]:
    """Yield the category of each topic in each wiki whose tables are given."""
    languages = frozenset(LANGUAGES) - {ENGLISH}
    # The topics of the English categories by the id of their page.
    names = topics[ENGLISH]
    pages = {page: names[name] for page, name in category_titles(tables[ENGLISH, "page"], "page") if name in names}
    if missing := set(names.values()) - set(pages.values()):
        logging.getLogger("wikianchor").info(
            "%s: no page of the category %s", tables[ENGLISH, "page"], ", ".join(sorted(missing))
        )
    for name, topic in names.items():
        if topic in pages.values():
            yield TopicCategory(topic, ENGLISH, name, TITLE, "")
    if path := tables.get((ENGLISH, "langlinks")):
        yield from by_links(path, pages, languages)
    if path := tables.get((ENGLISH, "page_props")):
        items = {item: pages[page] for page, item in page_props_items(content_of(path), path) if page in pages}
        for language in sorted(languages):
            if props := tables.get((language, "page_props")):
                yield from by_items(language, tables[language, "page"], props, items)


def by_links(path: str, topics: Mapping[int, str], languages: frozenset[str]) -> Iterator[TopicCategory]:
    """Yield the categories to which the English topic categories have an interlanguage link."""
    for page, language, title in read_table(content_of(path), ("ll_from", "ll_lang", "ll_title"), "langlinks", path):
        code, name = title_of(language), title_of(title)
        if isinstance(page, int) and page in topics and code in languages and ":" in name:
            yield TopicCategory(topics[page], code, name.partition(":")[2].strip(), LANGLINKS, "")


def by_items(language: str, pages: str, page_props: str, items: Mapping[int, str]) -> Iterator[TopicCategory]:
    """Yield the categories of a wiki whose Wikidata item is that of an English topic category."""
    wanted = {page: item for page, item in page_props_items(content_of(page_props), page_props) if item in items}
    for page, name in category_titles(pages, "page"):
        if (item := wanted.get(page)) is not None:
            yield TopicCategory(items[item], language, name, ITEM, f"Q{item}")


def as_json(categories: Iterable[TopicCategory], tables: Mapping[tuple[str, str], str]) -> str:
    """Return the map in the form of `data/topics.json`."""
    entries: dict[str, dict[str, dict[str, str]]] = {topic: {} for topic in TOPICS}
    items: dict[str, str] = {}
    for category in categories:
        names = entries[category.topic].setdefault(category.language, {})
        # Of two kinds of evidence, the item is kept.
        if category.kind == ITEM or category.name not in names:
            names[category.name] = category.kind
        if category.item:
            items[category.topic] = category.item
    dump = tables.get((ENGLISH, "langlinks"), "").rpartition("/")[2]
    return (
        json.dumps(
            {
                "evidence": {kind: text.format(dump=dump or "none") for kind, text in EVIDENCE.items()},
                "items": items,
                "topics": {
                    topic: {language: [list(pair) for pair in names.items()] for language, names in sorted(row.items())}
                    for topic, row in entries.items()
                    if row
                },
            },
            ensure_ascii=False,
            indent=1,
        )
        + "\n"
    )


def differences(categories: Iterable[TopicCategory], topics: TopicMap) -> Iterator[str]:
    """Yield the lines of a table: each language and topic for which the derived map differs from the map in use."""
    derived: dict[tuple[str, str], set[str]] = {}
    for category in categories:
        derived.setdefault((category.language, category.topic), set()).add(category.name)
    yield "language\ttopic\tin use\tderived"
    for language in sorted({language for language, _ in derived}):
        for topic in TOPICS:
            in_use = {name for name, name_topic in topics.get(language, {}).items() if name_topic == topic}
            names = derived.get((language, topic), set())
            if in_use != names:
                yield "\t".join((language, topic, ", ".join(sorted(in_use)) or "-", ", ".join(sorted(names)) or "-"))
