"""`python -m wikianchor.trainer.papers.figures words|polar`: figures 6 and 7 of SDJC's paper, for any models and
any pairs.

    python -m wikianchor.trainer.papers.figures words --model=A --model=B --pairs=JSTS=valid-v1.3.json \\
        --output=words.png
    python -m wikianchor.trainer.papers.figures polar --model=BEFORE --model=AFTER --pairs=JAC-sts-dev.csv \\
        --output=polar.png

A file of pairs has two columns of similar sentences, or is any scored set that wikianchor.trainer.evaluate reads.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from wikianchor.io.flags import FlagParser
from wikianchor.trainer.choices import POOLERS


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the flags."""
    found = FlagParser(
        prog="python -m wikianchor.trainer.papers.figures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = found.add_subparsers(dest="command", required=True)
    words = commands.add_parser("words", help="parts of speech of the words that make pairs similar, as a heat map")
    polar_form = commands.add_parser("polar", help="where pairs lie, before and after")
    for one in (words, polar_form):
        one.add_argument("--model", action="append", required=True, help="a directory or a name on the Hub; repeatable")
        one.add_argument("--output", required=True, help="file of the figure: .png, .svg, .pdf")
        one.add_argument("--least", type=float, default=4.0, help="gold score from which a pair is similar (4)")
        one.add_argument("--pooler", choices=POOLERS, help="as the model says, else avg")
        one.add_argument("--max_length", type=int, help="tokens kept of a text (as many as the model takes)")
        one.add_argument("--batch_size", type=int, default=128, help="texts encoded at once (128)")
        one.add_argument("--device", default="", help="cuda where there is one, else cpu")
    words.add_argument(
        "--pairs", action="append", required=True, metavar="[NAME=]FILE", help="similar pairs; repeatable"
    )
    words.add_argument("--json", action="store_true", help="print the shares as JSON, not as a table")
    polar_form.add_argument("--pairs", default="", metavar="FILE", help="similar pairs")
    polar_form.add_argument("--retrieval", default="", metavar="DIR", help="instead: a set in BEIR's layout")
    polar_form.add_argument("--most", type=int, default=100, help="pairs, or texts that answer no query (100)")
    polar_form.add_argument("--seed", type=int, default=42, help="of that choice, and of UMAP (42)")
    return found.parse_args(argv)
