"""The options of `wikianchor report`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import Seed
from wikianchor.io.options import file_path, option
from wikianchor.pipelines.wikimedia.options import BuiltDirectory, DumpPaths

DESCRIPTION = """\
Print what is in a dataset, or in the output of a build, or write it as one HTML page. With --dumps the page also shows
sentences of these dumps that were dropped, with the reasons.
"""


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Seed, DumpPaths, BuiltDirectory):
    """Options of the command `report`."""

    dumps: str = ""
    html: str | None = option(
        None, metavar="FILE", help="write the report as one page that needs no network", parse=file_path
    )

    def completed(self) -> ReportOptions:
        """Check that the options go together.

        Raises:
            UsageError: they do not.
        """
        if self.dumps and self.html is None:
            raise UsageError(f"--dumps={self.dumps} is for the page: name it with --html=FILE")
        return self
