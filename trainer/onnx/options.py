"""`wikianchor onnx`: a model as a graph for ONNX Runtime, without torch.

    wikianchor onnx --model=models/ease/model --output=models/ease/onnx

OUTPUT has `model.onnx`, whose inputs are `input_ids` and `attention_mask`, int64 (sentences, tokens), and whose output
is `sentence_embedding`, float32 (sentences, dim): pooling, layers above it and normalisation are in the graph. Beside
it are the tokenizer and a README.md with an example. The vectors are compared with those of torch before anything is
written. Where the model has a prompt, put it before each text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.option_groups import Output
from wikianchor.io.options import program, read_options
from wikianchor.trainer.option_groups import Model


@dataclass(frozen=True, kw_only=True)
class OnnxOptions(Output, Model):
    """Options of the command."""

    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"output": {"help": "directory of the graph and tokenizer"}}


def parse(argv: Sequence[str]) -> OnnxOptions:
    """Return the options of a command line."""
    return read_options(OnnxOptions, program("wikianchor onnx", __doc__ or "", OnnxOptions).parse_args(argv))
