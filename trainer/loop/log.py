"""What a run says: one line for a person, the same as JSON for a program, and TensorBoard where it is asked for."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import filesystem, is_local, writing

Value = float | int


class Log:
    """Lines to stderr, `log.jsonl` in the output directory, scalars to TensorBoard. Silent in all processes but the
    first."""

    def __init__(self, output: str, tensorboard: str, active: bool) -> None:
        self.active = active
        self.board: Any = None
        self.lines: Any = None
        if not active:
            return
        if is_local(output):
            with writing(output):
                os.makedirs(output, exist_ok=True)
                self.lines = open(os.path.join(output, "log.jsonl"), "a", encoding="utf-8")  # noqa: SIM115
        else:
            # A bucket has no appending: the log is written when the run ends.
            self.lines, self.target = io.StringIO(), f"{output}/log.jsonl"
        if tensorboard:
            self.board = _board(tensorboard)

    def values(self, kind: str, step: int, values: Mapping[str, Value]) -> None:
        """Record numbers under a kind of event."""
        if not self.active:
            return
        self.lines.write(json.dumps({"event": kind, "step": step, **values}) + "\n")
        self.lines.flush()
        if self.board is not None:
            for name, value in values.items():
                self.board.add_scalar(f"{kind}/{name}", value, step)

    def say(self, line: str) -> None:
        if self.active:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.board is not None:
            self.board.close()
        if isinstance(self.lines, io.StringIO):
            files, inner = filesystem(self.target)
            with writing(self.target), files.open_output_stream(inner) as stream:
                stream.write(self.lines.getvalue().encode())
        elif self.lines is not None:
            self.lines.close()


def _board(directory: str) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise UsageError("--tensorboard: needs the package tensorboard: pip install tensorboard") from error
    return SummaryWriter(directory)


def training_line(step: int, total: int, values: Mapping[str, Value]) -> str:
    """Return a line such as `step 50/700 | loss 1.2345 | 12.3 ms | 5,200 sentences/s | mfu 41.2 % | ...`."""
    terms = [f"{name} {values[name]:.4f}" for name in ("loss", "simcse", "entity") if name in values]
    return " | ".join(
        [
            f"step {step}/{total}",
            *terms,
            f"{values['ms']:.1f} ms",
            f"{values['sentences_per_second']:,.0f} sentences/s",
            f"mfu {100 * values['mfu']:.1f} %",
            f"lr {values['learning_rate']:.2e}",
            f"epoch {values['epoch']} row {values['row']:,}",
        ]
    )
