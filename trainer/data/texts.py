"""Texts as the trainer reads them: the finished datasets `corpus`, `negatives` and `sentences`, and files of pairs.

A row is a sentence, sentences that mean the same, and sentences that do not:

    corpus, sentences   a sentence alone: dropout makes its positive
    negatives           a sentence and its hard negatives
    .csv .tsv .jsonl    sent0, sent1, hard_neg, as NLI data for SimCSE comes; the last two may be missing
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import wikianchor.schemas.corpus
import wikianchor.schemas.negatives
import wikianchor.schemas.sentences
from wikianchor.io.errors import InputError
from wikianchor.io.storage import exists, read_bytes
from wikianchor.trainer.data.shards import check_columns, list_shards, read_shard

SCHEMAS = {
    "corpus": wikianchor.schemas.corpus,
    "negatives": wikianchor.schemas.negatives,
    "sentences": wikianchor.schemas.sentences,
}
FILES = (".csv", ".tsv", ".jsonl")
COLUMNS = {"corpus": ("text",), "negatives": ("text", "negatives"), "sentences": ("text",)}
_COLUMNS = ("sent0", "sent1", "hard_neg")


class Row(NamedTuple):
    """A sentence; one that means the same, "" for none; those that do not."""

    text: str
    positive: str
    negatives: Sequence[str]


@dataclass(frozen=True)
class Texts:
    """Sources that were found sound. `rows` is 0 until they are read where a source is a file.

    Attributes:
        paths: what was given.
        manifests: of the datasets among them.
        shards: of each path; a file is its own.
        fingerprint: equal for equal rows.
    """

    paths: tuple[str, ...]
    manifests: tuple[dict[str, Any], ...]
    shards: tuple[tuple[str, ...], ...]
    rows: int
    fingerprint: str
    entities: int = 0

    @property
    def manifest(self) -> dict[str, Any]:
        """What a trained model's record says of its data."""
        return {"sources": list(self.paths), "manifests": list(self.manifests)}


@dataclass
class _Found:
    manifests: list[dict[str, Any]] = field(default_factory=list)
    shards: list[tuple[str, ...]] = field(default_factory=list)
    rows: int = 0
    digests: list[str] = field(default_factory=list)


def open_texts(paths: str) -> Texts:
    """Check the sources that a list with commas names.

    Raises:
        InputError: one is no finished dataset of a kind and version that is read here, no file, or empty.
    """
    given = tuple(part.strip().rstrip("/") for part in paths.split(",") if part.strip())
    found = _Found()
    for path in given:
        if path.endswith(FILES):
            _add_file(path, found)
            continue
        manifest = _manifest(path)
        shards, rows, digest = list_shards(path, manifest, str(manifest["dataset"]))
        if rows == 0:
            raise InputError(f"{path}: holds no rows")
        for shard in shards:
            check_columns(shard, SCHEMAS[manifest["dataset"]].SCHEMA, COLUMNS[manifest["dataset"]])
        found.manifests.append(manifest)
        found.shards.append(tuple(shards))
        found.rows += rows
        found.digests.append(digest)
    fingerprint = hashlib.sha256("".join(found.digests).encode()).hexdigest()
    return Texts(given, tuple(found.manifests), tuple(found.shards), found.rows, fingerprint)


def _manifest(path: str) -> dict[str, Any]:
    place = f"{path}/manifest.json"
    if not exists(place):
        raise InputError(f"{path}: no finished dataset, and no {', '.join(FILES)} file: wikianchor corpus makes one")
    try:
        manifest = json.loads(read_bytes(place))
        name, version = str(manifest["dataset"]), str(manifest["schema_version"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{place}: not a manifest of wikianchor ({error})") from error
    if name not in SCHEMAS:
        raise InputError(f"{path}: a dataset of {name}: {', '.join(SCHEMAS)} are read here")
    known = SCHEMAS[name].VERSION
    if version.partition(".")[0] != known.partition(".")[0]:
        raise InputError(f"{path}: {name} of version {version}, and this trainer reads {known}: build it again")
    return dict(manifest)


def _add_file(path: str, found: _Found) -> None:
    if not exists(path):
        raise InputError(f"{path}: no such file")
    content = read_bytes(path)
    found.manifests.append({"dataset": os.path.basename(path), "schema_version": "file"})
    found.shards.append((path,))
    found.digests.append(hashlib.sha256(content).hexdigest())


def read_rows(texts: Texts) -> Iterator[Row]:
    """Yield the rows of all sources in their order.

    Raises:
        InputError: a shard or a file is damaged.
    """
    for manifest, shards in zip(texts.manifests, texts.shards, strict=True):
        for shard in shards:
            if shard.endswith(FILES):
                yield from _file_rows(shard)
            else:
                yield from _shard_rows(shard, manifest["dataset"])


def _shard_rows(shard: str, dataset: str) -> Iterator[Row]:
    for batch in read_shard(shard, SCHEMAS[dataset].SCHEMA, COLUMNS[dataset]):
        texts = batch.column("text").to_pylist()
        if dataset != "negatives":
            yield from (Row(text, "", ()) for text in texts)
            continue
        for text, others in zip(texts, batch.column("negatives").to_pylist(), strict=True):
            yield Row(text, "", others)


def _file_rows(path: str) -> Iterator[Row]:
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 ({error.reason} at byte {error.start})") from error
    lines = text.splitlines()
    if not lines:
        raise InputError(f"{path}: holds no rows")
    if path.endswith(".jsonl"):
        for number, line in enumerate(lines, 1):
            try:
                value = json.loads(line)
                yield _row(value, path, number)
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                raise InputError(f"{path}: line {number} is no object of {', '.join(_COLUMNS)} ({error})") from error
        return
    try:
        for number, value in enumerate(csv.DictReader(lines, delimiter="\t" if path.endswith(".tsv") else ","), 2):
            yield _row(value, path, number)
    except csv.Error as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def _row(value: dict[str, Any], path: str, number: int) -> Row:
    texts = [str(value.get(name) or "").strip() for name in _COLUMNS]
    if not texts[0]:
        have = ", ".join(str(name) for name in value) or "nothing"
        raise InputError(
            f"{path}: line {number} has no sent0: the columns are {', '.join(_COLUMNS)}, and it has {have}"
        )
    return Row(texts[0], texts[1], [texts[2]] if texts[2] else [])
