"""The options of `wikianchor mewsc16`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import Output
from wikianchor.io.options import at_least, option
from wikianchor.pipelines.wikimedia.choices import FROM_DUMP
from wikianchor.pipelines.wikimedia.options import Dumps, SqlTables, Templates, Truncated

# Which categories of a page count: `membership.bits_of_names`.
MODES = ("direct", "direct+templates", "descend-1")
# Faults of the released set: `released.ReleasedReader`.
FAULTS = {
    "all_namespaces": "pages of every namespace count, such as categories and talk",
    "line_start": "a category counts only where a line begins with it, by one spelling of one prefix",
    "old_map": "the topic map has the names of 2021 alone",
    "holes": "templates vanish with their words, {{w|...}} among them",
    "category_text": "category links stay in the text",
    "captions": "what a picture's link says last, its caption or its size, stays in the text",
    "glued": "lines are joined without a blank, headings and lists among them",
    "cut": "a sentence ends at every full stop before a blank",
}
# Smallest number of pages of a class of the released set.
MIN_PAGES = 10


@dataclass(frozen=True, kw_only=True)
class WikinewsTables(SqlTables):
    """SQL tables of Wikinews."""

    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sql": {
            "help": "SQL tables of Wikinews: for `mewsc16` categorylinks and linktarget of the same dumps, which hold "
            "the categories from templates; for `topics` page of every wiki, langlinks of the English one, page_props "
            "of every wiki",
        }
    }


@dataclass(frozen=True, kw_only=True)
class Mewsc16Options(Truncated, Templates, WikinewsTables, Output, Dumps):
    """Options of the stage `mewsc16`."""

    FIRST: ClassVar[tuple[str, ...]] = ("dumps", "output", "sql", "mode", "templates")

    sql: tuple[str, ...] = ()
    membership: str | None = option(
        None,
        choices=MODES,
        help="which categories of a page count: those in its text, also those of its templates, also those directly "
        "below a topic",
        unset="direct+templates; direct with --templates=builtin or --mode=paper, and without --sql",
    )
    mode: str = option("clean", choices=("clean", "paper"), help="clean sentences, or the rules of the released set")
    faults: tuple[str, ...] = option(
        (),
        metavar="NAMES",
        help=f"with --mode=paper: faults of the released set to reproduce, or all: {', '.join(FAULTS)}",
    )
    topics: str | None = option(
        None,
        metavar="FILE",
        help="topic map (JSON), such as `wikianchor topics` makes",
        unset="the project's",
        recorded=False,
    )
    min_pages: int | None = option(
        None,
        help="drop classes with fewer pages",
        unset=f"1; with --mode=paper {MIN_PAGES}",
        check=at_least(1),
    )

    def completed(self) -> Mewsc16Options:
        """Return the options with the faults in their order.

        Raises:
            UsageError: options that do not go together.
        """
        faults = tuple(FAULTS) if self.faults == ("all",) else self.faults
        for name in faults:
            if name not in FAULTS:
                raise UsageError(f"--faults={name}: there is no such fault, choose of {', '.join(FAULTS)}, or all")
        if faults and self.mode != "paper":
            raise UsageError("--faults goes with --mode=paper: clean sentences have none")
        if "old_map" in faults and self.topics:
            raise UsageError("--faults=old_map goes with the project's topic map, not with --topics")
        if self.membership == "direct+templates" and not self.sql and self.templates != FROM_DUMP:
            raise UsageError(
                "--membership=direct+templates needs what tells the categories from templates: --templates=dump, or "
                "--sql=categorylinks.sql.gz,linktarget.sql.gz"
            )
        return replace(self, faults=tuple(name for name in FAULTS if name in faults))
