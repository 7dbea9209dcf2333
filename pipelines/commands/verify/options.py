"""The options of `wikianchor verify`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.options import at_least, option, without_slash

DESCRIPTION = """\
Check datasets of wikianchor: the manifest lists every file with its sha256, columns and rows match the schema, links
lie inside their text, and the ledger adds up and agrees with the rows. With --against, random rows of sentences,
entities, pairs and mewsc16 are derived again from the dumps and compared. Texts of export are compared with the pairs
and entities that they were taken from, if these are in the same directory. A dataset that other rules made than those
of this program fails, and its rows are not derived again. Exit status 0: every check passed. 1: a
check failed.
"""


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """Options of the command `verify`."""

    directory: str = option(positional=True, help="a dataset, or the output of build", parse=without_slash)
    against: str | None = option(
        None, metavar="PATHS", help="the dumps that it was made from: directories, files or globs"
    )
    rows: int = option(1000, help="rows of each table to derive again from the dumps", check=at_least(1))
    keep_older: bool = option(False, help="accept datasets that other rules made than those of this program")
    seed: int = option(42, help="seed of the choice of rows")
