"""Pages that the page table has and the dump lacks are named."""

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.dumps import export, page
from wikianchor import commands
from wikianchor.pipelines.sentences.missing_pages import page_table

PAGES = range(1, 301)
LACKING = range(5, 300, 6)


def manifest_of(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "out" / "manifest.json").read_text())


def text_of(number: int) -> str:
    return f"The bus number {number} goes to the [[Station {number % 7}]] of the town."


def save_table(path: Path, last: int = 300) -> None:
    rows = [f"({number},0,'Bus_{number}','wikitext')" for number in range(1, last + 1)]
    rows += ["(900,10,'Stop','wikitext')", "(901,0,'Bus.json','json')", "(902,0,'Old',NULL)"]
    columns = "`page_id` int, `page_namespace` int, `page_title` varbinary(255), `page_content_model` varbinary(32)"
    sql = f"CREATE TABLE `page` ({columns});\nINSERT INTO `page` VALUES {','.join(rows)};\n"
    path.write_bytes(gzip.compress(sql.encode()))


def save_dump(path: Path, numbers: list[int]) -> None:
    pages = [page(f"Bus {number}", number, text_of(number)) for number in numbers]
    path.write_bytes(bz2.compress(export(pages)))


def test_exactly_the_pages_that_were_deleted_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    dump = tmp_path / "enwiki-20260101-pages-articles.xml.bz2"
    save_dump(dump, [number for number in PAGES if number not in LACKING])
    save_table(tmp_path / "enwiki-20260101-page.sql.gz")
    commands.sentences(dumps=dump, output=tmp_path / "out", workers=1)
    missing = manifest_of(tmp_path)["missing_pages"]
    assert missing == {
        "table": "enwiki-20260101-page.sql.gz",
        "pages": 51,
        "titles": [*(f"Bus {number}" for number in LACKING), "Old"],
    }
    (record,) = [record.getMessage() for record in caplog.records if "lacks" in record.getMessage()]
    assert record.startswith("enwiki: the dump lacks 51 pages that enwiki-20260101-page.sql.gz has")
    assert record.endswith("Bus 299; and 1 more, in the manifest")


def test_parts_of_a_dump_are_compared_within_their_ranges(tmp_path: Path) -> None:
    dump = tmp_path / "enwiki-20260101-pages-articles1.xml-p1p100.bz2"
    save_dump(dump, list(range(1, 100)))
    save_table(tmp_path / "enwiki-20260101-page.sql.gz")
    commands.sentences(dumps=dump, output=tmp_path / "out", workers=1)
    assert manifest_of(tmp_path)["missing_pages"]["titles"] == ["Bus 100"]


def test_nothing_is_said_of_a_dump_without_a_table(tmp_path: Path) -> None:
    dump = tmp_path / "enwiki-20260101-pages-articles.xml.bz2"
    save_dump(dump, [1, 2])
    save_table(tmp_path / "enwiki-20260201-page.sql.gz")
    commands.sentences(dumps=dump, output=tmp_path / "out", workers=1)
    assert "missing_pages" not in manifest_of(tmp_path)
    assert page_table(["my.xml"]) is None
