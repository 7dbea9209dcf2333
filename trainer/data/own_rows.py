"""Rows of one's own as a dataset of pairs: CSV, JSON lines, Parquet, or a dataset of the library `datasets`.

    text        the sentence
    entity      a name of what the row is about, such as Q42 or "Ada Lovelace"; SimCSE does without
    negatives   optional: names of entities that it is not about; a list, or in CSV names with | between
    language    optional: the language of the sentence, such as en: rows are mixed by it, and the model's card names it

The rows are written once as a dataset of pairs, in the directory of caches, and read from there like any other. So are
those of a dataset `export`: the anchors, with the items of positives and negatives as entities.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

import wikianchor.schemas.export
import wikianchor.schemas.pairs
from wikianchor.io.cache import open_cache
from wikianchor.io.errors import InputError
from wikianchor.io.manifests import MANIFEST
from wikianchor.io.storage import checksum, exists, file_info, files_in, is_local, matching
from wikianchor.trainer.data.records import lacks, read_records
from wikianchor.trainer.data.shards import COLUMNS, PairDataset, list_shards, open_pairs, read_manifest, read_table

VERSION = 1
# `.arrow` is what `Dataset.save_to_disk` writes.
FILES = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow")
ROW_COLUMNS = ("text", "entity", "negatives", "language")
ROWS_PER_SHARD = 1 << 20
# In place of a wiki, where rows do not say their language. It is no code of a language.
NO_LANGUAGE = "unknown"
_SCHEMA = pa.schema([wikianchor.schemas.pairs.SCHEMA.field(name) for name in COLUMNS])
_ENTITIES = wikianchor.schemas.pairs.ENTITIES
_VERSIONS = {"pairs": wikianchor.schemas.pairs.VERSION, "export": wikianchor.schemas.export.VERSION}
_QID = re.compile(r"Q([1-9][0-9]*)")


def open_rows(path: str, cache: str, needs_entities: bool) -> PairDataset:
    """Open a dataset of pairs, or an export or rows of one's own as one.

    Args:
        path: directory of `pairs` or `export`; or files with commas between, a glob, or a directory of files.
        cache: directory of all caches.
        needs_entities: whether each row must have an entity.

    Raises:
        InputError: there is neither, a file is damaged, or a row has no text or no entity.
    """
    path = path.rstrip("/")
    manifest = read_manifest(path, _VERSIONS) if exists(f"{path}/{MANIFEST}") else {}
    if manifest.get("dataset") == "export":
        digests = [list_shards(path, manifest, config)[2] for config in ("export", "sources")]
        rows = exported_rows(path, manifest)
        origin = {name: manifest[name] for name in ("inputs", "made_with", "options")}
    else:
        files = [] if manifest else list_files(path)
        if not files:
            # Without a manifest, it says what is missing.
            return open_pairs(path)
        digests = [checksum(file, "sha256") for file in files]
        rows = read_files(files, needs_entities)
        origin = {"inputs": [], "own_rows": True}
    key = hashlib.sha256("\0".join((str(VERSION), str(needs_entities), *digests)).encode()).hexdigest()[:32]
    directory = open_cache(cache, f"rows-{key}", lambda directory: write_rows(rows, directory, origin))
    return replace(open_pairs(directory), source=path)


def exported_rows(path: str, manifest: dict[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows of a dataset `export`, each with its shard and number: the anchor, and items as names."""
    texts, sources = (list_shards(path, manifest, config)[0] for config in ("export", "sources"))
    for shard, origins in zip(texts, sources, strict=True):
        anchors = read_table(shard, wikianchor.schemas.export.rows_schema(0), ["anchor"])["anchor"].to_pylist()
        columns = ["entity_qid", "negative_qids", "wiki"]
        of_rows = read_table(origins, wikianchor.schemas.export.SOURCES, columns).to_pylist()
        for number, (anchor, source) in enumerate(zip(anchors, of_rows, strict=True)):
            negatives = [f"Q{qid}" for qid in source["negative_qids"]]
            row = {"text": anchor, "entity": f"Q{source['entity_qid']}", "negatives": negatives}
            yield f"{shard} row {number}", {**row, "language": source["wiki"]}


def list_files(path: str) -> list[str]:
    """Return the files of rows that a list with commas, globs and directories names; of a directory with a split
    `train` only that."""
    files = []
    for part in (part.strip() for part in path.split(",")):
        if part.endswith(FILES):
            files += matching(part, directories=False)
        elif file_info(part).type == fs.FileType.Directory:
            inside = files_in(part.rstrip("/"))
            if any(file.endswith("/manifest.json") for file in inside):
                # Datasets of wikianchor, one of which was meant.
                continue
            inside = [file for file in inside if file.endswith(FILES)]
            # What `datasets` keeps of its own computations.
            inside = [file for file in inside if not file.rpartition("/")[2].startswith("cache-")]
            train = [file for file in inside if "train" in re.split(r"[/._-]", file[len(part) :])]
            files += train or inside
    return files


