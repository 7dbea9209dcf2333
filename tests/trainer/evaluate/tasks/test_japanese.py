"""The Japanese STS benchmark: sets found by their layouts, splits that share rows, whitening."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.trainer.evaluate.conftest import write
from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.evaluate.command import main
from wikianchor.trainer.evaluate.dev import load_dev
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.metrics import pair_cosines, spearman
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.evaluate.tasks.sts import SETS
from wikianchor.trainer.evaluate.whitening import Whitened, whitening
from wikianchor.trainer.models.encoder import Encoder

TEXTS = ["猫がいる。", "犬がいる。", "雨が降る。", "雪が降る。", "人が歩く。", "人が走る。"]


def rows(count: int, start: int = 0) -> list[tuple[str, str, str]]:
    """Score, sentence, sentence; sentences of the tiny model's words stand in for others in Japanese."""
    words = ["kana", "lona", "mina", "rusi", "tena", "vota"]
    return [
        (str((start + n) % 6), f"{TEXTS[n % 6]} {words[(start + n) % 6]}", f"{TEXTS[(n + 1) % 6]} {words[n % 5]} {n}")
        for n in range(count)
    ]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    base = tmp_path / "data"
    for year in range(12, 17):
        for name, some in (("OnWN", rows(6)), ("news", rows(4, 2))):
            folder = base / f"STS/STS{year}-ja-test"
            write(folder / f"STS.input.{name}.txt", [f"{a}\t{b}" for _, a, b in some])
            write(folder / f"STS.gs.{name}.txt", [score for score, *_ in some])
    for split, some in (("train", rows(9)), ("dev", rows(5, 3)), ("test", rows(8, 1))):
        write(base / f"STSBenchmark/sts-{split}.csv", ["\t".join(row) for row in some])
    for split, some in (("dev", rows(6)), ("test", [*rows(4), *rows(5, 4)])):
        write(base / f"JAC-STS/JAC-sts-{split}.csv", ["\t".join(row) for row in some])
    for split, some in (("train", rows(7)), ("dev", rows(5, 2)), ("test", rows(7))):
        write(base / f"JSTS/JSTS-{split}.csv", ["\t".join(row) for row in some])
    for name, some in (("train", rows(9)), ("valid", rows(6, 1))):
        lines = [json.dumps({"sentence1": a, "sentence2": b, "label": float(score)}) for score, a, b in some]
        write(base / f"jsts-v1.3/{name}-v1.3.json", lines)
    names = [f"{name}_{code}" for code in ("En", "Ja") for name in ("sentence_A", "sentence_B", "relatedness_score")]
    head = "\t".join(["pair_ID", *names])
    jsick = [f"1\tx\ty\t1.0\t{a}\t{b}\t{score}" for score, a, b in rows(6)]
    write(base / "jsick/test.tsv", [head, *jsick, "2\t\t\t\t猫\t犬\t"])
    # The English STS Benchmark has the same names.
    write(base / "english/sts-test.csv", [f"g\tf\ty\t1\t{score}\ta cat\ta dog\tmore" for score, *_ in rows(3)])
    return base


@pytest.mark.parametrize(
    ("name", "split", "expected"),
    [
        ("STS12.ja", "test", 10),
        ("STSBenchmark.ja", "test", 8),
        ("STSBenchmark.ja", "dev", 5),
        ("JSICK", "test", 6),
        ("JSTS", "test", 6),
        ("JSTS.sdjc", "test", 7),
        ("JACSTS", "test", 9),
        ("STS12.ja", "dev", 0),
        ("JSICK", "dev", 0),
    ],
)
def test_sets_are_found_by_their_layout(name: str, split: str, expected: int, root: Path) -> None:
    parts = SETS[name].load(EvaluationFiles(str(root)), EvaluateOptions(split=split))
    assert sum(len(part) for part in parts) == expected
    assert SETS[name].load(EvaluationFiles(str(root)), EvaluateOptions(split=split, languages=("de",))) == []


def test_jsick_is_not_its_stress_tests(root: Path) -> None:
    head = "pair_ID\tsentence_A_Ja\tsentence_B_Ja\trelatedness_score_Ja"
    for folder in ("del_ga_de", "ex_ga_o", "scrum_ga_ni"):
        write(root / f"JSICK/jsick-stress/{folder}/test.tsv", [head, f"1\t猫\t{folder}\t3.0"])
    (root / "jsick/test.tsv").rename(root / "JSICK/test.tsv")
    (part,) = SETS["JSICK"].load(EvaluationFiles(str(root)), EvaluateOptions())
    assert len(part) == 6


def test_dev_parts_choose_among_checkpoints(root: Path, tiny_model: Path) -> None:
    encoder = Encoder.load(str(tiny_model))
    for name, expected in (("JACSTS", 6), ("STSBenchmark.ja", 5)):
        dev = load_dev(str(root), name)
        assert len(dev.pairs) == expected
        assert -100 <= dev.score(encoder) <= 100
    with pytest.raises(InputError, match=r"no dev part of JSICK \(jsick/test.tsv"):
        load_dev(str(root), "JSICK")
    # JGLUE has no dev part beside the one that is scored.
    with pytest.raises(UsageError, match=r"--dev_tasks=JSTS: has no dev part: choose of .*JACSTS"):
        load_dev(str(root), "JSTS")


