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


def _presets() -> dict[str, dict[str, Any]]:
    found = {}
    for name, backbone in _BACKBONES.items():
        found[f"ease-{name}-paper"] = {**_PAPER, **backbone, "softmax_size": _PAPER_BATCH[name]}
        found[f"ease-{name}-released"] = {**_RELEASED, **backbone, "step_size": _RELEASED_STEP[name]}
        plain = {key: value for key, value in backbone.items() if not key.startswith("entity_")}
        simcse = {"objective": "simcse", "mask_duplicates": False, "eval_steps": 125, **plain, **_SIMCSE[name]}
        found[f"simcse-{name}"] = simcse
    return found


PRESETS = _presets()
