"""Initial entity vectors: the command `wikianchor vectors`, which `options.py` describes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file

from wikianchor.io.markdown import markdown_table
from wikianchor.io.storage import is_local, put_file, reading, writing
from wikianchor.trainer.command import VECTORS, need, run_command
from wikianchor.trainer.data.named_vectors import fill, given_titles, rows_by_name
from wikianchor.trainer.data.shards import open_pairs, read_entities
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.entity_vectors.options import EntityVectorsOptions, parse
from wikianchor.trainer.entity_vectors.skip_gram import train_vectors
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.gpu import default_precision
from wikianchor.trainer.models.vector_files import BrokenLines, NamedVector, read_named_vectors


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
    pairs = open_pairs(options.data)
    entities = read_entities(pairs)
    trained = {} if options.encode or options.vectors else {"trained_on": pairs.fingerprint}
    if trained and trained == _metadata(options.output):
        return f"{options.output}: up to date, skipped"
    qids = entities["qid"].to_numpy()
    broken = BrokenLines()
    named: Iterable[NamedVector]
    if options.encode:
        named = encode_labels(entities, options.encode, choose_device(options.device))
    elif options.vectors:
        named = read_named_vectors(options.vectors, broken)
    else:
        need(VECTORS)
        named = train_vectors(pairs, qids)
    titles = given_titles(options) if options.vectors else None
    labelled = entities if titles is None else titles.rename_columns(["qid", "label"])
    names = zip(labelled["label"].to_pylist(), labelled["qid"].to_pylist(), strict=True)
    rows_of = rows_by_name(qids.tolist(), names)
    vectors, known = fill(named, rows_of, len(entities), options.dtype)
    with tempfile.TemporaryDirectory() as scratch, writing(options.output):
        local = f"{options.output}.unfinished" if is_local(options.output) else os.path.join(scratch, "vectors")
        save_file({"vectors": vectors, "known": known, "qids": qids}, local, trained)
        put_file(local, options.output)
    note = f"\n\nLines that are no vector: {broken.lines:,}" if broken.lines else ""
    return f"{coverage(entities, known)}{note}"


def _metadata(path: str) -> Mapping[str, str]:
    """Return what a local file of vectors says of its origin, {} where there is none."""
    if not os.path.exists(path):
        return {}
    with reading(path), safe_open(path, "numpy") as file:
        return dict(file.metadata() or {})


def main(argv: Sequence[str]) -> int:
    """Return the exit status."""
    return run_command("trainer", lambda: make(parse(argv)))
