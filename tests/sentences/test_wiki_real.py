"""The rows of whole wikis, by the definitions of their own templates, are the same from every entry point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest

import wikianchor
from wikianchor.beam import ReadSentences
from wikianchor.pipelines.sentences.wiki import Wiki, open_wiki

# Whole wikis in `with-templates/`. One is read in each run of the tests.
NIGHTLY = ("gagwiki-20220703", "papwiki-20220702", "freecad-en-20141228", "jiaxing-en-fandom_pages_current")
WIKIS = ["jiaxing-zh-fandom_pages_current", *(pytest.param(name, marks=pytest.mark.nightly) for name in NIGHTLY)]
# The wikis that a header does not name.
NAMES = {"freecad": "enwiki", "jiaxing-en": "enwiki", "jiaxing-zh": "zhwiki"}


@pytest.mark.real
@pytest.mark.parametrize("name", WIKIS)
def test_every_entry_point_gives_the_rows_of_the_command(
    name: str, data_dir: Path, tmp_path: Path, wikianchor: Callable[..., Any]
) -> None:
    dump = f"{data_dir}/with-templates/{name}.xml.bz2"
    wiki_of_file = next((wiki for begin, wiki in NAMES.items() if name.startswith(begin)), None)
    flags = [f"--wikis={wiki_of_file}"] if wiki_of_file else []
    ended = wikianchor("sentences", f"--dumps={dump}", f"--output={tmp_path}/out", *flags)
    assert ended.status == 0, ended
    expected = rows_of_dataset(tmp_path / "out")
    wiki = open_wiki(dump, wiki=wiki_of_file)
    for config, rows in expected.items():
        assert list(wiki.rows(config)) == rows, config
    check_judged(wiki)
    with beam.Pipeline("FnApiRunner") as pipeline:
        rows = pipeline | ReadSentences(dump, wiki=wiki_of_file)
        _ = rows | beam.Map(line_of) | beam.io.WriteToText(f"{tmp_path}/beam")
    written = [line for path in tmp_path.glob("beam*") for line in path.read_text("utf-8").splitlines()]
    assert sorted(written) == sorted(map(repr, expected["sentences"]))


def rows_of_dataset(directory: Path) -> dict[str, list[dict[str, Any]]]:
    dataset = wikianchor.open_dataset(str(directory))
    return {config: dataset.to_arrow(config).to_pylist() for config in dataset.configs if config != "templates"}


def line_of(row: Any) -> str:
    return repr({**row._asdict(), "links": [link._asdict() for link in row.links]})


def check_judged(wiki: Wiki) -> None:
    """Check, page by page, that what `extract` and `report` say of sentences is what the dataset has."""
    for page in wiki.pages():
        if page.redirect is None:
            rows = wiki.read(page)
            judged = wiki.judge(page.text, title=page.title)
            kept = [
                (sentence.sentence_index, sentence.region, sentence.text)
                for sentence in judged
                if sentence.dropped is None
            ]
            assert kept == [(row["sentence_index"], row["region"], row["text"]) for row in rows.sentences], page.title
            reasons = Counter(
                f"sentences:{sentence.dropped or 'kept'}"
                for sentence in judged
                if sentence.dropped not in ("heading", "disambiguation_page")
            )
            counted = {name: number for name, number in rows.counts.items() if name.startswith("sentences:") and number}
            assert reasons == counted, page.title
