"""The options of `wikianchor report`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.options import option, without_slash


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Options of the command `report`."""

    directory: str = option(positional=True, help="a dataset, or the output of build", parse=without_slash)
    html: str | None = option(None, metavar="FILE", help="write the report as one page that needs no network")
    dumps: str | None = option(
        None, metavar="PATHS", help="for the page: show sentences of these dumps that were dropped"
    )
    seed: int = option(42, help="seed of the examples")

    def completed(self) -> ReportOptions:
        """Check that the options go together.

        Raises:
            UsageError: they do not.
        """
        if self.dumps is not None and self.html is None:
            raise UsageError(f"--dumps={self.dumps} is for the page: name it with --html=FILE")
        return self
