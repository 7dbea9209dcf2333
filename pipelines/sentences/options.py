"""The options of `wikianchor sentences`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.options import option
from wikianchor.pipelines.wikimedia.choices import ENGINES, PARSERS, SPLITTERS, TEMPLATES
from wikianchor.pipelines.wikimedia.dump_names import dump_files
from wikianchor.pipelines.wikimedia.wiki_lists import only_wiki


@dataclass(frozen=True, kw_only=True)
class SentencesOptions:
    """Options of the stage `sentences`."""

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
    splitter: str = option("rules", choices=SPLITTERS, help="sentence splitter")
    parser: str = option(
        PARSERS[0],
        choices=PARSERS,
        help="reader of wikitext; mwparserfromhell is slower and less exact, to compare with",
    )
    templates: str = option(
        TEMPLATES[0],
        choices=TEMPLATES,
        help="what templates show: dump: by the wiki's own definitions, the Template pages of the dump, and by "
        "built-in rules where these do not tell; builtin: by these rules alone",
    )
    fragments: bool = option(
        default=True,
        help="write the text that is no sentence of prose, such as most list items, to the config fragments",
    )
    engine: str | None = option(
        None,
        choices=ENGINES,
        help="what reads the pages: core, the compiled engine, where it is installed (make core), else python; the "
        "result is the same to the byte",
        recorded=False,
    )
    allow_truncated: bool = option(default=False, help="accept a truncated dump and process its complete pages")
    exclude_pages: str | None = option(
        None,
        metavar="FILES",
        help="leave out the pages of lists, such as takedowns: lines enwiki<TAB>title or page id, or addresses",
        recorded=False,
    )
    previous: str | None = option(
        None,
        metavar="DIR",
        help="sentences of an earlier dump: pages that have not changed since are copied from there, with the same "
        "result",
        recorded=False,
    )
