"""The losses of SimCSE and EASE: pure functions on tensors, in float32 whatever the encoder computes in.

Symbols: s_i a sentence's vector, z_i and z_i' its two views under dropout, e_i its entity's vector in the sentences'
space, e_i^- its hard negatives, N sentences in a softmax, tau a temperature that divides. A row may be told apart from
more columns than there are rows: under torchrun a process has its own rows and the columns of all.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize


def projection(kind: str, entity_dim: int, dim: int) -> nn.Module:
    """Return the map W from entity vectors, (..., entity_dim), to the sentences' space, (..., dim)."""
    if kind == "none":
        return nn.Identity()
    layers: list[nn.Module] = [nn.Linear(entity_dim, dim)]
    if kind != "linear":
        layers.append(nn.ReLU() if kind.startswith("relu") else nn.Tanh())
    if kind.endswith("-linear"):
        layers.append(nn.Linear(dim, dim))
    return nn.Sequential(*layers)


def cosines(rows: Tensor, columns: Tensor) -> Tensor:
    """rows: (n, dim); columns: (m, dim); returns (n, m) float32, outside any autocast."""
    kind = rows.device.type
    with torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext():
        return normalize(rows.float(), dim=-1) @ normalize(columns.float(), dim=-1).T


def simcse_loss(
    z: Tensor, other: Tensor, temperature: float, labels: Tensor | None = None, same: Tensor | None = None
) -> Tensor:
    """Equation 3: -log exp(cos(z_i, z_i')/tau) / sum_j exp(cos(z_i, z_j')/tau), mean over rows.

    z: (n, dim) first views; other: (m, dim) second views; labels: (n,) int64, the column of row i, i by default;
    same: (n, m) bool, columns that are the same sentence as the row; returns () loss.
    """
    labels = torch.arange(len(z), device=z.device) if labels is None else labels
    logits = cosines(z, other) / temperature
    if same is not None:
        logits = mask_out(logits, same, labels)
    return cross_entropy(logits, labels)


def entity_loss(
    s: Tensor,
    e: Tensor,
    negative: Tensor | None,
    temperature: float,
    weight: float = 0.0,
    labels: Tensor | None = None,
    same: Tensor | None = None,
    no_negative: Tensor | None = None,
) -> Tensor:
    """Equation 2: -log exp(cos(s_i, e_i)/tau) / sum_j [exp(cos(s_i, e_j)/tau) + sum_k exp(cos(s_i, e_jk^-)/tau)].

    s: (n, dim); e: (m, dim); negative: (m, k, dim) or None; weight: added to the logits of a row's own negatives, 0 in
    the paper and 1 in the released code; labels: (n,) int64; same: (n, m) bool, columns that are no negatives of the
    row; no_negative: (n, m, k) bool, likewise for the negatives; returns () loss.
    """
    labels = torch.arange(len(s), device=s.device) if labels is None else labels
    return cross_entropy(entity_logits(s, e, negative, temperature, weight, labels, same, no_negative), labels)


def entity_logits(
    s: Tensor,
    e: Tensor,
    negative: Tensor | None,
    temperature: float,
    weight: float,
    labels: Tensor,
    same: Tensor | None = None,
    no_negative: Tensor | None = None,
) -> Tensor:
    """Return the logits of equation 2, (n, m + m k): of each row with all e, then with all negatives."""
    if negative is None or negative.shape[1] == 0:
        logits = cosines(s, e) / temperature
        return logits if same is None else mask_out(logits, same, labels)
    own = torch.arange(len(e), device=s.device) == labels[:, None]
    # One product for all columns: the negatives of e_0, then those of e_1, stand after all of e.
    k = negative.shape[1]
    logits = cosines(s, torch.cat((e, negative.flatten(0, 1)))) / temperature
    if weight:
        logits = logits + torch.cat((torch.zeros_like(own), own.repeat_interleave(k, 1)), 1) * weight
    if same is not None or no_negative is not None:
        none = torch.zeros_like(own)
        left = none if same is None else same & ~own
        right = none.repeat(1, k) if no_negative is None else no_negative.expand(len(s), -1, -1).flatten(1)
        logits = logits.masked_fill(torch.cat((left, right), 1), -torch.inf)
    return logits


def sdjc_loss(
    v: Tensor,
    positive: Tensor,
    hard: Tensor | None,
    temperature: float,
    weight: float = 0.0,
    labels: Tensor | None = None,
    same: Tensor | None = None,
    no_negative: Tensor | None = None,
    mixed: Tensor | None = None,
) -> Tensor:
    """SDJC's equation 1: -log of exp(cos(v_i, v_i+)/tau) over itself, alpha exp(cos(v_i, v_i*)/tau), and the same of
    all other rows' positives and hard negatives, these without alpha.

    That is EASE's equation 2 with sentences for entities, and with weight = log alpha. MixCSE has one column more, of
    the row alone: a `mixed` negative.

    v: (n, dim); positive: (m, dim); hard: (m, k, dim) or None; mixed: (n, dim) or None; returns () loss.
    """
    labels = torch.arange(len(v), device=v.device) if labels is None else labels
    logits = entity_logits(v, positive, hard, temperature, weight, labels, same, no_negative)
    if mixed is not None:
        logits = torch.cat((logits, torch.cosine_similarity(v, mixed, dim=-1)[:, None] / temperature), 1)
    return cross_entropy(logits, labels)


def mixed_negatives(positive: Tensor, others: Tensor, share: float) -> Tensor:
    """Return MixCSE's negatives: `share` of the positive and the rest of another sentence, unit vectors both; no
    gradient goes through them (https://ojs.aaai.org/index.php/AAAI/article/view/21428).

    positive, others: (n, dim); returns (n, dim) unit-norm.
    """
    one, other = normalize(positive.detach().float(), dim=-1), normalize(others.detach().float(), dim=-1)
    return normalize(share * one + (1 - share) * other, dim=-1)


def entity_to_sentence_loss(
    e: Tensor, s: Tensor, temperature: float, labels: Tensor | None = None, same: Tensor | None = None
) -> Tensor:
    """Equation 2 the other way round and without hard negatives: which sentence is the entity's?

    e: (n, dim); s: (m, dim); returns () loss.
    """
    return simcse_loss(e, s, temperature, labels, same)


def mask_out(logits: Tensor, same: Tensor, labels: Tensor) -> Tensor:
    """logits, same: (n, m); returns logits with -inf where `same` holds, but never at the row's own column."""
    own = torch.arange(logits.shape[1], device=logits.device) == labels[:, None]
    return logits.masked_fill(same & ~own, -torch.inf)


def same_ids(rows: Tensor, columns: Tensor) -> Tensor:
    """rows: (n,) int64; columns: (m,) or (m, k) int64; returns (n, m) or (n, m, k) bool."""
    return rows.view(-1, *[1] * columns.dim()) == columns
