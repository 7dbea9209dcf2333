"""Each loss against its equation, written as loops over numbers, and what must not change it."""

import math

import pytest
import torch
from torch import Tensor

from wikianchor.trainer.choices import PROJECTIONS
from wikianchor.trainer.models.losses import (
    entity_loss,
    projection,
    same_ids,
    simcse_loss,
)


def cosine(a: list[float], b: list[float]) -> float:
    product = sum(x * y for x, y in zip(a, b, strict=True))
    return product / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))


def simcse_by_hand(z: Tensor, other: Tensor, tau: float, sentences: list[int] | None = None) -> float:
    """Equation 3."""
    rows, columns = z.double().tolist(), other.double().tolist()
    total = 0.0
    for i, row in enumerate(rows):
        below = 0.0
        for j, column in enumerate(columns):
            if sentences is None or i == j or sentences[i] != sentences[j]:
                below += math.exp(cosine(row, column) / tau)
        total -= math.log(math.exp(cosine(row, columns[i]) / tau) / below)
    return total / len(rows)


def entity_by_hand(
    s: Tensor,
    e: Tensor,
    negative: Tensor,
    tau: float,
    weight: float,
    ids: list[int],
    negative_ids: list[list[int]],
    mask: bool,
) -> float:
    """Equation 2, with the released code's weight of the own negatives, and our masks."""
    rows, columns, hard = s.double().tolist(), e.double().tolist(), negative.double().tolist()
    total = 0.0
    for i, row in enumerate(rows):
        above = math.exp(cosine(row, columns[i]) / tau)
        below = 0.0
        for j, column in enumerate(columns):
            if not (mask and i != j and ids[i] == ids[j]):
                below += math.exp(cosine(row, column) / tau)
            for k, vector in enumerate(hard[j]):
                if negative_ids[j][k] < 0 or (mask and negative_ids[j][k] == ids[i]):
                    continue
                below += math.exp(cosine(row, vector) / tau + (weight if i == j else 0.0))
        total -= math.log(above / below)
    return total / len(rows)


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("tau", [0.05, 1.0, 100.0])
@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-5), (torch.float32, 1e-5), (torch.bfloat16, 1e-5)])
def test_simcse_is_equation_3(tau: float, dtype: torch.dtype, within: float) -> None:
    z, other = draw(7, 5, dtype=dtype), draw(7, 5, seed=1, dtype=dtype)
    loss = simcse_loss(z, other, tau)
    assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert loss.item() == pytest.approx(simcse_by_hand(z, other, tau), rel=within)


def test_equal_sentences_are_no_negatives() -> None:
    z, other = draw(6, 5), draw(6, 5, seed=1)
    sentences = [1, 2, 1, 3, 3, 3]
    ids = torch.tensor(sentences)
    loss = simcse_loss(z, other, 0.05, same=same_ids(ids, ids))
    assert loss.item() == pytest.approx(simcse_by_hand(z, other, 0.05, sentences), rel=1e-5)
    assert loss < simcse_loss(z, other, 0.05)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("tau", [0.5, 100.0])
def test_entity_loss_is_equation_2(k: int, weight: float, mask: bool, tau: float) -> None:
    s, e, negative = draw(6, 5), draw(6, 5, seed=1), draw(6, k, 5, seed=2)
    ids = [1, 2, 1, 4, 5, 6]
    negative_ids = [[2, -1, 9][:k], [7, 7, 1][:k], [-1, -1, -1][:k], [8, 9, 4][:k], [1, 2, 3][:k], [3, 3, 3][:k]]
    of_rows, of_negatives = torch.tensor(ids), torch.tensor(negative_ids)
    no_negative = (of_negatives < 0).expand(6, -1, -1)
    if mask:
        no_negative = no_negative | same_ids(of_rows, of_negatives)
    same = same_ids(of_rows, of_rows) if mask else None
    loss = entity_loss(s, e, negative, tau, weight, same=same, no_negative=no_negative)
    by_hand = entity_by_hand(s, e, negative, tau, weight, ids, negative_ids, mask)
    assert loss.item() == pytest.approx(by_hand, rel=1e-5)


