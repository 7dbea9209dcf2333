"""The modules of a sentence-transformers model: pooling, head, normalisation, limit of tokens.

`modules.json` lists modules, each with a folder. Supported are Transformer, Pooling (first token or mean), Dense
(identity or tanh) and Normalize, in this order. Other modules are an error, because without them the vectors would
silently differ.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import torch
from huggingface_hub import hf_hub_download
from safetensors.torch import load_file
from torch import Tensor, nn

from wikianchor.io.errors import InputError
from wikianchor.io.manifests import is_inside
from wikianchor.io.parsing import malformed

# Written by this project, for poolers that sentence-transformers does not have.
LAYOUT = "wikianchor.json"
POOLING = {"cls": "cls_before_pooler", "mean": "avg"}
_PREFIX = "pooling_mode_"
_OLD_NAMES = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max"}
_ACTIVATIONS = {"Tanh": True, "Identity": False}


@dataclass(frozen=True)
class Layout:
    """How hidden states become vectors; `max_length` is None where no file states it."""

    pooler: str = "avg"
    head: nn.Module | None = None
    normalize: bool = False
    max_length: int | None = None
    lower: bool = False


def read_layout(path: str) -> Layout:
    """Return the layout of a model, or the default for a model without modules.json.

    Args:
        path: a directory or a name on the Hub.

    Raises:
        InputError: the model has a module or an option that is not supported.
    """
    modules = _json(path, "modules.json")
    if modules is None:
        return Layout((_json(path, LAYOUT) or {}).get("pooler", Layout.pooler))
    for module in modules:
        if module["path"] and not is_inside(path, f"{path}/{module['path']}"):
            raise InputError(f"{path}/modules.json: {module['path']!r} is outside of the model")
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    folders = {kind: str(module["path"]) for kind, module in zip(kinds, modules, strict=True)}
    expected = [kind for kind in ("Transformer", "Pooling", "Dense", "Normalize") if kind in folders]
    if kinds != expected or kinds[:2] != ["Transformer", "Pooling"]:
        raise InputError(f"{path}/modules.json: {' + '.join(kinds)}: only Transformer, Pooling, Dense, Normalize")
    prompts = (_json(path, "config_sentence_transformers.json") or {}).get("default_prompt_name")
    if prompts is not None:
        raise InputError(f"{path}: puts the prompt {prompts!r} before each text, which is not supported")
    settings = _json(path, os.path.join(folders["Transformer"], "sentence_bert_config.json")) or {}
    return Layout(
        pooler=_pooler(path, folders["Pooling"]),
        head=_dense(path, folders["Dense"]) if "Dense" in folders else None,
        normalize="Normalize" in folders,
        max_length=settings.get("max_seq_length"),
        lower=bool(settings.get("do_lower_case")),
    )


def _pooler(path: str, folder: str) -> str:
    settings = _json(path, f"{folder}/config.json") or {}
    mode = settings.get("pooling_mode")
    if mode is None:
        on = [name.removeprefix(_PREFIX) for name, value in settings.items() if name.startswith(_PREFIX) and value]
        mode = _OLD_NAMES.get(on[0], on[0]) if len(on) == 1 else on
    if not isinstance(mode, str) or mode not in POOLING:
        raise InputError(f"{path}/{folder}: pools by {mode}, which is not supported: only cls and mean are")
    return POOLING[mode]


def _dense(path: str, folder: str) -> nn.Module:
    settings = _json(path, f"{folder}/config.json") or {}
    activation = str(settings.get("activation_function", "torch.nn.modules.activation.Tanh")).rpartition(".")[2]
    if activation not in _ACTIVATIONS or ("bias" in settings and not settings["bias"]):
        raise InputError(f"{path}/{folder}: a Dense with {activation}, bias {settings.get('bias')} is not supported")
    head = Head(settings["in_features"], settings["out_features"], tanh=_ACTIVATIONS[activation])
    tensors = _file(path, f"{folder}/model.safetensors")
    pickled = _file(path, f"{folder}/pytorch_model.bin") if tensors is None else None
    if tensors is None and pickled is None:
        raise InputError(f"{path}/{folder}: has no model.safetensors and no pytorch_model.bin")
    head.load_state_dict(load_file(tensors) if tensors else torch.load(str(pickled), weights_only=True))
    return head


def _json(path: str, name: str) -> Any:
    """Return the content of a JSON file of a model, None where there is no such file."""
    file = _file(path, name)
    if file is None:
        return None
    with open(file, encoding="utf-8") as stream, malformed(f"{path}/{name}: not JSON, the download may be broken"):
        return json.load(stream)


def _file(path: str, name: str) -> str | None:
    """Return the local path of a file of a model, downloaded if needed; None where there is no such file."""
    name = os.path.normpath(name)
    if os.path.isdir(path):
        file = os.path.join(path, name)
        return file if os.path.isfile(file) else None
    try:
        return hf_hub_download(path, name)
    except Exception:
        # No network, no such model or no such file. The backbone, which is read too, raises the error.
        return None


class Head(nn.Module):
    """A linear layer and tanh, or a linear layer alone: SimCSE's MLP, BERT's pooling layer, LaBSE's Dense."""

    def __init__(self, width: int, dim: int, tanh: bool = True) -> None:
        super().__init__()
        self.linear = nn.Linear(width, dim)
        self.tanh = tanh
        self.out_features = dim

    def forward(self, pooled: Tensor) -> Tensor:
        """Map pooled vectors (batch, width) to (batch, dim)."""
        mapped = self.linear(pooled)
        return torch.tanh(mapped) if self.tanh else mapped
