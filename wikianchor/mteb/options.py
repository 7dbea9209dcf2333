"""`wikianchor mteb --data=DIR --output=DIR`: MewsC-16 by mteb's protocol.

    wikianchor mteb --data=out/mewsc16 --model=models/ease/model --output=out/mteb

Writes descriptive_stats/Clustering/TASK.json and, for each model, results/MODEL/REVISION/TASK.json, as mteb's own
repositories have them, and prints a table. Without --model it writes the statistics alone. A model is a directory, or a
name on the Hub that mteb knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wikianchor.io.options import program, read_options
from wikianchor.trainer.evaluate.options import SetOptions
from wikianchor.trainer.option_groups import ModelOptions


@dataclass(frozen=True, kw_only=True)
class MtebOptions(SetOptions, ModelOptions):
    """Options of the command `mteb`."""

    def completed(self) -> MtebOptions:
        """Return the options; raises UsageError without a dataset or a directory for the results."""
        self.need("data", "output")
        return self


def parse(argv: Sequence[str]) -> MtebOptions:
    """Return the options of a command line."""
    return read_options(MtebOptions, program("wikianchor mteb", __doc__ or "", MtebOptions).parse_args(argv))