def test_scores_are_those_of_ten_lines(root: Path, tiny_model: Path) -> None:
    encoder = Encoder.load(str(tiny_model))
    for task in (kind for kind in SETS.values() if "sts-ja" in kind.groups):
        parts = task.load(EvaluationFiles(str(root)), EvaluateOptions())
        main_score = task.score(parts, SentenceVectors(encoder), EvaluateOptions()).splits["test"][0]["main_score"]
        first, second = ([text for part in parts for text in getattr(part, side)] for side in ("first", "second"))
        gold = np.concatenate([part.gold for part in parts])
        assert main_score == pytest.approx(spearman(pair_cosines(encoder.encode(first), encoder.encode(second)), gold))


def test_what_splits_share_is_said(root: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, expected in (("JSTS.sdjc", {"train": 7}), ("JACSTS", {"dev": 4}), ("JSTS", {})):
        task = SETS[name]
        parts = task.load(EvaluationFiles(str(root)), EvaluateOptions())
        protocol = task.score(parts, SentenceVectors(Encoder.load(str(tiny_model))), EvaluateOptions()).protocol
        shared = {key.rpartition(" ")[2]: number for key, number in protocol.items() if key.startswith("rows")}
        assert {split: number for split, number in shared.items() if number} == expected
    said = capsys.readouterr().err
    assert "JSTS.sdjc: 7 of the 7 rows of its test part are in its train part" in said
    assert "JACSTS: 4 of the 9 rows of its test part are in its dev part" in said


def test_the_table_has_the_mean_and_that_of_people(
    root: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [f"--model={tiny_model}", f"--data={root}", "--tasks=sts-ja", "--device=cpu"]
    status = main(command)
    said, errors = capsys.readouterr()
    assert status == 0, errors
    assert all(table in said for table in SETS["JSICK"].tables)
    assert main([*command, "--whiten=8", "--languages=ja"]) == 0


def test_whitened_vectors_are_round() -> None:
    draw = np.random.default_rng(0)
    vectors = (draw.normal(size=(400, 12)) @ draw.normal(size=(12, 12)) + 3).astype(np.float32)
    mean, turned = whitening(vectors, 12)
    whitened = (vectors - mean) @ turned
    assert np.allclose(whitened.T @ whitened / len(whitened), np.eye(12), atol=1e-3)
    assert np.allclose(whitened.mean(0), 0, atol=1e-4)
    assert whitening(vectors, 5)[1].shape == (12, 5)
    # Fewer directions than sentences have: nothing is divided by nothing.
    assert whitening(vectors[:4], 12)[1].shape[1] == 3


def test_whitening_needs_sentences(tiny_model: Path) -> None:
    with pytest.raises(Exception, match="too few"):
        Whitened(Encoder.load(str(tiny_model)), EvaluateOptions(whiten=4)).fit(["kana", "kana"])


@pytest.mark.real
def test_released_files_have_the_papers_sizes(data_dir: Path) -> None:
    sizes = {12: 2615, 13: 1063, 14: 3165}
    data = EvaluationFiles(str(data_dir / "eval"))
    for year, size in sizes.items():
        assert sum(len(part) for part in SETS[f"STS{year}.ja"].load(data, EvaluateOptions())) == size
    assert len(SETS["STSBenchmark.ja"].load(data, EvaluateOptions())[0]) == 1304
    assert len(SETS["JSTS"].load(data, EvaluateOptions())[0]) == 1457
    assert len(SETS["JACSTS"].load(data, EvaluateOptions(split="dev"))[0]) == 184


@pytest.mark.real
def test_the_overlaps_of_the_released_splits_are_found(data_dir: Path, tmp_path: Path) -> None:
    """As the facts have them: JSTS "test" is 5,000 rows of JGLUE's training part and equals "train"; four pairs of
    JACSTS stand in both parts. The files of JSTS and the test part of JACSTS are made here of what is at hand."""
    eval_dir = data_dir / "eval"
    lines = (eval_dir / "jglue/jsts-v1.3/train-v1.3.json").read_text().splitlines()
    records = [json.loads(line) for line in lines[:10_000:2]]
    rows = [f"{record['label']}\t{record['sentence1']}\t{record['sentence2']}" for record in records]
    for split in ("train", "test"):
        write(tmp_path / f"JSTS/JSTS-{split}.csv", rows)
    (dev,) = eval_dir.rglob("JAC-sts-dev.csv")
    clinic = dev.read_text().splitlines()
    write(tmp_path / "JAC/JAC-sts-dev.csv", clinic)
    score, first, second = clinic[0].split("\t")
    # A pair is the same whichever sentence comes first, and whatever its score.
    write(tmp_path / "JAC/JAC-sts-test.csv", [*rows[:300], *clinic[1:4], f"{score}\t{second}\t{first}"])
    data = EvaluationFiles(str(tmp_path))
    for name, shared in (("JSTS.sdjc", {"train": 5000}), ("JACSTS", {"dev": 4})):
        (part,) = SETS[name].load(data, EvaluateOptions())
        assert part.shared == shared
