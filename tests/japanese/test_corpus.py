"""`wikianchor corpus`: what comes out of text, CSV, JSON lines and datasets, and one line for what is broken."""

import csv
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.engines import THREADS
from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.japanese.choices import SPAN_RULES
from wikianchor.schemas import corpus

pytestmark = pytest.mark.skipif(importlib.util.find_spec("sudachipy") is None, reason="NO SUDACHI: pip install '.[ja]'")
needs_ginza = pytest.mark.skipif(importlib.util.find_spec("ja_ginza") is None, reason="NO GINZA: pip install '.[ja]'")

SENTENCES = [
    "患者は発熱と頭痛を訴えて外来を受診した。",
    "医師が肺の腫瘍をすぐに切除した。",
    "翌日には体温が下がって食欲も戻った。",
    "退院の後も月に一度の通院を続けている。",
]


def rows(directory: Path) -> list[dict[str, Any]]:
    return pq.read_table(directory / "data/corpus").to_pylist()


def ledger(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "manifest.json").read_text())["ledger"]


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    lines = [SENTENCES[0] + SENTENCES[1], "", SENTENCES[2], SENTENCES[0], "English only, nothing else here.", "短い。"]
    lines += [SENTENCES[2].replace("翌日", "翌朝"), SENTENCES[3], "あ" * 100_000]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_each_sentence_has_a_fate(text_file: Path, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    out = tmp_path / "out"
    ended = wikianchor("corpus", f"--input={text_file}", f"--output={out}", "--parser=sudachi", "--near=0.7")
    assert (ended.status, ended.said) == (0, [])
    kept = rows(out)
    assert [row["text"] for row in kept] == SENTENCES
    assert [(row["record"], row["sentence_index"]) for row in kept] == [(1, 0), (1, 1), (3, 0), (8, 0)]
    assert {row["source"] for row in kept} == {"in.txt"}
    assert ledger(out)["sentences"] == {
        **{"seen": 9, "kept": 4, "duplicate": 1, "near_duplicate": 1},
        **{"not_japanese": 1, "short": 1, "too_long": 1},
    }
    assert ledger(out)["records"] == {"seen": 9, "without_text": 1}
    assert pq.read_schema(next((out / "data/corpus").glob("*.parquet"))).equals(corpus.SCHEMA)
    words = pq.read_table(out / "data/words").to_pylist()
    assert sum(word["count"] for word in words) == ledger(out)["statistics"]["tokens"]
    assert "4 sentences" in wikianchor("report", out).output


def test_spans_and_tokens_are_offsets(text_file: Path, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    wikianchor("corpus", f"--input={text_file}", f"--output={tmp_path}/out", "--parser=sudachi")
    row = rows(tmp_path / "out")[1]
    text = row["text"]
    assert "".join(text[token["start"] : token["end"]] for token in row["tokens"]) == text
    assert [text[span["start"] : span["end"]] for span in row["spans"]["nouns"]] == ["医師", "肺", "腫瘍", "切除"]
    assert row["spans"]["chunks"] == []


@needs_ginza
def test_each_rule_of_spans_is_a_column() -> None:
    assert [field.name for field in corpus.SPANS] == [*SPAN_RULES]


def test_ginza_finds_direct_objects(text_file: Path, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    wikianchor("corpus", f"--input={text_file}", f"--output={tmp_path}/out", "--workers=1")
    row = rows(tmp_path / "out")[1]
    text, spans = row["text"], row["spans"]
    cut = {rule: [text[span["start"] : span["end"]] for span in spans[rule]] for rule in SPAN_RULES}
    assert cut["chunks"] == ["医師", "肺", "腫瘍"]
    assert cut["bunsetu"] == ["医師", "肺", "腫瘍"]
    assert cut["released"] == ["医師", "肺"]


@pytest.fixture(scope="module")
def ginza() -> Callable[[list[str]], Any]:
    """The parser, which takes seconds to load."""
    from wikianchor.pipelines.japanese.parsing import make_parser

    return make_parser("ginza")


@needs_ginza
def test_chunks_of_the_released_rule_are_those_of_spacy(ginza: Callable[[list[str]], Any]) -> None:
    import spacy

    from wikianchor.pipelines.japanese.noun_spans import RELEASED_RELATIONS, chunks

    plain = spacy.load("ja_ginza")
    for text, parsed in zip(SENTENCES, ginza(SENTENCES), strict=True):
        ours = [
            sentence.text[start:end]
            for sentence in parsed
            for start, end in chunks(sentence.tokens, RELEASED_RELATIONS)
        ]
        assert ours == [chunk.text for chunk in plain(text).noun_chunks]


@needs_ginza
def test_latin_words_stay_in_one_sentence(ginza: Callable[[list[str]], Any]) -> None:
    text = "Toxic shock syndrome(TSS)は黄色ぶどう球菌が産生する抗原に起因した感染性疾患である."
    (parsed,) = ginza([text])
    assert [sentence.text for sentence in parsed] == [text]


def test_csv_and_json_lines(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    with open(tmp_path / "in.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "body"])
        writer.writerows([[1, f'{SENTENCES[0]}\n"{SENTENCES[1]}"'], [2, SENTENCES[2]]])
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"body": text}) + "\n" for text in SENTENCES[:3]))
    for name in ("in.csv", "in.jsonl"):
        out = tmp_path / f"out-{name}"
        command = ["corpus", f"--input={tmp_path / name}", f"--output={out}", "--parser=sudachi", "--column=body"]
        assert wikianchor(*command).status == 0
        assert [row["text"].strip('"') for row in rows(out)] == SENTENCES[:3]


def test_a_file_cut_into_ranges_is_the_same_file(tmp_path: Path) -> None:
    from wikianchor.pipelines.japanese.corpus.records import read_records, split_records

    (tmp_path / "a.csv").write_text("id,text\n" + "".join(f'{n},"行{n}\n""続き"""\n' for n in range(500)))
    (tmp_path / "a.txt").write_text("\n".join(f"行{n}" for n in range(500)))
    for name in ("a.csv", "a.txt"):
        whole = split_records(str(tmp_path / name), "text", 1 << 20)
        cut = split_records(str(tmp_path / name), "text", 100)
        assert (len(whole), len(cut) > 10) == (1, True)
        problems: list[str] = []
        read = [[record for part in parts for record in read_records(part, "text", problems)] for parts in (whole, cut)]
        assert read[0] == read[1]
        assert [number for number, _ in read[0]] == list(range(1, 501))
        assert not problems


def test_the_result_does_not_depend_on_bundles_and_a_sample_is_seeded(
    tmp_path: Path, wikianchor: Callable[..., Any]
) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{number}番目の患者は発熱と頭痛を訴えた。\n" for number in range(1200)))
    digests = []
    for name, more in (("one", []), ("two", THREADS)):
        command = [
            "corpus",
            f"--input={tmp_path}/in.txt",
            f"--output={tmp_path / name}",
            "--parser=sudachi",
            "--near=0",
        ]
        assert wikianchor(*command, "--sample=100", *more).status == 0
        digests.append(json.loads((tmp_path / name / "manifest.json").read_text())["configs"])
    assert digests[0] == digests[1]
    assert digests[0]["corpus"]["rows"] == 100
    wikianchor(*command[:2], f"--output={tmp_path}/other", "--parser=sudachi", "--near=0", "--sample=100", "--seed=1")
    assert {row["text"] for row in rows(tmp_path / "other")} != {row["text"] for row in rows(tmp_path / "one")}


def test_a_sentences_dataset_is_an_input(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    from tests.stand_in import Page, write_sentences

    dataset = write_sentences(tmp_path / "sentences", "jawiki", [Page("記事", SENTENCES, page_id=7)])
    out = tmp_path / "out"
    assert wikianchor("corpus", f"--input={dataset}", f"--output={out}", "--parser=sudachi").said == []
    assert [row["text"] for row in rows(out)] == SENTENCES
    assert {row["source"] for row in rows(out)} == {"jawiki"}


def test_a_sample_of_a_dataset_parses_little_more_than_the_sample(
    tmp_path: Path, wikianchor: Callable[..., Any]
) -> None:
    """wiki1m on a small scale: the sentences with the lowest lots, as if all had been parsed."""
    from tests.stand_in import Page, write_sentences

    texts = [f"{number}番目の記事は町の歴史を詳しく述べている。" for number in range(2000)]
    pages = [Page(f"記事{start}", texts[start : start + 50], page_id=start + 1) for start in range(0, 2000, 50)]
    dataset = write_sentences(tmp_path / "sentences", "jawiki", pages)
    command = ["corpus", f"--input={dataset}", "--parser=sudachi", "--near=0"]
    assert wikianchor(*command, f"--output={tmp_path}/out", "--sample=100").said == []
    ids = {row["text"]: row["sentence_id"] for row in rows(tmp_path / "out")}
    seen = ledger(tmp_path / "out")
    assert len(ids) == seen["sentences"]["kept"] == 100
    assert seen["records"]["seen"] == 2000
    assert 150 < seen["sentences"]["seen"] == 2000 - seen["records"]["not_sampled"] < 260
    assert wikianchor(*command, f"--output={tmp_path}/all").said == []
    every = {row["text"]: row["sentence_id"] for row in rows(tmp_path / "all")}
    lots = mix(42, np.array(list(every.values()), np.int64))
    assert set(ids) == {list(every)[index] for index in np.argsort(lots)[:100].tolist()}


@pytest.mark.parametrize(
    ("name", "content", "flags", "status", "says"),
    [
        ("in.txt", b"", [], 1, "nothing in it"),
        ("in.txt", "短い。\n".encode(), [], 1, "no sentence is left: short 1"),
        ("in.txt", "日本語の文章".encode("shift_jis"), [], 1, "record 1 is not UTF-8"),
        ("in.csv", "id,body\n1,本文\n".encode(), [], 1, "has no column 'text': it has id, body"),
        ("in.csv", b"id,text\n1\n", [], 1, "record 1 has 1 columns, not 2"),
        ("in.jsonl", b"{'a'\n", [], 1, "line 1 is not JSON"),
        ("in.jsonl", b"[" * 100_000, [], 1, "line 1 is not JSON"),
        ("in.jsonl", b'{"body": "x"}\n', [], 1, "line 1 has no text 'text': it has body"),
        ("in.pdf", b"x", [], 1, "what is in it?"),
        ("in.txt", b"x", ["--near=0.2"], 2, "--near=0.2"),
        ("in.txt", b"x", ["--sample=-1"], 2, "--sample=-1"),
        ("in.txt", b"x", ["--input=/nowhere.txt"], 1, "no such file"),
    ],
)
def test_one_line_for_what_is_broken(
    name: str,
    content: bytes,
    flags: list[str],
    status: int,
    says: str,
    tmp_path: Path,
    wikianchor: Callable[..., Any],
) -> None:
    (tmp_path / name).write_bytes(content)
    command = ["corpus", f"--input={tmp_path / name}", f"--output={tmp_path}/out", "--parser=sudachi", *flags]
    ended = wikianchor(*command)
    assert ended.status == status
    assert len(ended.said) == 1
    assert says in ended.said[0]
    assert not (tmp_path / "out/manifest.json").exists()
