"""Labelled documents of several languages: JSON lines of your own, and three sets as their owners distribute them.

    json    *.jsonl: {"text", "label" or "labels", "language", "split"}; "id", "entities" (items linked there)
    mldoc   <language>.train.1000, <language>.dev, <language>.test, as generate_documents.py of MLDoc writes them
    ted     ted-cldc/<pair>/<train or test>/<topic>/<positive or negative>/*.ted.txt
    shinra  <language>*.json with ENEs, one page a line, and <language>wiki-*-cirrussearch-content.json[.gz]

The licences of the last three forbid shipping them. What is missing is told with where to get it.
"""

from __future__ import annotations

import ast
import glob
import gzip
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from wikianchor.io.errors import InputError
from wikianchor.io.storage import reading

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Document:
    """A text with its labels.

    Attributes:
        name: tells it from all others of the set.
        text: as it is.
        labels: one, or any number in a multi-label set.
        language: its code.
        split: train, dev or test.
        entities: items that the document links to, where the set says so: the oracle's.
    """

    name: str
    text: str
    labels: tuple[str, ...]
    language: str
    split: str
    entities: tuple[int, ...] | None = None


@dataclass(frozen=True)
class DocumentSet:
    """Documents in the order of their files; `multi_label` where one may have several labels or none."""

    documents: tuple[Document, ...]
    multi_label: bool

    def of(self, split: str, language: str) -> tuple[Document, ...]:
        """Return the documents of a split and a language."""
        return tuple(one for one in self.documents if one.split == split and one.language == language)

    def languages(self, split: str) -> tuple[str, ...]:
        """Return the languages of a split, sorted."""
        return tuple(sorted({one.language for one in self.documents if one.split == split}))


def read_documents(
    path: str, kind: str, language: str, train_size: str = "1000", test_documents: int = 0
) -> DocumentSet:
    """Read a set.

    Args:
        path: a directory, or a file or glob of JSON lines.
        kind: one of `config.KINDS`.
        language: that of the training documents.
        train_size: of MLDoc's training file: 1000, 2000, 5000 or 10000.
        test_documents: of each of SHINRA's languages, by lot; 0 for all, which take tens of gigabytes.

    Raises:
        InputError: a file is missing or broken, or a split has no document.
    """
    readers: Mapping[str, Callable[[], DocumentSet]] = {
        "json": lambda: read_json(path),
        "mldoc": lambda: read_mldoc(path, language, train_size),
        "ted": lambda: read_ted(path, language),
        "shinra": lambda: read_shinra(path, language, test_documents),
    }
    found = readers[kind]()
    for split, known in (("train", (language,)), ("dev", (language,)), ("test", found.languages("test"))):
        if not known or not any(one.split == split and one.language in known for one in found.documents):
            where = f" in {language}" if split != "test" else ""
            raise InputError(f"{path}: has no {split} documents{where}: give some, or another --language")
    return found


def read_json(path: str) -> DocumentSet:
    """Read JSON lines; documents with `labels` make a multi-label set."""
    pattern = f"{path}/*.jsonl" if os.path.isdir(path) else path
    files = sorted(glob.glob(pattern))
    if not files:
        raise InputError(f"{pattern}: no such file: documents are lines of JSON with text, label, language and split")
    documents: list[Document] = []
    kinds: set[bool] = set()
    for file in files:
        for number, line in enumerate(_lines(file), 1):
            place = f"{file}, line {number}"
            document, several = _json_document(line, place)
            kinds.add(several)
            if len(kinds) > 1:
                raise InputError(f"{place}: `label` and `labels` in one set: use one of them throughout")
            documents.append(document)
    return DocumentSet(tuple(documents), kinds == {True})


