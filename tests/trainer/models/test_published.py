"""Models as sentence-transformers publishes them: the same vectors here and there, before training and after it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainer.pairs import pair_rows
from wikianchor.io.errors import InputError
from wikianchor.trainer.config import make
from wikianchor.trainer.evaluate import command as evaluate
from wikianchor.trainer.models.encoder import Encoder, pool
from wikianchor.trainer.task import run

library = pytest.importorskip("sentence_transformers")
modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")

TEXTS = [row["text"] for row in pair_rows(12)] + ["", " kana ", "Unknown wörds, 9.", "kana " * 70]
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
DENSE = {"num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0, "bos_token_id": None, "eos_token_id": 1}
MODERN = {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 1, "bos_token_id": None, "eos_token_id": None}
FAMILIES = {"Qwen3": DENSE, "ModernBert": MODERN, "EuroBert": DENSE}
OTHERS = {name: {"pad_token_id": 0} for name in ("XLMRoberta", "DistilBert", "MPNet", "DebertaV2", "NomicBert")}
OTHERS |= dict.fromkeys(("Llama", "Gemma3Text"), DENSE)


def backbone(family: str, directory: Path, side: str = "right") -> str:
    """Write a model of two layers with a byte-level tokenizer."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet, special = pre_tokenizers.ByteLevel.alphabet(), ["<pad>", "<eos>", "<bos>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS[:12], trainer)
    template = "$A <eos>" if family == "Qwen3" else "<bos> $A <eos>"
    ends = [("<bos>", 2), ("<eos>", 1)]
    tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=ends)
    names = {"pad_token": "<pad>", "eos_token": "<eos>", "bos_token": "<bos>"}
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=64, padding_side=side, **names
    ).save_pretrained(directory)
    transformers.set_seed(3)
    config = getattr(transformers, f"{family}Config")(vocab_size=400, **SMALL, **{**FAMILIES, **OTHERS}[family])
    model = getattr(transformers, f"{family}Model")(config)
    for name, weight in model.named_parameters():
        if name.endswith("bias") or "norm" in name:
            torch.nn.init.normal_(weight, 1.0, 0.2)
    model.save_pretrained(directory)
    return str(directory)


def published(family: str, tmp_path: Path, *layers: Any, **settings: Any) -> str:
    first = modules.Transformer(backbone(family, tmp_path / "backbone", settings.pop("side", "right")))
    library.SentenceTransformer(modules=[first, *layers], device="cpu", **settings).save(str(tmp_path / "published"))
    return str(tmp_path / "published")


def theirs(folder: str, **settings: Any) -> Any:
    return library.SentenceTransformer(folder, device="cpu").encode(TEXTS, **settings)


def largest(first: Any, second: Any) -> float:
    return float(np.abs(first - second).max())


def last_token() -> list[Any]:
    """The modules of Qwen3-Embedding."""
    return [modules.Pooling(32, "lasttoken"), modules.Normalize()]


def two_heads() -> list[Any]:
    """The modules of EmbeddingGemma, with a bias and an activation in the second head."""
    return [
        modules.Pooling(32, "mean"),
        modules.Dense(32, 64, bias=False, activation_function=torch.nn.Identity()),
        modules.Dense(64, 16, activation_function=torch.nn.GELU()),
        modules.Normalize(),
    ]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("layers", [last_token, two_heads])
@pytest.mark.parametrize("side", ["left", "right"])
def test_vectors_are_those_of_sentence_transformers(
    tmp_path: Path, family: str, layers: Callable[[], list[Any]], side: str
) -> None:
    folder = published(family, tmp_path, *layers(), side=side, prompts={"query": "find: "})
    assert largest(Encoder.load(folder).encode(TEXTS), theirs(folder)) < 1e-5
    named = Encoder.load(folder, prompt="query")
    assert largest(named.encode(TEXTS), theirs(folder, prompt_name="query")) < 1e-5
    assert largest(Encoder.load(folder, prompt="").encode(TEXTS), named.encode(TEXTS)) > 1e-3


