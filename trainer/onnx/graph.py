"""Write an encoder as a graph for ONNX Runtime: the command `wikianchor onnx`, which `options.py` describes."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn

from wikianchor.io.errors import InputError
from wikianchor.trainer.command import run_command
from wikianchor.trainer.models.encoder import Encoder, pad
from wikianchor.trainer.models.export import publish_model
from wikianchor.trainer.onnx.options import OnnxOptions, parse

GRAPH = "model.onnx"
# The largest difference of a number in the vectors of torch and of ONNX Runtime.
TOLERANCE = 1e-5
# A file of the format holds 2 GB; weights of larger models lie beside the graph.
LARGEST = 1 << 31
# Texts of several lengths, in batches of one and of several.
TRIED = ("It rains in Oslo.", "オスロでは雨が降っている。", "Oslo", "word " * 200)
CARD = """\
# Graph for ONNX Runtime

{model} as a graph. Vectors have {dim} numbers. Largest difference from torch on {tried} texts: {difference:.1e}.

```python
import numpy as np
import onnxruntime
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("tokenizer.json")
tokenizer.enable_truncation({length})
tokenizer.enable_padding(pad_id={pad})
texts = [{prompt!r} + text for text in ("It rains in Oslo.", "Oslo is wet today.")]
encodings = tokenizer.encode_batch(texts)
inputs = {{
    "input_ids": np.array([encoding.ids for encoding in encodings], np.int64),
    "attention_mask": np.array([encoding.attention_mask for encoding in encodings], np.int64),
}}
(vectors,) = onnxruntime.InferenceSession("model.onnx").run(None, inputs)
```
"""


class SentenceEmbedding(nn.Module):
    """What the graph computes: the vectors of `Encoder.encode`."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return vectors (sentences, dim) of int64 (sentences, tokens)."""
        vectors = self.encoder(input_ids, attention_mask)
        return nn.functional.normalize(vectors, dim=-1) if self.encoder.normalize else vectors


def export(encoder: Encoder, path: str) -> None:
    """Write the graph of an encoder to a local path."""
    sizes = {0: torch.export.Dim("sentences"), 1: torch.export.Dim("tokens", max=encoder.max_length)}
    # Two sentences, of which one has padding.
    ids, mask = pad(encoder.tokenize(TRIED[:2]), encoder.tokenizer.pad_token_id or 0)
    weights = sum(each.numel() * each.element_size() for each in encoder.parameters())
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            SentenceEmbedding(encoder).eval(),
            (ids, mask.long()),
            path,
            input_names=["input_ids", "attention_mask"],
            output_names=["sentence_embedding"],
            dynamic_shapes={"input_ids": sizes, "attention_mask": sizes},
            external_data=weights >= LARGEST,
            dynamo=True,
            verbose=False,
        )


def difference(encoder: Encoder, path: str) -> float:
    """Return the largest difference of a number in the vectors of torch and of a graph."""
    session = onnxruntime.InferenceSession(path)
    largest = 0.0
    for texts in (TRIED, TRIED[:1]):
        ids, mask = pad(encoder.tokenize(texts), encoder.tokenizer.pad_token_id or 0)
        (vectors,) = session.run(None, {"input_ids": ids.numpy(), "attention_mask": mask.long().numpy()})
        largest = max(largest, float(np.abs(vectors - encoder.encode(texts)).max()))
    return largest


def make(options: OnnxOptions) -> str:
    """Write the directory of the graph, and return a line about it.

    Raises:
        InputError: the model cannot be read or has no graph of the same vectors, or the output cannot be written.
    """
    encoder = Encoder.load(options.model)
    differences: list[float] = []

    def save(local: str) -> None:
        path = f"{local}/{GRAPH}"
        export(encoder, path)
        differences.append(difference(encoder, path))
        if not differences[0] <= TOLERANCE:
            raise InputError(f"{options.model}: its graph has other vectors, by {differences[0]:.1e}: not written")
        encoder.tokenizer.save_pretrained(local)
        card = CARD.format(
            model=Path(options.model).name or "A model",
            dim=encoder.dim,
            tried=len(TRIED),
            difference=differences[0],
            length=encoder.max_length,
            pad=encoder.tokenizer.pad_token_id or 0,
            prompt=encoder.prompt,
        )
        Path(local, "README.md").write_text(card, "utf-8")

    publish_model(options.output, save, {})
    return f"{options.output}: {GRAPH}, vectors of {encoder.dim} numbers, within {differences[0]:.1e} of those of torch"


def main(argv: Sequence[str]) -> int:
    """Return the exit status."""
    return run_command("onnx", lambda: make(parse(argv)))
