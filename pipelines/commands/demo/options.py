"""The options of `wikianchor demo`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import Output
from wikianchor.io.options import directory, option


@dataclass(frozen=True, kw_only=True)
class DemoOptions(Output):
    """Options of the command `demo`."""

    data: str = option("demo", metavar="DIR", help="directory that the sample is written to", parse=directory)
    output: str = "out/demo"

    def completed(self) -> DemoOptions:
        """Check that the sample goes to a local disk.

        Raises:
            UsageError: it does not.
        """
        if "://" in self.data:
            raise UsageError(f"--data={self.data}: the sample is written to a local disk: name a directory there")
        return self
