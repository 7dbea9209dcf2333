"""Labelled documents in several languages: JSON lines, and three published sets in the layout of their makers.

    json    *.jsonl: {"text", "label" or "labels", "language", "split"}; optional: "id", "entities" (linked items)
    mldoc   <language>.train.1000, <language>.dev, <language>.test, as generate_documents.py of MLDoc writes them
    ted     ted-cldc/<pair>/<train or test>/<topic>/<positive or negative>/*.ted.txt
    shinra  <language>*.json with ENEs, one page a line, and <language>wiki-*-cirrussearch-content.json[.gz]

The licences of the three sets forbid redistribution; the error for a missing set says where to get it.
"""

from __future__ import annotations

import ast
import glob
import gzip
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.io.errors import InputError
from wikianchor.io.parsing import malformed
from wikianchor.io.storage import reading
from wikianchor.trainer.data.named_vectors import read_titles

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Document:
    """A text with its labels.

    Attributes:
        name: unique in the set.
        text: the text.
        labels: exactly one, or any number in a multi-label set.
        language: code of the language.
        split: train, dev or test.
        entities: items that the document links to, None where the set does not say; for `--entities=oracle`.
    """

    name: str
    text: str
    labels: tuple[str, ...]
    language: str
    split: str
    entities: tuple[int, ...] | None = None


@dataclass(frozen=True)
class DocumentSet:
    """Documents in the order of their files; in a multi-label set a document may have several labels or none."""

    documents: tuple[Document, ...]
    multi_label: bool

    def of(self, split: str, language: str) -> tuple[Document, ...]:
        """Return the documents of a split and a language."""
        return tuple(
            document for document in self.documents if document.split == split and document.language == language
        )

    def languages(self, split: str) -> tuple[str, ...]:
        """Return the languages of a split, sorted."""
        return tuple(sorted({document.language for document in self.documents if document.split == split}))


def read_documents(
    path: str, kind: str, language: str, train_size: str = "1000", test_documents: int = 0, titles: str = ""
) -> DocumentSet:
    """Read a set.

    Args:
        path: a directory, or a file or glob of JSON lines.
        kind: layout of the files, as of `--kind`.
        language: language of the training documents.
        train_size: documents in MLDoc's training file: 1000, 2000, 5000 or 10000.
        test_documents: size of a random sample of each of SHINRA's test languages; 0 for all documents, which take tens
            of gigabytes.
        titles: an `interlanguage` dataset, for the items that SHINRA's pages link to; "" leaves them out.

    Raises:
        InputError: a file is missing or malformed, or a split has no document.
    """
    readers: Mapping[str, Callable[[], DocumentSet]] = {
        "json": lambda: read_json(path),
        "mldoc": lambda: read_mldoc(path, language, train_size),
        "ted": lambda: read_ted(path, language),
        "shinra": lambda: read_shinra(path, language, test_documents, titles),
    }
    documents = readers[kind]()
    for split in SPLITS:
        languages = documents.languages(split)
        if not languages or (split != "test" and language not in languages):
            where = f" in {language}" if split != "test" else ""
            raise InputError(f"{path}: has no {split} documents{where}: give some, or another --language")
    return documents


def read_json(path: str) -> DocumentSet:
    """Read JSON lines. Documents with `labels` instead of `label` make a multi-label set."""
    pattern = f"{path}/*.jsonl" if os.path.isdir(path) else path
    files = sorted(glob.glob(pattern))
    if not files:
        raise InputError(f"{pattern}: no such file: documents are lines of JSON with text, label, language and split")
    documents: list[Document] = []
    multi_label: bool | None = None
    for file in files:
        for number, line in enumerate(read_lines(file), 1):
            where = f"{file}, line {number}"
            with malformed(f"{where}: not JSON"):
                row = json.loads(line)
            documents.append(_json_document(row, where))
            if multi_label not in (None, "labels" in row):
                raise InputError(f"{where}: `label` and `labels` in one set: use one of them throughout")
            multi_label = "labels" in row
    return DocumentSet(tuple(documents), multi_label=bool(multi_label))


def _json_document(row: Any, where: str) -> Document:
    if not isinstance(row, dict):
        raise InputError(f"{where}: not a JSON object")
    labels: Any = row["labels"] if "labels" in row else [row.get("label")]
    entities = row.get("entities")
    faults = {
        "text is missing or no string": not isinstance(row.get("text"), str),
        "language is missing or no string": not isinstance(row.get("language"), str),
        "needs `label`, a string, or `labels`, a list of strings": (
            not isinstance(labels, list) or not all(isinstance(label, str) for label in labels)
        ),
        f"split is {row.get('split')!r}: must be train, dev or test": row.get("split") not in SPLITS,
        "`entities` is no list of numbers of Wikidata items, such as 42 for Q42": (
            entities is not None and not (isinstance(entities, list) and all(type(item) is int for item in entities))
        ),
    }
    for fault, is_there in faults.items():
        if is_there:
            raise InputError(f"{where}: {fault}")
    return Document(
        name=str(row.get("id", where)),
        text=row["text"],
        labels=tuple(dict.fromkeys(labels)),
        language=row["language"],
        split=row["split"],
        entities=None if entities is None else tuple(entities),
    )


