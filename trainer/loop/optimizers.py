"""Optimisers: AdamW or Adafactor for the encoder, RowAdam or AdamW for the entity table, and the learning rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from wikianchor.trainer.config import EaseConfig, Optimiser, SpanConfig
from wikianchor.trainer.loop.row_adam import RowAdam, add_rows
from wikianchor.trainer.option_groups import EntityVectors, Updates


class Optimizers:
    """The optimisers of a model's trainable parameters.

    The norm of the gradient is clipped over all dense parameters. torch has no norm of sparse gradients, so a sparse
    table is left out; a dense table is included, as in EASE's released code.

    Args:
        model: its parameters with requires_grad are trained; `table` is its entity table, or None.
        config: learning rates, schedule (constant where it has none), weight decay and clipping.
        total: steps of the run, after which a linear schedule has fallen to zero.
        captured: whether the update of the encoder becomes part of a CUDA graph; the learning rate is a tensor then.
    """

    def __init__(self, model: Any, config: Updates, total: int, captured: bool = False) -> None:
        self.config = config
        self.total = total
        table = [] if model.table is None or not model.table.weight.requires_grad else [model.table.weight]
        dense = [
            weight for weight in model.parameters() if weight.requires_grad and all(weight is not t for t in table)
        ]
        groups: list[dict[str, Any]] = [{"params": dense, "weight_decay": config.weight_decay}]
        self.clipped: list[nn.Parameter] = dense
        self.all: list[nn.Parameter] = [*dense, *table]
        self.table_rate = config.learning_rate
        if isinstance(config, EntityVectors) and config.entity_learning_rate is not None:
            self.table_rate = config.entity_learning_rate
        self.parts: dict[str, torch.optim.Optimizer] = {}
        self.dense_gradients: dict[nn.Parameter, Tensor] = {}
        if table and not (isinstance(config, EaseConfig) and config.entity_optimizer == "adamw"):
            self.parts["entities"] = RowAdam(table, self.table_rate)
        elif table:
            groups.append({"params": table, "weight_decay": 0.0, "table": True})
            self.clipped = self.all
        if isinstance(config, SpanConfig) and config.optimizer == "adafactor":
            self.parts["encoder"] = _adafactor(groups, config.learning_rate)
            return
        devices = {weight.device for group in groups for weight in group["params"]}
        if captured:
            for group in groups:
                group["lr"] = torch.zeros((), device=next(iter(devices)))
        adamw = torch.optim.AdamW(
            groups,
            lr=config.learning_rate,
            fused=len(devices) == 1,
            capturable=captured and any(device.type == "cuda" for device in devices),
        )
        # The steps before the capture would cause a warning.
        adamw._warned_capturable_if_run_uncaptured = True
        self.parts["encoder"] = adamw

    def factor(self, step: int) -> float:
        """Return the factor of the learning rate at a step: linear warm-up, then linear decay to zero or constant."""
        warmup = self.config.warmup_steps
        if step < warmup:
            return step / warmup
        if not isinstance(self.config, Optimiser) or self.config.schedule == "constant":
            return 1.0
        return max(0.0, (self.total - step) / max(1, self.total - warmup))

    def step(self, step: int) -> None:
        """Update the weights by their gradients, and clear the gradients. `step` counts from 0."""
        self.set_rates(step)
        for name in self.parts:
            self.update(name)

    def set_rates(self, step: int) -> None:
        """Set the learning rates of a step."""
        factor = self.factor(step)
        for name, part in self.parts.items():
            for group in part.param_groups:
                rate = self.table_rate if name == "entities" or group.get("table") else self.config.learning_rate
                if isinstance(group["lr"], Tensor):
                    group["lr"].fill_(rate * factor)
                else:
                    group["lr"] = rate * factor

    def update(self, name: str) -> None:
        """Update the weights of one optimiser, and clear their gradients; those of "encoder" are clipped before."""
        part = self.parts[name]
        weights = [weight for group in part.param_groups for weight in group["params"]]
        rows = {}
        if name == "encoder":
            for weight in weights:
                if weight.grad is not None and weight.grad.is_sparse:
                    rows[weight] = weight.grad._indices()[0]
                    weight.grad = self._dense(weight, weight.grad)
            if self.config.clip_norm:
                clip(self.clipped, self.config.clip_norm)
        part.step()
        for weight in weights:
            if weight in rows:
                self.dense_gradients[weight].index_fill_(0, rows[weight], 0)
            weight.grad = None

    def _dense(self, weight: nn.Parameter, gradient: Tensor) -> Tensor:
        """Return a sparse gradient of rows, of which some may be equal, as a dense one.

        The array is kept, and after the update its rows are zero again: filling a new one for each step would take as
        long as the update.
        """
        if weight not in self.dense_gradients:
            self.dense_gradients[weight] = torch.zeros_like(weight)
        return add_rows(self.dense_gradients[weight], gradient._indices()[0], gradient._values())

    def state_dict(self) -> dict[str, Any]:
        """Return the states of all optimisers by name."""
        return {name: part.state_dict() for name, part in self.parts.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load what `state_dict` returned; raises ValueError for the state of other optimisers."""
        if state.keys() != self.parts.keys():
            raise ValueError(f"states of {', '.join(state)}, not of {', '.join(self.parts)}")
        for name, part in self.parts.items():
            # Rates are set in each step; how the update is computed depends on this machine, not on the one before it.
            mine = [
                {key: group[key] for key in ("lr", "fused", "foreach", "capturable") if key in group}
                for group in part.param_groups
            ]
            groups = [{**group, **kept} for group, kept in zip(state[name]["param_groups"], mine, strict=True)]
            part.load_state_dict({**state[name], "param_groups": groups})


def clip(weights: Sequence[nn.Parameter], most: float) -> None:
    """Scale gradients so that their norm, over all of them, is at most `most`."""
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    norm = nn.utils.get_total_norm(gradients)
    # On a CPU the norm is known at once, and small gradients need no scaling. On a GPU the test would synchronise.
    if norm.device.type == "cpu" and norm <= most:
        return
    nn.utils.clip_grads_with_norm_(weights, most, norm)


def _adafactor(groups: list[dict[str, Any]], rate: float) -> torch.optim.Optimizer:
    """Return Adafactor (https://arxiv.org/abs/1804.04235) with the settings of SDJC's code: a fixed learning rate and
    no momentum."""
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
