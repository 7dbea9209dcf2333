"""MinHash keys of nearly equal texts."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.arrays import minhash
from wikianchor.pipelines.arrays.minhash import OF_ANY, OF_ONE, band_keys, shingle_hashes

SENTENCE = "The village lies in the hills above the river, where 1,204 people live and grow apples and pears."


def common(first: str, second: str, scopes: tuple[int, int] = (0, 0)) -> int:
    """Return how many keys two texts have in common."""
    keys = band_keys([first, second], np.array(scopes, np.uint64), OF_ONE)
    return int((keys[0] == keys[1]).sum())


@pytest.mark.parametrize(
    ("other", "is_near"),
    [
        (SENTENCE.replace("1,204", "37,950"), True),
        (SENTENCE.replace("The ", "the  "), True),
        (SENTENCE.replace("pears", "plums"), True),
        ("It was founded by monks in the year 1204, and has belonged to the county since then.", False),
        (SENTENCE[:40], False),
    ],
)
def test_nearly_equal_texts_have_a_key_in_common(other: str, is_near: bool) -> None:
    assert (common(SENTENCE, other) > 0) == is_near


def test_texts_about_any_thing_have_to_be_more_alike() -> None:
    texts = [SENTENCE, SENTENCE.replace("1,204", "37,950"), SENTENCE.replace("pears", "plums")]
    first, digits, word = band_keys(texts, np.zeros(3, np.uint64), OF_ANY)
    assert (digits == first).all()
    assert not (word == first).any()


def test_texts_of_two_scopes_have_none() -> None:
    assert common(SENTENCE, SENTENCE) == OF_ONE
    assert common(SENTENCE, SENTENCE, scopes=(1, 2)) == 0


def test_texts_without_words_between_them_and_short_ones() -> None:
    assert common("村は川の上の丘にあり、1204人が住んでいる。", "村は川の上の丘にあり、37950人が住んでいる。") == OF_ONE
    assert common("A", "A") == OF_ONE
    assert common("A", "B") == 0
    assert band_keys([], np.zeros(0, np.uint64), OF_ONE).shape == (0, OF_ONE)


def test_no_shingle_reaches_into_the_next_text() -> None:
    hashes, offsets = shingle_hashes(["abcde", "f", "abcd"])
    assert offsets.tolist() == [0, 2, 3, 4]
    assert hashes[0] == hashes[3]
    assert len(set(hashes.tolist())) == 3


def test_the_keys_of_a_text_stay_the_same() -> None:
    # They decide which rows of a dataset stay: other keys need another version of rensa in pyproject.toml.
    assert band_keys([SENTENCE], np.zeros(1, np.uint64), OF_ONE)[0, :2].tolist() == [
        10692908256269538891,
        9483909737799388518,
    ]


def test_without_rensa(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rensa", None)
    with pytest.raises(
        UsageError, match=r"^near duplicates are found by rensa, which is not installed: pip install rensa"
    ):
        minhash.band_keys([SENTENCE], np.zeros(1, np.uint64), OF_ONE)


def test_texts_that_are_hashed_together_change_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, scopes = [SENTENCE[first:] for first in range(7)], np.arange(7, dtype=np.uint64)
    whole = band_keys(texts, scopes, OF_ONE)
    monkeypatch.setattr(minhash, "TEXTS_AT_ONCE", 3)
    assert (band_keys(texts, scopes, OF_ONE) == whole).all()
    assert band_keys([], scopes[:0], OF_ONE).shape == (0, OF_ONE)
