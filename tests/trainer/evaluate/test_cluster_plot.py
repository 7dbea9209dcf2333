"""The plot of MewsC-16's clusters."""

from pathlib import Path

import numpy as np
import pytest

from tests.trainer.evaluate.conftest import sentences, write
from wikianchor.trainer.evaluate.cluster_plot import principal
from wikianchor.trainer.evaluate.command import main


def test_principal_components_keep_what_varies_most() -> None:
    draw = np.random.default_rng(1)
    wide = draw.normal(size=(200, 2)) * (9, 3)
    turned, _ = np.linalg.qr(draw.normal(size=(6, 6)))
    vectors = np.hstack([wide, 0.01 * draw.normal(size=(200, 4))]) @ turned + 5
    found = principal(vectors.astype(np.float32))
    for number in range(2):
        # A sample of independent numbers is a little correlated.
        assert abs(np.corrcoef(found[:, number], wide[:, number])[0, 1]) > 0.95
        assert found[np.abs(found[:, number]).argmax(), number] > 0


def test_one_language_is_drawn(tmp_path: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for language in ("sv", "ja"):
        write(tmp_path / "sets" / f"{language}_sentences.txt", sentences(30, len(language)))
        write(tmp_path / "sets" / f"{language}_categories.txt", ["Sport", "Politik", "Kultur"] * 10)
    flags = [f"--model={tiny_model}", f"--data={tmp_path}/sets", "--tasks=mewsc16", "--seeds=2"]
    plot = tmp_path / "clusters.svg"
    assert main([*flags, "--languages=sv", f"--clusters={plot}"]) == 0
    assert "<svg" in plot.read_text()
    assert main([*flags, f"--clusters={plot}"]) == 2
    assert main([*flags, f"--model={tiny_model}", "--languages=sv", f"--clusters={plot}"]) == 2
    assert main([*flags, "--languages=sv", f"--clusters={tmp_path}/no/plot.svg"]) == 1
    said = capsys.readouterr().err
    assert "--clusters shows one model in one language" in said
    assert "cannot be written" in said
