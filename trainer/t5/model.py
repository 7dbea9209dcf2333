"""A T5 with its sentencepiece vocabulary: begun with random weights, or read from a directory or the Hub."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Sequence
from typing import Any

import torch
from huggingface_hub import snapshot_download
from torch import nn
from transformers import AutoConfig, T5Config, T5ForConditionalGeneration

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.storage import fetch, is_local
from wikianchor.schemas.sentinels import EOS, MODEL_FILE, PAD, SETTINGS_FILE, Vocabulary
from wikianchor.trainer.config import SpanConfig
from wikianchor.trainer.models.hub import check_model, no_model
from wikianchor.trainer.presets import NEW_SIZES

# Texts that a new vocabulary is learnt from; more of them change it little.
VOCABULARY_TEXTS = 1_000_000


class T5Filler(nn.Module):
    """A T5 with its vocabulary."""

    def __init__(self, backbone: Any, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.backbone = backbone
        self.vocabulary = vocabulary


def new_filler(options: SpanConfig, texts: Sequence[str]) -> T5Filler:
    """Return a T5 with random weights and a vocabulary learnt from texts, in the sizes that the options name."""
    vocabulary = Vocabulary(learn_vocabulary(texts[:VOCABULARY_TEXTS], options.vocabulary_size))
    config = T5Config(
        # A multiple of 128 is faster on GPUs.
        vocab_size=-(-vocabulary.size // 128) * 128,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=True,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=PAD,
        **NEW_SIZES[str(options.new)],
    )
    return T5Filler(T5ForConditionalGeneration(config), vocabulary)


def learn_vocabulary(texts: Sequence[str], size: int) -> bytes:
    """Return a sentencepiece model of `size` tokens; characters without a token are encoded as bytes.

    Raises:
        UsageError: the texts are too few for so many tokens.
    """
    import sentencepiece

    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=model,
            vocab_size=size,
            model_type="unigram",
            character_coverage=0.9995,
            byte_fallback=True,
            add_dummy_prefix=False,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            pad_id=PAD,
            eos_id=EOS,
            unk_id=2,
            bos_id=-1,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        reason = " ".join(str(error).split())[-160:]
        raise UsageError(f"--vocabulary_size={size}: the texts do not give so many pieces ({reason})") from error
    return model.getvalue()


def read_filler(path: str) -> T5Filler:
    """Read a T5 from a directory, a URI, or by its name on the Hub.

    Raises:
        InputError: there is no such model, or it is no T5 with a sentencepiece vocabulary.
    """
    with tempfile.TemporaryDirectory() as scratch:
        local = path if is_local(path) else fetch(path, os.path.join(scratch, "model"))
        check_model(local)
        try:
            config = AutoConfig.from_pretrained(local, trust_remote_code=False)
            # Only models of this project have a settings file.
            files = [MODEL_FILE, SETTINGS_FILE]
            directory = local if os.path.isdir(local) else snapshot_download(local, allow_patterns=files)
            vocabulary = Vocabulary.read(directory)
            backbone = T5ForConditionalGeneration.from_pretrained(local, config=config, dtype=torch.float32)
        except Exception as error:
            # transformers and sentencepiece raise exceptions of many types for a model that cannot be read.
            raise no_model(path, error, "T5") from error
    if vocabulary.size > int(backbone.config.vocab_size):
        raise InputError(f"{path}: {vocabulary.size} pieces and sentinels, and {backbone.config.vocab_size} vectors")
    return T5Filler(backbone, vocabulary)
