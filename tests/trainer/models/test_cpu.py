"""Dropout and attention of a CPU: those of torch and transformers, but for the draws."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModel

from wikianchor.trainer.models.cpu import ATTENTION, Dropout, drop, replace_dropout, training_attention
from wikianchor.trainer.models.encoder import Encoder


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_share_that_goes_and_the_mean_that_stays(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    dropped = drop(torch.ones(300, 1001, dtype=dtype), p)
    assert dropped.dtype == dtype
    assert (dropped == 0).float().mean().item() == pytest.approx(p, abs=0.004)
    assert dropped.float().mean().item() == pytest.approx(1, abs=0.02)
    assert len(dropped.unique()) == 2
    # Neighbours share a number of 64 bits, and are independent all the same.
    gone = (dropped == 0).flatten()
    assert (gone[1:] & gone[:-1]).float().mean().item() == pytest.approx(p * p, abs=0.004)


@pytest.mark.parametrize("p", [0.0, 1e-9, 1.0])
def test_nothing_or_all_goes(p: float) -> None:
    assert drop(torch.ones(7), p).tolist() == [float(p < 1)] * 7


def test_draws_follow_the_seed_and_gradients_the_draws() -> None:
    x = torch.ones(5, 7, requires_grad=True)
    torch.manual_seed(3)
    first = drop(x, 0.5)
    second = drop(x, 0.5)
    torch.manual_seed(3)
    assert torch.equal(drop(x, 0.5), first)
    assert not torch.equal(first, second)
    first.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, first.detach())


def test_a_model_has_it_everywhere_and_only_in_training(tiny_model: Path) -> None:
    model = AutoModel.from_pretrained(tiny_model)
    names = model.state_dict().keys()
    replace_dropout(model)
    assert {type(part) for part in model.modules() if isinstance(part, torch.nn.Dropout)} == {Dropout}
    assert model.state_dict().keys() == names
    assert torch.equal(Dropout(0.5).eval()(torch.ones(9)), torch.ones(9))


def test_attention_is_that_of_transformers(tiny_model: Path) -> None:
    """Without dropout, with padding: vectors and gradients."""
    results = []
    ids = torch.randint(4, 30, (5, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(9) < torch.tensor([9, 3, 1, 7, 8])[:, None]
    for attention in (ATTENTION, "eager"):
        encoder = Encoder.load(str(tiny_model), "avg", dropout=0.0).train()
        assert training_attention(encoder.backbone) == ATTENTION
        encoder.backbone.set_attn_implementation(attention)
        vectors = encoder(ids, mask)
        vectors.square().sum().backward()
        results.append([vectors.detach(), *(weight.grad for weight in encoder.parameters() if weight.grad is not None)])
    assert len(results[0]) > 10
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*results, strict=True))


def test_a_saved_model_does_not_name_it(tiny_model: Path, tmp_path: Path) -> None:
    encoder = Encoder.load(str(tiny_model), "avg").train()
    encoder.backbone.save_pretrained(tmp_path)
    assert ATTENTION not in (tmp_path / "config.json").read_text()
    assert not AutoModel.from_pretrained(tmp_path).training
