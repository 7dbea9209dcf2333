"""Training a T5: it learns, stops, goes on where it was, and can be read again."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sentencepiece", reason="NO SENTENCEPIECE: pip install '.[t5]'")

import torch

from tests.t5 import write_corpus, write_t5
from wikianchor.io.errors import InputError, UsageError
from wikianchor.schemas.sentinels import SETTINGS_FILE, Vocabulary
from wikianchor.trainer.config import make
from wikianchor.trainer.t5.feed import SpanFeed
from wikianchor.trainer.t5.model import read_filler
from wikianchor.trainer.task import main, run


@pytest.fixture(scope="module")
def corpus_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def flags(corpus_dir: Path, tmp_path: Path) -> dict[str, Any]:
    return {
        **{"data": str(corpus_dir), "output": str(tmp_path / "out"), "device": "cpu", "held_out": 16},
        **{"encode_size": 8, "step_size": 16, "log_steps": 10, "epochs": 1},
    }


@pytest.fixture(scope="module")
def small_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_t5(tmp_path_factory.mktemp("t5"))


def log(directory: Path, event: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (directory / "log.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == event]


def test_it_learns_and_can_be_read_again(flags: dict[str, Any], small_t5: Path, tmp_path: Path) -> None:
    options = {"learning_rate": 0.01, "eval_steps": 6, "epochs": 8}
    directory = Path(run(make("t5", {**flags, **options, "model": str(small_t5)}, {})))
    scores = [line["loss"] for line in log(tmp_path / "out", "dev")]
    assert scores[-1] < scores[0] - 0.5
    assert read_filler(str(directory)).vocabulary.size == Vocabulary.read(str(small_t5)).size
    assert {"README.md", "run.json", "spiece.model", "config.json"} <= {path.name for path in directory.iterdir()}
    assert json.loads((directory / "run.json").read_text())["config"]["optimizer"] == "adafactor"


def test_it_begins_from_a_name_on_the_hub(
    flags: dict[str, Any], small_t5: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a published T5 lies in the cache of the Hub: without the file that only ours have."""
    directory = tmp_path / "hub/models--someone--t5"
    shutil.copytree(small_t5, directory / "snapshots/0123")
    (directory / "snapshots/0123" / SETTINGS_FILE).unlink()
    (directory / "refs").mkdir()
    (directory / "refs/main").write_text("0123")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    directory = run(make("t5", {**flags, "model": "someone/t5", "max_steps": 1}, {}))
    assert read_filler(directory).vocabulary.size == Vocabulary.read(str(small_t5)).size


def test_a_new_one_has_a_vocabulary_of_the_texts(flags: dict[str, Any]) -> None:
    config = make("t5", {**flags, "new": "tiny", "vocabulary_size": 320, "max_steps": 1}, {})
    filler = read_filler(run(config))
    text = "稀な字鱻も😀"
    assert filler.vocabulary.decode(filler.vocabulary.encode(text)) == text
    assert filler.backbone.config.vocab_size % 128 == 0


def test_it_stops_where_nothing_gets_better(
    flags: dict[str, Any], small_t5: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A rate so small that the loss stays where it was.
    options = {"learning_rate": 1e-20, "eval_steps": 1, "patience": 2, "epochs": 9, "dropout": 0.0}
    run(make("t5", {**flags, **options, "model": str(small_t5)}, {}))
    assert "no better dev score since step" in capsys.readouterr().err
    assert len(log(tmp_path / "out", "dev")) < 20


def test_resuming_gives_the_same_weights(flags: dict[str, Any], small_t5: Path, tmp_path: Path) -> None:
    options = {**flags, "model": str(small_t5), "epochs": 2, "checkpoint_steps": 3, "keep": "last"}
    whole = read_filler(run(make("t5", {**options, "output": str(tmp_path / "whole")}, {})))
    run(make("t5", {**options, "max_steps": 5}, {}))
    # Stopped at step 5 of 12, it goes on; the schedule is constant, so that the number of steps changes nothing.
    config = make("t5", options, {})
    with pytest.raises(UsageError, match="max_steps=5"):
        run(config)
    (state,) = (tmp_path / "out/checkpoints").glob("step-*/state.json")
    stored = json.loads(state.read_text())
    stored["config"]["max_steps"] = None
    state.write_text(json.dumps(stored))
    parted = read_filler(run(config))
    for (name, weight), other in zip(whole.backbone.named_parameters(), parted.backbone.parameters(), strict=True):
        assert torch.equal(weight, other), name


def test_holes_are_drawn_anew_in_each_epoch(small_t5: Path, flags: dict[str, Any]) -> None:
    vocabulary = Vocabulary.read(str(small_t5))
    config = make("t5", {**flags, "model": str(small_t5)}, {})
    feed = SpanFeed([list(range(10, 40)) for _ in range(64)], vocabulary, config, torch.device("cpu"))
    rows = feed.order(0)[:8]
    first, again, other = (feed.batch(rows, epoch).source for epoch in (0, 0, 1))
    assert torch.equal(first, again)
    assert first.shape != other.shape or not torch.equal(first, other)
    assert len({tuple(row) for row in first.tolist()}) > 4


@pytest.mark.parametrize(
    ("flags_of", "says"),
    [
        ({}, "--model is missing"),
        ({"model": "x", "new": "tiny"}, "give one"),
        ({"new": "tiny", "patience": 2}, "--eval_steps"),
        ({"new": "tiny", "corruption_rate": 1.5}, "corruption_rate"),
    ],
)
def test_options_that_contradict(flags: dict[str, Any], flags_of: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make("t5", {**flags, **flags_of}, {})


def test_one_line_for_what_is_broken(
    flags: dict[str, Any], tmp_path: Path, small_t5: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no model"):
        run(make("t5", {**flags, "model": str(tmp_path / "empty")}, {}))
    with pytest.raises(UsageError, match="vocabulary_size=90000"):
        run(make("t5", {**flags, "new": "tiny", "vocabulary_size": 90_000}, {}))
    old = write_corpus(tmp_path / "old", version="0.9")
    command = ["t5", f"--data={old}", f"--model={small_t5}", f"--output={tmp_path}/o"]
    assert main(command) == 1
    assert "corpus of version 0.9" in capsys.readouterr().err
