"""A trained M-BoE on disk: the encoder as transformers writes it, the rest in `mboe.safetensors` and `mboe.json`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from wikianchor.io.errors import InputError
from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.mboe.model import Mboe
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.export import publish_model


class TrainedMboe(NamedTuple):
    """A model with its labels, and the items of its entity table."""

    model: Mboe
    labels: tuple[str, ...]
    qids: NDArray[np.int64]
    multi_label: bool
    config: MboeConfig


def export(
    model: Mboe, labels: Sequence[str], qids: NDArray[np.int64], *, multi_label: bool, config: MboeConfig, target: str
) -> None:
    """Write a model to a directory, which is replaced if it exists."""

    def save(local: str) -> None:
        model.encoder.save(local)
        weights = {name: weight for name, weight in model.state_dict().items() if not name.startswith("encoder.")}
        weights = {name: weight.detach().cpu().contiguous() for name, weight in weights.items()}
        save_file({**weights, "qids": torch.from_numpy(qids)}, f"{local}/mboe.safetensors")

    settings = {"labels": list(labels), "multi_label": multi_label, "config": dataclasses.asdict(config)}
    publish_model(target, save, {"mboe.json": json.dumps(settings, indent=2)})


def load(path: str, device: str = "cpu") -> TrainedMboe:
    """Read what `export` wrote, in eval mode.

    Raises:
        InputError: the directory holds no such model, or a damaged one.
    """
    try:
        with open(f"{path}/mboe.json", encoding="utf-8") as stream:
            settings = json.load(stream)
        weights = load_file(f"{path}/mboe.safetensors")
        config = MboeConfig(**settings["config"])
        labels = tuple(settings["labels"])
        encoder = Encoder.load(path, "cls_before_pooler")
        model = Mboe(encoder, config, len(labels), weights.get("table.weight"))
        qids = weights.pop("qids").numpy()
        missing, unexpected = model.load_state_dict(weights, strict=False)
        # Encoder.load has read the encoder's weights.
        if wrong := [*unexpected, *(name for name in missing if not name.startswith("encoder."))]:
            raise InputError(f"{path}: mboe.safetensors does not go with mboe.json: {', '.join(wrong)}")
    except InputError:
        raise
    except Exception as error:
        # safetensors and torch raise exceptions of many types for damaged files.
        line = " ".join(str(error).split())
        raise InputError(f"{path}: not a model of `wikianchor train mboe` ({line})") from error
    return TrainedMboe(model.to(device).eval(), labels, qids, bool(settings["multi_label"]), config)