MLDOC = {
    "zh": "chinese",
    "en": "english",
    "fr": "french",
    "de": "german",
    "it": "italian",
    "ja": "japanese",
    "ru": "russian",
    "es": "spanish",
}
_REUTERS = re.compile(r"\(c\) Reuters Limited \d{4}", re.IGNORECASE)


def read_mldoc(path: str, language: str, train_size: str) -> DocumentSet:
    """Read MLDoc, Reuters news in four classes (https://arxiv.org/abs/1805.09821): training documents in one language,
    test documents in all."""
    if language not in MLDOC:
        raise InputError(f"{path}: MLDoc has no {language}: its languages are {', '.join(sorted(MLDOC))}")
    source = MLDOC[language]
    files = [(f"{source}.train.{train_size}", "train", language), (f"{source}.dev", "dev", language)]
    files += [(f"{name}.test", "test", code) for code, name in MLDOC.items() if os.path.exists(f"{path}/{name}.test")]
    documents = []
    for name, split, code in files:
        if not os.path.exists(f"{path}/{name}"):
            raise InputError(
                f"{path}/{name}: not there: MLDoc is made from Reuters RCV1 and RCV2, which NIST gives out under an "
                "agreement (https://trec.nist.gov/data/reuters/reuters.html), by generate_documents.py of "
                "https://github.com/facebookresearch/MLDoc"
            )
        for number, line in enumerate(read_lines(f"{path}/{name}"), 1):
            label, tab, text = line.partition("\t")
            if not tab or label not in ("CCAT", "ECAT", "GCAT", "MCAT"):
                raise InputError(f"{path}/{name}, line {number}: not a class of MLDoc, a tab and a text")
            documents.append(Document(f"{name}:{number}", _mldoc_text(text), (label,), code, split))
    return DocumentSet(tuple(documents), multi_label=False)


def _mldoc_text(text: str) -> str:
    """Return the text of a line. MLDoc's script, run by Python 3, writes the repr of bytes: b'...'."""
    if text[:2] in ("b'", 'b"'):
        with suppress(ValueError, SyntaxError, AttributeError, MemoryError, RecursionError):
            text = ast.literal_eval(text).decode("utf-8", "replace")
    return " ".join(_REUTERS.sub(" ", text).split())


def read_ted(path: str, language: str) -> DocumentSet:
    """Read TED-CLDC, talks with any of fifteen topics (https://arxiv.org/abs/1404.4641).

    The documents of the pair `ar-en` are Arabic. A talk that is in several pairs of a language is read once. A tenth of
    the training documents is the dev part.
    """
    if os.path.isdir(f"{path}/ted-cldc"):
        path = f"{path}/ted-cldc"
    files = [file for file in sorted(glob.glob(f"{path}/*-*/*/*/*/*")) if file.endswith((".txt", ".ted"))]
    if not files:
        raise InputError(
            f"{path}: no <pair>/<train or test>/<topic>/<positive or negative>/*.ted.txt: get ted-cldc.tar.gz from "
            "http://www.clg.ox.ac.uk/tedcldc.html and unpack it"
        )
    # A file and the topics of each talk.
    talks: dict[tuple[str, str, str], tuple[str, set[str]]] = {}
    for file in files:
        pair, split, topic, side, name = file.split(os.sep)[-5:]
        if split not in ("train", "test") or side not in ("positive", "negative"):
            raise InputError(f"{file}: lies in {split}/{topic}/{side}: not as TED-CLDC is laid out, unpack it again")
        # TED-CLDC's code of Brazilian Portuguese.
        code = pair.partition("-")[0].replace("pb", "pt")
        if split == "test" or code == language:
            _, topics = talks.setdefault((code, split, name), (file, set()))
            topics.update({topic} if side == "positive" else ())
    documents = []
    for (code, split, name), (file, topics) in sorted(talks.items()):
        # TED-CLDC appends the language to each word: `haus_de`.
        text = " ".join(re.sub(r"_[a-z]{2}$", "", word) for word in " ".join(read_lines(file)).split())
        documents.append(Document(f"{code}:{split}:{name}", text, tuple(sorted(topics)), code, split))
    return DocumentSet(tuple(_with_dev(documents, 10)), multi_label=True)


