"""Fixtures of the tests of M-BoE: the toy corpus, and an encoder that has read none of its languages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.mboe.toy import words, write_toy


@pytest.fixture(scope="session")
def toy_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of 20,000 weights that knows the words of all languages, and nothing of what they mean."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, set_seed

    directory = tmp_path_factory.mktemp("models") / "toy"
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words()])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Split(Regex(r"[\u3040-\u9fff]"), "isolated")]
    )
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
def toy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Documents and mentions, one label each."""
    return write_toy(tmp_path_factory.mktemp("toy"))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Models so small take longer on two threads than on one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def flags(toy_model: Path, toy: tuple[Path, Path], tmp_path: Path) -> dict[str, Any]:
    """Options of a small run on the CPU."""
    return {
        "data": toy[0],
        "mentions": toy[1],
        "model": toy_model,
        "output": tmp_path / "out",
        "cache": tmp_path / "cache",
        "device": "cpu",
        "max_length": 64,
        "step_size": 16,
        "learning_rate": 1e-3,
        "entity_learning_rate": 1e-2,
        "epochs": 20,
        "patience": 3,
    }
