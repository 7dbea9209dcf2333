"""Options of commands that read dumps, or datasets made from them, each declared once: dataclasses that the options of
a command inherit."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

from wikianchor.io.errors import UsageError
from wikianchor.io.options import among, option, without_slash
from wikianchor.io.options import directory as named_directory
from wikianchor.pipelines.wikimedia.choices import ENGINES, LUA, ON, PARSERS, SPLITTERS, TEMPLATES
from wikianchor.pipelines.wikimedia.dump_names import dump_files, files_named
from wikianchor.pipelines.wikimedia.wiki_lists import only_wiki, unknown_language, wikis_named
from wikianchor.schemas.choices import TEXTS


@dataclass(frozen=True, kw_only=True)
class Dumps:
    """Pages of one wiki."""

    dumps: tuple[str, ...] = option(
        metavar="FILES",
        help="pages-articles dump: a file, a glob, or several with commas",
        parse=dump_files,
        recorded=False,
    )


@dataclass(frozen=True, kw_only=True)
class SqlTables:
    """SQL tables of wikis."""

    sql: tuple[str, ...] = option(
        metavar="FILES", help="SQL tables, such as WIKI-DATE-page.sql.gz", parse=files_named, recorded=False
    )


@dataclass(frozen=True, kw_only=True)
class DumpPaths:
    """Dumps of all kinds."""

    dumps: str = option(
        metavar="PATHS",
        help="pages-articles dumps, Wikidata's JSON dump, page_props tables: directories, files or globs",
        parse=without_slash,
    )


@dataclass(frozen=True, kw_only=True)
class BuiltDirectory:
    """Where datasets are."""

    directory: str = option(positional=True, help="a dataset, or the output of build", parse=named_directory)


@dataclass(frozen=True, kw_only=True)
class Wiki:
    """The wiki of some pages."""

    wiki: str | None = option(
        None,
        flag="wikis",
        metavar="WIKI",
        help="the wiki of the pages, such as enwiki, where the header of a dump does not name it or is wrong",
        parse=only_wiki,
        recorded=False,
    )


@dataclass(frozen=True, kw_only=True)
class Wikis:
    """Several wikis."""

    wikis: tuple[str, ...] = option(
        metavar="WIKIS",
        help="languages or database names with commas, such as en,jawiki",
        unset="every wiki that has a dump there",
        parse=wikis_named,
    )


@dataclass(frozen=True, kw_only=True)
class Truncated:
    """Whether a dump may be cut off."""

    TITLE: ClassVar[str] = "how dumps are read"

    allow_truncated: bool = option(
        default=False, help="accept a truncated dump and process its complete pages or items"
    )


@dataclass(frozen=True, kw_only=True)
class Previous:
    """What was made of an earlier dump."""

    TITLE: ClassVar[str] = Truncated.TITLE

    previous: str | None = option(
        None,
        metavar="DIR",
        help="the --output of the same command for an earlier dump: pages that have not changed since are copied from "
        "its sentences, with the same result",
        recorded=False,
    )


@dataclass(frozen=True, kw_only=True)
class Templates:
    """Where it is known what templates show."""

    TITLE: ClassVar[str] = Truncated.TITLE

    templates: str = option(
        TEMPLATES[0],
        choices=TEMPLATES,
        help="what templates show: dump: by the wiki's own definitions, the Template "
        "pages of the dump, and by built-in rules where these do not tell; builtin: by these rules alone",
    )


def check_lua(value: str) -> str:
    """Check that modules can be run where they are to be run."""
    return "" if value != ON or find_spec("lupa") else "needs the package lupa: pip install lupa, or give --lua=off"


@dataclass(frozen=True, kw_only=True)
class Lua:
    """Whether modules are run."""

    TITLE: ClassVar[str] = Truncated.TITLE

    lua: str = option(
        LUA[0],
        choices=LUA,
        help="whether templates show what the Lua modules of the dump return; on needs the package lupa",
        check=check_lua,
    )


@dataclass(frozen=True, kw_only=True)
class Reader:
    """What reads wikitext."""

    TITLE: ClassVar[str] = Truncated.TITLE

    parser: str = option(
        PARSERS[0],
        choices=PARSERS,
        help="reader of wikitext; mwparserfromhell is slower and less exact, to compare with",
    )
    engine: str | None = option(
        None,
        choices=ENGINES,
        help="what reads the pages: core, the compiled engine, where it is installed (make core), else python; the "
        "result is the same to the byte",
        recorded=False,
    )


@dataclass(frozen=True, kw_only=True)
class Reading(Previous, Truncated, Templates, Lua, Reader):
    """How the pages of a dump become sentences."""

    TITLE: ClassVar[str] = Truncated.TITLE

    splitter: str = option(SPLITTERS[0], choices=SPLITTERS, help="sentence splitter")
    exclude_pages: str | None = option(
        None,
        metavar="FILES",
        help="leave out the pages of lists, such as takedowns: lines enwiki<TAB>title or page id, or addresses",
        recorded=False,
    )


@dataclass(frozen=True, kw_only=True)
class Documents:
    """Whether the dataset of sentences has documents."""

    documents: bool = option(
        default=False,
        help="write each article as a document, with its sections, blocks, sentences and links, to the config "
        "documents",
    )


@dataclass(frozen=True, kw_only=True)
class DocumentsOf:
    """A dataset of documents."""

    documents: str = option(metavar="DIR", help="dataset of `wikianchor documents`", recorded=False)


@dataclass(frozen=True, kw_only=True)
class EntityTexts:
    """What is kept of the texts of entities."""

    TITLE: ClassVar[str] = "texts of entities"

    labels: tuple[str, ...] = option(
        ("en",),
        metavar="LANGUAGES",
        help="languages of the labels to keep, with commas; the first that exists is shown",
        unset="en, then those of the wikis",
        check=unknown_language,
    )
    texts: tuple[str, ...] = option(
        TEXTS[:1],
        metavar="KINDS",
        help=f"texts to keep in these languages: {', '.join(TEXTS)}; `wikianchor export` reads them",
        check=among(TEXTS),
    )


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """Datasets of sentences."""

    sentences: str = option(
        metavar="DIRS",
        help="datasets of `wikianchor sentences`: directories, globs, or the directory that holds them",
        unset="none; of `export` those beside --pairs",
        recorded=False,
    )


@dataclass(frozen=True, kw_only=True)
class Entities:
    """A dataset of entities."""

    entities: str = option(
        metavar="DIR",
        help="dataset of `wikianchor entities`",
        unset="for leads and titles that beside --pairs, else none: labels are those of --pairs",
        recorded=False,
    )


@dataclass(frozen=True, kw_only=True)
class SectionLinks:
    """What a link to a section is."""

    section_links: bool = option(default=False, help="count a link to a section as a link to its page")


@dataclass(frozen=True, kw_only=True)
class Mentions:
    """A dataset of mentions."""

    mentions: str = option(
        metavar="DIRS",
        help="dataset of `wikianchor mentions`",
        unset="titles, redirects and labels alone",
        recorded=False,
    )


def _numbers(value: str, flag: str) -> tuple[float, ...]:
    """Return numbers with commas between; unlike those of other lists, they may be equal."""
    try:
        return tuple(map(float, value.split(",")))
    except ValueError as error:
        raise UsageError(f"--{flag}={value}: must be two numbers with a comma between, such as 0.05,0.05") from error


def _are_shares(shares: tuple[float, ...]) -> str:
    if shares and (len(shares) != 2 or not min(shares) > 0 or not sum(shares) < 1):
        return "must be two shares of the items, for dev and for test, such as 0.05,0.05"
    return ""


@dataclass(frozen=True, kw_only=True)
class Split:
    """What is held out."""

    split: tuple[float, ...] = option(
        (),
        metavar="DEV,TEST",
        help="hold out these shares of the items for dev and test, such as 0.05,0.05: no page, no entity and no "
        "sentence is in two splits",
        unset="no split",
        parse=_numbers,
        check=_are_shares,
    )
