"""How weights move: AdamW for the encoder, RowAdam or AdamW for the entity table, one learning rate that falls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from wikianchor.trainer.config import Config
from wikianchor.trainer.loop.row_adam import RowAdam
from wikianchor.trainer.models.model import Trainable


class Optimizers:
    """The optimisers of a model as one.

    The norm of the gradient is cut over encoder, MLP and projection. torch cannot take the norm of a sparse gradient,
    so the sparse table is left out; a dense table counts, as in the released code.
    """

    def __init__(self, model: Trainable, config: Config, total: int) -> None:
        self.config = config
        self.total = total
        table = [] if model.table is None else [model.table.weight]
        dense = [
            weight for weight in model.parameters() if weight.requires_grad and all(weight is not t for t in table)
        ]
        groups: list[dict[str, Any]] = [{"params": dense, "weight_decay": config.weight_decay}]
        self.clipped: list[nn.Parameter] = dense
        self.all: list[nn.Parameter] = [*dense, *table]
        self.table_rate = config.entity_learning_rate or config.learning_rate
        self.parts: dict[str, torch.optim.Optimizer] = {}
        if table and config.entity_optimizer == "sparse":
            self.parts["entities"] = RowAdam(table, self.table_rate)
        elif table:
            groups.append({"params": table, "weight_decay": 0.0, "table": True})
            self.clipped = self.all
        if config.optimizer == "adafactor":
            self.parts["encoder"] = _adafactor(groups, config.learning_rate)
            return
        same_device = len({weight.device for group in groups for weight in group["params"]}) == 1
        self.parts["encoder"] = torch.optim.AdamW(groups, lr=config.learning_rate, fused=same_device)

    def factor(self, step: int) -> float:
        """Return what the learning rate is times at a step: up in a line through the warm-up, then down to zero or
        constant."""
        warmup = self.config.warmup_steps
        if step < warmup:
            return step / warmup
        if self.config.schedule == "constant":
            return 1.0
        return max(0.0, (self.total - step) / max(1, self.total - warmup))

    def step(self, step: int) -> None:
        """Move the weights by their gradients and clear these."""
        if self.config.clip_norm:
            clip(self.clipped, self.config.clip_norm)
        factor = self.factor(step)
        for name, part in self.parts.items():
            for group in part.param_groups:
                rate = self.table_rate if name == "entities" or group.get("table") else self.config.learning_rate
                group["lr"] = rate * factor
            part.step()
        for weight in self.all:
            weight.grad = None

    def state_dict(self) -> dict[str, Any]:
        return {name: part.state_dict() for name, part in self.parts.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state.keys() != self.parts.keys():
            raise ValueError(f"states of {', '.join(state)}, not of {', '.join(self.parts)}")
        for name, part in self.parts.items():
            part.load_state_dict(state[name])


def clip(weights: Sequence[nn.Parameter], most: float) -> None:
    """Scale the gradients down where their norm, taken over all of them, is above `most`."""
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    norm = nn.utils.get_total_norm(gradients)
    # A CPU can look at once, and leaves most gradients as they are; a GPU would have to be waited for.
    if norm.device.type == "cpu" and norm <= most:
        return
    nn.utils.clip_grads_with_norm_(weights, most, norm)


def _adafactor(groups: list[dict[str, Any]], rate: float) -> torch.optim.Optimizer:
    """Adafactor with the settings that SDJC's code trains T5 with: a stated learning rate, no momentum."""
    from transformers import Adafactor

    return Adafactor(
        groups,
        lr=rate,
        eps=(1e-30, 1e-3),
        clip_threshold=1.0,
        decay_rate=-0.8,
        beta1=None,
        scale_parameter=False,
        relative_step=False,
        warmup_init=False,
    )