def _json_document(line: str, place: str) -> tuple[Document, bool]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON ({error})") from error
    if not isinstance(row, dict):
        raise InputError(f"{place}: not a JSON object")
    several = "labels" in row
    labels = row["labels"] if several else [row.get("label")]
    for name, value in (("text", row.get("text")), ("language", row.get("language"))):
        if not isinstance(value, str):
            raise InputError(f"{place}: {name} is missing or no string")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InputError(f"{place}: needs `label`, a string, or `labels`, a list of strings")
    if row.get("split") not in SPLITS:
        raise InputError(f"{place}: split is {row.get('split')!r}: must be train, dev or test")
    entities = row.get("entities")
    if entities is not None and not (isinstance(entities, list) and all(type(item) is int for item in entities)):
        raise InputError(f"{place}: `entities` is no list of numbers of Wikidata items, such as 42 for Q42")
    return Document(
        str(row.get("id", place)),
        row["text"],
        tuple(dict.fromkeys(labels)),
        row["language"],
        row["split"],
        None if entities is None else tuple(entities),
    ), several


MLDOC = {
    "chinese": "zh",
    "english": "en",
    "french": "fr",
    "german": "de",
    "italian": "it",
    "japanese": "ja",
    "russian": "ru",
    "spanish": "es",
}
_REUTERS = re.compile(r"\(c\) Reuters Limited \d{4}", re.IGNORECASE)


def read_mldoc(path: str, language: str, train_size: str) -> DocumentSet:
    """Read MLDoc: Reuters news in four classes. Training documents are read of one language, test documents of all."""
    names = {code: name for name, code in MLDOC.items()}
    if language not in names:
        raise InputError(f"{path}: MLDoc has no {language}: its languages are {', '.join(sorted(names))}")
    source = names[language]
    files = [(f"{source}.train.{train_size}", "train", language), (f"{source}.dev", "dev", language)]
    files += [(f"{name}.test", "test", code) for name, code in MLDOC.items() if os.path.exists(f"{path}/{name}.test")]
    documents = []
    for name, split, code in files:
        if not os.path.exists(f"{path}/{name}"):
            raise InputError(
                f"{path}/{name}: not there: MLDoc is made from Reuters RCV1 and RCV2, which NIST gives out under an "
                "agreement (https://trec.nist.gov/data/reuters/reuters.html), by generate_documents.py of "
                "https://github.com/facebookresearch/MLDoc"
            )
        for number, line in enumerate(_lines(f"{path}/{name}"), 1):
            label, tab, text = line.partition("\t")
            if not tab or label not in ("CCAT", "ECAT", "GCAT", "MCAT"):
                raise InputError(f"{path}/{name}, line {number}: not a class of MLDoc, a tab and a text")
            documents.append(Document(f"{name}:{number}", _mldoc_text(text), (label,), code, split))
    return DocumentSet(tuple(documents), False)


def _mldoc_text(text: str) -> str:
    """Return the text of a line. The script, run by Python 3, writes bytes as Python shows them: b'...'."""
    if text[:2] in ("b'", 'b"'):
        with suppress(ValueError, SyntaxError, AttributeError, MemoryError, RecursionError):
            text = ast.literal_eval(text).decode("utf-8", "replace")
    return " ".join(_REUTERS.sub(" ", text).split())


_TED_CODES = {"pb": "pt"}


def read_ted(path: str, language: str) -> DocumentSet:
    """Read TED-CLDC: talks with any of fifteen topics. The pair `ar-en` holds Arabic documents; those of a language are
    taken from all its pairs, each talk once; a tenth of the training documents is the dev part."""
    if os.path.isdir(f"{path}/ted-cldc"):
        path = f"{path}/ted-cldc"
    files = sorted(glob.glob(f"{path}/*-*/*/*/*/*"))
    files = [file for file in files if file.endswith(".txt") or file.endswith(".ted")]
    if not files:
        raise InputError(
            f"{path}: no <pair>/<train or test>/<topic>/<positive or negative>/*.ted.txt: get ted-cldc.tar.gz from "
            "http://www.clg.ox.ac.uk/tedcldc.html and unpack it"
        )
    labels: dict[tuple[str, str, str], set[str]] = {}
    places: dict[tuple[str, str, str], str] = {}
    for file in files:
        pair, split, topic, side, name = file.split(os.sep)[-5:]
        if split not in ("train", "test") or side not in ("positive", "negative"):
            raise InputError(f"{file}: lies in {split}/{topic}/{side}: not as TED-CLDC is laid out, unpack it again")
        code = pair.partition("-")[0]
        key = (_TED_CODES.get(code, code), split, name)
        if split == "train" and key[0] != language:
            continue
        labels.setdefault(key, set())
        places.setdefault(key, file)
        if side == "positive":
            labels[key].add(topic)
    documents = []
    for (code, split, name), file in sorted(places.items()):
        words = " ".join(_lines(file)).split()
        # Every word ends in its language, so that equal words of two languages are two.
        text = " ".join(re.sub(r"_[a-z]{2}$", "", word) for word in words)
        documents.append(
            Document(f"{code}:{split}:{name}", text, tuple(sorted(labels[code, split, name])), code, split)
        )
    return DocumentSet(tuple(_with_dev(documents, 10)), True)


