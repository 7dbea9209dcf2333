"""Packed layers: vectors and gradients are those of transformers with padding."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import AutoTokenizer, BertConfig, BertModel, PreTrainedModel, RobertaConfig, RobertaModel

from wikianchor.trainer.models import cpu
from wikianchor.trainer.models.cpu import Packing
from wikianchor.trainer.models.encoder import Encoder

LENGTHS = torch.tensor([9, 3, 1, 27, 18, 16])
MASK = torch.arange(27) < LENGTHS[:, None]
FAMILIES = {"bert": (BertConfig, BertModel), "roberta": (RobertaConfig, RobertaModel)}


def backbone(family: str, dropout: float) -> PreTrainedModel:
    """Return a model of two layers with random weights."""
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    shape |= {"vocab_size": 40, "hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    config, model = FAMILIES[family]
    torch.manual_seed(1)
    return model(config(**shape))


def encoder_of(tiny_model: Path, family: str, pooler: str, dropout: float = 0.0) -> Encoder:
    """Return an encoder in training mode."""
    return Encoder(backbone(family, dropout), AutoTokenizer.from_pretrained(tiny_model), pooler).train()


def tokens(encoder: Encoder) -> Tensor:
    """Return the ids of a padded batch."""
    random = torch.Generator().manual_seed(2)
    padding = encoder.backbone.config.pad_token_id
    return torch.randint(4, 30, MASK.shape, generator=random).masked_fill(~MASK, padding)


def results(encoder: Encoder) -> list[Tensor]:
    """Return the vectors of the batch, and the gradients of the weights."""
    encoder.zero_grad()
    vectors = encoder(tokens(encoder), MASK)
    (vectors.square() * torch.arange(vectors.shape[1])).sum().backward()
    gradients = [weight.grad for weight in encoder.parameters() if weight.grad is not None]
    return [vectors.detach(), *(gradient.to_dense() for gradient in gradients)]


@contextmanager
def packing_from(width: int) -> Iterator[None]:
    """Within this context, models are packed from this width on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "WIDE", width)
        yield


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("pooler", ["avg", "cls_before_pooler", "avg_first_last"])
def test_packed_tokens_give_the_vectors_and_gradients_of_padded_ones(
    family: str, pooler: str, tiny_model: Path
) -> None:
    encoder = encoder_of(tiny_model, family, pooler).double()
    both = []
    for width in (0, 1000):
        with packing_from(width):
            assert encoder._packs(MASK) == (width == 0)
            both.append(results(encoder))
    assert len(both[0]) == len(both[1]) > 2 * 16
    assert all(torch.allclose(a, b, atol=1e-10) for a, b in zip(*both, strict=True))


@pytest.mark.parametrize("pooler", ["avg", "cls_before_pooler"])
def test_the_gradient_with_dropout_is_that_of_finite_differences(pooler: str, tiny_model: Path) -> None:
    """With the same draws, along a random direction."""
    encoder = encoder_of(tiny_model, "bert", pooler, dropout=0.3).double()
    ids, random = tokens(encoder), torch.Generator().manual_seed(3)

    def loss() -> Tensor:
        torch.manual_seed(4)
        vectors = encoder(ids, MASK)
        return (vectors * torch.arange(vectors.shape[1])).sum()

    with packing_from(0):
        loss().backward()
        weights = [weight for weight in encoder.parameters() if weight.grad is not None]
        for weight in weights:
            direction = torch.randn(weight.shape, generator=random, dtype=weight.dtype)
            assert weight.grad is not None
            expected = float((weight.grad.to_dense() * direction).sum())
            values = []
            for step in (1e-6, -1e-6):
                with torch.no_grad():
                    weight += step * direction
                    values.append(float(loss()))
                    weight -= step * direction
            assert (values[0] - values[1]) / 2e-6 == pytest.approx(expected, rel=1e-4, abs=1e-3)


def test_in_bf16_vectors_and_gradients_are_those_of_float32_rounded(tiny_model: Path) -> None:
    encoder = encoder_of(tiny_model, "bert", "avg")
    with packing_from(0):
        exact = results(encoder)
        with torch.autocast("cpu", torch.bfloat16):
            rounded = results(encoder)
    assert {x.dtype for x in rounded} == {torch.float32}
    # All gradients together, since that of a key's bias is zero but for rounding.
    for part in (slice(0, 1), slice(1, None)):
        wanted, got = (torch.cat([x.flatten() for x in tensors[part]]) for tensors in (exact, rounded))
        assert 0 < (wanted - got).norm() <= 0.02 * wanted.norm()


def test_frozen_weights_get_no_gradient(tiny_model: Path) -> None:
    encoder = encoder_of(tiny_model, "bert", "avg")
    frozen = encoder.backbone.encoder.layer[0].requires_grad_(False)
    with packing_from(0):
        results(encoder)
    assert all(weight.grad is None for weight in frozen.parameters())
    assert encoder.backbone.encoder.layer[1].output.dense.weight.grad is not None


def test_a_packed_batch_has_as_many_tokens_as_its_sentences() -> None:
    mask = torch.tensor([[1, 1, 0], [1, 0, 0]])
    packed = Packing(mask)
    padded = torch.arange(6).view(2, 3)
    assert packed.pack(padded).tolist() == [[0, 1, 3]]
    assert packed.positions.tolist() == [[0, 1, 0]]
    assert packed.first.tolist() == [0, 2]
    tokens = packed.pack(padded)[0][:, None]
    assert packed.unpack(tokens).flatten().tolist() == [0, 1, 0, 3, 0, 0]


def test_attention_pads_sentences_to_the_length_of_their_bucket() -> None:
    packed = Packing(MASK)
    assert [tuple(bucket.is_token.shape) for bucket in packed.buckets] == [(4, 16), (1, 24), (1, 32)]
    tokens_of_buckets = [bucket.source[bucket.is_token.flatten()].tolist() for bucket in packed.buckets]
    assert tokens_of_buckets == [list(range(29)), list(range(29, 47)), list(range(47, 74))]
    assert packed.first.tolist() == [0, 9, 12, 47, 29, 13]
    # The padding of a sentence takes its first token.
    assert all((bucket.source[~bucket.is_token.flatten()] < 74).all() for bucket in packed.buckets)
    # Of equal values the mean is the value, whatever the scores are.
    qkv = torch.randn(74, 3, 4 * 2)
    qkv[:, 2] = torch.arange(74)[:, None] * 0 + 3.0
    assert torch.allclose(packed.attention(qkv.flatten(1), 4, 1.0, 0.0), torch.full((74, 8), 3.0))


def test_any_activation_is_packed(tiny_model: Path) -> None:
    model = backbone("bert", 0.0)
    for layer in model.encoder.layer:
        layer.intermediate.intermediate_act_fn = torch.nn.ReLU()
    encoder = Encoder(model, AutoTokenizer.from_pretrained(tiny_model), "avg").train().double()
    both = []
    for width in (0, 1000):
        with packing_from(width):
            both.append(results(encoder))
    assert all(torch.allclose(a, b, atol=1e-10) for a, b in zip(*both, strict=True))


@pytest.mark.parametrize("change", [{"is_decoder": True}, {"model_type": "mpnet"}, {"hidden_size": 16}])
def test_other_models_are_not_packed(change: dict[str, object]) -> None:
    config = BertConfig(hidden_size=256)
    assert cpu.can_pack(config)
    for name, value in change.items():
        setattr(config, name, value)
    assert not cpu.can_pack(config)
