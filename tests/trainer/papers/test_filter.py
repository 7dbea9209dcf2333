"""Translations and what comes back: BLEU-1 by hand, versions of a set, translators that misbehave."""

import math
import sys
from pathlib import Path

import pytest

from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.pairs import read_pairs
from wikianchor.trainer.papers.command import main as main
from wikianchor.trainer.papers.construction import bleu1, read_source, translate

# To Japanese: a kana before each word. Back: the kana goes, "lost" is forgotten, "same" was never translated.
SCRIPT = """
import sys
for line in sys.stdin:
    text = line.rstrip("\\n")
    if sys.argv[2] == "ja":
        print(text if "same" in text else " ".join(f"の{word}" for word in text.split()))
    else:
        words = text.replace("の", "").split()
        print(" ".join(word for word in words if word != "lost") or "nothing")
"""
PAIRS = [
    ("4", "a cat sleeps", "the cat is asleep"),
    ("3", "one lost two", "lost lost lost four"),
    ("2", "lost", "a dog"),
    ("1", "the same text", "a text"),
    ("0", "five words are in this", "five words are in this"),
]


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("The cat sleeps.", "the cat sleeps", 1.0),
        ("the cat", "the the the the", 0.25),
        ("a b c d", "a b", math.exp(1 - 4 / 2)),
        ("a b", "a b c d", 0.5),
        ("a b", "c d", 0.0),
        ("", "a", 0.0),
        ("a", "...", 0.0),
    ],
)
def test_bleu_of_single_words(reference: str, candidate: str, expected: float) -> None:
    assert bleu1(reference, candidate) == pytest.approx(expected)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "sts-dev.csv"
    path.write_text("".join("\t".join(pair) + "\n" for pair in PAIRS))
    (tmp_path / "mt.py").write_text(SCRIPT)
    return path


@pytest.fixture
def translator(source: Path) -> str:
    return f"--translator={sys.executable} {source.parent}/mt.py {{source}} {{target}}"


def test_versions_by_a_translator_and_by_files(
    source: Path, translator: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert (
        main(["construction", "filter", f"--pairs={source}", translator, f"--output={out}", "--thresholds=0,0.3,0.9"])
        == 0
    )
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if line.startswith("| ")][2:] == [
        *("| all | 5 |", "| bleu-0 | 3 |", "| bleu-0.3 | 2 |", "| bleu-0.9 | 2 |")
    ]
    assert "1 pairs are not in Japanese; 1 more have a sentence of BLEU-1 0." in said
    name = "bleu-0.csv"
    kept = read_pairs(EvaluationFiles.of_file(f"{out}/{name}"), name, "kept")
    assert kept.gold.tolist() == [4, 3, 0]
    assert kept.first == [
        "のa のcat のsleeps",
        "のone のlost のtwo",
        "のfive のwords のare のin のthis",
    ]
    # The same out of the files that were written.
    files = [f"--translations={out}/translations.tsv", f"--back={out}/back.tsv", "--thresholds=0,0.3,0.9"]
    assert main(["construction", "filter", f"--pairs={source}", *files, f"--output={tmp_path}/again"]) == 0
    assert capsys.readouterr().out == said
    for path in out.glob("*.?sv"):
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_a_threshold_is_of_the_worse_sentence(source: Path, tmp_path: Path) -> None:
    """The second sentences come back as "a": the BLEU-1 of each pair is that of its second sentence."""
    (tmp_path / "ja.tsv").write_text("猫\t犬\n" * len(PAIRS))
    (tmp_path / "back.tsv").write_text("".join(f"{first}\ta\n" for _, first, _ in PAIRS))
    files = [f"--translations={tmp_path}/ja.tsv", f"--back={tmp_path}/back.tsv", "--thresholds=0"]
    assert main(["construction", "filter", f"--pairs={source}", *files, f"--output={tmp_path}/out"]) == 0
    above = sum(bleu1(second, "a") > 0 for *_, second in PAIRS)
    assert 0 < above < len(PAIRS)
    assert len((tmp_path / "out/bleu-0.csv").read_text().splitlines()) == above
    assert len((tmp_path / "out/all.csv").read_text().splitlines()) == len(PAIRS)


def test_each_sentence_is_translated_once(source: Path) -> None:
    count = f'{sys.executable} -c "import sys; n = sys.stdin.read().split(chr(10))[:-1]; [print(len(n)) for _ in n]"'
    assert translate(count, [("a", "b"), ("b", "a"), ("c", "a")], "en", "ja") == [("3", "3")] * 3


@pytest.mark.parametrize(
    ("flags", "status", "says"),
    [
        ([], 2, "give --translator, or both"),
        (["--translations=t"], 2, "give --translator, or both"),
        (["--translator=cat", "--translations=t", "--back=b"], 2, "give --translator, or both"),
        (["--translator=/no/such/command"], 2, "cannot be run"),
        (["--translator=cat 'open quote"], 2, "cannot be run"),
        (["--translator=false"], 1, "ended with 1"),
        (["--translator=head -n 2"], 1, "it must keep the lines"),
        (["--translator=cat", "--thresholds=x"], 2, "--thresholds=x"),
        (["--translator=cat", "--thresholds=1"], 2, "--thresholds=1"),
        (["--translator=cat", "--pairs=/nowhere.csv"], 1, "no such file"),
        (["--translator=cat", "--pairs=sts-dev.csv"], 2, "one set is filtered, and 2 are given"),
        (["--translations=short.tsv", "--back=short.tsv"], 1, "1 lines, and the source has 5 pairs"),
        (["--translations=one.tsv", "--back=one.tsv"], 1, "line 1 has not two sentences"),
    ],
)
def test_one_line_for_what_is_wrong(
    flags: list[str],
    status: int,
    says: str,
    source: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(source.parent)
    Path("short.tsv").write_text("a\tb\n")
    Path("one.tsv").write_text("a\n" * 5)
    pairs = [] if any(flag.startswith("--pairs=/") for flag in flags) else [f"--pairs={source}"]
    assert main(["construction", "filter", *pairs, "--output=out", *flags]) == status
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert says in said[0]


def test_a_source_may_be_two_files(tmp_path: Path) -> None:
    (tmp_path / "STS.input.X.txt").write_text("a\tb\nc\td\n")
    (tmp_path / "STS.gs.X.txt").write_text("5\n\n")
    pairs = read_source(f"{tmp_path}/STS.input.X.txt")
    assert (pairs.first, pairs.second, pairs.source) == (["a"], ["b"], SetSource(pairs.source.files, 2, 1, 0))
