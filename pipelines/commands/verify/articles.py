"""Read articles of Wikinews again, as `wikianchor mewsc16` reads them."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.storage import file_size
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.mewsc16 import steps as news
from wikianchor.pipelines.mewsc16.editions import with_aliases
from wikianchor.pipelines.wikimedia.choices import FROM_DUMP
from wikianchor.pipelines.wikimedia.dumps import Range, read_range
from wikianchor.pipelines.wikimedia.inventory import read_site
from wikianchor.pipelines.wikimedia.pages import cut_pages, page_id
from wikianchor.schemas.mewsc16 import SCHEMA


def read_articles(
    dumps: Sequence[str], tables: Mapping[str, str], options: Mapping[str, Any], page_ids: Collection[int]
) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield the id of each page asked for, and its row or None where the page is no candidate.

    Args:
        dumps: the dumps of one Wikinews.
        tables: paths of its SQL tables, by name.
        options: the options of the dataset.
        page_ids: the pages asked for.

    Raises:
        InputError: a dump or a table cannot be read.
    """
    wiki = news.NewsWiki(with_aliases(read_site(dumps, None)[0]), tuple(dumps), tables)
    reader = news.NewsReader(
        topics=options["topics"],
        membership=options["membership"],
        faults=frozenset(options["faults"]) if options["mode"] == "paper" else None,
        min_pages=options["min_pages"],
        allow_truncated=True,
        templates=options["templates"] == FROM_DUMP,
    )
    whole = [Range(path, 0, file_size(path), last=True) for path in dumps]
    tasks = [news.NewsRange(order, wiki, part) for order, part in enumerate(whole)]
    with tempfile.TemporaryDirectory() as scratch:
        work = Workspace(scratch, scratch, "")
        categories = [news.read_categories(task, reader, work) for task in tasks]
        packed = news.read_tables(wiki, categories, reader, work)
        if packed.problems:
            raise InputError(packed.problems[0])
        pages = news.make_article_reader(wiki, reader, categories, [packed])
        for part in whole:
            for raw, offset in cut_pages(read_range(part), part.path):
                number = page_id(raw)
                if number is None or number not in page_ids:
                    continue
                problems: list[str] = []
                page = pages.parse(raw, f"{part.path} near byte {offset}", Counter(), problems)
                if problems:
                    raise InputError(problems[0])
                row = pages.read(page, Counter())[0] if page is not None else None
                yield number, None if row is None else dict(zip(SCHEMA.names, row, strict=True))
