"""Initial entity vectors: read from a file by item or by title, or random."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor

import wikianchor.schemas.mentions
from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.manifests import read_dataset
from wikianchor.trainer.data.shards import list_shards, read_manifest, read_table
from wikianchor.trainer.models.entities import random_vectors
from wikianchor.trainer.models.vector_files import BrokenLines, read_named_vectors


def read_titles(path: str, wiki: str) -> pa.Table:
    """Return `qid` and `title` of the pages of a wiki, from an `interlanguage` dataset.

    Raises:
        InputError: the directory holds no finished `interlanguage` dataset, or one without pages of the wiki.
    """
    path = path.rstrip("/")
    return read_dataset(partial(_titles, path, wiki), path)


def _titles(path: str, wiki: str) -> pa.Table:
    manifest = read_manifest(path, {"interlanguage": wikianchor.schemas.mentions.VERSION})
    tables = []
    for shard in list_shards(path, manifest, "interlanguage")[0]:
        table = read_table(shard, wikianchor.schemas.mentions.INTERLANGUAGE, ("wiki", "qid", "title"))
        tables.append(table.filter(pc.and_(pc.equal(table["wiki"], wiki), pc.is_valid(table["title"]))))
    titles = pa.concat_tables(tables).select(["qid", "title"])
    if not len(titles):
        raise InputError(f"{path}: has no titles of {wiki}: build it with that wiki, or name another")
    return titles


def select_titles(titles: pa.Table | None, qids: NDArray[np.int64]) -> list[tuple[str, int]]:
    """Return the known titles of items, as (title, item)."""
    if titles is None:
        return []
    selected = titles.filter(pc.is_in(titles["qid"], pa.array(qids)))
    return list(zip(selected["title"].to_pylist(), selected["qid"].to_pylist(), strict=True))


def initial_vectors(
    path: str, qids: NDArray[np.int64], titles: pa.Table | None, dim: int, seed: int
) -> tuple[Tensor, NDArray[np.bool_]]:
    """Return the vectors of items, (items, width) float32, and which of them are from the file; the others are random.

    Args:
        path: of the file, or "" for random vectors.
        qids: the items, ascending.
        titles: `qid` and `title`, for a file with titles.
        dim: width of random vectors, if there is no file.
        seed: of random vectors.

    Raises:
        InputError: the file cannot be read, or has none of the items.
        UsageError: the file has titles, and `titles` is None.
    """
    known = np.zeros(len(qids), np.bool_)
    if not path:
        return random_vectors(len(qids), dim, seed), known
    row_of = {qid: row for row, qid in enumerate(qids.tolist())}
    row_of_title = {title: row_of[qid] for title, qid in reversed(select_titles(titles, qids))}
    table: Tensor | None = None
    for name, vector in read_named_vectors(path, BrokenLines()):
        if isinstance(name, str) and titles is None:
            raise UsageError(f"{path} goes by title: say which item a title is with --titles and --titles_wiki")
        row = row_of_title.get(name) if isinstance(name, str) else row_of.get(int(name))
        if row is None or known[row]:
            continue
        if table is None:
            table = random_vectors(len(qids), len(vector), seed)
        if len(vector) != table.shape[1]:
            raise InputError(f"{path}: vectors of widths {table.shape[1]} and {len(vector)}")
        table[row], known[row] = torch.from_numpy(np.asarray(vector, np.float32)), True
    if table is None:
        raise InputError(f"{path}: none of its vectors is of an item that the documents speak of: see --titles_wiki")
    return table, known
