"""`pairs` as a whole: flags and presets, what it refuses, its ledger, and the same bytes however it is run."""

import argparse
import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.engines import THREADS
from tests.stand_in import (
    Item,
    Page,
    digests,
    read_rows,
    run_pairs,
    small_wiki,
    write_entities,
    write_sentences,
)
from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.options import add_options, read_options
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.pairs.options import PairChoices
from wikianchor.schemas import pairs as schema

WIKIS = ("enwiki", "jawiki")


def inputs(tmp_path: Path, shards: int = 2) -> tuple[list[Path], Path]:
    """Write two small wikis that share their items."""
    wikis = {wiki: small_wiki(wiki=wiki) for wiki in WIKIS}
    items = [
        Item(first.qid, first.types, {**first.sitelinks, **second.sitelinks}, labels=first.labels)
        for first, second in zip(wikis["enwiki"][1], wikis["jawiki"][1], strict=True)
    ]
    sentences = [write_sentences(tmp_path / wiki, wiki, pages, shards) for wiki, (pages, _) in wikis.items()]
    return sentences, write_entities(tmp_path / "entities", WIKIS, items)


@pytest.fixture(scope="module")
def two_wikis(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], Path]:
    return inputs(tmp_path_factory.mktemp("two"))


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory, two_wikis: tuple[list[Path], Path]) -> dict[str, Any]:
    """The manifest of the default run that others are compared with."""
    return run_pairs(*two_wikis, tmp_path_factory.mktemp("reference") / "out", rows_per_shard=200)


def choices(*flags: str) -> PairChoices:
    parser = argparse.ArgumentParser()
    add_options(parser, PairChoices)
    return read_options(PairChoices, parser.parse_args(flags))


def test_flags_go_before_the_preset_they_start_from() -> None:
    assert choices() == PairChoices()
    assert choices("--preset=paper").sample == 1_000_000
    result = choices(
        "--preset=paper", "--sample=50000", "--sample_per_wiki", "--back_off", "--no-duplicates", "--min_links=0"
    )
    assert (result.sample, result.sample_per_wiki, result.back_off, result.duplicates) == (50_000, True, True, False)
    assert result.min_links == 0
    assert result.types == "instance_of"


def test_presets_are_the_papers_and_the_released_codes_choices() -> None:
    paper, released = choices("--preset=paper"), choices("--preset=released")
    assert (paper.min_links, paper.floor, paper.types, paper.negatives) == (10, "corpus", "instance_of", 1)
    assert (paper.candidates, paper.max_per_entity, paper.sample, paper.sample_per_wiki) == (0, 0, 1_000_000, False)
    assert (released.min_links, released.floor, released.required_wiki) == (10, "enwiki", "enwiki")
    assert (released.types, released.candidates, released.max_per_entity) == ("any_rank", 10, 10_000)
    for preset in (paper, released):
        assert preset.own_page_negatives
        assert preset.duplicates
        assert not preset.back_off
        assert not preset.refine_humans
        assert (preset.exclude_types, preset.max_repeats) == ((), 0)
        assert preset.named_negatives
        assert preset.pageless_negatives


