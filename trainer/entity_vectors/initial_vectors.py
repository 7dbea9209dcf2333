"""Initial entity vectors: the command `python -m wikianchor.trainer.entity_vectors`, which `options.py` describes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file

from wikianchor.io.errors import InputError
from wikianchor.io.manifests import read_dataset
from wikianchor.io.markdown import markdown_table
from wikianchor.io.storage import is_local, put_file, writing
from wikianchor.schemas import entities as entities_schema
from wikianchor.trainer.command import run_command
from wikianchor.trainer.data.shards import list_shards, open_pairs, read_entities, read_manifest, read_table
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.entity_vectors.options import EntityVectorsOptions, parse
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.gpu import default_precision
from wikianchor.trainer.models.vector_files import BrokenLines, NamedVector, read_named_vectors

Vectors = NDArray[np.floating]


def fill(
    rows: int, named: Iterable[NamedVector], rows_of: Mapping[str | int, Sequence[int]], dtype: str
) -> tuple[Vectors, NDArray[np.bool_]]:
    """Return the vectors of entities, and which of them are known.

    Args:
        rows: number of entities.
        named: vectors by name; the first vector of a row is used.
        rows_of: the rows of each name.
        dtype: of the vectors.

    Returns:
        vectors (rows, dim), 0 where they are not known; and known (rows,) bool.

    Raises:
        InputError: no name is that of an entity.
    """
    vectors: Vectors | None = None
    known = np.zeros(rows, bool)
    for name, vector in named:
        for row in rows_of.get(name, ()):
            if vectors is None:
                vectors = np.zeros((rows, len(vector)), dtype)
            if not known[row]:
                vectors[row], known[row] = vector, True
    if vectors is None:
        raise InputError("none of the vectors is of an entity of the dataset: are their titles those of --wikis?")
    return vectors, known


def names_of(entities: pa.Table, titles: pa.Table | None) -> dict[str | int, list[int]]:
    """Return the rows of each name: of the item's number, and of its titles, or of its label without titles.

    Args:
        entities: `qid` and `label`, a row for each entity id.
        titles: `qid` and `title`, or None.
    """
    qids = entities["qid"].to_pylist()
    row_of = {qid: row for row, qid in enumerate(qids)}
    rows_of: dict[str | int, list[int]] = {qid: [row] for qid, row in row_of.items()}
    named = entities.rename_columns({"label": "title"}) if titles is None else titles
    for title, qid in zip(named["title"].to_pylist(), named["qid"].to_pylist(), strict=True):
        if title is not None and qid in row_of:
            rows_of.setdefault(title, []).append(row_of[qid])
    return rows_of


def read_titles(path: str, wiki: str) -> pa.Table:
    """Return `qid` and `title` of a wiki's pages, from a dataset of `wikianchor entities`.

    Raises:
        InputError: the dataset cannot be read, or has no page of the wiki.
    """
    path = path.rstrip("/")
    return read_dataset(partial(_titles, path, wiki), path)


def _titles(path: str, wiki: str) -> pa.Table:
    manifest = read_manifest(path, {"entities": entities_schema.VERSION})
    tables = []
    for shard in list_shards(path, manifest, "sitelinks")[0]:
        table = read_table(shard, entities_schema.SITELINKS, ("qid", "wiki", "title"))
        tables.append(table.filter(pc.equal(table["wiki"], wiki)).select(["qid", "title"]))
    if not sum(map(len, tables)):
        raise InputError(f"{path}: has no sitelinks of {wiki}")
    return pa.concat_tables(tables)


def encode_labels(entities: pa.Table, model: str, device: torch.device) -> Iterable[NamedVector]:
    """Yield the vector of each entity that has a label, by its number."""
    labelled = entities.filter(pc.is_valid(entities["label"]))
    encoder = Encoder.load(model, device=device)
    encoder.precision = default_precision(device)
    vectors = encoder.encode(labelled["label"].to_pylist())
    return zip(labelled["qid"].to_pylist(), vectors, strict=True)


def coverage(entities: pa.Table, known: NDArray[np.bool_]) -> str:
    """Return a Markdown table of the share of entities with a vector, and of links to them, by number of links."""
    counts = entities["count"].to_numpy()
    lines: list[list[str]] = []
    bins = [(10**power, 10 ** (power + 1)) for power in range(len(str(int(counts.max(initial=1)))))]
    for low, high in [*bins, (0, np.iinfo(np.int64).max)]:
        inside = (counts >= low) & (counts < high)
        total, links = int(inside.sum()), int(counts[inside].sum())
        if total:
            share, of_links = known[inside].mean(), counts[inside & known].sum() / max(links, 1)
            name = f"{low} to {high - 1}" if low else "all"
            lines.append([name, f"{total:,}", f"{int(known[inside].sum()):,}", f"{share:.1%}", f"{of_links:.1%}"])
    return markdown_table(["links", "entities", "known", "of entities", "of links"], lines)


def make(options: EntityVectorsOptions) -> str:
    """Write the file of vectors, and return the coverage report.

    Raises:
        InputError: an input cannot be read, or the output cannot be written.
    """
    entities = read_entities(open_pairs(options.data))
    broken = BrokenLines()
    if options.encode:
        named, titles = encode_labels(entities, options.encode, choose_device(options.device)), None
    else:
        named = read_named_vectors(options.vectors, broken)
        titles = read_titles(options.sitelinks, options.wikis) if options.sitelinks else None
    try:
        vectors, known = fill(len(entities), named, names_of(entities, titles), options.dtype)
    except ValueError as error:
        raise InputError(f"{options.vectors}: vectors of different widths ({error})") from error
    qids = entities["qid"].to_numpy()
    with tempfile.TemporaryDirectory() as scratch, writing(options.output):
        local = f"{options.output}.unfinished" if is_local(options.output) else os.path.join(scratch, "vectors")
        save_file({"vectors": vectors, "known": known, "qids": qids}, local)
        put_file(local, options.output)
    note = f"\n\nLines that are no vector: {broken.lines:,}" if broken.lines else ""
    return f"{coverage(entities, known)}{note}"


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    return run_command("trainer", lambda: make(parse(argv)))
