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
# Each takes longer to import than all the help there is to print.
HEAVY = {"apache_beam", "torch", "transformers", "spacy", "ginza", "datasets", "scipy", "sklearn", "matplotlib", "mteb"}


@pytest.mark.parametrize("command", [*WIKIANCHOR, *TRAINER], ids=lambda command: " ".join(command[2:]))
def test_help_is_there_without_what_the_command_needs(command: list[str]) -> None:
    python, *rest = command
    ended = subprocess.run([python, "-X", "importtime", *rest, "--help"], capture_output=True, text=True, check=True)
    lines = ended.stderr.splitlines()
    imported = {line.rpartition("|")[2].strip() for line in lines}
    assert ended.stdout.startswith("usage: ")
    assert [line for line in lines if not line.startswith("import time:")] == []
    assert "argparse" in imported
    assert imported & HEAVY == set()


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
