"""Translations are found by nearness; accuracy divides by the true count; languages have several codes."""

from pathlib import Path

import pytest

from tests.trainer.evaluate.conftest import sentences, write
from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.evaluate.command import check_languages, evaluate, load_tasks
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.languages import EASE, asked, canonical, short
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.report import markdown, model_facts
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.evaluate.tasks import tatoeba
from wikianchor.trainer.models.encoder import Encoder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = list(dict.fromkeys(sentences(30)))[:20]
    for code, foreign in (("pes", rows), ("tzl", [*rows[1:], rows[0]]), ("bre", [*rows[:19], " "])):
        write(tmp_path / f"v1/tatoeba.{code}-eng.{code}", foreign)
        write(tmp_path / f"v1/tatoeba.{code}-eng.eng", rows)
    return tmp_path


def test_both_directions_over_the_true_count(data: Path, tiny_model: Path) -> None:
    parts = tatoeba.load(EvaluationFiles(str(data)), EvaluateOptions())
    scores = tatoeba.score(parts, SentenceVectors(Encoder.load(str(tiny_model))), EvaluateOptions())
    actual = {row["hf_subset"]: (row["main_score"], row["rows"]) for row in scores.splits["test"]}
    assert actual == {"bre-eng": (1, 19), "pes-eng": (1, 20), "tzl-eng": (0, 20)}
    assert [part.source.broken for part in parts] == [1, 0, 0]
    assert [(cell.table, cell.column) for cell in scores.cells] == [
        (tatoeba.TRAINED, "fa"),
        (tatoeba.OTHER, "br"),
        (tatoeba.OTHER, "tzl"),
    ]


def test_the_average_is_of_the_languages_in_the_paper(data: Path, tiny_model: Path) -> None:
    rows = list(dict.fromkeys(sentences(30)))[:20]
    for code in ("deu", "jpn"):
        write(data / f"v1/tatoeba.{code}-eng.{code}", [*rows[10:], *rows[:10]])
        write(data / f"v1/tatoeba.{code}-eng.eng", rows)
    encoder = Encoder.load(str(tiny_model))
    flags = EvaluateOptions(languages=("fa", "de", "ja"))
    sets = load_tasks(str(data), ["tatoeba"], flags)
    report = markdown(evaluate(encoder, model_facts(str(tiny_model), encoder, None, {}), sets, flags), [])
    assert "| | de | fa | ja | Avg. of 2 |" in report.replace("|  |", "| |")
    assert "| 0.00 | 100.00 | 0.00 | 0.00 |" in report


@pytest.mark.parametrize("code", ["fa", "fas", "pes", "FA"])
def test_codes_of_a_language(data: Path, code: str) -> None:
    assert [part.name for part in tatoeba.load(EvaluationFiles(str(data)), EvaluateOptions(languages=(code,)))] == [
        "pes"
    ]


def test_every_language_of_the_paper_has_its_file() -> None:
    assert len(EASE) == 17
    assert all(len(canonical(code)) == 3 and short(canonical(code)) == code for code in EASE)
    assert asked("cmn", ("zh",))
    assert not asked("yue", ("zh",))
    assert asked("yue", ())


def test_a_language_that_is_nowhere(data: Path) -> None:
    parts = tatoeba.load(EvaluationFiles(str(data)), EvaluateOptions(languages=("br",)))
    check_languages([(tatoeba.TASKS[0], parts)], ("br",))
    with pytest.raises(UsageError, match="--languages: de is in none"):
        check_languages([(tatoeba.TASKS[0], parts)], ("br", "de"))


def test_broken_sets(data: Path) -> None:
    write(data / "v1/tatoeba.pes-eng.eng", ["one"])
    files = EvaluationFiles(str(data))
    assert "pes" not in [part.name for part in tatoeba.load(files, EvaluateOptions())]
    (line,) = files.failed
    assert "differ in lines" in line
    with pytest.raises(InputError, match="differ in lines"):
        tatoeba.load(EvaluationFiles(str(data)), EvaluateOptions(languages=("fa",)))
    (data / "v1/tatoeba.pes-eng.eng").unlink()
    with pytest.raises(InputError, match=r"its translations .* are missing"):
        tatoeba.load(EvaluationFiles(str(data)), EvaluateOptions(languages=("fa",)))
