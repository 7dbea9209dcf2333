"""Documents: lines of JSON, and the code in the docs that makes them of published sets, on files laid out as theirs."""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.test_plots import code
from tests.trainer.mboe.mentions import write_interlanguage, write_sitelinks
from wikianchor.io.errors import InputError
from wikianchor.trainer.data import named_vectors
from wikianchor.trainer.data.named_vectors import read_titles
from wikianchor.trainer.mboe.documents import DocumentSet, read_documents


def converted(folder: Path, name: str) -> DocumentSet:
    """Run the code of docs/papers/m-boe.md that writes NAME.jsonl, and return its documents."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        exec(code("papers/m-boe.md", f'"{name}.jsonl"'), {})
    finally:
        os.chdir(before)
    return read_documents(f"{folder}/{name}.jsonl", "en")


def test_mldoc(tmp_path: Path) -> None:
    files = {
        # The script run by Python 3 writes bytes as Python shows them; by Python 2, the text itself.
        "english.train.1000": "CCAT\tb'Shares  rose \\xe2\\x82\\xac5. (c) Reuters Limited 1997'\n",
        "english.train.2000": "CCAT\tmore\n",
        "english.dev": "GCAT\tb'it is no bytes\n",
        "english.test": 'MCAT\tb"the bank\'s"\n',
        "japanese.test": "ECAT\t円は\u3000上昇\n",
        "japanese.dev": "ECAT\t円\n",
    }
    (tmp_path / "mldoc").mkdir()
    for name, text in files.items():
        (tmp_path / "mldoc" / name).write_text(text)
    documents = converted(tmp_path, "mldoc")
    assert {
        (document.name, document.language, document.split, document.labels, document.text)
        for document in documents.documents
    } == {
        ("english.train.1000:1", "en", "train", ("CCAT",), "Shares rose €5."),
        ("english.dev:1", "en", "dev", ("GCAT",), "b'it is no bytes"),
        ("english.test:1", "en", "test", ("MCAT",), "the bank's"),
        ("japanese.test:1", "ja", "test", ("ECAT",), "円は 上昇"),
    }
    assert not documents.multi_label


def write_talk(root: Path, pair: str, split: str, topic: str, side: str, number: int, text: str) -> None:
    target = root / "ted-cldc" / pair / split / topic / side / f"{number}.ted.txt"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def test_ted(tmp_path: Path) -> None:
    for pair in ("en-ar", "en-pb"):
        for number in range(40):
            art, science = ("positive" if number % share == 0 else "negative" for share in (2, 3))
            write_talk(tmp_path, pair, "train", "art", art, number, f"talk_en {number}_en UNK\nof_en x_y")
            write_talk(tmp_path, pair, "train", "science", science, number, "talk_en")
    for topic, side in (("art", "positive"), ("science", "positive")):
        write_talk(tmp_path, "pb-en", "test", topic, side, 1600, "fala_pb")
        write_talk(tmp_path, "pb-en", "train", topic, side, 7, "fala_pb")
    documents = converted(tmp_path, "ted")
    assert documents.multi_label
    english = [document for document in documents.documents if document.language == "en"]
    assert len(english) == 40
    assert {document.split for document in english} == {"train", "dev"}
    labels = {document.name: document.labels for document in english}
    assert labels["en:train:6.ted.txt"] == ("art", "science")
    assert labels["en:train:2.ted.txt"] == ("art",)
    assert labels["en:train:1.ted.txt"] == ()
    assert next(document.text for document in english if document.name == "en:train:0.ted.txt") == "talk 0 UNK of x_y"
    assert [(document.language, document.text) for document in documents.documents if document.split == "test"] == [
        ("pt", "fala")
    ]


def test_shinra_and_its_oracle(tmp_path: Path) -> None:
    folder = tmp_path / "shinra"
    folder.mkdir()
    (tmp_path / "out").mkdir()
    write_interlanguage(tmp_path / "out/interlanguage")

    def write(code: str, pages: dict[int, list[str]], texts: dict[int, str], links: dict[int, list[str]]) -> None:
        lines = [
            {"pageid": page, "ENEs": [{"ENE_id": kind, "ENE_name": "x"}]} for page in pages for kind in pages[page]
        ]
        (folder / f"{code}_ENEW_LIST.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
        with gzip.open(folder / f"{code}wiki-20190121-cirrussearch-content.json.gz", "wt") as stream:
            for page, text in texts.items():
                row = {"text": text, "outgoing_link": links.get(page, [])}
                stream.write(f"{json.dumps({'index': {'_id': str(page)}})}\n{json.dumps(row)}\n")

    links = {0: ["Thing_3", "Thing_1", "Nothing", "Thing_3"]}
    write("en", {page: ["1.1"] for page in range(100)}, {page: f"page {page}" for page in range(110)}, links)
    write("de", {5: ["1.1", "1.7"]}, {5: "Seite", 6: "andere"}, {})
    documents = converted(tmp_path, "shinra")
    english = {document.name: document for document in documents.documents if document.language == "en"}
    assert len(english) == 100
    assert 0 < len(documents.of("dev", "en")) < 20
    assert (english["en:0"].entities, english["en:1"].entities) == ((1, 3), ())
    assert [(document.text, document.labels) for document in documents.of("test", "de")] == [("Seite", ("1.1", "1.7"))]


@pytest.mark.parametrize("write", [write_interlanguage, write_sitelinks])
def test_titles_that_are_replaced_meanwhile_are_read_again(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, new = write(tmp_path / "titles"), write(tmp_path / "new", items=19)
    assert read_titles(str(target), "enwiki").num_rows == 39
    real = named_vectors.list_shards

    def replaced(*arguments: Any) -> Any:
        monkeypatch.undo()
        shutil.rmtree(target)
        new.rename(target)
        return real(*arguments)

    monkeypatch.setattr(named_vectors, "list_shards", replaced)
    titles = read_titles(str(target), "enwiki")
    assert (titles.num_rows, titles["title"][0].as_py()) == (19, "Thing 1")
    with pytest.raises(InputError, match="dewiki"):
        read_titles(str(target), "dewiki")


def test_json_lines_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    for text, message in (
        (b"{", "line 1: not JSON"),
        (b"[" * 100_000, "line 1: not JSON"),
        (b"[]", "line 1: not a JSON object"),
        (b'{"text": "", "language": "en", "split": "test", "label": 5}', "needs `label`, a string, or `labels`"),
        (b'{"text": "", "language": "en", "split": "test", "label": "a", "entities": ["Q1"]}', "no list of numbers"),
        (b"\n\xff", "line 2: not UTF-8"),
    ):
        file.write_bytes(text)
        with pytest.raises(InputError, match=message):
            read_documents(str(tmp_path), "en")
