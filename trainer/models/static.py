"""Static encoders: the vector of a text is the mean of those of its tokens. In sentence-transformers: StaticEmbedding.

They are fast on a CPU, in training too, and do not know the order of words.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast
from transformers.modeling_outputs import BaseModelOutput

from wikianchor.io.errors import InputError
from wikianchor.trainer.distributed import world
from wikianchor.trainer.models.modules import model_file, read_weights

DROPOUT = 0.1


class StaticConfig(PreTrainedConfig):
    """`vocab_size`, `hidden_size`, and `dropout` of token vectors."""

    model_type = "wikianchor-static"


class StaticModel(PreTrainedModel):
    """A backbone whose hidden states are the vectors of the tokens."""

    config_class = StaticConfig

    def __init__(self, config: StaticConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.drop = nn.Dropout(config.dropout)
        self.post_init()

    def forward(self, input_ids: Tensor, **_: Any) -> BaseModelOutput:
        """Return the vectors of tokens, (batch, length) to (batch, length, width)."""
        # Of all tokens a batch has few. Between processes gradients are dense.
        sparse = self.training and world() == 1 and input_ids.device.type == "cpu"
        vectors = nn.functional.embedding(input_ids, self.embedding.weight, sparse=sparse)
        return BaseModelOutput(last_hidden_state=self.drop(vectors))


def new_static(tokenizer: PreTrainedTokenizerFast, width: int, dropout: float | None) -> StaticModel:
    """Return a model with random vectors of the tokens of a tokenizer, which adds no special tokens from now on."""
    tokenizer.backend_tokenizer.post_processor = None
    dropout = DROPOUT if dropout is None else dropout
    return StaticModel(StaticConfig(vocab_size=len(tokenizer), hidden_size=width, dropout=dropout))


def read_static(path: str, folder: str, dropout: float | None) -> tuple[StaticModel, PreTrainedTokenizerFast]:
    """Return the model and the tokenizer of a StaticEmbedding.

    Args:
        path: a directory or a name on the Hub.
        folder: that of the module in it.
        dropout: of token vectors in training.

    Raises:
        InputError: a file is missing, or has other weights.
    """
    vectors, file = read_weights(path, folder).get("embedding.weight"), model_file(path, folder, "tokenizer.json")
    if vectors is None or file is None:
        raise InputError(f"{path}: has no tokenizer.json, or no embedding.weight: choose another static model")
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=file)
    model = new_static(tokenizer, vectors.shape[1], dropout)
    model.embedding = nn.Embedding.from_pretrained(vectors.float(), freeze=False)
    return model, tokenizer
