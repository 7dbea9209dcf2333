"""From the demo's dumps to a trained, exported model, by the commands of the README."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.planted import WAYS, planted
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.task import main


@pytest.mark.parametrize("objective", ["ease", "simcse"])
def test_from_dumps_to_a_model(
    demo_build: Path, options: dict[str, Any], objective: str, capsys: pytest.CaptureFixture[str]
) -> None:
    demo_pairs = demo_build / "pairs"
    flags = [f"--{name}={value}" for name, value in (options | {"data": demo_pairs, "held_out": 32}).items()]
    assert main([objective, *flags]) == 0
    output, errors = capsys.readouterr()
    directory = output.strip()
    assert directory == f"{options['output']}/model"
    lines = errors.splitlines()
    words = " ".join(lines)
    entities = json.loads((demo_pairs / "manifest.json").read_text())["configs"]["entities"]["rows"]
    linked = f" with {entities} entities" if objective == "ease" else ""
    assert words.startswith(f"Training {objective}: {options['model']}, 19.3 thousand weights, on 1,032 pairs of ")
    assert f" pairs of dewiki, enwiki, jawiki{linked} in {demo_pairs}. 64 steps of 16 sentences (1 epoch)" in words
    assert ", at most 24 tokens each, learning rate 0.001, seed 42, on cpu in fp32." in words
    assert f"The model goes to {directory}; all options are in {options['output']}/run.json." in words
    # The options are in the file alone.
    assert "{" not in errors
    saved = json.loads(Path(options["output"], "run.json").read_text())
    assert (saved["objective"], saved["held_out"]) == (objective, 32)
    # The record that is published with the model names no directory of this machine.
    published = Path(directory, "run.json").read_text()
    assert '"data": "pairs"' in published
    assert str(demo_build) not in published
    assert str(options["output"]) not in published
    steps = [line for line in lines if line.startswith("step ")]
    assert all(word in steps[0] for word in (" ms", "sentences/s", "lr ", "epoch 0 row"))
    vectors = Encoder.load(directory).encode(["one sentence", "another"])
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("config", ["pairs", "entities"])
@pytest.mark.parametrize("way", WAYS)
def test_no_shard_outside_of_its_dataset_is_read(
    pairs_dir: Path,
    options: dict[str, Any],
    way: str,
    config: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with planted(pairs_dir, config, tmp_path, way) as (dataset, path):
        status = main(["ease", *(f"--{name}={value}" for name, value in (options | {"data": dataset}).items())])
    lines = capsys.readouterr().err.splitlines()
    assert (status, len(lines)) == (1, 1), lines
    assert f"trainer: {dataset}/manifest.json: '{dataset}/{path}' is outside of the dataset" in lines[0]
    assert not (tmp_path / "out").exists()
