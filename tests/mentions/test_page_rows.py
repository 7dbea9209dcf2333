"""Rows of sentences and fragments, page by page."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.stand_in import Page, write_dataset
from tests.stand_in import fragment_rows as fragments_of
from tests.stand_in import sentence_rows as sentences_of
from wikianchor.pipelines.dataset.reader import shards_of
from wikianchor.pipelines.mentions.page_rows import rows_by_page, shards_of_pages
from wikianchor.schemas import sentences as schema
from wikianchor.schemas.choices import REGIONS


def write(
    directory: Path, sentences: Sequence[Sequence[int]], fragments: Sequence[Sequence[int]]
) -> tuple[list[str], list[str]]:
    """Write shards with the rows of these pages, each row with one link; return their paths."""

    def pages(numbers: Sequence[int]) -> list[Page]:
        return [Page(f"P{n}", ["[[A]] sentence."], page_id=n, fragments=["A [[fragment]]"]) for n in numbers]

    write_dataset(
        directory,
        "sentences",
        {"wiki": "enwiki"},
        {
            "sentences": (schema.SCHEMA, [sentences_of("enwiki", pages(numbers)) for numbers in sentences]),
            "fragments": (schema.FRAGMENTS, [fragments_of("enwiki", pages(numbers)) for numbers in fragments]),
        },
    )
    return shards_of(str(directory), "sentences"), shards_of(str(directory), "fragments")


@pytest.mark.parametrize(
    ("sentences", "fragments", "groups"),
    [
        ([[1, 2], [5, 6]], [[1, 2], [5, 6]], [(0, 2), (1, 3)]),
        # The first range has no fragment, the second no sentence.
        ([[1, 2], [9]], [[5, 6], [9]], [(0,), (1, 3), (2,)]),
        # Sentences of pages of two ranges of fragments.
        ([[1, 2, 3, 4]], [[1, 2], [4]], [(0, 1, 2)]),
        ([[3, 4], [1, 2]], [[4, 3], [2, 1]], [(0, 2), (1, 3)]),
        ([[1], [2]], [], [(0,), (1,)]),
        ([], [[2], [3]], [(0,), (1,)]),
    ],
)
def test_a_page_is_in_one_group_and_in_one_batch(
    tmp_path: Path,
    sentences: Sequence[Sequence[int]],
    fragments: Sequence[Sequence[int]],
    groups: Sequence[tuple[int, ...]],
) -> None:
    of_sentences, of_fragments = write(tmp_path / "s", sentences, fragments)
    paths = [*of_sentences, *of_fragments]
    shard_groups = shards_of_pages(of_sentences, of_fragments)
    assert [tuple(map(paths.index, group)) for group in shard_groups] == list(groups)
    rows = []
    for group in shard_groups:
        batches = [batch.to_pylist() for batch in rows_by_page(group, REGIONS, [10 * n for n in range(len(group))])]
        ids = [[row["page_id"] for row in batch] for batch in batches]
        assert all(batch == sorted(batch) for batch in ids)
        assert len({page for batch in ids for page in batch}) == sum(len(set(batch)) for batch in ids)
        numbers = [row["links"][0]["number"] for batch in batches for row in batch]
        assert len(set(numbers)) == len(numbers)
        rows += [(row["page_id"], row["text"]) for batch in batches for row in batch]
    expected = [(page, "A sentence.") for numbers in sentences for page in numbers]
    expected += [(page, "A fragment") for numbers in fragments for page in numbers]
    assert sorted(rows) == sorted(expected)


def test_links_keep_their_numbers_when_regions_are_left_out(tmp_path: Path) -> None:
    sentences, fragments = write(tmp_path / "s", [[1, 2]], [[1, 2]])
    batches = rows_by_page((*sentences, *fragments), ("list",), (0, 2), linked=True)
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [row["links"][0]["number"] for row in rows] == [2, 3]
    assert {row["region"] for row in rows} == {REGIONS.index("list")}
