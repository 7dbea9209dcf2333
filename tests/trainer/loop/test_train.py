"""Whole runs on a tiny model: what is learnt, what a resumed run repeats to the bit, and what stops a run."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainer.pairs import pair_rows, write_pairs
from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer import task
from wikianchor.trainer.config import make
from wikianchor.trainer.data.shards import open_pairs
from wikianchor.trainer.loop import train
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.loop.train import TrainingRun
from wikianchor.trainer.models import cpu


def ready(options: dict[str, Any], objective: str = "ease") -> TrainingRun:
    config = dataclasses.replace(make(objective, options, {}), precision=options.get("precision", "fp32"))
    return task.prepare(config, open_pairs(config.data), torch.device("cpu"), Log(config.output, False))


def log_of(options: dict[str, Any], event: str) -> list[dict[str, Any]]:
    lines = (Path(options["output"]) / "log.jsonl").read_text().splitlines()
    return [measured for measured in map(json.loads, lines) if measured["event"] == event]


def weights(run: TrainingRun) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in run.model.state_dict().items()}


@pytest.mark.parametrize(("objective", "term"), [("ease", "entity"), ("simcse", "simcse")])
def test_the_loss_falls(options: dict[str, Any], objective: str, term: str) -> None:
    task.run(make(objective, options | {"epochs": 4, "entity_temperature": 0.1, "entity_weight": 1.0}, {}))
    losses = [line[term] for line in log_of(options, "train")]
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"entity_optimizer": "adamw", "step_size": 32, "encode_size": 16},
        {"quota": "40", "pooler": "cls", "mlp": True, "encode_size": 8},
        {"packed": True},
    ],
)
def test_a_resumed_run_repeats_the_other_to_the_bit(
    options: dict[str, Any], more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of an epoch, and on into the next: losses, weights, table and moments."""
    if more == {"packed": True}:
        monkeypatch.setattr(cpu, "WIDE", 0)
        more = {}
    options |= {"epochs": 2, "max_steps": 28, "checkpoint_steps": 3, "eval_steps": 4, "held_out": 16, **more}
    whole = ready(options | {"output": options["output"] + "/whole"})
    losses: list[float] = []
    step = train.train_step

    def recorded(run: TrainingRun, batches: Iterator[Any], number: int) -> tuple[dict[str, Tensor], int]:
        measured, tokens = step(run, batches, number)
        losses.append(measured["loss"].item())
        return measured, tokens

    monkeypatch.setattr(train, "train_step", recorded)
    end = train.train(whole)
    expected, losses[:] = list(losses), []

    def dies(run: TrainingRun, batches: Iterator[Any], number: int) -> tuple[dict[str, Tensor], int]:
        if number == 5:
            raise KeyboardInterrupt
        return recorded(run, batches, number)

    monkeypatch.setattr(train, "train_step", dies)
    with pytest.raises(KeyboardInterrupt):
        train.train(ready(options))
    losses.clear()
    # Noise from elsewhere changes nothing: all draws follow from seed and step.
    torch.rand(17)
    monkeypatch.setattr(train, "train_step", recorded)
    resumed = ready(options)
    assert train.train(resumed) == end
    assert losses == expected[3:]
    assert all(torch.equal(tensor, weights(resumed)[name]) for name, tensor in weights(whole).items())
    assert str(whole.optimizers.state_dict()) == str(resumed.optimizers.state_dict())