@pytest.mark.parametrize(
    "flags",
    [
        ["--negatives=-1"],
        ["--sample=-5"],
        ["--min_links=-1"],
        ["--candidates=2", "--negatives=3"],
        ["--max_per_entity=-1"],
    ],
)
def test_numbers_out_of_range_are_refused(flags: list[str]) -> None:
    with pytest.raises(UsageError, match=flags[0].partition("=")[0]):
        choices(*flags)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"floor": "dewiki"}, ["--floor=dewiki", "enwiki,jawiki", "--floor=corpus"]),
        ({"floor": "anything"}, ["--floor=anything"]),
        ({"required_wiki": "dewiki"}, ["--required_wiki=dewiki", "--wikis"]),
    ],
)
def test_what_does_not_go_together_is_one_line(
    two_wikis: tuple[list[Path], Path], tmp_path: Path, more: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises((UsageError, InputError)) as error:
        run_pairs(*two_wikis, tmp_path / "out", **more)
    assert "\n" not in str(error.value)
    assert all(word in str(error.value) for word in words)
    assert not (tmp_path / "out").exists()


def test_the_released_preset_says_what_it_misses(
    two_wikis: tuple[list[Path], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (_, japanese), entities = two_wikis
    flags = [f"--sentences={japanese}", f"--entities={entities}", f"--output={tmp_path / 'out'}"]
    assert main(["pairs", *flags, "--preset=released"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--floor=enwiki" in line


def test_datasets_that_do_not_go_together_are_refused(two_wikis: tuple[list[Path], Path], tmp_path: Path) -> None:
    (english, _), entities = two_wikis
    again = write_sentences(tmp_path / "again", "enwiki", small_wiki()[0])
    with pytest.raises(UsageError, match="2 datasets of enwiki"):
        run_pairs([english, again], entities, tmp_path / "out")
    german = write_sentences(tmp_path / "de", "dewiki", small_wiki(wiki="dewiki")[0])
    with pytest.raises(InputError, match="dewiki in --wikis"):
        run_pairs([german], entities, tmp_path / "out")
    untyped = write_entities(tmp_path / "untyped", ["enwiki"], [], {"enwiki": {1: 1000}})
    with pytest.raises(InputError, match="--negatives=0"):
        run_pairs([english], untyped, tmp_path / "out")
    assert run_pairs([english], untyped, tmp_path / "out", negatives=0)["configs"]["entities"]["rows"] == 1


def test_the_ledger_holds_every_link_once_and_is_what_was_written(reference: dict[str, Any], two_wikis) -> None:
    total = Counter[str]()
    for wiki, directory in zip(WIKIS, two_wikis[0], strict=True):
        ledger = dict(reference["ledger"]["links"][wiki])
        seen = ledger.pop("seen")
        assert sum(ledger.values()) == seen
        assert seen == sum(len(row["links"]) for row in read_rows(directory, "sentences"))
        total[wiki] = ledger["kept"]
    shards = reference["configs"]["pairs"]["shards"]
    assert reference["configs"]["pairs"]["rows"] == sum(shard["rows"] for shard in shards) == total.total()
    assert all(shard["rows"] for shard in shards)


def test_checksums_are_those_of_the_files(tmp_path: Path, two_wikis: tuple[list[Path], Path]) -> None:
    manifest = run_pairs(*two_wikis, tmp_path / "out", sample=100)
    for config in manifest["configs"].values():
        for shard in config["shards"]:
            data = (tmp_path / "out" / shard["path"]).read_bytes()
            assert hashlib.sha256(data).hexdigest() == shard["sha256"]
            assert len(data) == shard["bytes"]
            assert pq.read_metadata(tmp_path / "out" / shard["path"]).num_rows == shard["rows"]
    assert not (tmp_path / "out/_unfinished").exists()


def test_ids_point_into_the_entities_config(tmp_path: Path, two_wikis: tuple[list[Path], Path]) -> None:
    run_pairs(*two_wikis, tmp_path / "out", negatives=2)
    entities = read_rows(tmp_path / "out", "entities")
    assert [row["entity_id"] for row in entities] == list(range(len(entities)))
    assert [row["count"] for row in entities] == sorted((row["count"] for row in entities), reverse=True)
    for row in read_rows(tmp_path / "out", "pairs"):
        assert entities[row["entity_id"]]["qid"] == row["entity_qid"]
        assert [entities[number]["qid"] for number in row["hard_negative_ids"]] == row["hard_negative_qids"]
        drawn = [row["entity_id"], *row["hard_negative_ids"]]
        assert all(row["type_qid"] in entities[number]["types"] for number in drawn)
    shard = next((tmp_path / "out/data/pairs").iterdir())
    assert pq.read_schema(shard).equals(schema.SCHEMA, check_metadata=True)


STRICT = {"negatives": 3, "max_per_entity": 30, "sample": 300, "sample_per_wiki": True, "floor": "wiki"}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory, two_wikis: tuple[list[Path], Path]) -> dict[str, Any]:
    """The manifest of a run that has every step in it."""
    return run_pairs(*two_wikis, tmp_path_factory.mktemp("strict") / "out", rows_per_shard=200, **STRICT)


def test_the_bytes_are_the_same_where_bundles_are_repeated(
    tmp_path: Path, two_wikis: tuple[list[Path], Path], strict: dict[str, Any]
) -> None:
    result = run_pairs(*two_wikis, tmp_path / "out", THREADS, 200, **STRICT)
    assert digests(result) == digests(strict)
    assert len(result["configs"]["pairs"]["shards"]) > 2
    assert result["ledger"] == strict["ledger"]


def test_the_bytes_are_the_same_for_any_cut_of_the_sentences(
    tmp_path: Path, reference: dict[str, Any], strict: dict[str, Any]
) -> None:
    cut = inputs(tmp_path, shards=7)
    assert digests(run_pairs(*cut, tmp_path / "out", rows_per_shard=200)) == digests(reference)
    assert digests(run_pairs(*cut, tmp_path / "strict", rows_per_shard=200, **STRICT)) == digests(strict)


def test_a_seed_changes_order_and_negatives_but_not_what_is_fit(
    tmp_path: Path, two_wikis: tuple[list[Path], Path]
) -> None:
    run_one, two = (
        # The seed also chooses which sentences of an equal text are kept.
        run_pairs(*two_wikis, tmp_path / str(seed), seed=seed, max_repeats=0)
        and read_rows(tmp_path / str(seed), "pairs")
        for seed in (1, 2)
    )

    def key(row: dict[str, Any]) -> tuple[int, int]:
        return row["sentence_id"], row["mention_start"]

    assert [key(row) for row in run_one] != [key(row) for row in two]
    assert {key(row) for row in run_one} == {key(row) for row in two}
    negatives = {key(row): row["hard_negative_qids"] for row in two}
    assert sum(negatives[key(row)] != row["hard_negative_qids"] for row in run_one) > len(run_one) / 2


@pytest.mark.parametrize("floor", ["corpus", "wiki", "enwiki"])
def test_floors_are_counted_where_they_say(tmp_path: Path, two_wikis: tuple[list[Path], Path], floor: str) -> None:
    limit = 12
    run_pairs(*two_wikis, tmp_path / "out", floor=floor, min_links=limit, negatives=0, max_repeats=0)
    linked = {
        wiki: Counter(
            1000 + int(link["target"].rpartition(" ")[2])
            for row in read_rows(directory, "sentences")
            for link in row["links"]
        )
        for wiki, directory in zip(WIKIS, two_wikis[0], strict=True)
    }
    total = linked["enwiki"] + linked["jawiki"]
    counts = {row["qid"]: row["count"] for row in read_rows(tmp_path / "out", "entities")}
    result = {(row["wiki"], row["entity_qid"]) for row in read_rows(tmp_path / "out", "pairs")}
    for wiki in WIKIS:
        for qid in linked[wiki]:
            counted = {"corpus": total[qid], "wiki": linked[wiki][qid], "enwiki": linked["enwiki"][qid]}[floor]
            assert ((wiki, qid) in result) == (counted > limit)
            assert counts.get(qid, total[qid]) == total[qid]


def test_a_sample_of_each_wiki_is_exact_even_where_wikis_say_the_same(tmp_path: Path) -> None:
    pages, items = small_wiki()
    both = [Item(item.qid, item.types, {**item.sitelinks, "simplewiki": item.sitelinks["enwiki"]}) for item in items]
    sentences = [write_sentences(tmp_path / wiki, wiki, pages) for wiki in ("enwiki", "simplewiki")]
    entities = write_entities(tmp_path / "e", ["enwiki", "simplewiki"], both)
    run_pairs(sentences, entities, tmp_path / "out", sample=90, sample_per_wiki=True, max_repeats=0)
    result = Counter(row["wiki"] for row in read_rows(tmp_path / "out", "pairs"))
    assert result == {"enwiki": 90, "simplewiki": 90}


@pytest.mark.parametrize("preset", ["paper", "released"])
def test_presets_run(tmp_path: Path, two_wikis: tuple[list[Path], Path], preset: str) -> None:
    sentences, entities = two_wikis
    flags = [f"--sentences={','.join(map(str, sentences))}", f"--entities={entities}", "--min_links=3", "--sample=90"]
    assert main(["pairs", *flags, f"--output={tmp_path / 'out'}", f"--preset={preset}"]) == 0
    result = Counter(row["wiki"] for row in read_rows(tmp_path / "out", "pairs"))
    assert result.total() == (90 if preset == "paper" else 180)


def test_a_wiki_without_sentences_and_one_without_links_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pages, items = small_wiki()
    english = write_sentences(tmp_path / "en", "enwiki", pages)
    silent = write_sentences(tmp_path / "de", "dewiki", [Page("Nichts")])
    unlinked = write_sentences(tmp_path / "ja", "jawiki", [Page("P", ["No link here.", "Nor [[here]]."])])
    entities = write_entities(tmp_path / "e", ["dewiki", "enwiki", "jawiki"], items)
    links = run_pairs([english, silent, unlinked], entities, tmp_path / "out", floor="wiki")["ledger"]["links"]
    assert "no pair of dewiki, jawiki came out: most links ended as red_link 1" in caplog.text
    assert links["enwiki"]["kept"]
    assert (links["dewiki"], links["jawiki"]) == ({"seen": 0}, {"red_link": 1, "seen": 1})
    with pytest.raises(InputError, match="no pair of dewiki, jawiki came out: most links ended as red_link 1"):
        run_pairs([silent, unlinked], entities, tmp_path / "none", floor="wiki")


def test_a_wiki_that_the_sample_leaves_out_is_in_the_ledger(tmp_path: Path) -> None:
    sentences, items = [], {}
    for wiki in ("dewiki", "enwiki"):
        pages, items[wiki] = small_wiki(wiki=wiki)
        sentences.append(write_sentences(tmp_path / wiki, wiki, pages))
    every = [item for of_wiki in items.values() for item in of_wiki]
    entities = write_entities(tmp_path / "e", ["dewiki", "enwiki"], every)
    links = run_pairs(sentences, entities, tmp_path / "out", sample=1, negatives=0)["ledger"]["links"]
    assert sorted(result.get("kept", 0) for result in links.values()) == [0, 1]


@pytest.mark.parametrize(
    ("pages", "reason"),
    [
        ([Page("P", ["To [[A]] and [[B]]."])], "red_link 2"),
        ([Page("P")], "its sentences hold no link"),
    ],
)
def test_no_pair_at_all_is_an_error_that_says_why(tmp_path: Path, pages: list[Page], reason: str) -> None:
    sentences = write_sentences(tmp_path / "s", "enwiki", pages)
    entities = write_entities(tmp_path / "e", ["enwiki"], [Item(1, [7], {"enwiki": "Other"})])
    with pytest.raises(InputError) as error:
        run_pairs([sentences], entities, tmp_path / "out", sample=5, max_per_entity=2)
    assert reason in str(error.value)
    assert not (tmp_path / "out/manifest.json").exists()


def test_a_second_run_does_nothing_and_a_different_one_starts_anew(
    tmp_path: Path, two_wikis: tuple[list[Path], Path]
) -> None:
    first = run_pairs(*two_wikis, tmp_path / "out", sample=50)
    written = (tmp_path / "out/manifest.json").stat().st_mtime_ns
    assert run_pairs(*two_wikis, tmp_path / "out", sample=50) == first
    assert (tmp_path / "out/manifest.json").stat().st_mtime_ns == written
    assert run_pairs(*two_wikis, tmp_path / "out", sample=60)["configs"]["pairs"]["rows"] == 60
