"""Positions of sentence pairs before and after training (SDJC, figure 7): vectors reduced to two dimensions by UMAP, in
polar coordinates.

The x-axis is the radius, the y-axis the angle. The sentences of a pair are connected by a line: the more horizontal the
lines, the closer the angles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import UsageError
from wikianchor.trainer.evaluate.metrics import pair_cosines
from wikianchor.trainer.evaluate.tasks.retrieval import Retrieval

Reduce = Callable[[NDArray[np.float32]], NDArray[np.float64]]
FEWEST = 5


class Scene(NamedTuple):
    """Texts of a figure.

    Attributes:
        texts: the texts.
        lines: pairs of texts that are connected.
        crosses: number of the first text that belongs to no pair; all following ones belong to none.
    """

    texts: list[str]
    lines: list[tuple[int, int]]
    crosses: int


class Panel(NamedTuple):
    """The panel of a model.

    Attributes:
        title: name of the model.
        points: (texts, 2) radius and angle.
        cosine: mean cosine of connected texts, before UMAP.
        angle: mean angle between connected texts, after UMAP.
        spread: mean angle between any two texts. UMAP's origin is arbitrary, so compare models by angle / spread.
    """

    title: str
    points: NDArray[np.float64]
    cosine: float
    angle: float
    spread: float


def pair_scene(pairs: Sequence[tuple[str, str]], most: int, seed: int) -> Scene:
    """Return the scene of a random sample of at most `most` pairs."""
    chosen = _sample(len(pairs), most, seed)
    texts = [text for row in chosen for text in pairs[row]]
    return Scene(texts, [(text, text + 1) for text in range(0, len(texts), 2)], len(texts))


def retrieval_scene(dataset: Retrieval, most: int, seed: int) -> Scene:
    """Return the scene of all queries, connected to their relevant texts, and a random sample of other texts."""
    relevant = sorted(set().union(*dataset.relevant))
    others = sorted(set(range(len(dataset.texts))) - set(relevant))
    index = {number: len(dataset.queries) + row for row, number in enumerate(relevant)}
    lines = [(query, index[number]) for query, listed in enumerate(dataset.relevant) for number in sorted(listed)]
    shown = [*dataset.queries, *(dataset.texts[number] for number in relevant)]
    crosses = [dataset.texts[others[row]] for row in _sample(len(others), most, seed)]
    return Scene([*shown, *crosses], lines, len(shown))


def _sample(total: int, most: int, seed: int) -> list[int]:
    if total <= most:
        return list(range(total))
    return sorted(np.random.default_rng(seed).choice(total, most, replace=False).tolist())


def umap(seed: int) -> Reduce:
    """Return a function that reduces vectors to two dimensions by UMAP with cosine; equal seeds give equal results.

    Raises:
        UsageError: it is not installed.
    """
    try:
        from umap import UMAP
    except ImportError as error:
        raise UsageError(f"the picture needs UMAP ({error}): pip install 'wikianchor[figures]'") from error

    def reduce(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        # With more than one thread umap-learn is not reproducible.
        neighbours = min(15, len(vectors) - 1)
        model = UMAP(n_neighbors=neighbours, n_components=2, metric="cosine", random_state=seed, n_jobs=1)
        return np.asarray(model.fit_transform(vectors), np.float64)

    return reduce


def polar(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return polar coordinates (radius, angle), (n, 2), of points (x, y), (n, 2); angles are from -pi to pi.

    >>> polar(np.array([[3.0, 4.0]])).round(4).tolist()
    [[5.0, 0.9273]]
    """
    return np.stack((np.hypot(points[:, 0], points[:, 1]), np.arctan2(points[:, 1], points[:, 0])), 1)


def angles_between(points: NDArray[np.float64], lines: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return the angle between the ends of each line, 0 to pi, of points in polar coordinates."""
    ends = np.array(lines)
    differences = np.abs(points[ends[:, 0], 1] - points[ends[:, 1], 1])
    return np.minimum(differences, 2 * math.pi - differences)


def panel(title: str, scene: Scene, vectors: NDArray[np.float32], reduce: Reduce) -> Panel:
    """Return the panel of a model.

    Args:
        title: name of the model.
        scene: texts of the figure.
        vectors: (texts, dim), of the scene's texts.
        reduce: from vectors to (texts, 2).

    Raises:
        UsageError: the scene has too few texts.
    """
    if len(scene.texts) < FEWEST:
        raise UsageError(f"{len(scene.texts)} sentences are too few for a picture: {FEWEST} at least")
    points = polar(reduce(vectors))
    ends = np.array(scene.lines)
    cosine = float(pair_cosines(vectors[ends[:, 0]], vectors[ends[:, 1]]).mean())
    all_pairs = [(first, second) for first in range(len(points)) for second in range(first)]
    angle, spread = (float(angles_between(points, lines).mean()) for lines in (scene.lines, all_pairs))
    return Panel(title, points, cosine, angle, spread)


def colours(count: int) -> list[tuple[float, float, float]]:
    """Return colours from an even grid in RGB, without white."""
    side = max(2, math.ceil((count + 1) ** (1 / 3)))
    steps = np.linspace(0, 1, side).tolist()
    grid = [(red, green, blue) for red in steps for green in steps for blue in steps][: side**3 - 1]
    return [grid[number * len(grid) // count] for number in range(count)]


def draw(figure: Any, panels: Sequence[Panel], scene: Scene) -> None:
    """Draw the panels side by side into a figure of matplotlib."""
    starts = sorted({first for first, _ in scene.lines})
    colour_of = dict(zip(starts, colours(len(starts)), strict=True))
    for axes, model in zip(np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True):
        for first, second in scene.lines:
            ends = model.points[[first, second]]
            axes.plot(ends[:, 0], ends[:, 1], color=colour_of[first], marker="o", markersize=3, linewidth=1)
        crosses = model.points[scene.crosses :]
        axes.scatter(crosses[:, 0], crosses[:, 1], 14, color="0.6", marker="x", linewidths=0.8)
        angles = f"mean angle of a pair {model.angle:.3f}, of any two {model.spread:.3f}"
        title = f"{model.title}\n{angles}; mean cosine of a pair {model.cosine:.3f}"
        axes.set(title=title, xlabel="length", ylabel="angle")