def test_a_finished_run_is_not_trained_again(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    config = make("simcse", options | {"max_steps": 3}, {})
    task.run(config)
    monkeypatch.setattr(train, "train_step", None)
    task.run(config)


def test_all_processes_go_on_from_one_step(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine has a checkpoint on its own disk."""
    run = ready(options | {"max_steps": 2})
    monkeypatch.setattr(train.distributed, "largest", lambda value: value + 1)
    with pytest.raises(UsageError, match="process 0 finds another last checkpoint"):
        train.train(run)


def test_a_step_keeps_nothing_for_a_gpu_that_is_not_there(options: dict[str, Any]) -> None:
    run = ready(options | {"max_steps": 4})
    before = len(torch.cuda._queued_calls)
    train.train(run)
    assert len(torch.cuda._queued_calls) == before


def test_only_rows_of_the_batch_move(options: dict[str, Any]) -> None:
    run = ready(options | {"max_steps": 1, "softmax_size": 4})
    assert run.model.table is not None
    before = run.model.table.weight.detach().clone()
    batch = run.feed.batch(run.feed.order(0)[:4], 0)
    train.train(run)
    moved = set((run.model.table.weight != before).any(1).nonzero().flatten().tolist())
    ids = set(batch.entities.tolist()) | set(batch.negatives.flatten().tolist()) - {-1}
    assert moved
    assert moved <= ids


def test_nan_stops_at_its_step_and_keeps_the_checkpoint(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ready(options | {"checkpoint_steps": 4, "log_steps": 5, "epochs": 2})
    step = train.train_step

    def spoils(run: TrainingRun, batches: Iterator[Any], number: int) -> tuple[dict[str, Tensor], int]:
        if number == 6:
            with torch.no_grad():
                next(run.model.encoder.parameters()).fill_(torch.nan)
        return step(run, batches, number)

    monkeypatch.setattr(train, "train_step", spoils)
    with pytest.raises(InputError, match="the loss of step 6 is not a number"):
        train.train(run)
    monkeypatch.setattr(train, "train_step", step)
    assert [path.name for path in Path(run.config.checkpoints).iterdir()] == ["step-0000000004"]
    assert train.train(ready(options | {"checkpoint_steps": 4, "log_steps": 5, "epochs": 2})).step == 50


def test_without_dropout_there_are_no_two_views(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="two dropout views of a sentence are equal"):
        ready(options | {"dropout": 0.0})
    # With the entity loss alone nothing compares two views.
    assert ready(options | {"dropout": 0.0, "sentence_weight": 0.0}).model.views == 1


def test_views_differ_and_groups_change_no_vector(options: dict[str, Any]) -> None:
    run = ready(options)
    rows = run.feed.order(0)[:16]
    run.model.train()
    first, second = run.model.encode(run.feed.batch(rows, 0))
    assert ((first - second).abs().amax(1) > 1e-3).all()
    run.model.eval()
    measured = []
    for groups in (1, 3):
        run.feed.config = dataclasses.replace(run.config, length_groups=groups)
        measured.append(run.model.encode(run.feed.batch(rows, 0))[0])
    assert torch.allclose(*measured, atol=1e-6)


def test_both_views_are_a_mean(options: dict[str, Any]) -> None:
    """As `use_equal_loss` of the released code: without dropout and hard negatives the loss is that of one view."""
    run = ready(options | {"dropout": 0.0, "sentence_weight": 0.0, "negatives": 0})
    batch = run.feed.batch(run.feed.order(0)[:16], 0)
    single = float(run.model(batch)["entity"].detach())
    run.model.config = dataclasses.replace(run.model.config, both_views=True)
    assert run.model.views == 2
    assert float(run.model(batch)["entity"].detach()) == pytest.approx(single, rel=1e-5)


def test_sentences_of_a_softmax_and_of_a_step(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The released scripts: softmaxes over 8 sentences, 16 of them in a step."""
    config = make("ease", {"preset": "ease-bert-released", "data": "d", "output": "o"}, {})
    assert (config.softmax_size, config.step_size) == (8, 128)
    mine = {name: value for name, value in options.items() if name not in ("softmax_size", "model")}
    run = ready(mine | {"preset": "ease-bert-released", "model": options["model"], "max_steps": 1})
    seen = []
    forward = run.model.forward
    monkeypatch.setattr(
        run.model, "forward", lambda batch: seen.append((batch.softmaxes, len(batch.entities))) or forward(batch)
    )
    train.train(run)
    assert seen == [(16, 128)]


@pytest.mark.parametrize(
    "more",
    [
        {"both_views": True},
        {"entity_to_sentence": True},
        {"negatives": 0},
        {"negatives": 3, "hard_negative_weight": 1.0},
        {"projection": "none"},
        {"projection": "relu-linear", "entity_dim": 20},
        {"mask_duplicates": False},
        {"precision": "bf16"},
        {"gradient_checkpointing": True},
        {"language_temperature": 0.5},
        {"pooler": "avg_first_last"},
        {"pooler": "avg_top2", "mlp": True, "mlp_only_train": False},
        {"entity_device": "cpu"},
        {"sentence_weight": 0.0},
        {"entity_learning_rate": 0.1},
    ],
)
def test_every_option_trains(options: dict[str, Any], more: dict[str, Any]) -> None:
    run = ready(options | {"max_steps": 3} | more)
    before = weights(run)
    assert train.train(run).step == 3
    assert any(not torch.equal(tensor, before[name]) for name, tensor in weights(run).items())
    assert all(torch.isfinite(tensor).all() for tensor in weights(run).values())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"softmax_size": 512}, "are less than one step"),
        ({"max_length": 100}, "takes 64 tokens"),
        ({"projection": "none", "entity_dim": 20}, "20 wide"),
        ({"quota": "frwiki=3"}, "no rows of frwiki"),
        ({"step_size": 40}, "must be a multiple"),
        ({"held_out": 3}, "must fill a softmax"),
        ({"entity_temperature": 0.0}, "must be above 0"),
        ({"pooler": "sum"}, "no pooler 'sum'"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(options: dict[str, Any], more: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        ready(options | more)
    assert "\n" not in str(caught.value)


def test_sentences_with_several_links_share_a_mask(options: dict[str, Any], tmp_path: Path) -> None:
    """Two rows of one sentence tell neither the sentence from itself nor an entity of it from the other."""
    rows = pair_rows(2)
    assert rows[0]["sentence_id"] == rows[1]["sentence_id"]
    data = str(write_pairs(tmp_path / "two", rows))
    options |= {"data": data, "softmax_size": 2, "negatives": 0}
    masked = ready(options)
    measured = masked.model(masked.feed.batch(masked.feed.order(0), 0))
    assert measured["simcse"].item() == measured["entity"].item() == 0
    plain = ready(options | {"mask_duplicates": False})
    assert plain.model(plain.feed.batch(plain.feed.order(0), 0))["simcse"].item() > 0.1


def test_runs_of_one_seed_are_equal_and_of_two_are_not(options: dict[str, Any]) -> None:
    runs = [
        ready(options | {"max_steps": 3, "seed": seed, "output": f"{options['output']}/{number}"})
        for number, seed in enumerate((1, 1, 2))
    ]
    measured = []
    for run in runs:
        train.train(run)
        measured.append(weights(run))
    assert all(torch.equal(tensor, measured[1][name]) for name, tensor in measured[0].items())
    assert any(not torch.equal(tensor, measured[2][name]) for name, tensor in measured[0].items())


def test_the_best_weights_become_the_model(options: dict[str, Any]) -> None:
    """With a learning rate that destroys the model, the first score is the best."""
    options |= {"held_out": 32, "eval_steps": 5, "epochs": 2}
    directory = task.run(make("simcse", options, {}))
    scores = {line["step"]: line["score"] for line in log_of(options, "dev")}
    record = json.loads((Path(directory) / "run.json").read_text())
    assert record["state"]["best_step"] == max(scores, key=lambda step: scores[step])
    assert record["state"]["best"] == max(scores.values())
    assert "best by dev score" in record["weights"]
