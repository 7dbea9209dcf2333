"""Where the numbers of a run go besides its log: TensorBoard, Weights & Biases, functions of a program."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import is_local
from wikianchor.trainer.config import Config

Value = float | int


class Tracker(Protocol):
    """Takes the records of a run, in the first process alone."""

    def values(self, event: str, step: int, values: Mapping[str, Value]) -> None:
        """Take a record: the event ("train" or "dev"), the step, and numbers by name."""

    def close(self) -> None:
        """Take nothing more."""


@dataclass(frozen=True)
class CallbackTracker:
    """Calls a function with each record."""

    callback: Callable[[str, int, Mapping[str, Value]], object]

    def values(self, event: str, step: int, values: Mapping[str, Value]) -> None:
        """Call the function. It gets a copy, which it may change."""
        self.callback(event, step, dict(values))

    def close(self) -> None:
        """Do nothing."""


class TensorBoardTracker:
    """Writes scalars for TensorBoard.

    Args:
        directory: where its files go.

    Raises:
        UsageError: the package is not installed.
    """

    def __init__(self, directory: str) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise UsageError("--tensorboard: needs the package tensorboard: pip install tensorboard") from error
        self._board: Any = SummaryWriter(directory)

    def values(self, event: str, step: int, values: Mapping[str, Value]) -> None:
        """Write a scalar for each number."""
        for name, value in values.items():
            self._board.add_scalar(f"{event}/{name}", value, step)

    def close(self) -> None:
        """Close the files."""
        self._board.close()


class WandbTracker:
    """Sends records to Weights & Biases. $WANDB_MODE and the other variables of `wandb` decide how: with
    WANDB_MODE=offline everything stays on this machine until `wandb sync`.

    A run that is resumed continues the same run there: its id is a hash of the output directory.

    Args:
        config: options of the run; `wandb` is PROJECT or ENTITY/PROJECT.

    Raises:
        UsageError: the package is not installed, or it refuses the run.
    """

    def __init__(self, config: Config) -> None:
        try:
            import wandb
        except ImportError as error:
            raise UsageError("--wandb: needs the package wandb: pip install wandb") from error
        entity, _, project = config.wandb.rpartition("/")
        output = os.path.abspath(config.output) if is_local(config.output) else config.output
        identity = {"id": hashlib.sha256(output.encode()).hexdigest()[:16], "resume": "allow"} if config.resume else {}
        try:
            self._run: Any = wandb.init(
                project=project,
                entity=entity or None,
                name=os.path.basename(config.output),
                dir=output if is_local(output) else None,
                config=json.loads(config.to_json()),
                **identity,
            )
        except Exception as error:
            # Its exceptions are of many types: no key, no network, no such entity.
            reason = " ".join(str(error).split())[:200]
            raise UsageError(f"--wandb={config.wandb}: {reason}: log in, or set WANDB_MODE=offline") from error
        # A resumed run goes back to its checkpoint, and wandb's own steps only go up.
        self._run.define_metric("step")
        for event in ("train", "dev"):
            self._run.define_metric(f"{event}/*", step_metric="step")

    def values(self, event: str, step: int, values: Mapping[str, Value]) -> None:
        """Send a record."""
        self._run.log({"step": step, **{f"{event}/{name}": value for name, value in values.items()}})

    def close(self) -> None:
        """Finish the run there."""
        self._run.finish()


def open_trackers(config: Config) -> list[Tracker]:
    """Return the trackers that the options ask for.

    Raises:
        UsageError: a package is not installed.
    """
    trackers: list[Tracker] = []
    if config.tensorboard:
        trackers.append(TensorBoardTracker(config.tensorboard))
    if config.wandb:
        trackers.append(WandbTracker(config))
    return trackers
