"""Figure 7: which texts are shown, where they lie, and that the picture is the same twice."""

import importlib.util
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from wikianchor.io.errors import UsageError
from wikianchor.trainer.evaluate.files import SetSource
from wikianchor.trainer.evaluate.tasks.retrieval import Retrieval
from wikianchor.trainer.papers.figures.polar import (
    Scene,
    angles_between,
    colours,
    draw,
    pair_scene,
    panel,
    polar,
    retrieval_scene,
    umap,
)

PAIRS = [(f"a{number}", f"b{number}") for number in range(40)]


def test_a_scene_of_pairs_is_a_seeded_choice() -> None:
    scene = pair_scene(PAIRS, 10, 1)
    assert len(scene.texts) == scene.crosses == 20
    assert [(scene.texts[a][1:], scene.texts[b][1:]) for a, b in scene.lines] == [
        (scene.texts[a][1:],) * 2 for a, _ in scene.lines
    ]
    assert scene == pair_scene(PAIRS, 10, 1) != pair_scene(PAIRS, 10, 2)
    assert len(pair_scene(PAIRS, 100, 1).lines) == 40


def test_a_scene_of_queries_joins_what_answers_them() -> None:
    texts = [f"t{number}" for number in range(20)]
    found = Retrieval("r", texts, ["q0", "q1"], [frozenset({3, 1}), frozenset({1})], SetSource())
    scene = retrieval_scene(found, 5, 0)
    assert scene.texts[:4] == ["q0", "q1", "t1", "t3"]
    assert scene.lines == [(0, 2), (0, 3), (1, 2)]
    assert scene.crosses == 4
    assert len(scene.texts) == 9
    assert not {"t1", "t3"} & set(scene.texts[4:])


def test_polar_form_and_angles() -> None:
    places = polar(np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, 0.01], [-1.0, -0.01]]))
    assert places[1].tolist() == pytest.approx([2, math.pi / 2])
    found = angles_between(places, [(0, 1), (2, 3)])
    assert found.tolist() == pytest.approx([math.pi / 2, 0.02], abs=1e-3)


def test_colours_are_different_and_never_white() -> None:
    found = colours(100)
    assert len(set(found)) == 100
    assert (1.0, 1.0, 1.0) not in found


def vectors(scene: Scene) -> NDArray[np.float32]:
    """Both texts of a pair nearly the same."""
    random = np.random.default_rng(0)
    own = {text[1:]: random.normal(size=8) for text in scene.texts}
    return np.array([own[text[1:]] + 0.01 * random.normal(size=8) for text in scene.texts], np.float32)


def test_a_panel_says_how_near_pairs_are() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    scene = pair_scene(PAIRS, 20, 1)
    found = panel("m", scene, vectors(scene), lambda given: given[:, :2].astype(np.float64))
    assert found.cosine > 0.99
    assert found.angle < 0.3 < found.spread
    figure = Figure()
    draw(figure, [found, found], scene)
    assert len(figure.axes) == 2
    assert len(figure.axes[0].lines) == 20
    with pytest.raises(UsageError, match="too few"):
        panel("m", pair_scene(PAIRS, 2, 1), np.zeros((4, 8), np.float32), lambda given: given.astype(np.float64))


@pytest.mark.skipif(importlib.util.find_spec("umap") is None, reason="NO UMAP: pip install '.[figures]'")
@pytest.mark.filterwarnings("ignore")
def test_umap_keeps_pairs_together_and_is_the_same_twice() -> None:
    scene = pair_scene(PAIRS, 9, 1)
    given = vectors(scene)
    points = umap(3)(given)
    assert points.shape == (18, 2)
    assert np.array_equal(points, umap(3)(given))
    near = np.linalg.norm(points[0::2] - points[1::2], axis=1).mean()
    far = np.linalg.norm(points[0::2] - points[3::2].tolist()[:1], axis=1).mean()
    assert near < far / 2
