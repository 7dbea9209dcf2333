"""Comparisons of arms: trained by seed, scored item by item, and taken up where they were stopped."""

import shutil
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import load_file, save_file
from scipy.stats import spearmanr

from tests.trainer.evaluate.conftest import sentences, write
from tests.trainer.pairs import pair_rows, write_pairs
from wikianchor.io.errors import InputError
from wikianchor.trainer.data.shards import open_pairs
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.papers import arms, judges, variants
from wikianchor.trainer.papers.command import main
from wikianchor.trainer.papers.intervals import joint_interval
from wikianchor.trainer.papers.options import COMPARISONS, ArmOptions

SMALL = ["--device=cpu", "--max_steps=2", "--softmax_size=8", "--max_length=24"]


@pytest.fixture
def wikis(tmp_path: Path) -> Path:
    """Pairs of English, German and Cornish."""
    names = ("enwiki", "dewiki", "kwwiki")
    rows = [row | {"wiki": names[number % 3]} for number, row in enumerate(pair_rows(600))]
    return write_pairs(tmp_path / "pairs", rows)


@pytest.fixture
def flags(sets: Path, wikis: Path, tiny_model: Path, tmp_path: Path) -> list[str]:
    for code in ("cor", "deu", "eng"):
        for side in (code, "eng"):
            write(sets / "more" / f"tatoeba.{code}-eng.{side}", sentences(20))
    for code in ("en", "de"):
        texts = sentences(40)
        rows = [f"{texts[number]},{texts[number + 20]},{number}.0" for number in range(20)]
        write(sets / "more" / f"stsb-{code}-test.csv", rows)
    paths = {"data": wikis, "evaluation": sets, "model": tiny_model, "output": tmp_path / "o", "cache": tmp_path / "c"}
    return [*SMALL, "--seeds=1,2", *(f"--{name}={path}" for name, path in paths.items())]


