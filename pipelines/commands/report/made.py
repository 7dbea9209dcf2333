"""What a run has made: as a summary, as a report and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wikianchor.io.output import say
from wikianchor.pipelines.commands.report.text import print_report, print_summary
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.summary import made, made_together, next_lines, spent


@dataclass(frozen=True)
class Made:
    """What a run has made.

    Attributes:
        datasets: its datasets; none of a run that only planned.
        directory: that of the run, or of its only dataset.
        start: when it began, of `time.monotonic`.
        engine: what read pages, "" for none.
        commands: that may come next.
    """

    datasets: Sequence[Dataset]
    directory: str
    start: float
    engine: str = ""
    commands: Sequence[Sequence[str]] = ()

    def say(self, details: bool = False) -> None:
        """Print a summary, or the report of each dataset."""
        if not self.datasets:
            return
        if details:
            # Of a single stage, `wikianchor report` alone reads all pairs.
            print_report(self.datasets, coverage=len(self.datasets) > 1)
        else:
            print_summary(self.datasets)
        say()
        say(made(self.datasets[0]) if len(self.datasets) == 1 else made_together(self.datasets, self.directory))
        say(spent(self.start, self.engine))
        print("\n".join(next_lines(*self.commands)))
        if not details:
            print("\n".join(next_lines(["wikianchor", "report", self.directory], label="more:")))

    def record(self) -> dict[str, Any]:
        """Return the same for programs."""
        return {
            "output": self.directory,
            "engine": self.engine or None,
            "datasets": [dataset_record(dataset) for dataset in self.datasets],
            "next": [shlex.join(command) for command in self.commands],
        }


def dataset_record(dataset: Dataset) -> dict[str, Any]:
    """Return what a dataset is, for programs."""
    entries = dataset.entries()
    return {
        "dataset": dataset.name,
        "wiki": dataset.wiki or None,
        "directory": dataset.directory,
        "schema_version": dataset.manifest["schema_version"],
        "rows": {name: dataset.rows(name) for name in dataset.configs},
        "shards": len(entries),
        "bytes": sum(shard["bytes"] for shard in entries),
        "ledger": dataset.ledger,
    }
