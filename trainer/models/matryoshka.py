"""Matryoshka representation learning (https://arxiv.org/abs/2205.13147): the first dimensions of a vector are a vector.

The loss is the mean of the losses of the first m dimensions, over several widths m, where all vectors that a loss
compares are cut to the same width. A model that is trained so loses less when its vectors are cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from wikianchor.io.errors import UsageError
from wikianchor.trainer.models.losses import Losses


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
