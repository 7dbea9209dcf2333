"""The options of `wikianchor templates`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.options import option
from wikianchor.pipelines.wikimedia.dump_names import dump_files
from wikianchor.pipelines.wikimedia.wiki_lists import only_wiki


@dataclass(frozen=True, kw_only=True)
class TemplatesOptions:
    """Options of the stage `templates`."""

    dumps: tuple[str, ...] = option(
        metavar="FILES",
        help="pages-articles dump: a file, a glob, or several with commas",
        parse=dump_files,
        recorded=False,
    )
    output: str = option(metavar="DIR", help="directory of the dataset", recorded=False)
    wiki: str | None = option(
        None,
        flag="wikis",
        metavar="WIKI",
        help="the wiki of the dumps, such as enwiki, where their header does not name it or is wrong",
        parse=only_wiki,
        recorded=False,
    )
