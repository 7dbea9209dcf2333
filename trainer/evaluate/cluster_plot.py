"""A plot of clustered texts: their vectors on their first two principal components, once by label, once by cluster."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import InputError, UsageError

# As many colours as topics have labels, told apart in print too.
COLOURS = "tab20"
POINT = 6


def principal(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """vectors: (rows, dim); returns (rows, 2), the coordinates on the two directions of most variance.

    A direction's sign is free: the coordinate that is largest in size is made positive, so that a plot does not flip.
    """
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    found: NDArray[np.float64] = centred @ directions[:, : -(2 + 1) : -1]
    largest = found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])]
    return found * np.where(largest < 0, -1, 1)


def plot(
    name: str,
    vectors: NDArray[np.float32],
    labels: Sequence[int],
    names: Sequence[str],
    clusters: Sequence[int],
    path: str,
) -> None:
    """Draw the two panels.

    Args:
        name: of the set.
        vectors: (rows, dim).
        labels: number of each row's label.
        names: of the labels.
        clusters: number of each row's cluster.
        path: where the figure goes; its ending says in which format.

    Raises:
        UsageError: matplotlib is missing.
        InputError: the file cannot be written.
    """
    try:
        from matplotlib import colormaps
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(f"--clusters needs the extra eval ({error}): pip install 'wikianchor[eval]'") from error
    places = principal(vectors)
    figure = Figure(figsize=(12, 5), layout="constrained")
    by_label, by_cluster = figure.subplots(1, 2, sharex=True, sharey=True)
    colours = colormaps[COLOURS]
    for axes, numbers, title in ((by_label, labels, "labels"), (by_cluster, clusters, "clusters")):
        axes.set(title=f"{name}: {title}", xticks=[], yticks=[])
        for number in range(max(numbers) + 1):
            rows = np.asarray(numbers) == number
            label = names[number] if axes is by_label else None
            axes.scatter(places[rows, 0], places[rows, 1], POINT, color=colours(number % colours.N), label=label)
    figure.legend(loc="outside lower center", ncols=5, markerscale=3)
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: the plot cannot be written ({reason})") from error
