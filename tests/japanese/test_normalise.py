"""Normalising Japanese text: one spelling, no markup, linear on anything."""

import time

import pytest

from wikianchor.pipelines.japanese.normalise import cut_paragraph, is_japanese, normalise, paragraphs


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("ＡＢＣ１２３", "ABC123"),
        ("ﾊﾝｶｸ ｶﾞｷﾞ", "ハンカクガギ"),
        ("スーパーーーー", "スーパー"),
        ("血圧は１２０―８０", "血圧は120ー80"),
        ("2010‐2012−14", "2010-2012-14"),
        ("20～30mm、20〜30mm", "20~30mm、20~30mm"),
        ("症例 ：　男性", "症例:男性"),
        ("Toxic   shock syndrome の 症例", "Toxic shock syndromeの症例"),
        ("｢はい｣､そう｡", "「はい」、そう。"),
        ("体温37℃、①を参照", "体温37℃、①を参照"),
        ("出血\u2009を\u3000認めた", "出血を認めた"),
        ("71.2\u2009±\u202f3.9", "71.2 ± 3.9"),
    ],
)
def test_there_is_one_spelling(written: str, expected: str) -> None:
    assert normalise(written) == expected
    assert normalise(expected) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("<p>本文<br/>です</p>", ["本文です"]),
        ("&lt;b&gt;強調&lt;/b&gt;&amp;注", ["強調&注"]),
        ("参照 https://example.org/a?b=c 終わり", ["参照終わり"]),
        ("連絡は a.b@example.co.jp まで", ["連絡はまで"]),
        ("嬉しい😀👩‍👩‍👧です\u200b", ["嬉しいです"]),
        ("一行目\r\n\n  \n二行目\u2028三行目", ["一行目", "二行目", "三行目"]),
        ("x < 5 かつ y > 3", ["x < 5かつy > 3"]),
        ("", []),
        ("\x00\x01 \t", []),
    ],
)
def test_markup_and_what_is_no_text_goes(written: str, expected: list[str]) -> None:
    assert paragraphs(written) == expected


def test_what_is_japanese() -> None:
    assert is_japanese("これは文です。")
    assert is_japanese("主訴:発熱,頭痛")
    assert is_japanese("CPA発症からCPR開始までは13分")
    assert not is_japanese("This is an English sentence.")
    assert not is_japanese("これ in an otherwise English sentence of some length")
    assert not is_japanese("12345 !?")
    assert not is_japanese("")
    assert not is_japanese("我们" * 30)


def test_pieces_are_cut_at_stops_and_lose_nothing() -> None:
    text = "短い文。" * 30 + "止まらない" * 30 + "。終わり"
    cut = cut_paragraph(text, 50)
    assert "".join(cut) == text
    assert [piece for piece in cut if len(piece) > 50] == ["止まらない" * 30 + "。"]
    assert cut_paragraph("短い", 50) == ["短い"]


@pytest.mark.parametrize(
    "unit", ["<", "<a ", "a@", "a.", "&amp;", "http://", "ー", " あ ", "「", "<!--", "[" * 5, "\0", "あ"]
)
def test_time_is_linear(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        start = time.process_time()
        for paragraph in paragraphs(text):
            cut_paragraph(paragraph, 2000)
            is_japanese(paragraph)
        return time.process_time() - start

    seconds(10_000)
    assert seconds(1_000_000) < 4.0
