"""The losses of SimCSE, EASE, SDJC and MixCSE: pure functions of tensors, computed in float32.

SimCSE: https://aclanthology.org/2021.emnlp-main.552/; EASE: https://aclanthology.org/2022.naacl-main.284/.

Symbols: s_i is the vector of sentence i, z_i and z_i' its two dropout views, e_i the projected vector of its entity,
e_i^- a hard negative of it, N the number of sentences in a softmax, and tau the temperature. There may be more columns
than rows: under torchrun a process has n = N / W rows and the m = N columns of all W processes.

Every tensor of vectors, ids and masks may have one more dimension in front: several softmaxes of equal size, each with
its own rows and columns. The loss is then the mean of theirs. float64 stays float64.

Matryoshka representation learning (https://arxiv.org/abs/2205.13147): the first dimensions of a vector are a vector.
The loss is the mean of the losses of the first m dimensions, over several widths m, where all vectors that a loss
compares are cut to the same width. A model that is trained so loses less when its vectors are cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import normalize

from wikianchor.io.errors import UsageError

# Losses by name, () each.
Losses = dict[str, Tensor]


def projection(kind: str, width: int, dim: int) -> nn.Module:
    """Return the projection W of entity vectors, from (..., width) to (..., dim).

    `linear` is the matrix of EASE's section 3.1, without a bias; `tanh` is the released code, with one.

    >>> projection("tanh", 3, 2)
    Sequential(
      (0): Linear(in_features=3, out_features=2, bias=True)
      (1): Tanh()
    )
    """
    if kind == "none":
        return nn.Identity()
    layers: list[nn.Module] = [nn.Linear(width, dim, bias=kind != "linear")]
    if kind != "linear":
        layers.append(nn.ReLU() if kind.startswith("relu") else nn.Tanh())
    if kind.endswith("-linear"):
        layers.append(nn.Linear(dim, dim))
    return nn.Sequential(*layers)


def cosines(rows: Tensor, columns: Tensor) -> Tensor:
    """Return the cosines of all rows with all columns, (..., n, m) float32, computed without autocast.

    Args:
        rows: (..., n, dim).
        columns: (..., m, dim).

    >>> cosines(torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 3.0]]))
    tensor([[1., 0.]])
    """
    kind = rows.device.type
    with torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext():
        return normalize(at_least_float32(rows), dim=-1) @ normalize(at_least_float32(columns), dim=-1).mT


def at_least_float32(x: Tensor) -> Tensor:
    """Return x in float32; float64 stays."""
    return x if x.dtype == torch.float64 else x.float()


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy, (), of all rows of all softmaxes.

    Args:
        logits: (..., n, m).
        labels: (n,) int64, the same for each softmax.
    """
    if logits.dim() == 2:
        return functional.cross_entropy(logits, labels)
    return functional.cross_entropy(logits.flatten(0, -2), labels.expand(logits.shape[:-1]).flatten())


def simcse_loss(
    z: Tensor, other: Tensor, temperature: float, labels: Tensor | None = None, same: Tensor | None = None
) -> Tensor:
    """Return SimCSE's loss, EASE's equation 3: mean over i of
    -log exp(cos(z_i, z_i')/tau) / sum_j exp(cos(z_i, z_j')/tau).

    Args:
        z: (n, dim), first views.
        other: (m, dim), second views.
        temperature: tau.
        labels: (n,) int64, the column of each row's positive; i for row i by default.
        same: (n, m) bool, columns with the same sentence as the row, which are no negatives.

    Returns:
        the loss, ().

    >>> z = torch.eye(2)
    >>> simcse_loss(z, z, 1.0)  # log(1 + exp(-1))
    tensor(0.3133)
    """
    return entity_loss(z, other, None, temperature, labels=labels, same=same)


