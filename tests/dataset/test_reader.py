"""Which datasets a flag names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stand_in import write_dataset
from tests.t5 import write_corpus
from wikianchor.io.errors import InputError
from wikianchor.pipelines.dataset.reader import open_datasets
from wikianchor.schemas import corpus


def opened(patterns: str) -> list[str]:
    return [Path(dataset.directory).name for dataset in open_datasets(patterns, "corpus", corpus.VERSION, "corpus")]


def test_a_directory_of_datasets_stands_for_all_of_them(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_corpus(tmp_path / "all" / name)
    (tmp_path / "all" / "_unfinished").mkdir()
    assert opened(f"{tmp_path}/all") == opened(f"{tmp_path}/all/") == opened(f"{tmp_path}/all/[ab]") == ["a", "b"]
    assert opened(f"{tmp_path}/all/b") == ["b"]


def test_an_unfinished_one_among_them_is_not_left_out(tmp_path: Path) -> None:
    write_corpus(tmp_path / "all" / "a")
    (tmp_path / "all" / "b").mkdir()
    with pytest.raises(InputError, match=r"--corpus=.*/all/b has no manifest.json: it is unfinished or no dataset"):
        opened(f"{tmp_path}/all")


def test_a_directory_of_several_kinds_is_none(tmp_path: Path) -> None:
    write_corpus(tmp_path / "out" / "corpus")
    write_dataset(tmp_path / "out" / "other", "other", {}, {}, "1.0")
    with pytest.raises(InputError, match=r"--corpus=.*/out has no manifest.json: did you mean .*/out/corpus"):
        opened(f"{tmp_path}/out")
