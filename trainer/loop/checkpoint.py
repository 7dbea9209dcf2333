"""Checkpoints: everything that a run needs to continue bit for bit as if it had not stopped.

    CHECKPOINTS/step-0000001000/  model.safetensors    encoder, MLP, projection
                                  entities.safetensors the table
                                  optimizer.pt         moments, loaded with weights_only
                                  state.json           step, best dev score, config, fingerprint; written last
    CHECKPOINTS/best/             encoder.safetensors, and state.json with its step and score

The position in the data and the random numbers of dropout follow from the seed and the step, so neither is stored. A
checkpoint is written to a temporary directory and renamed; the previous one is removed after that.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from dataclasses import dataclass
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.options import declared, shown
from wikianchor.io.parsing import unreadable
from wikianchor.io.storage import exists, fetch, list_directories, read_bytes, remove
from wikianchor.trainer.config import CONFIGS, Config
from wikianchor.trainer.loop.optimizers import Optimizers
from wikianchor.trainer.models.export import publish_model
from wikianchor.trainer.models.model import Trainable

VERSION = 2
PREFIX = "step-"
# Options that may change when a run is resumed: paths, logging and evaluation, and speed.
FREE = frozenset(option.name for config in CONFIGS.values() for option in declared(config) if option.may_change)


@dataclass(frozen=True)
class State:
    """Progress of a run: steps done, the best dev score and its step (None and 0 before the first score)."""

    step: int
    best: float | None = None
    best_step: int = 0


def save(model: Trainable, optimizers: Optimizers, state: State, config: Config, data: str) -> str:
    """Write a checkpoint, remove the previous ones, and return its directory. `data` is the dataset's fingerprint."""
    target = f"{config.checkpoints}/{PREFIX}{state.step:010d}"

    def write(local: str) -> None:
        save_file(_dense(model), f"{local}/model.safetensors")
        if model.table is not None:
            save_file({"weight": model.table.weight.detach().contiguous()}, f"{local}/entities.safetensors")
        torch.save(optimizers.state_dict(), f"{local}/optimizer.pt")

    previous = _finished(config.checkpoints)
    publish_model(target, write, {"state.json": _state(state, data=data, config=config.record())})
    for name in previous:
        if f"{config.checkpoints}/{name}" != target:
            remove(f"{config.checkpoints}/{name}")
    return target


def resume(model: Trainable, optimizers: Optimizers, config: Config, data: str) -> State:
    """Load the last checkpoint into model and optimisers; return its state, or step 0 where there is no checkpoint.

    Raises:
        InputError: the checkpoint is damaged, or was not written by this program.
        UsageError: it belongs to a run with other options or other data.
    """
    names = _finished(config.checkpoints)
    if not names:
        return State(0)
    directory = f"{config.checkpoints}/{names[-1]}"
    with tempfile.TemporaryDirectory() as scratch:
        local = fetch(directory, os.path.join(scratch, "checkpoint"))
        with unreadable(f"{directory}: a broken or foreign checkpoint", "remove it"):
            stored = json.loads(read_bytes(os.path.join(local, "state.json")))
            state = State(int(stored["step"]), stored["best"], int(stored["best_step"]))
            _check_same_run(directory, stored, config, data)
            _load(model, optimizers, local)
    return state


def clear(config: Config) -> None:
    """Remove the checkpoints of an earlier run from the directory."""
    for name in list_directories(config.checkpoints):
        if name.startswith(PREFIX) or name == "best":
            remove(f"{config.checkpoints}/{name}")


def save_best(encoder: nn.Module, state: State, checkpoints: str) -> None:
    """Save the encoder as the best so far."""
    files = {"state.json": _state(state)}
    publish_model(
        f"{checkpoints}/best", lambda local: save_file(_tensors(encoder), f"{local}/encoder.safetensors"), files
    )


def load_kept(encoder: nn.Module, config: Config, state: State) -> str:
    """Load the weights that `--keep` asks for into the encoder, and return in words which ones they are."""
    if config.keep != "best" or state.best is None:
        return f"the last, of step {state.step}"
    with tempfile.TemporaryDirectory() as scratch:
        local = fetch(f"{config.checkpoints}/best", os.path.join(scratch, "best"))
        encoder.load_state_dict(load_file(os.path.join(local, "encoder.safetensors")))
    return f"the best by dev score, of step {state.best_step}"


def _finished(checkpoints: str) -> list[str]:
    names = [name for name in list_directories(checkpoints) if name.startswith(PREFIX) and not name.endswith(".old")]
    return [name for name in names if exists(f"{checkpoints}/{name}/state.json")]


def _state(state: State, **more: Any) -> str:
    return json.dumps({"version": VERSION, **dataclasses.asdict(state), **more}, indent=2)


def _tensors(module: nn.Module) -> dict[str, Tensor]:
    # safetensors refuses tensors that share memory, as tied weights do, so each is copied.
    return {name: tensor.detach().clone().contiguous() for name, tensor in module.state_dict().items()}


def _dense(model: Trainable) -> dict[str, Tensor]:
    modules = {"encoder": model.encoder} | ({} if model.w is None else {"w": model.w})
    return {f"{part}.{name}": tensor for part, module in modules.items() for name, tensor in _tensors(module).items()}


def _load(model: Trainable, optimizers: Optimizers, local: str) -> None:
    dense = load_file(os.path.join(local, "model.safetensors"))
    expected = _dense(model)
    if dense.keys() != expected.keys() or any(dense[name].shape != expected[name].shape for name in dense):
        raise ValueError("its weights are of another model")
    if model.table is not None:
        weight = load_file(os.path.join(local, "entities.safetensors"))["weight"]
        if weight.shape != model.table.weight.shape:
            raise ValueError(f"its entity table is {tuple(weight.shape)}, not {tuple(model.table.weight.shape)}")
        with torch.no_grad():
            model.table.weight.copy_(weight)
    states = torch.load(os.path.join(local, "optimizer.pt"), map_location="cpu", weights_only=True)
    model.load_state_dict({**model.state_dict(), **dense})
    optimizers.load_state_dict(states)


def _check_same_run(directory: str, stored: dict[str, Any], config: Config, data: str) -> None:
    if stored.get("version") != VERSION:
        raise InputError(f"{directory}: a checkpoint of version {stored.get('version')}, not {VERSION}: remove it")
    if stored["data"] != data:
        raise UsageError(f"{directory}: was trained on other rows than those of {config.data}: give another --output")
    current, before = config.record(), stored["config"]
    changed = sorted(name for name in current.keys() - FREE if before.get(name, current[name]) != current[name])
    if changed:
        flags = ", ".join(f"--{name}={shown(before[name]) or 'none'}" for name in changed)
        raise UsageError(f"{directory}: belongs to a run with {flags}: give these, another --output, or --no-resume")
