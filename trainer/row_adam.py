"""Adam for a table of which a step moves a few rows: the mathematics of torch.optim.SparseAdam in fewer operations.

A row's moments decay when the row is in a batch, not in each step. Where every row is, that is Adam.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn


class RowAdam(torch.optim.Optimizer):
    """Moves the rows that have a gradient. The state is named and shaped as SparseAdam's: `step`, and two moments as
    large as the table.

    Args:
        tables: parameters (rows, dim) whose gradients are sparse.
        lr: the learning rate.
        betas, eps: as Adam's.
    """

    def __init__(
        self, tables: list[nn.Parameter], lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(tables, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        """Move each table by its gradient; `closure` is not called."""
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is not None:
                    self._move(table, table.grad, group)

    def _move(self, table: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[table]
        if not state:
            state |= {"step": 0, "exp_avg": torch.zeros_like(table), "exp_avg_sq": torch.zeros_like(table)}
        state["step"] += 1
        (beta1, beta2), first, second = group["betas"], state["exp_avg"], state["exp_avg_sq"]
        # A row that was looked up several times comes once, with the sum: Adam is not linear in the gradient.
        gradient = gradient.coalesce()
        rows, g = gradient.indices()[0], gradient.values()
        m = first.index_select(0, rows).lerp_(g, 1 - beta1)
        v = second.index_select(0, rows).mul_(beta2).addcmul_(g, g, value=1 - beta2)
        first.index_copy_(0, rows, m)
        second.index_copy_(0, rows, v)
        correction = math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
        table.index_add_(0, rows, m.div_(v.sqrt_().add_(group["eps"])), alpha=-group["lr"] * correction)
