"""The modules of a sentence-transformers model: pooling, heads, normalisation, prompts, limit of tokens.

`modules.json` lists modules, each with a folder. Supported are Transformer and Pooling, or StaticEmbedding, then any
number of Dense, and Normalize. Other modules and other settings of these are an error, because without them the vectors
would silently differ.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
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
PROMPTS = "config_sentence_transformers.json"
TRANSFORMER = "sentence_bert_config.json"
# Names of poolers in sentence-transformers, and ours.
POOLING = {
    "cls": "cls_before_pooler",
    "mean": "avg",
    "max": "max",
    "lasttoken": "last",
    "weightedmean": "weighted",
    "mean_sqrt_len_tokens": "sqrt",
}
# Settings of the older form, one for each pooler.
SWITCHES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
}
# A tokenizer without a limit has a huge number as `model_max_length`.
NO_LIMIT = 100_000
TANH = "torch.nn.modules.activation.Tanh"
# Settings that a module may have with these values.
_OUTPUT = {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"}
_TEXT = {"method": "forward", "method_output_name": "last_hidden_state"}


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How texts become token vectors, and these a vector.

    Attributes:
        pooler: one of `POOLERS`.
        head: applied to the pooled vector.
        normalize: whether vectors have unit length.
        max_length: tokens kept of a text; None where no file states it.
        lower: whether texts are lower-cased.
        prompts: texts that may be put before each text, by name.
        prompt: the one of them that is.
        include_prompt: whether the tokens of the prompt are pooled.
        static: folder of the StaticEmbedding, where that takes the place of a Transformer and its pooling.
    """

    pooler: str = "avg"
    head: nn.Module | None = None
    normalize: bool = False
    max_length: int | None = None
    lower: bool = False
    prompts: Mapping[str, str] = field(default_factory=dict)
    prompt: str = ""
    include_prompt: bool = True
    static: str | None = None


