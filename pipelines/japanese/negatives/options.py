"""The options of `wikianchor negatives`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.options import at_least, fraction, option
from wikianchor.pipelines.japanese.choices import SPAN_RULES


@dataclass(frozen=True, kw_only=True)
class NegativesOptions:
    """Options of the stage `negatives`."""

    corpus: str = option(metavar="DIRS", help="one or more `corpus` datasets", recorded=False)
    model: str = option(metavar="DIR", help="a T5, as `wikianchor train t5` makes them", recorded=False)
    output: str = option(metavar="DIR", help="directory of the dataset", recorded=False)
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
    negatives: int = option(4, metavar="K", help="largest number of negatives of a sentence", check=at_least(1))
    beams: int = option(20, help="width of the beam search; all ranks are judged; the paper has 200", check=at_least(1))
    first_rank: int = option(1, help="leave the likelier ranks out", check=at_least(1))
    near: float = option(
        0.95, help="overlap of trigrams from which a candidate is too near to the sentence", check=fraction
    )
    longest: int = option(200, help="sentences of more characters are left out", check=at_least(1))
    hole_tokens: int = option(
        15, help="largest number of pieces of a fill, by default as in the released code", check=at_least(1)
    )
    seed: int = option(42, help="seed of the choice of spans where --share is below 1")
    device: str = option("", unset="cuda where there is one, else cpu", help="where the T5 runs", recorded=False)

    def completed(self) -> NegativesOptions:
        """Check that the options go together.

        Raises:
            UsageError: they do not.
        """
        if self.first_rank + self.negatives - 1 > self.beams:
            raise UsageError(f"--beams={self.beams}: too few for {self.negatives} from rank {self.first_rank} on")
        return self
