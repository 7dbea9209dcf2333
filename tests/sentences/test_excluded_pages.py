"""--exclude_pages: what a list may say, and that nothing of its pages is in any dataset."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.dumps import export, page
from tests.stand_in import read_rows
from wikianchor.io.errors import InputError
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.wikimedia.excluded_pages import read_excluded_pages
from wikianchor.pipelines.wikimedia.site import site_for

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("line", "ids", "titles"),
    [
        ("enwiki\t42", {42}, set()),
        ("enwiki\tada_lovelace", set(), {"Ada lovelace"}),
        ("https://en.wikipedia.org/wiki/Ada_Lovelace", set(), {"Ada Lovelace"}),
        ("https://en.m.wikipedia.org/wiki/Caf%C3%A9?action=raw#Menu", set(), {"Café"}),
        ("http://en.wikipedia.org/w/index.php?curid=7", {7}, set()),
        ("//en.wikipedia.org/w/index.php?title=1984", set(), {"1984"}),
        ("dewiki\tAda", set(), set()),
        ("https://fr.wikipedia.org/wiki/Ada", set(), set()),
        ("# a comment", set(), set()),
        ("", set(), set()),
    ],
)
def test_what_a_line_may_say(tmp_path: Path, line: str, ids: set[int], titles: set[str]) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(f"\ufeff{line}\r\n".encode())
    excluded = read_excluded_pages(str(path), site_for("enwiki"))
    assert (excluded.ids, excluded.titles) == (ids, titles)
    assert bool(excluded.digest()) == bool(ids or titles)


@pytest.mark.parametrize(
    "line", ["Ada Lovelace", "enwiki\t", "nowhere\tAda", "https://example.org/wiki/Ada", "enwiki\ta|b", "http://[x"]
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "list.txt"
    path.write_text(f"enwiki\tAda\n{line}\n")
    with pytest.raises(InputError, match=r"list.txt, line 2: ") as error:
        read_excluded_pages(str(path), site_for("enwiki"))
    assert "\n" not in str(error.value)


def test_nothing_of_an_excluded_page_is_written(tmp_path: Path, wikianchor: Run) -> None:
    pages = [
        page("Ada", 1, "She was born in [[London]] long ago."),
        page("Countess of L", 2, redirect="Ada"),
        page("London", 3, "It is a city on a river, where [[Ada]] lived for years."),
        page("Bo", 4, "He was born in [[London]] not long ago."),
    ]
    dump, excluded = tmp_path / "enwiki.xml", tmp_path / "takedowns.txt"
    dump.write_bytes(export(pages))
    excluded.write_text("enwiki\tAda\nenwiki\t4\nenwiki\tNobody\n")
    ended = wikianchor("sentences", f"--dumps={dump}", f"--output={tmp_path}/out", f"--exclude_pages={excluded}")
    assert ended.status == 0
    assert any("2 of the 3 pages of enwiki are in the dump" in line for line in ended.progress)
    manifest = read_manifest(f"{tmp_path}/out")
    assert manifest["ledger"]["enwiki"]["pages"] == {"articles": 1, "excluded": 2, "redirect_to_excluded": 1}
    for config in ("sentences", "titles", "ledger"):
        assert {row["page_id"] for row in read_rows(tmp_path / "out", config)} == {3}
    assert b"Nobody" not in (tmp_path / "out/manifest.json").read_bytes()
    assert wikianchor("verify", f"{tmp_path}/out").status == 0
    # A list without a page of this wiki changes nothing.
    excluded.write_text("dewiki\tAda\n")
    assert wikianchor("sentences", f"--dumps={dump}", f"--output={tmp_path}/all").status == 0
    manifest = read_manifest(f"{tmp_path}/all")
    assert (
        wikianchor("sentences", f"--dumps={dump}", f"--output={tmp_path}/all", f"--exclude_pages={excluded}").status
        == 0
    )
    assert read_manifest(f"{tmp_path}/all") == manifest
