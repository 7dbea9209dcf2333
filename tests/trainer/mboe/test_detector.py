"""The dictionary on disk, and what is found with it in documents of all kinds."""

import io
import json
import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.mboe.mentions import write_mentions
from wikianchor.io.errors import InputError
from wikianchor.trainer.mboe import detect as command
from wikianchor.trainer.mboe.detector import bag_of, compose, detect
from wikianchor.trainer.mboe.dictionary import Dictionary, open_dictionary, open_mentions

NAMES = {
    "en": [
        ("Apple", 1, 60, 100),
        ("apple", 2, 30, 100),
        ("APPLE", 3, 3, 100),
        ("New York", 4, 9, 10),
        ("New York City", 5, 5, 5),
        ("York", 6, 1, 50),
        ("the", 7, 1, 1000),
        ("never linked", 8, 0, 4),
        ("Café", 9, 1, 1),
    ],
    "ja": [("東京", 4, 5, 9), ("京都", 5, 5, 9)],
}


@pytest.fixture
def mentions(tmp_path: Path) -> Path:
    return write_mentions(tmp_path / "mentions", NAMES)


@pytest.fixture
def english(mentions: Path, tmp_path: Path) -> Dictionary:
    return open_dictionary(open_mentions(str(mentions)), "en", str(tmp_path / "cache"))


def detected(text: str, dictionary: Dictionary, all_spans: bool = False) -> list[tuple[str, int]]:
    columns = detect(text, dictionary, all_spans)
    return [(text[a:b], qid) for a, b, qid in zip(columns.starts, columns.ends, columns.qids.tolist(), strict=True)]


def test_all_candidates_of_the_longest_names(english: Dictionary) -> None:
    text = "An APPLE of the  New\nYork City, York."
    assert detected(text, english) == [("APPLE", 1), ("APPLE", 2), ("New\nYork City", 5), ("York", 6)]
    assert detected(text, english, all_spans=True) == [
        ("APPLE", 1),
        ("APPLE", 2),
        ("New\nYork City", 5),
        ("New\nYork", 4),
        ("York", 6),
        ("York", 6),
    ]


def test_numbers_of_a_candidate(english: Dictionary) -> None:
    columns = detect("apple and apple", english)
    assert columns.qids.tolist() == [1, 2, 1, 2]
    assert columns.probability.tolist() == pytest.approx([0.93] * 4)
    assert columns.commonness.tolist() == pytest.approx([60 / 93, 30 / 93] * 2)
    assert columns.links.tolist() == [60, 30] * 2
    assert columns.counts.tolist() == [2] * 4
    bag = bag_of(columns)
    assert (bag.qids.tolist(), bag.counts.tolist()) == ([1, 2], [2, 2])


def test_thresholds_below_and_above_those_of_the_dataset(mentions: Path, tmp_path: Path) -> None:
    opened, cache = open_mentions(str(mentions)), str(tmp_path / "cache")
    everything = open_dictionary(opened, "en", cache, 0.0, 0.0)
    assert detected("the APPLE never linked", everything) == [("the", 7), ("APPLE", 1), ("APPLE", 2), ("APPLE", 3)]
    strict = open_dictionary(opened, "en", cache, 0.95, 0.5)
    assert detected("apple New York City Café", strict) == [("New York City", 5), ("Café", 9)]
    with pytest.raises(InputError, match=r"no name of enwiki is a link as often as 1\.0 and leads .* as often as 1\.1"):
        open_dictionary(opened, "en", cache, 1.0, 1.1)


def test_letters_with_marks_written_apart(english: Dictionary) -> None:
    text = unicodedata.normalize("NFD", "été: Café, New York")
    assert detected(text, english) == [("Cafe\u0301", 9), ("New York", 4)]


def test_composing_keeps_places() -> None:
    for text in ("", "e\u0301a", "\u1112\u1161\u11ab글", "a" + "\u0301\u0316" * 100, "x\ud800e\u0301"):
        composed, places = compose(text)
        assert len(places) == len(composed) + 1
        assert places[-1] == len(text)
        if len(text) < 20:
            assert composed == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    "text", ["", " ", "\x00", "\ud800 nothing \udfff", "\u0301", "a" + "\u0301\u0316" * 50_000, "\U0010ffff" * 10]
)
def test_nothing_to_find(text: str, english: Dictionary) -> None:
    start = time.process_time()
    assert detected(text, english) == []
    assert bag_of(detect(text, english)).qids.tolist() == []
    assert time.process_time() - start < 5


def test_ten_thousand_candidates(english: Dictionary) -> None:
    text = "\ud800apple " * 5_000
    columns = detect(text, english)
    assert len(columns.qids) == 10_000
    assert set(columns.counts.tolist()) == {5_000}


def test_bad_input(mentions: Path, tmp_path: Path) -> None:
    opened = open_mentions(str(mentions))
    with pytest.raises(InputError, match=r"no dictionary for the language 'el', only for en, ja: build"):
        open_dictionary(opened, "el", str(tmp_path / "cache"))
    newer = write_mentions(tmp_path / "newer", NAMES, version="2.0")
    with pytest.raises(InputError, match=r"mentions of version 2\.0, and this trainer reads 1\.0: build it again"):
        open_mentions(str(newer))
    with pytest.raises(InputError, match=r"manifest\.json: not there, .* wikianchor mentions makes one"):
        open_mentions(str(tmp_path / "nowhere"))
    unlinked = write_mentions(tmp_path / "unlinked", {"en": [("Apple", 1, 0, 10)]})
    with pytest.raises(InputError, match=r"was it built from text with links\? else lower the thresholds"):
        open_dictionary(open_mentions(str(unlinked)), "en", str(tmp_path / "cache"))


def test_the_command(
    mentions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = [f"--mentions={mentions}", f"--cache={tmp_path / 'cache'}", "--language=en"]

    def run(*documents: Any) -> tuple[int, str, str]:
        lines = "".join(f"{json.dumps(document)}\n" for document in documents).encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
        return command.main(flags), *capsys.readouterr()

    status, output, _ = run({"text": "😀 New York"}, {"text": "東京都", "language": "ja"}, {"text": "\ud800"})
    assert status == 0
    first, second, third = [json.loads(line)["candidates"] for line in output.splitlines()]
    assert first == [
        {
            "surface": "New York",
            "start": 2,
            "end": 10,
            "qid": 4,
            "link_probability": pytest.approx(0.9),
            "commonness": 1.0,
            "links": 9,
            "count": 1,
        }
    ]
    assert [candidate["surface"] for candidate in second] == ["東京"]
    assert third == []
    for wrong in (5, {}, {"text": 5}):
        status, _, errors = run(wrong)
        assert status == 1
        assert errors.startswith("trainer: line 1 of the input: not a JSON object with text")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"[" * 100_000)))
    assert command.main(flags) == 1
    assert capsys.readouterr().err.startswith("trainer: line 1 of the input: not a JSON object with text")
