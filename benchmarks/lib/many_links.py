"""`sentences` datasets with as many links as wanted, made from real slices, and `entities` datasets for their titles.

The sentences of the slices are copied under new titles; a quarter of the links of a copy lead to the copy of their
target, by a hash of page and target. Every link target gets a title.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lib import generate, slices
from lib.measure import run, wikianchor
from wikianchor.pipelines.arrays.hashing import hash_strings, mix
from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.dataset.reader import Dataset, open_datasets, read_batches
from wikianchor.schemas import entities as entities_schema
from wikianchor.schemas import mentions as mentions_schema
from wikianchor.schemas import sentences, titles

ROW_GROUP = 20_000
SHARD_COPIES = 4
Batches = dict[str, pa.RecordBatch]


def open_dataset(path: Path, name: str = "sentences") -> Dataset:
    """Open a dataset of ours."""
    version = {"sentences": sentences, "entities": entities_schema, "mentions": mentions_schema}[name].VERSION
    return open_datasets(str(path), name, version, name)[0]


def slice_sentences(work: Path, language: str) -> Dataset:
    """Return the sentences of a language's slices; build them unless they exist."""
    output = work / f"sentences-{language}"
    if not (output / "manifest.json").exists():
        run(wikianchor("sentences", f"--dumps={slices.dump(work, language)}", f"--output={output}"))
    return open_dataset(output)


def multiplied(work: Path, language: str, links: int = 0) -> Path:
    """Return a dataset `sentences` with at least so many links, 0 for one copy; write it unless it exists."""
    output = work / f"sentences-{language}-{links}"
    if (output / "manifest.json").exists():
        return output
    dataset = slice_sentences(work, language)
    batches = {name: _read_all(dataset, name) for name in ("sentences", "titles")}
    copies = max(1, -(-links // len(batches["sentences"].column("links").flatten())))
    directory = generate.parts_of(output)
    parts = []
    for shard, first in enumerate(range(0, copies, SHARD_COPIES)):
        with (
            PartWriter(directory, "sentences", shard, sentences.SCHEMA) as rows,
            PartWriter(directory, "titles", shard, titles.SCHEMA) as pages,
        ):
            for number in range(first, min(first + SHARD_COPIES, copies)):
                _write_sentences(batches, number, rows)
                _write_titles(batches["titles"], number, pages)
        parts += [rows.part, pages.part]
    generate.finish(output, parts, head_of(dataset))
    return output


def head_of(dataset: Dataset) -> dict[str, Any]:
    """Return the manifest of a dataset without its shards."""
    return {name: value for name, value in dataset.manifest.items() if name != "configs"}


def entities(work: Path, rows: Path, dominant: float = 0) -> Path:
    """Return the dataset `entities` for the titles of a dataset; build it unless it exists.

    Args:
        work: directory of generated files.
        rows: the dataset `sentences`.
        dominant: share of the items that a single type has.
    """
    output = work / f"entities-{rows.name}-{dominant:g}"
    if (output / "manifest.json").exists():
        return output
    dataset = open_dataset(rows)
    wiki = dataset.manifest["options"]["wiki"]
    articles = (
        (wiki, name, 0)
        for shard in dataset.shards("titles")
        for batch in read_batches(shard, ["title", "redirect"])
        for name in batch.filter(batch.column("redirect").is_null()).column("title").to_pylist()
    )
    wikidata = work / f"wikidata-{rows.name}-{dominant:g}.json"
    generate.write_items(generate.items_of(articles), wikidata, dominant)
    run(wikianchor("entities", f"--wikidata={wikidata}", f"--wikis={wiki}", f"--output={output}"))
    wikidata.unlink()
    return output


def _read_all(dataset: Dataset, name: str) -> pa.RecordBatch:
    columns = (sentences if name == "sentences" else titles).SCHEMA.names
    batches: Iterable[pa.RecordBatch] = (batch for s in dataset.shards(name) for batch in read_batches(s, columns))
    return pa.Table.from_batches(list(batches)).combine_chunks().to_batches()[0]


def _write_sentences(batches: Batches, number: int, rows: PartWriter) -> None:
    """Write a copy of all sentences."""
    sentence = batches["sentences"]
    links = sentence.column("links")
    flat = links.flatten()
    pages = sentence.column("page_id").to_numpy()[pc.list_parent_indices(links).to_numpy()]
    targets = _renamed(flat.field("target"), pages, number)
    members = [flat.field(field.name) if field.name != "target" else targets for field in links.type.value_type]
    struct = pa.StructArray.from_arrays(members, fields=list(links.type.value_type))
    columns = _moved(sentence, _shift(batches["titles"], number), number)
    columns["links"] = pa.ListArray.from_arrays(links.offsets, struct, type=links.type)
    if number:
        # `pairs` drops the same sentence as a duplicate, and takes digits for alike.
        word = "".join("abcdefghij"[int(digit)] for digit in str(number))
        columns["text"] = pc.binary_join_element_wise(columns["text"], f" Copy {word}.", "")
    batch = _batch(columns, sentences.SCHEMA)
    for start in range(0, batch.num_rows, ROW_GROUP):
        rows.write(batch.slice(start, ROW_GROUP))


def _write_titles(title: pa.RecordBatch, number: int, pages: PartWriter) -> None:
    """Write a copy of all titles, and a title for each link target that has none."""
    shift, links = _shift(title, number), title.column("links")
    page_ids = title.column("page_id").to_numpy()[pc.list_parent_indices(links).to_numpy()]
    targets = _renamed(links.flatten(), page_ids, number)
    columns = _moved(title, shift, number)
    columns["redirect"] = _suffixed(title.column("redirect"), number)
    columns["links"] = pa.ListArray.from_arrays(links.offsets, targets, type=links.type)
    pages.write(_batch(columns, titles.SCHEMA))
    if number:
        targets = targets.filter(pc.ends_with(targets, f" ({number})"))
    missing = pc.unique(targets)
    missing = missing.filter(pc.invert(pc.is_in(missing, value_set=columns["title"])))
    count = len(missing)
    ids = pa.array(np.arange(count) + shift + int(pc.max(title.column("page_id")).as_py()) + 1)
    empty = {"wiki": pa.repeat(title.column("wiki")[0], count), "title": missing, "page_id": ids, "rev_id": ids}
    for name in titles.SCHEMA.names:
        kind = titles.SCHEMA.field(name).type
        empty.setdefault(name, pa.array([[]] * count, kind) if pa.types.is_list(kind) else pa.nulls(count, kind))
    pages.write(_batch(empty, titles.SCHEMA))


def _shift(title: pa.RecordBatch, number: int) -> int:
    return int(number * 10 ** len(str(2 * pc.max(title.column("page_id")).as_py() + 10_000_000)))


def _suffixed(texts: pa.Array, number: int) -> pa.Array:
    return pc.binary_join_element_wise(texts, f" ({number})", "") if number else texts


def _renamed(targets: pa.Array, pages: Any, number: int) -> pa.Array:
    """Point a quarter of the links of a copy to the copy of their target."""
    if not number:
        return targets
    chosen = mix(number, pages, hash_strings(targets).view(np.int64)) % np.uint64(4) == 0
    return pc.if_else(pa.array(chosen), _suffixed(targets, number), targets)


def _moved(batch: pa.RecordBatch, shift: int, number: int) -> dict[str, pa.Array]:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    for name in ("page_id", "rev_id"):
        columns[name] = pc.add(columns[name], shift)
    columns["title"] = _suffixed(columns["title"], number)
    return columns


def _batch(columns: dict[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
