"""Rows of `wikianchor sentences` that a person read (`tests/data/sentence_rows.json`).

Of each wiki 200 rows, chosen by a hash, with a class of fault or "". A row is identified by page, revision, number and
a hash of its text. docs/explanation/studies/rows-read-by-a-person.md has the classes and the method.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from lib import slices

from tests import real_pages
from wikianchor.io.errors import InputError
from wikianchor.pipelines.sentences.columns import Columns

VERDICTS = Path(__file__).parents[1] / "data/sentence_rows.json"
# How many of the rows with each fault are still there: a change may only lower them. Two of "signs" have a blank after
# a bracket that an editor wrote, as MediaWiki shows it.
LEFT = {"boundary": 5, "hole": 0, "fragment": 6, "reference": 0, "signs": 6, "quote": 6, "entry": 57, "source": 36}


def present_rows(pages: dict[str, set[int]]) -> dict[str, set[tuple[str, str]]]:
    """The rows of pages now, by wiki, as (page, hash of the text); of two dumps that hold a page the first counts."""
    rows: dict[str, set[tuple[str, str]]] = {wiki: set() for wiki in pages}
    seen: set[tuple[str, str]] = set()
    root = slices.data() / "wikipedia-xml"
    for path in sorted(str(path) for path in root.rglob("*") if path.is_file()):
        columns: Columns | None = None
        try:
            site = real_pages.site_of(path)
            if site.wiki not in pages:
                continue
            reader = real_pages.page_reader(site, engine=None)
            columns = reader.new_tables().sentences
            for page in real_pages.pages_of(reader, path):
                if (site.wiki, page.title) not in seen:
                    seen.add((site.wiki, page.title))
                    if page.page_id in pages[site.wiki]:
                        reader.read_page(page)
        except InputError:
            # Some of the samples are no dumps; a damaged one counts as far as it goes.
            pass
        if columns is not None and len(columns):
            rows[site.wiki] |= {
                (str(row["page_id"]), hashlib.sha256(row["text"].encode()).hexdigest()[:8])
                for row in columns.take().to_pylist()
            }
    return rows


@pytest.mark.real
@pytest.mark.usefixtures("data_dir")
@pytest.mark.slow
def test_sound_rows_stay_and_faulty_rows_do_not_come_back() -> None:
    verdicts: dict[str, dict[str, str]] = json.loads(VERDICTS.read_text())
    pages = {wiki: {int(key.split()[0]) for key in judged} for wiki, judged in verdicts.items()}
    rows = present_rows(pages)
    left: Counter[str] = Counter()
    for wiki, judged in verdicts.items():
        for key, fault in judged.items():
            page, _, _, digest = key.split()
            present = (page, digest) in rows[wiki]
            assert present or fault, f"a sound row is gone: {wiki} {key}"
            left[fault] += present
    assert sum(map(len, verdicts.values())) == 2_400
    assert {fault: left[fault] for fault in LEFT if left[fault] > LEFT[fault]} == {}
