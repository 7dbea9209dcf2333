"""The order of rows in training: a pure function of the seed and the epoch.

No state is stored. A run that stopped after batch b of epoch e computes the same order again and resumes with batch
b + 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import UsageError

# Consecutive rows that are moved as one block where only a window of the dataset is shuffled at a time.
BLOCK = 65_536
BLOCKS_IN_WINDOW = 64
# Rows above which only windows of the dataset are shuffled.
STREAM_ABOVE = 50_000_000
# Distinguishes the random numbers of held-out rows from those of epochs.
HELD_OUT_STREAM = 1_000_003
# Distinguishes the random numbers of the order of groups of one wiki.
WIKI_STREAM = 1_000_033

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Mix:
    """Rows of each wiki in an epoch: `quota` rows, or in proportion to n ** alpha for a wiki of n rows.

    Exponential smoothing of languages: https://arxiv.org/abs/1901.07291, section 3.1.
    """

    quota: Mapping[str, int] | int | None = None
    alpha: float = 1.0


def parse_quota(text: str, names: Sequence[str]) -> Mapping[str, int] | int | None:
    """Parse `--quota`: a number for every wiki, or WIKI=NUMBER separated by commas, where other wikis are left out.

    Args:
        text: the value of the flag.
        names: wikis of the dataset.

    Returns:
        None for an empty text: all rows.

    Raises:
        UsageError: the text is neither, or names a wiki that the dataset does not have.

    >>> parse_quota("50000", ["dewiki"]), parse_quota("dewiki=5, jawiki=2", ["dewiki", "enwiki", "jawiki"])
    (50000, {'dewiki': 5, 'jawiki': 2})
    """
    if not text:
        return None
    try:
        if "=" not in text:
            return int(text)
        quota = {name.strip(): int(number) for name, _, number in (part.partition("=") for part in text.split(","))}
    except ValueError as error:
        raise UsageError(f"--quota={text}: must be a number, or wiki=number with commas between") from error
    unknown = sorted(quota.keys() - set(names))
    if unknown:
        raise UsageError(f"--quota={text}: no rows of {', '.join(unknown)}: there are {', '.join(sorted(names))}")
    return quota


def held_out_rows(rows: int, held_out: int, seed: int) -> Rows:
    """Return a random choice of `held_out` of `rows` rows, ascending; no epoch trains on them."""
    if held_out >= rows:
        raise UsageError(f"--held_out={held_out}: there are {rows} rows only")
    choice = np.random.default_rng([seed, HELD_OUT_STREAM]).choice(rows, held_out, replace=False)
    return np.sort(choice).astype(np.int64)


def wiki_counts(sizes: Sequence[int], names: Sequence[str], mix: Mix) -> list[int] | None:
    """Return the number of rows of each wiki in an epoch, or None where every row is used once.

    Args:
        sizes: rows of each wiki.
        names: the wikis.
        mix: their proportions.

    >>> wiki_counts([900, 100], ["enwiki", "dewiki"], Mix(alpha=0.5))
    [750, 250]
    """
    if mix.quota is not None:
        return [mix.quota.get(name, 0) if isinstance(mix.quota, Mapping) else mix.quota for name in names]
    if mix.alpha == 1:
        return None
    shares = np.array([size**mix.alpha if size else 0.0 for size in sizes])
    exact = shares / shares.sum() * sum(sizes)
    counts = np.floor(exact).astype(int)
    # The largest-remainder method: rows left over by rounding go to the wikis with the largest remainders.
    counts[np.argsort(counts - exact, kind="stable")[: sum(sizes) - int(counts.sum())]] += 1
    return [int(count) for count in counts]


def select_rows(
    wikis: NDArray[np.int16], names: Sequence[str], mix: Mix, excluded: Rows, seed: int, epoch: int
) -> Rows:
    """Return the rows of an epoch, ascending.

    Where the mix asks for more rows of a wiki than there are, its rows are repeated, and their numbers of repetitions
    differ by at most 1.

    Args:
        wikis: (rows,) index of each row's wiki.
        names: the wikis.
        mix: their proportions.
        excluded: held-out rows.
        seed, epoch: which random choice is drawn.
    """
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
        of_wiki = np.flatnonzero(allowed & (wikis == code))
        remainder = np.random.default_rng([seed, epoch, code]).permutation(size)[: count % size]
        parts += [*[of_wiki] * (count // size), of_wiki[remainder]]
    return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)


def shuffled(rows: Rows, seed: int, epoch: int) -> Rows:
    """Return rows in the order of an epoch.

    Up to `STREAM_ABOVE` rows, the order is a random permutation. Above, blocks of consecutive rows are shuffled, and
    then the rows within windows of a few blocks: only a window of the memory-mapped tokens is in use at a time, and
    the operating system's read-ahead works.
    """
    random = np.random.default_rng([seed, epoch])
    if len(rows) <= STREAM_ABOVE:
        return random.permutation(rows)
    blocks = np.array_split(rows, -(-len(rows) // BLOCK))
    order = random.permutation(len(blocks))
    windows = [order[start : start + BLOCKS_IN_WINDOW] for start in range(0, len(order), BLOCKS_IN_WINDOW)]
    return np.concatenate([random.permutation(np.concatenate([blocks[block] for block in part])) for part in windows])


def by_wiki(rows: Rows, wikis: NDArray[np.int16], size: int, seed: int, epoch: int) -> Rows:
    """Return rows so ordered that each `size` of them are of one wiki, in a random order of these groups.

    What is left of each wiki comes last, where wikis are mixed.

    Args:
        rows: rows in the order of an epoch; those of a wiki keep it.
        wikis: (rows of the dataset,) index of each row's wiki.
        size: sentences in a softmax.
        seed, epoch: which random order of groups is drawn.

    >>> by_wiki(np.array([4, 0, 3, 1, 2]), np.array([0, 0, 0, 1, 1], np.int16), 2, seed=42, epoch=0).tolist()
    [0, 1, 4, 3, 2]
    """
    ordered = rows[np.argsort(wikis[rows], kind="stable")]
    of_wikis = np.split(ordered, np.flatnonzero(np.diff(wikis[ordered])) + 1)
    wholes = [of_wiki[: len(of_wiki) // size * size].reshape(-1, size) for of_wiki in of_wikis]
    rests = [of_wiki[len(whole) * size :] for of_wiki, whole in zip(of_wikis, wholes, strict=True)]
    groups = np.random.default_rng([seed, epoch, WIKI_STREAM]).permutation(np.concatenate(wholes))
    return np.concatenate([groups.ravel(), *rests])


def pick_negatives(negatives: NDArray[np.int32], k: int, epoch: int) -> NDArray[np.int32]:
    """Return k hard negatives of each row, (rows, k), -1 where a row has fewer.

    The stored negatives are a random sample, so the next k of them in the next epoch are a new sample, until all are
    used and the first ones follow again.

    Args:
        negatives: (rows, stored) ids, padded with -1.
        k: negatives wanted.
        epoch: number of the epoch, 0 for the first k.

    >>> pick_negatives(np.array([[1, 2, 3], [7, -1, -1]], np.int32), 2, 1).tolist()
    [[3, 1], [7, -1]]
    """
    count = (negatives >= 0).sum(1, keepdims=True)
    position = np.arange(k)[None]
    if negatives.shape[1] == 0:
        return np.full((len(negatives), k), -1, np.int32)
    column = (epoch * k + position) % np.maximum(count, 1)
    return np.where(position < count, np.take_along_axis(negatives, column, 1), -1).astype(np.int32)
