"""`interlanguage`: both routes from item to page, redirects, pages that were not seen, and its licence."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ended
from tests.engines import THREADS
from tests.stand_in import Item, Page, digests, read_rows, write_entities, write_sentences
from wikianchor.pipelines.interlanguage import graph as interlanguage
from wikianchor.pipelines.interlanguage.options import InterlanguageOptions


def options(entities: Path, output: Path, sentences: Path | str = "") -> InterlanguageOptions:
    return InterlanguageOptions(entities=str(entities), output=str(output), sentences=str(sentences))


def test_pages_redirects_and_what_was_not_seen(tmp_path: Path, wikianchor: Callable[..., Ended]) -> None:
    pages = [Page("Apple", page_id=10), Page("Malus", redirect="Apple", page_id=11), Page("Pear", page_id=12)]
    items = [
        Item(3, [], {"enwiki": "Far away"}),
        Item(1, [], {"enwiki": "Apple", "dewiki": "Apfel"}),
        Item(2, [], {"enwiki": "Malus"}),
    ]
    # page_props knows the apple as well, and the pear alone, and a page of another part of the dump.
    entities = write_entities(tmp_path / "items", ["dewiki", "enwiki"], items, {"enwiki": {10: 1, 12: 4, 99: 5}})
    sentences = write_sentences(tmp_path / "enwiki", "enwiki", pages)
    config = options(entities, tmp_path / "out", sentences)
    manifest = interlanguage.run(config, [])
    rows = [tuple(row.values()) for row in read_rows(tmp_path / "out", "interlanguage")]
    assert rows == [
        (1, "dewiki", "Apfel", None, None),
        (1, "enwiki", "Apple", 10, False),
        (2, "enwiki", "Malus", 11, True),
        (3, "enwiki", "Far away", None, None),
        (4, "enwiki", "Pear", 12, False),
        (5, "enwiki", None, 99, None),
    ]
    assert manifest["ledger"]["rows"]["enwiki"] == {"pages": 2, "redirects": 1, "not_seen": 2}
    assert (
        wikianchor("report", f"{tmp_path}/out").output.splitlines()[-1] == "  enwiki: not_seen 2, pages 2, redirects 1"
    )
    assert "- cc0-1.0" in (tmp_path / "out" / "README.md").read_text()
    again = interlanguage.run(options(entities, tmp_path / "two", sentences), [*THREADS])
    assert digests(again) == digests(manifest)


def test_without_titles(tmp_path: Path) -> None:
    entities = write_entities(tmp_path / "items", ["dewiki", "enwiki"], [Item(1, [], {"enwiki": "A", "dewiki": "B"})])
    interlanguage.run(options(entities, tmp_path / "out"), [])
    rows = read_rows(tmp_path / "out", "interlanguage")
    assert [(row["wiki"], row["title"], row["page_id"]) for row in rows] == [
        ("dewiki", "B", None),
        ("enwiki", "A", None),
    ]


@pytest.mark.parametrize(("rows_at_once", "items_counted"), [(1, 1), (2, 1), (3, 10), (3, 1000)])
def test_the_rows_do_not_depend_on_how_many_memory_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_at_once: int, items_counted: int
) -> None:
    pages = [Page(f"P{number}", page_id=number) for number in range(1, 9)]
    pages += [Page(f"R{number}", redirect=f"P{number}", page_id=number + 10) for number in range(1, 9)]
    items = [Item(100 - number, [], {"enwiki": f"P{number}"}) for number in range(1, 7)]
    # An item twice, by two routes that do not agree, and one with a page that no title tells of.
    entities = write_entities(tmp_path / "items", ["enwiki"], items, {"enwiki": {7: 95, 12: 97, 50: 96}})
    sentences = write_sentences(tmp_path / "enwiki", "enwiki", pages)
    at_once = interlanguage.run(options(entities, tmp_path / "one", sentences), [])
    monkeypatch.setattr("wikianchor.pipelines.interlanguage.steps.ROWS_AT_ONCE", rows_at_once)
    monkeypatch.setattr("wikianchor.pipelines.interlanguage.steps.ITEMS", items_counted)
    parted = interlanguage.run(options(entities, tmp_path / "two", sentences), [])
    assert read_rows(tmp_path / "two", "interlanguage") == read_rows(tmp_path / "one", "interlanguage")
    assert parted["ledger"] == at_once["ledger"]
    assert at_once["configs"]["interlanguage"]["rows"] == 9
