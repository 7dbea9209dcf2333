"""`wikianchor items --dumps=dumps --output=dumps/wikidata.json.gz`: items of small wikis by title and category."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from wikianchor.io.errors import InputError
from wikianchor.io.storage import file_size, filesystem, replacing, writing
from wikianchor.pipelines.arrays.hashing import hash_string
from wikianchor.pipelines.commands.items.options import ItemsOptions
from wikianchor.pipelines.wikimedia.dumps import Range, read_range
from wikianchor.pipelines.wikimedia.interwiki import WikipediaLinks
from wikianchor.pipelines.wikimedia.inventory import classify_files, list_files, newest_dump, read_site
from wikianchor.pipelines.wikimedia.pages import cut_pages, parse_page

CATEGORY = 14
# Items of the stand-in are numbered from here, and types lie above them.
FIRST_ITEM, FIRST_TYPE, TYPES = 1_000_000, 100_000_000, 1_000_000_000
# Types of Wikidata, so that the rules for dates hold: a year, a day of the year.
YEAR, DAY = 577, 14795564
_DATE = re.compile(r"(\d{1,4})|\d{1,2}\.? (?:di |de )?[^\W\d]+|[^\W\d]+ \d{1,2}")
_LINK = re.compile(r"\[\[([^\[\]|{}<>\n]+)[\]|]")

Name = tuple[str, str]


class Article(NamedTuple):
    """What an article says of its item.

    Attributes:
        name: its wiki and title.
        categories: the names of its categories, without their namespace.
        elsewhere: wikis and titles of its interlanguage links.
    """

    name: Name
    categories: Sequence[str]
    elsewhere: Sequence[Name]


def run(config: ItemsOptions, beam_args: Sequence[str]) -> None:
    """Write the file.

    Raises:
        UsageError, InputError: a dump is missing or damaged, or the file cannot be written.
    """
    pages, _, errors = classify_files(list_files(config.dumps))
    if errors or not pages:
        raise errors[0] if errors else InputError(f"--dumps={config.dumps} has no pages-articles dump")
    articles = [article for wiki in sorted(pages) for article in read_articles(newest_dump(pages[wiki]))]
    items = join(articles)
    types = types_of(articles)
    files, inner = filesystem(config.output)
    lines = (item_line(FIRST_ITEM + number, names, types) for number, names in enumerate(items))
    with writing(config.output), replacing(files, inner, f"{inner}.new") as stream:
        stream.write(gzip.compress(b"[\n" + b",\n".join(lines) + b"\n]\n", mtime=0))
    shared = sum(len({wiki for wiki, _ in names}) > 1 for names in items)
    print(f"{len(items):,} items of {', '.join(sorted(pages))}, {shared:,} in several of them  {config.output}")


def read_articles(paths: Sequence[str]) -> Iterator[Article]:
    """Yield the articles of one wiki's dump, without redirects."""
    site, footers = read_site(paths, None)
    links, names = WikipediaLinks(site), {name for name, number in site.namespaces.items() if number == CATEGORY}
    for path in paths:
        for raw, _ in cut_pages(read_range(Range(path, 0, file_size(path), last=path in footers)), path):
            page = parse_page(raw, path)
            if page.namespace or page.redirect is not None:
                continue
            categories, elsewhere = [], []
            for target in _LINK.findall(page.text):
                prefix, colon, rest = target.partition(":")
                if colon and prefix.strip().lower() in names:
                    categories.append(rest.strip())
                elif prefix in site.interlanguage and (there := links.read(target)):
                    elsewhere.append(there[:2])
            yield Article((site.wiki, page.title), categories, elsewhere)


def join(articles: Sequence[Article]) -> list[list[Name]]:
    """Return the names of each item, in the order of their first articles: a union of equal titles and of links.

    A wiki has each item once: what would give it two articles joins nothing.

    >>> first, second = Article(("dewiki", "Rom"), [], [("enwiki", "Rome")]), Article(("enwiki", "Rome"), [], [])
    >>> join([first, second, Article(("kwwiki", "Rom"), [], [])])
    [[('dewiki', 'Rom'), ('enwiki', 'Rome'), ('kwwiki', 'Rom')]]
    """
    items: dict[Name, list[Name]] = {article.name: [article.name] for article in articles}
    first: dict[str, Name] = {}
    by_title = [(first.setdefault(article.name[1], article.name), article.name) for article in articles]
    for one, other in chain(((article.name, there) for article in articles for there in article.elsewhere), by_title):
        left, right = items[one], items.get(other)
        if right is not None and left is not right and not {wiki for wiki, _ in left} & {wiki for wiki, _ in right}:
            left += right
            items |= dict.fromkeys(right, left)
    return [sorted(names) for names in {id(names): names for names in items.values()}.values()]


def types_of(articles: Sequence[Article]) -> Mapping[Name, tuple[int, str]]:
    """Return the largest category of each article with its number of articles, of those that have one."""
    sizes = Counter((wiki, name) for (wiki, _), categories, _ in articles for name in set(categories))
    return {
        article.name: max((sizes[article.name[0], name], name) for name in article.categories)
        for article in articles
        if article.categories
    }


def item_line(number: int, names: Sequence[Name], types: Mapping[Name, tuple[int, str]]) -> bytes:
    """Return the line of an item in a dump of Wikidata; its labels are its titles, in English the first for want of
    another."""
    title = names[0][1]
    labels = {"en": title} | {wiki.removesuffix("wiki"): name for wiki, name in names}
    if date := _DATE.fullmatch(title):
        kind = YEAR if date[1] else DAY
    else:
        # Categories are those of one language: the largest of all is what most articles of the type have.
        _, category, wiki = max(((*types[name], name[0]) for name in names if name in types), default=(0, title, ""))
        kind = FIRST_TYPE + hash_string(f"{wiki} {category}") % TYPES
    value = {"value": {"entity-type": "item", "numeric-id": kind, "id": f"Q{kind}"}, "type": "wikibase-entityid"}
    snak = {"snaktype": "value", "property": "P31", "datavalue": value, "datatype": "wikibase-item"}
    item = {
        "type": "item",
        "id": f"Q{number}",
        "labels": {code: {"language": code, "value": name} for code, name in labels.items()},
        "claims": {"P31": [{"mainsnak": snak, "type": "statement", "id": f"Q{number}$1", "rank": "normal"}]},
        "sitelinks": {wiki: {"site": wiki, "title": name, "badges": []} for wiki, name in names},
    }
    return json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode()