def test_order_of_rows_does_not_matter() -> None:
    s, e, negative = draw(8, 5), draw(8, 5, seed=1), draw(8, 2, 5, seed=2)
    order = torch.randperm(8, generator=torch.Generator().manual_seed(3))
    single = entity_loss(s, e, negative, 1.0, 1.0)
    assert entity_loss(s[order], e[order], negative[order], 1.0, 1.0).item() == pytest.approx(single.item(), rel=1e-5)


def test_without_negatives_it_is_simcse_with_entities() -> None:
    s, e = draw(6, 5), draw(6, 5, seed=1)
    assert torch.equal(entity_loss(s, e, None, 10.0), simcse_loss(s, e, 10.0))
    assert torch.equal(entity_loss(s, e, draw(6, 0, 5), 10.0), simcse_loss(s, e, 10.0))


def test_a_process_with_half_the_rows_sees_all_columns() -> None:
    s, e, negative = draw(6, 5), draw(6, 5, seed=1), draw(6, 2, 5, seed=2)
    halves = [
        entity_loss(s[part], e, negative, 1.0, 1.0, labels=torch.arange(6)[part]) for part in (slice(0, 3), slice(3, 6))
    ]
    assert sum(halves).item() / 2 == pytest.approx(entity_loss(s, e, negative, 1.0, 1.0).item(), rel=1e-6)


@pytest.mark.parametrize("k", [0, 2])
def test_several_softmaxes_are_the_mean_of_each(k: int) -> None:
    s, e, other = (draw(3, 6, 5, seed=seed, dtype=torch.float64) for seed in (0, 1, 2))
    negative = draw(3, 6, k, 5, seed=3, dtype=torch.float64)
    ids, negative_ids = torch.arange(18).view(3, 6) % 4, torch.arange(18 * k).view(3, 6, k) % 5 - 1
    same, no_negative = same_ids(ids, ids), (negative_ids < 0).unsqueeze(-3) | same_ids(ids, negative_ids)
    together = [
        entity_loss(s, e, negative, 0.5, 1.0, None, same, no_negative),
        simcse_loss(s, other, 0.05, same=same),
        entity_loss(s, e, negative, 0.1, 0.2, None, same, no_negative, other),
    ]
    for parts in zip(s, e, other, negative, same, no_negative, strict=True):
        s1, e1, other1, negative1, same1, none1 = parts
        together[0] = together[0] - entity_loss(s1, e1, negative1, 0.5, 1.0, None, same1, none1) / 3
        together[1] = together[1] - simcse_loss(s1, other1, 0.05, same=same1) / 3
        together[2] = together[2] - entity_loss(s1, e1, negative1, 0.1, 0.2, None, same1, none1, other1) / 3
    assert max(abs(float(difference)) for difference in together) < 1e-12


def test_losses_are_float32_under_autocast() -> None:
    """With cosines in bfloat16 a hard negative's logit of 1 + cos/100 would be the same number for all rows."""
    s, e, negative = draw(64, 32), draw(64, 32, seed=1), draw(64, 1, 32, seed=2)
    outside = entity_loss(s, e, negative, 100.0, 1.0)
    with torch.autocast("cpu", torch.bfloat16):
        inside = entity_loss(s, e, negative, 100.0, 1.0)
    assert inside.dtype == torch.float32
    assert torch.equal(inside, outside)


@pytest.mark.parametrize("kind", PROJECTIONS)
def test_projections_keep_the_rest_of_the_shape(kind: str) -> None:
    dim = 5 if kind == "none" else 7
    assert projection(kind, 5, dim)(draw(3, 2, 5)).shape == (3, 2, dim)


def test_the_linear_projection_is_a_matrix() -> None:
    """EASE, section 3.1; the released code has a bias and tanh."""
    assert [tuple(weight.shape) for weight in projection("linear", 5, 7).parameters()] == [(7, 5)]
    assert len(list(projection("tanh", 5, 7).parameters())) == 2
