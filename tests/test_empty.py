"""A dataset without a row is an error of one line that says why, and leaves nothing that looks finished."""

import bz2
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.dumps import export, page
from tests.stand_in import Item, Page, write_entities, write_sentences
from wikianchor.pipelines.dataset.manifest import read_manifest

DEMO = Path(__file__).parent.parent / "demo" / "dumps"
ENGLISH = next(DEMO.glob("enwiki-*.xml.bz2"))
Run = Callable[..., Any]


def check(ended: Any, output: Path, words: str) -> None:
    assert ended.status == 1
    assert len(ended.said) == 1, ended.said
    assert words in ended.said[0]
    assert not (output / "manifest.json").exists()
    assert not (output / "_unfinished").exists()
    assert not list(output.rglob("*.parquet"))


def write_dump(folder: Path, pages: Sequence[bytes], wiki: str = "enwiki") -> Path:
    path = folder / f"{wiki}-20260101-pages-articles.xml.bz2"
    path.write_bytes(bz2.compress(export(list(pages), wiki)))
    return path


def test_another_wiki_than_the_header_says(tmp_path: Path, wikianchor: Run) -> None:
    output = tmp_path / "out"
    ended = wikianchor("sentences", f"--dumps={ENGLISH}", "--wikis=jawiki", f"--output={output}")
    check(ended, output, "no sentence came out of the dump of jawiki: its <siteinfo> says enwiki: leave --wikis=jawiki")
    ended = wikianchor("sentences", f"--dumps={ENGLISH}", f"--output={output}")
    assert ended.status == 0, ended.said


SENTENCES = {
    "no prose": (
        [page("A", 1, "Short."), page("B", 2, "No.")],
        "no sentence came out of the dump of enwiki: most are dropped as fragment:short 2",
    ),
    "redirects": (
        [page("A", 1, "#REDIRECT [[B]]", redirect="B")],
        "no sentence came out of the dump of enwiki: its pages are redirects 1",
    ),
    "other pages": ([page("Talk:A", 1, "Text.", namespace=1)], "the dump of enwiki holds no article"),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_no_sentence(name: str, tmp_path: Path, wikianchor: Run) -> None:
    pages, words = SENTENCES[name]
    dump = write_dump(tmp_path, pages)
    check(wikianchor("sentences", f"--dumps={dump}", f"--output={tmp_path}/out"), tmp_path / "out", words)


def test_an_empty_wiki_of_a_build(tmp_path: Path, wikianchor: Run) -> None:
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    write_dump(dumps, [page("A", 1, "Kurz.")], "dewiki")
    places = f"{dumps},{ENGLISH},{next(DEMO.glob('wikidata*'))}"
    ended = wikianchor("build", f"--dumps={places}", f"--output={tmp_path}/out", "--min_links=2")
    assert ended.status == 0, ended.said
    assert any("no sentence came out of the dump of dewiki" in line for line in (*ended.said, *ended.progress))
    assert set(ledger(tmp_path / "out/pairs")) == {"dewiki", "enwiki"}


def ledger(directory: Path) -> dict[str, dict[str, int]]:
    manifest = read_manifest(str(directory))
    assert manifest is not None
    return dict(manifest["ledger"]["links"])


@pytest.fixture
def two_wikis(tmp_path: Path) -> list[str]:
    """Datasets of two wikis, of which the links of the second lead nowhere."""
    sentence = "Things are near [[{}]] in every way."
    sentences = [
        write_sentences(tmp_path / "s" / wiki, wiki, [Page("A", [sentence.format(to)]), Page("B", ["Nothing."])])
        for wiki, to in (("enwiki", "B"), ("dewiki", "Nowhere"))
    ]
    items = [Item(1, [5], {"enwiki": "A", "dewiki": "A"}), Item(2, [5], {"enwiki": "B", "dewiki": "B"})]
    entities = write_entities(tmp_path / "e", ["enwiki", "dewiki"], items)
    return [f"--sentences={','.join(map(str, sentences))}", f"--entities={entities}"]


def test_a_wiki_without_a_pair(two_wikis: list[str], tmp_path: Path, wikianchor: Run) -> None:
    flags = [*two_wikis, f"--output={tmp_path}/out", "--negatives=0"]
    ended = wikianchor("pairs", *flags, "--min_links=0")
    assert ended.status == 0, ended.said
    assert any("no pair of dewiki came out: most links ended as red_link 1" in line for line in ended.progress)
    assert ledger(tmp_path / "out")["dewiki"] == {"red_link": 1, "seen": 1}
    shutil.rmtree(tmp_path / "out")
    words = "no pair of dewiki, enwiki came out: most links ended as below_floor 1: see --min_links"
    check(wikianchor("pairs", *flags, "--min_links=9"), tmp_path / "out", words)
