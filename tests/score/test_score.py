"""`score`: cosines of an export, rows that agree with a model, mined negatives, and runs that were stopped."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Ended
from tests.score.conftest import export
from tests.stand_in import digests, read_rows, run_pairs
from wikianchor.__main__ import main
from wikianchor.io.errors import InputError
from wikianchor.score import command
from wikianchor.trainer.data.own_rows import open_rows
from wikianchor.trainer.data.shards import read_batches, read_entities
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.score import filters, mining, vectors
from wikianchor.trainer.score.options import ScoreOptions

Row = dict[str, Any]


def run(datasets: Path, model: Path, output: Path, data: str = "mention", **options: Any) -> dict[str, Any]:
    """Score an export, and return the manifest."""
    pairs = f"{datasets}/pairs"
    command.run(
        ScoreOptions(
            data=f"{datasets}/{data}", model=str(model), output=str(output), pairs=pairs, device="cpu", **options
        ).completed()
    )
    return read_manifest(output)


def read_manifest(output: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((output / "manifest.json").read_text())
    return content


def texts(row: Row) -> list[str]:
    """Return anchor, positive and negatives."""
    return [text for name, text in row.items() if name != "scores"]


def cosines_of(model: Path, rows: list[Row]) -> list[list[float]]:
    encoder = Encoder.load(str(model))
    distinct = sorted({text for row in rows for text in texts(row)})
    made = encoder.encode(distinct)
    unit = dict(zip(distinct, made / np.linalg.norm(made, axis=1, keepdims=True), strict=True))
    return [[float(unit[row["anchor"]] @ unit[text]) for text in texts(row)[1:]] for row in rows]


@pytest.fixture
def no_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negatives may be as near as their share says: the cosines of a model with random weights are all alike."""
    monkeypatch.setattr(filters, "NEAR", 0.0)


@pytest.fixture(scope="module")
def scored(datasets: Path, model: Path) -> Path:
    output = datasets / "scored"
    run(datasets, model, output)
    return output


def test_scores_are_the_cosines_of_the_texts(
    datasets: Path, model: Path, scored: Path, tmp_path: Path, wikianchor: Callable[..., Ended]
) -> None:
    rows = read_rows(scored, "export")
    assert [dict(zip(row, texts(row), strict=False)) for row in rows] == read_rows(datasets / "mention", "export")
    assert read_rows(scored, "sources") == read_rows(datasets / "mention", "sources")
    assert len(read_manifest(scored)["configs"]["export"]["shards"]) > 2
    np.testing.assert_allclose([row["scores"] for row in rows], cosines_of(model, rows), atol=2e-3)
    ended = wikianchor("verify", scored)
    assert ended.status == 0, ended.output
    assert "--  texts not compared" in ended.output
    for name in ("pairs", "scored"):
        shutil.copytree(datasets / name, tmp_path / name)
    ended = wikianchor("verify", tmp_path)
    assert ended.status == 0, ended.output
    assert f"ok  texts compared with pairs: {len(rows)} rows" in ended.output
    ended = wikianchor("report", scored)
    assert "before scoring by" in ended.output


