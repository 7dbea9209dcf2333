"""The command lines of `wikianchor train`, read without torch, which takes seconds to load."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from wikianchor.io.config_file import add_config, with_settings
from wikianchor.io.flags import FlagParser
from wikianchor.io.options import add_options, program
from wikianchor.trainer.config import CONFIGS, EaseConfig, PairsConfig, SdjcConfig, SpanConfig, make
from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.mboe.config import make as make_mboe

ABOUT = """\
Train a model on a dataset, on a CPU, on a GPU, or under torchrun on several of either. The same command, given again
after an interruption, continues from the last checkpoint. For torchrun: `torchrun -m wikianchor train ...`.
"""
HELP = {
    "ease": "sentences and the entities that they link to",
    "simcse": "sentences alone, of the same rows",
    "sdjc": "sentences of a domain and their hard negatives",
    "t5": "to fill spans, for wikianchor negatives",
    "mboe": "classify documents with the entities in them",
}


OBJECTIVES: dict[str, type] = {**CONFIGS, "mboe": MboeConfig}


def task_parser() -> argparse.ArgumentParser:
    """Return the command line: an objective and its flags."""
    parser = FlagParser(prog="wikianchor train", description=ABOUT)
    commands = parser.add_subparsers(dest="objective", required=True)
    for objective, config in OBJECTIVES.items():
        add_options(add_config(commands.add_parser(objective, help=HELP[objective]), f"train.{objective}"), config)
    return parser


def parse(argv: Sequence[str]) -> Any:
    """Return the config that a command line asks for.

    Raises:
        InputError: the file of --config is missing or no TOML.
        UsageError: a flag, or something in that file, is wrong.
    """
    flags = vars(task_parser().parse_args(_with_settings(argv)))
    objective = flags.pop("objective")
    return make_mboe(flags) if objective == "mboe" else make(objective, flags)


def check_inputs(argv: Sequence[str]) -> None:
    """Look for the model and the data that a command line names, which takes no torch.

    Raises:
        InputError: there is no such model, or no dataset that can be trained on.
    """
    # Help and mistakes in flags need neither NumPy nor Arrow.
    from wikianchor.trainer.data.own_rows import open_rows
    from wikianchor.trainer.data.texts import open_texts
    from wikianchor.trainer.mboe.dictionary import open_mentions
    from wikianchor.trainer.models.hub import check_model

    config = parse(argv)
    if config.model:
        check_model(config.model)
    if isinstance(config, PairsConfig) and not config.dry_run:
        open_rows(config.data, config.cache, needs_entities=isinstance(config, EaseConfig))
    elif isinstance(config, SpanConfig | SdjcConfig):
        open_texts(config.data)
    elif isinstance(config, MboeConfig) and config.entities == "detected":
        open_mentions(config.mentions)


def _with_settings(argv: Sequence[str]) -> list[str]:
    """Return a command line with the options of its --config."""
    if not argv or argv[0] not in OBJECTIVES:
        return list(argv)
    return [argv[0], *with_settings(f"train.{argv[0]}", argv[1:], program("", "", OBJECTIVES[argv[0]]))]


def read_file(objective: str, path: str) -> dict[str, Any]:
    """Return the options of an objective in a TOML file; raises as `parse`."""
    parser = program("", "", OBJECTIVES[objective])
    return vars(parser.parse_args(with_settings(f"train.{objective}", [f"--config={path}"], parser)))
