"""Where entity vectors begin: read from a file, by item or by title, or random."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor

import wikianchor.schemas.mentions
from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.data.shards import list_shards, read_manifest, read_table
from wikianchor.trainer.models.entities import random_vectors
from wikianchor.trainer.models.vector_files import Broken, read_named_vectors


def read_titles(path: str, wiki: str) -> pa.Table:
    """Return `qid` and `title` of the pages of a wiki, from an `interlanguage` dataset.

    Raises:
        InputError: it is none, or has no page of that wiki.
    """
    path = path.rstrip("/")
    manifest = read_manifest(path, "interlanguage", wikianchor.schemas.mentions.VERSION)
    found = []
    for shard in list_shards(path, manifest, "interlanguage")[0]:
        table = read_table(shard, wikianchor.schemas.mentions.INTERLANGUAGE, ("wiki", "qid", "title"))
        found.append(table.filter(pc.and_(pc.equal(table["wiki"], wiki), pc.is_valid(table["title"]))))
    titles = pa.concat_tables(found).select(["qid", "title"])
    if not len(titles):
        raise InputError(f"{path}: has no titles of {wiki}: build it with that wiki, or name another")
    return titles


def initial_vectors(
    path: str, qids: NDArray[np.int64], titles: pa.Table | None, dim: int, seed: int
) -> tuple[Tensor, NDArray[np.bool_]]:
    """Return the vectors of items, (items, width) float32, and which of them the file knows; the rest is random.

    Args:
        path: of the file, or "" for random vectors.
        qids: the items, ascending.
        titles: `qid` and `title`, where the file goes by title.
        dim: width of random vectors.
        seed: of what is random.

    Raises:
        InputError: the file cannot be read, or knows none of the items.
        UsageError: it goes by title, and no titles are given.
    """
    if not path:
        return random_vectors(len(qids), dim, seed), np.zeros(len(qids), np.bool_)
    row_of = {qid: row for row, qid in enumerate(qids.tolist())}
    by_title: dict[str, int] = {}
    if titles is not None:
        wanted = titles.filter(pc.is_in(titles["qid"], pa.array(qids)))
        for qid, title in zip(wanted["qid"].to_pylist(), wanted["title"].to_pylist(), strict=True):
            by_title.setdefault(title, row_of[qid])
    known = np.zeros(len(qids), np.bool_)
    table: Tensor | None = None
    broken = Broken()
    for name, vector in read_named_vectors(path, broken):
        if isinstance(name, str) and titles is None:
            raise UsageError(f"{path} goes by title: say which item a title is with --titles and --titles_wiki")
        row = by_title.get(name) if isinstance(name, str) else row_of.get(int(name))
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
