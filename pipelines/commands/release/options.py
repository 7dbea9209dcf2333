"""The options of `wikianchor release`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import nearest_or_all
from wikianchor.io.option_groups import DryRun, Output, Target
from wikianchor.io.options import option
from wikianchor.pipelines.wikimedia.options import DumpPaths

DESCRIPTION = """\
Make and publish a model by one command: download the dumps, build the pairs, train, evaluate, and publish the model
with its scores in the card. Each step is a command of wikianchor, with the options of its table in the recipe; the last
one, `wikianchor publish`, sends a dataset or a model that is there. With --dumps, a directory of dumps, nothing is
downloaded. With an empty table [vectors] EASE starts from entity vectors that are trained on the pairs. The same
command, given again, continues where it stopped. A recipe with a table [mewsc16] makes and publishes MewsC-16 instead:
download, mewsc16, publish.
"""
STEPS = ("download", "build", "vectors", "train", "evaluate", "publish")
# Those of a recipe for MewsC-16 are download, this one, and publish.
MEWSC16 = "mewsc16"


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(DryRun, Target, DumpPaths, Output):
    """Options of the command `release`."""

    recipe: str = option(
        positional=True,
        help="TOML file with tables of options: [download], [build], [vectors], [train.ease], [evaluate], "
        "[publish]; or [download], [mewsc16], [publish]",
    )
    target: str = ""
    # A directory of dumps that are there, in place of the download.
    dumps: str = ""
    evaluation: str = option(
        "", metavar="DIR", help="directory of evaluation sets, for the scores and to choose the best weights"
    )
    steps: tuple[str, ...] = option((*STEPS, MEWSC16), help="the steps to do, with commas")

    def completed(self) -> ReleaseOptions:
        """Check the steps, and the options that they need.

        Raises:
            UsageError: there is no such step, or an option is missing.
        """
        if unknown := [step for step in self.steps if step not in (*STEPS, MEWSC16)]:
            raise UsageError(f"--steps={unknown[0]}: no such step{nearest_or_all(unknown[0], (*STEPS, MEWSC16))}")
        if "publish" in self.steps and not self.target:
            raise UsageError("--to is missing: name a place, or leave publish out of --steps")
        if "://" in self.output:
            raise UsageError(f"--output={self.output}: must be a directory of this machine")
        return self
