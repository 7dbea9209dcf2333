"""The options of `wikianchor items`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.option_groups import Output
from wikianchor.io.options import file_path
from wikianchor.pipelines.wikimedia.options import DumpPaths

DESCRIPTION = """\
Write a stand-in for Wikidata's dump from the articles of small wikis, where neither it nor a page_props table is at
hand. Articles of several wikis are one item if they have the same title or an interlanguage link of their text joins
them; an item's type is the largest of its categories. This is a guess: some names stand for two things, and some things
have two names. All titles are held in memory.
"""


@dataclass(frozen=True, kw_only=True)
class ItemsOptions(Output, DumpPaths):
    """Options of the command `items`."""

    ADJUSTED: ClassVar[Any] = {
        "output": {
            "metavar": "FILE",
            "help": "the file to write, beside the dumps, such as dumps/wikidata.json.gz",
            "parse": file_path,
        },
        "dumps": {"help": "pages-articles dumps: directories, files or globs"},
    }
