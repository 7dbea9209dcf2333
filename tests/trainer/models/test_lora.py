"""LoRA: few weights are trained, and the exported model is an ordinary one with the trained vectors."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from wikianchor.io.errors import UsageError
from wikianchor.trainer.config import make
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.task import run

TEXTS = ["kana lopo", "", "unknown word"]
HAS_PEFT = importlib.util.find_spec("peft") is not None


@pytest.mark.skipif(not HAS_PEFT, reason="NO PEFT: pip install peft")
def test_updates_are_trained_and_merged(options: dict[str, Any]) -> None:
    start = load_file(Path(options["model"]) / "model.safetensors")
    flags = {"lora": 2, "max_steps": 4, "held_out": 16, "eval_steps": 2, "checkpoint_steps": 2}
    folder = run(make("simcse", options | flags, {}))
    trained = load_file(Path(folder) / "model.safetensors")
    assert trained.keys() == start.keys()
    changed = {name for name in start if not np.array_equal(start[name], trained[name])}
    assert changed
    assert all(".layer." in name and name.endswith("weight") and "LayerNorm" not in name for name in changed)
    assert json.loads((Path(folder) / "run.json").read_text())["config"]["lora"] == 2
    vectors = Encoder.load(folder).encode(TEXTS)
    assert np.abs(vectors - Encoder.load(options["model"]).encode(TEXTS)).max() > 1e-4
    library = pytest.importorskip("sentence_transformers")
    assert np.abs(vectors - library.SentenceTransformer(folder, device="cpu").encode(TEXTS)).max() < 1e-6
    with pytest.raises(UsageError, match="--lora=2: not for this backbone"):
        run(make("simcse", options | {"model": "", "new": "static", "lora": 2, "output": folder + "-static"}, {}))


def test_without_peft(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(UsageError, match="--lora=2: needs the package peft"):
        run(make("simcse", options | {"lora": 2}, {}))
