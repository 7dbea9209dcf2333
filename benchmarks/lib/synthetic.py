"""Data and models that are made here, without a network: sentences of random words, and transformers with random
weights. Speed does not depend on what the words are; the lengths are those of Wikipedia's sentences."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

import wikianchor.schemas.pairs

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


BERT_BASE = Size()
TOY = Size(layers=1, width=16, heads=2, vocabulary=200, rows=256, entities=50)


def texts(size: Size, seed: int = 0) -> list[str]:
    """Return sentences of random words, 20 on average, of which each is a token."""
    random = np.random.default_rng(seed)
    lengths = np.clip(random.lognormal(np.log(18), 0.45, size.rows), 4, 60).astype(int)
    words = random.integers(len(SPECIAL), size.vocabulary, lengths.sum())
    return [" ".join(f"w{word}" for word in part) for part in np.split(words, np.cumsum(lengths)[:-1])]


def write_bert(place: Path, size: Size) -> Path:
    """Write a BERT with random weights, and a tokenizer of whole words."""
    names = [*SPECIAL.values(), *(f"w{number}" for number in range(len(SPECIAL), size.vocabulary))]
    tokenizer = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **SPECIAL).save_pretrained(place)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=size.vocabulary,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.width,
    )
    BertModel(config).save_pretrained(place)
    return place


def write_pairs(place: Path, size: Size) -> Path:
    """Write a `pairs` dataset of these sentences, in which an entity's number of links follows Zipf's law."""
    random = np.random.default_rng(1)
    ids = np.arange(size.rows)
    entities = np.minimum(random.zipf(1.3, size.rows) - 1, size.entities - 1).astype(np.int32)
    negatives = random.integers(0, size.entities, (size.rows, 3)).tolist()
    columns: dict[str, Any] = {
        "text": texts(size),
        "mention_start": np.zeros(size.rows, int),
        "mention_end": np.ones(size.rows, int),
        "entity_id": entities,
        "entity_qid": entities.astype(np.int64) + 1,
        "hard_negative_ids": negatives,
        "hard_negative_qids": [[number + 1 for number in row] for row in negatives],
        "type_qid": np.full(size.rows, 5),
        "type_route": ["instance_of"] * size.rows,
        "sentence_id": ids,
        "wiki": ["enwiki"] * size.rows,
        "page_id": ids,
        "rev_id": ids,
        "title": ["T"] * size.rows,
        "frequency_bin": np.zeros(size.rows, int),
    }
    schema = wikianchor.schemas.pairs.SCHEMA
    numbers = np.arange(size.entities)
    named = {
        "entity_id": numbers,
        "qid": numbers + 1,
        "count": numbers + 1,
        "label": [f"w{number}" for number in numbers],
        "types": [[5]] * size.entities,
    }
    tables = {
        "pairs": _table(columns, schema),
        "entities": _table(named, wikianchor.schemas.pairs.ENTITIES),
    }
    configs: dict[str, Any] = {}
    for config, table in tables.items():
        name = f"data/{config}/train-00000-of-00001.parquet"
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, place / name)
        content = (place / name).read_bytes()
        shard = {"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        configs[config] = {"rows": len(table), "shards": [shard]}
    manifest = {
        "dataset": "pairs",
        "schema_version": wikianchor.schemas.pairs.VERSION,
        "configs": configs,
        "inputs": [],
    }
    (place / "manifest.json").write_text(json.dumps(manifest))
    return place


def _table(columns: dict[str, Any], schema: pa.Schema) -> pa.Table:
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema)