def read_files(files: Iterable[str], needs_entities: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows of files, each with the file and the number of its line or row."""
    for path in files:
        for where, row in read_records(path, ROW_COLUMNS):
            lacking = [name for name in ("text", "entity")[: 1 + needs_entities] if not _text(row.get(name))]
            if lacking:
                raise lacks(where, row, lacking[0], ROW_COLUMNS)
            if path.endswith((".csv", ".tsv")):
                row = {**row, "negatives": [name for name in (row.get("negatives") or "").split("|") if name]}
            yield where, row


def _text(value: Any) -> str:
    """Return a value as a text without white space at its ends, "" for none."""
    return "" if value is None else str(value).strip()


def _entities(names: Mapping[str, int], counts: Counter[int]) -> pa.Table:
    """Return the table of entities; the item is 0 where a name is none of Wikidata.

    Args:
        names: names with their ids, from 0 on.
        counts: numbers of rows by id.
    """
    matches = [_QID.fullmatch(name) for name in names]
    columns = {
        "entity_id": list(names.values()),
        "qid": [int(match[1]) if match else 0 for match in matches],
        "count": [counts[number] for number in names.values()],
        "label": list(names),
        "types": [[] for _ in names],
    }
    return pa.table(columns, _ENTITIES)


def write_rows(rows: Iterable[tuple[str, Mapping[str, Any]]], directory: str, origin: Mapping[str, Any]) -> None:
    """Write rows as a dataset of pairs.

    Args:
        rows: where each is, for messages, and the row.
        directory: an empty local directory.
        origin: what the manifest says of where they are from.

    Raises:
        InputError: there is no row, or negatives are no list.
    """
    # Dense ids of names, in the order of their first occurrence, and how often rows have them.
    names: dict[str, int] = {}
    counts: Counter[int] = Counter()
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    shards: list[dict[str, Any]] = []

    def flush() -> None:
        name = f"data/pairs/train-{len(shards):05d}.parquet"
        shards.append(write_shard(pa.table(columns, _SCHEMA), directory, name))
        for values in columns.values():
            values.clear()

    for where, row in rows:
        negatives = row.get("negatives")
        if negatives is not None and not isinstance(negatives, (list, tuple)):
            raise InputError(f"{where}: negatives is no list of names: {negatives!r:.100}")
        text, entity = _text(row["text"]), names.setdefault(_text(row.get("entity")), len(names))
        counts[entity] += 1
        others = dict.fromkeys(names.setdefault(name, len(names)) for name in map(_text, negatives or ()) if name)
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
        values = {
            "text": text,
            "entity_id": entity,
            "hard_negative_ids": [other for other in others if other != entity],
            # Equal for equal sentences.
            "sentence_id": int.from_bytes(digest, "big") >> 1,
            "wiki": _text(row.get("language")) or NO_LANGUAGE,
        }
        for name, value in values.items():
            columns[name].append(value)
        if len(columns["text"]) == ROWS_PER_SHARD:
            flush()
    if columns["text"]:
        flush()
    if not shards:
        raise InputError("--data: the files hold no rows")
    of_entities = write_shard(_entities(names, counts), directory, "data/entities/train-00000.parquet")
    write_manifest(directory, {"pairs": shards, "entities": [of_entities]}, origin)


def write_shard(table: pa.Table, directory: str, name: str) -> dict[str, Any]:
    """Write a shard, and return its entry of the manifest."""
    path = Path(directory, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    return {
        "path": name,
        "rows": len(table),
        "bytes": path.stat().st_size,
        "sha256": checksum(str(path), "sha256"),
    }


def write_manifest(directory: str, shards: Mapping[str, list[dict[str, Any]]], origin: Mapping[str, Any]) -> None:
    """Write the manifest of a dataset of pairs.

    Args:
        directory: that of the dataset.
        shards: entries of each config.
        origin: what the manifest says of where the rows are from.
    """
    manifest = {
        "dataset": "pairs",
        "schema_version": wikianchor.schemas.pairs.VERSION,
        "configs": {
            config: {"rows": sum(shard["rows"] for shard in listed), "shards": listed}
            for config, listed in shards.items()
        },
        **origin,
    }
    Path(directory, MANIFEST).write_text(json.dumps(manifest), "utf-8")


def save_rows(rows: Iterable[Mapping[str, Any]], directory: str) -> str:
    """Write rows that a program has in memory to a local directory, as JSON lines; return the path of the file."""
    if not is_local(directory):
        raise InputError(f"{directory}: rows in memory are kept beside the model: name a local directory as output")
    path = Path(directory, "rows.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        for row in rows:
            named = {name: row[name] for name in ROW_COLUMNS if row.get(name) is not None}
            stream.write(json.dumps(named, ensure_ascii=False) + "\n")
    return str(path)
