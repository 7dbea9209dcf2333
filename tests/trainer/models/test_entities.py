"""The entity table: how it moves, and where its vectors begin."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from tests.trainer.loop.test_train import ready
from tests.trainer.pairs import pair_rows, write_pairs
from wikianchor.io.errors import InputError
from wikianchor.trainer.data.shards import open_pairs
from wikianchor.trainer.entity_vectors import skip_gram
from wikianchor.trainer.entity_vectors.initial_vectors import main
from wikianchor.trainer.entity_vectors.skip_gram import Sequences
from wikianchor.trainer.loop.row_adam import RowAdam
from wikianchor.trainer.models.entities import EntityTable, random_vectors, read_vectors
from wikianchor.trainer.models.vector_files import BrokenLines, read_named_vectors

VECTOR = np.arange(4, dtype=np.float32)


@pytest.mark.parametrize("sparse", [True, False])
def test_row_adam_is_torch_s(sparse: bool) -> None:
    """SparseAdam's on batches of a few rows, some of them twice; Adam's where every row is in each batch."""
    draw = torch.Generator().manual_seed(0)
    target = torch.randn(30, 4, generator=draw)
    tables = [EntityTable(random_vectors(30, 4, 1)), EntityTable(random_vectors(30, 4, 1), sparse)]
    theirs = torch.optim.SparseAdam if sparse else torch.optim.Adam
    optimizers = [RowAdam([tables[0].weight], 0.01), theirs([tables[1].weight], lr=0.01)]
    for _ in range(50):
        rows = torch.randint(30, (7,), generator=draw) if sparse else torch.arange(30)
        for table, optimizer in zip(tables, optimizers, strict=True):
            ((table(rows) - target[rows]) ** 2).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    assert torch.allclose(tables[0].weight, tables[1].weight, atol=1e-6)
    ours, others = (optimizer.state[table.weight] for optimizer, table in zip(optimizers, tables, strict=True))
    assert ours.keys() == others.keys()
    assert all(torch.allclose(ours[name], others[name], atol=1e-6) for name in ("exp_avg", "exp_avg_sq"))
    # A run that SparseAdam began goes on.
    optimizers[0].load_state_dict({**optimizers[0].state_dict(), "state": optimizers[1].state_dict()["state"]})


def test_repeated_ids_add_up() -> None:
    table = EntityTable(random_vectors(5, 3, 1))
    table(torch.tensor([[1, 1], [3, 1]])).sum().backward()
    gradient = table.weight.grad
    assert gradient is not None
    assert gradient.is_sparse
    assert gradient.to_dense()[:, 0].tolist() == [0, 3, 0, 1, 0]


def test_ids_are_those_of_the_dataset(options: dict[str, Any]) -> None:
    """No vocabulary is made by the way: the same rows have the same ids in each run, whatever Python's hash seed."""
    first, other = ready(options), ready(options | {"output": options["output"] + "2"})
    rows = np.arange(50)
    assert first.feed.batch(rows, 0).entities.tolist() == other.feed.batch(rows, 0).entities.tolist()
    assert first.model.table is not None
    assert first.model.table.weight.shape == (24, 32)
    assert torch.equal(first.model.table.weight, random_vectors(24, 32, 42))


def test_read_text_of_wikipedia2vec(tmp_path: Path) -> None:
    path = tmp_path / "w2v.txt"
    path.write_text("the\t1 2 3 4\nENTITY/New York\t0 1 2 3\nbroken\t1 2\nENTITY/Bad\t1 x 3 4\nENTITY/A b\t4 3 2 1\n")
    broken = BrokenLines()
    actual = dict(read_named_vectors(str(path), broken))
    # The word before the first entity cannot be told from a title yet.
    assert list(actual) == ["the", "New York", "A b"]
    assert np.array_equal(actual["New York"], VECTOR)
    assert broken.lines == 2


def test_read_word2vec_and_packed(tmp_path: Path) -> None:
    import bz2
    import gzip

    text = b"3 4\nthe 1 2 3 4\nENTITY/New_York 0 1 2 3\nENTITY/a_(b) 1 1 1 1\n"
    (tmp_path / "a.vec").write_bytes(text)
    (tmp_path / "a.txt.bz2").write_bytes(bz2.compress(text))
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text))
    for name in ("a.vec", "a.txt.bz2", "a.txt.gz"):
        actual = dict(read_named_vectors(str(tmp_path / name), BrokenLines()))
        assert np.array_equal(actual["New York"], VECTOR)
        assert "a (b)" in actual


def test_read_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.stack([VECTOR, VECTOR + 1]))
    (tmp_path / "a.titles.txt").write_text("X y\nZ\n")
    actual = dict(read_named_vectors(str(tmp_path / "a.npy"), BrokenLines()))
    assert np.array_equal(actual["Z"], VECTOR + 1)
    save_file({"vectors": np.stack([VECTOR]), "qids": np.array([7])}, tmp_path / "b.safetensors")
    assert [name for name, _ in read_named_vectors(str(tmp_path / "b.safetensors"), BrokenLines())] == [7]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.pkl", b"x", "to read a pickle is to run what is in it"),
        ("a.joblib", b"x", "to read a pickle"),
        ("a.csv", b"x", "not .txt, .vec, .npy or .safetensors"),
        ("a.npy", b"x", "titles.txt"),
        ("a.safetensors", b"x", "no `vectors` in it"),
        ("a.txt.gz", b"x", "a.txt.gz"),
        (None, b"", "no such file"),
    ],
)
def test_files_that_are_not_read(tmp_path: Path, name: str | None, content: bytes, said: str) -> None:
    path = tmp_path / (name or "none.txt")
    if name:
        path.write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        list(read_named_vectors(str(path), BrokenLines()))
    assert "\n" not in str(caught.value)


