"""The cases that pytest and `cargo test` read: the lines of `tests/*/cases/*.jsonl`, a JSON object each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent


def read_cases(folder: str) -> list[Any]:
    """Return the cases of a folder below `tests`, each as an argument of pytest with its file and line."""
    return [
        pytest.param(json.loads(line), id=f"{path.stem}-{number}")
        for path in sorted((ROOT / folder / "cases").glob("*.jsonl"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
    ]
