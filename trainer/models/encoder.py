"""A sentence encoder: a backbone of transformers, a pooler, and an optional head.

    tokens (batch, length) --backbone--> hidden states --pooler--> (batch, width) --head--> (batch, dim)

The head is SimCSE's MLP: a linear layer and tanh over [CLS]. SimCSE and EASE use it in training alone
(`head_only_train`), so their models are evaluated with the pooler `cls_before_pooler`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.choices import POOLERS
from wikianchor.trainer.models import cpu, gpu
from wikianchor.trainer.models.hub import check_model, no_model
from wikianchor.trainer.models.modules import NO_LIMIT, Head, read_layout
from wikianchor.trainer.models.static import StaticModel, read_static

# Names of dropout probabilities in configs of transformers.
DROPOUTS = (
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "hidden_dropout",
    "attention_dropout",
    "embedding_dropout",
    "mlp_dropout",
    "dropout",
    "dropout_rate",
)
# Sentences tokenised at once; larger chunks need more memory and are not faster.
CHUNK = 16_384
# Vectors kept on a GPU before they are fetched, 0.4 GB if they are 768 wide.
FETCHED = 131_072
# Tokens encoded at once on a GPU, which smaller batches would not fill.
CUDA_TOKENS = 32_768


class Encoder(nn.Module):
    """Maps sentences to vectors.

    Args:
        backbone: a model of transformers.
        tokenizer: its tokenizer.
        pooler: one of `POOLERS`. `cls` and `cls_before_pooler` use the first token; `cls` has a head.
        head: applied to the pooled vector, or None.
        head_only_train: leave the head out in eval mode.
        normalize: scale vectors to unit length in `encode`, as modules.json of the model says.
        max_length: tokens kept of a sentence, special tokens included, unless `encode` sets another limit.
        lower: lower-case texts, as some models of sentence-transformers need.

    Attributes:
        prompts: prompts of the model, by name.
        prompt: put before each text.
        include_prompt: whether the tokens of the prompt are pooled.
        skipped: tokens at the beginning that are not pooled.
        merge: adds trained updates to the weights, which are unchanged till then (`lora.add_lora`); None without.
        precision: precision of matrix products in `encode`: fp32, tf32 (on GPUs that have it) or bf16.
        cuda_tokens: tokens that `encode` encodes at once on a GPU, or a batch if that is more.
    """

    def __init__(
        self,
        backbone: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        pooler: str = "avg",
        head: nn.Module | None = None,
        head_only_train: bool = True,
        normalize: bool = False,
        max_length: int = 512,
        lower: bool = False,
    ) -> None:
        super().__init__()
        if pooler not in POOLERS:
            raise UsageError(f"no pooler {pooler!r}: choose one of {', '.join(POOLERS)}")
        if isinstance(backbone, StaticModel) and pooler != "avg":
            raise UsageError(f"--pooler={pooler}: a static model takes the mean of its tokens: leave it out")
        cpu.replace_dropout(backbone)
        self.backbone = backbone
        self._attention = backbone.config._attn_implementation
        self.tokenizer = tokenizer
        self.pooler = pooler
        self.head = head
        self.head_only_train = head_only_train
        self.normalize = normalize
        self.max_length = max_length
        self.lower = lower
        self.prompts: Mapping[str, str] = {}
        self.prompt = ""
        self.include_prompt = True
        self.skipped = 0
        self.merge: Callable[[], object] | None = None
        self.precision = "fp32"
        self.cuda_tokens = CUDA_TOKENS

    @classmethod
    def load(
        cls,
        path: str,
        pooler: str | None = None,
        device: str | torch.device = "cpu",
        dropout: float | None = None,
        prompt: str | None = None,
    ) -> Encoder:
        """Read an encoder, in eval mode.

        Args:
            path: a directory or a name on the Hub.
            pooler: default: that of the model's modules.json, else `avg`. Another one replaces the model's head and
                normalisation too; `cls` then uses the backbone's pooling layer.
            device: the encoder's device.
            dropout: replaces all dropout probabilities of the backbone.
            prompt: put before each text, or the name of a prompt of the model; default: the model's own default.

        Raises:
            InputError: there is no such model, or it has modules that are not supported.
        """
        check_model(path)
        layout = read_layout(path)
        if layout.static is not None:
            (backbone, tokenizer), missing = read_static(path, layout.static, dropout), set[str]()
        else:
            backbone, missing, tokenizer = _read(path, dropout)
        if pooler is not None and pooler != layout.pooler:
            layout = replace(layout, pooler=pooler, head=None, normalize=False)
        head = layout.head
        if layout.pooler == "cls" and head is None:
            head = _pooling_layer(backbone, missing, path)
        limit = layout.max_length or _limit(backbone, tokenizer)
        encoder = cls(
            backbone,
            tokenizer,
            layout.pooler,
            head,
            head_only_train=False,
            normalize=layout.normalize,
            max_length=limit,
            lower=layout.lower,
        )
        encoder.prompts = layout.prompts
        encoder.prompt = layout.prompt if prompt is None else layout.prompts.get(prompt, prompt)
        encoder.include_prompt = layout.include_prompt
        if encoder.prompt and not encoder.include_prompt:
            ids = encoder.tokenize([""])[0]
            encoder.skipped = len(ids) - (ids[-1] in tokenizer.all_special_ids)
        return encoder.to(device).eval()

    @property
    def dim(self) -> int:
        """Width of the vectors in the current mode."""
        heads = list(self.head.modules()) if self.head is not None and self._uses_head() else []
        widths = [layer.out_features for layer in heads if isinstance(layer, nn.Linear)]
        return int([self.backbone.config.hidden_size, *widths][-1])

    @property
    def device(self) -> torch.device:
        """Device of the backbone."""
        return next(self.backbone.parameters()).device

    def train(self, mode: bool = True) -> Encoder:
        """Set the mode, and the attention that is fastest in it: with dropout another one than without."""
        if mode and self.device.type == "cpu":
            self.backbone.set_attn_implementation(cpu.training_attention(self.backbone))
        elif mode:
            gpu.set_training_attention(self.backbone, self._attention)
        else:
            self.backbone.set_attn_implementation(self._attention)
            self.backbone.config._attn_implementation = self._attention
        super().train(mode)
        return self

    def _uses_head(self) -> bool:
        return self.training or not self.head_only_train

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, places: Tensor | None = None, ends: Tensor | None = None
    ) -> Tensor:
        """Return vectors (batch, dim), not normalised.

        Args:
            input_ids, attention_mask: (batch, length).
            places, ends: of `gpu.Packing`, where `gpu.can_pack`; None for a batch that is not packed.
        """
        two_layers = self.pooler in ("avg_top2", "avg_first_last")
        first_only = self.pooler in ("cls", "cls_before_pooler") and not self.skipped
        if self._packs(attention_mask):
            packed, layers = cpu.encode(self.backbone, input_ids, attention_mask, first_only)
            if first_only:
                pooled = layers[-1]
            else:
                layers = [packed.unpack(layer) for layer in (layers if two_layers else layers[-1:])]
                pooled = self._pool(layers[-1], attention_mask, layers)
        else:
            # Decoders would keep keys and values, which takes memory, and with some a synchronisation in each layer.
            more = {"use_cache": False} if getattr(self.backbone.config, "use_cache", False) else {}
            inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
            packing = None
            if places is not None and ends is not None and self.backbone.config._attn_implementation == gpu.ATTENTION:
                packing = gpu.Packing(input_ids.shape, places, ends)
                inputs = packing.inputs(self.backbone.config, input_ids)
            output = self.backbone(**inputs, output_hidden_states=two_layers, **more)
            last, hidden = output.last_hidden_state, output.hidden_states
            if packing is not None:
                last = packing.unpack(last)
                hidden = [packing.unpack(hidden[number]) for number in (0, -2, -1)] if two_layers else None
            pooled = self._pool(last, attention_mask, hidden)
        if self.head is not None and self._uses_head():
            pooled = self.head(pooled)
        return pooled

    def _pool(self, last: Tensor, mask: Tensor, layers: Sequence[Tensor] | None) -> Tensor:
        """Pool hidden states, without the prompt where it is not pooled; `pad` pads on the right."""
        start = min(self.skipped, mask.shape[1] - 1)
        if start > 0:
            last, mask = last[:, start:], mask[:, start:]
            layers = [layer[:, start:] for layer in layers] if layers is not None else None
        return pool(self.pooler, last, mask, layers)

    def _packs(self, mask: Tensor) -> bool:
        """Whether a batch is packed: in training on a CPU."""
        return (
            self.training
            and mask.device.type == "cpu"
            and cpu.can_pack(self.backbone.config)
            and self.merge is None
            and not getattr(self.backbone, "is_activation_checkpointing", None)
            and not torch.compiler.is_compiling()
            and self.backbone._compiled_call_impl is None
        )

    def encode(self, texts: Sequence[str], batch_size: int = 128, max_length: int | None = None) -> NDArray[np.float32]:
        """Return the vectors of sentences, (rows, dim) float32, in eval mode and without gradients.

        Sentences of similar length are encoded together, which saves padding.

        Args:
            texts: the sentences.
            batch_size: sentences encoded at once; on a GPU short sentences are encoded in larger batches.
            max_length: tokens kept of a sentence, None for the encoder's limit.
        """
        return self.encode_tokens(self.tokenize(texts, max_length), batch_size)

    def encode_tokens(self, tokens: Sequence[Sequence[int]], batch_size: int = 128) -> NDArray[np.float32]:
        """Return the vectors of tokenised sentences, as `encode` does."""
        order = sorted(range(len(tokens)), key=lambda row: (-len(tokens[row]), row))
        was_training = self.training
        self.eval()
        encoded = np.empty((len(tokens), self.dim), np.float32)
        try:
            with torch.inference_mode():
                for start in range(0, len(order), FETCHED):
                    rows = order[start : start + FETCHED]
                    encoded[rows] = self._encode_sorted([tokens[row] for row in rows], batch_size).cpu().numpy()
        finally:
            self.train(was_training)
        return encoded

    def _encode_sorted(self, tokens: Sequence[Sequence[int]], batch_size: int) -> Tensor:
        """Return the vectors of sentences, sorted from the longest to the shortest, on the device.

        They stay there, because the CPU would wait for each batch that it fetches.
        """
        device = self.device
        vectors = []
        start = 0
        while start < len(tokens):
            size = batch_size
            if device.type == "cuda":
                size = max(size, self.cuda_tokens // max(1, len(tokens[start])))
            ids, mask = pad(tokens[start : start + size], self.tokenizer.pad_token_id or 0)
            with gpu.matrix_precision(self.precision, device):
                batch = self(ids.to(device), mask.to(device)).float()
            vectors.append(nn.functional.normalize(batch, dim=-1) if self.normalize else batch)
            start += size
        return torch.cat(vectors)

    def tokenize(self, texts: Sequence[str], max_length: int | None = None) -> list[list[int]]:
        """Return the token ids of each sentence with the prompt and special tokens, truncated to `max_length`."""
        whole = [self.prompt + text for text in texts]
        clean = [text.lower() for text in whole] if self.lower else whole
        length = max_length or self.max_length
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        tokens: list[list[int]] = []
        for start in range(0, len(clean), CHUNK):
            part = clean[start : start + CHUNK]
            if backend is None:
                tokens += self.tokenizer(part, truncation=True, max_length=length)["input_ids"]
                continue
            # Without offsets, which transformers computes too and which take a fifth of the time.
            backend.enable_truncation(length, direction=self.tokenizer.truncation_side)
            backend.no_padding()
            tokens += [encoding.ids for encoding in backend.encode_batch_fast(part)]
        return tokens

    def save(self, directory: str) -> None:
        """Write backbone and tokenizer to a directory, as transformers does.

        The tokenizer is saved without truncation and padding, which are settings of its last call: the library
        `tokenizers` would apply them to every text. `tokenizer_config.json` has the limit of tokens.
        """
        self.backbone.save_pretrained(directory)
        if (backend := getattr(self.tokenizer, "backend_tokenizer", None)) is not None:
            backend.no_truncation()
            backend.no_padding()
        self.tokenizer.save_pretrained(directory)


def pool(pooler: str, last: Tensor, mask: Tensor, layers: Sequence[Tensor] | None = None) -> Tensor:
    """Pool hidden states to (batch, width).

    Args:
        pooler: one of `POOLERS`.
        last: (batch, length, width), the last layer.
        mask: (batch, length).
        layers: all layers, embeddings first, for `avg_top2` and `avg_first_last`.
    """
    if pooler in ("cls", "cls_before_pooler"):
        return last[:, 0]
    if pooler == "last":
        return last[torch.arange(last.shape[0], device=last.device), mask.shape[1] - 1 - mask.flip(1).int().argmax(1)]
    if pooler == "max":
        return last.masked_fill(~mask.bool().unsqueeze(-1), -torch.inf).amax(1)
    if pooler == "weighted":
        # Later tokens, which have seen the others, count more: https://arxiv.org/abs/2202.08904, equation 2.
        return mean(last, mask * mask.cumsum(1))
    if pooler in ("avg", "sqrt"):
        average = mean(last, mask)
        return average if pooler == "avg" else average * mask.sum(1, keepdim=True).sqrt()
    if layers is None:
        raise ValueError(f"{pooler} needs all layers")
    other = layers[-2] if pooler == "avg_top2" else layers[0]
    return mean((layers[-1] + other) / 2, mask)


def mean(hidden: Tensor, mask: Tensor) -> Tensor:
    """Return the mean over the tokens of a mask, (batch, width).

    Args:
        hidden: (batch, length, width).
        mask: (batch, length).

    >>> mean(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[1, 1, 0]]))
    tensor([[2.]])
    """
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)


def pad(tokens: Sequence[Sequence[int]], padding: int) -> tuple[Tensor, Tensor]:
    """Return token ids and mask of rows, (rows, longest) int64 each.

    >>> ids, mask = pad([[5], [6, 7]], 0)
    >>> ids.tolist(), mask.tolist()
    ([[5, 0], [6, 7]], [[1, 0], [1, 1]])
    """
    longest = max((len(row) for row in tokens), default=0)
    ids = np.full((len(tokens), longest), padding, np.int64)
    mask = np.zeros_like(ids)
    for number, row in enumerate(tokens):
        ids[number, : len(row)] = row
        mask[number, : len(row)] = 1
    return torch.from_numpy(ids), torch.from_numpy(mask)


def _read(path: str, dropout: float | None) -> tuple[PreTrainedModel, set[str], PreTrainedTokenizerBase]:
    """Return the model in float32, the names of weights that are missing in its files, and the tokenizer."""
    try:
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        for name in DROPOUTS if dropout is not None else ():
            if hasattr(config, name):
                setattr(config, name, dropout)
        model, report = AutoModel.from_pretrained(
            path, config=config, output_loading_info=True, dtype=torch.float32, trust_remote_code=False
        )
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except Exception as error:
        # transformers raises exceptions of many types for a model that cannot be read.
        raise no_model(path, error) from error
    if not hasattr(model.config, "hidden_size"):
        raise InputError(f"{path}: not an encoder of text with one hidden size: choose another model")
    return model, set(report["missing_keys"]), tokenizer


def _pooling_layer(backbone: PreTrainedModel, missing: set[str], path: str) -> Head:
    layer = getattr(getattr(backbone, "pooler", None), "dense", None)
    if not isinstance(layer, nn.Linear) or any(name.startswith("pooler.") for name in missing):
        raise InputError(f"{path}: the pooler cls needs a trained pooling layer, and there is none: cls_before_pooler")
    head = Head(layer.in_features, layer.out_features)
    head.linear.load_state_dict(layer.state_dict())
    return head


def _limit(backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the limit of tokens: the smaller of the tokenizer's limit and the number of positions.

    RoBERTa numbers positions from its padding id + 1, so it takes fewer tokens than it has positions; its tokenizer has
    the limit.
    """
    stated = int(tokenizer.model_max_length)
    positions = getattr(backbone.config, "max_position_embeddings", None)
    limits = [limit for limit in (stated, positions) if limit and limit < NO_LIMIT]
    return min(limits, default=512)
