"""A dataset `mewsc16` in all sixteen languages, of made-up words, and a model that knows them."""

import hashlib
import importlib.util
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.trainer.conftest import tiny_model as tiny_model
from tests.trainer.pairs import WORDS
from wikianchor.schemas.mewsc16 import LANGUAGES, SCHEMA, TOPICS, VERSION

# mteb and what it needs are an extra; on Python 3.10 there are only older versions of it.
MISSING = sys.version_info < (3, 11) or any(importlib.util.find_spec(name) is None for name in ("torch", "mteb"))
collect_ignore_glob = ["*.py"] if MISSING else []
# Texts of each class in a language.
SIZES = (130, 30, 5)


def news_rows(language: str, sizes: Sequence[int] = SIZES) -> list[dict[str, Any]]:
    """Rows of which each class has words of its own; classes take turns while they last."""
    rows: list[dict[str, Any]] = []
    for number in range(max(sizes)):
        for label, size in enumerate(sizes):
            if number >= size:
                continue
            words_of_label = WORDS[5 * label : 5 * label + 5]
            draw = int.from_bytes(hashlib.sha256(f"{language} {label} {number}".encode()).digest()[:8], "big")
            words = [words_of_label[draw // 5**position % 5] for position in range(12)]
            row = dict.fromkeys(SCHEMA.names, "") | {
                "language": language,
                "page_id": len(rows) + 1,
                "rev_id": 1,
                "sentence": " ".join(words),
                "label": TOPICS[label],
                "topics": [],
                "routes": [],
            }
            rows.append(row)
    return rows


def write_mewsc16(folder: Path, languages: Mapping[str, Sequence[int]], mode: str = "clean") -> Path:
    """Write a dataset as `wikianchor mewsc16` lays it out, in two row groups for each language."""
    configs: dict[str, Any] = {}
    for language, sizes in languages.items():
        rows = news_rows(language, sizes)
        name = f"data/{language}/train-00000-of-00001.parquet"
        (folder / name).parent.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), folder / name, row_group_size=max(1, len(rows) // 2))
        content = (folder / name).read_bytes()
        shard = {"path": name, "rows": len(rows), "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        configs[language] = {"rows": len(rows), "shards": [shard]}
    manifest = {"dataset": "mewsc16", "schema_version": VERSION, "configs": configs, "options": {"mode": mode}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture(scope="session")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All sixteen languages; Japanese has more texts than a balanced subset takes."""
    sizes = dict.fromkeys(LANGUAGES, (12, 8, 4))
    return write_mewsc16(tmp_path_factory.mktemp("news") / "mewsc16", {**sizes, "ja": SIZES})


@pytest.fixture(scope="session")
def encoder(tiny_model: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(tiny_model), device="cpu")


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw few texts: mteb draws 16,384 for each of ten runs of k-means."""
    from wikianchor.mteb import MewsC16Clustering

    monkeypatch.setattr(MewsC16Clustering, "max_documents_per_cluster", 200)
    monkeypatch.setattr(MewsC16Clustering, "n_clusters", 3)
