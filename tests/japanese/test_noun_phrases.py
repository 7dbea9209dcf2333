"""What is a noun span of a sentence by its words."""

import pytest

pytest.importorskip("sudachipy", reason="NO SUDACHIPY: pip install '.[t5]'")

from wikianchor.pipelines.japanese.choices import SPAN_RULES
from wikianchor.pipelines.japanese.noun_phrases import Read, are_noun_spans, make_reader

PHRASES = ("chunks", "released")
# The stretch in brackets is what is asked about.
NOUN_PHRASES = [
    "患者は[頭痛]を訴えた。",
    "患者は[めまい]を訴えた。",
    "医師は[血圧の上昇]を認めた。",
    "医師は[強い痛み]を認めた。",
    "医師は[急激な悪化]を認めた。",
    "[昨日からの発熱]が続いている。",
    "[腰に貼った湿布]が剥がれた。",
    "[発熱や咳]が続いている。",
    "[3回目の接種]を終えた。",
    "[CT所見]に変化はなかった。",
    "[Toxic shock]を疑った。",
    "[彼]は退院した。",
    "[「相談室]」を訪れた。",
    "[この薬]は苦い。",
]
OTHERS = [
    "医師は[が疑われた]を認めた。",
    "医師は[感染が疑われた]を認めた。",
    "医師は[の上昇]を認めた。",
    "医師は[血圧の]を認めた。",
    "医師は[血圧を]を認めた。",
    "医師は[血圧が上昇]を認めた。",
    "医師は[性には薬]を認めた。",
    "医師は[認め患者]を診た。",
    "医師は[発熱,]を認めた。",
    "医師は[発熱、咳]を認めた。",
    "医師は[した患者]を診た。",
    "医師は[または発熱]を認めた。",
    "医師は[でした]を認めた。",
    "医師は[悪い]を認めた。",
    "医師は[とても]を認めた。",
    "医師は[3]を認めた。",
    "医師は[3ば]を認めた。",
    "医師は[3.発熱]を認めた。",
    "医師は[発熱のの上昇]を認めた。",
    "医師は[ば]を認めた。",
    # A stretch that ends within a word.
    "医師は消化[器]を診た。",
]


@pytest.fixture(scope="module")
def read() -> Read:
    return make_reader()


def asked(marked: str) -> tuple[str, list[tuple[int, int]]]:
    start, end = marked.index("["), marked.index("]")
    return marked.replace("[", "").replace("]", ""), [(start, end - 1)]


@pytest.mark.parametrize("marked", NOUN_PHRASES)
def test_a_noun_phrase_is_one(marked: str, read: Read) -> None:
    text, spans = asked(marked)
    assert are_noun_spans("chunks", read(text), spans)
    assert are_noun_spans("released", read(text), spans)


@pytest.mark.parametrize("marked", OTHERS)
def test_other_stretches_are_none_by_any_rule(marked: str, read: Read) -> None:
    text, spans = asked(marked)
    assert [rule for rule in SPAN_RULES if are_noun_spans(rule, read(text), spans)] == []


@pytest.mark.parametrize(
    ("marked", "rules"),
    [
        ("[消化管出血]を認めた。", {*PHRASES, "nouns", "nouns_names", "bunsetu"}),
        ("[東京]に住んでいる。", {*PHRASES, "nouns_names", "bunsetu"}),
        ("[慢性腎臓病]の患者である。", {*PHRASES, "nouns", "nouns_names", "bunsetu"}),
        ("[3歳児]を診察した。", {*PHRASES, "bunsetu"}),
        ("[強い痛み]を訴えた。", set(PHRASES)),
        # A run of nouns after a name, which is none by the first rule.
        ("山田[さん]が受診した。", {"nouns", "nouns_names"}),
    ],
)
def test_each_rule_has_spans_of_its_own(marked: str, rules: set[str], read: Read) -> None:
    text, spans = asked(marked)
    assert {rule for rule in SPAN_RULES if are_noun_spans(rule, read(text), spans)} == rules


def test_one_span_that_is_none_is_enough(read: Read) -> None:
    words = read("医師は血圧を測った。")
    assert are_noun_spans("chunks", words, [(0, 2), (3, 5)])
    assert not are_noun_spans("chunks", words, [(0, 2), (3, 6)])
    assert are_noun_spans("chunks", words, [])
