"""Answers in one pool of languages."""

import json
from pathlib import Path
from typing import Any

import pytest

from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.command import main
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.metrics import average_precision
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.evaluate.tasks import lareqa
from wikianchor.trainer.models.encoder import Encoder

SENTENCES = ["kana lona mina", "ruta tena vosi", "kapo lopo", "misi rusi tesi"]


def paragraph(sentences: list[str], asked: dict[str, tuple[str, int]]) -> dict[str, Any]:
    """asked: by identifier, a question and the number of the sentence that answers it."""
    breaks, at = [], 0
    for sentence in sentences:
        breaks.append([at, at + len(sentence)])
        at += len(sentence) + 1
    qas = [
        {"id": name, "question": text, "answers": [{"answer_start": breaks[number][0] + 1, "text": "x"}]}
        for name, (text, number) in asked.items()
    ]
    return {"context": " ".join(sentences), "qas": qas, "sentence_breaks": breaks, "sentences": sentences}


def write(path: Path, paragraphs: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"data": [{"paragraphs": paragraphs}], "version": "1"}))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    questions = {"a": (SENTENCES[0], 0), "b": (SENTENCES[2], 0)}
    for code in ("de", "en"):
        parts = [paragraph(SENTENCES[:2], {"a": questions["a"]}), paragraph(SENTENCES[2:], {"b": questions["b"]})]
        write(tmp_path / f"xquad-r/{code}.json", parts)
    return tmp_path


def test_average_precision_by_hand() -> None:
    assert average_precision([True, False, True], 2) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision([False, False], 1) == 0
    assert average_precision([True, True], 5) == 1
    assert average_precision([False, True], 4) == pytest.approx(0.5 / 2)


def test_a_question_that_repeats_its_answer_finds_it(root: Path, tiny_model: Path) -> None:
    parts = lareqa.load(EvaluationFiles(str(root)), EvaluateOptions(), "xquad-r")
    assert [(part.name, part.answers) for part in parts] == [("de", {"a": 0, "b": 2}), ("en", {"a": 0, "b": 2})]
    scores = lareqa.score(parts, SentenceVectors(Encoder.load(str(tiny_model))), EvaluateOptions(), "T")
    assert [(row["main_score"], row["candidates"]) for row in scores.splits["test"]] == [(1, 8), (1, 8)]


def test_an_answer_that_is_far_counts_less(root: Path, tiny_model: Path) -> None:
    """The English copy of the answer stands first; in German another sentence is the answer, one of six others."""
    write(root / "xquad-r/de.json", [paragraph(SENTENCES[:2], {"a": ("kana", 1)})])
    write(root / "xquad-r/en.json", [paragraph(SENTENCES, {"a": (SENTENCES[0], 0)})])
    parts = lareqa.load(EvaluationFiles(str(root)), EvaluateOptions(), "xquad-r")
    row = lareqa.score(parts, SentenceVectors(Encoder.load(str(tiny_model))), EvaluateOptions(), "T").splits["test"][1]
    assert 0.5 < row["main_score"] < 1


def test_broken_files(root: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(root / "xquad-r/de.json", [paragraph(SENTENCES, {"a": ("kana", 1)}) | {"sentence_breaks": [[500, 600]]}])
    with pytest.raises(InputError, match="no row of LAReQA de can be used"):
        lareqa.load(EvaluationFiles(str(root)), EvaluateOptions(languages=("de",)), "xquad-r")
    for content in ("{", "[]", '{"data": [{}]}', '{"data": [{"paragraphs": [{"sentences": []}]}]}'):
        (root / "xquad-r/de.json").write_text(content)
        with pytest.raises(InputError, match=r"de\.json: not a file of LAReQA"):
            lareqa.load(EvaluationFiles(str(root)), EvaluateOptions(languages=("de",)), "xquad-r")
        files = EvaluationFiles(str(root))
        assert "de" not in [part.name for part in lareqa.load(files, EvaluateOptions(), "xquad-r")]
        assert ["de.json: not a file of LAReQA" in line for line in files.failed] == [True]
    (root / "xquad-r/de.json").unlink()
    assert main([f"--model={tiny_model}", f"--data={root}", "--tasks=lareqa", "--device=cpu"]) == 0
    assert "LAReQA XQuAD-R, mAP@20" in capsys.readouterr().out
