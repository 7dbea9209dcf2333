"""The README.md of a trained model: what was learnt from what, with which options and versions, and how good it is."""

from __future__ import annotations

import platform
from collections.abc import Mapping

import numpy
import pyarrow
import torch
import transformers

from wikianchor.trainer.config import Config
from wikianchor.trainer.data.shards import Pairs
from wikianchor.trainer.data.texts import Texts
from wikianchor.trainer.loop.checkpoint import State
from wikianchor.trainer.models.encoder import Encoder

PAPERS = {
    "ease": "https://aclanthology.org/2022.naacl-main.284/",
    "simcse": "https://aclanthology.org/2021.emnlp-main.552/",
    "sdjc": "https://github.com/ccilab-doshisha/SDJC",
}


def versions() -> dict[str, str]:
    """Return what scores may depend on, for a run's record."""
    found = {module.__name__: str(module.__version__) for module in (torch, transformers, pyarrow, numpy)}
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or platform.machine()
    return {"python": platform.python_version(), **found, "device": device}


def model_card(encoder: Encoder, config: Config, pairs: Pairs | Texts, state: State, dev: str, kept: str) -> str:
    """Return the card; `dev` is the name of the dev score, `kept` which weights these are."""
    best = "none was asked for" if state.best is None else f"{state.best:.4f} at step {state.best_step} ({dev})"
    pooler = "cls_before_pooler" if encoder.pooler == "cls" and encoder.head_only_train else encoder.pooler
    facts = {
        "objective": f"{config.objective} ({PAPERS[config.objective]})",
        "backbone": config.model or f"none: begun with random weights, size {config.new}",
        "pooler": pooler + (", scaled to unit length" if encoder.normalize else ""),
        "weights": kept,
        "steps": f"{state.step} of {config.step_size} sentences, {config.softmax_size} in a softmax",
        "dev score": best,
        "seed": config.seed,
        "data": f"{_size(pairs)}, fingerprint {pairs.fingerprint[:16]}",
    }
    return _HEAD + "\n\n".join(
        [
            "# Sentence encoder",
            "Trained with wikianchor. Opens with `transformers.AutoModel`, and with `SentenceTransformer` where there "
            "is a `modules.json`.",
            table_of(facts),
            "## Data",
            table_of(_data(pairs)),
            _notice(pairs),
            "## Options",
            f"```json\n{config.to_json()}\n```",
            "## Versions",
            table_of(versions()),
            "",
        ]
    )


_HEAD = "---\nlibrary_name: sentence-transformers\ntags: [sentence-similarity, feature-extraction]\n---\n\n"


def _size(data: Pairs | Texts) -> str:
    if isinstance(data, Texts):
        return ", ".join(data.paths)
    return f"{data.rows:,} pairs of {data.entities:,} entities"


def _notice(data: Pairs | Texts) -> str:
    if isinstance(data, Texts):
        return "The licence is that of these texts. The manifests are in `data_manifest.json`."
    return "Text of Wikipedia is CC BY-SA 4.0; Wikidata is CC0. The whole manifest is in `data_manifest.json`."


def _data(pairs: Pairs | Texts) -> dict[str, str]:
    if isinstance(pairs, Texts):
        return {
            path: f"{one['dataset']} {one['schema_version']}" + (f", {one['options']}" if "options" in one else "")
            for path, one in zip(pairs.paths, pairs.manifests, strict=True)
        }
    manifest = pairs.manifest
    inputs = [
        f"{item.get('dataset', '')} {item.get('wiki') or ''} {str(item.get('sha256', ''))[:16]}".strip()
        for item in manifest.get("inputs", [])
        if isinstance(item, dict)
    ]
    return {
        "schema": f"pairs {manifest['schema_version']}",
        "made with": str(manifest.get("made_with", "")),
        "inputs": "; ".join(inputs),
        "options": str(manifest.get("options", "")),
    }


def table_of(facts: Mapping[str, object]) -> str:
    """Return facts as a Markdown table of two columns."""
    lines = [f"| {name} | {str(value).replace('|', chr(92) + '|')} |" for name, value in facts.items()]
    return "\n".join(["| | |", "| --- | --- |", *lines])
