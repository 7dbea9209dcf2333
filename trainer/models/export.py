"""A trained encoder as a directory that AutoModel and sentence-transformers load with the same vectors.

The files of sentence-transformers are few and stable, so they are written here and the library is not a dependency.
`avg_top2` and `avg_first_last` have no module there: such a model loads in AutoModel, and its card names the pooler.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping

from safetensors.torch import save_file
from torch import nn

from wikianchor.io.storage import is_local, publish, writing
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.modules import LAYOUT, POOLING, PROMPTS, SWITCHES, TANH, TRANSFORMER, Head
from wikianchor.trainer.models.static import StaticModel

# Poolers that sentence-transformers has, with its names; models with others open in transformers alone.
POOLING_MODES = {"cls": "cls", **{ours: theirs for theirs, ours in POOLING.items()}}
MODULES = "sentence_transformers.models"


def publish_model(target: str, save: Callable[[str], object], files: Mapping[str, str | bytes]) -> None:
    """Write a directory and publish it at `target`, local or a URI, complete or not at all.

    Args:
        target: the directory, replaced if it exists.
        save: writes the model into a new directory.
        files: further files by their names.

    Raises:
        InputError: the directory cannot be written.
    """
    parent = os.path.dirname(os.path.abspath(target)) if is_local(target) else None
    with writing(target):
        if parent:
            os.makedirs(parent, exist_ok=True)
        local = tempfile.mkdtemp(prefix=".unfinished-", dir=parent)
        os.chmod(local, 0o755)
        try:
            save(local)
            for name, content in files.items():
                _write(os.path.join(local, name), content)
        except BaseException:
            shutil.rmtree(local, ignore_errors=True)
            raise
    publish(local, target)


def export(encoder: Encoder, target: str, card: str, files: Mapping[str, str]) -> None:
    """Write an encoder with its README.md and further text files to a directory, local or a URI.

    A head that is used in training alone is left out. Any other head becomes the Dense module of sentence-transformers,
    and the backbone's pooling layer if it has the same shape, so that `pooler_output` is the vector.
    """
    head = None if encoder.head_only_train else encoder.head
    layer = getattr(getattr(encoder.backbone, "pooler", None), "dense", None)
    linear = head.linear if isinstance(head, Head) and head.name == TANH else None
    if linear is not None and isinstance(layer, nn.Linear) and layer.weight.shape == linear.weight.shape:
        layer.load_state_dict(linear.state_dict())

    def save(local: str) -> None:
        encoder.save(local)
        _write_modules(encoder, head, local)

    publish_model(target, save, {"README.md": card, **files})


def _write_modules(encoder: Encoder, head: nn.Module | None, local: str) -> None:
    """Write the files that name the modules of sentence-transformers."""
    pooler = "cls_before_pooler" if encoder.pooler == "cls" and head is None else encoder.pooler
    _write_json(os.path.join(local, LAYOUT), {"pooler": pooler})
    if pooler not in POOLING_MODES:
        return
    modules = [("StaticEmbedding", "")]
    if not isinstance(encoder.backbone, StaticModel):
        modules = [("Transformer", ""), ("Pooling", "1_Pooling")]
        # The spelling that all versions of sentence-transformers read.
        pooling = {
            "word_embedding_dimension": int(encoder.backbone.config.hidden_size),
            **{switch: mode == POOLING_MODES[pooler] for switch, mode in SWITCHES.items()},
            "include_prompt": encoder.include_prompt,
        }
        _write_json(os.path.join(local, "1_Pooling/config.json"), pooling)
        settings = {"max_seq_length": encoder.max_length, "do_lower_case": encoder.lower}
        _write_json(os.path.join(local, TRANSFORMER), settings)
    for layer in head.modules() if head is not None else ():
        if isinstance(layer, Head):
            modules.append(("Dense", f"{len(modules)}_Dense"))
            _write_dense(layer, os.path.join(local, modules[-1][1]))
    if encoder.normalize:
        modules.append(("Normalize", f"{len(modules)}_Normalize"))
        os.makedirs(os.path.join(local, modules[-1][1]))
    listed = [
        {"idx": number, "name": str(number), "path": path, "type": f"{MODULES}.{kind}"}
        for number, (kind, path) in enumerate(modules)
    ]
    _write_json(os.path.join(local, "modules.json"), listed)
    if encoder.prompt:
        name = next((name for name, prompt in encoder.prompts.items() if prompt == encoder.prompt), "text")
        stated = {"prompts": {**encoder.prompts, name: encoder.prompt}, "default_prompt_name": name}
        _write_json(os.path.join(local, PROMPTS), stated)
    elif encoder.prompts:
        _write_json(os.path.join(local, PROMPTS), {"prompts": encoder.prompts})


def _write_dense(head: Head, directory: str) -> None:
    settings = {
        "in_features": head.linear.in_features,
        "out_features": head.linear.out_features,
        "bias": head.linear.bias is not None,
        "activation_function": head.name,
    }
    _write_json(os.path.join(directory, "config.json"), settings)
    weights = {f"linear.{name}": tensor.contiguous() for name, tensor in head.linear.state_dict().items()}
    save_file(weights, os.path.join(directory, "model.safetensors"))


def _write_json(path: str, value: object) -> None:
    _write(path, json.dumps(value, indent=2) + "\n")


def _write(path: str, content: str | bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(content.encode() if isinstance(content, str) else content)
