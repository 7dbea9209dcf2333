"""Fixtures of `score`: an export of a small wiki in several shards, and a small model with random weights."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.stand_in import read_rows, run_pairs, small_wiki, write_entities, write_sentences
from wikianchor.pipelines.export import graph
from wikianchor.pipelines.export.options import ExportOptions

# Someone who only makes data has no torch, and nothing to test here.
collect_ignore_glob = ["*.py"] if importlib.util.find_spec("torch") is None else []


@pytest.fixture(scope="session")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs with three negatives in several shards, and an export of them, in a directory."""
    directory = tmp_path_factory.mktemp("score")
    pages, items = small_wiki()
    sentences = write_sentences(directory / "sentences", "enwiki", pages)
    entities = write_entities(directory / "entities", ["enwiki"], items)
    run_pairs(
        [sentences], entities, directory / "pairs", rows_per_shard=80, negatives=3, max_repeats=0, named_negatives=True
    )
    export(directory, "mention", max_per_positive=0)
    return directory


def export(directory: Path, kind: str, **options: Any) -> Path:
    """Export the pairs of a directory beside them."""
    config = ExportOptions(
        pairs=f"{directory}/pairs",
        output=f"{directory}/{kind}",
        kind=kind,
        **{"near_duplicates": True, **options},
    )
    graph.run(config.completed(), [])
    return directory / kind


@pytest.fixture(scope="session")
def model(datasets: Path) -> Path:
    """A BERT of one layer whose vocabulary is that of the export."""
    import torch
    from transformers import BertConfig, BertModel

    from wikianchor.trainer.models.new_encoder import learn_word_pieces

    directory = datasets / "model"
    tokenizer = learn_word_pieces([row["anchor"] for row in read_rows(datasets / "mention", "export")], 500)
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    BertModel(BertConfig(vocab_size=len(tokenizer), **shape)).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory
