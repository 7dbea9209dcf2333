"""`wikianchor release RECIPE --output=DIR --to=PLACE`: from dumps to a published model, or to MewsC-16.

Each step runs in its own process: it frees its memory, and Beam and torch are never loaded together.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wikianchor.io.config_file import read_tables
from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.commands.release.options import ReleaseOptions

# The objectives of the trainer that learn from pairs.
OBJECTIVES = ("ease", "simcse")
# How the options of a training run that choose the best weights themselves are called.
DEV_OPTIONS = ("dev", "held_out")
Call = Callable[[Sequence[str]], int]


class Step(NamedTuple):
    """A step: its name, and the command line after `wikianchor`."""

    name: str
    command: list[str]


def run(config: ReleaseOptions, beam_args: Sequence[str]) -> None:
    """Run the steps.

    Raises:
        UsageError: the recipe or an option is wrong.
        InputError: a step failed.
    """
    release(config, call)


def call(command: Sequence[str]) -> int:
    """Run a command of wikianchor in a process of its own, and return its exit status."""
    return subprocess.run([sys.executable, "-m", "wikianchor", *command]).returncode


def check(command: Sequence[str]) -> str:
    """Return what is wrong with the options of a command, "" if nothing is.

    With --help a command reads its options, the recipe's too, and then ends.
    """
    ended = subprocess.run(
        [sys.executable, "-m", "wikianchor", *command, "--help"], capture_output=True, text=True, encoding="utf-8"
    )
    return ended.stderr.strip().rpartition("\n")[2] if ended.returncode else ""


def release(config: ReleaseOptions, call: Call) -> None:
    """Check all steps, and run them.

    Args:
        config: the options.
        call: runs a command line and returns its exit status.

    Raises:
        UsageError: the recipe or an option is wrong.
        InputError: a step failed.
    """
    steps = plan(config, read_tables(config.recipe))
    for step in steps:
        # Before the first step, since a build may take a day.
        if problem := check(step.command):
            raise UsageError(f"{config.recipe}: {problem}")
    for number, step in enumerate(steps, 1):
        print(f"\n{number}/{len(steps)} {step.name}: wikianchor {shlex.join(step.command)}", flush=True)
        if not config.dry_run and (status := call(step.command)):
            raise InputError(
                f"the step {step.name} failed with exit status {status}, see above: the same command continues there"
            )


def plan(config: ReleaseOptions, recipe: dict[str, Any]) -> list[Step]:
    """Return the steps.

    Args:
        config: the options.
        recipe: the tables of the recipe.

    Raises:
        UsageError: a table is missing.
    """
    dumps = config.dumps or f"{config.output}/dumps"
    if "mewsc16" in recipe:
        return _steps(config, recipe, _mewsc16(config, dumps))
    trained = recipe.get("train", {})
    objectives = [name for name in OBJECTIVES if name in trained]
    if len(objectives) != 1:
        raise UsageError(f"{config.recipe}: needs one table [train.ease] or [train.simcse], has {len(objectives)}")
    (objective,) = objectives
    options, output = trained[objective], config.output
    vectors = f"{output}/vectors.safetensors"
    with_dev = config.evaluation and not any(name in options for name in DEV_OPTIONS)
    paths = {
        "download": ["download", f"--output={dumps}"],
        "build": ["build", f"--dumps={dumps}", f"--output={output}/data"],
        "vectors": ["vectors", f"--data={output}/data/pairs", f"--output={vectors}"],
        "train": [
            *("train", objective, f"--data={output}/data/pairs", f"--output={output}/model"),
            *([f"--entity_vectors={vectors}"] if "vectors" in recipe else []),
            *([f"--dev={config.evaluation}"] if with_dev else []),
        ],
        "evaluate": [
            *("evaluate", f"--model={output}/model/model", f"--output={output}/scores"),
            *([f"--data={config.evaluation}"] if config.evaluation else []),
        ],
        "publish": [
            *("publish", f"{output}/model/model", f"--to={config.target}", f"--scores={output}/scores"),
            f"--release={output}/release",
        ],
    }
    return _steps(config, recipe, paths)


def _mewsc16(config: ReleaseOptions, dumps: str) -> dict[str, list[str]]:
    """Return the command lines of the steps from dumps of Wikinews to MewsC-16."""
    made = f"{config.output}/mewsc16"
    tables = [f"{dumps}/*wikinews-*-{table}.sql.gz" for table in ("categorylinks", "linktarget")]
    return {
        "download": ["download", f"--output={dumps}"],
        "mewsc16": ["mewsc16", f"--dumps={dumps}/*wikinews-*.xml*", f"--sql={','.join(tables)}", f"--output={made}"],
        "publish": ["publish", made, f"--to={config.target}", f"--release={config.output}/release"],
    }


def _steps(config: ReleaseOptions, recipe: dict[str, Any], paths: dict[str, list[str]]) -> list[Step]:
    """Return the steps that are wanted, with the options of the recipe.

    Args:
        config: the options.
        recipe: the tables of the recipe.
        paths: the command line of each step.

    Raises:
        UsageError: a table is missing.
    """
    left_out = {"download": bool(config.dumps), "vectors": "vectors" not in recipe}
    wanted = [name for name in paths if name in config.steps and not left_out.get(name)]
    steps = []
    for name in wanted:
        command = paths[name]
        words = 2 if name == "train" else 1
        has_table = name in recipe and name != "vectors"
        if not has_table and name in ("download", "evaluate"):
            raise UsageError(f"{config.recipe}: has no table [{name}], and no --steps that leave it out")
        flags = [f"--config={config.recipe}"] if has_table else []
        steps.append(Step(name, [*command[:words], *flags, *command[words:]]))
    return steps
