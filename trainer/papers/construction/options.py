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

from collections.abc import Sequence
from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.options import above, add_options, at_least, option, program, read_options


def _thresholds(values: tuple[float, ...]) -> str:
    return "" if all(0 <= value < 1 for value in values) else "must be 0 or more, and below 1"


@dataclass(frozen=True, kw_only=True)
class FilterOptions:
    """Options of the command `filter`."""

    source: str = option(metavar="FILE", help="scored pairs, in any layout of STS")
    output: str = option(metavar="DIR", help="directory of the versions")
    translator: str = option("", metavar="COMMAND", help="with {source} and {target} for en and ja")
    translations: str = option("", metavar="FILE", help="in Japanese, two sentences a line")
    back: str = option("", metavar="FILE", help="these in English again, two sentences a line")
    thresholds: tuple[float, ...] = option(
        (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3),
        help="thresholds of BLEU-1, with commas; by default those of the paper",
        check=_thresholds,
    )

    def completed(self) -> FilterOptions:
        """Check that the translations are given once.

        Raises:
            UsageError: they are given twice or not at all.
        """
        given = bool(self.translations), bool(self.back)
        if any(given) == bool(self.translator) or given[0] != given[1]:
            raise UsageError("give --translator, or both --translations and --back")
        return self


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Options of the command `compare`. The paper states epochs and learning rate, and not the others."""

    data: tuple[str, ...] = option(repeat=True, metavar="FILE", help="a version; repeatable")
    test: str = option(metavar="FILE", help="scored pairs that people wrote: JSTS")
    model: str = option(help="a BERT: a directory or a name on the Hub")
    epochs: int = option(3, help="times through the pairs", check=at_least(1))
    learning_rate: float = option(5e-5, help="highest learning rate", check=above(0))
    batch_size: int = option(32, help="pairs of a step", check=at_least(1))
    max_length: int = option(128, help="tokens kept of a pair", check=at_least(1))
    seed: int = option(42, help="seed of the order and of all initial values")
    device: str = option("", help="device of the training", unset="cuda where there is one, else cpu")


def parse(argv: Sequence[str] | None) -> FilterOptions | CompareOptions:
    """Return the options of a command line."""
    parser = program("python -m wikianchor.trainer.papers.construction", __doc__ or "")
    commands = parser.add_subparsers(dest="command", required=True)
    add_options(commands.add_parser("filter", help="pairs and their translations -> versions of a set"), FilterOptions)
    add_options(
        commands.add_parser("compare", help="versions of a set -> which teaches a regression most"), CompareOptions
    )
    given = parser.parse_args(argv)
    if given.command == "filter":
        return read_options(FilterOptions, given)
    return read_options(CompareOptions, given)
