"""--split, --exclude_text, --max_near_duplicates: nothing is in two splits, the ledger holds what is left out."""

import argparse
import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engines import THREADS
from tests.stand_in import (
    Item,
    Page,
    digests,
    read_rows,
    run_pairs,
    sentence_rows,
    small_wiki,
    work_of,
    write_entities,
    write_sentences,
)
from wikianchor.io.errors import InputError
from wikianchor.io.options import add_options, read_options
from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.arrays.splits import Split
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.dataset.card import files_of_splits
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.release import make_release
from wikianchor.pipelines.pairs.ngrams import WORDS, hash_ngrams, overlapping, read_texts, save_ngrams
from wikianchor.pipelines.pairs.options import PairChoices
from wikianchor.pipelines.pairs.sentence_checks import CheckTask, hash_patterns, limit_sentences
from wikianchor.schemas import sentences as sentences_schema
from wikianchor.schemas.pairs import SPLITS

WIKIS = ("enwiki", "jawiki")
CONFIGS = ("pairs", "pairs_dev", "pairs_test")
ALL = {"split": (0.25, 0.25), "max_near_duplicates": 100, "negatives": 2}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], Path]:
    """Two wikis that share their items; the last pages of each have no item. The last sentence of all pages is the same
    but for a number, and each other sentence has a word of its own."""
    folder = tmp_path_factory.mktemp("split")
    wikis = {wiki: small_wiki(pages=150, types=2, wiki=wiki) for wiki in WIKIS}
    items = [
        Item(first.qid, first.types, {**first.sitelinks, **second.sitelinks})
        for first, second in zip(wikis["enwiki"][1], wikis["jawiki"][1], strict=True)
    ][:-15]
    sentences = []
    for wiki, (pages, _) in wikis.items():
        words = iter("".join(letters) for letters in product("abcdefghij", repeat=4))
        row_links = []
        for page in pages:
            *first, last = page.sentences
            row_links.append(replace(page, sentences=[*(f"{text} {next(words)}" for text in first), last]))
        sentences.append(write_sentences(folder / wiki, wiki, row_links, 3))
    return sentences, write_entities(folder / "entities", WIKIS, items)


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory, inputs: tuple[list[Path], Path]) -> Dataset:
    output = tmp_path_factory.mktemp("out") / "pairs"
    return Dataset(str(output), run_pairs(*inputs, output, rows_per_shard=100, **ALL))


def rows_of_splits(dataset: Dataset) -> list[list[dict[str, Any]]]:
    return [read_rows(Path(dataset.directory), config) for config in CONFIGS]


def no_value_twice(values: Sequence[set[Any]]) -> bool:
    return len(set.union(*values)) == sum(map(len, values))


def test_no_page_no_entity_and_no_text_is_in_two_splits(split: Dataset) -> None:
    splits = rows_of_splits(split)
    assert all(len(rows) > 10 for rows in splits)
    # Page N of either wiki is about item 1000 + N: as an item it is a page and an entity in the same split.
    items = [
        {1000 + int(row["title"].rpartition(" ")[2]) for row in rows}
        | {row["entity_qid"] for row in rows}
        | {qid for row in rows for qid in row["hard_negative_qids"]}
        for rows in splits
    ]
    for values in (
        [{item for item in of_split if item < 1135} for of_split in items],
        [{(row["wiki"], row["page_id"]) for row in rows} for rows in splits],
        [
            {row["entity_qid"] for row in rows} | {qid for row in rows for qid in row["hard_negative_qids"]}
            for rows in splits
        ],
        [{"".join(filter(lambda letter: not letter.isdigit(), row["text"])) for row in rows} for rows in splits],
    ):
        assert no_value_twice(values)
    assert any(item >= 1135 for of_split in items for item in of_split), "no page without an item was kept"


