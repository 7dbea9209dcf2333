"""A graph for ONNX Runtime has the vectors of the model, and its card's example computes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wikianchor.trainer.config import make
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.task import run

pytest.importorskip("onnxscript", reason="NOT TESTED: wikianchor onnx: pip install 'wikianchor[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="NOT TESTED: wikianchor onnx: pip install 'wikianchor[onnx]'")

from wikianchor.trainer.onnx import graph  # noqa: E402


def test_the_graph_of_a_trained_model(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = run(make("simcse", options | {"max_steps": 1, "pooler": "cls", "prompt": "kana "}, {}))
    capsys.readouterr()
    assert graph.main([f"--model={model}", f"--output={tmp_path}/onnx"]) == 0
    assert re.search(
        r"model.onnx, vectors of 32 numbers, within \d\.\de-0[6-9] of those of torch", capsys.readouterr().out
    )
    (example,) = re.findall(r"```python\n(.*?)```", (tmp_path / "onnx/README.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path / "onnx")
    variables: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), variables)
    expected = Encoder.load(model).encode(["It rains in Oslo.", "Oslo is wet today."])
    assert np.abs(variables["vectors"] - expected).max() < graph.TOLERANCE


@pytest.mark.parametrize("pooler", ["avg_first_last", "last"])
def test_the_graph_of_a_pooler(tiny_model: Path, pooler: str, tmp_path: Path) -> None:
    encoder = Encoder.load(str(tiny_model), pooler)
    encoder.normalize = pooler == "last"
    graph.export(encoder, f"{tmp_path}/model.onnx")
    assert graph.difference(encoder, f"{tmp_path}/model.onnx") < graph.TOLERANCE


def test_other_vectors_are_not_written(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(graph, "export", lambda *_: None)
    monkeypatch.setattr(graph, "difference", lambda *_: float("nan"))
    assert graph.main([f"--model={tiny_model}", f"--output={tmp_path}/onnx"]) == 1
    assert "its graph has other vectors, by nan: not written" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == []
