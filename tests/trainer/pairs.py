"""A small `pairs` dataset, laid out as `wikianchor pairs` does."""

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import wikianchor.schemas.pairs

WORDS = [f"{start}{end}" for start in ("ka", "lo", "mi", "ru", "te", "vo") for end in ("na", "po", "si", "ta", "zu")]
TOPICS = 6


def pair_rows(rows: int, entities: int = 24, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of which an entity's sentences share a topic's words; every third sentence has two rows."""
    draw = random.Random(seed)
    sampled: list[dict[str, Any]] = []
    while len(sampled) < rows:
        topic = draw.randrange(TOPICS)
        topic_words = WORDS[topic * 5 : topic * 5 + 5]
        text = " ".join(draw.choice(topic_words if draw.random() < 0.8 else WORDS) for _ in range(draw.randint(3, 20)))
        sentence = len(sampled)
        for _ in range(2 if sentence % 3 == 0 else 1):
            entity = draw.randrange(entities // TOPICS) * TOPICS + topic
            others = [other for other in range(entities) if other % TOPICS != topic]
            sampled.append(
                {
                    "text": text,
                    "mention_start": 0,
                    "mention_end": 4,
                    "entity_id": entity,
                    "entity_qid": 100 + entity,
                    "hard_negative_ids": draw.sample(others, draw.randint(0, 3)),
                    "hard_negative_qids": [],
                    "type_qid": 5,
                    "type_route": "instance_of",
                    "sentence_id": sentence,
                    "wiki": draw.choice(["dewiki", "enwiki", "enwiki", "enwiki"]),
                    "page_id": sentence,
                    "rev_id": 1,
                    "title": "T",
                    "frequency_bin": 0,
                }
            )
    return sampled[:rows]


def write_pairs(
    directory: Path, rows: list[dict[str, Any]], entities: int = 24, schema: pa.Schema | None = None
) -> Path:
    """Write a dataset as `wikianchor pairs` lays it out, in two shards of two row groups."""
    half = len(rows) // 2
    table = pa.Table.from_pylist(rows, schema or wikianchor.schemas.pairs.SCHEMA)
    named = [
        {"entity_id": i, "qid": 100 + i, "count": 1 + i % 20, "label": f"L{i}", "types": [5]} for i in range(entities)
    ]
    tables = {
        "pairs": [table.slice(0, half), table.slice(half)],
        "entities": [pa.Table.from_pylist(named, wikianchor.schemas.pairs.ENTITIES)],
    }
    configs: dict[str, Any] = {}
    for config, parts in tables.items():
        shards = []
        for number, part in enumerate(parts):
            name = f"data/{config}/train-{number:05d}-of-{len(parts):05d}.parquet"
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(part, directory / name, row_group_size=max(1, len(part) // 2))
            content = (directory / name).read_bytes()
            shards.append({"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()})
        configs[config] = {"rows": sum(map(len, parts)), "shards": shards}
    manifest = {
        "dataset": "pairs",
        "schema_version": wikianchor.schemas.pairs.VERSION,
        "configs": configs,
        "inputs": [],
    }
    (directory / "manifest.json").write_text(json.dumps(manifest))
    return directory
