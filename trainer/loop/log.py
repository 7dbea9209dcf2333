"""The log of a run: lines on stderr, JSON lines in log.jsonl, and records for TensorBoard, Weights & Biases and
functions of a program."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import filesystem, is_local, writing
from wikianchor.trainer.config import Config

Value = float | int
# Takes a record: the event ("train" or "dev"), the step, and numbers by name.
Tracker = Callable[[str, int, Mapping[str, Value]], object]


class Log:
    """Writes lines to stderr, records to OUTPUT/log.jsonl, and records to trackers.

    Args:
        output: directory, local or a URI.
        active: False in all processes but the first: nothing is written.
        trackers: functions that get a copy of each record too.

    Attributes:
        closing: what is called when the log is closed.
    """

    def __init__(self, output: str, active: bool, trackers: Sequence[Tracker] = ()) -> None:
        self.active = active
        self.trackers = list(trackers)
        self.closing = ExitStack()
        self.target = f"{output}/log.jsonl"
        # Objects of a bucket cannot be appended to, so the log is written when the run ends. A local file is opened
        # with the first record: a run that fails before has written nothing.
        self.lines: Any = None if is_local(output) or not active else io.StringIO()

    def values(self, kind: str, step: int, values: Mapping[str, Value]) -> None:
        """Write a record: the event, the step, and numbers by name."""
        if not self.active:
            return
        if self.lines is None:
            with writing(self.target):
                os.makedirs(os.path.dirname(self.target), exist_ok=True)
                self.lines = open(self.target, "a", encoding="utf-8")  # noqa: SIM115
        self.lines.write(json.dumps({"event": kind, "step": step, **values}) + "\n")
        self.lines.flush()
        for tracker in self.trackers:
            tracker(kind, step, dict(values))

    def say(self, line: str) -> None:
        """Print a line to stderr."""
        if self.active:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Close the files and what trackers have opened; upload the log if the output is a bucket."""
        self.closing.close()
        if isinstance(self.lines, io.StringIO) and self.lines.tell():
            files, inner = filesystem(self.target)
            with writing(self.target), files.open_output_stream(inner) as stream:
                stream.write(self.lines.getvalue().encode())
        if self.lines is not None:
            self.lines.close()


def training_line(step: int, total: int, values: Mapping[str, Value]) -> str:
    """Return the line of a step.

    >>> values = {"loss": 1.23, "ms": 12.3, "sentences_per_second": 5200, "mfu": 0.41, "learning_rate": 3e-5}
    >>> training_line(50, 700, {**values, "epoch": 0, "row": 3200})
    'step 50/700 | loss 1.2300 | 12.3 ms | 5,200 sentences/s | mfu 41.0 % | lr 3.00e-05 | epoch 0 row 3,200'
    """
    terms = [f"{name} {values[name]:.4f}" for name in ("loss", "simcse", "entity") if name in values]
    return " | ".join(
        [
            f"step {step}/{total}",
            *terms,
            f"{values['ms']:.1f} ms",
            f"{values['sentences_per_second']:,.0f} sentences/s",
            *([f"mfu {100 * values['mfu']:.1f} %"] if "mfu" in values else []),
            f"lr {values['learning_rate']:.2e}",
            f"epoch {values['epoch']} row {values['row']:,}",
        ]
    )


def add_trackers(log: Log, config: Config) -> None:
    """Add the trackers that the options ask for.

    Raises:
        UsageError: a package is not installed, or Weights & Biases refuses the run.
    """
    if config.tensorboard:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise UsageError("--tensorboard: needs the package tensorboard: pip install tensorboard") from error
        board: Any = SummaryWriter(config.tensorboard)
        log.closing.callback(board.close)

        def add_scalars(event: str, step: int, values: Mapping[str, Value]) -> None:
            for name, value in values.items():
                board.add_scalar(f"{event}/{name}", value, step)

        log.trackers.append(add_scalars)
    if config.wandb:
        run = start_wandb(config)
        log.closing.callback(run.finish)
        log.trackers.append(
            lambda event, step, values: run.log(
                {"step": step, **{f"{event}/{name}": value for name, value in values.items()}}
            )
        )


def start_wandb(config: Config) -> Any:
    """Return a run of Weights & Biases. $WANDB_MODE and the other variables of `wandb` decide how: with
    WANDB_MODE=offline everything stays on this machine until `wandb sync`.

    A run that is resumed continues the same run there: its id is a hash of the output directory.

    Args:
        config: options of the run; `wandb` is PROJECT or ENTITY/PROJECT.

    Raises:
        UsageError: the package is not installed, or it refuses the run.
    """
    try:
        import wandb
    except ImportError as error:
        raise UsageError("--wandb: needs the package wandb: pip install wandb") from error
    entity, _, project = config.wandb.rpartition("/")
    output = os.path.abspath(config.output) if is_local(config.output) else config.output
    identity = {"id": hashlib.sha256(output.encode()).hexdigest()[:16], "resume": "allow"} if config.resume else {}
    try:
        run = wandb.init(
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
    run.define_metric("step")
    for event in ("train", "dev"):
        run.define_metric(f"{event}/*", step_metric="step")
    return run
