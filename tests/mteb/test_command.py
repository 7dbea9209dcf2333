"""`wikianchor mteb`: what it writes and prints, and its one line for what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.mteb.conftest import write_mewsc16
from wikianchor.__main__ import main

TASKS = FIRST, SECOND = "MewsC16Clustering", "MewsC16BalancedClustering"


def scores_in(output: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the scores of each task as mteb reads them."""
    import mteb

    results = [mteb.TaskResult.from_disk(path) for path in output.glob("results/*/*/MewsC16*.json")]
    return {result.task_name: sorted(result.scores["test"], key=lambda row: row["hf_subset"]) for result in results}


def test_statistics_and_scores_are_written_as_mteb_reads_them(
    news: Path, tiny_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    flags = ["mteb", f"--data={news}", f"--output={out}", "--languages=ja,de"]
    assert main([*flags, f"--model={tiny_model}", "--device=cpu"]) == 0
    text, said = capsys.readouterr()
    assert [line.partition(":")[0] for line in said.splitlines()] == list(TASKS)
    for name, texts in zip(TASKS, (165, 135), strict=True):
        statistics = json.loads((out / f"descriptive_stats/Clustering/{name}.json").read_text())["test"]
        assert statistics["hf_subset_descriptive_stats"]["ja"]["num_samples"] == texts
        german, japanese = scores_in(out)[name]
        assert f"| ja | {texts} | 3 | 5 | {texts - 35} | {100 * japanese['v_measure']:.2f} |" in text
        assert german["languages"] == ["deu-Latn"]
    (meta,) = out.glob("results/*/*/model_meta.json")
    assert json.loads(meta.read_text())["name"] == f"{tiny_model.parent.name}/tiny"
    # The same command gives the same scores, and a changed dataset others.
    assert main([*flags, f"--model={tiny_model}", "--device=cpu", f"--output={tmp_path}/again"]) == 0
    assert scores_in(tmp_path / "again") == scores_in(out)
    other = write_mewsc16(tmp_path / "other", {"de": (9, 9), "ja": (9, 9, 9, 9)})
    assert main([*flags, f"--data={other}", f"--model={tiny_model}", "--device=cpu", f"--tasks={FIRST}"]) == 0
    assert scores_in(out)[FIRST] != scores_in(tmp_path / "again")[FIRST]
    assert scores_in(out)[SECOND] == scores_in(tmp_path / "again")[SECOND]


def test_without_a_model_the_statistics_are_written_alone(
    news: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mteb", f"--data={news}", f"--output={tmp_path}/out", "--tasks=MewsC16Clustering"]) == 0
    printed, said = capsys.readouterr()
    assert "| tr | 24 | 3 | 4 | 12 |\n" in printed
    assert said == ""
    files = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    assert files == ["out/descriptive_stats/Clustering/MewsC16Clustering.json"]


@pytest.mark.parametrize(
    ("flags", "status", "line"),
    [
        (["--tasks=MewsC16Cluster"], 2, "--tasks: no task 'MewsC16Cluster': did you mean MewsC16Clustering?"),
        (["--languages=it"], 1, "--languages=it: MewsC-16 is in ar, ca, cs, "),
        (["--data=nosuch"], 1, "--data=nosuch: no such directory"),
        (["--model=empty"], 1, "--model=empty: cannot be loaded ("),
        (["--model=nosuch/model"], 1, "--model=nosuch/model: cannot be loaded ("),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    flags: list[str],
    status: int,
    line: str,
    news: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert main(["mteb", f"--data={news}", "--output=out", "--tasks=MewsC16Clustering", *flags]) == status
    said = capsys.readouterr().err.splitlines()
    assert [text.startswith(f"mteb: {line}") for text in said] == [True], said
