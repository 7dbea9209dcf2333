"""SDJC: its loss against its equation, its rows, and runs of one and two stages."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import wikianchor.schemas.negatives
from tests.trainer.data.test_shards import loose
from tests.trainer.models.test_losses import cosine, draw
from tests.trainer.texts import word_texts, write_word_negatives
from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.config import make
from wikianchor.trainer.data.texts import open_texts, read_rows
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.losses import entity_loss, mixed_negatives
from wikianchor.trainer.sdjc.objective import TripletFeed, read_triplets
from wikianchor.trainer.task import main, run


def by_hand(v: Any, positive: Any, hard: Any, tau: float, alpha: float, mixed: Any = None) -> float:
    """Equation 1, with the mixed negative of MixCSE where there is one."""
    rows, columns, others = (some.double().tolist() for some in (v, positive, hard))
    total = 0.0
    for i, row in enumerate(rows):
        below = 0.0
        for j, column in enumerate(columns):
            below += math.exp(cosine(row, column) / tau)
            for vector in others[j]:
                below += (alpha if i == j else 1.0) * math.exp(cosine(row, vector) / tau)
        if mixed is not None:
            below += math.exp(cosine(row, mixed[i].tolist()) / tau)
        total -= math.log(math.exp(cosine(row, columns[i]) / tau) / below)
    return total / len(rows)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("alpha", [1.0, 1.105, 2.7])
def test_the_loss_is_equation_1(k: int, alpha: float) -> None:
    v, positive, hard = draw(5, 8, seed=1), draw(5, 8, seed=2), draw(5, k, 8, seed=3)
    results = entity_loss(v, positive, hard, 0.06, math.log(alpha))
    assert float(results) == pytest.approx(by_hand(v, positive, hard, 0.06, alpha), rel=1e-5)


def test_mixed_negatives_are_mixcse() -> None:
    v, positive, hard = draw(4, 6, seed=1), draw(4, 6, seed=2), draw(4, 1, 6, seed=3)
    mixed = mixed_negatives(positive, positive.roll(1, 0), 0.2)
    unit, other = positive / positive.norm(dim=-1, keepdim=True), positive.roll(1, 0)
    expected = 0.2 * unit + 0.8 * other / other.norm(dim=-1, keepdim=True)
    assert torch.allclose(mixed, expected / expected.norm(dim=-1, keepdim=True), atol=1e-6)
    results = entity_loss(v, positive, hard, 0.1, 0.0, mixed=mixed)
    assert float(results) == pytest.approx(by_hand(v, positive, hard, 0.1, 1.0, mixed), rel=1e-5)
    positive.requires_grad_()
    assert not mixed_negatives(positive, positive.roll(1, 0), 0.2).requires_grad


@pytest.mark.parametrize(
    ("sentences", "said"),
    [([None, "ka"], "text is null in row 2"), (["ka", "lo", None], "negatives holds a null in row 2")],
)
def test_a_null_is_named(tmp_path: Path, sentences: list[Any], said: str) -> None:
    texts: list[list[Any]] = [*word_texts(10)]
    texts[7] = sentences
    directory = write_word_negatives(tmp_path, texts, loose(wikianchor.schemas.negatives.SCHEMA))
    with pytest.raises(InputError) as caught:
        list(read_rows(open_texts(str(directory))))
    path = f"{directory}/data/negatives/train-00001-of-00002.parquet"
    assert str(caught.value) == f"{path}: {said} (counted from 0): build it again"


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    schema = wikianchor.schemas.negatives.SCHEMA
    directory = write_word_negatives(tmp_path, word_texts(10), schema.remove(schema.get_field_index("negatives")))
    with pytest.raises(InputError, match="has no column negatives: build it again"):
        open_texts(str(directory))


@pytest.fixture(scope="module")
def negatives_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_word_negatives(tmp_path_factory.mktemp("negatives"), word_texts(120))


@pytest.fixture
def flags(negatives_dir: Path, tiny_model: Path, tmp_path: Path) -> dict[str, Any]:
    return {
        **{"data": str(negatives_dir), "model": str(tiny_model), "output": str(tmp_path / "out"), "device": "cpu"},
        **{"softmax_size": 16, "learning_rate": 1e-3, "log_steps": 2, "max_length": 24},
    }


def losses(directory: Path) -> list[float]:
    lines = [json.loads(line) for line in (directory / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if line["event"] == "train"]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"negatives": 2},
        {"negatives": 0},
        {"negatives": 0, "mixed_negatives": 0.2},
        {"pooler": "cls", "mlp": True, "export_pooler": "avg"},
        {"no": 1, "mask_duplicates": False, "step_size": 32},
    ],
)
def test_it_learns_and_opens_in_sentence_transformers_form(
    flags: dict[str, Any], more: dict[str, Any], tmp_path: Path
) -> None:
    more = {name: value for name, value in more.items() if name != "no"}
    directory = run(make("sdjc", {**flags, "epochs": 8, **more}, {}))
    results = losses(tmp_path / "out")
    # A step's loss is that of a few sentences and of their dropout: a quarter of all says more.
    quarter = len(results) // 4
    assert sum(results[-quarter:]) < sum(results[:quarter])
    encoder = Encoder.load(directory)
    assert encoder.pooler == "avg"
    assert encoder.encode(["kana losi"]).shape == (1, 32)
    assert "sdjc" in (Path(directory) / "README.md").read_text()


def test_rows_of_all_kinds_of_sources(negatives_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "nli.csv").write_text("sent0,sent1,hard_neg\nkana,lona,mina\n")
    (tmp_path / "pairs.tsv").write_text("sent0\tsent1\nkana\tlona\n")
    (tmp_path / "plain.jsonl").write_text('{"sent0": "kana"}\n')
    names = ",".join(str(tmp_path / name) for name in ("nli.csv", "pairs.tsv", "plain.jsonl"))
    rows = list(read_rows(open_texts(f"{negatives_dir},{names}")))
    assert len(rows) == 123
    assert [tuple(row) for row in rows[-3:]] == [("kana", "lona", ["mina"]), ("kana", "lona", []), ("kana", "", [])]
    assert rows[0].negatives


def test_a_row_takes_its_next_negative_in_each_epoch(flags: dict[str, Any], tiny_model: Path) -> None:
    config = make("sdjc", {**flags, "negatives": 1}, {})
    encoder = Encoder.load(str(tiny_model))
    triplets = read_triplets(open_texts(config.data), encoder, 24)
    feed = TripletFeed(triplets, config, torch.device("cpu"))
    rows = feed.order(0)[:16]
    several = (triplets.negatives[rows] >= 0).sum(1) > 1
    first, second = (feed.batch(rows, epoch).negatives[:, 0].numpy() for epoch in (0, 1))
    assert ((first != second) == several).all()
    assert several.any()


def test_a_row_of_each_negative(flags: dict[str, Any], tiny_model: Path) -> None:
    """The release: a row is a sentence and one of its first negatives."""
    encoder, texts = Encoder.load(str(tiny_model)), open_texts(flags["data"])
    whole, triplets = read_triplets(texts, encoder, 24), read_triplets(texts, encoder, 24, 2)
    expected = [
        (anchor, negative)
        for anchor, negatives in zip(whole.anchors.tolist(), whole.negatives.tolist(), strict=True)
        for negative in [number for number in negatives if number >= 0][:2] or [-1]
    ]

    def texts_of(data: Any, pairs: Any) -> list[Any]:
        """Tokens of the sentences: their numbers differ where fewer are read."""
        parts = [data.tokens[start:end].tolist() for start, end in zip(data.starts, data.starts[1:], strict=False)]
        return [(parts[anchor], parts[negative] if negative >= 0 else None) for anchor, negative in pairs]

    results = list(zip(triplets.anchors.tolist(), triplets.negatives[:, 0].tolist(), strict=True))
    assert texts_of(triplets, results) == texts_of(whole, expected)
    assert len(triplets) > len(whole)
    config = make("sdjc", {**flags, "negatives": 2, "row_per_negative": True}, {})
    feed = TripletFeed(triplets, config, torch.device("cpu"))
    assert feed.batch(feed.order(0)[:16], 0).negatives.shape == (16, 1)
    directory = run(dataclasses.replace(config, max_steps=2))
    assert json.loads((Path(directory) / "run.json").read_text())["config"]["row_per_negative"]


def test_all_negatives_are_used_in_as_many_epochs(flags: dict[str, Any], tiny_model: Path) -> None:
    config = make("sdjc", {**flags, "negatives": 1}, {})
    triplets = read_triplets(open_texts(config.data), Encoder.load(str(tiny_model)), 24)
    feed = TripletFeed(triplets, config, torch.device("cpu"))
    rows = feed.order(0)[:16]
    epochs = range(triplets.negatives.shape[1])
    used = np.stack([feed.batch(rows, epoch).negatives[:, 0].numpy() for epoch in epochs])
    for row, column in zip(rows, used.T, strict=True):
        assert set(column.tolist()) - {-1} == set(triplets.negatives[row].tolist()) - {-1}


def test_a_batch_holds_its_sentences_in_their_places(flags: dict[str, Any], tiny_model: Path) -> None:
    config = make("sdjc", {**flags, "negatives": 2, "length_groups": 3}, {})
    encoder = Encoder.load(str(tiny_model))
    triplets = read_triplets(open_texts(config.data), encoder, 24)
    batch = TripletFeed(triplets, config, torch.device("cpu")).batch(torch.arange(8).numpy(), 0)
    listed = [row[kept].tolist() for ids, mask in batch.groups for row, kept in zip(ids, mask, strict=True)]
    results = [listed[position] for position in batch.restore.tolist()]
    sentence = [triplets.tokens[a:b].tolist() for a, b in zip(triplets.starts, triplets.starts[1:], strict=False)]
    assert results[:8] == [sentence[number] for number in batch.anchors]
    assert results[8:16] == [sentence[number] for number in batch.positives]
    flat = torch.where(batch.negatives < 0, batch.anchors[:, None], batch.negatives).flatten()
    assert results[16:] == [sentence[number] for number in flat]


def test_a_second_stage_begins_with_the_model_of_the_first(flags: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "nli.csv").write_text("sent0,sent1,hard_neg\n" + "kana losi,kana,miru\nlona,losi mina,teta\n" * 20)
    first = run(make("sdjc", flags, {}))
    more = {"model": first, "data": str(tmp_path / "nli.csv"), "output": f"{flags['output']}/then", "softmax_size": 4}
    second = run(make("sdjc", {**flags, **more}, {}))
    record = json.loads((Path(second).parent / "run.json").read_text())
    assert (record["model"], record["softmax_size"], record["max_length"]) == (first, 4, 24)
    assert Encoder.load(second).pooler == Encoder.load(first).pooler


def test_resuming_gives_the_same_weights(flags: dict[str, Any], tmp_path: Path) -> None:
    options = {**flags, "epochs": 2, "checkpoint_steps": 3, "keep": "last"}
    whole = run(make("sdjc", {**options, "output": str(tmp_path / "whole")}, {}))
    config = make("sdjc", options, {})
    run(config)
    again = run(config)
    encoder, other = Encoder.load(whole), Encoder.load(again)
    for first, second in zip(encoder.parameters(), other.parameters(), strict=True):
        assert torch.equal(first, second)


def test_held_out_loss_is_a_dev_score(flags: dict[str, Any], tmp_path: Path) -> None:
    directory = run(make("sdjc", {**flags, "held_out": 32, "eval_steps": 2}, {}))
    assert json.loads((Path(directory) / "run.json").read_text())["state"]["best"] is not None


def test_a_model_without_dropout_is_refused(flags: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="dropout"):
        run(make("sdjc", {**flags, "dropout": 0.0}, {}))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "text\nx\n", "has no sent0"),
        ("a.jsonl", "[1]\n", "line 1 is no object"),
        ("a.jsonl", "{\n", "line 1 is no object"),
        ("a.jsonl", "[" * 100_000, "line 1 is no object"),
        ("a.csv", "", "holds no rows"),
    ],
)
def test_one_line_for_files_that_are_wrong(
    name: str, content: str, says: str, flags: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=says):
        list(read_rows(open_texts(str(tmp_path / name))))
    command = [f"--{flag}={value}" for flag, value in {**flags, "data": str(tmp_path / name)}.items()]
    assert main(["sdjc", *command]) == 1
    assert says in capsys.readouterr().err.splitlines()[-1]


def test_pairs_and_missing_datasets_are_refused(pairs_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a dataset of pairs"):
        open_texts(str(pairs_dir))
    with pytest.raises(InputError, match="no finished dataset"):
        open_texts(str(tmp_path))
    with pytest.raises(InputError, match="no such file"):
        open_texts(str(tmp_path / "none.csv"))
