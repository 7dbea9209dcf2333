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
        rows, g = sum_of_equal(gradient._indices()[0], gradient._values())
        m = first.index_select(0, rows).lerp_(g, 1 - beta1)
        v = second.index_select(0, rows).mul_(beta2).addcmul_(g, g, value=1 - beta2)
        first.index_copy_(0, rows, m)
        second.index_copy_(0, rows, v)
        correction = math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
        moved = table.index_select(0, rows).addcdiv_(m, v.sqrt_().add_(group["eps"]), value=-group["lr"] * correction)
        table.index_copy_(0, rows, moved)


def sum_of_equal(rows: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """rows: (n,) int64; g: (n, dim); returns the rows sorted, and for each the sum of g over all that are equal to it.

    A row that was looked up several times must move by the sum, for Adam is not linear in the gradient. Each of its
    copies has it here, so they write the same; to ask how many differ, as `coalesce` does, is to wait for a GPU.
    """
    rows, order = rows.sort(stable=True)
    first = torch.ones_like(rows)
    first[1:] = rows[1:] != rows[:-1]
    place = first.cumsum(0) - 1
    return rows, torch.zeros_like(g).index_add_(0, place, g[order])[place]
