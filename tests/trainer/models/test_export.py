"""What is exported gives the trained encoder's vectors, whoever opens it."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainer.loop.test_train import ready
from tests.trainer.pairs import pair_rows
from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.config import make
from wikianchor.trainer.loop import train
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.export import export
from wikianchor.trainer.models.modules import Head
from wikianchor.trainer.task import main, run

TEXTS = [row["text"] for row in pair_rows(20)] + ["", " kana ", "unknown word"]


def exported(encoder: Encoder, tmp_path: Path) -> str:
    export(encoder, str(tmp_path / "model"), "card", {})
    return str(tmp_path / "model")


def trained(options: dict[str, Any], **more: Any) -> Encoder:
    actual = ready(options | {"max_steps": 3} | more)
    train.train(actual)
    return actual.model.encoder


@pytest.mark.parametrize(
    "more",
    [
        {"pooler": "avg"},
        {"pooler": "cls", "mlp": True},
        {"pooler": "cls", "mlp": True, "mlp_only_train": False},
        {"pooler": "cls_before_pooler"},
        {"pooler": "avg", "mlp": True, "mlp_only_train": False},
    ],
)
def test_sentence_transformers_opens_it(options: dict[str, Any], tmp_path: Path, more: dict[str, Any]) -> None:
    library = pytest.importorskip("sentence_transformers")
    encoder = trained(options, **more)
    encoder.normalize = more["pooler"] == "avg"
    expected = encoder.encode(TEXTS)
    folder = exported(encoder, tmp_path)
    theirs = library.SentenceTransformer(folder, device="cpu")
    assert theirs.max_seq_length == 64
    assert np.abs(theirs.encode(TEXTS) - expected).max() < 1e-6
    assert np.array_equal(Encoder.load(folder).encode(TEXTS), expected)


@pytest.mark.parametrize("pooler", ["avg_top2", "avg_first_last", "cls", "avg"])
def test_we_open_it(options: dict[str, Any], tmp_path: Path, pooler: str) -> None:
    encoder = trained(options, pooler=pooler)
    expected = encoder.encode(TEXTS)
    assert np.array_equal(Encoder.load(exported(encoder, tmp_path)).encode(TEXTS), expected)


def test_auto_model_opens_it(options: dict[str, Any], tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    encoder = trained(options, pooler="cls", mlp=True, mlp_only_train=False)
    expected = encoder.encode(TEXTS[:5])
    folder = exported(encoder, tmp_path)
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        actual = model(**tokenizer(TEXTS[:5], padding=True, return_tensors="pt")).pooler_output.numpy()
    assert np.abs(actual - expected).max() < 1e-6


def test_the_cache_does_not_show_in_the_model(options: dict[str, Any]) -> None:
    """Tokenising changes settings of the tokenizer, and a run that finds its tokens in the cache tokenises nothing."""
    config = make("ease", options | {"max_steps": 2}, {})
    exports = []
    for _ in ("cold", "warm"):
        folder = Path(run(config))
        exports.append(
            {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        )
        shutil.rmtree(config.output)
    assert len(list(Path(config.cache).iterdir())) == 1
    assert exports[0].keys() == exports[1].keys() >= {"tokenizer.json", "model.safetensors", "run.json"}
    assert [name for name, content in exports[0].items() if content != exports[1][name]] == []


def test_the_library_tokenizers_does_not_truncate(options: dict[str, Any], tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    encoder = Encoder.load(options["model"])
    encoder.tokenizer(TEXTS[:2], padding="max_length", truncation=True, max_length=8)
    encoder.encode(TEXTS, max_length=8)
    folder = Path(exported(encoder, tmp_path))
    encoding = Tokenizer.from_file(str(folder / "tokenizer.json")).encode("kana " * 40)
    assert len(encoding.ids) == 42
    assert json.loads((folder / "tokenizer_config.json").read_text())["model_max_length"] == 64
    # What the encoder does itself is as before.
    assert [len(row) for row in encoder.tokenize(["kana " * 40], 8)] == [8]


def test_the_card_says_what_it_is(options: dict[str, Any]) -> None:
    folder = Path(run(make("ease", options | {"max_steps": 3, "held_out": 16}, {})))
    card = (folder / "README.md").read_text()
    facts = ["| pooler | avg |", "| seed | 42 |", "| dev score | -", "400 pairs of 24 entities", '"softmax_size": 16']
    for fact in [*facts, f"| torch | {torch.__version__} |"]:
        assert fact in card
    assert json.loads((folder / "data_manifest.json").read_text())["dataset"] == "pairs"
    assert json.loads((folder / "run.json").read_text())["config"]["seed"] == 42
    assert json.loads((folder.parent / "run.json").read_text())["preset"] == ""


def test_modules_that_we_lack_are_named(options: dict[str, Any], tmp_path: Path) -> None:
    folder = Path(exported(Encoder.load(options["model"]), tmp_path))
    pooling = folder / "1_Pooling/config.json"
    pooling.write_text(json.dumps({"pooling_mode": "median"}))
    with pytest.raises(InputError, match="pools by median"):
        Encoder.load(str(folder))
    pooling.write_text(json.dumps({"pooling_mode": ["mean", "max"]}))
    with pytest.raises(InputError, match="pools by"):
        Encoder.load(str(folder))
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([*modules, {"path": "2_CNN", "type": "a.CNN"}]))
    with pytest.raises(InputError, match="Transformer \\+ Pooling \\+ CNN"):
        Encoder.load(str(folder))


def test_a_pooler_that_is_asked_for_overrides(options: dict[str, Any], tmp_path: Path) -> None:
    encoder = Encoder.load(options["model"])
    encoder.normalize = True
    folder = exported(encoder, tmp_path)
    assert np.allclose(np.linalg.norm(Encoder.load(folder).encode(TEXTS), axis=1), 1)
    other = Encoder.load(folder, "cls_before_pooler")
    assert (other.pooler, other.normalize) == ("cls_before_pooler", False)
    assert isinstance(Encoder.load(folder, "cls").head, Head)


def test_encoding_keeps_order_and_length(options: dict[str, Any]) -> None:
    encoder = Encoder.load(options["model"])
    whole = encoder.encode(TEXTS)
    single = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert whole.dtype == np.float32
    assert np.abs(whole - single).max() < 1e-6
    assert encoder.encode([]).shape == (0, 32)
    long = "kana " * 60
    assert np.array_equal(encoder.encode([long], max_length=8), encoder.encode(["kana " * 6]))
    encoder.train()
    assert np.array_equal(encoder.encode(TEXTS), whole)
    assert encoder.training


def test_a_model_that_is_not_there(options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    flags = [f"--{name}={value}" for name, value in (options | {"model": empty}).items()]
    assert main(["ease", *flags]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(f"trainer: {empty}: holds no model (config.json)")


def test_a_pooler_that_is_none(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="no pooler 'sum'"):
        Encoder.load(options["model"], "sum")
