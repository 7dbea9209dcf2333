"""`wikianchor papers tables|figures|construction`: the tables and figures of the papers, for any models and sets.

    wikianchor papers tables table2 --data=out/pairs --dev=eval --evaluation=eval --output=out/tables
    wikianchor papers tables sdjc --data=out/clinic --model=DIR --evaluation=eval --output=out/tables
    wikianchor papers figures words --model=A --model=B --pairs=JSTS=JSTS-relevant.csv --output=out/figures
    wikianchor papers figures cases --model=EASE --model=SIMCSE --pairs=sts-test.csv --output=out/figures
    wikianchor papers construction filter --pairs=sts-dev.csv --translator='mt {source} {target}' --output=out/sts-ja
    wikianchor papers construction compare --pairs=out/sts-ja/all.csv --pairs=out/sts-ja/bleu-0.csv \\
        --test=valid-v1.3.json --model=DIR

What a command prints is written to OUTPUT/NAME.md too.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import FlagParser
from wikianchor.io.options import above, add_options, at_least, option, program, read_options
from wikianchor.trainer.command import check_flags
from wikianchor.trainer.config import add_flags
from wikianchor.trainer.evaluate.options import EncoderOptions, LengthOptions, OutputOptions
from wikianchor.trainer.papers.rows import TABLES

VARIANTS = ("paper", "released")
TABLE_HELP = """\
{title}.

Each row is trained once for each seed and evaluated; the table shows means over the seeds with their standard
deviations. What an earlier call has trained is not trained again, so tables that share a model share its training.
Every option of `wikianchor train {objective}` may be given, and holds for all rows that are trained.
"""
SDJC_HELP = (
    "\n--data is a directory with corpus/ and negatives/, as `wikianchor corpus` and `wikianchor negatives` make.\n"
)


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Options of a table, beside those of the training."""

    evaluation: str = option(metavar="DIR", help="directory with evaluation sets somewhere under it")
    seeds: tuple[int, ...] = option((42, 43, 44), help="seeds with commas, one training for each")
    variant: str = option("paper", choices=VARIANTS, help="whose settings of EASE, where they differ")
    published: bool = option(
        default=False, help="score the published models as well that the paper compares with: table1"
    )
    backbones: str = option("", help="EASE's backbones to show, and what replaces them: bert,mbert=DIR", unset="all")
    rows: str = option("", help="rows to show, by their names with semicolons", unset="all that can be")
    general: str = option("", help="SDJC's sentences of no domain: datasets or files, with commas")
    nli: str = option("", help="SDJC's file of sent0, sent1, hard_neg: JSNLI")


@dataclass(frozen=True, kw_only=True)
class PairsOptions(OutputOptions):
    """Which pairs of sentences are read."""

    pairs: tuple[str, ...] = option(
        repeat=True, metavar="[NAME=]FILE", help="scored pairs in any layout of STS, or two columns; repeatable"
    )


@dataclass(frozen=True, kw_only=True)
class WordsOptions(PairsOptions, EncoderOptions):
    """Options of `figures words`."""

    least: float = option(4.0, help="gold score from which a pair is similar")

    def completed(self) -> WordsOptions:
        """Return the options; raises UsageError without a model."""
        self.need("model")
        return self


@dataclass(frozen=True, kw_only=True)
class CasesOptions(PairsOptions, EncoderOptions):
    """Options of `figures cases`."""

    most: int = option(3, help="number of pairs in each list", check=at_least(1))

    def completed(self) -> CasesOptions:
        """Return the options; raises UsageError unless there are two models to compare."""
        if len(self.model) != 2:
            raise UsageError(f"--model: two models are compared, and {len(self.model)} are given")
        return self


