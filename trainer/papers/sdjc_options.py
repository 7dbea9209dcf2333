"""`python -m wikianchor.trainer.papers sdjc --text=FILES --model=... --evaluation=... --output=...`: from a domain's
text to SDJC's table 8: its own models and what they are compared with, on the Japanese sets that are there.

    OUTPUT/corpus      wikianchor corpus
    OUTPUT/t5          wikianchor train t5, from --t5 or a new one
    OUTPUT/negatives   wikianchor negatives
    OUTPUT/runs/...    wikianchor train sdjc, for each row that is trained
    OUTPUT/sdjc.md     the table

Rows: the model as it is, its vectors averaged and whitened; SimCSE, MixCSE and SDJC on the domain; with --general
(wiki1m, as `wikianchor corpus --sample` makes it) SimCSE on that and jointly on both, and SDJC trained on there; with
--nli supervised SimCSE, and SDJC trained on there. What a former call has made is not made again.

With --made=DIR in the place of --text, DIR/corpus and DIR/negatives are there already.

Every option of `wikianchor train sdjc` may be given, and holds for all rows that are trained.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from typing import Any

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import FlagParser
from wikianchor.trainer.config import Config, add_flags
from wikianchor.trainer.papers.tables import seeds_of
from wikianchor.trainer.presets import PRESETS


def parse(argv: Sequence[str]) -> tuple[dict[str, Any], argparse.Namespace]:
    """Return the trainer's options and our own.

    Raises:
        UsageError: a flag is missing, or has no meaning here.
    """
    parser = FlagParser(
        prog="python -m wikianchor.trainer.papers sdjc",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own = parser.add_argument_group("the recipe")
    own.add_argument("--text", default="", metavar="FILES", help="the domain's text, as wikianchor corpus takes it")
    own.add_argument("--made", default="", metavar="DIR", help="instead: a directory with corpus/ and negatives/")
    own.add_argument(
        "--evaluation", required=True, metavar="DIR", help="evaluation sets, as wikianchor.trainer.evaluate takes it"
    )
    own.add_argument("--t5", default="", help="a T5 to begin from: a directory or a name on the Hub (a new one)")
    own.add_argument("--general", default="", help="sentences of no domain: datasets or files, with commas")
    own.add_argument("--nli", default="", help="a file of sent0, sent1, hard_neg: JSNLI")
    own.add_argument("--rows", default="", help="those to show, by their names with semicolons (all that can be)")
    own.add_argument("--seeds", default="42", type=seeds_of, help="a training for each, with commas (42)")
    own.add_argument("--tasks", default="sts-ja,beir", help="what is scored (sts-ja,beir)")
    own.add_argument("--corpus_flags", default="", help="more flags of wikianchor corpus, in one string")
    own.add_argument("--t5_flags", default="", help="of wikianchor.trainer.task t5: --new=small --epochs=10")
    own.add_argument("--negatives_flags", default="", help="of wikianchor negatives: --beams=50 --spans=nouns")
    add_flags(parser, "sdjc")
    everything = vars(parser.parse_args(list(argv)))
    names = {option.name for option in dataclasses.fields(Config)}
    flags = {name: value for name, value in everything.items() if name in names}
    if preset := PRESETS.get(flags.get("preset", "")):
        flags.setdefault("model", preset["model"])
    for name, instead in (("seed", "--seeds"), ("data", "--text"), ("then", "--nli or --general")):
        if name in flags:
            raise UsageError(f"--{name}: the recipe has several rows: use {instead}")
    for name in ("model", "output"):
        if not flags.get(name):
            raise UsageError(f"--{name} is missing")
    if bool(everything["text"]) == bool(everything["made"]):
        raise UsageError("--text or --made: give one of them")
    rest = {name: value for name, value in everything.items() if name not in names}
    return flags, argparse.Namespace(**rest)
