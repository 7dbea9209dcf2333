"""`wikianchor evaluate --model=... --data=... --tasks=...`: the scores of models, as tables and as JSON.

    wikianchor evaluate --model=models/ease/model --model=bert-base-uncased --data=eval/ --tasks=sts

A model is a directory of transformers or of sentence-transformers, ours included, or a name on the Hub. The sets are
found by their released file names anywhere under --data; what is not there is named, with where to get it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from wikianchor.io.flags import FlagParser
from wikianchor.trainer.choices import POOLERS
from wikianchor.trainer.command import check_flags


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    found = FlagParser(
        prog="wikianchor evaluate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("--model", action="append", required=True, help="a directory or a name on the Hub; repeatable")
    found.add_argument("--data", default="", help="directory with evaluation sets somewhere under it")
    found.add_argument("--tasks", default="all", help="tasks or groups of them, with commas (all that are there)")
    found.add_argument("--sts", action="append", default=[], help="one more file of scored pairs; repeatable")
    found.add_argument(
        "--split", default="test", choices=("test", "dev"), help="the part to score, where there are two"
    )
    found.add_argument("--pooler", choices=POOLERS, help="as the model says, else avg")
    found.add_argument("--max_length", type=_positive, help="tokens kept of a text (as many as the model takes)")
    found.add_argument("--batch_size", type=_positive, default=128, help="texts encoded at once (128)")
    found.add_argument("--device", default="", help="cuda where there is one, else cpu")
    found.add_argument("--seeds", type=_positive, default=10, help="runs of what begins at random, from seed 0 on (10)")
    found.add_argument("--normalize", action="store_true", help="cluster and classify vectors of unit length")
    found.add_argument(
        "--whiten", type=_positive, default=0, metavar="DIM", help="BERT-whitening of each set, DIM directions kept"
    )
    found.add_argument("--languages", default="", help="those to score, with commas (all that are there)")
    found.add_argument("--output", default="", help="directory for report.md and results/MODEL/REVISION/TASK.json")
    found.add_argument("--plot", default="", help="file for the scatter plot of alignment and uniformity: .png, .svg")
    found.add_argument(
        "--clusters",
        default="",
        help="file for a plot of MewsC-16's clusters, of one model in one language: .png, .svg",
    )
    found.add_argument("--json", action="store_true", help="print the results as JSON, not as tables")
    return found


def answer(argv: Sequence[str]) -> None:
    """Print the help that a command line asks for, or what is wrong with its flags, and exit; else do nothing."""
    check_flags("evaluate", lambda: parser().parse_args(argv))


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be 1 or more")
    return value
