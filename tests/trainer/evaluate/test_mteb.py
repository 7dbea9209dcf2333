"""mteb reads what we write, where it is installed."""

import json
from pathlib import Path

import pytest

from tests.trainer.evaluate.conftest import sts_rows, write
from wikianchor.trainer.evaluate.command import main


def test_mteb_reads_our_results(sets: Path, tiny_model: Path, tmp_path: Path) -> None:
    results = pytest.importorskip("mteb.results", reason="mteb is not installed: the shape of results is not checked")
    write(sets / "STS.en-de.txt", ["\t".join(row) for row in sts_rows(30)])
    out = tmp_path / "out"
    flags = [f"--model={tiny_model}", f"--data={sets}", "--tasks=sts,sts17,sphere", f"--output={out}", "--device=cpu"]
    assert main(flags) == 0
    files = sorted(path for path in out.glob("results/*/*/*.json") if path.name != "model_meta.json")
    assert len(files) == 6
    for path in files:
        ours = json.loads(path.read_text())
        theirs = results.TaskResult.from_disk(path)
        assert theirs.task_name == path.stem == ours["task_name"]
        split = "test" if "test" in ours["scores"] else "validation"
        expected = ours["scores"][split][0]["main_score"]
        assert theirs.scores[split][0]["main_score"] == expected
        if path.stem in ("STSBenchmark", "SICK-R"):
            assert theirs.get_score() == pytest.approx(expected)
