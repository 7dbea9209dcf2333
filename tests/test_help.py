"""`--help` of each command: there at once, complete, and without what the command itself needs."""

import os
import re
import subprocess
import sys

import pytest

from pipelines.cli import COMMANDS

WIKIANCHOR = [[sys.executable, "-m", "pipelines.cli", *name] for name in [[], *([name] for name in COMMANDS)]]
TRAINER = [
    [sys.executable, "-m", *words.split()]
    for words in (
        *("trainer.task", "trainer.task ease", "trainer.task mboe", "trainer.evaluate", "trainer.entities"),
        *("trainer.recipes", "trainer.recipes sdjc", "trainer.figures", "trainer.construction", "trainer.detect"),
    )
]
# User CPU, so that neighbours do not count; the best of three.
SECONDS = 0.4


@pytest.mark.parametrize("command", [*WIKIANCHOR, *TRAINER], ids=lambda command: " ".join(command[2:]))
def test_help_is_there_at_once(command: list[str]) -> None:
    taken = []
    for _ in range(3):
        before = os.times().children_user
        ended = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
        taken.append(os.times().children_user - before)
        if taken[-1] < SECONDS:
            break
    assert ended.stdout.startswith("usage: ")
    assert ended.stderr == ""
    assert min(taken) < SECONDS


@pytest.mark.parametrize("name", COMMANDS)
def test_each_flag_is_explained(name: str) -> None:
    command = [sys.executable, "-m", "pipelines.cli", name, "--help"]
    text = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "400"}
    ).stdout
    flags = re.findall(r"^  (-\S.*(?:\n {10,}\S.*)?)$", text, re.MULTILINE)
    assert len(flags) >= 2
    assert [flag for flag in flags if not re.search(r"\S(?:  +|\n +)\S", flag)] == []
    assert re.search(rf"examples?:\s+wikianchor {name}", text)
