"""Which sentences are anchors, and which of them come first."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.stand_in import Item, Page, read_rows, read_sentence, run_pairs, write_entities, write_sentences
from wikianchor.pipelines.export import graph
from wikianchor.pipelines.export.anchors import closeness, is_weak, stems_of
from wikianchor.pipelines.export.options import ExportOptions


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The ferry sails to [[Oslo]] every day.", False),
        ("The ferry (a new one) sails to [[Oslo]] every day.", False),
        ("The ferry leaves the capital (now [[Oslo]]) every day.", True),
        ("The ferry [[Oslo]] (1975) sails every day.", False),
        ("首都（[[オスロ]]）から船が出る。", True),
        ("It was sold in Canada, [[Norway]], Germany, and Ireland.", True),
        ("It was sold in [[Canada]], Norway, Germany, Poland, Italy, and Ireland.", True),
        ("He was born in Bergen, [[Norway]], in 1901.", False),
        ("She moved to [[Oslo]], the capital, in May, and left it, to nobody's surprise.", False),
        ("1975 – The ferry sails to [[Oslo]].", True),
        ("3 May: The ferry sails to [[Oslo]].", True),
        ("2011年 - [[オスロ]]で船が出る。", True),
        ("In 1975 the ferry sailed to [[Oslo]] - the capital.", False),
        ("[[Anna Holm]] (1901–1980), Norwegian sailor.", True),
        ("[[Anna Holm]] (born 4 May 1901), Norwegian sailor.", True),
        ("[[Anna Holm]] (a sailor) steered the ferry.", False),
        ("The symbol [[Uranium|U]] stands for a heavy metal.", True),
        ("木は[[木|木]]でできている。", False),
    ],
)
def test_links_in_brackets_and_entries_of_lists_are_weak(sentence: str, expected: bool) -> None:
    text, (link,) = read_sentence(sentence)
    assert is_weak(text, link["start"], link["end"]) == expected


def test_how_many_words_a_sentence_has_in_common_with_its_positive() -> None:
    positive = "Oslo is the capital of Norway, at the end of a fjord."
    assert closeness([("ノルウェーの首都", 0, 0)], ["首都はノルウェーにある"], np.array([0])).tolist() == [3]
    sentences = [
        "Fishers of Norwegian fjords bring their catch to [[Oslo]].",
        "She flew to [[Oslo]] and Bergen in Norway.",
        "He likes [[Oslo]].",
        # The words of the link do not count.
        "He likes [[Oslo|the capital of Norway]].",
    ]
    pieces = [(text, links[0]["start"], links[0]["end"]) for text, links in map(read_sentence, sentences)]
    assert closeness(pieces, ["", positive], np.ones(4, np.int64)).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        # Vowel signs are no letters to Python.
        ("ঢাকা বাংলাদেশের রাজধানী।", "তিনি বাংলাদেশের একটি শহরে থাকেন।"),
        ("오슬로는 노르웨이의 수도이다.", "노르웨이에서 왔다."),
        ("ออสโลเป็นเมืองหลวงของนอร์เวย์", "เขามาจากประเทศนอร์เวย์"),
        ("Украї́на — держава", "Він народився в Україні."),
    ],
)
def test_words_in_common_in_scripts_of_all_kinds(text: str, other: str) -> None:
    rows, stems = stems_of([text, other])
    assert set(stems[rows == 0].tolist()) & set(stems[rows == 1].tolist())


def test_the_closest_sentences_are_exported(tmp_path: Path) -> None:
    close = [f"Norway moved its {word} parliament to [[Oslo]] at the fjord." for word in ("oldest", "second", "royal")]
    far = [
        "He likes [[Oslo]].",
        "Trains leave for [[Oslo]] at noon.",
        "Who wrote about [[Oslo]]?",
        "A bus in [[Oslo]] costs less.",
        "Her aunt lived in [[Oslo]] until the war began.",
        "The ferry leaves the pier (for [[Oslo]]) at night.",
    ]
    pages = [
        Page("Oslo", ["Oslo is the capital of Norway, at the end of a fjord."]),
        *(Page(f"Page {number}", [sentence]) for number, sentence in enumerate((*far, *close))),
    ]
    sentences = write_sentences(tmp_path / "sentences" / "enwiki", "enwiki", pages)
    entities = write_entities(tmp_path / "entities", ["enwiki"], [Item(1, [9], {"enwiki": "Oslo"})])
    run_pairs([sentences], entities, tmp_path / "pairs", negatives=0)
    options = ExportOptions(pairs=f"{tmp_path}/pairs", output=f"{tmp_path}/out", near_duplicates=True)
    ledger = graph.run(options.completed(), [])["ledger"]["rows"]["enwiki"]
    anchors = {row["anchor"] for row in read_rows(tmp_path / "out", "export")}
    # Those without a word of the lead are left out, as there are others.
    assert anchors == {re.sub(r"[][]", "", sentence) for sentence in close}
    assert ledger == {"kept": 3, "unrelated": 5, "weak_anchor": 1, "seen": 9}


def test_rows_over_the_cap_are_not_compared(tmp_path: Path) -> None:
    texts = [f"The capital of Norway was moved to [[Oslo]] again by law {letter}." for letter in "ABCDEF"]
    pages = [
        Page("Oslo", ["Oslo is the capital of Norway, at the end of a fjord."]),
        *(Page(f"Page {number}", [sentence]) for number, sentence in enumerate(texts)),
    ]
    sentences = write_sentences(tmp_path / "sentences" / "enwiki", "enwiki", pages)
    entities = write_entities(tmp_path / "entities", ["enwiki"], [Item(1, [9], {"enwiki": "Oslo"})])
    run_pairs([sentences], entities, tmp_path / "pairs", negatives=0)
    rows = []
    for most, over in ((2, {"over_cap": 4, "near_duplicate": 1}), (9, {"near_duplicate": 5})):
        options = ExportOptions(pairs=f"{tmp_path}/pairs", output=f"{tmp_path}/{most}", max_per_positive=most)
        ledger = graph.run(options.completed(), [])["ledger"]["rows"]["enwiki"]
        assert ledger == {"kept": 1, "seen": 6, **over}
        rows.append([row["anchor"] for row in read_rows(tmp_path / str(most), "export")])
    assert rows[0] == rows[1]
