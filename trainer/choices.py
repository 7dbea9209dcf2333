"""Names that flags choose from, where they can be read without torch."""

from __future__ import annotations

POOLERS = ("cls", "cls_before_pooler", "avg", "avg_top2", "avg_first_last", "last", "max", "weighted", "sqrt")
# Of inference.
PRECISIONS = ("fp32", "tf32", "bf16")
# From the width of the entity vectors to that of the sentences'. The paper: linear. The released code: tanh.
PROJECTIONS = ("none", "linear", "tanh", "relu", "tanh-linear", "relu-linear")
