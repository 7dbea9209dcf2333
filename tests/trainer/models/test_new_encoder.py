"""A model that is begun here: word pieces of the texts, the same each time, and a whole run."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel

from tests.trainer.pairs import pair_rows, write_pairs
from wikianchor.io.errors import UsageError
from wikianchor.trainer import task
from wikianchor.trainer.config import make
from wikianchor.trainer.data.shards import open_pairs
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.new_encoder import learn_word_pieces, new_encoder

SENTENCES = ["Die Lona schläft in Görlitz.", "が と か are letters.", "lona lona görlitz schläft"] * 3


def test_word_pieces_keep_marks_and_lose_case() -> None:
    tokenizer = learn_word_pieces(SENTENCES, 200)
    assert tokenizer.tokenize("Lona GÖRLITZ schläft.") == ["lona", "görlitz", "schläft", "."]
    assert tokenizer.tokenize("が か") == ["が", "か"]
    assert tokenizer.tokenize("жук") == ["[UNK]"]
    assert tokenizer.convert_ids_to_tokens(tokenizer("lona")["input_ids"]) == ["[CLS]", "lona", "[SEP]"]
    assert tokenizer.tokenize("##s") == ["[UNK]", "[UNK]", "s"]
    assert tokenizer.get_vocab() == learn_word_pieces(SENTENCES, 200).get_vocab()


def test_the_same_seed_makes_the_same_model(pairs_dir: Path) -> None:
    actual = []
    options = make("simcse", {"data": "d", "output": "o", "new": "tiny", "vocabulary_size": 100}, {})
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        actual.append(new_encoder(open_pairs(str(pairs_dir)), options).encode(["kana lopo"])[0])
    assert (actual[0] == actual[1]).all()
    assert (actual[0] != actual[2]).any()


def test_without_a_model(options: dict[str, Any]) -> None:
    """From a preset, with a model of its own in its place; a second call takes up what the first made."""
    flags = {**options, "preset": "ease-mbert-paper", "new": "tiny", "max_steps": 2}
    del flags["model"]
    folder = task.run(make("ease", flags, {}))
    record = json.loads((Path(folder) / "run.json").read_text())
    assert (record["config"]["model"], record["config"]["new"], record["state"]["step"]) == ("", "tiny", 2)
    assert "a new tiny model, begun with random weights" in (Path(folder) / "README.md").read_text()
    assert AutoModel.from_pretrained(folder).config.hidden_size == 128
    assert Encoder.load(folder).encode(["kana"]).shape == (1, 128)
    before = Encoder.load(folder).encode(["kana lopo"])
    assert (Encoder.load(task.run(make("ease", flags, {}))).encode(["kana lopo"]) == before).all()


def test_a_static_encoder(options: dict[str, Any]) -> None:
    """It is trained, and sentence-transformers gives the same vectors."""
    del options["model"]
    flags = {**options, "new": "static", "max_steps": 20, "learning_rate": 0.01, "prompt": "kana ", "log_steps": 1}
    folder = task.run(make("ease", flags, {}))
    losses = [json.loads(line).get("loss") for line in (Path(options["output"]) / "log.jsonl").read_text().splitlines()]
    losses = [loss for loss in losses if loss is not None]
    assert losses[-1] < losses[0]
    texts = [row["text"] for row in pair_rows(20)] + ["", " kana ", "unknown word", "kana lopo " * 200]
    encoder = Encoder.load(folder)
    assert (encoder.dim, encoder.prompt, encoder.max_length) == (256, "kana ", 100_000)
    theirs = pytest.importorskip("sentence_transformers").SentenceTransformer(folder, device="cpu")
    assert np.abs(encoder.encode(texts) - theirs.encode(texts)).max() < 1e-6
    # A model of sentence-transformers has no config.json, and may have a folder of its own for the module.
    theirs[0].save_in_root = False
    theirs.save(folder + "-theirs")
    other = Encoder.load(folder + "-theirs")
    assert np.array_equal(other.encode(texts), encoder.encode(texts))
    again = task.run(make("simcse", {**options, "model": folder, "max_steps": 2, "output": folder + "-again"}, {}))
    assert Encoder.load(again).dim == 256
    with pytest.raises(UsageError, match="--pooler=cls_before_pooler: a static model"):
        Encoder.load(folder, "cls_before_pooler")


def test_options_of_a_new_model(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give one"):
        make("simcse", {**options, "new": "tiny"}, {})
    del options["model"]
    with pytest.raises(UsageError, match=r"a new tiny model takes 512 tokens"):
        task.run(make("simcse", {**options, "new": "tiny", "max_length": 600}, {}))
    with pytest.raises(UsageError, match="two dropout views"):
        task.run(make("simcse", {**options, "new": "tiny", "dropout": 0.0}, {}))
    small = write_pairs(tmp_path / "small", pair_rows(40))
    assert task.run(make("simcse", {**options, "data": str(small), "new": "tiny", "pooler": "cls"}, {}))
