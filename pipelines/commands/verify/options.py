"""The options of `wikianchor verify`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.option_groups import KeepOlder, Seed
from wikianchor.io.options import at_least, option
from wikianchor.pipelines.wikimedia.options import BuiltDirectory

DESCRIPTION = """\
Check datasets of wikianchor: the manifest lists every file with its sha256, columns and rows match the schema, links
lie inside their text, and the ledger adds up and agrees with the rows. With --against, random rows of sentences,
entities and pairs are derived again from the dumps and compared; `wikianchor rebuild` makes all rows of a dataset
again. Texts of export are compared with the pairs and entities that they were taken from, and hard negatives of pairs
with the pages of their wiki, if these are in the same directory. A dataset that other rules made than those of this
program fails, and its rows are not derived again. Exit status 0: every check passed. 1: a check failed.
"""


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(KeepOlder, Seed, BuiltDirectory):
    """Options of the command `verify`."""

    against: str | None = option(
        None, metavar="PATHS", help="the dumps that it was made from: directories, files or globs"
    )
    rows: int = option(1000, help="rows of each table to derive again from the dumps", check=at_least(1))
