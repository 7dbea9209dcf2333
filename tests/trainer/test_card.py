"""The card of a trained model: its head is what the Hub reads, its example runs, and publication adds the scores."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from wikianchor.pipelines.cli.command_line import main as pipeline
from wikianchor.trainer.card import base_model
from wikianchor.trainer.config import make
from wikianchor.trainer.evaluate.command import main as evaluate
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.task import run


def head_of(directory: Path) -> dict[str, Any]:
    return yaml.safe_load((directory / "README.md").read_text("utf-8").split("---\n")[1])


def run_example(directory: Path) -> dict[str, Any]:
    """Run the example of a card and return its variables."""
    example = re.findall(r"```python\n(.*?)```", (directory / "README.md").read_text("utf-8"), re.DOTALL)
    assert len(example) == 1
    variables: dict[str, Any] = {}
    exec(compile(example[0], "README.md", "exec"), variables)
    return variables


SENTENCES = ["It rains in Oslo.", "Oslo is wet today."]


def test_a_published_card(options: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    hub = pytest.importorskip("huggingface_hub")
    model = Path(run(make("ease", options | {"max_steps": 3}, {})))
    head = head_of(model)
    assert head == {
        "library_name": "sentence-transformers",
        "pipeline_tag": "sentence-similarity",
        "license": "cc-by-sa-4.0",
        "language": ["de", "en"],
        # The tiny model is a directory, so it has no name on the Hub.
        "tags": ["sentence-transformers", "sentence-similarity", "feature-extraction", "wikianchor"],
    }
    (tmp_path / "pairs.tsv").write_text("kana\tkana lopo\t4.5\nmisi\tteta\t1\nkana\truzu\t2\n")
    sets = [f"--model={model}", f"--sts={tmp_path}/pairs.tsv", f"--output={tmp_path}/scores", "--device=cpu"]
    assert evaluate(sets) == 0
    target = tmp_path / "place"
    flags = [f"--to={target}", f"--scores={tmp_path}/scores", "--datasets=user/pairs"]
    assert pipeline(["publish", str(model), *flags]) == 0
    data = hub.ModelCard.load(target / "README.md").data
    assert data.eval_results[0].metric_type == "spearman"
    assert data.datasets == ["user/pairs"]
    text = (target / "README.md").read_text()
    assert "fingerprint " in text
    # Where files lie on this machine stands only in the example of a model that is not on the Hub.
    assert str(tmp_path) not in re.sub(r"```python\n.*?```", "", text, flags=re.DOTALL)
    assert re.search(r"## Scores\n(.*\n)*\| .* \| test \| default \| spearman \| ", text)
    results = run_example(target)
    assert np.abs(results["vectors"] - Encoder.load(str(model)).encode(SENTENCES)).max() < 1e-6


@pytest.mark.parametrize("pooler", ["avg_top2", "avg_first_last"])
def test_the_example_of_a_pooler_that_sentence_transformers_lacks(options: dict[str, Any], pooler: str) -> None:
    model = Path(run(make("simcse", options | {"max_steps": 1, "pooler": pooler}, {})))
    assert head_of(model)["library_name"] == "transformers"
    vectors = run_example(model)["vectors"].numpy()
    assert np.abs(vectors - Encoder.load(str(model)).encode(SENTENCES)).max() < 1e-6


def test_the_base_model_is_the_first_of_a_chain(tmp_path: Path) -> None:
    assert base_model("bert-base-uncased") == "bert-base-uncased"
    assert base_model("user/model") == "user/model"
    assert base_model("") == base_model(str(tmp_path)) == base_model("gs://bucket/model") == ""
    for name, before in (("one", "user/model"), ("two", str(tmp_path / "one")), ("loop", str(tmp_path / "loop"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps({"config": {"model": before}}))
    assert base_model(str(tmp_path / "two")) == "user/model"
    assert base_model(str(tmp_path / "loop")) == ""
