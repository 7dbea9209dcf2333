"""Labelled documents in several languages: lines of JSON, plain or gzip.

    {"text", "label" or "labels", "language", "split"}; optional: "id", "entities" (linked items)

`docs/papers/m-boe.md` turns MLDoc, TED-CLDC and SHINRA2020-ML into such lines.
"""

from __future__ import annotations

import glob
import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.parsing import malformed
from wikianchor.io.storage import reading

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


def read_documents(path: str, language: str) -> DocumentSet:
    """Read a set.

    Args:
        path: a file or glob of JSON lines, or a directory of .jsonl files. Documents with `labels` instead of `label`
            make a multi-label set.
        language: language of the training documents.

    Raises:
        InputError: a file is missing or malformed, or a split has no document.
    """
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
    dataset = DocumentSet(tuple(documents), multi_label=bool(multi_label))
    for split in SPLITS:
        languages = dataset.languages(split)
        if not languages or (split != "test" and language not in languages):
            where = f" in {language}" if split != "test" else ""
            raise InputError(f"{path}: has no {split} documents{where}: give some, or another --language")
    return dataset


def _json_document(row: Any, where: str) -> Document:
    if not isinstance(row, dict):
        raise InputError(f"{where}: not a JSON object")
    labels = row["labels"] if "labels" in row else [row.get("label")]
    for name, value in (("text", row.get("text")), ("language", row.get("language"))):
        if not isinstance(value, str):
            raise InputError(f"{where}: {name} is missing or no string")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InputError(f"{where}: needs `label`, a string, or `labels`, a list of strings")
    if row.get("split") not in SPLITS:
        raise InputError(f"{where}: split is {row.get('split')!r}: must be train, dev or test")
    entities = row.get("entities")
    if entities is not None and not (isinstance(entities, list) and all(type(item) is int for item in entities)):
        raise InputError(f"{where}: `entities` is no list of numbers of Wikidata items, such as 42 for Q42")
    return Document(
        name=str(row.get("id", where)),
        text=row["text"],
        labels=tuple(dict.fromkeys(labels)),
        language=row["language"],
        split=row["split"],
        entities=None if entities is None else tuple(entities),
    )


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
