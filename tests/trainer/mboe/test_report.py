"""Reports: the correlation of gains with numbers of entities."""

import pytest

from wikianchor.trainer.mboe.report import correlation_table

# Table 3.3 and 3.8 of the thesis, M-BoE and mBERT on MLDoc.
LANGUAGES = ("en", "fr", "de", "ja", "zh", "it", "ru", "es")
MBERT = dict(zip(LANGUAGES, (0.940, 0.794, 0.751, 0.693, 0.680, 0.671, 0.653, 0.752), strict=True))
MBOE = dict(zip(LANGUAGES, (0.941, 0.840, 0.769, 0.711, 0.722, 0.700, 0.689, 0.755), strict=True))
SIZES = dict(zip(LANGUAGES, (105.8, 97.8, 78.9, 47.9, 34.5, 53.2, 64.6, 72.3), strict=True))


def test_the_correlation_is_that_of_the_thesis() -> None:
    table = correlation_table({1: MBOE}, "en", SIZES, {1: MBERT}, "accuracy")
    head, counts, gains = (table.splitlines()[number] for number in (2, 4, 5))
    assert head == "|  | de | es | fr | it | ja | ru | zh | Pearson |"
    assert counts == "| entities of a document | 78.9 | 72.3 | 97.8 | 53.2 | 47.9 | 64.6 | 34.5 |  |"
    # The gains are those of the thesis, whose correlation is -0.13: it has scores of more digits.
    assert gains == "| gain, % | 2.4 | 0.4 | 5.8 | 4.3 | 2.6 | 5.5 | 6.2 | -0.14 |"


@pytest.mark.parametrize(
    ("languages", "shared"), [(("en", "de", "fr"), 1), (LANGUAGES, 2)], ids=["two targets", "no common seed"]
)
def test_too_few_have_no_correlation(languages: tuple[str, ...], shared: int) -> None:
    scores = {1: {name: MBOE[name] for name in languages}}
    assert correlation_table(scores, "en", SIZES, {shared: MBERT}, "accuracy") == ""
