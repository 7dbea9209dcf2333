"""The README.md and the run.json of a trained model: objective, data, options, versions and dev score."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import re
from collections.abc import Mapping
from typing import Any

import numpy
import pyarrow
import torch
import transformers

from wikianchor.io.hub import card_head, hub_languages
from wikianchor.io.markdown import markdown_table
from wikianchor.io.options import shown
from wikianchor.trainer.config import Config, EncoderConfig, PairsConfig
from wikianchor.trainer.data.shards import PairDataset, read_wikis
from wikianchor.trainer.data.texts import Texts
from wikianchor.trainer.loop.checkpoint import State
from wikianchor.trainer.loop.train import DevScore
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.export import POOLING_MODES

PAPERS = {
    "ease": "https://aclanthology.org/2022.naacl-main.284/",
    "simcse": "https://aclanthology.org/2021.emnlp-main.552/",
    "sdjc": "https://github.com/ccilab-doshisha/SDJC",
}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that scores may depend on, and the device."""
    packages = {module.__name__: str(module.__version__) for module in (torch, transformers, pyarrow, numpy)}
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or platform.machine()
    return {"python": platform.python_version(), **packages, "device": device}


def run_record(config: Config, state: State, dev: DevScore | None, weights: str, data: Mapping[str, Any]) -> str:
    """Return the content of the model's run.json: without directories of this machine, as it is published.

    Args:
        config: options of the run.
        state: progress at its end.
        dev: its dev score, or None.
        weights: which weights became the model.
        data: what identifies the dataset.
    """
    record = {
        "config": {
            name: without_directories(value) if isinstance(value, str) else value
            for name, value in config.record().items()
        }
        | ({"model": base_model(config.model)} if os.path.exists(config.model) else {}),
        "state": dataclasses.asdict(state),
        "dev": dev.name if dev else None,
        "weights": weights,
        "data": data,
        "versions": versions(),
    }
    return json.dumps(record, indent=2) + "\n"


def model_card(
    encoder: Encoder,
    config: EncoderConfig,
    dataset: PairDataset | Texts,
    state: State,
    *,
    dev: DevScore | None,
    weights: str,
    target: str,
) -> str:
    """Return the README.md of an encoder.

    Args:
        encoder: the trained encoder.
        config: options of the run.
        dataset: what it was trained on.
        state: progress at the run's end.
        dev: its dev score, or None.
        weights: which weights became the model.
        target: directory of the model, for the example; `wikianchor publish` replaces it.
    """
    is_wikipedia = isinstance(dataset, PairDataset) and not dataset.is_own
    pairs_size = f"{dataset.rows:,} pairs of {dataset.entities:,} entities"
    size = ", ".join(map(without_directories, dataset.paths)) if isinstance(dataset, Texts) else pairs_size
    widths = shown(config.matryoshka) if isinstance(config, PairsConfig) else ""
    pooler = "cls_before_pooler" if encoder.pooler == "cls" and encoder.head_only_train else encoder.pooler
    facts = {
        "objective": f"{config.objective} ({PAPERS[config.objective]})",
        "backbone": without_directories(config.model) or f"{config.begun}, begun with random weights",
        "pooler": pooler + (", scaled to unit length" if encoder.normalize else ""),
        **({"prompt": f"`{encoder.prompt}`, before each text"} if encoder.prompt else {}),
        "weights": weights,
        **({"widths": f"{widths}: {_CUT}"} if widths else {}),
        "steps": f"{state.step} of {config.step_size} sentences, {config.softmax_size} in a softmax",
        "dev score": best_score(state, dev),
        "seed": config.seed,
        "data": f"{size}, fingerprint {dataset.fingerprint[:16]}",
    }
    library = "sentence-transformers" if encoder.pooler in POOLING_MODES else "transformers"
    head = {
        "library_name": library,
        "pipeline_tag": "sentence-similarity",
        "license": "cc-by-sa-4.0" if is_wikipedia else "other",
        "language": languages(dataset),
        "base_model": base_model(config.model),
        "tags": [library, "sentence-similarity", "feature-extraction", "wikianchor"],
    }
    return card_head(head) + "\n\n".join(
        [
            "",
            "# Sentence encoder",
            f"Trained with wikianchor. It maps a sentence to a vector of {encoder.dim} numbers.",
            _usage(encoder, library, target),
            facts_table(facts),
            "## Data",
            facts_table(_texts_facts(dataset) if isinstance(dataset, Texts) else _pairs_facts(dataset)),
            _PAIRS_LICENCE if is_wikipedia else _TEXTS_LICENCE,
            "## Options",
            f"```json\n{without_directories(config.to_json())}\n```",
            "## Versions",
            facts_table(versions()),
            "",
        ]
    )


