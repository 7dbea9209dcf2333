"""Updates of the weights: sparse gradients are dense ones with fewer bytes."""

import pytest
import torch
from torch import nn

from wikianchor.trainer.config import EaseConfig
from wikianchor.trainer.loop.optimizers import Optimizers


class Words(nn.Module):
    """Word vectors and a weight."""

    table = None

    def __init__(self, sparse: bool) -> None:
        super().__init__()
        self.vectors = nn.Embedding(20, 3, sparse=sparse)
        self.linear = nn.Linear(3, 1)
        with torch.no_grad():
            self.vectors.weight.copy_(torch.arange(60.0).view(20, 3).sin())
            self.linear.weight.copy_(torch.ones(1, 3))


@pytest.mark.parametrize("clip", [0.0, 0.01])
def test_sparse_gradients_give_the_weights_of_dense_ones(clip: float) -> None:
    """Rows of earlier steps have no gradient, but their moments move them on."""
    results = []
    for sparse in (False, True):
        torch.manual_seed(1)
        model = Words(sparse)
        optimizers = Optimizers(model, EaseConfig(learning_rate=0.1, clip_norm=clip, weight_decay=0.01), 10)
        for step, ids in enumerate(([1, 5, 1], [2, 5], [7])):
            # Two passes before an update.
            for part in (ids, ids[:1]):
                model.linear(model.vectors(torch.tensor(part))).square().sum().backward()
            optimizers.step(step)
        results.append([weight.detach() for weight in model.parameters()])
    assert all(torch.allclose(weight, other, atol=1e-6) for weight, other in zip(*results, strict=True))
    assert not any(gradient.any() for gradient in optimizers.dense_gradients.values())