@pytest.mark.parametrize("mode", ["cls", "mean", "max", "lasttoken", "mean_sqrt_len_tokens", "weightedmean"])
@pytest.mark.parametrize("include", [True, False])
def test_pooling_with_a_prompt(tmp_path: Path, mode: str, include: bool) -> None:
    layers = modules.Pooling(32, mode, include_prompt=include)
    prompts = {"prompts": {"query": "find it: ", "document": ""}, "default_prompt_name": "query"}
    folder = published("ModernBert", tmp_path, layers, **prompts)
    if mode == "weightedmean" and not include:
        with pytest.raises(InputError, match="pools by weightedmean without the prompt"):
            Encoder.load(folder)
        return
    assert largest(Encoder.load(folder).encode(TEXTS), theirs(folder)) < 1e-5
    assert largest(Encoder.load(folder, prompt="other ").encode(TEXTS), theirs(folder, prompt="other ")) < 1e-5
    assert largest(Encoder.load(folder, prompt="").encode(TEXTS), theirs(folder, prompt="")) < 1e-5


def test_the_last_token_with_padding_on_either_side() -> None:
    hidden = torch.arange(8.0).view(2, 4, 1)
    for mask, expected in (([[1, 1, 0, 0], [1, 1, 1, 1]], [1, 7]), ([[0, 0, 1, 1], [0, 1, 1, 1]], [3, 7])):
        assert pool("last", hidden, torch.tensor(mask))[:, 0].tolist() == expected


UNKNOWN = {
    "1_Pooling/config.json": ({"pooling_mode": "median"}, "pools by median"),
    "2_Dense/config.json": ({"use_residual": True}, "use_residual True is not supported"),
    "3_Dense/config.json": ({"activation_function": "own.Activation"}, "a Dense with own.Activation"),
    "4_Normalize/config.json": ({"module_input_name": "token_embeddings"}, "module_input_name 'token_embeddings'"),
    "sentence_bert_config.json": ({"query_length": 32}, "query_length 32 is not supported"),
    "config_sentence_transformers.json": ({"default_prompt_name": "none"}, "default prompt 'none' is not among"),
}


@pytest.mark.parametrize("file", UNKNOWN)
def test_what_a_model_names_and_we_lack_is_an_error(tmp_path: Path, file: str) -> None:
    path = Path(published("Qwen3", tmp_path, *two_heads())) / file
    more, message = UNKNOWN[file]
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))
    with pytest.raises(InputError, match=message):
        Encoder.load(str(tmp_path / "published"))


@pytest.mark.parametrize("family", FAMILIES)
def test_trained_and_loaded_elsewhere(options: dict[str, Any], tmp_path: Path, family: str) -> None:
    """The prompt is trained with, exported and used by `evaluate`; transformers gives the same token vectors."""
    from transformers import AutoModel, AutoTokenizer

    prompts = {"prompts": {"query": "find: "}, "default_prompt_name": "query"}
    start = published(family, tmp_path, *(last_token() if family == "Qwen3" else two_heads()), **prompts)
    folder = run(make("simcse", options | {"model": start, "dropout": 0.1, "max_steps": 3, "max_length": 64}, {}))
    encoder = Encoder.load(folder)
    vectors = encoder.encode(TEXTS)
    assert (encoder.prompt, encoder.max_length) == ("find: ", 64)
    assert "| prompt | `find: `, before each text |" in Path(folder, "README.md").read_text()
    assert largest(vectors, Encoder.load(start).encode(TEXTS)) > 1e-3
    assert largest(vectors, theirs(folder)) < 1e-6
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        tokens = tokenizer(["find: " + text for text in TEXTS], padding=True, truncation=True, return_tensors="pt")
        hidden = model(**tokens).last_hidden_state
        pooled = pool(encoder.pooler, hidden, tokens["attention_mask"])
        by_hand = torch.nn.functional.normalize(encoder.head(pooled) if encoder.head is not None else pooled)
    assert largest(vectors, by_hand.numpy()) < 1e-6


def test_evaluate_reads_the_prompt(tmp_path: Path) -> None:
    from wikianchor.trainer.evaluate.options import EvaluateOptions

    prompts = {"prompts": {"query": "find: "}, "default_prompt_name": "query"}
    folder = published("Qwen3", tmp_path, *last_token(), **prompts)
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{n % 5}\t{TEXTS[n]}\t{TEXTS[n + 1]}\n" for n in range(11)))
    scores = {}
    for prompt in (None, "", "query", "other: "):
        results, _ = evaluate.run(EvaluateOptions(model=(folder,), sts=(str(pairs),), prompt=prompt, device="cpu"))
        scores[prompt] = results[0].scores.cells[0].value
        assert results[0].model.facts["prompt"] == {None: "find: ", "query": "find: "}.get(prompt, prompt)
    assert scores[None] == scores["query"]
    assert scores[""] != scores["query"]
