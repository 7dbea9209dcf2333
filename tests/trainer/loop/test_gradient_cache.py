"""One step has one loss and one gradient, however its sentences are encoded: at once, in passes, or group by group."""

import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainer.loop.test_train import ready
from wikianchor.trainer.loop.gradient_cache import backward
from wikianchor.trainer.loop.train import TrainingRun, seed_dropout
from wikianchor.trainer.models import model as models

EASE: dict[str, Any] = {
    "step_size": 32, "softmax_size": 8, "negatives": 2, "hard_negative_weight": 1.0, "entity_to_sentence": True
}  # fmt: skip


def gradients(run: TrainingRun, dropout: bool = False) -> tuple[dict[str, float], dict[str, Tensor]]:
    """Return losses and gradients of a run's first step, in float64."""
    run.model.double().train(dropout)
    run.model.zero_grad()
    means: dict[str, float] = {}
    for number, batch in enumerate(run.feed.step_batches(run.feed.order(0)[: run.config.step_size], 0)):
        seed_dropout(number, run.device)
        for name, value in backward(run.model, batch, 1 / run.feed.passes).items():
            means[name] = means.get(name, 0.0) + float(value.detach()) / run.feed.passes
    results = {name: weight.grad for name, weight in run.model.named_parameters() if weight.grad is not None}
    return means, {name: grad.to_dense() if grad.is_sparse else grad.clone() for name, grad in results.items()}


def assert_equal(whole: tuple[Any, Any], other: tuple[Any, Any]) -> None:
    assert whole[0] == pytest.approx(other[0], rel=1e-12)
    assert whole[1].keys() == other[1].keys()
    assert len(whole[1]) > 10
    for name, gradient in whole[1].items():
        assert torch.allclose(gradient, other[1][name], rtol=1e-9, atol=1e-13), name


@pytest.mark.parametrize("more", [{}, {"both_views": True, "mask_duplicates": False}, {"entity_optimizer": "adamw"}])
def test_all_softmaxes_of_a_step_at_once_are_the_loop_over_them(options: dict[str, Any], more: dict[str, Any]) -> None:
    at_once, loop = (ready(options | EASE | more | {"encode_size": size}) for size in (32, 8))
    assert (at_once.feed.passes, loop.feed.passes) == (1, 4)
    assert_equal(gradients(at_once), gradients(loop))


@pytest.mark.parametrize("length_groups", [1, 3])
def test_a_cached_step_is_the_step(options: dict[str, Any], length_groups: int) -> None:
    options |= EASE | {"softmax_size": 32, "length_groups": length_groups}
    whole, cached = (ready(options | {"encode_size": size}) for size in (32, 5))
    (batch,) = cached.feed.step_batches(cached.feed.order(0)[:32], 0)
    assert batch.cached
    assert max(len(ids) for ids, _ in batch.groups) <= 5
    assert_equal(gradients(whole), gradients(cached))


def test_a_cached_step_draws_its_dropout_again(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same groups in one graph and one after the other."""
    cached = ready(options | EASE | {"softmax_size": 32, "encode_size": 5, "dropout": 0.3})
    whole = gradients(cached, dropout=True)
    batches = cached.feed.step_batches

    def in_one_graph(*arguments: Any) -> Any:
        return (dataclasses.replace(batch, cached=False) for batch in batches(*arguments))

    monkeypatch.setattr(cached.feed, "step_batches", in_one_graph)
    other = gradients(cached, dropout=True)
    assert_equal(whole, other)
    assert whole[0]["simcse"] != pytest.approx(gradients(cached)[0]["simcse"], rel=1e-3)


@pytest.mark.parametrize("softmax", [16, 32])
def test_logits_in_blocks_are_the_same_loss(
    options: dict[str, Any], softmax: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ready(options | EASE | {"softmax_size": softmax})
    whole = gradients(run)
    widest: list[int] = []
    real = models.entity_loss

    def seen(s: Tensor, *others: Any, **named: Any) -> Tensor:
        widest.append(s.shape[-2])
        return real(s, *others, **named)

    monkeypatch.setattr(models, "entity_loss", seen)
    # 32 columns and 64 hard negatives for each row, so blocks of 5 rows and the rest.
    monkeypatch.setattr(models, "MOST_LOGITS", 5 * 96)
    assert_equal(whole, gradients(run))
    assert set(widest) == {5, softmax % 5 or 5}


def test_sdjc_is_the_same_in_passes_and_groups(
    options: dict[str, Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.trainer.texts import word_texts, write_word_negatives
    from wikianchor.trainer import task
    from wikianchor.trainer.config import make
    from wikianchor.trainer.data.texts import open_texts
    from wikianchor.trainer.loop.log import Log

    data = str(write_word_negatives(tmp_path, word_texts(40)))
    names = ("model", "output", "device", "max_length")
    flags = {name: options[name] for name in names} | {"data": data, "softmax_size": 8, "step_size": 16}
    results = []
    for more in ({"encode_size": 100}, {"encode_size": 24}, {"encode_size": 7}):
        config = make("sdjc", {**flags, "mixed_negatives": 0.2, **more}, {})
        run = task.prepare_sdjc(config, open_texts(data), torch.device("cpu"), Log(config.output, False))
        results.append((run.feed.passes, gradients(run)))
    assert [passes for passes, _ in results] == [1, 2, 2]
    assert_equal(results[0][1], results[1][1])
    assert_equal(results[0][1], results[2][1])
