"""The options of `wikianchor negatives`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import Device, Negatives, Output, Seed
from wikianchor.io.options import at_least, fraction, option
from wikianchor.pipelines.japanese.choices import SPAN_RULES


@dataclass(frozen=True, kw_only=True)
class NegativesOptions(Device, Seed, Negatives, Output):
    """Options of the stage `negatives`."""

    FIRST: ClassVar[tuple[str, ...]] = ("corpus", "model", "output", "negatives", "device")

    model: str = option(metavar="DIR", help="a T5, as `wikianchor train t5` makes them", recorded=False)
    negatives: int = 4
    corpus: str = option(metavar="DIRS", help="one or more `corpus` datasets", recorded=False)
    spans: str = option(
        "chunks",
        choices=SPAN_RULES,
        help="which spans are filled: nouns, nouns_names (runs of these), chunks (noun phrases, objects too), bunsetu "
        "(head nouns), released (as the released code: no objects, first occurrence of the words)",
    )
    share: float = option(1.0, help="share of a sentence's spans that is filled, at least one", check=fraction)
    fill: str = option(
        "all",
        choices=("all", "each"),
        help="all spans in one decode, or each after the other in the result, as the released code does",
    )
    beams: int = option(20, help="width of the beam search; all ranks are judged; the paper has 200", check=at_least(1))
    first_rank: int = option(1, help="leave the likelier ranks out", check=at_least(1))
    near: float = option(
        0.95, help="overlap of trigrams from which a candidate is too near to the sentence", check=fraction
    )
    longest: int = option(200, help="sentences of more characters are left out", check=at_least(1))
    hole_tokens: int = option(
        15, help="largest number of pieces of a fill, by default as in the released code", check=at_least(1)
    )

    def completed(self) -> NegativesOptions:
        """Check that the options go together.

        Raises:
            UsageError: they do not.
        """
        if not self.negatives:
            raise UsageError("--negatives=0: must be 1 or more")
        if self.first_rank + self.negatives - 1 > self.beams:
            raise UsageError(f"--beams={self.beams}: too few for {self.negatives} from rank {self.first_rank} on")
        return self
