"""Options of the published trainings, and where each is from: `-paper` what EASE's paper says, `-released` its code."""

from __future__ import annotations

from typing import Any

# Learning rates, batches and temperatures: EASE, appendix A. Pooling: section 4.1. Equations 2 to 4 mask nothing, and
# W is linear. Best model by STS-B dev every 250 steps.
_PAPER = {
    "objective": "ease",
    "max_length": 32,
    "sentence_temperature": 0.05,
    "entity_weight": 0.01,
    "negatives": 1,
    "hard_negative_weight": 0.0,
    "projection": "linear",
    "mask_duplicates": False,
    "resample_negatives": False,
    "entity_optimizer": "adamw",
    "eval_steps": 250,
}
# The released code: train_monolingual_ease.sh and train_multilingual_ease.sh of 2022-04 and later, and the defaults of
# transformers 4.2.1 (500 steps of warm-up are the code's own).
_RELEASED = {
    **_PAPER,
    "projection": "tanh",
    "hard_negative_weight": 1.0,
    "warmup_steps": 500,
    "weight_decay": 0.0,
    "clip_norm": 1.0,
    "softmax_size": 8,
    "eval_steps": 125,
}
_FIRST_TOKEN = {"pooler": "cls", "mlp": True, "mlp_only_train": True}
_MEAN = {"pooler": "avg", "mlp": False}
_BACKBONES: dict[str, dict[str, Any]] = {
    # name: model, pooling, tau, learning rate; the paper's batch; sentences per step of the released scripts.
    "bert": {"model": "bert-base-uncased", **_FIRST_TOKEN, "entity_temperature": 100.0, "learning_rate": 3e-5},
    "roberta": {"model": "roberta-base", **_FIRST_TOKEN, "entity_temperature": 100.0, "learning_rate": 5e-5},
    "mbert": {"model": "bert-base-multilingual-cased", **_MEAN, "entity_temperature": 10.0, "learning_rate": 5e-5},
    "xlmr": {"model": "xlm-roberta-base", **_MEAN, "entity_temperature": 10.0, "learning_rate": 3e-5},
}
_PAPER_BATCH = {"bert": 64, "roberta": 128, "mbert": 256, "xlmr": 64}
_RELEASED_STEP = {"bert": 128, "roberta": 128, "mbert": 256, "xlmr": 256}
# SimCSE's own table for the unsupervised base models; for the multilingual ones EASE's settings, as in its table 3.
_SIMCSE = {
    "bert": {"softmax_size": 64, "learning_rate": 3e-5},
    "roberta": {"softmax_size": 512, "learning_rate": 1e-5},
    "mbert": {"softmax_size": 256, "learning_rate": 5e-5},
    "xlmr": {"softmax_size": 64, "learning_rate": 3e-5},
}


# Layers, width, heads and inner width of a T5 that is begun here; `small` and `base` are those of T5 1.1.
NEW_SIZES: dict[str, dict[str, int]] = {
    "tiny": {"num_layers": 3, "d_model": 192, "num_heads": 4, "d_kv": 48, "d_ff": 512},
    "small": {"num_layers": 8, "d_model": 512, "num_heads": 6, "d_kv": 64, "d_ff": 1024},
    "base": {"num_layers": 12, "d_model": 768, "num_heads": 12, "d_kv": 64, "d_ff": 2048},
}
# The same of a BERT, without its vocabulary; `base` is BERT-base.
NEW_BERTS: dict[str, dict[str, int]] = {
    "tiny": {"num_hidden_layers": 2, "hidden_size": 128, "num_attention_heads": 2, "intermediate_size": 512},
    "small": {"num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048},
    "base": {"num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072},
}
# SDJC: section 5.3.2 of the paper and the README of its release, which trains with CLS and a head and tests with means.
_SDJC: dict[str, Any] = {"objective": "sdjc", "softmax_size": 512, "max_length": 32, "negatives": 1}
_SDJC_RELEASED = {**_FIRST_TOKEN, "export_pooler": "avg", "mask_duplicates": False, "learning_rate": 1e-5}
_SDJC_MODELS: dict[str, dict[str, Any]] = {
    "base-clinic": {"model": "cl-tohoku/bert-base-japanese-v3", "sentence_temperature": 0.06, "learning_rate": 5e-5},
    "large-clinic": {"model": "cl-tohoku/bert-large-japanese-v2", "sentence_temperature": 0.04, "learning_rate": 1e-5},
    "base-edu": {"model": "cl-tohoku/bert-base-japanese-v3", "sentence_temperature": 0.02, "learning_rate": 5e-5},
    "large-edu": {"model": "cl-tohoku/bert-large-japanese-v2", "sentence_temperature": 0.07, "learning_rate": 1e-5},
}


def _sdjc_presets() -> dict[str, dict[str, Any]]:
    presets = {}
    for name, model in _SDJC_MODELS.items():
        weight = {"hard_negative_weight": 0.1 if name.endswith("clinic") else 0.0}
        presets[f"sdjc-{name}-paper"] = {**_SDJC, **_MEAN, **model, **weight, "mask_duplicates": False}
        presets[f"sdjc-{name}-released"] = {**_SDJC, **model, **weight, **_SDJC_RELEASED}
    return presets


def _presets() -> dict[str, dict[str, Any]]:
    presets = {}
    for name, backbone in _BACKBONES.items():
        presets[f"ease-{name}-paper"] = {**_PAPER, **backbone, "softmax_size": _PAPER_BATCH[name]}
        presets[f"ease-{name}-released"] = {**_RELEASED, **backbone, "step_size": _RELEASED_STEP[name]}
        plain = {key: value for key, value in backbone.items() if not key.startswith("entity_")}
        simcse = {"objective": "simcse", "mask_duplicates": False, "eval_steps": 125, **plain, **_SIMCSE[name]}
        presets[f"simcse-{name}"] = simcse
    return {**presets, **_sdjc_presets()}


PRESETS = _presets()
