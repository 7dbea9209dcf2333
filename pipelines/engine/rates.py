"""Estimates of the work of a stage, by the rates of `benchmarks/RESULTS.md`, rounded down."""

from __future__ import annotations

import os
from collections.abc import Sequence

from wikianchor.io.storage import file_size

# Bytes of a dump that a worker reads in a second, by file extension.
SENTENCES = {".bz2": 1.5e6, ".gz": 1.3e6, ".xz": 1.0e6, "": 6.0e6}
# The compiled core reads them at least so many times as fast.
COMPILED = 2.5
# The same, where only the pages of templates are read.
TEMPLATES = {".bz2": 5e6, ".gz": 15e6, ".xz": 8e6, "": 200e6}
ITEMS = {".bz2": 2.3e6, ".gz": 18e6, "": 200e6}
LINKS_PER_SECOND = 200_000
# Rows of `pairs` that `export` reads, samples and writes.
ROWS_PER_SECOND = 15_000
# Building and starting the graph of a stage, and the tables of each wiki in `pairs`.
STAGE_SECONDS, WIKI_SECONDS = 0.2, 0.015
# Bytes of `sentences` that `mentions` reads in a second, and of documents that `documents` and `linking` do.
MENTIONS, DOCUMENTS, LINKING = 4e6, 10e6, 0.5e6


def dump_seconds(paths: Sequence[str], is_compiled: bool = False) -> float:
    """Return the estimated seconds in which one worker reads dumps of pages, with the compiled core or without."""
    return sum(file_size(path) / SENTENCES[ending_of(path)] for path in paths) / (COMPILED if is_compiled else 1)


def template_seconds(paths: Sequence[str]) -> float:
    """Return the estimated seconds in which one worker reads the templates of dumps of pages."""
    return sum(file_size(path) / TEMPLATES[ending_of(path)] for path in paths)


def item_seconds(paths: Sequence[str]) -> float:
    """Return the estimated seconds in which one worker reads dumps of items and page_props tables."""
    return sum(file_size(path) / ITEMS.get(ending_of(path), ITEMS[""]) for path in paths)


def pair_seconds(links: float, wikis: int) -> float:
    """Return the estimated seconds in which one worker makes pairs of a number of links in some wikis."""
    return links / LINKS_PER_SECOND + wikis * WIKI_SECONDS


def export_seconds(rows: float) -> float:
    """Return the estimated seconds in which one worker exports a number of pairs."""
    return rows / ROWS_PER_SECOND


def ending_of(path: str) -> str:
    """Return the extension of a compressed file, "" for one without a rate.

    >>> ending_of("enwiki-pages-articles.xml.bz2"), ending_of("dump.xml")
    ('.bz2', '')
    """
    ending = os.path.splitext(path)[1]
    return ending if ending in SENTENCES else ""