def test_the_ledger_balances_and_verify_finds_nothing(split: Dataset, capfd: pytest.CaptureFixture[str]) -> None:
    kept = 0
    for buckets in split.manifest["ledger"]["links"].values():
        counts = dict(buckets)
        assert sum(counts.values()) - counts["seen"] == counts["seen"]
        assert counts["other_split"]
        assert counts["text_in_other_split"]
        kept += counts["kept"]
    assert kept == sum(split.rows(config) for config in CONFIGS)
    assert main(["verify", split.directory]) == 0
    assert main(["report", split.directory]) == 0
    assert f"held out, beside these of train: {split.rows('pairs_dev'):,} pairs of dev" in capfd.readouterr().out


def test_verify_finds_an_entity_in_two_splits(
    split: Dataset, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from tests.stand_in import write_dataset
    from wikianchor.schemas import pairs as schema

    rows = read_rows(Path(split.directory), "pairs")
    configs = {name: (schema.SCHEMA, [rows[:5]]) for name in ("pairs", "pairs_test")}
    configs["entities"] = (schema.ENTITIES, [read_rows(Path(split.directory), "entities")])
    write_dataset(tmp_path / "wrong", "pairs", split.manifest["options"], configs)
    assert main(["verify", str(tmp_path / "wrong")]) == 1
    assert "the entity is in two splits" in capfd.readouterr().out


MODES = {
    "threads, bundles repeated": THREADS,
    "rows through Beam": ["--shuffle=beam"],
}


@pytest.mark.parametrize("mode", MODES)
def test_the_bytes_are_the_same_in_every_running_mode(
    tmp_path: Path, inputs: tuple[list[Path], Path], split: Dataset, mode: str
) -> None:
    manifest = run_pairs(*inputs, tmp_path / "out", MODES[mode], rows_per_shard=100, **ALL)
    assert digests(manifest) == digests(split.manifest)
    assert manifest["ledger"] == split.manifest["ledger"]


def test_a_split_works_with_a_sample_and_a_cap(tmp_path: Path, inputs: tuple[list[Path], Path]) -> None:
    manifest = run_pairs(*inputs, tmp_path / "out", sample=50, max_per_entity=3, **ALL)
    assert sum(manifest["configs"].get(config, {"rows": 0})["rows"] for config in CONFIGS) == 50


def test_a_release_has_the_splits_of_each_language(split: Dataset, tmp_path: Path) -> None:
    release = make_release(split, str(tmp_path / "release"), "https://example.org", "2026-01-01")
    files = files_of_splits(release.manifest)
    assert list(files) == ["pairs", "en", "entities", "ja"]
    assert files["ja"] == {
        name: f"data/{config}/{name}-*.parquet"
        for name, config in zip(SPLITS, ("ja", "ja_dev", "ja_test"), strict=True)
    }
    assert files["entities"] == {"train": "data/entities/train-*.parquet"}
    for config in CONFIGS:
        assert release.rows(config) == sum(release.rows(config.replace("pairs", name)) for name in ("en", "ja"))
    card = (tmp_path / "release/README.md").read_text()
    assert "  - split: dev\n    path: data/ja_dev/dev-*.parquet\n" in card
    shown = pytest.importorskip("datasets").load_dataset(str(tmp_path / "release"), "ja", split="test", streaming=True)
    assert len(list(shown)) == release.rows("ja_test")


@given(st.integers(0, 2**63 - 1), st.floats(0.01, 0.45), st.floats(0.01, 0.45))
def test_shares_are_those_of_the_items(seed: int, dev: float, test: float) -> None:
    numbers = Split((dev, test), seed).of_items(np.arange(1, 4001))
    shares = np.bincount(numbers, minlength=3) / 4000
    assert np.allclose(shares, (1 - dev - test, dev, test), atol=0.05)
    pages = Split((dev, test), seed).of_pages(5, np.arange(4000), np.where(np.arange(4000) % 2, np.arange(4000), 0))
    assert (pages[1::2] == numbers[0::2]).all()


@pytest.mark.parametrize("shares", ["0.1", "0.5,0.5", "0,0.1", "a,b", "nan,0.1", "0.1,0.1,0.1"])
def test_wrong_shares_are_one_line(shares: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", "--sentences=x", "--entities=y", "--output=z", f"--split={shares}"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert f"--split={shares}" in line


def test_equal_shares_are_two_numbers() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser, PairChoices)
    assert read_options(PairChoices, parser.parse_args(["--split=0.1,0.1"])).split == (0.1, 0.1)


# --- near-duplicates --------------------------------------------------------------------------------------------------


def patterns_of(*pages: Page) -> list[int]:
    rows = pa.Table.from_pylist(sentence_rows("enwiki", pages), sentences_schema.SCHEMA).to_batches()[0]
    return hash_patterns(rows).tolist()


def test_sentences_of_one_pattern_differ_in_links_title_and_digits() -> None:
    first, second, third = patterns_of(
        Page("Ada (town)", ["Ada is a town of 1,234 people in [[Ohio]]."]),
        Page("Bo", ["Bo is a town of 5,678 people in [[Utah|the west]]."]),
        Page("Cy", ["Cy is a river of 5,678 metres in [[Utah]]."]),
    )
    assert first == second != third


def test_at_most_so_many_sentences_of_a_pattern_are_kept(tmp_path: Path) -> None:
    towns = [Page(f"Town{chr(65 + number)}", [f"Town{chr(65 + number)} is in [[Ohio]]."]) for number in range(20)]
    pages = [*towns, Page("River", ["The river ends in [[Ohio]]."]), Page("Ohio")]
    sentences = write_sentences(tmp_path / "s", "enwiki", pages, 4)
    entities = write_entities(tmp_path / "e", ["enwiki"], [Item(1, [7], {"enwiki": "Ohio"})])
    links = run_pairs([sentences], entities, tmp_path / "o", max_near_duplicates=5, negatives=0)["ledger"]["links"]
    assert links["enwiki"] == {"kept": 6, "near_duplicate": 15, "seen": 21}
    again = write_sentences(tmp_path / "again", "enwiki", pages, 1)
    run_pairs([again], entities, tmp_path / "p", max_near_duplicates=5, negatives=0)
    assert read_rows(tmp_path / "o", "pairs") == read_rows(tmp_path / "p", "pairs")


@given(st.lists(st.integers(0, 9), max_size=200), st.integers(1, 20), st.integers(1, 5))
def test_limits_are_those_of_a_sort_in_memory(
    tmp_path_factory: pytest.TempPathFactory, patterns: list[int], most: int, shards: int
) -> None:
    from wikianchor.pipelines.arrays.tables import open_tables, save_tables
    from wikianchor.pipelines.pairs.sentence_checks import Checked

    work = work_of(tmp_path_factory.mktemp("limits"))
    hashes, keys = mix(1, np.array(patterns, np.int64)), mix(2, np.arange(len(patterns)))
    checked = []
    for order in range(shards):
        arrays = dict.fromkeys(("patterns", "repeats"), hashes[order::shards]) | {"keys": keys[order::shards]}
        links = np.ones(len(arrays["keys"]), np.int32)
        checked.append(Checked(order, save_tables(work.scratch, "c", {**arrays, "links": links}), len(links)))
    task = CheckTask(work, 0, (), max_near_duplicates=most, sentences_of_text=most, split=Split())
    tables = open_tables(limit_sentences(task, checked).path)
    expected = {
        int(value): int(np.sort(keys[hashes == value])[most - 1]) for value in hashes if (hashes == value).sum() > most
    }
    assert dict(zip(tables["patterns"].tolist(), tables["greatest_keys"].tolist(), strict=True)) == expected
    assert dict(zip(tables["repeats"].tolist(), tables["greatest_repeats"].tolist(), strict=True)) == expected


# --- texts of evaluation sets -----------------------------------------------------------------------------------------

LONG = "the quick brown fox jumps over the lazy dog today"


@pytest.mark.parametrize(
    ("text", "sentence", "overlaps"),
    [
        (LONG, "Once, The quick BROWN fox -- jumps over the lazy dog; so it says.", True),
        (LONG, "the quick brown fox jumps over the big dog today", False),
        ("A man plays a flute.", "a man plays a flute", True),
        ("A man plays a flute.", "A man plays a flute loudly.", False),
        ("two words", "two words", False),
        ("彼は毎朝六時に起きて公園を走っています。", "昔から彼は毎朝六時に起きて公園を走っていますよ", True),
        ("彼は毎朝六時に起きて公園を走っています。", "彼は毎朝七時に起きて公園を歩いています。", False),
        ("ภาษาไทยเป็นภาษาที่ใช้ในประเทศไทย", "และภาษาไทยเป็นภาษาที่ใช้ในประเทศไทยด้วย", True),
    ],
)
def test_what_overlaps(text: str, sentence: str, overlaps: bool) -> None:
    ngrams = np.sort(hash_ngrams(pa.array([text]))[0])
    assert overlapping(pa.array(["", sentence, "something else"]), ngrams).tolist() == [False, overlaps, False]


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=20), max_size=6), st.lists(st.sampled_from("abc"), max_size=20)
)
def test_overlap_is_a_common_run_of_words(texts: list[list[str]], sentence: list[str]) -> None:
    def runs(words: list[str]) -> set[tuple[str, ...]]:
        if len(words) < WORDS:
            return {tuple(words)} if len(words) >= 4 else set()
        return {tuple(words[first : first + WORDS]) for first in range(len(words) - WORDS + 1)}

    known = np.unique(hash_ngrams(pa.array([" ".join(words) for words in texts], pa.string()))[0])
    expected = bool(runs(sentence) & set().union(*map(runs, texts)))
    assert overlapping(pa.array([" ".join(sentence)]), known).tolist() == [expected]