def entity_loss(
    s: Tensor,
    e: Tensor,
    negative: Tensor | None,
    temperature: float,
    weight: float = 0.0,
    labels: Tensor | None = None,
    same: Tensor | None = None,
    no_negative: Tensor | None = None,
    mixed: Tensor | None = None,
) -> Tensor:
    """Return EASE's equation 2: mean over i of
    -log exp(cos(s_i, e_i)/tau) / sum_j [exp(cos(s_i, e_j)/tau) + sum_k exp(cos(s_i, e_jk^-)/tau)].

    With sentences in place of entities it is equation 1 of SDJC: the hard negatives of row i are weighted by alpha,
    weight = log alpha, in its denominator, and those of other rows are not. MixCSE adds one column to each row.

    Args:
        s: (n, dim), sentences.
        e: (m, dim), entities.
        negative: (m, k, dim), hard negatives, or None.
        temperature: tau.
        weight: added to the logits of a row's own hard negatives; 0 in EASE's paper, 1 in its released code.
        labels: (n,) int64, the column of each row's entity; i for row i by default.
        same: (n, m) bool, entities that are no negatives of the row.
        no_negative: (n, m, k) bool, hard negatives that are no negatives of the row.
        mixed: (n, dim), MixCSE's negative of each row, or None.

    Returns:
        the loss, ().
    """
    labels = torch.arange(s.shape[-2], device=s.device) if labels is None else labels
    logits = entity_logits(s, e, negative, temperature, weight, labels=labels, same=same, no_negative=no_negative)
    if mixed is not None:
        logits = torch.cat((logits, torch.cosine_similarity(s, mixed, dim=-1)[..., None] / temperature), -1)
    return cross_entropy(logits, labels)


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
    """Return the logits of equation 2, (..., n, m + m * k): of all entities, then of all hard negatives.

    Arguments as for `entity_loss`."""
    m = e.shape[-2]
    positive = torch.arange(m, device=s.device) == labels[:, None]
    if negative is None or negative.shape[-2] == 0:
        logits = cosines(s, e) / temperature
        return logits if same is None else logits.masked_fill(same & ~positive, -torch.inf)
    k = negative.shape[-2]
    # One matrix product: the columns of the entities, then of the negatives of e_0, of e_1, and so on.
    logits = cosines(s, torch.cat((e, negative.flatten(-3, -2)), -2)) / temperature
    if weight:
        logits = logits + torch.cat((torch.zeros_like(positive), positive.repeat_interleave(k, 1)), 1) * weight
    if same is not None or no_negative is not None:
        left = same & ~positive if same is not None else positive.new_zeros(*s.shape[:-1], m)
        rows = (*s.shape[:-1], m, k)
        right = no_negative.expand(rows) if no_negative is not None else positive.new_zeros(rows)
        logits = logits.masked_fill(torch.cat((left, right.flatten(-2)), -1), -torch.inf)
    return logits


def mixed_negatives(positive: Tensor, others: Tensor, share: float) -> Tensor:
    """Return MixCSE's negatives (https://ojs.aaai.org/index.php/AAAI/article/view/21428): unit vectors of
    share * positive + (1 - share) * other, both scaled to unit length first, without gradient.

    Args:
        positive: (n, dim).
        others: (n, dim), vectors of other sentences.
        share: the positive's share, 0 to 1.

    Returns:
        (n, dim), of unit length.
    """
    unit_positive, unit_other = (normalize(at_least_float32(x.detach()), dim=-1) for x in (positive, others))
    return normalize(share * unit_positive + (1 - share) * unit_other, dim=-1)


def same_ids(rows: Tensor, columns: Tensor) -> Tensor:
    """Return whether the id of each row equals that of each column, (..., n, m) or (..., n, m, k) bool.

    Args:
        rows: (..., n) int64.
        columns: (..., m) or (..., m, k) int64.

    >>> same_ids(torch.tensor([1, 2]), torch.tensor([2, 2, 1])).int()
    tensor([[0, 0, 1],
            [1, 1, 0]], dtype=torch.int32)
    """
    further = columns.dim() - rows.dim() + 1
    return rows.view(*rows.shape, *[1] * further) == columns.unsqueeze(rows.dim() - 1)


def all_widths(widths: Sequence[int], dim: int) -> tuple[int, ...]:
    """Return the widths of `--matryoshka`, ascending, with that of the whole vector as the last; none where
    the flag is not given.

    Args:
        widths: the value of the flag.
        dim: width of the whole vector.

    Raises:
        UsageError: a width is not from 1 to `dim`.

    >>> all_widths((128, 64), 768), all_widths((), 768)
    ((64, 128, 768), ())
    """
    if wrong := [width for width in sorted(widths) if not 0 < width <= dim]:
        text = ",".join(map(str, widths))
        raise UsageError(f"--matryoshka={text}: {wrong[0]} is no width from 1 to {dim}, the width of a vector")
    return (*sorted({*widths} - {dim}), dim) if widths else ()


def mean_over_widths(losses_of: Callable[[Tensor], Losses], vectors: Tensor, widths: Sequence[int]) -> Losses:
    """Return the mean of each loss over the widths.

    Args:
        losses_of: returns losses, () each, of vectors (..., width).
        vectors: (..., dim).
        widths: numbers of dimensions; none for the whole vectors alone.
    """
    if not widths:
        return losses_of(vectors)
    losses = [losses_of(vectors[..., :width]) for width in widths]
    return {name: sum(each[name] for each in losses) / len(losses) for name in losses[0]}