@dataclass(frozen=True, kw_only=True)
class FilterOptions(PairsOptions):
    """Options of `construction filter`."""

    translator: str = option(
        "", metavar="COMMAND", help="reads and writes a sentence a line; with {source} and {target} for en and ja"
    )
    translations: str = option("", metavar="FILE", help="instead: in Japanese, two sentences a line with a tab between")
    back: str = option("", metavar="FILE", help="these in English again, likewise")
    thresholds: tuple[float, ...] = option(
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3),
        help="thresholds of BLEU-1, with commas; by default those of the paper",
        check=lambda values: "" if all(0 <= value < 1 for value in values) else "must be 0 or more, and below 1",
    )

    def completed(self) -> FilterOptions:
        """Return the options; raises UsageError unless the translations are given once."""
        self.need("output")
        if len(self.pairs) != 1:
            raise UsageError(f"--pairs: one set is filtered, and {len(self.pairs)} are given")
        given = bool(self.translations), bool(self.back)
        if any(given) == bool(self.translator) or given[0] != given[1]:
            raise UsageError("give --translator, or both --translations and --back")
        return self


@dataclass(frozen=True, kw_only=True)
class CompareOptions(PairsOptions, LengthOptions):
    """Options of `construction compare`. The paper states epochs and learning rate, and not the others."""

    test: str = option(metavar="FILE", help="scored pairs that people wrote: JSTS")
    epochs: int = option(3, help="times through the pairs", check=at_least(1))
    learning_rate: float = option(5e-5, help="highest learning rate", check=above(0))
    seed: int = option(42, help="seed of the order and of all initial values")
    batch_size: int = 32
    max_length: int | None = 128

    def completed(self) -> CompareOptions:
        """Return the options; raises UsageError unless there is one model."""
        if len(self.model) != 1:
            raise UsageError(f"--model: one model is trained, and {len(self.model)} are given")
        return self


# Options, and what the command prints.
COMMANDS: dict[str, tuple[type, str]] = {
    "figures words": (WordsOptions, "SDJC, figure 6: parts of speech of the words that make pairs similar"),
    "figures cases": (CasesOptions, "EASE, table 8: pairs that one model scores better, and worse, than another"),
    "construction filter": (FilterOptions, "SDJC, table 2: pairs and their translations -> versions of a set"),
    "construction compare": (
        CompareOptions,
        "SDJC, table 2: versions of a set -> which teaches a regression most",
    ),
}


def papers_parser(argv: Sequence[str]) -> FlagParser:
    """Return the command line. Of the tables only those named in `argv` have their options, which are many."""
    parser = program("wikianchor papers", __doc__ or "")
    kinds = parser.add_subparsers(dest="kind", required=True)
    commands = kinds.add_parser("tables", help="a table: its rows trained and scored").add_subparsers(
        dest="command", required=True
    )
    for name, table in TABLES.items():
        about = TABLE_HELP.format(title=table.title, objective=table.objective) + SDJC_HELP * (name == "sdjc")
        parser_of_table = commands.add_parser(name, help=table.title, description=about)
        if name in argv:
            add_options(parser_of_table.add_argument_group("the table"), TableOptions)
            add_flags(parser_of_table, table.objective)
    groups: dict[str, Any] = {}
    for words, (options, about) in COMMANDS.items():
        kind, _, name = words.partition(" ")
        if kind not in groups:
            groups[kind] = kinds.add_parser(kind).add_subparsers(dest="command", required=True)
        add_options(groups[kind].add_parser(name, help=about, description=about), options)
    return parser


def parse(argv: Sequence[str]) -> tuple[str, Any, dict[str, Any]]:
    """Return the command as "KIND NAME", its options, and those of the training of a table.

    Raises:
        UsageError: an option is wrong, missing, or has no meaning here.
    """
    given = vars(papers_parser(argv).parse_args(argv))
    kind, name = given.pop("kind"), given.pop("command")
    if kind != "tables":
        return f"{kind} {name}", read_options(COMMANDS[f"{kind} {name}"][0], argparse.Namespace(**given)), {}
    options = read_options(TableOptions, argparse.Namespace(**given))
    flags = {key: value for key, value in given.items() if key not in vars(options)}
    TABLES[name].check(flags)
    return f"tables {name}", options, flags


def answer(argv: Sequence[str]) -> None:
    """Print the help that a command line asks for, or what is wrong with its flags, and exit; else do nothing."""
    check_flags("papers", lambda: parse(argv))
