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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wikianchor.io.errors import UsageError
from wikianchor.io.options import add_options, option, program, read_options
from wikianchor.trainer.config import add_flags
from wikianchor.trainer.papers.tables import training_flags
from wikianchor.trainer.presets import PRESETS


@dataclass(frozen=True, kw_only=True)
class SdjcRecipeOptions:
    """Options of the recipe, beside those of the training."""

    text: str = option("", metavar="FILES", help="the domain's text, as wikianchor corpus takes it")
    made: str = option("", metavar="DIR", help="instead: a directory with corpus/ and negatives/")
    evaluation: str = option(metavar="DIR", help="evaluation sets, as wikianchor.trainer.evaluate takes it")
    t5: str = option("", help="a T5 to start from: a directory or a name on the Hub", unset="a new one")
    general: str = option("", help="sentences of no domain: datasets or files, with commas")
    nli: str = option("", help="a file of sent0, sent1, hard_neg: JSNLI")
    rows: str = option("", help="rows to show, by their names with semicolons", unset="all that can be")
    seeds: tuple[int, ...] = option((42,), help="seeds with commas, one training for each")
    tasks: str = option("sts-ja,beir", help="tasks to score")
    corpus_flags: str = option("", help="more flags of wikianchor corpus, in one string")
    t5_flags: str = option("", help="more flags of wikianchor train t5, such as --new=small --epochs=10")
    negatives_flags: str = option("", help="more flags of wikianchor negatives, such as --beams=50 --spans=nouns")


def parse(argv: Sequence[str]) -> tuple[dict[str, Any], SdjcRecipeOptions]:
    """Return the options of the training that are given, and those of the recipe.

    Raises:
        UsageError: an option is missing, or has no meaning here.
    """
    parser = program("python -m wikianchor.trainer.papers sdjc", __doc__ or "")
    add_options(parser.add_argument_group("the recipe"), SdjcRecipeOptions)
    add_flags(parser, "sdjc")
    given = parser.parse_args(list(argv))
    flags, recipe = training_flags(given), read_options(SdjcRecipeOptions, given)
    if preset := PRESETS.get(flags.get("preset", "")):
        flags.setdefault("model", preset["model"])
    for name, instead in (("seed", "--seeds"), ("data", "--text"), ("then", "--nli or --general")):
        if name in flags:
            raise UsageError(f"--{name}: the recipe has several rows: use {instead}")
    for name in ("model", "output"):
        if not flags.get(name):
            raise UsageError(f"--{name} is missing")
    if bool(recipe.text) == bool(recipe.made):
        raise UsageError("--text or --made: give one of them")
    return flags, recipe