def test_a_language_before_and_after(
    flags: list[str], tiny_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["figure2", *flags, "--quota=40"]) == 0
    first = capsys.readouterr()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in first.out.splitlines() if "Tatoeba" in line]
    assert [row[:2] for row in rows] == [
        [f"Tatoeba {language}", name]
        for language in ("de", "kw")
        for name in ("before", "SimCSE", "EASE", "EASE, entities of other rows")
    ]
    assert [bool(row[3]) for row in rows] == [False, True, True, True] * 2
    for before, row in pairwise(rows):
        gained = float(row[2].split()[0]) - float(before[2].split()[0])
        assert not row[4] if row[1] == "before" else float(row[4].split()[0]) == pytest.approx(gained, abs=0.011)
    assert first.err.count("step 2/2 | loss") == 12
    assert (tmp_path / "o" / "figure2.md").read_text() + "\n" == first.out
    # Models are gone, scores are kept.
    assert list((tmp_path / "o" / "runs").iterdir()) == []
    # Again: only what is not scored is trained, and the numbers are the same.
    (tmp_path / "o" / "scores" / "EASE-kw-2.npz").unlink()
    assert main(["figure2", *flags, "--quota=40"]) == 0
    again = capsys.readouterr()
    assert again.err.count("step 2/2 | loss") == 1
    assert again.out == first.out
    # Another model gets vectors of its own, and a file of the user's that is missing is not written.
    other = shutil.copytree(tiny_model, tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    save_file({name: values + 0.1 for name, values in weights.items()}, other / "model.safetensors", {"format": "pt"})
    assert main(["figure2", *flags, "--quota=40", f"--model={other}", "--seeds=1"]) == 0
    assert capsys.readouterr().err.count("step 2/2 | loss") == 6
    assert len([*(tmp_path / "o").glob("vectors-*.safetensors")]) == 2
    missing = tmp_path / "none.safetensors"
    assert main(["figure2", *flags, "--quota=40", f"--entity_vectors={missing}"]) == 1
    assert not missing.exists()
    capsys.readouterr()
    # With other options nothing is taken up.
    assert main(["figure2", *flags, "--quota=40", "--learning_rate=1e-4"]) == 0
    assert capsys.readouterr().err.count("step 2/2 | loss") == 12


def test_simcse_takes_the_preset_of_the_same_backbone(wikis: Path, tmp_path: Path) -> None:
    flags = {"preset": "ease-mbert-paper", "data": str(wikis), "output": str(tmp_path / "o"), "entity_vectors": "v"}
    run = arms.ArmsRun(COMPARISONS["figure2"], flags, ArmOptions(evaluation=str(tmp_path)))
    simcse, ease = (run.config(arm, "kw", 1) for arm in run.comparison.arms[1:3])
    assert (simcse.preset, ease.preset) == ("simcse-mbert", "ease-mbert-paper")
    assert (simcse.softmax_size, ease.softmax_size) == (128, 256)


def test_english_and_another_language_are_needed(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row | {"wiki": "enwiki"} for row in pair_rows(80)]
    assert main(["figure2", *flags, f"--data={write_pairs(tmp_path / 'english', rows)}"]) == 1
    assert capsys.readouterr().err.endswith("/english: has pairs of enwiki: English and another are needed\n")


def test_negatives_of_each_kind(flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["negatives", *flags]) == 0
    shown = capsys.readouterr()
    assert shown.err.count("step 2/2 | loss") == 8
    for name in ("Tatoeba kw", "STSBenchmark", "entities of one type", "items", "all sets"):
        for arm in ("none", "random", "typed", "mined", "before"):
            assert any(line.startswith(f"| {name}") and f"| {arm} |" in line for line in shown.out.splitlines()), name
    # No arm is trained on an entity that is held out.
    for directory in (tmp_path / "o" / "data").iterdir():
        assert not variants.is_held_out(variants.read_pairs(open_pairs(str(directory)))).any()


def test_negatives_of_a_new_model(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    flags = [flag for flag in flags if not flag.startswith("--model=")]
    assert main(["negatives", *flags, "--new=static"]) == 0
    shown = capsys.readouterr()
    assert shown.err.count("step 2/2 | loss") == 6
    arms = [line.split("|")[2].strip() for line in shown.out.splitlines() if line.startswith("| all sets")]
    # No encoder finds the nearest, and a model before its training has nothing to show.
    assert arms == ["none", "random", "typed"]
    assert "a new model, 2 seeds" in shown.out
    assert main(["figure2", *flags, "--new=static"]) == 2
    assert "--new: these are languages" in capsys.readouterr().err


def test_pairs_are_built_from_dumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(command[3:])
        return subprocess.CompletedProcess(command, len(ran) == 4)

    monkeypatch.setattr(subprocess, "run", run)
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    (dumps / "kwwiki-20260101-pages-articles.xml.bz2").touch()
    # What `wikianchor download` writes beside the dumps is no dump.
    (dumps / "download.json").touch()
    assert arms.build_pairs(str(dumps), "out") == "out/pairs"
    items = "out/wikidata.json.gz"
    assert ran == [
        ["items", f"--dumps={dumps}", f"--output={items}"],
        ["build", f"--dumps={dumps},{items}", "--output=out"],
    ]
    (dumps / "wikidata-20260101-all.json.bz2").touch()
    arms.build_pairs(str(dumps), "out")
    assert ran[2:] == [["build", f"--dumps={dumps}", "--output=out"]]
    with pytest.raises(InputError, match=r"^`wikianchor build .*` has failed$"):
        arms.build_pairs(str(dumps), "out")


def test_what_variants_change(wikis: Path, tiny_model: Path) -> None:
    pairs, model = open_pairs(str(wikis)), str(tiny_model)
    rows = variants.read_pairs(pairs)
    others = variants.shuffled(rows, pairs, model)
    for wiki in ("enwiki", "kwwiki"):
        before, after = (
            table.filter(pa.compute.equal(table["wiki"], wiki))["entity_id"].to_pylist() for table in (rows, others)
        )
        assert Counter(before) == Counter(after)
        assert before != after
    assert others["text"].equals(rows["text"])
    pages: dict[tuple[str, int], set[int]] = {}
    for row in rows.to_pylist():
        pages.setdefault((row["wiki"], row["page_id"]), set()).add(row["entity_id"])
    for change in (variants.random_negatives, variants.mined_negatives):
        changed = change(rows, pairs, model)
        assert changed.drop_columns("hard_negative_ids").equals(rows.drop_columns("hard_negative_ids"))
        assert changed["hard_negative_ids"] != rows["hard_negative_ids"]
        for row, before in zip(changed.to_pylist(), rows.to_pylist(), strict=True):
            assert not set(row["hard_negative_ids"]) & pages[row["wiki"], row["page_id"]]
            assert len(row["hard_negative_ids"]) <= len(before["hard_negative_ids"])


def test_entities_are_judged_without_their_names(tiny_model: Path) -> None:
    texts = ["ka one", "ka two", "lo one", "lo two"]
    rows = pa.table(
        {
            "text": texts,
            "mention_start": [0, 0, 0, 0],
            "mention_end": [2, 2, 2, 2],
            "entity_id": [1, 1, 2, 2],
            "type_qid": [5, 5, 5, 5],
            "wiki": ["enwiki", "dewiki", "enwiki", "dewiki"],
            "page_id": [1, 2, 3, 4],
        }
    )
    assert judges.masked(rows) == ["… one", "… two", "… one", "… two"]
    assert judges.one_of_each(rows) == []
    same_wiki = rows.set_column(5, "wiki", pa.array(["enwiki"] * 4))
    assert judges.one_of_each(same_wiki) == [(0, 1), (2, 3)]
    vectors = SentenceVectors(Encoder.load(str(tiny_model)))
    assert set(judges.typed_values(same_wiki, vectors)) <= {0.0, 1.0}
    assert len(judges.item_values(rows, vectors)) == 2
    assert len(judges.item_values(same_wiki, vectors)) == 0


def test_shares_of_a_correlation() -> None:
    random = np.random.default_rng(0)
    first = random.normal(size=200)
    second = first + random.normal(size=200)
    shares = judges.correlation_shares(first, second)
    assert shares.mean() == pytest.approx(spearmanr(first, second).statistic)
    # Near the spread of a bootstrap of the correlation itself.
    draws = [random.integers(0, 200, 200) for _ in range(500)]
    spread = np.std([spearmanr(first[draw], second[draw]).statistic for draw in draws])
    assert shares.std() / 200**0.5 == pytest.approx(spread, rel=0.2)


def test_intervals_widen_with_seeds_and_with_items() -> None:
    items = np.tile([0.0, 1.0], 50)
    same = joint_interval([{"a": items}] * 5)
    assert same.low < same.mean == 0.5 < same.high
    # Items alone: 1.96 * 0.5 / sqrt(100) on each side.
    assert same.high - same.low == pytest.approx(0.196, rel=0.1)
    seeds = joint_interval([{"a": items + shift} for shift in (-0.2, -0.1, 0.0, 0.1, 0.2)])
    assert seeds.high - seeds.low > 1.3 * (same.high - same.low)
    # What both arms get wrong is no difference, and an arm without seeds stands beside one with.
    gain = joint_interval([{"a": items + 0.1}] * 3, [{"a": items}])
    assert (gain.low, gain.high) == (pytest.approx(0.1), pytest.approx(0.1))
    assert gain.excludes_zero
    assert str(gain) == "10.00 (10.00 to 10.00)"
    loss = joint_interval([{"a": items}], [{"a": items + 0.1}] * 3)
    assert loss.mean == pytest.approx(-0.1)
