"""What a directory of sentence-transformers says about itself: pooling, head, scaling, length.

Such a directory has `modules.json`, a row of modules with a folder each. Read are Transformer, Pooling (first token
or mean), Dense (identity or tanh) and Normalize, in this order. Anything else is refused, since leaving a module out
would give other vectors without a word.
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

# Our own file beside those, for poolers that sentence-transformers has no module for.
LAYOUT = "wikianchor.json"
POOLING = {"cls": "cls_before_pooler", "mean": "avg"}
_PREFIX = "pooling_mode_"
_OLD_NAMES = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max"}
_ACTIVATIONS = {"Tanh": True, "Identity": False}


@dataclass(frozen=True)
class Layout:
    """How a model's hidden states become its vectors; `max_length` None where it is not said."""

    pooler: str = "avg"
    head: nn.Module | None = None
    normalize: bool = False
    max_length: int | None = None
    lower: bool = False


def read_layout(path: str) -> Layout:
    """Return what `modules.json` says, or the default where there is none.

    Raises:
        InputError: it names a module or an option that this encoder does not have.
    """
    modules = _json(path, "modules.json")
    if modules is None:
        own = _json(path, LAYOUT) or {}
        return Layout(own.get("pooler", Layout.pooler))
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    places = {kind: str(module["path"]) for kind, module in zip(kinds, modules, strict=True)}
    expected = [kind for kind in ("Transformer", "Pooling", "Dense", "Normalize") if kind in places]
    if kinds != expected or kinds[:2] != ["Transformer", "Pooling"]:
        raise InputError(f"{path}/modules.json: {' + '.join(kinds)}: only Transformer, Pooling, Dense, Normalize")
    prompts = (_json(path, "config_sentence_transformers.json") or {}).get("default_prompt_name")
    if prompts is not None:
        raise InputError(f"{path}: puts the prompt {prompts!r} before each text, which is not supported")
    settings = _json(path, os.path.join(places["Transformer"], "sentence_bert_config.json")) or {}
    return Layout(
        pooler=_pooler(path, places["Pooling"]),
        head=_dense(path, places["Dense"]) if "Dense" in places else None,
        normalize="Normalize" in places,
        max_length=settings.get("max_seq_length"),
        lower=bool(settings.get("do_lower_case", False)),
    )


def _pooler(path: str, place: str) -> str:
    settings = _json(path, f"{place}/config.json") or {}
    mode = settings.get("pooling_mode")
    if mode is None:
        on = [name.removeprefix(_PREFIX) for name, value in settings.items() if name.startswith(_PREFIX) and value]
        mode = _OLD_NAMES.get(on[0], on[0]) if len(on) == 1 else on
    if not isinstance(mode, str) or mode not in POOLING:
        raise InputError(f"{path}/{place}: pools by {mode}, which is not supported: only cls and mean are")
    return POOLING[mode]


def _dense(path: str, place: str) -> nn.Module:

    settings = _json(path, f"{place}/config.json") or {}
    activation = str(settings.get("activation_function", "torch.nn.modules.activation.Tanh")).rpartition(".")[2]
    if activation not in _ACTIVATIONS or not settings.get("bias", True):
        raise InputError(f"{path}/{place}: a Dense with {activation}, bias {settings.get('bias')} is not supported")
    head = Head(settings["in_features"], settings["out_features"], tanh=_ACTIVATIONS[activation])
    tensors = _file(path, f"{place}/model.safetensors")
    pickled = _file(path, f"{place}/pytorch_model.bin") if tensors is None else None
    if tensors is None and pickled is None:
        raise InputError(f"{path}/{place}: has no model.safetensors and no pytorch_model.bin")
    head.load_state_dict(load_file(tensors) if tensors else torch.load(str(pickled), weights_only=True))
    return head


def _json(path: str, name: str) -> Any:
    found = _file(path, name)
    if found is None:
        return None
    try:
        with open(found, encoding="utf-8") as stream:
            return json.load(stream)
    except ValueError as error:
        raise InputError(f"{path}/{name}: not JSON ({error}): the download may be broken") from error


def _file(path: str, name: str) -> str | None:
    """Return the path of a file of a model, fetched from the Hub where `path` is a name, or None."""
    name = os.path.normpath(name)
    if os.path.isdir(path):
        found = os.path.join(path, name)
        return found if os.path.isfile(found) else None
    try:
        return hf_hub_download(path, name)
    except Exception:
        # No network, no such model, no such file: the backbone's own error says which.
        return None


class Head(nn.Module):
    """Linear and tanh, or linear alone: the MLP of SimCSE, the pooling layer of BERT, the Dense of LaBSE."""

    def __init__(self, width: int, dim: int, tanh: bool = True) -> None:
        super().__init__()
        self.linear = nn.Linear(width, dim)
        self.tanh = tanh
        self.out_features = dim

    def forward(self, pooled: Tensor) -> Tensor:
        """pooled: (batch, width); returns (batch, dim)."""
        mapped = self.linear(pooled)
        return torch.tanh(mapped) if self.tanh else mapped
