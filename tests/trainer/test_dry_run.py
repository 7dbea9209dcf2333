"""`--dry_run` says what the run does, and writes nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from wikianchor.io.errors import UsageError
from wikianchor.trainer import task
from wikianchor.trainer.config import make


@pytest.mark.parametrize(
    ("more", "rows"),
    [({}, "400 in an epoch"), ({"held_out": 40, "epochs": 2}, "360 of 400"), ({"quota": "enwiki=64"}, "64 of 400")],
)
def test_it_says_what_the_run_does(options: dict[str, Any], tmp_path: Path, more: dict[str, Any], rows: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    config = make("ease", {**options, **more, "dry_run": True}, {})
    text = task.run(config)
    assert sorted(tmp_path.rglob("*")) == before
    lines = {line.split()[0]: line for line in text.splitlines()}
    assert list(lines) == ["rows", "steps", "tokens", "time", "memory", "written"]
    assert f" {rows}" in lines["rows"]
    assert re.search(r"about \d+ s: [\d.]+ ms a step on cpu in fp32", lines["time"])
    assert re.search(r"[\d.]+ [MG]B memory of the process.* of the entity table 9\.2 kB", lines["memory"])

    task.run(make("ease", {**options, **more}, {}))
    record = json.loads(Path(options["output"], "model", "run.json").read_text())
    assert f" {record['state']['step']} of 16 sentences" in lines["steps"]


def test_rows_that_fill_no_step(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="400 rows are less than one step"):
        task.run(make("simcse", {**options, "softmax_size": 512, "dry_run": True}, {}))


def test_rows_of_ones_own(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"text": "kana kapo {n}", "entity": "{n % 5}"}}\n' for n in range(40)))
    text = task.run(make("ease", {**options, "data": str(path), "dry_run": True}, {}))
    assert f"40 in an epoch, 5 entities, from {path}" in text
    assert not Path(options["cache"]).exists()
