"""A small `negatives` dataset in the words of the tiny model."""

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import wikianchor.schemas.negatives
from tests.trainer.pairs import WORDS


def word_texts(rows: int, seed: int = 0) -> list[list[str]]:
    """Sentences of words, each before up to three others that differ in one word."""
    draw = random.Random(seed)
    texts_of_rows = []
    for number in range(rows):
        words = [draw.choice(WORDS) for _ in range(draw.randint(4, 14))]
        others = []
        for _ in range(1 + number % 3):
            changed = list(words)
            changed[draw.randrange(len(changed))] = draw.choice(WORDS)
            others.append(" ".join(changed))
        texts_of_rows.append([" ".join(words), *others])
    return texts_of_rows


def write_word_negatives(directory: Path, texts: list[list[Any]], schema: pa.Schema | None = None) -> Path:
    """Write a dataset as `wikianchor negatives` lays it out, in two shards."""
    rows: list[dict[str, Any]] = [
        {"text": text, "sentence_id": number, "negatives": others, "ranks": [*range(1, len(others) + 1)], "holes": 1}
        for number, (text, *others) in enumerate(texts)
    ]
    table = pa.Table.from_pylist(rows, schema or wikianchor.schemas.negatives.SCHEMA)
    half = len(table) // 2
    shards = []
    for number, part in enumerate((table.slice(0, half), table.slice(half))):
        name = f"data/negatives/train-{number:05d}-of-00002.parquet"
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(part, directory / name)
        content = (directory / name).read_bytes()
        shards.append({"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()})
    configs = {"negatives": {"rows": len(rows), "shards": shards}}
    manifest = {
        "dataset": "negatives",
        "schema_version": wikianchor.schemas.negatives.VERSION,
        "configs": configs,
        "inputs": [],
    }
    (directory / "manifest.json").write_text(json.dumps(manifest))
    return directory