def test_from_vectors_to_a_run(options: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"ENTITY/L{i}\t{i} 1 2 3" for i in range(0, 24, 2)] + ["ENTITY/L0\t9 9 9 9", "ENTITY/Elsewhere\t1 1 1 1"]
    (tmp_path / "w.txt").write_text("\n".join(lines))
    out = str(tmp_path / "init.safetensors")
    assert main([f"--data={options['data']}", f"--vectors={tmp_path / 'w.txt'}", f"--output={out}"]) == 0
    report = capsys.readouterr().out
    assert "| all | 24 | 12 | 50.0% |" in report
    actual = load_file(out)
    assert actual["known"].tolist() == [True, False] * 12
    assert actual["vectors"][4].tolist() == [4, 1, 2, 3]
    run = ready(options | {"entity_vectors": out})
    assert run.model.table is not None
    assert run.model.table.weight[4].tolist() == [4, 1, 2, 3]
    assert run.model.table.weight[5].abs().max() <= 0.05


def test_from_labels(options: dict[str, Any], tmp_path: Path) -> None:
    out = str(tmp_path / "init.safetensors")
    arguments = [f"--data={options['data']}", f"--encode={options['model']}", f"--output={out}", "--dtype=float16"]
    assert main(arguments) == 0
    assert load_file(out)["vectors"].shape == (24, 32)
    assert load_file(out)["known"].all()


def test_by_uri(options: dict[str, Any], tmp_path: Path) -> None:
    """As a bucket would have it: written and read through pyarrow's filesystems."""
    target = f"file://{tmp_path}/init.safetensors"
    arguments = [f"--data={options['data']}", f"--encode={options['model']}", f"--output={target}"]
    assert main(arguments) == 0
    qids = load_file(tmp_path / "init.safetensors")["qids"]
    assert read_vectors(target, 24, 0, qids, 1)[1] == 24
    with pytest.raises(InputError, match="nothing"):
        read_vectors(f"file://{tmp_path}/nothing", 24, 0, qids, 1)


def test_vectors_that_do_not_fit(tmp_path: Path) -> None:
    path = str(tmp_path / "v.safetensors")
    qids = np.array([1, 2, 3])
    save_file({"vectors": np.ones((3, 4), np.float32), "known": np.ones(3, bool), "qids": qids}, path)
    assert read_vectors(path, 3, 0, qids, 1)[1] == 3
    with pytest.raises(InputError, match="width 4, and --entity_dim=5"):
        read_vectors(path, 3, 5, qids, 1)
    with pytest.raises(InputError, match="not those of the data"):
        read_vectors(path, 3, 4, qids + 1, 1)
    with pytest.raises(InputError, match="not those of the data"):
        read_vectors(path, 4, 4, np.arange(4), 1)
    Path(path).write_bytes(b"no")
    with pytest.raises(InputError, match="not a file of"):
        read_vectors(path, 3, 4, qids, 1)


def test_vectors_are_trained_where_none_are_given(pairs_dir: Path, tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    outputs = [tmp_path / f"{number}.safetensors" for number in (1, 2)]
    for output in outputs:
        assert main([f"--data={pairs_dir}", f"--output={output}"]) == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    # The same rows are not trained on twice.
    written = outputs[0].stat().st_mtime_ns
    assert main([f"--data={pairs_dir}", f"--output={outputs[0]}"]) == 0
    assert outputs[0].stat().st_mtime_ns == written
    vectors = load_file(outputs[0])
    assert vectors["vectors"].shape == (24, 768)
    assert vectors["known"].all()
    # Sentences of an entity have the words of its topic, which is its number modulo 6.
    units = vectors["vectors"] / np.linalg.norm(vectors["vectors"], axis=1, keepdims=True)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -1)
    assert np.mean(cosines.argmax(axis=1) % 6 == np.arange(24) % 6) > 0.9


def test_sequences_of_words_and_entities(tmp_path: Path) -> None:
    row = pair_rows(1)[0]
    rows = [
        row | {"text": "Über Berlin 3 東京", "mention_start": 5, "entity_id": 7, "page_id": 1},
        row | {"text": "a b", "mention_start": 0, "entity_id": 8, "page_id": 1},
        row | {"text": "c", "mention_start": 0, "entity_id": 9, "page_id": 1, "wiki": "frwiki"},
    ]
    pairs = open_pairs(str(write_pairs(tmp_path / "pairs", rows)))
    expected = [["über", "\x007", "berlin", "3", "東", "京"], ["\x008", "a", "b"], ["\x009", "c"], ["\x007", "\x008"]]
    assert [*Sequences(pairs)] == expected


def test_of_many_rows_a_sample_is_read(pairs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = open_pairs(str(pairs_dir))
    every = [" ".join(tokens) for tokens in Sequences(pairs)]
    monkeypatch.setattr(skip_gram, "VISITS", 200)
    # The ids of these sentences are numbers up to 400.
    monkeypatch.setattr(skip_gram, "_HASHES", 400)
    sample = [" ".join(tokens) for tokens in Sequences(pairs)]
    assert len(every) * 0.2 < len(sample) < len(every) * 0.9
    assert [*Sequences(pairs)] == [*Sequences(pairs)]
