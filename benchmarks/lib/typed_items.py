"""Write a stand-in for Wikidata's dump, in which the type of an article is the largest of its categories.

Articles of several wikis with one title are one item. Years and days have the types that they have in Wikidata. Unlike
the types of `generate`, these make hard negatives alike: a town's are towns.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from lib.generate import Types, articles, item_line, items_of, read_source, write_packed
from wikianchor.pipelines.arrays.hashing import hash_string

CATEGORY = 14
YEAR, DAY = 577, 14795564
_DATE = re.compile(r"(\d{1,4})|\d{1,2}\.? (?:di |de )?[^\W\d]+|[^\W\d]+ \d{1,2}")


class CategoryTypes(Types):
    """Types by title.

    Args:
        dumps: the dumps of which the articles are.
    """

    def __init__(self, dumps: Sequence[str]) -> None:
        self._categories: dict[str, list[str]] = {}
        for source in map(read_source, ([dump] for dump in dumps)):
            names = "|".join(re.escape(name) for name, number in source.site.namespaces.items() if number == CATEGORY)
            links = re.compile(rf"\[\[\s*(?:{names})\s*:\s*([^\]|]+?)\s*[\]|]", re.IGNORECASE)
            for page in source.pages:
                self._categories.setdefault(page.title, []).extend(links.findall(page.text))
        self._sizes = Counter(chain.from_iterable(map(set, self._categories.values())))

    def of(self, title: str) -> tuple[int, int | None]:
        """Return the type of an item, which is its own alone where its article has no category."""
        if date := _DATE.fullmatch(title):
            return (YEAR if date[1] else DAY), None
        category = max(self._categories[title], key=lambda name: (self._sizes[name], name), default=f"of {title} alone")
        return 10_000_000 + hash_string(category) % 100_000_000, None


def write_typed_items(output: Path, dumps: Sequence[str]) -> None:
    """Write the items of the articles of dumps as a dump of Wikidata, .json.gz."""
    types = CategoryTypes(dumps)
    lines = (
        item_line(qid, pages[0][1], [(wiki, title) for wiki, title, _ in pages], types)
        for qid, pages in items_of(articles(dumps))
    )
    write_packed(output, [b"[\n" + b",\n".join(lines) + b"\n]\n"])