def read_layout(path: str) -> Layout:
    """Return the layout of a model, or the default for a model without modules.json.

    Args:
        path: a directory or a name on the Hub.

    Raises:
        InputError: the model has a module or a setting that is not supported.
    """
    modules = _json(path, "modules.json")
    if modules is None:
        return Layout(pooler=(_json(path, LAYOUT) or {}).get("pooler", Layout.pooler))
    for module in modules:
        if module["path"] and not is_inside(path, f"{path}/{module['path']}"):
            raise InputError(f"{path}/modules.json: {module['path']!r} is outside of the model")
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    folders = [str(module["path"]) for module in modules]
    dense, normalize = kinds.count("Dense"), "Normalize" in kinds
    static = folders[0] if kinds[:1] == ["StaticEmbedding"] else None
    first = ["Transformer", "Pooling"] if static is None else ["StaticEmbedding"]
    if kinds != [*first, *["Dense"] * dense, *["Normalize"] * normalize] or (static is None and folders[0]):
        described = " + ".join(kinds) + (f" in {folders[0]}/" if folders[0] else "")
        raise InputError(
            f"{path}/modules.json: {described}: only Transformer and Pooling, or StaticEmbedding; Dense; Normalize"
        )
    if normalize:
        _settings(path, f"{folders[-1]}/config.json", (), _OUTPUT)
    known = {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings"}
    settings = _settings(
        path, TRANSFORMER, ("max_seq_length", "do_lower_case", "unpad_inputs", "modality_config"), known
    )
    text = (settings.get("modality_config") or {}).get("text", _TEXT)
    if text != _TEXT:
        raise InputError(f"{path}/{TRANSFORMER}: takes {text} from the model, which is not supported")
    stated = _settings(
        path,
        PROMPTS,
        ("__version__", "prompts", "default_prompt_name", "similarity_fn_name"),
        {"model_type": "SentenceTransformer"},
    )
    prompts = {name: prompt or "" for name, prompt in (stated.get("prompts") or {}).items()}
    name = stated.get("default_prompt_name")
    if name is not None and name not in prompts:
        raise InputError(f"{path}/{PROMPTS}: the default prompt {name!r} is not among its prompts")
    pooler, include_prompt = _pooler(path, folders[1]) if static is None else (Layout.pooler, Layout.include_prompt)
    heads = [_dense(path, folder) for folder in folders[len(first) : len(first) + dense]]
    return Layout(
        pooler=pooler,
        head=nn.Sequential(*heads) if len(heads) > 1 else next(iter(heads), None),
        normalize=normalize,
        max_length=settings.get("max_seq_length") if static is None else NO_LIMIT,
        lower=bool(settings.get("do_lower_case")),
        prompts=prompts,
        prompt=prompts.get(name, ""),
        include_prompt=include_prompt,
        static=static,
    )


def _settings(path: str, name: str, used: Collection[str], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a module.

    Args:
        path: the model.
        name: the file of the settings.
        used: settings that may have any value.
        known: settings that may have one value, or none.

    Raises:
        InputError: there is another setting, or another value.
    """
    settings: dict[str, Any] = _json(path, name) or {}
    for setting, value in settings.items():
        if setting not in used and value and value != known.get(setting):
            raise InputError(f"{path}/{name}: {setting} {value!r} is not supported")
    return settings


def _pooler(path: str, folder: str) -> tuple[str, bool]:
    """Return the pooler, and whether it takes the tokens of the prompt."""
    used = ("word_embedding_dimension", "embedding_dimension", "pooling_mode", "include_prompt", *SWITCHES)
    settings = _settings(path, f"{folder}/config.json", used, {})
    modes = settings.get("pooling_mode") or [mode for name, mode in SWITCHES.items() if settings.get(name)] or "mean"
    mode = modes[0] if isinstance(modes, list) and len(modes) == 1 else modes
    include_prompt = settings.get("include_prompt") is not False
    if not isinstance(mode, str) or mode not in POOLING or (mode == "weightedmean" and not include_prompt):
        without = "" if include_prompt else " without the prompt"
        raise InputError(f"{path}/{folder}: pools by {mode}{without}, which is not supported: {', '.join(POOLING)} are")
    return POOLING[mode], include_prompt


def _dense(path: str, folder: str) -> Head:
    used = ("in_features", "out_features", "bias", "activation_function")
    settings = _settings(path, f"{folder}/config.json", used, _OUTPUT)
    activation = str(settings.get("activation_function", TANH))
    try:
        head = Head(
            settings["in_features"], settings["out_features"], activation, bias=settings.get("bias") is not False
        )
        head.load_state_dict(read_weights(path, folder))
    except (AttributeError, TypeError, RuntimeError) as error:
        raise InputError(f"{path}/{folder}: a Dense with {activation} and these weights is not supported") from error
    return head


def read_weights(path: str, folder: str) -> dict[str, Tensor]:
    """Return the weights of a module; raises InputError if there are none."""
    tensors = model_file(path, folder, "model.safetensors")
    pickled = model_file(path, folder, "pytorch_model.bin") if tensors is None else None
    if tensors is None and pickled is None:
        raise InputError(f"{path}/{folder}: has no model.safetensors and no pytorch_model.bin")
    return load_file(tensors) if tensors else torch.load(str(pickled), weights_only=True)


def _json(path: str, name: str) -> Any:
    """Return the content of a JSON file of a model, None where there is no such file."""
    file = model_file(path, name)
    if file is None:
        return None
    with open(file, encoding="utf-8") as stream, malformed(f"{path}/{name}: not JSON, the download may be broken"):
        return json.load(stream)


def model_file(path: str, *names: str) -> str | None:
    """Return the local path of a file of a model, downloaded if needed; None where there is no such file."""
    name = os.path.normpath(os.path.join(*names))
    if os.path.isdir(path):
        file = os.path.join(path, name)
        return file if os.path.isfile(file) else None
    try:
        return hf_hub_download(path, name)
    except Exception:
        # No network, no such model or no such file. The backbone, which is read too, raises the error.
        return None


class Head(nn.Module):
    """A linear layer and its activation: SimCSE's MLP, BERT's pooling layer, a Dense of sentence-transformers.

    Args:
        width, dim: widths of its input and output.
        activation: full name of a module of torch that takes no arguments.
        bias: whether the layer has one.

    Raises:
        AttributeError, TypeError: there is no such module.
    """

    def __init__(self, width: int, dim: int, activation: str = TANH, *, bias: bool = True) -> None:
        super().__init__()
        self.linear = nn.Linear(width, dim, bias)
        self.name = activation
        module, _, name = activation.rpartition(".")
        if not module.startswith("torch.nn.modules"):
            raise AttributeError(activation)
        self.activation: nn.Module = getattr(nn, name)()

    def forward(self, pooled: Tensor) -> Tensor:
        """Map pooled vectors (batch, width) to (batch, dim)."""
        return self.activation(self.linear(pooled))
