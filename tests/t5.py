"""A small vocabulary, a small T5 and a small corpus, made here."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.stand_in import write_dataset
from wikianchor.pipelines.arrays.hashing import hash_string
from wikianchor.pipelines.japanese.choices import SPAN_RULES
from wikianchor.pipelines.japanese.noun_spans import Token
from wikianchor.schemas import corpus, negatives

PLACES = ("外来", "病棟", "自宅", "薬局", "診療所")
SIGNS = ("発熱", "頭痛", "腹痛", "咳嗽", "発疹", "倦怠感")
WHO = ("患者", "男性", "女性", "小児")
TEXTS = [f"{who}は{sign}を訴えて{folder}を受診した。" for who in WHO for sign in SIGNS for folder in PLACES]


def learnt(size: int = 60, **options: Any) -> bytes:
    """A sentencepiece model of the texts, with bytes for what has no piece."""
    import sentencepiece

    model = io.BytesIO()
    settings: dict[str, Any] = {"byte_fallback": True, "add_dummy_prefix": False, "model_type": "unigram", **options}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS),
        model_writer=model,
        vocab_size=256 + size,
        normalization_rule_name="identity",
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        num_threads=1,
        minloglevel=2,
        **settings,
    )
    return model.getvalue()


def write_t5(folder: Path) -> Path:
    """A T5 that knows nothing."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    from wikianchor.schemas.sentinels import EOS, MODEL_FILE, PAD, SETTINGS_FILE, Vocabulary

    vocabulary = Vocabulary(learnt())
    torch.manual_seed(3)
    shape = {"num_layers": 1, "d_model": 16, "num_heads": 2, "d_kv": 8, "d_ff": 32}
    special = {"pad_token_id": PAD, "eos_token_id": EOS, "decoder_start_token_id": PAD}
    T5ForConditionalGeneration(T5Config(vocab_size=vocabulary.size, **special, **shape)).save_pretrained(folder)
    (folder / MODEL_FILE).write_bytes(vocabulary.model)
    (folder / SETTINGS_FILE).write_text(json.dumps(vocabulary.settings()))
    return folder


def corpus_row(number: int, text: str) -> dict[str, Any]:
    """A row of `corpus` whose spans are the words that the texts are made of."""
    occurrences = sorted(
        (text.index(word), text.index(word) + len(word)) for word in (*PLACES, *SIGNS, *WHO) if word in text
    )
    spans = [{"start": start, "end": end} for start, end in occurrences]
    token = Token(0, len(text), "X", "ROOT", 0, True)._asdict()
    del token["heads_bunsetu"]
    return {
        "text": text,
        "sentence_id": hash_string(text) >> 1,
        "source": "texts",
        "record": number,
        "sentence_index": 0,
        "tokens": [token],
        "spans": {rule: spans if rule != "nouns" else spans[:1] for rule in SPAN_RULES},
    }


def write_corpus(
    folder: Path, texts: Sequence[str] = TEXTS, shards: int = 2, version: str = corpus.VERSION, parser: str = "ginza"
) -> Path:
    """A `corpus` dataset as the command writes it."""
    rows = [corpus_row(number, text) for number, text in enumerate(texts, 1)]
    dealt = [rows[number::shards] for number in range(shards)]
    return write_dataset(folder, "corpus", {"parser": parser}, {"corpus": (corpus.SCHEMA, dealt)}, version)


def write_negatives(folder: Path, texts: Sequence[str] = TEXTS) -> Path:
    """A `negatives` dataset: another sign and another place for each sentence."""
    rows = []
    for number, text in enumerate(texts):
        others = [texts[(number + step) % len(texts)] for step in (1, 5, 30)]
        row = {"text": text, "sentence_id": number, "negatives": others[: 1 + number % 3], "holes": 3}
        rows.append({**row, "ranks": list(range(1, len(row["negatives"]) + 1))})
    dealt = [rows[::2], rows[1::2]]
    return write_dataset(folder, "negatives", {}, {"negatives": (negatives.SCHEMA, dealt)}, negatives.VERSION)
