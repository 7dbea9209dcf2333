"""Derive the topic map from SQL tables: find the category in each wiki that corresponds to an English topic category.

There are two routes from a category of English Wikinews to that of another wiki: the interlanguage links of its page
(`langlinks`), and the Wikidata item of both pages (`page_props`). Both refer to pages by id; `page` has their titles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from wikianchor.pipelines.mewsc16.category_tables import chunks, title_of
from wikianchor.pipelines.mewsc16.editions import CATEGORY
from wikianchor.pipelines.wikimedia.sql import page_props_items, read_table

ENGLISH = "en"
LANGLINKS, ITEM = "langlinks", "wikibase_item"


class TopicCategory(NamedTuple):
    """A category of a topic.

    Attributes:
        topic: the topic.
        language: the wiki's language.
        name: the category's name.
        kind: the evidence, a key of `command.EVIDENCE`.
        item: the Wikidata item that led to it; "" for other evidence.
    """

    topic: str
    language: str
    name: str
    kind: str
    item: str


def category_pages(path: str) -> Iterator[tuple[int, str]]:
    """Yield (page id, name) of the category pages in a `page` table."""
    for page, namespace, title in read_table(chunks(path), ("page_id", "page_namespace", "page_title"), "page", path):
        if namespace == CATEGORY and isinstance(page, int):
            yield page, title_of(title)


def english_pages(path: str, names: Mapping[str, str]) -> dict[int, str]:
    """Return page id -> topic of the English topic categories."""
    return {page: names[name] for page, name in category_pages(path) if name in names}


def by_links(path: str, topics: Mapping[int, str], languages: frozenset[str]) -> Iterator[TopicCategory]:
    """Yield the categories to which the English topic categories have an interlanguage link."""
    for page, language, title in read_table(chunks(path), ("ll_from", "ll_lang", "ll_title"), "langlinks", path):
        code, name = title_of(language), title_of(title)
        if isinstance(page, int) and page in topics and code in languages and ":" in name:
            yield TopicCategory(topics[page], code, name.partition(":")[2].strip(), LANGLINKS, "")


def topic_items(path: str, topics: Mapping[int, str]) -> dict[int, str]:
    """Return item -> topic of the English topic categories."""
    return {item: topics[page] for page, item in page_props_items(chunks(path), path) if page in topics}


def by_items(language: str, pages: str, page_props: str, items: Mapping[int, str]) -> Iterator[TopicCategory]:
    """Yield the categories of a wiki whose Wikidata item is that of an English topic category."""
    wanted = {page: item for page, item in page_props_items(chunks(page_props), page_props) if item in items}
    for page, name in category_pages(pages):
        if (item := wanted.get(page)) is not None:
            yield TopicCategory(items[item], language, name, ITEM, f"Q{item}")
