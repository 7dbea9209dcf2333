"""Where the entity vectors begin: what `python -m wikianchor.trainer.entity_vectors` does; `options.py` says it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
from numpy.typing import NDArray
from safetensors.numpy import save_file

from wikianchor.io.errors import InputError
from wikianchor.io.storage import filesystem, is_local, put_file, reading, writing
from wikianchor.trainer.command import run_command
from wikianchor.trainer.data.shards import open_pairs, read_entities
from wikianchor.trainer.entity_vectors.options import EntityVectorsOptions, parse
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.vector_files import BrokenLines, NamedVector, read_named_vectors

Vectors = NDArray[np.floating]


def fill(
    rows: int, named: Iterable[NamedVector], places: Mapping[str | int, Sequence[int]], dtype: str
) -> tuple[Vectors, NDArray[np.bool_]]:
    """Return vectors (rows, dim), zero where none is known, and known (rows,); the first of equal names counts.

    places: the rows that a name stands for.
    """
    vectors: Vectors | None = None
    known = np.zeros(rows, bool)
    for name, vector in named:
        for row in places.get(name, ()):
            if vectors is None:
                vectors = np.zeros((rows, len(vector)), dtype)
            if not known[row]:
                vectors[row], known[row] = vector, True
    if vectors is None:
        raise InputError("none of the vectors is of an entity of the dataset: are their titles those of --wikis?")
    return vectors, known


def names_of(entities: pa.Table, titles: pa.Table | None) -> dict[str | int, list[int]]:
    """Return the rows of each name: the item's number, and its titles, or its label where no titles are given.

    entities: `qid` and `label`, a row for each id; titles: `qid` and `title`.
    """
    qids = entities["qid"].to_pylist()
    row_of = {qid: row for row, qid in enumerate(qids)}
    found: dict[str | int, list[int]] = {qid: [row] for qid, row in row_of.items()}
    named = entities.rename_columns({"label": "title"}) if titles is None else titles
    for title, qid in zip(named["title"].to_pylist(), named["qid"].to_pylist(), strict=True):
        if title is not None and qid in row_of:
            found.setdefault(title, []).append(row_of[qid])
    return found


def read_titles(path: str, wiki: str) -> pa.Table:
    """Return `qid` and `title` of a wiki's pages, from a dataset of `wikianchor entities`."""
    files, inner = filesystem(f"{path.rstrip('/')}/data/sitelinks")
    with reading(path):
        table = pa.dataset.dataset(inner, filesystem=files, format="parquet")
        found = table.to_table(columns=["qid", "title"], filter=pc.field("wiki") == wiki)
    if len(found) == 0:
        raise InputError(f"{path}: has no sitelinks of {wiki}")
    return found


def encode_labels(entities: pa.Table, model: str) -> Iterable[NamedVector]:
    """Yield the vector of each entity that has a label, by its number."""
    labelled = entities.filter(pc.is_valid(entities["label"]))
    vectors = Encoder.load(model).encode(labelled["label"].to_pylist())
    return zip(labelled["qid"].to_pylist(), vectors, strict=True)


def coverage(entities: pa.Table, known: NDArray[np.bool_]) -> str:
    """Return a Markdown table: what share of the entities, and of the links to them, has a vector."""
    counts = entities["count"].to_numpy()
    lines = ["| links | entities | known | of entities | of links |", "| --- | ---: | ---: | ---: | ---: |"]
    bins = [(10**power, 10 ** (power + 1)) for power in range(len(str(int(counts.max(initial=1)))))]
    for low, high in [*bins, (0, np.iinfo(np.int64).max)]:
        inside = (counts >= low) & (counts < high)
        total, links = int(inside.sum()), int(counts[inside].sum())
        if total:
            share, of_links = known[inside].mean(), counts[inside & known].sum() / max(links, 1)
            name = f"{low} to {high - 1}" if low else "all"
            lines.append(f"| {name} | {total:,} | {int(known[inside].sum()):,} | {share:.1%} | {of_links:.1%} |")
    return "\n".join(lines)


def make(options: EntityVectorsOptions) -> str:
    """Write the file that the options ask for, and return the coverage report."""
    entities = read_entities(open_pairs(options.data))
    broken = BrokenLines()
    if options.encode:
        named, titles = encode_labels(entities, options.encode), None
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
