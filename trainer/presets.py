"""Options of the published trainings, and the source of each: `-paper` what the paper says, `-released` its code.

EASE: https://aclanthology.org/2022.naacl-main.284/, and its authors' thesis (Nishikawa 2022), chapter 4. SimCSE:
https://aclanthology.org/2021.emnlp-main.552/. SDJC: the paper and the README of its release.
"""

from __future__ import annotations

from typing import Any

_PAPER = {
    "objective": "ease",
    "epochs": 1,  # appendix A
    "max_length": 32,  # not stated; the released code
    "sentence_temperature": 0.05,  # not stated, as appendix A's tau is that of equation 2; the released code
    "entity_weight": 0.01,  # lambda: appendix A, table 4.7 of the thesis
    "negatives": 1,  # section 3.2: "randomly choose one of the candidates"
    "hard_negative_weight": 0.0,  # equation 2 has no weight
    "projection": "linear",  # section 3.1: W is a matrix
    "mask_duplicates": False,  # equations 2 and 3 sum over all j
    "resample_negatives": False,  # section 3.2: chosen once, when the data are built
    "entity_optimizer": "adamw",  # not stated; the released code
    "eval_steps": 250,  # appendix A; section 4.4.8 of the thesis
}
# train_monolingual_ease.sh (BERT) and train_multilingual_ease.sh (mBERT) of 2022-04 and later, and their defaults.
# There are no scripts for RoBERTa and XLM-R: they have the same options, with the learning rates of table 9.
_RELEASED = {
    **_PAPER,
    "projection": "tanh",  # use_entity_transformation
    "hard_negative_weight": 1.0,  # hard_negative_weight
    "warmup_steps": 500,  # warmup_steps
    "weight_decay": 0.0,  # the default of transformers 4.2.1
    "clip_norm": 1.0,  # the default of transformers 4.2.1
    "softmax_size": 8,  # per_device_train_batch_size
    "eval_steps": 125,  # eval_steps
}
_CLS = {"pooler": "cls", "mlp": True, "mlp_only_train": True}
_MEAN = {"pooler": "avg", "mlp": False}
# Monolingual: section 4.1, [CLS] and a layer in training alone "as in Gao et al."; best model by STS-B dev, appendix A.
_MONOLINGUAL = {**_CLS, "dev_tasks": ("STSBenchmark",)}
# Multilingual: section 5.1 and appendix B, means; best model by the mean of STS-B and SICK-R dev, appendix A.
_MULTILINGUAL = {**_MEAN, "dev_tasks": ("STSBenchmark", "SICK-R")}
_BACKBONES: dict[str, dict[str, Any]] = {
    "bert": {"model": "bert-base-uncased", **_MONOLINGUAL},
    "roberta": {"model": "roberta-base", **_MONOLINGUAL},
    "mbert": {"model": "bert-base-multilingual-cased", **_MULTILINGUAL},
    "xlmr": {"model": "xlm-roberta-base", **_MULTILINGUAL},
}
# Batch size and learning rate of EASE: table 9. tau of equation 2: appendix A, table 4.7 of the thesis.
_EASE: dict[str, dict[str, Any]] = {
    "bert": {"softmax_size": 64, "learning_rate": 3e-5, "entity_temperature": 100.0},
    "roberta": {"softmax_size": 128, "learning_rate": 5e-5, "entity_temperature": 100.0},
    "mbert": {"softmax_size": 256, "learning_rate": 5e-5, "entity_temperature": 10.0},
    "xlmr": {"softmax_size": 64, "learning_rate": 3e-5, "entity_temperature": 10.0},
}
# Sentences in a step of the released scripts: per_device_train_batch_size times gradient_accumulation_steps.
_RELEASED_STEP = {"bert": 128, "roberta": 128, "mbert": 256, "xlmr": 256}
# SimCSE's paper, appendix A: one epoch, a score every 250 steps, nothing masked. Its code: max_length and temperature.
_SIMCSE = {
    "objective": "simcse",
    "epochs": 1,
    "max_length": 32,
    "sentence_temperature": 0.05,
    "mask_duplicates": False,
    "eval_steps": 250,
}
# Batch size and learning rate of SimCSE. Monolingual, where EASE takes the published models (appendix F): SimCSE's
# table of appendix A. Multilingual, which EASE trains: EASE's table 9, table 4.7 of the thesis.
_SIMCSE_TABLE: dict[str, dict[str, Any]] = {
    "bert": {"softmax_size": 64, "learning_rate": 3e-5},
    "roberta": {"softmax_size": 512, "learning_rate": 1e-5},
    "mbert": {"softmax_size": 128, "learning_rate": 3e-5},
    "xlmr": {"softmax_size": 128, "learning_rate": 3e-5},
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
# SDJC: what both have. N: section 5.3.2. max_length: not stated; the README. Algorithm 1 and the release mask nothing.
_SDJC: dict[str, Any] = {"objective": "sdjc", "softmax_size": 512, "max_length": 32, "mask_duplicates": False}
# Times that each pair of an anchor and a negative is trained: neither the paper nor the README states it; 5 is in a
# path of the release's run_sup_transfer.sh.
_SDJC_PASSES = 5
# The README's command: a row is an anchor and one negative, the first token with a head in training, means in tests.
_SDJC_RELEASED = {
    **_CLS,
    "export_pooler": "avg",
    "learning_rate": 1e-5,
    "row_per_negative": True,
    "epochs": _SDJC_PASSES,
}
# Backbone and learning rate (of `-paper`): section 5.3.2. tau and log alpha: not stated in the paper; the README.
_SDJC_BASE = {"model": "cl-tohoku/bert-base-japanese-v3", "learning_rate": 5e-5}
_SDJC_LARGE = {"model": "cl-tohoku/bert-large-japanese-v2", "learning_rate": 1e-5}
_SDJC_MODELS: dict[str, dict[str, Any]] = {
    "base-clinic": {**_SDJC_BASE, "sentence_temperature": 0.06, "hard_negative_weight": 0.1},
    "large-clinic": {**_SDJC_LARGE, "sentence_temperature": 0.04, "hard_negative_weight": 0.1},
    "base-edu": {**_SDJC_BASE, "sentence_temperature": 0.02, "hard_negative_weight": 0.0},
    "large-edu": {**_SDJC_LARGE, "sentence_temperature": 0.07, "hard_negative_weight": 0.0},
}
# Hard negatives of each anchor: section 5.3.2. The dataset has to hold them: `wikianchor negatives --negatives=K`.
SDJC_NEGATIVES = {"base-clinic": 4, "large-clinic": 5, "base-edu": 5, "large-edu": 6}


def _sdjc_presets() -> dict[str, dict[str, Any]]:
    presets = {}
    for name, model in _SDJC_MODELS.items():
        count = SDJC_NEGATIVES[name]
        # Algorithm 1: a minibatch has N anchors with one negative each; an anchor takes its next one in each epoch.
        # Means over the top layer: section 5.3.2.
        rows = {"negatives": 1, "resample_negatives": True, "epochs": _SDJC_PASSES * count}
        presets[f"sdjc-{name}-paper"] = {**_SDJC, **_MEAN, **model, **rows}
        presets[f"sdjc-{name}-released"] = {**_SDJC, **model, "negatives": count, **_SDJC_RELEASED}
    return presets


# M-BoE: table 3.2 of the thesis has batch size and learning rate. Section 3.3.1: all words and phrases are looked up
# (`all_spans`), no name is disambiguated. Section 3.4.4: clipping at 1, ten seeds. Section 3.4.3: a label from 0.5 on.
_MBOE = {
    "all_spans": True,
    "clip_norm": 1.0,
    "seeds": tuple(range(42, 52)),
    "threshold": 0.5,
    "attention": "both",
    "combine": "sum",
}
_MBOE_TABLE: dict[str, dict[str, dict[str, Any]]] = {
    "mbert": {
        "mldoc": {"step_size": 32, "learning_rate": 2e-5},
        "ted": {"step_size": 16, "learning_rate": 2e-5},
        "shinra": {"step_size": 128, "learning_rate": 5e-5},
    },
    "xlmr": {
        "mldoc": {"step_size": 32, "learning_rate": 2e-5},
        "ted": {"step_size": 16, "learning_rate": 5e-5},
        "shinra": {"step_size": 64, "learning_rate": 2e-5},
    },
}
MBOE_PRESETS: dict[str, dict[str, Any]] = {
    f"mboe-{name}-{kind}": {"model": _BACKBONES[name]["model"], "kind": kind, **_MBOE, **values}
    for name, table in _MBOE_TABLE.items()
    for kind, values in table.items()
}


def _presets() -> dict[str, dict[str, Any]]:
    presets = {}
    for name, backbone in _BACKBONES.items():
        presets[f"ease-{name}-paper"] = {**_PAPER, **backbone, **_EASE[name]}
        presets[f"ease-{name}-released"] = {**backbone, **_EASE[name], **_RELEASED, "step_size": _RELEASED_STEP[name]}
        presets[f"simcse-{name}"] = {**_SIMCSE, **backbone, **_SIMCSE_TABLE[name]}
    return {**presets, **_sdjc_presets()}


PRESETS = _presets()
