"""The options of `wikianchor demo`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.options import option


def _directory(value: str, flag: str) -> str:
    if not value.rstrip("/"):
        raise UsageError(f"--{flag}={value}: name a directory")
    return value.rstrip("/")


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Options of the command `demo`."""

    data: str = option("demo", metavar="DIR", help="directory that the sample is written to", parse=_directory)
    output: str = option("out/demo", metavar="DIR", help="directory of the datasets", parse=_directory)

    def completed(self) -> DemoOptions:
        """Check that the sample goes to a local disk.

        Raises:
            UsageError: it does not.
        """
        if "://" in self.data:
            raise UsageError(f"--data={self.data}: the sample is written to a local disk: name a directory there")
        return self
