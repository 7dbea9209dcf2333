"""Readers of the published sets, on files laid out as theirs, and what they say of files that are not."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.mboe.mentions import write_interlanguage, write_sitelinks
from wikianchor.io.errors import InputError
from wikianchor.trainer.data import named_vectors
from wikianchor.trainer.data.named_vectors import read_titles
from wikianchor.trainer.mboe.bags import read_links
from wikianchor.trainer.mboe.documents import read_documents, read_shinra


def test_mldoc(tmp_path: Path) -> None:
    # The script run by Python 3 writes bytes as Python shows them; by Python 2, the text itself.
    (tmp_path / "english.train.1000").write_text("CCAT\tb'Shares  rose \\xe2\\x82\\xac5. (c) Reuters Limited 1997'\n")
    (tmp_path / "english.dev").write_text("GCAT\tb'it is no bytes\n")
    (tmp_path / "english.test").write_text('MCAT\tb"the bank\'s"\n')
    (tmp_path / "japanese.test").write_text("ECAT\t円は\u3000上昇\n")
    documents = read_documents(str(tmp_path), "mldoc", "en")
    assert [
        (document.language, document.split, document.labels, document.text) for document in documents.documents
    ] == [
        ("en", "train", ("CCAT",), "Shares rose €5."),
        ("en", "dev", ("GCAT",), "b'it is no bytes"),
        ("en", "test", ("MCAT",), "the bank's"),
        ("ja", "test", ("ECAT",), "円は 上昇"),
    ]
    assert not documents.multi_label
    (tmp_path / "english.dev").write_text("GCAT text\n")
    with pytest.raises(InputError, match=r"english\.dev, line 1: not a class of MLDoc, a tab and a text"):
        read_documents(str(tmp_path), "mldoc", "en")
    with pytest.raises(InputError, match=r"MLDoc has no ko: its languages are de, en, es, fr, it, ja, ru, zh"):
        read_documents(str(tmp_path), "mldoc", "ko")


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
    documents = read_documents(str(tmp_path), "ted", "en")
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
    write_talk(tmp_path, "en-ar", "train", "art", "neutral", 5, "")
    with pytest.raises(InputError, match=r"lies in train/art/neutral: not as TED-CLDC is laid out"):
        read_documents(str(tmp_path), "ted", "en")


def test_shinra(tmp_path: Path) -> None:
    def write(code: str, pages: dict[int, list[str]], texts: dict[int, str]) -> None:
        lines = [
            {"pageid": page, "ENEs": [{"ENE_id": kind, "ENE_name": "x"}]} for page in pages for kind in pages[page]
        ]
        (tmp_path / f"{code}_ENEW_LIST.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
        dump = [line for page, text in texts.items() for line in ({"index": {"_id": str(page)}}, {"text": text})]
        with gzip.open(tmp_path / f"{code}wiki-20190121-cirrussearch-content.json.gz", "wt") as stream:
            stream.write("".join(json.dumps(line) + "\n" for line in dump))

    write("en", {page: ["1.1"] for page in range(100)}, {page: f"page {page}" for page in range(110)})
    write("de", {5: ["1.1", "1.7"]}, {5: "Seite", 6: "andere"})
    documents = read_documents(str(tmp_path), "shinra", "en")
    assert len([document for document in documents.documents if document.language == "en"]) == 100
    assert 0 < len(documents.of("dev", "en")) < 20
    assert [(document.text, document.labels) for document in documents.of("test", "de")] == [("Seite", ("1.1", "1.7"))]
    write("de", {page: ["1.7"] for page in range(50)}, {page: f"Seite {page}" for page in range(50)})
    few = read_documents(str(tmp_path), "shinra", "en", test_documents=10).of("test", "de")
    more = read_documents(str(tmp_path), "shinra", "en", test_documents=20).of("test", "de")
    assert (len(few), len(more), set(few) < set(more)) == (10, 20, True)
    assert {document.name for document in few} != {f"de:{page}" for page in range(10)}
    (tmp_path / "fr_ENEW_LIST.json").write_text('{"pageid": 1, "ENEs": []}\n')
    with pytest.raises(
        InputError, match=r"frwiki-\*-cirrussearch-content\.json\[\.gz\]: not there, and .* needs its texts"
    ):
        read_documents(str(tmp_path), "shinra", "en")
    for line in ('{"pageid": 1}\n', "[" * 100_000):
        (tmp_path / "fr_ENEW_LIST.json").write_text(line)
        with pytest.raises(InputError, match=r"line 1: not a page with `pageid` and `ENEs`"):
            read_documents(str(tmp_path), "shinra", "en")


def test_the_oracle_of_shinra_is_the_links_of_the_pages(tmp_path: Path) -> None:
    titles = write_interlanguage(tmp_path / "titles")
    data = tmp_path / "shinra"
    data.mkdir()
    links = {0: ["Thing_3", "Thing_1", "Nothing", "Thing_3"], 1: []}
    (data / "en_ENEW.json").write_text("".join(f'{{"pageid": {page}, "ENEs": []}}\n' for page in links))
    lines = [part for page in links for part in ({"index": {"_id": page}}, {"text": "t", "outgoing_link": links[page]})]
    dump = data / "enwiki-20190121-cirrussearch-content.json"
    dump.write_text("".join(json.dumps(line) + "\n" for line in lines))
    documents = {
        document.name: document.entities for document in read_shinra(str(data), "en", titles=str(titles)).documents
    }
    assert documents == {"en:0": (1, 3), "en:1": ()}
    assert {document.entities for document in read_shinra(str(data), "en").documents} == {None}
    with pytest.raises(InputError, match="has no titles of enwiki"):
        read_shinra(str(data), "en", titles=str(write_interlanguage(tmp_path / "other", "dewiki")))


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
            read_documents(str(tmp_path), "json", "en")


def test_links_of_another_linker(tmp_path: Path) -> None:
    file = tmp_path / "links.jsonl"
    file.write_text('{"id": 7, "entities": [3, "5"]}\n')
    assert read_links(str(file)) == {"7": [3, 5]}
    for line in ("5", "{}", '{"id": 1, "entities": ["Q5"]}', "[" * 100_000):
        file.write_text(line)
        with pytest.raises(InputError, match="line 1: not an object with `id` and `entities`"):
            read_links(str(file))
