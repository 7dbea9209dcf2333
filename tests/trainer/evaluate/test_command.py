"""The command: what it prints and writes, and its one line for what is wrong."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.evaluate.conftest import sts_rows, write
from wikianchor.__main__ import main as wikianchor
from wikianchor.trainer.evaluate.command import main
from wikianchor.trainer.evaluate.files import SetSource
from wikianchor.trainer.evaluate.registry import TASKS, choose
from wikianchor.trainer.evaluate.report import short_names
from wikianchor.trainer.evaluate.task import SentenceVectors, progress
from wikianchor.trainer.evaluate.tasks import sts
from wikianchor.trainer.evaluate.tasks.clustering import Labelled
from wikianchor.trainer.models.encoder import Encoder


def test_tables_and_files(sets: Path, tiny_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    flags = [f"--model={tiny_model}", f"--data={sets}", "--tasks=STS", f"--output={out}", "--device=cpu"]
    assert main(flags) == 0
    text = capsys.readouterr().out
    assert "|  | STS12 | STS-B | SICK-R | Avg. of 3 |" in text
    assert "- STS13: no test part in" in text
    assert (out / "report.md").read_text() + "\n" == text
    (actual,) = out.glob("results/*/*/STS12.json")
    result = json.loads(actual.read_text())
    assert result["task_name"] == "STS12"
    assert f"{100 * result['scores']['test'][0]['main_score']:.2f}" in text
    assert result["source"]["used"] == 70
    assert len(result["source"]["files"]) == 4
    assert result["model"]["pooler"] == "avg"
    assert json.loads((actual.parent / "model_meta.json").read_text())["revision"] == result["model"]["revision"]


def test_json_repeats_but_for_time(sets: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [f"--model={tiny_model}", f"--data={sets}", "--tasks=stsb,sick-r", "--json", "--device=cpu"]
    runs = []
    for _ in range(2):
        assert main(flags) == 0
        results = json.loads(capsys.readouterr().out)
        runs.append([{key: result[key] for key in ("task_name", "scores", "model", "source")} for result in results])
    assert runs[0] == runs[1]
    assert [result["task_name"] for result in runs[0]] == ["STSBenchmark", "SICK-R"]


def test_two_models_are_two_rows(
    sets: Path, tiny_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.symlink_to(tiny_model)
    flags = [f"--model={tiny_model}", f"--model={other}", f"--data={sets}", "--tasks=sick", "--device=cpu"]
    assert main([*flags, "--split=dev"]) == 0
    text = capsys.readouterr().out
    assert "| tiny |" in text
    assert "| other |" in text


@pytest.mark.parametrize(
    ("flags", "status", "said"),
    [
        (["--tasks=nothing"], 2, "no task 'nothing'"),
        (["--tasks=STS16"], 1, "STS16: no test part in .* looked for STS16-en-test.* get it from https"),
        (["--tasks=STS12", "--split=dev"], 1, "STS12: no dev part"),
        (["--data=/nowhere"], 1, "/nowhere: no such directory"),
        (["--model=/nowhere"], 1, "/nowhere: no such directory"),
        (["--max_length=65"], 2, "takes 64 tokens"),
        (["--device=nothing"], 2, "--device=nothing"),
        (["--output=/proc/nothing"], 1, "^evaluate: /proc/nothing: cannot be written"),
    ],
)
def test_one_line_for_what_is_wrong(
    sets: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str], flags: list[str], status: int, said: str
) -> None:
    model = [] if any(flag.startswith("--model") for flag in flags) else [f"--model={tiny_model}"]
    data = [] if any(flag.startswith("--data") for flag in flags) else [f"--data={sets}"]
    assert main(["--device=cpu", "--tasks=SICK-R", *model, *data, *flags]) == status
    out, err = capsys.readouterr()
    assert not out
    line = err.splitlines()[-1]
    assert line.startswith("evaluate: ")
    import re

    assert re.search(said, line)


def test_an_odd_set_does_not_stop_the_others(
    sets: Path, tiny_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(sets / "other/SICK_test_annotated.txt", ["pair_ID\tsentence_A\tsentence_B\trelatedness_score"])
    flags = [f"--model={tiny_model}", f"--data={sets}", "--device=cpu", f"--output={tmp_path / 'out'}"]
    assert main([*flags, "--tasks=STS16,STSBenchmark,SICK-R.senteval", f"--sts={sets}/none.csv"]) == 1
    out, err = capsys.readouterr()
    failed = [line for line in err.splitlines() if line.startswith("evaluate: ")]
    starts = ("STS16: no test part", "SICK-R.senteval: ", f"{sets}/none.csv: no such file")
    assert [line.startswith(f"evaluate: {start}") for line, start in zip(failed, starts, strict=True)] == [True] * 3
    assert "is there several times and differs" in failed[1]
    assert "|  | STS-B |" in out
    assert all(f"- {line.removeprefix('evaluate: ')}" in out.splitlines() for line in failed)
    assert (tmp_path / "out/report.md").read_text() + "\n" == out


def test_outputs_are_checked_before_scoring(
    sets: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(Encoder, "load")
    (tmp_path / "file").write_text("")
    flags = [f"--model={tiny_model}", f"--data={sets}", "--tasks=sphere", f"--output={tmp_path}/file/out"]
    assert main(flags) == 1
    assert "cannot be written" in (line := capsys.readouterr().err.splitlines()[-1])
    assert line.endswith("choose another --output")


def test_results_are_written_one_by_one_and_not_computed_again(
    sets: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    flags = [f"--model={tiny_model}", f"--data={sets}", f"--output={out}", "--device=cpu", "--resume"]
    encode = Encoder.encode

    def interrupted(self: Encoder, texts: list[str], *rest: Any) -> Any:
        if len(list(out.glob("results/*/*/STS12.json"))):
            raise KeyboardInterrupt
        return encode(self, texts, *rest)

    monkeypatch.setattr(Encoder, "encode", interrupted)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        main([*flags, "--tasks=STS12,STSBenchmark"])
    (first,) = out.glob("results/*/*/STS12.json")
    assert not list(out.rglob("*.new"))
    monkeypatch.setattr(Encoder, "encode", encode)
    before = first.read_bytes()
    capsys.readouterr()
    assert main([*flags, "--tasks=STS12,STSBenchmark"]) == 0
    text, err = capsys.readouterr()
    assert "STS12: scored before" in err
    assert "STSBenchmark: 40 rows" in err
    assert first.read_bytes() == before
    assert f"{100 * json.loads(before)['scores']['test'][0]['main_score']:.2f}" in text
    monkeypatch.delattr(Encoder, "encode")
    assert main([*flags, "--tasks=STS12,STSBenchmark"]) == 0
    assert capsys.readouterr().out == text


@pytest.mark.parametrize("change", ["option", "file", "result"])
def test_a_result_of_other_options_or_files_is_computed_again(
    sets: Path, tiny_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    flags = [f"--model={tiny_model}", f"--data={sets}", f"--output={tmp_path / 'out'}", "--device=cpu", "--resume"]
    flags += ["--tasks=STSBenchmark"]
    assert main(flags) == 0
    if change == "file":
        write(sets / "STSBenchmark/sts-test.csv", [f"g\tf\ty\t1\t{g}\tkana\t{'lona ' * g}" for g in (1, 2, 3)])
    elif change == "result":
        (path,) = (tmp_path / "out").rglob("STSBenchmark.json")
        path.write_text(path.read_text()[:-30])
    assert main([*flags, "--whiten=4"] if change == "option" else flags) == 0
    assert "scored before" not in capsys.readouterr().err


def test_models_are_checked_before_scoring(
    sets: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(Encoder, "encode")
    flags = [f"--model={tiny_model}", "--model=/nowhere", f"--data={sets}", "--tasks=STS12", "--device=cpu"]
    assert main(flags) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("evaluate: /nowhere: no such directory")
    assert main([*flags[:1], *flags[2:], "--resume"]) == 2
    assert "--output is missing" in capsys.readouterr().err


def test_a_task_that_fails_does_not_stop_the_others(
    sets: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: Any) -> Any:
        raise ValueError("too large\nmore")

    monkeypatch.setattr(sts, "concatenate", fails)
    flags = [f"--model={tiny_model}", f"--data={sets}", "--device=cpu"]
    write(sets / "STS.en-de.txt", ["\t".join(row) for row in sts_rows(30)])
    assert main([*flags, "--tasks=STS12,sts17"]) == 1
    out, err = capsys.readouterr()
    line = f"STS12: {tiny_model} cannot be scored: too large"
    assert f"- {line}" in out.splitlines()
    assert "| EN-DE |" in out
    assert err.splitlines()[-1] == f"evaluate: {line}"
    assert main([*flags, "--tasks=STS12"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"evaluate: {line}"


def test_files_without_a_directory(sets: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [f"--sts={sets}/a/STS12-en-test/STS.input.one.txt", f"--sts={sets}/STSBenchmark/sts-dev.csv"]
    assert main([f"--model={tiny_model}", "--device=cpu", *files]) == 0
    assert "|  | STS.input.one.txt | sts-dev.csv |" in capsys.readouterr().out
    assert main([f"--model={tiny_model}", f"--sts={sets}/none.csv"]) == 1
    assert main([f"--model={tiny_model}"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        f"evaluate: {sets}/none.csv: no such file",
        "evaluate: --data is missing: the directory with evaluation sets; or --sts, a file",
    ]


def test_broken_rows_are_shown(sets: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sets / "STSBenchmark/sts-test.csv"
    write(path, [*path.read_text().splitlines(), "half a row", "g\tf\ty\t1\t\tkana\tlona"])
    assert main([f"--model={tiny_model}", f"--data={sets}", "--tasks=STSBenchmark", "--device=cpu"]) == 0
    assert "| STSBenchmark | 1 | 40 | 1 | 1 |" in capsys.readouterr().out


def test_tasks_by_name_group_and_case() -> None:
    assert [task.name for task in choose(["sts12", "STSB", "sts12"])] == ["STS12", "STSBenchmark"]
    assert choose(["all"]) == TASKS
    assert len({task.name for task in TASKS}) == len(TASKS)
    names = {task.name.lower() for task in TASKS}
    assert not [group for task in TASKS for group in task.groups if group in names or group != group.lower()]


def test_names_are_as_short_as_they_can_be() -> None:
    assert short_names(["/a/b/model", "/a/c/model", "x", "/a/b/model"]) == {
        "/a/b/model": "b/model",
        "/a/c/model": "c/model",
        "x": "x",
    }


def test_each_text_is_encoded_once(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder.load(str(tiny_model))
    seen: list[str] = []
    encode = encoder.encode

    def counted(texts: list[str], *rest: object) -> object:
        seen.extend(texts)
        return encode(texts, *rest)

    monkeypatch.setattr(encoder, "encode", counted)
    vectors = SentenceVectors(encoder)
    first = vectors(["kana", "lona", "kana"])
    second = vectors(["lona po", "kana"])
    assert seen == ["kana", "lona", "lona po"]
    assert (first[0] == first[2]).all()
    assert (first[0] == second[1]).all()
    assert vectors([]).shape == (0, 32)


def test_progress_is_for_terminals(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [Labelled(name, SetSource(), [], []) for name in ("de", "ja")]
    assert list(progress(parts)) == parts
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(progress(parts)) == parts
    assert "ja, 2 of 2" in capsys.readouterr().err


def test_it_runs_by_its_name(sets: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = wikianchor(["evaluate", f"--model={tiny_model}", f"--data={sets}", "--tasks=nothing"])
    assert (status, capsys.readouterr().err.count("\n")) == (2, 1)
