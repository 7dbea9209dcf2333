"""`wikianchor papers`: the papers' tables, figure 2 of EASE, and what hard negatives add, for any models and sets.

    wikianchor papers tables table2 --data=out/pairs --dev=eval --evaluation=eval --output=out/tables
    wikianchor papers tables sdjc --data=out/clinic --model=DIR --evaluation=eval --output=out/tables
    wikianchor papers figure2 --dumps=dumps --model=DIR --evaluation=eval --output=out/figure2
    wikianchor papers negatives --data=out/pairs --model=DIR --evaluation=eval --output=out/negatives

What the command prints is written to OUTPUT/NAME.md too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wikianchor.io.flags import FlagParser
from wikianchor.io.options import add_options, option, program, read_options
from wikianchor.trainer.config import CONFIGS
from wikianchor.trainer.option_groups import Seeds
from wikianchor.trainer.papers.rows import COMPARISONS, TABLES

TABLE_HELP = """\
{title}.

Each row is trained once for each seed and evaluated; the table shows means over the seeds with their standard
deviations. What an earlier call has trained is not trained again, so tables that share a model share its training.
Every option of `wikianchor train {objective}` may be given, and holds for all rows that are trained.
"""
SDJC_HELP = (
    "\n--data is a directory with corpus/ and negatives/, as `wikianchor corpus` and `wikianchor negatives` make.\n"
)
ARMS_HELP = """\
{title}.

Arms: {arms}. Each is trained once for each seed, scored, and removed; scores are kept in OUTPUT/scores, so the same
command goes on where it was stopped. Entities begin with the vectors of their labels unless --entity_vectors names
others. Every option of `wikianchor train ease` may be given, and holds for all arms. With --new in place of --model,
training has a random start, and arms that need an encoder are left out.
"""


@dataclass(frozen=True, kw_only=True)
class SeedOptions(Seeds):
    """Options of everything that is trained with several seeds and scored."""

    evaluation: str = option(metavar="DIR", help="directory with evaluation sets somewhere under it")
    seeds: tuple[int, ...] = (42, 43, 44)


@dataclass(frozen=True, kw_only=True)
class ArmOptions(SeedOptions):
    """Options of a comparison, beside those of the training."""

    dumps: str = option(
        "", metavar="PATHS", help="instead of `data`: dumps to build pairs from; without Wikidata's, items are guessed"
    )
    seeds: tuple[int, ...] = (42, 43, 44, 45, 46)


@dataclass(frozen=True, kw_only=True)
class TableOptions(SeedOptions):
    """Options of a table, beside those of the training."""

    variant: str = option("paper", choices=("paper", "released"), help="whose settings of EASE, where they differ")
    published: bool = option(
        default=False, help="score the published models as well that the paper compares with: table1"
    )
    backbones: str = option("", help="EASE's backbones to show, and what replaces them: bert,mbert=DIR", unset="all")
    rows: str = option("", help="rows to show, by their names with semicolons", unset="all that can be")
    general: str = option("", help="SDJC's sentences of no domain: datasets or files, with commas")
    nli: str = option("", help="SDJC's file of sent0, sent1, hard_neg: JSNLI")


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
            add_options(parser_of_table, CONFIGS[table.objective])
    for name, comparison in COMPARISONS.items():
        about = ARMS_HELP.format(title=comparison.title, arms=", ".join(arm.name for arm in comparison.arms))
        parser_of_arms = kinds.add_parser(name, help=comparison.title, description=about)
        if name in argv:
            add_options(parser_of_arms.add_argument_group("the comparison"), ArmOptions)
            add_options(parser_of_arms, CONFIGS["ease"])
    return parser


def parse(argv: Sequence[str]) -> tuple[str, TableOptions | ArmOptions, dict[str, Any]]:
    """Return the name of a table or comparison, its options, and those of its trainings.

    Raises:
        UsageError: an option is wrong, missing, or has no meaning here.
    """
    given = papers_parser(argv).parse_args(argv)
    name = getattr(given, "command", given.kind)
    options = read_options(ArmOptions, given) if name in COMPARISONS else read_options(TableOptions, given)
    flags = {key: value for key, value in vars(given).items() if key not in ("kind", "command", *vars(options))}
    plan = COMPARISONS.get(name) or TABLES[name]
    plan.check({**flags, **vars(options)})
    return name, options, flags
