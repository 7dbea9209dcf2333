"""`export`: what is a positive or a negative, languages, reasons, formats, and the same bytes in every mode."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Ended
from tests.engines import THREADS
from tests.planted import WAYS, planted
from tests.stand_in import Item, Page, digests, read_rows, run_pairs, small_wiki, write_entities, write_sentences
from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.export import caps, choices, entity_texts, graph, links, text_index
from wikianchor.pipelines.export import rows as export_rows
from wikianchor.pipelines.export.options import ExportOptions
from wikianchor.pipelines.export.task import REASONS

WIKIS = ("enwiki", "jawiki")
TEXTS = ("labels", "descriptions", "aliases")
Row = dict[str, Any]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Pairs of two small wikis that share their items, with three negatives, in several shards; and their entities."""
    place = tmp_path_factory.mktemp("inputs")
    wikis = {wiki: small_wiki(wiki=wiki) for wiki in WIKIS}
    # Each third label is one that another item of the same type has, and each fifth item has no description.
    items = [
        Item(
            first.qid,
            first.types,
            {**first.sitelinks, **second.sitelinks},
            labels={"en": f"name {number - number % 9}" if number % 3 == 0 else f"name {number}", "ja": f"名 {number}"},
            descriptions={} if number % 5 == 0 else {"en": f"thing {number}"},
            aliases=[("en", f"alias {number}.{alias}") for alias in range(number % 4)],
        )
        for number, (first, second) in enumerate(zip(wikis["enwiki"][1], wikis["jawiki"][1], strict=True))
    ]
    sentences = [write_sentences(place / wiki, wiki, pages) for wiki, (pages, _) in wikis.items()]
    entities = write_entities(place / "entities", WIKIS, items, labels=("en", "ja"), texts=TEXTS)
    run_pairs(sentences, entities, place / "pairs", rows_per_shard=200, negatives=3, max_repeats=0)
    return place / "pairs", entities


# Every pair becomes a row, where it has another sentence.
MENTION = {"kind": "mention", "language": "any", "max_per_positive": 0, "near_duplicates": True}


def run(inputs: tuple[Path, Path], output: Path, flags: tuple[str, ...] = (), **options: Any) -> dict[str, Any]:
    config = ExportOptions(pairs=str(inputs[0]), entities=str(inputs[1]), output=str(output), **{**MENTION, **options})
    return graph.run(config.completed(), list(flags))


@pytest.fixture(scope="module")
def default(tmp_path_factory: pytest.TempPathFactory, inputs: tuple[Path, Path]) -> tuple[Path, dict[str, Any]]:
    """What the default options make: where, and its manifest."""
    output = tmp_path_factory.mktemp("default") / "out"
    return output, run(inputs, output)


def exported(output: Path) -> list[tuple[Row, Row]]:
    """Return the rows with their sources."""
    return list(zip(read_rows(output, "export"), read_rows(output, "sources"), strict=True))


def linked(pairs: Path) -> dict[str, set[int]]:
    """Return the items that each sentence links to."""
    items = defaultdict(set)
    for row in read_rows(pairs, "pairs"):
        items[row["text"]].add(row["entity_qid"])
    return items


def negatives(row: Row) -> list[str]:
    return [text for name, text in row.items() if name.startswith("negative_")]


def test_another_sentence_of_the_entity_and_sentences_of_its_negatives(
    inputs: tuple[Path, Path], default: tuple[Path, dict[str, Any]]
) -> None:
    output, manifest = default
    items, rows = linked(inputs[0]), exported(output)
    pairs = read_rows(inputs[0], "pairs")
    assert len(rows) > 0.8 * len(pairs)
    positives = set()
    for row, source in rows:
        assert list(row) == ["anchor", "positive", "negative_1", "negative_2", "negative_3"]
        assert row["positive"] != row["anchor"]
        assert source["entity_qid"] in items[row["anchor"]] & items[row["positive"]]
        for text, qid in zip(negatives(row), source["negative_qids"], strict=True):
            assert qid in items[text]
            assert source["entity_qid"] not in items[text]
        assert len({*row.values()}) == 5
        assert len(source["negative_wikis"]) == len(source["negative_page_ids"]) == 3
        positives.add(row["positive"])
    assert len(positives) > 200
    # The rows keep the order of the pairs.
    order = iter([(row["text"], row["entity_qid"]) for row in pairs])
    assert all((row["anchor"], source["entity_qid"]) in order for row, source in rows)
    ledger = manifest["ledger"]["rows"]
    assert sum(counts["kept"] for counts in ledger.values()) == len(rows)
    assert sum(counts["seen"] for counts in ledger.values()) == len(pairs)
    assert all(counts["seen"] == sum(counts.get(name, 0) for name in REASONS) for counts in ledger.values())


