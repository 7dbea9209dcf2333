"""A trained encoder as a directory that AutoModel and sentence-transformers open, with the same vectors from all.

The files of sentence-transformers are small and stable, so they are written here and the library is not needed.
`avg_top2` and `avg_first_last` have no module there: such a model opens in AutoModel, and its card says how it pools.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from typing import Any

from safetensors.torch import save_file
from torch import nn

from wikianchor.io.storage import is_local, publish
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.modules import LAYOUT, Head

POOLING_MODES = {"cls": "cls", "cls_before_pooler": "cls", "avg": "mean"}
_TRANSFORMER = "sentence_transformers.models.Transformer"
_POOLING = "sentence_transformers.models.Pooling"
_DENSE = "sentence_transformers.models.Dense"
_NORMALIZE = "sentence_transformers.models.Normalize"


def export(encoder: Encoder, target: str, card: str, files: Mapping[str, str]) -> None:
    """Write the encoder, its README.md and more text files to a directory, local or gs://, all or nothing.

    An MLP that is for training alone is left out. One that stays becomes the module Dense of sentence-transformers,
    and the backbone's own pooling layer where its shape allows, so that `pooler_output` is the vector.
    """
    parent = os.path.dirname(os.path.abspath(target)) if is_local(target) else None
    if parent:
        os.makedirs(parent, exist_ok=True)
    local = tempfile.mkdtemp(prefix=".unfinished-", dir=parent)
    os.chmod(local, 0o755)
    head = None if encoder.head_only_train else encoder.head
    if isinstance(head, Head):
        _into_pooling_layer(encoder, head)
    encoder.save(local)
    _write_modules(encoder, head, local)
    for name, text in {"README.md": card, **files}.items():
        _write(os.path.join(local, name), text)
    publish(local, target)


def _into_pooling_layer(encoder: Encoder, head: Head) -> None:
    layer = getattr(getattr(encoder.backbone, "pooler", None), "dense", None)
    if isinstance(layer, nn.Linear) and layer.weight.shape == head.linear.weight.shape and head.tanh:
        layer.load_state_dict(head.linear.state_dict())


def _write_modules(encoder: Encoder, head: nn.Module | None, local: str) -> None:
    pooler = "cls_before_pooler" if encoder.pooler == "cls" and head is None else encoder.pooler
    _json(os.path.join(local, LAYOUT), {"pooler": pooler})
    if pooler not in POOLING_MODES:
        return
    width = int(encoder.backbone.config.hidden_size)
    places = [(_TRANSFORMER, ""), (_POOLING, "1_Pooling")]
    _json(os.path.join(local, "1_Pooling/config.json"), _pooling(width, POOLING_MODES[pooler]))
    if isinstance(head, Head):
        places.append((_DENSE, f"{len(places)}_Dense"))
        _write_dense(head, width, os.path.join(local, places[-1][1]))
    if encoder.normalize:
        places.append((_NORMALIZE, f"{len(places)}_Normalize"))
        os.makedirs(os.path.join(local, places[-1][1]))
    _json(
        os.path.join(local, "modules.json"),
        [
            {"idx": number, "name": str(number), "path": path, "type": kind}
            for number, (kind, path) in enumerate(places)
        ],
    )
    settings = {"max_seq_length": encoder.max_length, "do_lower_case": encoder.lower}
    _json(os.path.join(local, "sentence_bert_config.json"), settings)


def _pooling(width: int, mode: str) -> dict[str, Any]:
    """The spelling that all versions of sentence-transformers read."""
    return {
        "word_embedding_dimension": width,
        "pooling_mode_cls_token": mode == "cls",
        "pooling_mode_mean_tokens": mode == "mean",
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }


def _write_dense(head: Head, width: int, place: str) -> None:
    kind = "torch.nn.modules.activation.Tanh" if head.tanh else "torch.nn.modules.linear.Identity"
    settings = {"in_features": width, "out_features": head.out_features, "bias": True, "activation_function": kind}
    _json(os.path.join(place, "config.json"), settings)
    weights = {f"linear.{name}": tensor.contiguous() for name, tensor in head.linear.state_dict().items()}
    save_file(weights, os.path.join(place, "model.safetensors"))


def _json(path: str, value: object) -> None:
    _write(path, json.dumps(value, indent=2) + "\n")


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
