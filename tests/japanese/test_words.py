"""`wikianchor words`: a corpus in, a picture out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.stand_in import write_dataset
from wikianchor.schemas import corpus

ROWS = [("患者", "NOUN", 9), ("症例", "NOUN", 7), ("こと", "NOUN", 50), ("例", "NOUN", 40), ("東京", "PROPN", 3)]
ROWS += [("する", "VERB", 90), ("患者", "PROPN", 1), ("%%", "NOUN", 8)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = [{"word": word, "pos": pos, "count": count} for word, pos, count in ROWS]
    return write_dataset(tmp_path / "corpus", "corpus", {}, {"words": (corpus.WORDS, [rows])}, corpus.VERSION)


def words(path: Path) -> list[str]:
    return [str(one.text) for one in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_nouns_that_say_something_the_frequent_ones_first(
    place: Path, tmp_path: Path, wikianchor: Callable[..., Any]
) -> None:
    target = tmp_path / "words.svg"
    ended = wikianchor("words", f"--corpus={place}", f"--output={target}")
    assert (ended.status, ended.said) == (0, [])
    assert words(target) == ["患者", "症例", "東京"]
    assert wikianchor("words", f"--corpus={place}", f"--output={target}", "--pos=VERB").status == 0
    assert words(target) == ["する"]
    assert wikianchor("words", f"--corpus={place}", f"--output={target}", "--most=1").status == 0
    assert words(target) == ["患者"]


@pytest.mark.parametrize(
    ("flags", "status", "says"),
    [
        (["--output=words.pdf"], 2, "the picture is an .svg file"),
        (["--most=0"], 2, "--most=0"),
        (["--pos=INTJ"], 2, "no word of the corpus is one of these"),
        (["--output=/nowhere/words.svg"], 1, "/nowhere/words.svg"),
        (["--corpus=/nowhere"], 1, "/nowhere"),
    ],
)
def test_one_line_for_what_is_wrong(
    flags: list[str], status: int, says: str, place: Path, tmp_path: Path, wikianchor: Callable[..., Any]
) -> None:
    ended = wikianchor("words", f"--corpus={place}", f"--output={tmp_path}/words.svg", *flags)
    assert ended.status == status
    assert len(ended.said) == 1
    assert says in ended.said[0]