def read_shinra(path: str, language: str, test_documents: int = 0) -> DocumentSet:
    """Read SHINRA2020-ML: pages of Wikipedia with any of 220 kinds of entity. Training documents are read of one
    language, a twentieth of them as the dev part; those of the others are test documents, all or so many of each."""
    files = [file for file in sorted(glob.glob(f"{path}/*.json")) if "cirrussearch" not in file]
    if not files:
        raise InputError(
            f"{path}: no <language>*.json: register at http://shinra-project.info/shinra2020ml/ and put the training "
            "data of each language here, with the Cirrus dump of its Wikipedia "
            "(<language>wiki-*-cirrussearch-content.json.gz)"
        )
    documents = []
    for file in files:
        code = re.split(r"[^a-z]", os.path.basename(file), maxsplit=1)[0]
        labels = _shinra_labels(file)
        dumps = sorted(glob.glob(f"{path}/{code}wiki*cirrussearch-content.json*"))
        if not dumps:
            raise InputError(
                f"{path}/{code}wiki-*-cirrussearch-content.json[.gz]: not there, and {file} needs its texts"
            )
        split = "train" if code == language else "test"
        if split == "test" and 0 < test_documents < len(labels):
            lots = sorted(labels, key=lambda page: hashlib.sha256(f"{code}:{page}".encode()).digest())
            labels = {page: labels[page] for page in lots[:test_documents]}
        for page, text in (found for dump in dumps for found in _cirrus_pages(dump)):
            if page in labels:
                documents.append(Document(f"{code}:{page}", text, tuple(sorted(labels[page])), code, split))
    return DocumentSet(tuple(_with_dev(documents, 20)), True)


def _shinra_labels(file: str) -> dict[int, set[str]]:
    """Return the kinds of each page; a page that several Japanese pages link to has those of all."""
    found: dict[int, set[str]] = {}
    for number, line in enumerate(_lines(file), 1):
        try:
            row = json.loads(line)
            kinds = {str(kind["ENE_id"] or kind["ENE_name"]) for kind in row["ENEs"]}
            found.setdefault(int(row["pageid"]), set()).update(kinds)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{file}, line {number}: not a page with `pageid` and `ENEs` ({error})") from error
    return found


def _cirrus_pages(file: str) -> Iterator[tuple[int, str]]:
    """Yield page ids and texts of a Cirrus dump: a line that names the page, and a line with it."""
    page = None
    for number, line in enumerate(_lines(file), 1):
        try:
            row = json.loads(line)
            if "index" in row:
                page = int(row["index"]["_id"])
            elif page is not None:
                yield page, str(row["text"])
                page = None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{file}, line {number}: not of a Cirrus dump ({error})") from error


def _with_dev(documents: Iterable[Document], one_in: int) -> Iterator[Document]:
    """Make one of so many training documents, by a hash of its name, a dev document."""
    for one in documents:
        chosen = int.from_bytes(hashlib.sha256(one.name.encode()).digest()[:8], "big") % one_in == 0
        yield replace(one, split="dev") if one.split == "train" and chosen else one


def _lines(file: str) -> Iterator[str]:
    with reading(file):
        try:
            with gzip.open(file, "rb") if file.endswith(".gz") else open(file, "rb") as stream:
                for number, line in enumerate(stream, 1):
                    if line.strip():
                        try:
                            yield line.decode("utf-8").rstrip("\r\n")
                        except UnicodeDecodeError as error:
                            raise InputError(f"{file}, line {number}: not UTF-8: convert it with iconv") from error
        except EOFError as error:
            raise InputError(f"{file}: cut off: fetch it again") from error
