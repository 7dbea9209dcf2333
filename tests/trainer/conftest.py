"""Fixtures of the trainer's tests: a tiny model, a small `pairs` dataset, and runs over them on the CPU."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.pairs import WORDS, pair_rows, write_pairs

# Someone who only makes data has no torch, and nothing to test here.
collect_ignore_glob = ["*.py"] if importlib.util.find_spec("torch") is None else []


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of 20,000 weights and a tokenizer of 30 words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, set_seed

    directory = tmp_path_factory.mktemp("models") / "tiny"
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **special).save_pretrained(directory)
    set_seed(1)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    BertModel(BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, **shape)).save_pretrained(directory)
    return directory


@pytest.fixture(scope="session")
def pairs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("pairs"), pair_rows(400))


@pytest.fixture
def options(tiny_model: Path, pairs_dir: Path, tmp_path: Path) -> dict[str, Any]:
    """Flags of a small run on the CPU."""
    return {
        "data": str(pairs_dir),
        "model": str(tiny_model),
        "output": str(tmp_path / "out"),
        "cache": str(tmp_path / "cache"),
        "device": "cpu",
        "softmax_size": 16,
        "learning_rate": 1e-3,
        "log_steps": 5,
        "max_length": 24,
    }
