"""Folding, the edges of names in different scripts, and the table that finds them."""

import random

import numpy as np
import pytest

from wikianchor.aliases.folding import code_points, cut, fold, fold_all, is_chinese
from wikianchor.aliases.han_pairs import SIMPLIFIED, TRADITIONAL
from wikianchor.aliases.name_table import NameTable, Sums, nodes_of, table_of


def found(names: list[str], text: str) -> list[str]:
    """Return what is found of some names in a text, as it stands there, in order."""
    table = NameTable(table_of(nodes_of(fold_all(names))))
    pieces = cut(code_points(text))
    names_found = table.find(pieces, Sums(pieces.points))
    starts = pieces.offsets[pieces.first[names_found.first]]
    ends = pieces.offsets[pieces.last[names_found.last]]
    return [text[start:end] for start, end in sorted(zip(starts.tolist(), ends.tolist(), strict=True))]


def slowly_found(names: list[str], text: str) -> list[str]:
    """Return the same by comparing every stretch of atoms with every name."""
    keys = set(fold_all(names))
    pieces = cut(code_points(text))
    starts, ends = pieces.offsets[pieces.first], pieces.offsets[pieces.last]
    stretches = [
        (int(start), int(end))
        for first, start in enumerate(starts)
        for last, end in enumerate(ends)
        if first <= last and pieces.begins[first] and pieces.ends[last]
    ]
    texts = [text[start:end] for start, end in sorted(stretches)]
    return [text for text, key in zip(texts, fold_all(texts), strict=True) if key in keys]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("New  York", "new york"),
        (" a\u00a0\n b ", "a b"),
        ("Don’t", "don't"),
        ("A–B", "a-b"),
        ("ＮＨＫ", "nhk"),
        ("ΟΔΟΣ", "οδοσ"),
        ("οδος", "οδοσ"),
        ("İzmir", "izmir"),
        ("Straße", "straße"),
        ("ｶﾅ", "カナ"),
        ("می‌شود", "می‌شود"),
        ("", ""),
    ],
)
def test_folding(name: str, key: str) -> None:
    assert fold(name) == key
    assert fold(key) == key


@pytest.mark.parametrize(
    ("names", "text", "expected"),
    [
        (["York", "New York"], "NEW\n YORK, Yorkshire", ["NEW\n YORK", "YORK"]),
        (["U.S.", "S."], "the U.S. of", ["U.S.", "S."]),
        (["Italie"], "l’Italie", ["Italie"]),
        (["東京", "京都", "東京都"], "東京都で", ["東京", "東京都", "京都"]),
        (["リング", "プログラミング"], "プログラミング", ["プログラミング"]),
        (["서울"], "서울은 아서울", ["서울"]),
        (["ไทย", "กรุง"], "ประเทศไทยกรุงเ", ["ไทย", "กรุง"]),
        (["বাংলা"], "বাংলাদেশ বাংলা", ["বাংলা"]),
        (["ক"], "কি ক", ["ক"]),
        (["C++", "C"], "C++ and C", ["C", "C++", "C"]),
        (["a b"], "a\x00b", []),
    ],
)
def test_edges(names: list[str], text: str, expected: list[str]) -> None:
    assert found(names, text) == expected


def test_all_that_is_there_is_found() -> None:
    draw = random.Random(3)
    letters = "aAbB  .'’-東京トウ서울กาেক\u0301\ud800"
    for _ in range(300):
        text = "".join(draw.choices(letters, k=draw.randint(0, 40)))
        names = ["".join(draw.choices(letters, k=draw.randint(1, 5))).strip() for _ in range(10)]
        names = [name for name, key in zip(names, fold_all(names), strict=True) if key]
        assert found(names, text) == slowly_found(names, text), (names, text)


def test_hostile_text_takes_linear_work() -> None:
    names = [" ".join("a" * length) for length in range(1, 26)]
    table = NameTable(table_of(nodes_of(names)))
    pieces = cut(code_points("a " * 20_000))
    assert len(table.find(pieces, Sums(pieces.points)).names) == sum(20_000 - length for length in range(25))


def test_an_empty_table_finds_nothing() -> None:
    assert found([], "some text") == []
    assert found(["some"], "") == []


def test_numbers_are_places_of_names() -> None:
    names = [f"name {number}" for number in range(100_000)]
    table = NameTable(table_of(nodes_of(names)))
    pieces = cut(code_points(names[77_777]))
    sums = Sums(pieces.points)
    whole = sums.of(np.array([0]), np.array([len(names[0]) + 4]))
    assert len(names[77_777]) == len(names[0]) + 4
    assert table.numbers_of(whole).tolist() == [77_777]
    assert table.numbers_of(sums.of(np.array([0, 1]), np.array([4, 3]))).tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("names", "key"),
    [(["中國", "中国"], "中国"), (["臺北", "台北"], "台北"), (["香港 CPU", "香港 cpu"], "香港 cpu"), (["𫝈"], "𫝈")],
)
def test_chinese_names_in_both_scripts_have_one_key(names: list[str], key: str) -> None:
    assert fold_all(names, chinese=True) == [key] * len(names)
    assert fold(key, chinese=True) == key


def test_japanese_keeps_its_characters() -> None:
    # 機 and 机 are "machine" and "desk".
    assert fold_all(["機", "机", "中國"]) == ["機", "机", "中國"]
    assert not is_chinese("jawiki")
    assert [code for code in ("zh", "zhwiki", "zh_yuewiki", "yue", "wuuwikinews", "ko", "zhx") if is_chinese(code)] == [
        *("zh", "zhwiki", "zh_yuewiki", "yue", "wuuwikinews")
    ]


def test_offsets_stay_when_scripts_are_folded() -> None:
    text = cut(code_points("在臺灣  的中國人"), chinese=True)
    assert text.points.tobytes().decode("utf-32-le") == "在台湾 的中国人"
    assert text.offsets[text.first].tolist() == [0, 1, 2, 5, 6, 7, 8]


def test_simple_forms_are_no_keys_themselves() -> None:
    assert len(TRADITIONAL) == len(SIMPLIFIED) == len(set(TRADITIONAL)) > 4000
    assert not set(SIMPLIFIED) & set(TRADITIONAL)
