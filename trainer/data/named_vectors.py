"""Which item a title is, and tables filled with vectors that go by title or by item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import wikianchor.schemas.entities
import wikianchor.schemas.mentions
from wikianchor.io.errors import InputError
from wikianchor.io.manifests import reread
from wikianchor.trainer.data.shards import list_shards, read_manifest, read_table
from wikianchor.trainer.option_groups import Titles

# Datasets that say which item a title is, with their versions; and the config and schema with the titles.
VERSIONS = {"interlanguage": wikianchor.schemas.mentions.VERSION, "entities": wikianchor.schemas.entities.VERSION}
TITLES = {
    "interlanguage": ("interlanguage", wikianchor.schemas.mentions.INTERLANGUAGE),
    "entities": ("sitelinks", wikianchor.schemas.entities.SITELINKS),
}


@reread
def read_titles(path: str, wiki: str) -> pa.Table:
    """Return `qid` and `title` of the pages of a wiki, from a dataset `interlanguage` or `entities`.

    Raises:
        InputError: the directory holds no such finished dataset, or one without pages of the wiki.
    """
    manifest = read_manifest(path, VERSIONS)
    config, schema = TITLES[manifest["dataset"]]
    tables = [read_table(shard, schema, ("wiki", "qid", "title")) for shard in list_shards(path, manifest, config)[0]]
    titles = pa.concat_tables([schema.empty_table().select(["wiki", "qid", "title"]), *tables])
    titles = titles.filter(pc.and_(pc.equal(titles["wiki"], wiki), pc.is_valid(titles["title"])))
    if not len(titles):
        raise InputError(f"{path}: has no titles of {wiki}: build it with that wiki, or name another")
    return titles.select(["qid", "title"])


def given_titles(options: Titles) -> pa.Table | None:
    """Return the titles that the options name, as `read_titles` does; None where they name none."""
    return read_titles(options.titles, options.titles_wiki) if options.titles else None


def rows_by_name(qids: Sequence[int], titles: Iterable[tuple[str | None, int]]) -> dict[str | int, list[int]]:
    """Return the rows of each name: of the item's number, and of its titles.

    Args:
        qids: the item of each row.
        titles: titles with their items; None for an item without one.

    >>> rows_by_name([7, 5], [("Oslo", 5), ("Ceres", 9)])
    {7: [0], 5: [1], 'Oslo': [1]}
    """
    rows: dict[str | int, list[int]] = {qid: [row] for row, qid in enumerate(qids)}
    for title, qid in titles:
        if title is not None and qid in rows:
            rows.setdefault(title, []).extend(rows[qid])
    return rows


def fill(
    named: Iterable[tuple[str | int, NDArray[Any]]], rows_of: Mapping[str | int, Sequence[int]], count: int, dtype: str
) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
    """Return a table of vectors, and which of its rows are known.

    Args:
        named: vectors by name; the first vector of a row is used.
        rows_of: the rows of each name.
        count: number of rows.
        dtype: type of the table's numbers.

    Returns:
        vectors (count, dim), 0 where they are not known; and known (count,) bool.

    Raises:
        InputError: no name has a row, or vectors are of different widths.
    """
    vectors = None
    known = np.zeros(count, bool)
    for name, vector in named:
        for row in rows_of.get(name, ()):
            if vectors is None:
                vectors = np.zeros((count, len(vector)), dtype)
            if len(vector) != vectors.shape[1]:
                raise InputError(f"vectors of widths {vectors.shape[1]} and {len(vector)}")
            if not known[row]:
                vectors[row], known[row] = vector, True
    if vectors is None:
        raise InputError("none of the vectors is of an entity of the data: are their titles those of --titles_wiki?")
    return vectors, known
