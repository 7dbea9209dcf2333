"""How pairs lie before and after training (SDJC, figure 7): vectors by UMAP on two dimensions, these in polar form.

The x-axis is the length of what UMAP gives, the y-axis its angle. Sentences that belong together are joined by a line
of their own colour: the more level the lines, the nearer the angles.
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
    """Texts, and which of them are joined; texts from `crosses` on belong to none."""

    texts: list[str]
    lines: list[tuple[int, int]]
    crosses: int


class Panel(NamedTuple):
    """A model's picture of a scene: (texts, 2) lengths and angles, and how near the joined are.

    cosine: mean of the cosines of the joined texts, before UMAP; angle: mean of the angles between them, after it;
    spread: the same of any two texts. UMAP's origin is anywhere, so angles of two models compare by their share of it.
    """

    title: str
    places: NDArray[np.float64]
    cosine: float
    angle: float
    spread: float


def pair_scene(pairs: Sequence[tuple[str, str]], most: int, seed: int) -> Scene:
    """Return a random choice of pairs, each text a point of its own."""
    chosen = _sample(len(pairs), most, seed)
    texts = [text for row in chosen for text in pairs[row]]
    return Scene(texts, [(place, place + 1) for place in range(0, len(texts), 2)], len(texts))


def retrieval_scene(found: Retrieval, most: int, seed: int) -> Scene:
    """Return all queries, each joined to the texts that answer it, and a random choice of texts that answer none."""
    relevant = sorted(set().union(*found.relevant))
    others = [number for number in range(len(found.texts)) if number not in set(relevant)]
    place = {number: len(found.queries) + row for row, number in enumerate(relevant)}
    lines = [(query, place[number]) for query, listed in enumerate(found.relevant) for number in sorted(listed)]
    shown = [*found.queries, *(found.texts[number] for number in relevant)]
    crosses = [found.texts[others[row]] for row in _sample(len(others), most, seed)]
    return Scene([*shown, *crosses], lines, len(shown))


def _sample(total: int, most: int, seed: int) -> list[int]:
    if total <= most:
        return list(range(total))
    return sorted(np.random.default_rng(seed).choice(total, most, replace=False).tolist())


def umap(seed: int) -> Reduce:
    """Return UMAP on two dimensions by cosine; the same seed gives the same picture.

    Raises:
        UsageError: it is not installed.
    """
    try:
        from umap import UMAP
    except ImportError as error:
        raise UsageError(f"the picture needs UMAP ({error}): pip install 'wikianchor[figures]'") from error

    def reduce(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        # One thread: with more, umap-learn is not the same twice.
        near = min(15, len(vectors) - 1)
        model = UMAP(n_neighbors=near, n_components=2, metric="cosine", random_state=seed, n_jobs=1)
        return np.asarray(model.fit_transform(vectors), np.float64)

    return reduce


def polar(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """points: (n, 2) x and y; returns (n, 2) length and angle, the angle between -pi and pi."""
    return np.stack((np.hypot(points[:, 0], points[:, 1]), np.arctan2(points[:, 1], points[:, 0])), 1)


def angles_between(places: NDArray[np.float64], lines: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return the angle between the ends of each line, from 0 to pi."""
    ends = np.array(lines)
    apart = np.abs(places[ends[:, 0], 1] - places[ends[:, 1], 1])
    return np.minimum(apart, 2 * math.pi - apart)


def panel(title: str, scene: Scene, vectors: NDArray[np.float32], reduce: Reduce) -> Panel:
    """vectors: (texts, dim) of a scene.

    Raises:
        UsageError: there are too few texts for a picture.
    """
    if len(scene.texts) < FEWEST:
        raise UsageError(f"{len(scene.texts)} sentences are too few for a picture: {FEWEST} at least")
    places = polar(reduce(vectors))
    ends = np.array(scene.lines)
    cosine = float(pair_cosines(vectors[ends[:, 0]], vectors[ends[:, 1]]).mean())
    every = [(first, second) for first in range(len(places)) for second in range(first)]
    angle, spread = (float(angles_between(places, lines).mean()) for lines in (scene.lines, every))
    return Panel(title, places, cosine, angle, spread)


def colours(count: int) -> list[tuple[float, float, float]]:
    """Return colours that lie evenly in the cube of red, green and blue, without the lightest corner."""
    side = max(2, math.ceil((count + 1) ** (1 / 3)))
    steps = np.linspace(0, 1, side).tolist()
    every = [(red, green, blue) for red in steps for green in steps for blue in steps][: side**3 - 1]
    return [every[number * len(every) // count] for number in range(count)]


def draw(figure: Any, panels: Sequence[Panel], scene: Scene) -> None:
    """Draw the panels side by side into a figure of matplotlib."""
    owners = sorted({first for first, _ in scene.lines})
    own = dict(zip(owners, colours(len(owners)), strict=True))
    for axes, one in zip(np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True):
        for first, second in scene.lines:
            ends = one.places[[first, second]]
            axes.plot(ends[:, 0], ends[:, 1], color=own[first], marker="o", markersize=3, linewidth=1)
        crosses = one.places[scene.crosses :]
        axes.scatter(crosses[:, 0], crosses[:, 1], 14, color="0.6", marker="x", linewidths=0.8)
        under = (
            f"mean angle of a pair {one.angle:.3f}, of any two {one.spread:.3f}; mean cosine of a pair {one.cosine:.3f}"
        )
        axes.set(title=f"{one.title}\n{under}", xlabel="length", ylabel="angle")
