"""The log of a run: lines on stderr, JSON lines in log.jsonl, and records for trackers."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from wikianchor.io.storage import filesystem, is_local, writing
from wikianchor.trainer.loop.trackers import Tracker, Value


class Log:
    """Writes lines to stderr, records to OUTPUT/log.jsonl, and records to trackers.

    Args:
        output: directory, local or a URI.
        active: False in all processes but the first: nothing is written.
        trackers: that get the records too; they are closed with the log.
    """

    def __init__(self, output: str, active: bool, trackers: Sequence[Tracker] = ()) -> None:
        self.active = active
        self.trackers = tuple(trackers)
        self.lines: Any = None
        if not active:
            return
        if is_local(output):
            with writing(output):
                os.makedirs(output, exist_ok=True)
                self.lines = open(os.path.join(output, "log.jsonl"), "a", encoding="utf-8")  # noqa: SIM115
        else:
            # Objects of a bucket cannot be appended to, so the log is written when the run ends.
            self.lines, self.target = io.StringIO(), f"{output}/log.jsonl"

    def values(self, kind: str, step: int, values: Mapping[str, Value]) -> None:
        """Write a record: the event, the step, and numbers by name."""
        if not self.active:
            return
        self.lines.write(json.dumps({"event": kind, "step": step, **values}) + "\n")
        self.lines.flush()
        for tracker in self.trackers:
            tracker.values(kind, step, values)

    def say(self, line: str) -> None:
        """Print a line to stderr."""
        if self.active:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Close the files and the trackers; upload the log if the output is a bucket."""
        for tracker in self.trackers:
            tracker.close()
        if isinstance(self.lines, io.StringIO):
            files, inner = filesystem(self.target)
            with writing(self.target), files.open_output_stream(inner) as stream:
                stream.write(self.lines.getvalue().encode())
        elif self.lines is not None:
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
