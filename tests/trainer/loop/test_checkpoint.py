"""A checkpoint that is broken, foreign or of another run is named, and nothing of it is taken over."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from tests.trainer.loop.test_train import ready
from tests.trainer.pairs import pair_rows, write_pairs
from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.loop import train


@pytest.fixture
def trained(options: dict[str, Any]) -> Path:
    """The checkpoint of a run of three steps."""
    options["max_steps"] = 3
    run = ready(options)
    train.train(run)
    return Path(run.config.checkpoints) / "step-0000000003"


def cut(name: str) -> Callable[[Path], Any]:
    return lambda directory: (directory / name).write_bytes((directory / name).read_bytes()[:-40])


def pickled(directory: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (print, ("run",))

    torch.save({"encoder": Evil(), "entities": Evil()}, directory / "optimizer.pt")


@pytest.mark.parametrize(
    "spoil",
    [
        *(cut(name) for name in ("model.safetensors", "entities.safetensors", "optimizer.pt", "state.json")),
        lambda directory: (directory / "optimizer.pt").unlink(),
        lambda directory: save_file({"other": torch.zeros(3)}, directory / "model.safetensors"),
        lambda directory: save_file({"weight": torch.zeros(3, 3)}, directory / "entities.safetensors"),
        lambda directory: torch.save({}, directory / "optimizer.pt"),
        pickled,
    ],
)
def test_a_broken_checkpoint_is_named(
    trained: Path, options: dict[str, Any], spoil: Callable[[Path], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(trained)
    with pytest.raises(InputError, match="step-0000000003: a broken or foreign checkpoint") as caught:
        train.train(ready(options))
    assert "\n" not in str(caught.value)
    assert "run" not in capsys.readouterr().out


def test_another_version(trained: Path, options: dict[str, Any]) -> None:
    state = json.loads((trained / "state.json").read_text())
    (trained / "state.json").write_text(json.dumps(state | {"version": 0}))
    with pytest.raises(InputError, match="of version 0"):
        train.train(ready(options))


def test_without_its_state_a_checkpoint_is_none(trained: Path, options: dict[str, Any]) -> None:
    (trained / "state.json").unlink()
    assert train.train(ready(options)).step == 3


def test_another_run(trained: Path, options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"belongs to a run with --learning_rate=0\.001, --seed=42"):
        train.train(ready(options | {"seed": 7, "learning_rate": 1e-2}))
    other = str(write_pairs(tmp_path / "other", pair_rows(400, seed=5)))
    with pytest.raises(UsageError, match="was trained on other rows"):
        train.train(ready(options | {"data": other}))
    assert train.train(ready(options | {"seed": 7, "resume": False})).step == 3


def test_only_the_last_is_kept(options: dict[str, Any]) -> None:
    run = ready(options | {"checkpoint_steps": 4, "max_steps": 10})
    train.train(run)
    assert [path.name for path in Path(run.config.checkpoints).iterdir()] == ["step-0000000010"]
