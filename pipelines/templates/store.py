"""Look up definitions of templates in a table on disk, which all workers of a machine share.

In the table redirects are followed, and a template that begins with a block is a block too. Bodies stay on disk, so the
memory of a worker does not grow with the wiki.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from itertools import chain
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from wikianchor.io.storage import is_local
from wikianchor.pipelines.arrays.hashing import hash_string
from wikianchor.pipelines.arrays.tables import find, map_tables, save_pieces
from wikianchor.pipelines.wikimedia.page_kinds import patterns_of
from wikianchor.pipelines.wikimedia.wikitext.definitions import BLOCK
from wikianchor.pipelines.wikimedia.wikitext.served import FACTS, NO_FACTS, DumpFacts
from wikianchor.schemas.templates import KINDS

# Redirects and first calls that are followed.
MAX_STEPS = 8
# Bodies that a process keeps as text.
CACHED = 1 << 12
COPY_BYTES = 1 << 20
COLUMNS = ("title", "kind", "body", "first", "disambiguation")
"""The columns of `schemas.templates` that the table is made from."""
_TEXT, _BLOCK, _REDIRECT = (KINDS.index(kind) for kind in ("text", "block", "redirect"))
_Array = npt.NDArray[Any]


class TemplateStore:
    """The definitions of one wiki.

    Args:
        path: as `save_store` returned it.
    """

    def __init__(self, path: str) -> None:
        tables = map_tables(path)
        # Python's own numbers and bytes come out of a memoryview faster than out of an array.
        keys, bodies = (memoryview(cast(Any, tables[name])) for name in ("keys", "bodies"))
        self._disambiguation = frozenset(tables["disambiguation"].tolist())
        # No method: without a cycle of references the files are closed as soon as nobody needs them.
        self.find = lru_cache(maxsize=CACHED)(partial(_find, keys, tables["spans"], bodies))

    def marks_disambiguation(self, title: str) -> bool:
        """Return whether an article with the template is a disambiguation page."""
        return hash_string(title) in self._disambiguation


def _find(keys: memoryview, spans: _Array, bodies: memoryview, title: str) -> str | None:
    """Return the body of a template by its title; BLOCK for a block, None if its definition is not known."""
    key = hash_string(title)
    index = bisect_left(keys, key)
    if index == len(keys) or keys[index] != key:
        return None
    start, end = spans[index].tolist()
    return bytes(bodies[start:end]).decode()


def save_store(
    directory: str,
    definitions: Iterable[tuple[str, str, str | None, str | None, bool]],
    language: str,
    facts: DumpFacts = NO_FACTS,
) -> str:
    """Write the table; return its path. Memory is 40 bytes a template: bodies are on disk.

    Args:
        directory: local path or URI.
        definitions: COLUMNS of each template.
        language: the language of the wiki.
        facts: what is known of the dump; whether templates that are made by modules, and these, are in the table.
    """
    # By template: hashes of its title, and of the template that it redirects to or begins with, 0 for none.
    keys, targets = array("Q"), array("Q")
    kinds, spans, marked = array("b"), array("q"), array("b")
    names = patterns_of("disambiguation", language)
    known = {hash_string(name[:1].upper() + name[1:]) for name in names}
    scratch = directory if is_local(directory) else tempfile.gettempdir()
    os.makedirs(scratch, exist_ok=True)
    with tempfile.TemporaryFile(dir=scratch) as file:
        bodies = cast(BinaryIO, file)
        bodies.write(BLOCK.encode())
        end = len(BLOCK)
        shown = {"message": "text"} | ({"server": "text", "module": "text"} if facts.lua else {})
        for title, kind, body, first, disambiguation in chain(
            [(FACTS, "text", facts.text(), None, False)], definitions
        ):
            kind = shown.get(kind, kind)
            text = (body or "").encode() if kind == "text" else b""
            target = body if kind == "redirect" else first
            keys.append(hash_string(title))
            targets.append(hash_string(target) if target else 0)
            kinds.append(KINDS.index(kind))
            marked.append(disambiguation or keys[-1] in known)
            spans.extend((end, end + len(text)))
            bodies.write(text)
            end += len(text)
        table = _resolved(
            np.array(keys), np.array(targets), np.array(kinds), np.array(marked), np.array(spans).reshape(-1, 2)
        )
        lengths = {**{name: len(column) for name, column in table.items()}, "bodies": end}
        return save_pieces(directory, "templates", lengths, [table, *_pieces(bodies)])


def _resolved(keys: _Array, targets: _Array, kinds: _Array, marked: _Array, spans: _Array) -> dict[str, _Array]:
    """Return the keys of the templates with a body, ascending, and where each body is; and the keys of those that mark
    disambiguation pages, ascending."""
    order = np.argsort(keys, kind="stable")
    keys, targets, kinds, marked, spans = (column[order] for column in (keys, targets, kinds, marked, spans))
    # The row of each target; that of the template itself without one.
    here = np.arange(len(keys))
    there = find(keys, targets)
    there = np.where(there < 0, here, there)
    beginning, end = here, here
    for _ in range(MAX_STEPS):
        # A text is followed to what it begins with, a redirect to where it leads.
        beginning = np.where(np.isin(kinds[beginning], (_TEXT, _REDIRECT)), there[beginning], beginning)
        end = np.where(kinds[end] == _REDIRECT, there[end], end)
    # A redirect and the template that it leads to are the same; so is a template and the box that it begins with.
    marked = marked.astype(bool)
    marked[end[marked]] = True
    marked |= marked[end] | marked[beginning]
    kinds = np.where((kinds == _TEXT) & (kinds[beginning] == _BLOCK), _BLOCK, kinds)[end]
    spans = np.where((kinds == _BLOCK)[:, None], (0, len(BLOCK)), spans[end])
    known = np.isin(kinds, (_TEXT, _BLOCK))
    return {"keys": keys[known], "spans": spans[known], "disambiguation": keys[marked]}


def _pieces(bodies: BinaryIO) -> Iterator[dict[str, _Array]]:
    bodies.seek(0)
    while piece := bodies.read(COPY_BYTES):
        yield {"bodies": np.frombuffer(piece, np.uint8)}