def test_the_origin_of_a_sentence(inputs: tuple[Path, Path], default: tuple[Path, dict[str, Any]]) -> None:
    origins = defaultdict(set)
    for row in read_rows(inputs[0], "pairs"):
        origins[row["text"]].add((row["wiki"], row["page_id"]))
    for row, source in exported(default[0]):
        assert (source["wiki"], source["page_id"]) in origins[row["anchor"]]
        assert (source["positive_wiki"], source["positive_page_id"]) in origins[row["positive"]]
        places = zip(source["negative_wikis"], source["negative_page_ids"], strict=True)
        assert all(place in origins[text] for text, place in zip(negatives(row), places, strict=True))


def test_sentences_of_any_language(default: tuple[Path, dict[str, Any]]) -> None:
    sources = [source for _, source in exported(default[0])]
    assert {source["wiki"] == source["positive_wiki"] for source in sources} == {True, False}
    # The language does not tell the positive from the negatives.
    assert all({source["positive_wiki"]} == {*source["negative_wikis"]} for source in sources)


@pytest.mark.parametrize(("language", "same"), [("same", {True}), ("other", {False})])
def test_the_language_of_sentences(inputs: tuple[Path, Path], tmp_path: Path, language: str, same: set[bool]) -> None:
    run(inputs, tmp_path / "out", language=language)
    sources = [source for _, source in exported(tmp_path / "out")]
    assert len(sources) > 300
    assert {source["wiki"] == source["positive_wiki"] for source in sources} == same
    assert {source["wiki"] == wiki for source in sources for wiki in source["negative_wikis"]} == same


@pytest.mark.parametrize("most", [1, 5])
def test_no_positive_stands_too_often(inputs: tuple[Path, Path], tmp_path: Path, most: int) -> None:
    manifest = run(inputs, tmp_path / "out", sentences_per_entity=2, max_per_positive=most)
    counts = Counter(row["positive"] for row, _ in exported(tmp_path / "out"))
    assert max(counts.values()) == most
    assert sum(ledger.get("over_cap", 0) for ledger in manifest["ledger"]["rows"].values()) > 0


def test_nearly_equal_anchors_of_an_entity_stand_once(tmp_path: Path) -> None:
    towns = ("Ay", "Bee", "Cee")
    pages = [
        *(
            Page(town, [f"{town} is a town of {n} people in [[Red]].", f"{town} has [[Red]] roofs."])
            for n, town in enumerate(towns, 100)
        ),
        Page("Other", ["Other is a city near the sea in [[Red]]."]),
        Page("Red", ["Red is a colour."]),
    ]
    sentences = write_sentences(tmp_path / "enwiki", "enwiki", pages)
    entities = write_entities(tmp_path / "entities", ["enwiki"], [Item(1, [9], {"enwiki": "Red"})])
    run_pairs([sentences], entities, tmp_path / "pairs", negatives=0)
    run((tmp_path / "pairs", entities), tmp_path / "out", near_duplicates=False)
    anchors = [row["anchor"] for row in read_rows(tmp_path / "out", "export")]
    assert len(anchors) == 3
    assert len({anchor.split(" ", 1)[1][:6] for anchor in anchors}) == 3


