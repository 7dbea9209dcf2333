"""Configs that are a split of another config: `pairs_dev` and `pairs_test` hold the rows of dev and test of `pairs`.

The rows of train are in the config without an ending, so whoever reads that config, such as the trainer, never reads a
row that is held out.
"""

from __future__ import annotations

from wikianchor.schemas.pairs import SPLITS


def split_config(config: str, split: str) -> str:
    """Return the name of the config with the rows of a split.

    >>> split_config("pairs", "dev"), split_config("pairs", "train")
    ('pairs_dev', 'pairs')
    """
    return config if split == SPLITS[0] else f"{config}_{split}"


def split_of(config: str) -> tuple[str, str]:
    """Return the config without the ending of its split, and the split.

    >>> split_of("pairs_test"), split_of("pairs")
    (('pairs', 'test'), ('pairs', 'train'))
    """
    base, _, split = config.rpartition("_")
    return (base, split) if base and split in SPLITS[1:] else (config, SPLITS[0])
