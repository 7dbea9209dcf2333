"""Commands of the README: each is one that the trainer takes, and those for the demo go from pairs to a score."""

import re
import shlex
from pathlib import Path

import pytest

from trainer import initial_vectors, recipes, task
from trainer.evaluate.command import parser as evaluation

ROOT = Path(__file__).parents[2]


def commands() -> list[list[str]]:
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = re.findall(r"^(?:torchrun \S+ -m|python -m) (trainer\.\S+ .*)", text, re.M)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_it_is_understood(command: list[str]) -> None:
    module, *flags = command
    if module == "trainer.task" and flags[0] != "mboe":
        assert task.parse(flags).output
    elif module == "trainer.evaluate":
        assert evaluation().parse_args(flags).model
    elif module == "trainer.recipes":
        assert recipes.parse(flags)[0] in recipes.RECIPES
    elif module == "trainer.entities":
        assert initial_vectors.parser().parse_args(flags).output


def test_the_three_kinds_are_there() -> None:
    assert {command[0] for command in commands()} >= {"trainer.task", "trainer.evaluate", "trainer.recipes"}
