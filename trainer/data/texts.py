"""Texts without entities: the datasets `corpus`, `negatives` and `sentences`, and files of sentence pairs.

A row is a sentence, optionally a sentence with the same meaning (a positive), and hard negatives:

    corpus, sentences   a sentence; its positive is the same sentence under another dropout mask
    negatives           a sentence and its hard negatives
    .csv .tsv .jsonl    columns sent0, sent1 (optional) and hard_neg (optional), as SimCSE reads NLI data
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import wikianchor.schemas.corpus
import wikianchor.schemas.negatives
import wikianchor.schemas.sentences
from wikianchor.io.errors import InputError
from wikianchor.io.manifests import MANIFEST, reread
from wikianchor.io.storage import exists, read_bytes
from wikianchor.trainer.data.records import lacks, read_records
from wikianchor.trainer.data.shards import DatasetFiles, check_columns, list_shards, read_manifest, read_shard

SCHEMAS = {
    "corpus": wikianchor.schemas.corpus,
    "negatives": wikianchor.schemas.negatives,
    "sentences": wikianchor.schemas.sentences,
}
FILES = (".csv", ".tsv", ".jsonl")
COLUMNS = {"corpus": ("text",), "negatives": ("text", "negatives"), "sentences": ("text",)}
FILE_COLUMNS = ("sent0", "sent1", "hard_neg")


class TextRow(NamedTuple):
    """A sentence, its positive ("" for none), and its hard negatives."""

    text: str
    positive: str
    negatives: Sequence[str]


@dataclass(frozen=True)
class Texts:
    """The sources of a run."""

    sources: tuple[DatasetFiles, ...]
    entities: int = 0

    @property
    def rows(self) -> int:
        """Number of rows, without those of files."""
        return sum(source.rows for source in self.sources)

    @property
    def paths(self) -> tuple[str, ...]:
        """The sources' paths."""
        return tuple(source.path for source in self.sources)

    @property
    def fingerprint(self) -> str:
        """Hash of the content, equal for equal rows."""
        return hashlib.sha256("".join(source.fingerprint for source in self.sources).encode()).hexdigest()

    @property
    def manifest(self) -> dict[str, Any]:
        """Paths and manifests, for the record of a trained model."""
        return {"sources": list(self.paths), "manifests": [source.manifest for source in self.sources]}


def open_texts(paths: str) -> Texts:
    """Check sources, separated by commas.

    Raises:
        InputError: a source is neither a finished dataset of a supported kind and version nor a file, or is empty.
    """
    listed = (part.strip().rstrip("/") for part in paths.split(",") if part.strip())
    return Texts(tuple(_open_file(path) if path.endswith(FILES) else _open_dataset(path) for path in listed))


@reread
def _open_dataset(path: str) -> DatasetFiles:
    if not exists(f"{path}/{MANIFEST}"):
        raise InputError(f"{path}: no finished dataset, and no {', '.join(FILES)} file: wikianchor corpus makes one")
    manifest = read_manifest(path, {name: schema.VERSION for name, schema in SCHEMAS.items()})
    dataset = manifest["dataset"]
    shards, rows, fingerprint = list_shards(path, manifest, dataset)
    if rows == 0:
        raise InputError(f"{path}: holds no rows")
    check_columns(shards, SCHEMAS[dataset].SCHEMA, COLUMNS[dataset])
    return DatasetFiles(path, manifest, tuple(shards), rows, fingerprint)


def _open_file(path: str) -> DatasetFiles:
    if not exists(path):
        raise InputError(f"{path}: no such file")
    manifest = {"dataset": os.path.basename(path), "schema_version": "file"}
    return DatasetFiles(path, manifest, (path,), 0, hashlib.sha256(read_bytes(path)).hexdigest())


def read_rows(texts: Texts) -> Iterator[TextRow]:
    """Yield the rows of all sources in their order.

    Raises:
        InputError: a shard or a file is damaged.
    """
    for source in texts.sources:
        for shard in source.shards:
            yield from _file_rows(shard) if shard.endswith(FILES) else _shard_rows(shard, source.manifest["dataset"])


def _shard_rows(shard: str, dataset: str) -> Iterator[TextRow]:
    for batch in read_shard(shard, SCHEMAS[dataset].SCHEMA, COLUMNS[dataset]):
        texts = batch.column("text").to_pylist()
        negatives = batch.column("negatives").to_pylist() if dataset == "negatives" else [()] * len(texts)
        yield from (TextRow(text, "", others) for text, others in zip(texts, negatives, strict=True))


def _file_rows(path: str) -> Iterator[TextRow]:
    row: Mapping[str, Any] | None = None
    for where, row in read_records(path, FILE_COLUMNS):
        text, positive, negative = (str(row.get(name) or "").strip() for name in FILE_COLUMNS)
        if not text:
            raise lacks(where, row, "sent0", FILE_COLUMNS)
        yield TextRow(text, positive, [negative] if negative else [])
    if row is None:
        raise InputError(f"{path}: holds no rows")
