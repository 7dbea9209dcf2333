"""Dropout, linear layers and attention of a CPU: those of torch and transformers, but for the draws."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModel, BertConfig, BertModel

from wikianchor.trainer.models import cpu
from wikianchor.trainer.models.cpu import ATTENTION, Dropout, drop, replace_layers, training_attention
from wikianchor.trainer.models.encoder import Encoder


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_share_that_goes_and_the_mean_that_stays(p: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    found = drop(torch.ones(300, 1001, dtype=dtype), p)
    assert found.dtype == dtype
    assert (found == 0).float().mean().item() == pytest.approx(p, abs=0.004)
    assert found.float().mean().item() == pytest.approx(1, abs=0.02)
    assert len(found.unique()) == 2
    # Neighbours share a number of 64 bits, and are independent all the same.
    gone = (found == 0).flatten()
    assert (gone[1:] & gone[:-1]).float().mean().item() == pytest.approx(p * p, abs=0.004)


@pytest.mark.parametrize("p", [0.0, 1e-9, 1.0])
def test_nothing_or_all_goes(p: float) -> None:
    assert drop(torch.ones(7), p).tolist() == [float(p < 1)] * 7


def test_draws_follow_the_seed_and_gradients_the_draws() -> None:
    x = torch.ones(5, 7, requires_grad=True)
    torch.manual_seed(3)
    one = drop(x, 0.5)
    other = drop(x, 0.5)
    torch.manual_seed(3)
    assert torch.equal(drop(x, 0.5), one)
    assert not torch.equal(one, other)
    one.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, one.detach())


def test_a_model_has_it_everywhere_and_only_in_training(tiny_model: Path) -> None:
    model = AutoModel.from_pretrained(tiny_model)
    names = model.state_dict().keys()
    replace_layers(model)
    assert {type(part) for part in model.modules() if isinstance(part, torch.nn.Dropout)} == {Dropout}
    assert model.state_dict().keys() == names
    assert torch.equal(Dropout(0.5).eval()(torch.ones(9)), torch.ones(9))


def test_attention_is_that_of_transformers(tiny_model: Path) -> None:
    """Without dropout, with padding: vectors and gradients."""
    found = []
    ids = torch.randint(4, 30, (5, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(9) < torch.tensor([9, 3, 1, 7, 8])[:, None]
    for attention in (ATTENTION, "eager"):
        encoder = Encoder.load(str(tiny_model), "avg", dropout=0.0).train()
        assert training_attention(encoder.backbone) == ATTENTION
        encoder.backbone.set_attn_implementation(attention)
        vectors = encoder(ids, mask)
        vectors.square().sum().backward()
        found.append([vectors.detach(), *(weight.grad for weight in encoder.parameters() if weight.grad is not None)])
    assert len(found[0]) > 10
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(*found, strict=True))


def test_a_saved_model_does_not_name_it(tiny_model: Path, tmp_path: Path) -> None:
    encoder = Encoder.load(str(tiny_model), "avg").train()
    encoder.backbone.save_pretrained(tmp_path)
    assert ATTENTION not in (tmp_path / "config.json").read_text()
    assert not AutoModel.from_pretrained(tmp_path).training


def test_linear_layers_are_torch_s() -> None:
    """By oneDNN or by torch: the product, and the gradients of the input, the weights and the bias."""
    torch.manual_seed(1)
    ours = cpu.Linear(24, 40)
    theirs = torch.nn.Linear(24, 40)
    theirs.load_state_dict(ours.state_dict())
    found = []
    for layer in (ours, theirs):
        x = torch.randn(3, 5, 24, generator=torch.Generator().manual_seed(2)).requires_grad_()
        product = layer(x)
        product.square().sum().backward()
        found.append([product, x.grad, layer.weight.grad, layer.bias.grad])
    assert all(torch.allclose(one, other, atol=1e-4) for one, other in zip(*found, strict=True))
    assert ours.double()(torch.ones(2, 24).double()).dtype == torch.float64
    with torch.autocast("cpu", torch.bfloat16):
        assert ours.float()(torch.ones(2, 24)).dtype == torch.bfloat16


def test_a_wide_model_has_them_with_its_own_weights() -> None:
    shape = {"hidden_size": 256, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 256}
    model = BertModel(BertConfig(vocab_size=40, **shape))
    before = {name: weight.data_ptr() for name, weight in model.named_parameters()}
    replace_layers(model)
    assert {type(part) for part in model.modules() if isinstance(part, torch.nn.Linear)} == {cpu.Linear}
    assert {name: weight.data_ptr() for name, weight in model.named_parameters()} == before