def read_shinra(path: str, language: str, test_documents: int = 0, titles: str = "") -> DocumentSet:
    """Read SHINRA2020-ML, pages of Wikipedia with any of 220 classes of the Extended Named Entity hierarchy.

    Pages in `language` are training documents, and a twentieth of them is the dev part. Pages in other languages are
    test documents: all of them, or a random sample of `test_documents` for each language.

    With `titles`, an `interlanguage` dataset, the entities of a page are the items of its links (section 3.4.3 of the
    thesis: "Oracle"). A link through a redirect is left out, since a Cirrus dump has the title of the redirect.
    """
    files = [file for file in sorted(glob.glob(f"{path}/*.json")) if "cirrussearch" not in file]
    if not files:
        raise InputError(
            f"{path}: no <language>*.json: register at http://shinra-project.info/shinra2020ml/ and put the training "
            "data of each language here, with the Cirrus dump of its Wikipedia "
            "(<language>wiki-*-cirrussearch-content.json.gz)"
        )
    documents: list[Document] = []
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
            shuffled = sorted(labels, key=lambda page: hashlib.sha256(f"{code}:{page}".encode()).digest())
            labels = {page: labels[page] for page in shuffled[:test_documents]}
        linked = [
            (Document(f"{code}:{page}", text, tuple(sorted(labels[page])), code, split), outgoing if titles else ())
            for page, text, outgoing in chain.from_iterable(map(_cirrus_pages, dumps))
            if page in labels
        ]
        if titles:
            documents += _with_items(linked, read_titles(titles, f"{code}wiki"))
        else:
            documents += [document for document, _ in linked]
    return DocumentSet(tuple(_with_dev(documents, 20)), multi_label=True)


def _shinra_labels(file: str) -> dict[int, set[str]]:
    """Return the classes of each page; a page that several Japanese pages link to has the classes of all of them."""
    labels: dict[int, set[str]] = {}
    for number, line in enumerate(read_lines(file), 1):
        with malformed(f"{file}, line {number}: not a page with `pageid` and `ENEs`"):
            row = json.loads(line)
            classes = {str(entity_class["ENE_id"] or entity_class["ENE_name"]) for entity_class in row["ENEs"]}
            labels.setdefault(int(row["pageid"]), set()).update(classes)
    return labels


def _with_items(linked: Sequence[tuple[Document, Sequence[str]]], titles: pa.Table) -> Iterator[Document]:
    """Yield documents with the items that they link to.

    Args:
        linked: documents of one wiki, each with the titles that it links to.
        titles: `qid` and `title` of the wiki's pages.
    """
    names = pa.array({title for _, outgoing in linked for title in outgoing}, pa.string())
    known = titles.filter(pc.is_in(titles["title"], names))
    items = dict(zip(known["title"].to_pylist(), known["qid"].to_pylist(), strict=True))
    for document, outgoing in linked:
        yield replace(document, entities=tuple(sorted({items[title] for title in outgoing if title in items})))


def _cirrus_pages(file: str) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield page ids, texts and titles of linked pages of a Cirrus dump, in which a line with the id comes before the
    line of the page."""
    page = None
    for number, line in enumerate(read_lines(file), 1):
        with malformed(f"{file}, line {number}: not of a Cirrus dump"):
            row = json.loads(line)
            text = None if "index" in row else str(row["text"])
            links = tuple(str(title).replace("_", " ") for title in row.get("outgoing_link") or ())
            page = int(row["index"]["_id"]) if text is None else page
        if text is not None and page is not None:
            yield page, text, links
            page = None


def _with_dev(documents: Iterable[Document], one_in: int) -> Iterator[Document]:
    """Move one in `one_in` training documents, chosen by a hash of its name, to the dev part."""
    for document in documents:
        chosen = int.from_bytes(hashlib.sha256(document.name.encode()).digest()[:8], "big") % one_in == 0
        yield replace(document, split="dev") if document.split == "train" and chosen else document


def read_lines(file: str) -> Iterator[str]:
    """Yield the lines of a text file, plain or gzip, that are not blank.

    Raises:
        InputError: the file cannot be read, is truncated, or is not UTF-8.
    """
    number = 0
    with reading(file):
        try:
            with gzip.open(file, "rb") if file.endswith(".gz") else open(file, "rb") as stream:
                for number, line in enumerate(stream, 1):  # noqa: B007
                    if line.strip():
                        yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(f"{file}, line {number}: not UTF-8: convert it with iconv") from error
        except EOFError as error:
            raise InputError(f"{file}: cut off: fetch it again") from error
