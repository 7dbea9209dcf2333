"""`python -m wikianchor.trainer.papers.construction filter|compare`: from English STS to a Japanese set, and which
version is best.

    python -m wikianchor.trainer.papers.construction filter --source=sts-dev.csv \\
        --translator='mt {source} {target}' --output=out
    python -m wikianchor.trainer.papers.construction compare --data=out/bleu-0.csv --data=out/all.csv \\
        --test=valid-v1.3.json --model=DIR

`filter` writes OUTPUT/all.csv and OUTPUT/bleu-T.csv for each threshold T: the pairs of which both sentences, translated
back, have a BLEU-1 above T. A translator reads a sentence a line and writes a sentence a line. Instead of one, files
may be given: --translations and --back, two sentences a line with a tab between.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from wikianchor.io.flags import FlagParser

# Those of the paper.
THRESHOLDS = "0,0.05,0.1,0.15,0.2,0.25,0.3"


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the flags."""
    found = FlagParser(
        prog="python -m wikianchor.trainer.papers.construction",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = found.add_subparsers(dest="command", required=True)
    one = commands.add_parser("filter", help="pairs and their translations -> versions of a set")
    one.add_argument("--source", required=True, metavar="FILE", help="scored pairs, in any layout of STS")
    one.add_argument("--output", required=True, metavar="DIR", help="where the versions go")
    one.add_argument("--translator", default="", metavar="COMMAND", help="with {source} and {target} for en and ja")
    one.add_argument("--translations", default="", metavar="FILE", help="in Japanese, two sentences a line")
    one.add_argument("--back", default="", metavar="FILE", help="these in English again, two sentences a line")
    one.add_argument("--thresholds", default=THRESHOLDS, help=f"of BLEU-1, with commas ({THRESHOLDS})")
    other = commands.add_parser("compare", help="versions of a set -> which teaches a regression most")
    other.add_argument("--data", action="append", required=True, metavar="FILE", help="a version; repeatable")
    other.add_argument("--test", required=True, metavar="FILE", help="scored pairs that people wrote: JSTS")
    other.add_argument("--model", required=True, help="a BERT: a directory or a name on the Hub")
    other.add_argument("--epochs", type=int, default=3, help="times through the pairs (3, as in the paper)")
    other.add_argument("--learning_rate", type=float, default=5e-5, help="at its highest (5e-5, as in the paper)")
    other.add_argument("--batch_size", type=int, default=32, help="pairs of a step (32)")
    other.add_argument("--max_length", type=int, default=128, help="tokens kept of a pair (128)")
    other.add_argument("--seed", type=int, default=42, help="of the order and of what begins at random (42)")
    other.add_argument("--device", default="", help="cuda where there is one, else cpu")
    return found.parse_args(argv)