def without_directories(text: str) -> str:
    """Return a text in which each absolute path is its last name alone, because a card is published.

    >>> without_directories('"data": "/home/me/out/pairs,/data/b", "model": "user/model"')
    '"data": "pairs,b", "model": "user/model"'
    """
    return re.sub(r"""(?<![^\s",'`])~?/(?:[^/",'`\n]+/)*([^/",'`\n]*)""", r"\1", text)


def best_score(state: State, dev: DevScore | None) -> str:
    """Return the best dev score of a run in words."""
    if dev is None or state.best is None:
        return "none was asked for"
    return f"{state.best:.4f} at step {state.best_step} ({dev.name})"


def base_model(model: str) -> str:
    """Return the name on the Hub of the model that training began with; "" if it is not known.

    A local model of ours names the one before it in its run.json, so the name is that of the first.

    Args:
        model: a directory or a name on the Hub; "" for none.
    """
    seen: set[str] = set()
    while os.path.exists(model):
        seen.add(model)
        try:
            with open(f"{model}/run.json", encoding="utf-8") as stream:
                model = str(json.load(stream)["config"]["model"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""
        if model in seen:
            return ""
    return model if re.fullmatch(r"[\w.-]+(/[\w.-]+)?", model) else ""


def languages(dataset: PairDataset | Texts) -> list[str]:
    """Return the languages of a dataset as the Hub writes them; none for files, which do not say theirs."""
    if isinstance(dataset, PairDataset):
        return hub_languages(read_wikis(dataset))
    manifests = [source.manifest for source in dataset.sources]
    wikis = [str(manifest.get("options", {}).get("wiki", "")) for manifest in manifests]
    # The Japanese datasets of SDJC.
    japanese = ["ja" for manifest in manifests if manifest["dataset"] in ("corpus", "negatives")]
    return hub_languages([*wikis, *japanese])


def _usage(encoder: Encoder, library: str, target: str) -> str:
    """Return an example that loads the model."""
    if library == "sentence-transformers":
        return _SENTENCE_TRANSFORMERS.replace("TARGET", json.dumps(target))
    other = -2 if encoder.pooler == "avg_top2" else 0
    return _TRANSFORMERS.replace("TARGET", json.dumps(target)).replace("OTHER", str(other))


_SENTENCE_TRANSFORMERS = """\
```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(TARGET)
vectors = model.encode(["It rains in Oslo.", "Oslo is wet today."])
print(model.similarity(vectors, vectors))
```"""
# For the poolers that are the mean of two layers.
_TRANSFORMERS = """\
```python
import torch
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(TARGET)
model = AutoModel.from_pretrained(TARGET).eval()
tokens = tokenizer(["It rains in Oslo.", "Oslo is wet today."], padding=True, truncation=True, return_tensors="pt")
with torch.no_grad():
    layers = model(**tokens, output_hidden_states=True).hidden_states
mask = tokens["attention_mask"].unsqueeze(-1)
vectors = ((layers[-1] + layers[OTHER]) / 2 * mask).sum(1) / mask.sum(1)
print(torch.nn.functional.cosine_similarity(vectors[0], vectors[1], dim=0))
```"""
_CUT = "the first so many numbers of a vector are a vector too (`truncate_dim` of sentence-transformers)"
_TEXTS_LICENCE = "The licence is that of these texts. The manifests are in `data_manifest.json`."
_PAIRS_LICENCE = "Text of Wikipedia is CC BY-SA 4.0; Wikidata is CC0. The whole manifest is in `data_manifest.json`."


def _texts_facts(texts: Texts) -> dict[str, str]:
    facts = {}
    for source in texts.sources:
        manifest = source.manifest
        options = f", {manifest['options']}" if "options" in manifest else ""
        facts[source.path] = f"{manifest['dataset']} {manifest['schema_version']}{options}"
    return facts


def _pairs_facts(pairs: PairDataset) -> dict[str, str]:
    manifest = pairs.manifest
    if pairs.is_own:
        return {"rows": pairs.source}
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


def facts_table(facts: Mapping[str, object]) -> str:
    """Return names and values as a Markdown table of two columns.

    >>> print(facts_table({"seed": 42}))
    |  |  |
    | --- | --- |
    | seed | 42 |
    """
    return markdown_table(["", ""], list(facts.items()), numbers=False)
