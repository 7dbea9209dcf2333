"""Tokenised once, mapped, and gathered as the tokenizer would have padded."""

from pathlib import Path

import numpy as np
import pytest

from wikianchor.io.errors import InputError
from wikianchor.trainer.data.shards import open_pairs, read_batches
from wikianchor.trainer.data.tokens import cache_key, open_tokens
from wikianchor.trainer.models.encoder import Encoder


def test_rows_are_what_the_tokenizer_says(pairs_dir: Path, tiny_model: Path, tmp_path: Path) -> None:
    pairs, encoder = open_pairs(str(pairs_dir)), Encoder.load(str(tiny_model))
    tokens = open_tokens(pairs, encoder, 12, str(tmp_path))
    rows = [row for batch in read_batches(pairs) for row in batch.to_pylist()]
    order = np.random.default_rng(0).permutation(400)
    longest = int(tokens.lengths(order).max())
    assert longest == 12
    ids, mask = tokens.gather(order, longest)
    expected = encoder.tokenizer(
        [rows[row]["text"] for row in order], truncation=True, max_length=12, padding="max_length", return_tensors="np"
    )
    assert np.array_equal(ids, expected["input_ids"])
    assert np.array_equal(mask, expected["attention_mask"])
    for row in order[:50]:
        assert tokens.entities[row] == rows[row]["entity_id"]
        assert tokens.sentences[row] == rows[row]["sentence_id"]
        assert tokens.names[tokens.wikis[row]] == rows[row]["wiki"]
        assert [i for i in tokens.negatives[row] if i >= 0] == rows[row]["hard_negative_ids"]


def test_the_second_run_finds_them_done(
    pairs_dir: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, encoder = open_pairs(str(pairs_dir)), Encoder.load(str(tiny_model))
    open_tokens(pairs, encoder, 12, str(tmp_path))
    monkeypatch.setattr(Encoder, "tokenize", None)
    assert len(open_tokens(pairs, encoder, 12, str(tmp_path))) == 400
    assert [path.name for path in tmp_path.iterdir()] == [cache_key(pairs, encoder, 12)]


def test_another_length_or_tokenizer_is_another_cache(pairs_dir: Path, tiny_model: Path) -> None:
    pairs, encoder, other = open_pairs(str(pairs_dir)), Encoder.load(str(tiny_model)), Encoder.load(str(tiny_model))
    other.tokenizer.add_tokens(["kana kapo"])
    assert len({cache_key(pairs, encoder, 12), cache_key(pairs, encoder, 13), cache_key(pairs, other, 12)}) == 3


def test_a_broken_cache_is_named(pairs_dir: Path, tiny_model: Path, tmp_path: Path) -> None:
    pairs, encoder = open_pairs(str(pairs_dir)), Encoder.load(str(tiny_model))
    open_tokens(pairs, encoder, 12, str(tmp_path))
    (tmp_path / cache_key(pairs, encoder, 12) / "starts.npy").write_bytes(b"")
    with pytest.raises(InputError, match="a broken cache"):
        open_tokens(pairs, encoder, 12, str(tmp_path))