def test_texts_are_read_from_every_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\ufeffone\nand\ttwo\r\n", "utf-8")
    (tmp_path / "b.csv").write_text('"one, with a comma",two\n')
    (tmp_path / "c.jsonl").write_text(json.dumps({"a": "one", "b": [{"c": "two"}, 3]}) + "\n\n")
    (tmp_path / "d.tsv.gz").write_bytes(gzip.compress(b"one\ttwo\n"))
    pq.write_table(pa.table({"x": ["one", None], "y": [1, 2]}), tmp_path / "e.parquet")
    texts_read = {path.name: sorted(read_texts(str(path))) for path in tmp_path.iterdir()}
    assert texts_read == {
        "a.txt": ["and", "one", "two"],
        "b.csv": ["one, with a comma", "two"],
        "c.jsonl": ["one", "two"],
        "d.tsv.gz": ["one", "two"],
        "e.parquet": ["one"],
    }


@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl", b"{"), ("a.parquet", b"x"), ("a.txt", b"1\t2\n"), ("a.gz", b"x")]
)
def test_a_file_that_is_no_text_is_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name) as error:
        save_ngrams([str(tmp_path / name)], str(tmp_path))
    assert "\n" not in str(error.value)


def test_sentences_of_evaluation_sets_are_left_out_and_counted(tmp_path: Path) -> None:
    pages = [
        Page("P", [f"Then {LONG} in [[A]].", "Nothing of the kind is said about [[A]] here."]),
        Page("A"),
    ]
    sentences = write_sentences(tmp_path / "s", "enwiki", pages)
    entities = write_entities(tmp_path / "e", ["enwiki"], [Item(1, [7], {"enwiki": "A"})])
    files = tmp_path / "sts.tsv"
    files.write_text(f"4.2\t{LONG}\tOther.\n")
    choices = {"negatives": 0, "exclude_text": (str(files),)}
    manifest = run_pairs([sentences], entities, tmp_path / "o", **choices)
    assert manifest["ledger"]["links"]["enwiki"] == {"evaluation_text": 1, "kept": 1, "seen": 2}
    assert [text.split()[0] for text in manifest["options"]["exclude_text"]] == ["sts.tsv"]
    # Another content of the file is another dataset.
    files.write_text("4.2\tsomething else altogether is said here now\n")
    assert run_pairs([sentences], entities, tmp_path / "o", **choices)["configs"]["pairs"]["rows"] == 2
