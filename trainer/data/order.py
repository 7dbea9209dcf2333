"""Which rows come when: a pure function of seed, epoch and number of the batch, so that resuming is a look-up.

Nothing here keeps a state. A run that stopped after batch b of epoch e goes on with batch b + 1 of the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import UsageError

# Rows that follow each other in the dataset and are shuffled as one where a window of them is all that is held.
BLOCK = 65_536
BLOCKS_IN_WINDOW = 64
HELD_OUT = 1_000_003

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Mix:
    """How many rows of each wiki an epoch has: `quota` rows, or in proportion to n to the power `alpha`."""

    quota: Mapping[str, int] | int | None = None
    alpha: float = 1.0


def parse_quota(text: str, names: Sequence[str]) -> Mapping[str, int] | int | None:
    """Return the quota of `50000`, or of `dewiki=50000,jawiki=20000`, where other wikis are left out."""
    if not text:
        return None
    try:
        if "=" not in text:
            return int(text)
        stated = {name.strip(): int(number) for name, _, number in (part.partition("=") for part in text.split(","))}
    except ValueError as error:
        raise UsageError(f"--quota={text}: must be a number, or wiki=number with commas between") from error
    unknown = sorted(stated.keys() - set(names))
    if unknown:
        raise UsageError(f"--quota={text}: no rows of {', '.join(unknown)}: there are {', '.join(sorted(names))}")
    return stated


def held_out_rows(rows: int, held_out: int, seed: int) -> Rows:
    """Return the rows that no epoch trains on, ascending."""
    if held_out >= rows:
        raise UsageError(f"--held_out={held_out}: there are {rows} rows only")
    picked = np.random.default_rng([seed, HELD_OUT]).choice(rows, held_out, replace=False)
    return np.sort(picked).astype(np.int64)


def wiki_counts(sizes: Sequence[int], names: Sequence[str], mix: Mix) -> list[int] | None:
    """Return the rows of each wiki in an epoch, or None where all rows are taken once."""
    if mix.quota is not None:
        return [mix.quota.get(name, 0) if isinstance(mix.quota, Mapping) else mix.quota for name in names]
    if mix.alpha == 1:
        return None
    shares = np.array([size**mix.alpha if size else 0.0 for size in sizes])
    exact = shares / shares.sum() * sum(sizes)
    counts = np.floor(exact).astype(int)
    # What rounding left over goes to the largest remainders, the first of equal ones.
    for row in np.argsort(counts - exact, kind="stable")[: sum(sizes) - int(counts.sum())]:
        counts[row] += 1
    return [int(count) for count in counts]


def select_rows(
    wikis: NDArray[np.int16], names: Sequence[str], mix: Mix, excluded: Rows, seed: int, epoch: int
) -> Rows:
    """Return the rows of an epoch, ascending. A wiki with too few rows gives each of them several times, as evenly
    as may be."""
    allowed = np.ones(len(wikis), bool)
    allowed[excluded] = False
    sizes = [int(size) for size in np.bincount(wikis[allowed], minlength=len(names))]
    counts = wiki_counts(sizes, names, mix)
    if counts is None:
        return np.flatnonzero(allowed)
    parts = []
    for code, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        if size == 0 or count == 0:
            continue
        own = np.flatnonzero(allowed & (wikis == code))
        rest = np.random.default_rng([seed, epoch, code]).permutation(size)[: count % size]
        parts += [*[own] * (count // size), own[rest]]
    return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)


def shuffled(rows: Rows, seed: int, epoch: int, stream_above: int) -> Rows:
    """Return the rows in the order of an epoch.

    Up to `stream_above` rows any row may follow any other. Above, blocks of neighbours are shuffled, and rows within
    windows of a few blocks: then no more than a window of the tokens is in use at a time, and disks read ahead.
    """
    random = np.random.default_rng([seed, epoch])
    if len(rows) <= stream_above:
        return random.permutation(rows)
    blocks = np.array_split(rows, -(-len(rows) // BLOCK))
    order = random.permutation(len(blocks))
    windows = [order[start : start + BLOCKS_IN_WINDOW] for start in range(0, len(order), BLOCKS_IN_WINDOW)]
    return np.concatenate([random.permutation(np.concatenate([blocks[block] for block in part])) for part in windows])


def pick_negatives(negatives: NDArray[np.int32], k: int, epoch: int) -> NDArray[np.int32]:
    """Return k hard negatives of each row, (rows, k), -1 where a row has fewer.

    The dataset drew them at random, so taking the next k in the next epoch is a new draw until they are used up.
    """
    count = (negatives >= 0).sum(1, keepdims=True)
    place = np.arange(k)[None]
    if negatives.shape[1] == 0:
        return np.full((len(negatives), k), -1, np.int32)
    column = (epoch * k + place) % np.maximum(count, 1)
    return np.where(place < count, np.take_along_axis(negatives, column, 1), -1).astype(np.int32)