def test_each_text_is_encoded_once_and_short_ones_first(
    datasets: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[list[str]] = []
    encode = Encoder.encode

    def listening(self: Encoder, batch: list[str], *args: Any) -> Any:
        encoded.append(batch)
        return encode(self, batch, *args)

    monkeypatch.setattr(Encoder, "encode", listening)
    monkeypatch.setattr(vectors, "CHUNK", 10)
    run(datasets, model, tmp_path / "out")
    every = [text for batch in encoded for text in batch]
    assert len(every) == len(set(every))
    assert set(every) == {text for row in read_rows(datasets / "mention", "export") for text in row.values()}
    assert all(list(map(len, batch)) == sorted(map(len, batch)) for batch in encoded)


def test_a_run_that_was_stopped_goes_on(
    datasets: Path, model: Path, scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = vectors.Vectors.encode
    encoded: list[int] = []

    def stops(self: Any, encoder: Any, batch: Any, rows: Any) -> Iterator[int]:
        if encoded:
            raise InputError("stopped")
        encoded.extend(rows.tolist())
        yield from encode(self, encoder, batch, rows)

    with monkeypatch.context() as patch:
        patch.setattr(vectors.Vectors, "encode", stops)
        with pytest.raises(InputError, match="stopped"):
            run(datasets, model, tmp_path / "out")
    assert not (tmp_path / "out/manifest.json").exists()
    again: list[int] = []

    def goes_on(self: Any, encoder: Any, batch: Any, rows: Any) -> Iterator[int]:
        again.extend(rows.tolist())
        yield from encode(self, encoder, batch, rows)

    monkeypatch.setattr(vectors.Vectors, "encode", goes_on)
    manifest = run(datasets, model, tmp_path / "out")
    assert again
    assert not set(again) & set(encoded)
    assert digests(manifest) == digests(read_manifest(scored))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"data", "manifest.json", "README.md"}


def test_a_finished_dataset_is_not_made_again(
    datasets: Path, model: Path, scored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["score", f"--data={datasets}/mention", f"--model={model}", f"--output={scored}", "--device=cpu"]
    written = (scored / "manifest.json").stat().st_mtime_ns
    assert main(flags) == 0
    assert "up to date, skipped" in capsys.readouterr().out
    assert (scored / "manifest.json").stat().st_mtime_ns == written


@pytest.mark.usefixtures("no_margin")
def test_keep_leaves_what_agrees_with_the_model(
    datasets: Path, model: Path, scored: Path, tmp_path: Path, wikianchor: Callable[..., Ended]
) -> None:
    # Cosines of a model with random weights are high.
    before = read_rows(scored, "export")
    middle = float(np.median([row["scores"][0] for row in before]))
    manifest = run(
        datasets, model, tmp_path / "out", keep=True, positive_cosine=middle, negative_share=0.999, rows_kept=0.0
    )
    rows = read_rows(tmp_path / "out", "export")
    assert 0 < len(rows) < len(before)
    assert manifest["options"]["negatives"] == len(rows[0]["scores"]) - 1
    for row in rows:
        positive, *negatives = row["scores"]
        assert positive >= middle
        assert all(cosine < 0.999 * positive for cosine in negatives)
    ledger = manifest["ledger"]
    counts = ledger["rows"]["enwiki"]
    assert counts["weak_positive"] > 0
    assert counts["kept"] == len(rows)
    assert counts["seen"] == len(read_rows(datasets / "pairs", "pairs"))
    assert ledger["negatives"]["seen"] == 3 * len(before)
    assert sum(ledger["negatives"].values()) == 2 * ledger["negatives"]["seen"]
    assert ledger["negatives"]["near_positive"] > 0
    items = {source["entity_qid"] for source in read_rows(tmp_path / "out", "sources")}
    assert ledger["entities"]["enwiki"]["kept"] == len(items)
    assert wikianchor("verify", tmp_path / "out").status == 0


@pytest.mark.usefixtures("no_margin")
def test_keep_leaves_half_of_the_rows_whatever_the_model_says(
    datasets: Path, model: Path, scored: Path, tmp_path: Path
) -> None:
    before = read_rows(scored, "export")
    run(datasets, model, tmp_path / "out", keep=True, positive_cosine=1.0, negative_share=1.0)
    rows = read_rows(tmp_path / "out", "export")
    assert len(rows) == -(-len(before) // 2)
    # Those of the nearest positives.
    left_out = {row["anchor"]: row["scores"][0] for row in before}.keys() - {row["anchor"] for row in rows}
    assert left_out


def links_of(datasets: Path) -> dict[int, set[int]]:
    """Return the items that each page links to."""
    links = defaultdict(set)
    for row in read_rows(datasets / "pairs", "pairs"):
        links[row["page_id"]].add(row["entity_qid"])
    return links


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("kind", ["mention", "label"])
def test_mined_negatives_are_the_nearest_of_the_type_that_the_page_does_not_link_to(
    datasets: Path,
    model: Path,
    tmp_path: Path,
    kind: str,
    blocks: bool,
    monkeypatch: pytest.MonkeyPatch,
    wikianchor: Callable[..., Ended],
) -> None:
    if blocks:
        monkeypatch.setattr(mining, "ROWS", 7)
        monkeypatch.setattr(mining, "TEXTS", 11)
    if not (datasets / kind).exists():
        export(datasets, kind, language="any")
    manifest = run(datasets, model, tmp_path / "out", data=kind, mine=4)
    rows, sources = (read_rows(tmp_path / "out", config) for config in ("export", "sources"))
    given = list(zip(*(read_rows(datasets / kind, config) for config in ("export", "sources")), strict=True))
    types = {row["qid"]: set(row["types"]) for row in read_rows(datasets / "pairs", "entities")}
    items = defaultdict(set)
    for row, source in given:
        items[row["positive"]].add(source["entity_qid"])
        for text, qid in zip(texts(row)[2:], source["negative_qids"], strict=True):
            items[text].add(qid)
    linking = defaultdict(set)
    for row in read_rows(datasets / "pairs", "pairs"):
        linking[row["text"]].add(row["entity_qid"])
    links = links_of(datasets)
    encoder = Encoder.load(str(model))
    every = sorted({*items, *(row["anchor"] for row in rows)})
    made = encoder.encode(every)
    unit = dict(zip(every, made / np.linalg.norm(made, axis=1, keepdims=True), strict=True))
    assert len(rows) > 0.9 * len(given)
    for row, source in zip(rows, sources, strict=True):
        qid = source["entity_qid"]
        barred = {qid, *links[source["page_id"]]}
        allowed = [
            text
            for text, of_text in items.items()
            if not barred & (of_text | linking[text])
            and any(types[other] & types[qid] for other in of_text)
            and text not in (row["anchor"], row["positive"])
        ]
        nearest = sorted((float(unit[row["anchor"]] @ unit[text]) for text in allowed), reverse=True)[:4]
        np.testing.assert_allclose(row["scores"][1:], nearest, atol=2e-3)
        assert set(texts(row)[2:]) <= set(allowed)
        assert all(other in items[text] for text, other in zip(texts(row)[2:], source["negative_qids"], strict=True))
    assert manifest["options"]["negatives"] == 4
    assert len(given) - len(rows) == manifest["ledger"]["rows"]["enwiki"].get("few_negatives", 0)
    assert wikianchor("verify", tmp_path / "out").status == 0


@pytest.mark.usefixtures("no_margin")
def test_mined_negatives_keep_a_margin_to_the_positive(datasets: Path, model: Path, tmp_path: Path) -> None:
    run(datasets, model, tmp_path / "out", mine=2, keep=True, negative_share=0.98, rows_kept=0.0, consistency=1_000)
    rows = read_rows(tmp_path / "out", "export")
    assert rows
    assert all(max(row["scores"][1:]) < 0.98 * row["scores"][0] for row in rows)


def test_what_does_not_go_together(datasets: Path, model: Path, tmp_path: Path) -> None:
    other = tmp_path / "pairs"
    run_pairs([datasets / "sentences"], datasets / "entities", other, negatives=1)
    options = ScoreOptions(
        data=f"{datasets}/mention", model=str(model), output=f"{tmp_path}/out", pairs=str(other), mine=1
    )
    with pytest.raises(InputError, match="was exported from other pairs than --pairs="):
        command.run(options)
    assert not (tmp_path / "out").exists()


def test_an_error_names_why_no_row_is_left(datasets: Path, model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no row is left: most ended as weak_positive \d+: see --positive_cosine"):
        run(datasets, model, tmp_path / "out", keep=True, positive_cosine=1.0)
    assert not (tmp_path / "out/manifest.json").exists()


def test_sentence_transformers_takes_the_scores_as_labels(scored: Path, model: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="NO SENTENCE-TRANSFORMERS: pip install '.[dev]'")
    from datasets import load_dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import DistillKLDivLoss, MultipleNegativesRankingLoss

    rows = load_dataset("parquet", data_files=f"{scored}/data/export/*", split="train", cache_dir=f"{tmp_path}/cache")
    for number, loss in enumerate((MultipleNegativesRankingLoss, DistillKLDivLoss)):
        encoder = SentenceTransformer(str(model), device="cpu")
        arguments = SentenceTransformerTrainingArguments(
            f"{tmp_path}/{number}", max_steps=2, save_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True
        )
        SentenceTransformerTrainer(encoder, arguments, rows, loss=loss(encoder)).train()


def test_ease_learns_from_the_items_of_an_export(scored: Path, model: Path, tmp_path: Path) -> None:
    flags = [f"--data={scored}", f"--model={model}", f"--output={tmp_path}/out", f"--cache={tmp_path}/cache"]
    small = ["--max_steps=2", "--softmax_size=8", "--eval_steps=0", "--device=cpu"]
    assert main(["train", "ease", *flags, *small]) == 0
    given = json.loads((tmp_path / "out/model/data_manifest.json").read_text())
    assert given["inputs"] == read_manifest(scored)["inputs"]
    pairs = open_rows(str(scored), f"{tmp_path}/cache", needs_entities=True)
    names = read_entities(pairs)["label"].to_pylist()
    rows = [row for batch in read_batches(pairs) for row in batch.to_pylist()]
    for row, text, source in zip(rows, *(read_rows(scored, config) for config in ("export", "sources")), strict=True):
        assert row["text"] == text["anchor"]
        assert names[row["entity_id"]] == f"Q{source['entity_qid']}"
        assert [names[number] for number in row["hard_negative_ids"]] == [f"Q{qid}" for qid in source["negative_qids"]]
        assert row["wiki"] == "enwiki"
