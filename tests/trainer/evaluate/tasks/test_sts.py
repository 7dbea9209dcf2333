"""STS sets in their layouts: which rows count, and which score is a year's."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainer.evaluate.conftest import sts_rows, write
from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.evaluate.command import main
from wikianchor.trainer.evaluate.dev import load_dev
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.metrics import pair_cosines, spearman
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.pairs import PROTOCOL, read_pairs
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.evaluate.tasks.sts import SETS
from wikianchor.trainer.models.encoder import Encoder


@pytest.fixture
def vectors(tiny_model: Path) -> SentenceVectors:
    return SentenceVectors(Encoder.load(str(tiny_model)))


ROWS = [("kana lona", "kana", "5.0"), ("lona", "mina tena", "1.5"), ('"rusi" kata', "ruta", "0")]


def layouts() -> dict[str, list[str]]:
    named = "sentence_id\tSentence1\tscore\tsentence2"
    return {
        "sts-test.csv": [f"g\tf\ty\t1\t{g}\t{a}\t{b}\tmore" for a, b, g in ROWS],
        "gold_first.csv": [f"{g}\t{a}\t{b}" for a, b, g in ROWS],
        "gold_last.txt": [f"{a}\t{b}\t{g}" for a, b, g in ROWS],
        "commas.csv": [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in ROWS],
        "named.tsv": [named, *(f"7\t{a}\t{g}\t{b}" for a, b, g in ROWS)],
        "lines.json": [json.dumps({"sentence1": a, "sentence2": b, "label": float(g)}) for a, b, g in ROWS],
    }


@pytest.mark.parametrize("name", [*layouts(), "table.parquet"])
def test_every_layout_gives_the_same_pairs(tmp_path: Path, name: str) -> None:
    if name == "table.parquet":
        import pyarrow as pa
        from pyarrow import parquet

        columns = list(zip(*ROWS, strict=True))
        table = pa.table({"sentence1": columns[0], "sentence2": columns[1], "score": [float(g) for g in columns[2]]})
        parquet.write_table(table, tmp_path / name)
    else:
        write(tmp_path / name, layouts()[name])
    pairs = read_pairs(EvaluationFiles(str(tmp_path)), name, "it")
    assert (pairs.first, pairs.second) == ([a for a, *_ in ROWS], [b for _, b, _ in ROWS])
    assert pairs.gold.tolist() == [5, 1.5, 0]
    assert (pairs.source.rows, pairs.source.kept, list(pairs.source.files)) == (3, 3, [name])


def test_rows_without_gold_and_broken_rows_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "STS15-en-test"
    folder.mkdir()
    texts = [b"a\tb", b"c\td", b"one column", b"e\tf", b"\xff\tg", b"\ti", b"j\tk"]
    (folder / "STS.input.x.txt").write_bytes(b"\n".join(texts))
    write(folder / "STS.gs.x.txt", ["1", "", "2", "three", "4", "5", "nan"])
    (pairs,) = SETS["STS15"].load(EvaluationFiles(str(tmp_path)), EvaluateOptions())
    assert (pairs.first, pairs.second, pairs.gold.tolist()) == (["a"], ["b"], [1])
    assert (pairs.source.rows, pairs.source.blank, pairs.source.broken) == (7, 1, 5)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"STS.input.x.txt": ["a\tb"]}, "its gold scores .*STS.gs.x.txt are missing"),
        ({"STS.input.x.txt": ["a\tb"], "STS.gs.x.txt": ["1", "2"]}, "differ in lines: .* has 1, .* has 2"),
        ({"STS.input.x.txt": ["a\tb"], "STS.gs.x.txt": [" "]}, "no row of x can be used"),
    ],
)
def test_broken_years(tmp_path: Path, files: dict[str, list[str]], said: str) -> None:
    for name, lines in files.items():
        write(tmp_path / "STS13-en-test" / name, lines)
    with pytest.raises(InputError, match=said):
        SETS["STS13"].load(EvaluationFiles(str(tmp_path)), EvaluateOptions())


@pytest.mark.parametrize(
    ("name", "lines", "said"),
    [
        ("x.tsv", ["a\tb"], "2 columns and no header"),
        ("x.tsv", ["sentence1\tsentence2", "a\tb"], "a score are needed"),
        ("x.json", ["[]", "no"], "no row that can be read"),
        ("x.parquet", ["no"], r"x\.parquet: .*Parquet"),
        ("x.csv", [], "0 columns"),
    ],
)
def test_layouts_that_are_none(tmp_path: Path, name: str, lines: list[str], said: str) -> None:
    write(tmp_path / name, lines)
    with pytest.raises(InputError, match=said):
        read_pairs(EvaluationFiles(str(tmp_path)), name, "it")


def test_a_year_is_all_its_pairs_together(sets: Path, vectors: SentenceVectors) -> None:
    parts = SETS["STS12"].load(EvaluationFiles(str(sets)), EvaluateOptions())
    assert [(part.name, len(part)) for part in parts] == [("one", 30), ("two.more", 40)]
    (row,) = SETS["STS12"].score(parts, vectors, EvaluateOptions()).splits["test"]
    cosines = [pair_cosines(vectors(part.first), vectors(part.second)) for part in parts]
    each = [spearman(values, part.gold) for values, part in zip(cosines, parts, strict=True)]
    together = spearman(np.concatenate(cosines), np.concatenate([part.gold for part in parts]))
    assert row["main_score"] == row["cosine_spearman"] == pytest.approx(together)
    assert row["mean"] == pytest.approx(sum(each) / 2)
    assert row["wmean"] == pytest.approx((30 * each[0] + 40 * each[1]) / 70)
    assert row["sets"]["one"]["spearman"] == pytest.approx(each[0])
    assert row["rows"] == 70


def test_sick_is_its_test_part_in_the_papers_and_all_pairs_in_mteb(sets: Path, vectors: SentenceVectors) -> None:
    papers, mteb = SETS["SICK-R.senteval"], SETS["SICK-R"]
    data = EvaluationFiles(str(sets))
    rows = {}
    for task in (papers, mteb):
        scores = task.score(task.load(data, EvaluateOptions()), vectors, EvaluateOptions())
        ((rows[task.name],),) = scores.splits.values()
        assert list(scores.splits) == ["test"]
        assert scores.cells[0].value == rows[task.name]["main_score"]
    assert {name: row["rows"] for name, row in rows.items()} == {"SICK-R.senteval": 25, "SICK-R": 75}
    (part,) = papers.load(data, EvaluateOptions(split="dev"))
    assert list(papers.score([part], vectors, EvaluateOptions(split="dev")).splits) == ["dev"]
    assert mteb.load(data, EvaluateOptions(split="dev")) == []
    (sets / "SICK_train.txt").unlink()
    data = EvaluationFiles(str(sets))
    assert mteb.load(data, EvaluateOptions()) == []
    assert [part.name for part in papers.load(data, EvaluateOptions())] == ["test"]


def test_the_japanese_sick_of_the_same_name_is_not_the_english(sets: Path) -> None:
    head = "pair_ID\tsentence_A\tsentence_B\trelatedness_score"
    for part in ("train", "trial", "test_annotated"):
        write(sets / f"ja/SICK_{part}.txt", [head, "1\t猫がいる。\t犬がいる。\t3.0"])
    data = EvaluationFiles(str(sets))
    assert [len(part) for part in SETS["SICK-R"].load(data, EvaluateOptions())] == [25, 25, 25]
    (pairs,) = SETS["JSICK"].load(data, EvaluateOptions())
    assert pairs.first == ["猫がいる。"]
    for part in ("train", "trial", "test_annotated"):
        (sets / f"SICK_{part}.txt").unlink()
    assert SETS["SICK-R"].load(EvaluationFiles(str(sets)), EvaluateOptions()) == []


def test_sick_in_one_file(tmp_path: Path) -> None:
    head = "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tSemEval_set"
    sets = ["TRAIN"] * 5 + ["TRIAL"] * 4 + ["TEST"] * 6
    rows = [
        f"{n}\t{a}\t{b}\tNEUTRAL\t{g}\t{part}"
        for n, ((a, b, g), part) in enumerate(zip(sts_rows(15), sets, strict=True))
    ]
    write(tmp_path / "SICK.txt", [head, *rows])
    parts = SETS["SICK-R"].load(EvaluationFiles(str(tmp_path)), EvaluateOptions())
    assert [(part.name, len(part)) for part in parts] == [("train", 5), ("dev", 4), ("test", 6)]
    write(tmp_path / "SICK.txt", [head.replace("SemEval_set", "x"), *rows])
    with pytest.raises(InputError, match="has no column SemEval_set"):
        SETS["SICK-R"].load(EvaluationFiles(str(tmp_path)), EvaluateOptions())


def test_the_english_benchmark_is_told_from_translations(sets: Path) -> None:
    """A translation has three columns under the same name; stsb-multi-mt says its language."""
    write(sets / "ja/STSBenchmark/sts-test.csv", [f"{g}\t{a}\t{b}" for a, b, g in sts_rows(9)])
    write(sets / "multi/stsb-en-test.csv", [f"{a},{b},{g}" for a, b, g in sts_rows(12)])
    write(sets / "multi/stsb-de-test.csv", [f"{a},{b},{g}" for a, b, g in sts_rows(13)])
    (pairs,) = SETS["STSBenchmark"].load(EvaluationFiles(str(sets)), EvaluateOptions())
    assert len(pairs) == 40
    (sets / "STSBenchmark/sts-test.csv").unlink()
    (pairs,) = SETS["STSBenchmark"].load(EvaluationFiles(str(sets)), EvaluateOptions())
    assert len(pairs) == 12


def test_tracks_with_gold_apart_and_in_a_column(tmp_path: Path, vectors: SentenceVectors) -> None:
    rows = sts_rows(20)
    write(tmp_path / "in/STS.input.track1.ar-ar.txt", [f"{a}\t{b}" for a, b, _ in rows])
    write(tmp_path / "gold/STS.gs.track1.ar-ar.txt", [gold for *_, gold in rows])
    write(tmp_path / "in/STS.input.track4b.es-en-wmt.txt", ["\t".join(row) for row in rows])
    write(tmp_path / "more/STS.ar-ar.txt", ["another\tform\t3"])
    write(tmp_path / "more/STS.en-de.txt", [*("\t".join(row) for row in rows), "two\tcolumns"])
    parts = SETS["STS17"].load(EvaluationFiles(str(tmp_path)), EvaluateOptions())
    assert [(part.name, part.source.kept, part.source.broken) for part in parts] == [
        ("ar-ar", 20, 0),
        ("en-de", 20, 1),
        ("es-en-wmt", 20, 0),
    ]
    scores = SETS["STS17"].score(parts, vectors, EvaluateOptions())
    assert [row["languages"] for row in scores.splits["test"]][1] == ["eng-Latn", "deu-Latn"]
    assert len({cell.value for cell in scores.cells}) == 1


def test_translations_by_language(tmp_path: Path, vectors: SentenceVectors) -> None:
    for code in ("de", "zh"):
        write(tmp_path / f"data/stsb-{code}-test.csv", [f'"{a}",{b},{g}' for a, b, g in sts_rows(20)])
    head = "genre\tfilename\tyear\tid\tscore\tsentence1\tsentence2"
    write(tmp_path / "sts-test.tsv", [head, *(f"g\tf\ty\t1\t{g}\t{a}\t{b}" for a, b, g in sts_rows(20))])
    data = EvaluationFiles(str(tmp_path))
    parts = SETS["STSBenchmarkMultilingualSTS"].load(data, EvaluateOptions())
    assert [(part.name, len(part)) for part in parts] == [("de", 20), ("zh", 20)]
    assert [
        part.name for part in SETS["STSBenchmarkMultilingualSTS"].load(data, EvaluateOptions(languages=("cmn",)))
    ] == ["zh"]
    (korean,) = SETS["KorSTS"].load(data, EvaluateOptions())
    assert len(korean) == 20
    assert SETS["KorSTS"].load(data, EvaluateOptions(split="dev")) == []
    scores = SETS["KorSTS"].score([*parts, korean], vectors, EvaluateOptions())
    assert len({row["main_score"] for row in scores.splits["test"]}) == 1


def test_dev_score(sets: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder.load(str(tiny_model))
    dev = load_dev(str(sets), "STSBenchmark")
    pairs = dev.pairs
    assert len(pairs) == 40
    expected = spearman(pair_cosines(encoder.encode(pairs.first), encoder.encode(pairs.second)), pairs.gold)
    assert dev.score(encoder) == pytest.approx(100 * expected)
    monkeypatch.delattr(Encoder, "tokenize")
    assert dev.score(encoder) == pytest.approx(100 * expected)
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.zero_()
    assert dev.score(encoder) == 0


def test_dev_parts_that_are_not_there(sets: Path) -> None:
    with pytest.raises(UsageError, match="STS12: has no dev part"):
        load_dev(str(sets), "STS12")
    (sets / "SICK_trial.txt").unlink()
    with pytest.raises(InputError, match="no dev part of SICK-R"):
        load_dev(str(sets), "SICK-R")


def test_a_dev_score_compiles_nothing(options: dict[str, Any], sets: Path) -> None:
    from tests.trainer.loop.test_train import ready

    run = ready(options | {"dev": str(sets)})
    compiled = []

    def backend(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        compiled.append(inputs)
        return graph.forward

    run.model.encoder.backbone.compile(backend=backend, dynamic=False)
    run.dev.score(run.model)
    assert not compiled
    run.model.encoder.encode(["kana"])
    assert compiled


def test_training_chooses_by_it(options: dict[str, Any], sets: Path) -> None:
    from tests.trainer.loop.test_train import log_of
    from wikianchor.trainer import task
    from wikianchor.trainer.config import make

    options |= {"dev": str(sets), "dev_tasks": "STSBenchmark,SICK-R", "eval_steps": 5, "max_steps": 10}
    task.run(make("simcse", options, {}))
    lines = log_of(options, "dev")
    assert [line["step"] for line in lines] == [5, 10]
    for line in lines:
        assert line["score"] == pytest.approx((line["STSBenchmark"] + line["SICK-R"]) / 2, abs=1e-4)
    with pytest.raises(InputError, match="no dev part of STSBenchmark"):
        task.run(make("simcse", options | {"dev": str(sets / "a"), "output": options["output"] + "2"}, {}))


def test_whitening_does_not_change_the_protocol_of_the_next_model(sets: Path, tiny_model: Path) -> None:
    files = [f"--model={tiny_model}", "--device=cpu", f"--sts={sets}/STSBenchmark/sts-dev.csv"]
    assert main([*files, "--whiten=4"]) == 0
    assert "whitening" not in PROTOCOL
