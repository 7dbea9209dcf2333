"""`python -m wikianchor.trainer.papers.figures words|polar|cases`: figures 6 and 7 of SDJC's paper and table 8 of
EASE's, for any models and any pairs.

    python -m wikianchor.trainer.papers.figures words --model=A --model=B --pairs=JSTS=valid-v1.3.json \\
        --output=words.png
    python -m wikianchor.trainer.papers.figures polar --model=BEFORE --model=AFTER --pairs=JAC-sts-dev.csv \\
        --output=polar.png
    python -m wikianchor.trainer.papers.figures cases --model=EASE --model=SIMCSE --pairs=sts-test.csv \\
        --output=cases.md

A file of pairs has two columns of similar sentences, or is any scored set that wikianchor.trainer.evaluate reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.options import add_options, at_least, option, program, read_options
from wikianchor.trainer.choices import POOLERS


@dataclass(frozen=True, kw_only=True)
class FigureOptions:
    """Options of both figures."""

    model: tuple[str, ...] = option(repeat=True, help="a directory or a name on the Hub; repeatable")
    output: str = option(metavar="FILE", help="file of the figure: .png, .svg, .pdf; of cases: .md")
    pooler: str | None = option(
        None,
        choices=POOLERS,
        help="how token vectors become the vector of a text",
        unset="as the model says, else avg",
    )
    max_length: int | None = option(None, help="tokens kept of a text", unset="as many as the model takes")
    batch_size: int = option(128, help="texts encoded at once")
    device: str = option("", help="device of the models", unset="cuda where there is one, else cpu")


@dataclass(frozen=True, kw_only=True)
class WordsFigureOptions(FigureOptions):
    """Options of the command `words`."""

    pairs: tuple[str, ...] = option(repeat=True, metavar="[NAME=]FILE", help="similar pairs; repeatable")
    least: float = option(4.0, help="gold score from which a pair is similar")
    json: bool = option(False, help="print the shares as JSON, not as a table")


@dataclass(frozen=True, kw_only=True)
class PolarFigureOptions(FigureOptions):
    """Options of the command `polar`."""

    pairs: str = option("", metavar="FILE", help="similar pairs")
    retrieval: str = option("", metavar="DIR", help="instead: a set in BEIR's layout, or QABot as released")
    least: float = option(4.0, help="gold score from which a pair is similar")
    most: int = option(100, help="largest number of pairs, or of texts that answer no query", check=at_least(1))
    seed: int = option(42, help="seed of that choice, and of UMAP")

    def completed(self) -> PolarFigureOptions:
        """Check that there is something to draw.

        Raises:
            UsageError: neither pairs nor a set for retrieval are given, or both.
        """
        if bool(self.pairs) == bool(self.retrieval):
            raise UsageError("--pairs or --retrieval: give one of them")
        return self


@dataclass(frozen=True, kw_only=True)
class CasesOptions(FigureOptions):
    """Options of the command `cases`."""

    pairs: str = option(metavar="FILE", help="pairs with gold scores")
    most: int = option(3, help="number of pairs in each list", check=at_least(1))

    def completed(self) -> CasesOptions:
        """Check that there are two models to compare.

        Raises:
            UsageError: there is another number of them.
        """
        if len(self.model) != 2:
            raise UsageError(f"--model: two models are compared, and {len(self.model)} are given")
        return self


def parse(argv: Sequence[str] | None) -> WordsFigureOptions | PolarFigureOptions | CasesOptions:
    """Return the options of a command line."""
    parser = program("python -m wikianchor.trainer.papers.figures", __doc__ or "")
    commands = parser.add_subparsers(dest="command", required=True)
    words = commands.add_parser("words", help="parts of speech of the words that make pairs similar, as a heat map")
    add_options(words, WordsFigureOptions)
    add_options(commands.add_parser("polar", help="where pairs lie, before and after"), PolarFigureOptions)
    cases = commands.add_parser("cases", help="pairs that the first model scores better, and worse, than the second")
    add_options(cases, CasesOptions)
    given = parser.parse_args(argv)
    if given.command == "cases":
        return read_options(CasesOptions, given)
    if given.command == "words":
        return read_options(WordsFigureOptions, given)
    return read_options(PolarFigureOptions, given)
