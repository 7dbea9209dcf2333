"""The topic map out of the wikis' own tables: which category of a wiki is that of an English topic.

Two routes lead from a category of English Wikinews to that of another: the interlanguage links of its page
(`langlinks`), and the Wikidata item that both pages have (`page_props`). Both name pages by id; `page` has their
titles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from wikianchor.pipelines.mewsc16.category_tables import chunks
from wikianchor.pipelines.mewsc16.editions import CATEGORY
from wikianchor.pipelines.wikimedia.sql import page_props_items, read_table

ENGLISH = "en"
LANGLINKS, ITEM = "langlinks", "wikibase_item"


class Found(NamedTuple):
    """A category that stands for a topic: how it was found, and the item by which it was, "" for a link."""

    topic: str
    language: str
    name: str
    kind: str
    item: str


def category_pages(path: str) -> Iterator[tuple[int, str]]:
    """Yield (page id, name) of the category pages in a `page` table."""
    for page, namespace, title in read_table(chunks(path), ("page_id", "page_namespace", "page_title"), "page", path):
        if namespace == CATEGORY and isinstance(page, int) and isinstance(title, bytes):
            yield page, title.decode("utf-8", "replace").replace("_", " ")


def english_pages(path: str, names: Mapping[str, str]) -> dict[int, str]:
    """Return page id -> topic of the English topic categories."""
    return {page: names[name] for page, name in category_pages(path) if name in names}


def by_links(path: str, topics: Mapping[int, str], languages: frozenset[str]) -> Iterator[Found]:
    """Yield what the interlanguage links of the English topic categories say."""
    for page, language, title in read_table(chunks(path), ("ll_from", "ll_lang", "ll_title"), "langlinks", path):
        if not isinstance(page, int) or page not in topics:
            continue
        if not isinstance(language, bytes) or not isinstance(title, bytes):
            continue
        code, name = language.decode(), title.decode("utf-8", "replace").replace("_", " ")
        if code in languages and ":" in name:
            yield Found(topics[page], code, name.partition(":")[2].strip(), LANGLINKS, "")


def topic_items(path: str, topics: Mapping[int, str]) -> dict[int, str]:
    """Return item -> topic of the English topic categories."""
    return {item: topics[page] for page, item in page_props_items(chunks(path), path) if page in topics}


def by_items(language: str, pages: str, page_props: str, items: Mapping[int, str]) -> Iterator[Found]:
    """Yield the categories of a wiki that have the item of a topic."""
    wanted = {page: item for page, item in page_props_items(chunks(page_props), page_props) if item in items}
    for page, name in category_pages(pages):
        if (item := wanted.get(page)) is not None:
            yield Found(items[item], language, name, ITEM, f"Q{item}")