@pytest.mark.parametrize(
    ("language", "names"), [("any", ("name", "名")), ("same", ("name", "名")), ("other", ("名", "name"))]
)
def test_labels_in_the_language_of_the_anchor_or_another(
    inputs: tuple[Path, Path], tmp_path: Path, language: str, names: tuple[str, str]
) -> None:
    run(inputs, tmp_path / "out", kind="label", language=language)
    for row, source in exported(tmp_path / "out"):
        name = names[WIKIS.index(source["wiki"])]
        assert all(text.split()[0] == name for text in (row["positive"], *negatives(row)))
        assert (source["positive_wiki"], source["negative_wikis"]) == (None, [])


def test_an_equal_label_is_no_negative(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    manifest = run(inputs, tmp_path / "out", kind="label", negatives=2)
    rows = exported(tmp_path / "out")
    labels: dict[int, set[str]] = defaultdict(set)
    for row in read_rows(inputs[1], "entities"):
        labels[row["qid"]] = {entry["text"] for entry in row["labels"]}
    for row, source in rows:
        assert row["positive"] in labels[source["entity_qid"]]
        assert not labels[source["entity_qid"]] & set(negatives(row))
        assert len(set(negatives(row))) == 2
        assert all(text in labels[qid] for text, qid in zip(negatives(row), source["negative_qids"], strict=True))
    lost = sum(counts.get("equal_negative", 0) for counts in manifest["ledger"]["rows"].values())
    three = run(inputs, tmp_path / "three", kind="label")["ledger"]["rows"]
    # A row has three negatives, so two are easier to find than three.
    assert lost < sum(counts.get("equal_negative", 0) for counts in three.values())


def test_aliases_and_descriptions_and_why_a_row_has_none(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    manifest = run(inputs, tmp_path / "alias", kind="alias", negatives=1)
    rows = exported(tmp_path / "alias")
    assert all(row["positive"].startswith("alias ") and row["negative_1"][0] in "n名" for row, _ in rows)
    numbers = [source["entity_qid"] - 1000 for _, source in rows]
    assert all(row["positive"].startswith(f"alias {number}.") for (row, _), number in zip(rows, numbers, strict=True))
    assert {row["positive"] for row, _ in rows} > {"alias 7.0", "alias 7.1", "alias 7.2"}
    lost = [row for row in read_rows(inputs[0], "pairs") if (row["entity_qid"] - 1000) % 4 == 0]
    counted = [counts["no_positive_text"] for counts in manifest["ledger"]["rows"].values()]
    assert sum(counted) == len(lost) > 0

    run(inputs, tmp_path / "about", kind="description", negatives=1)
    for row, source in exported(tmp_path / "about"):
        assert row["positive"] == f"thing {source['entity_qid'] - 1000}"
        assert source["positive_wiki"] is None
        assert row["negative_1"].startswith("thing ")


def test_labels_of_pairs_need_no_entities(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    options = MENTION | {"kind": "label", "negatives": 0}
    config = ExportOptions(pairs=str(inputs[0]), output=f"{tmp_path}/out", **options).completed()
    manifest = graph.run(config, [])
    labels = {row["qid"]: row["label"] for row in read_rows(inputs[0], "entities")}
    rows = exported(tmp_path / "out")
    assert len(rows) == len(read_rows(inputs[0], "pairs"))
    assert all(list(row.values())[1:] == [labels[source["entity_qid"]]] for row, source in rows)
    assert manifest["options"]["negatives"] == 0


def test_a_sentence_that_links_to_both_is_no_negative(tmp_path: Path) -> None:
    colours = ("Red", "Blue", "Green", "Grey")
    pages = [
        Page("A", [f"The [[Red]] one is {kind}." for kind in ("old", "new", "here", "far", "big", "small", "low")]),
        Page("B", ["A [[Blue]] one lies beside the [[Red]] one."]),
        *(Page(f"About {title}", [f"Here is a [[{title}]] one."]) for title in colours),
        *map(Page, colours),
    ]
    items = [Item(number, [9], {"enwiki": title}) for number, title in enumerate(colours, 1)]
    sentences = write_sentences(tmp_path / "enwiki", "enwiki", pages)
    entities = write_entities(tmp_path / "entities", ["enwiki"], items)
    run_pairs([sentences], entities, tmp_path / "pairs", negatives=2)
    assert len(linked(tmp_path / "pairs")["A Blue one lies beside the Red one."]) == 2
    run((tmp_path / "pairs", entities), tmp_path / "out")
    rows = [row for row in read_rows(tmp_path / "out", "export") if row["anchor"].startswith("The Red one")]
    blue = [text for row in rows for text in negatives(row) if "Blue" in text]
    assert len(rows) == 7
    assert set(blue) == {"Here is a Blue one."}


def test_the_bytes_are_the_same_in_every_running_mode(
    inputs: tuple[Path, Path], default: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = digests(default[1])
    assert len(expected["export"]) > 1
    assert digests(run(inputs, tmp_path / "threads", THREADS)) == expected
    assert digests(run(inputs, tmp_path / "beam", ("--shuffle=beam",))) == expected
    # Nor do they depend on what memory holds at a time.
    monkeypatch.setattr(text_index, "ENTITIES_AT_ONCE", 3)
    monkeypatch.setattr(links, "HASHES_AT_ONCE", 10)
    assert digests(run(inputs, tmp_path / "small")) == expected


def test_positives_come_from_a_sample_of_the_sentences(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    run(inputs, tmp_path / "out", sentences_per_entity=3, seed=1)
    used: dict[int, set[str]] = defaultdict(set)
    for row, source in exported(tmp_path / "out"):
        used[source["entity_qid"]].add(row["positive"])
        for text, qid in zip(negatives(row), source["negative_qids"], strict=True):
            used[qid].add(text)
    assert max(map(len, used.values())) == 3


def test_an_interrupted_run_goes_on(
    inputs: tuple[Path, Path], default: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = digests(default[1])
    writer = export_rows._writer

    def fails(task: Any, order: int, schema: Any) -> Any:
        if order == 2:
            raise InputError("stopped")
        return writer(task, order, schema)

    def only_the_rest(task: Any, order: int, schema: Any) -> Any:
        assert order >= 2
        return writer(task, order, schema)

    save = export_rows.save_tables

    def again(directory: str, name: str, *args: Any) -> str:
        # Those of the shards that are exported now.
        if name.startswith("entities-"):
            return save(directory, name, *args)
        raise AssertionError("the steps that make tables had finished")

    with monkeypatch.context() as patch:
        patch.setattr(export_rows, "_writer", fails)
        with pytest.raises(InputError, match="stopped"):
            run(inputs, tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()
    monkeypatch.setattr(export_rows, "_writer", only_the_rest)
    for module in (choices, entity_texts, links, export_rows):
        monkeypatch.setattr(module, "save_tables", again)
    for module in (links, text_index):
        monkeypatch.setattr(module, "save_pieces", again)
    assert digests(run(inputs, tmp_path / "out")) == expected


def test_json_lines_and_csv_have_the_same_rows(
    inputs: tuple[Path, Path],
    default: tuple[Path, dict[str, Any]],
    tmp_path: Path,
    wikianchor: Callable[..., Ended],
) -> None:
    rows = read_rows(default[0], "export")
    for name in ("jsonl", "csv"):
        manifest = run(inputs, tmp_path / name, format=name)
        read: list[Row] = []
        for shard in manifest["configs"]["export"]["shards"]:
            with gzip.open(tmp_path / name / shard["path"], "rt", encoding="utf-8", newline="") as file:
                read += map(json.loads, file) if name == "jsonl" else csv.DictReader(file)
        assert read == rows
        assert manifest["configs"]["sources"] == default[1]["configs"]["sources"]
        assert wikianchor("verify", tmp_path / name).status == 0
        ended = wikianchor("publish", tmp_path / name, f"--to={tmp_path}/to", f"--release={tmp_path}/release")
        assert ended.status == 2
        assert "a release is Parquet" in ended.said[0]


def test_the_command_says_what_was_lost_and_why(
    inputs: tuple[Path, Path], tmp_path: Path, wikianchor: Callable[..., Ended]
) -> None:
    pairs, entities = inputs
    flags = (f"--pairs={pairs}", f"--entities={entities}", f"--output={tmp_path}/out", "--kind=description")
    ended = wikianchor("export", *flags)
    assert (ended.status, ended.said) == (0, [])
    assert "rows in 6 shards: description, 3 negatives" in ended.output
    assert "eligible entities have a row" in ended.output
    assert "no_positive_text" in ended.output
    assert "no_negative_text" in ended.output
    assert wikianchor("verify", tmp_path / "out").status == 0


def test_what_does_not_go_together(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    pairs, out = str(inputs[0]), f"{tmp_path}/out"
    config = ExportOptions(pairs=pairs, output=out, **MENTION).completed()
    with pytest.raises(UsageError, match=r"--negatives=4: the rows of --pairs=.* have 3: build them with"):
        graph.run(replace(config, negatives=4), [])
    with pytest.raises(UsageError, match=r"--kind=alias needs --entities=DIR, built with .* --texts=labels,aliases"):
        graph.run(replace(config, kind="alias"), [])
    with pytest.raises(UsageError, match=r"--language=same needs --entities=DIR, built with `wikianchor entities"):
        graph.run(replace(config, kind="label", language="same"), [])
    bare = write_entities(tmp_path / "bare", WIKIS, [Item(1, [], {"enwiki": "A"})])
    with pytest.raises(InputError, match=r"has no descriptions: build it again with --texts=labels,descriptions"):
        graph.run(replace(config, kind="description", entities=str(bare)), [])
    assert not Path(out).exists()


def test_the_trainer_of_sentence_transformers_learns_from_the_stream(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="NO SENTENCE-TRANSFORMERS: pip install '.[dev]'")
    import datasets
    import torch
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.losses import MultipleNegativesRankingLoss
    from transformers import BertConfig, BertModel

    from wikianchor.trainer.models.new_encoder import learn_word_pieces

    run(inputs, tmp_path / "out", kind="label", negatives=1)
    files = f"{tmp_path}/out/data/export/*.parquet"
    stream = datasets.load_dataset("parquet", data_files=files, split="train", streaming=True, cache_dir=f"{tmp_path}")
    tokenizer = learn_word_pieces([text for row in stream.take(100) for text in row.values()], 500)
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    no_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    BertModel(BertConfig(vocab_size=len(tokenizer), **sizes, **no_dropout)).save_pretrained(tmp_path / "bert")
    tokenizer.save_pretrained(tmp_path / "bert")
    model = SentenceTransformer(f"{tmp_path}/bert", device="cpu")
    options = SentenceTransformerTrainingArguments(
        f"{tmp_path}/run",
        max_steps=100,
        learning_rate=3e-3,
        logging_steps=20,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = SentenceTransformerTrainer(model, options, stream, loss=MultipleNegativesRankingLoss(model))
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert len(losses) == 5
    assert float(losses[-1]) < 0.8 * float(losses[0])


@pytest.mark.parametrize("config", ["pairs", "entities"])
@pytest.mark.parametrize("way", WAYS)
def test_no_shard_outside_of_its_dataset_is_read(
    inputs: tuple[Path, Path], way: str, config: str, tmp_path: Path, wikianchor: Callable[..., Ended]
) -> None:
    of_pairs = config == "pairs"
    with planted(inputs[0 if of_pairs else 1], config, tmp_path, way) as (dataset, path):
        pairs, entities = (dataset, inputs[1]) if of_pairs else (inputs[0], dataset)
        ended = wikianchor(
            "export", f"--pairs={pairs}", f"--entities={entities}", "--kind=label", f"--output={tmp_path}/out"
        )
    assert (ended.status, len(ended.said)) == (1, 1), ended.said
    assert f"{dataset}/manifest.json: {path!r} is no path of a shard" in ended.said[0]
    assert not list(tmp_path.glob("out/data/**/*.parquet"))


def test_rows_are_ordered_by_key_and_rank() -> None:
    keys, ranks = (mix(seed, np.arange(1000)) % np.uint64(200) for seed in (1, 2))
    keys[::7] = ranks[::11] = 2**64 - 1
    order, expected = caps._order(keys, ranks), np.lexsort((ranks, keys))
    assert [(keys[order] == keys[expected]).all(), (ranks[order] == ranks[expected]).all()] == [True, True]
    assert caps._order(keys[:0], ranks[:0]).tolist() == []
