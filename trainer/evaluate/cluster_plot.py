"""A plot of clustered texts: vectors on their first two principal components, coloured by label and by cluster."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wikianchor.trainer.evaluate.figure import new_figure, save_figure

# A colour map with as many colours as MewsC-16 has labels.
COLOURS = "tab20"
POINT_SIZE = 6


def principal(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the coordinates of vectors (rows, dim) on their first two principal components, (rows, 2).

    The sign of a component is arbitrary: it is chosen so that the coordinate with the largest absolute value is
    positive, and the same vectors always give the same plot.
    """
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    coordinates: NDArray[np.float64] = centred @ directions[:, : -(2 + 1) : -1]
    largest = coordinates[np.abs(coordinates).argmax(axis=0), np.arange(coordinates.shape[1])]
    return coordinates * np.where(largest < 0, -1, 1)


def plot(
    name: str,
    vectors: NDArray[np.float32],
    labels: Sequence[int],
    names: Sequence[str],
    clusters: Sequence[int],
    path: str,
) -> None:
    """Draw one panel coloured by label and one by cluster.

    Args:
        name: of the set.
        vectors: (rows, dim).
        labels: number of each row's label.
        names: of the labels.
        clusters: number of each row's cluster.
        path: of the figure; its ending says in which format.

    Raises:
        UsageError: matplotlib is not installed.
        InputError: the file cannot be written.
    """
    figure = new_figure((12, 5))
    from matplotlib import colormaps

    points, colours = principal(vectors), colormaps[COLOURS]
    panels = (("labels", labels, names), ("clusters", clusters, [None] * len(vectors)))
    for axes, (title, numbers, legend) in zip(figure.subplots(1, 2, sharex=True, sharey=True), panels, strict=True):
        axes.set(title=f"{name}: {title}", xticks=[], yticks=[])
        for number in range(max(numbers) + 1):
            x, y = points[np.asarray(numbers) == number].T
            axes.scatter(x, y, POINT_SIZE, color=colours(number % colours.N), label=legend[number])
    figure.legend(loc="outside lower center", ncols=5, markerscale=3)
    save_figure(figure, path)
