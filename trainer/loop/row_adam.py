"""Adam for an embedding table of which a step updates few rows: torch.optim.SparseAdam in fewer operations.

The moments of a row decay only in steps whose batch has the row. If every batch has every row, that is Adam
(https://arxiv.org/abs/1412.6980).
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn


class RowAdam(torch.optim.Optimizer):
    """Updates the rows that have a gradient. The state has the names and shapes of SparseAdam's: `step`, and two
    moments as large as the table.

    Args:
        tables: parameters (rows, dim) with sparse gradients.
        lr: the learning rate.
        betas, eps: as for Adam.
    """

    def __init__(
        self, tables: list[nn.Parameter], lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(tables, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        """Update each table by its gradient; `closure` is not called."""
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is not None:
                    self._update(table, table.grad, group)

    def _update(self, table: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[table]
        if not state:
            state |= {"step": 0, "exp_avg": torch.zeros_like(table), "exp_avg_sq": torch.zeros_like(table)}
        state["step"] += 1
        (beta1, beta2), first, second = group["betas"], state["exp_avg"], state["exp_avg_sq"]
        rows, g = sum_equal_rows(gradient._indices()[0], gradient._values())
        m = first.index_select(0, rows).lerp_(g, 1 - beta1)
        v = second.index_select(0, rows).mul_(beta2).addcmul_(g, g, value=1 - beta2)
        first.index_copy_(0, rows, m)
        second.index_copy_(0, rows, v)
        correction = math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
        updated = table.index_select(0, rows).addcdiv_(m, v.sqrt_().add_(group["eps"]), value=-group["lr"] * correction)
        table.index_copy_(0, rows, updated)


def sum_equal_rows(rows: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """Sum the gradients of equal rows.

    Adam is not linear in the gradient, so a row that was looked up several times needs the sum. `coalesce` would need
    the number of different rows, for which the CPU waits for the GPU; here every copy of a row gets the sum, and all
    copies write the same update.

    Args:
        rows: (n,) int64.
        g: (n, dim).

    Returns:
        rows, sorted, (n,); and for each the sum over all rows equal to it, (n, dim).

    >>> rows, g = sum_equal_rows(torch.tensor([7, 2, 7]), torch.tensor([[1.0], [2.0], [3.0]]))
    >>> rows.tolist(), g.tolist()
    ([2, 7, 7], [[2.0], [4.0], [4.0]])
    """
    rows, order = rows.sort(stable=True)
    first = torch.ones_like(rows)
    first[1:] = rows[1:] != rows[:-1]
    slot = first.cumsum(0) - 1
    return rows, add_rows(torch.zeros_like(g), slot, g[order])[slot]


def add_rows(table: Tensor, rows: Tensor, values: Tensor) -> Tensor:
    """Add values (n, dim) to rows (n,) of a table in place, in an order that is the same in every run; return it.

    On a GPU index_add_ adds equal rows in any order, so that the last bits of a resumed run would differ.
    """
    return table.index_put_((rows,), values, accumulate=True) if table.is_cuda else table.index_add_(0, rows, values)
