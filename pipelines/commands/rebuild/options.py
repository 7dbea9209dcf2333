"""The options of `wikianchor rebuild`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import DryRun, Output
from wikianchor.pipelines.wikimedia.options import BuiltDirectory, DumpPaths

DESCRIPTION = """\
Make a dataset again from its manifest and the dumps that it came from, and compare every byte with the checksums of the
manifest. The directory may hold the manifest alone, of a release that somebody has published. Every stage behind the
dataset runs again, with the options that it had; of a release its configs by language are made again too. Where other
rules or versions made the dataset, nothing runs, and the error says what to install. `wikianchor release` is another
thing: it makes a new model from a recipe.
"""


@dataclass(frozen=True, kw_only=True)
class RebuildOptions(DryRun, Output, DumpPaths, BuiltDirectory):
    """Options of the command `rebuild`."""

    FIRST: ClassVar[tuple[str, ...]] = ("directory", "dumps", "output", "dry_run")

    def completed(self) -> RebuildOptions:
        """Check that the dataset is not written over itself.

        Raises:
            UsageError: it would be.
        """
        if f"{self.directory}/".startswith(f"{self.output}/"):
            raise UsageError(f"--output={self.output} holds the dataset itself: name another directory")
        return self
