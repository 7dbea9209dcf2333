"""The numbers of a run go to every tracker that was asked for, and are those of log.jsonl."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import wikianchor
from wikianchor.io.errors import UsageError
from wikianchor.trainer.config import make
from wikianchor.trainer.loop.log import Log, add_trackers, start_wandb


class FakeRun:
    """What `wandb.init` returns, as far as we use it."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.metrics: dict[str, str | None] = {}
        self.finished = False

    def define_metric(self, name: str, step_metric: str | None = None) -> None:
        self.metrics[name] = step_metric

    def log(self, values: dict[str, Any]) -> None:
        self.records.append(values)

    def finish(self) -> None:
        self.finished = True


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A stand-in for the package."""
    module: Any = ModuleType("wandb")
    module.runs = []

    def init(**settings: Any) -> FakeRun:
        if settings["project"] == "forbidden":
            raise RuntimeError("api_key not configured\n(no-tty)")
        module.runs.append((settings, FakeRun()))
        return module.runs[-1][1]  # type: ignore[no-any-return]

    module.init = init
    monkeypatch.setitem(sys.modules, "wandb", module)
    return module  # type: ignore[no-any-return]


def records(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(output, "log.jsonl").read_text().splitlines()]


def test_a_function_and_wandb_get_what_the_log_gets(options: dict[str, Any], wandb: Any) -> None:
    seen: list[tuple[str, int, Mapping[str, float]]] = []

    def keep(event: str, step: int, values: Mapping[str, float]) -> None:
        seen.append((event, step, values))

    config = wikianchor.train_config("ease", **options, max_steps=10, held_out=16, wandb="team/toys")
    wikianchor.train(config, callbacks=[keep])
    logged = records(config.output)
    assert [{"event": event, "step": step, **values} for event, step, values in seen] == logged
    assert [(record["event"], record["step"]) for record in logged] == [("train", 5), ("train", 10), ("dev", 10)]
    ((settings, run),) = wandb.runs
    assert run.records == [
        {"step": step, **{f"{event}/{name}": value for name, value in values.items()}} for event, step, values in seen
    ]
    assert run.finished
    assert run.metrics == {"step": None, "train/*": "step", "dev/*": "step"}
    assert (settings["project"], settings["entity"], settings["name"]) == ("toys", "team", "out")
    assert settings["config"]["softmax_size"] == 16


def test_a_resumed_run_is_the_same_run_there(options: dict[str, Any], wandb: Any) -> None:
    for changes in ({}, {"seed": 1}, {"resume": False}, {"output": f"{options['output']}/other"}):
        start_wandb(make("ease", {**options, "wandb": "toys", **changes}))
    first, same, anew, other = (settings.get("id") for settings, _ in wandb.runs)
    assert first == same != other
    assert anew is None


def test_a_function_can_end_the_training(options: dict[str, Any]) -> None:
    def stop(event: str, step: int, values: Mapping[str, float]) -> None:
        raise StopIteration(f"{event} {step}")

    with pytest.raises(StopIteration, match="train 5"):
        wikianchor.train("ease", callbacks=[stop], **options)


def test_wandb_refuses_the_run(options: dict[str, Any], wandb: Any) -> None:
    config = make("ease", {**options, "wandb": "forbidden"})
    with pytest.raises(UsageError, match=r"--wandb=forbidden: api_key not configured \(no-tty\): log in, or set WANDB"):
        start_wandb(config)


def test_a_package_that_is_missing(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("wandb", "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match="--wandb: needs the package wandb: pip install wandb"):
        start_wandb(make("ease", {**options, "wandb": "toys"}))
    with pytest.raises(UsageError, match="--tensorboard: needs the package tensorboard"):
        add_trackers(Log("", active=False), make("ease", {**options, "tensorboard": str(tmp_path)}))


@pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="NO WANDB: pip install wandb")
def test_wandb_itself_without_a_network(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    wikianchor.train("ease", **options, max_steps=5, wandb="toys")
    assert list(Path(options["output"]).glob("wandb/offline-run-*/*.wandb"))


def test_an_option_that_does_not_exist(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'epoch': did you mean epochs"):
        wikianchor.train("ease", **options, epoch=3)
    with pytest.raises(UsageError, match="give seed to train_config"):
        wikianchor.train(make("ease", options), seed=3)


def test_a_file_of_options(options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("[train.ease]\nepochs = 4\nseed = 5\n")
    config = wikianchor.train_config("ease", config=str(tmp_path / "run.toml"), **options, seed=6)
    assert (config.epochs, config.seed) == (4, 6)


def test_a_run_that_fails_before_its_first_record_has_written_nothing(tmp_path: Path) -> None:
    output = tmp_path / "run"
    log = Log(str(output), active=True)
    log.say("reads its data")
    log.close()
    assert not output.exists()
    log = Log(str(output), active=True)
    log.values("train", 1, {"loss": 0.5})
    log.close()
    assert json.loads((output / "log.jsonl").read_text()) == {"event": "train", "step": 1, "loss": 0.5}
