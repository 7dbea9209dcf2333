"""A trained model on disk: the encoder as transformers has it; the rest in `mboe.safetensors` and `mboe.json`."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from wikianchor.io.errors import InputError
from wikianchor.io.storage import publish, writing
from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.mboe.model import Mboe
from wikianchor.trainer.models.encoder import Encoder


class Loaded(NamedTuple):
    """A model with what its numbers mean: labels, and items of the entity table."""

    model: Mboe
    labels: tuple[str, ...]
    qids: NDArray[np.int64]
    multi_label: bool
    config: MboeConfig


def export(
    model: Mboe, labels: Sequence[str], qids: NDArray[np.int64], multi_label: bool, config: MboeConfig, target: str
) -> None:
    """Write a model to a directory, in place of what is there."""
    unfinished = f"{target}.unfinished"
    with writing(target):
        shutil.rmtree(unfinished, ignore_errors=True)
        os.makedirs(unfinished)
        model.encoder.save(unfinished)
        own = {name: weight for name, weight in model.state_dict().items() if not name.startswith("encoder.")}
        own = {name: weight.detach().cpu().contiguous() for name, weight in own.items()}
        save_file({**own, "qids": torch.from_numpy(qids)}, f"{unfinished}/mboe.safetensors")
        facts = {"labels": list(labels), "multi_label": multi_label, "config": dataclasses.asdict(config)}
        with open(f"{unfinished}/mboe.json", "w", encoding="utf-8") as stream:
            json.dump(facts, stream, indent=2)
    publish(unfinished, target)


def load(path: str, device: str = "cpu") -> Loaded:
    """Read what `export` wrote, in eval mode.

    Raises:
        InputError: it is no such directory.
    """
    try:
        with open(f"{path}/mboe.json", encoding="utf-8") as stream:
            facts = json.load(stream)
        weights = load_file(f"{path}/mboe.safetensors")
        config = MboeConfig(**facts["config"])
        labels = tuple(facts["labels"])
        encoder = Encoder.load(path, "cls_before_pooler")
        model = Mboe(encoder, config, len(labels), weights.get("table.weight"))
        qids = weights.pop("qids").numpy()
        missing, strange = model.load_state_dict(weights, strict=False)
        # The encoder's own weights are read by its library.
        if lacking := [*strange, *(name for name in missing if not name.startswith("encoder."))]:
            raise InputError(f"{path}: mboe.safetensors does not go with mboe.json: {', '.join(lacking)}")
    except InputError:
        raise
    except Exception as error:
        # safetensors and torch have errors of their own, and those of files.
        line = " ".join(str(error).split())
        raise InputError(f"{path}: not a model of `wikianchor train mboe` ({line})") from error
    return Loaded(model.to(device).eval(), labels, qids, bool(facts["multi_label"]), config)
