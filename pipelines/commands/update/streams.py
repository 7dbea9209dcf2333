"""Read a dump in streams of about a hundred pages, and write one."""

from __future__ import annotations

import bz2
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby, islice, pairwise
from operator import itemgetter
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from wikianchor.io.errors import InputError, Truncated
from wikianchor.io.parsing import unreadable
from wikianchor.io.storage import exists, file_size, open_file, reading
from wikianchor.pipelines.commands.update.changes import END, pages_of
from wikianchor.pipelines.wikimedia.bzip2_blocks import new_decompressor
from wikianchor.pipelines.wikimedia.compressed import find_all
from wikianchor.pipelines.wikimedia.dumps import (
    SHORT_STREAM,
    STREAM_START,
    STREAM_START_BYTES,
    Chunk,
    compression,
    find_stream,
)
from wikianchor.pipelines.wikimedia.pages import CLOSE, OPEN, PAGE_LIMIT, cut_pages, page_id

PAGES = 100
# Bytes: of text that show whether a stream begins with a page, and of a line of an index.
HEAD, LONGEST_LINE = 1000, 1 << 16
_INDEXED = re.compile(r"(\d*)\.xml(?=[^/]*$)")
_TITLE = re.compile(rb"<title>([^<]*)</title>")
_NONE: tuple[int, Mapping[int, bytes]] = (-1, {})


class Stream(NamedTuple):
    """Some pages of a dump.

    Attributes:
        path: the dump.
        titles: their titles, as XML has them, by page id.
        packed: their bz2 stream; b"" if they have none of their own.
        offset: where it begins in the dump.
        elements: their <page> elements by page id; none before they are decompressed.
    """

    path: str
    titles: Mapping[int, bytes]
    packed: bytes
    offset: int
    elements: Mapping[int, bytes] = MappingProxyType({})

    def unpacked(self) -> Stream:
        """Return the stream with its elements.

        Raises:
            InputError: the stream is damaged, or the index lists other pages.
        """
        if self.elements:
            return self
        stream = _stream(self.path, _text(self.path, self.packed, self.offset), self.packed, self.offset)
        if stream.titles.keys() != self.titles.keys():
            raise _other_index(self.path)
        return stream


def index_of(path: str) -> str:
    """Return the path of the index of a multistream dump.

    >>> index_of("dumps/enwiki-20260101-pages-articles-multistream1.xml-p1p41242.bz2")
    'dumps/enwiki-20260101-pages-articles-multistream-index1.txt-p1p41242.bz2'
    """
    return _INDEXED.sub(r"-index\1.txt", path)


def _other_index(path: str) -> InputError:
    return InputError(f"{index_of(path)}: is not the index of {path}: fetch it again, or remove it")


def read_streams(path: str) -> Iterator[Stream]:
    """Yield the pages of a dump.

    Raises:
        InputError, Truncated: the dump is damaged or cut off, or its index is that of another dump.
    """
    if compression(path) == "bz2" and _is_multistream(path):
        yield from _read_multistream(path)
        return
    pages = pages_of(path)
    while batch := list(islice(pages, PAGES)):
        yield _with_titles(path, batch, b"", 0)


def _is_multistream(path: str) -> bool:
    """Return whether the second stream of a bz2 file begins with a page."""
    with open_file(path) as file, reading(path):
        second = find_stream(file, 1, SHORT_STREAM)
        if second is None:
            return False
        file.seek(second)
        with unreadable(f"{path}: damaged bz2 data in the stream at byte {second}", "fetch it again"):
            head: bytes = new_decompressor().decompress(file.read(SHORT_STREAM), HEAD)
    return head.lstrip().startswith(OPEN)


def _read_multistream(path: str) -> Iterator[Stream]:
    index = index_of(path)
    listed = _read_index(index) if index != path and exists(index) else iter(())
    offset, titles = next(listed, _NONE)
    text = b""
    with open_file(path) as file, reading(path):
        size = file_size(path)
        for start, end in pairwise(chain(find_all(file, STREAM_START, STREAM_START_BYTES, 0, size), [size])):
            if 0 <= offset < start:
                raise _other_index(path)
            if end - start > PAGE_LIMIT:
                raise InputError(f"{path}: the stream at byte {start} has more than {PAGE_LIMIT >> 20} MB: unpack it")
            file.seek(start)
            packed = file.read(end - start)
            if offset == start and end < size:
                yield Stream(path, titles, packed, start)
            else:
                text = _text(path, packed, start)
                yield _stream(path, text, packed, start)
            if offset == start:
                offset, titles = next(listed, _NONE)
    if END not in text[-10 * len(END) :]:
        raise Truncated(f"{path}: cut off after its last whole page, </mediawiki> is missing: fetch it again")
    if offset >= 0:
        raise _other_index(path)


def _read_index(path: str) -> Iterator[tuple[int, Mapping[int, bytes]]]:
    """Yield the offset of each stream of an index, and the titles in it by page id."""
    problem = f"{path}: no index of a multistream dump"
    with open_file(path) as file, unreadable(problem, "remove it"), bz2.BZ2File(file) as unpacked:
        lines = (line.rstrip(b"\n").split(b":", 2) for line in iter(lambda: unpacked.readline(LONGEST_LINE), b""))
        for offset, rows in groupby(lines, key=itemgetter(0)):
            yield int(offset), {int(page): title for _, page, title in rows}


def _text(path: str, packed: bytes, offset: int) -> bytes:
    """Decompress a stream."""
    with unreadable(f"{path}: damaged bz2 data in the stream at byte {offset}", "fetch it again"):
        decompressor, text = new_decompressor(), bytearray()
        while not decompressor.eof and len(text) <= PAGE_LIMIT:
            # An end of the data that is missing is an error of the decompressor, or an empty answer.
            block = decompressor.decompress(b"" if text else packed, PAGE_LIMIT)
            text += block
            if not block:
                break
        if not decompressor.eof or decompressor.unused_data.strip(b"\0"):
            raise EOFError("cut off, followed by other bytes, or too long")
    return bytes(text)


def _stream(path: str, text: bytes, packed: bytes, offset: int) -> Stream:
    """Return a stream of which the text is known."""
    inner = text.strip()
    if not inner.startswith((OPEN, b"<mediawiki", END)):
        raise InputError(f"{path}: the stream at byte {offset} begins inside a page: pack the dump again with bzip2")
    pages = [raw for raw, _ in cut_pages([Chunk(text, offset, True)], path)]
    return _with_titles(path, pages, packed if inner.startswith(OPEN) and inner.endswith(CLOSE) else b"", offset)


def _with_titles(path: str, pages: Sequence[bytes], packed: bytes, offset: int) -> Stream:
    elements: dict[int, bytes] = {}
    titles: dict[int, bytes] = {}
    for raw in pages:
        title, page = _TITLE.search(raw), page_id(raw)
        if title is None or page is None or page in elements:
            raise InputError(f"{path}: a page without a title or an id, or a second one: {raw[:80]!r}: fetch it again")
        elements[page], titles[page] = raw, title[1]
    return Stream(path, titles, packed, offset, elements)


class DumpWriter:
    """Writes a multistream dump and its index.

    Args:
        dump: the file of the dump.
        index: the file of its index.
        header: the text before the first page.

    Attributes:
        copied: number of streams copied as they are.
        made: number of streams made of pages.
    """

    def __init__(self, dump: BinaryIO, index: BinaryIO, header: bytes) -> None:
        self._dump, self._index = dump, bz2.BZ2File(index, "w")
        self._pages: list[bytes] = []
        self._position = dump.write(bz2.compress(header))
        self.copied = self.made = 0

    def add(self, element: bytes) -> None:
        """Write a page."""
        self._pages.append(element)
        if len(self._pages) == PAGES:
            self._end_stream()

    def copy(self, stream: Stream) -> None:
        """Write a stream as it is."""
        self._end_stream()
        self._write(stream)
        self.copied += 1

    def finish(self) -> None:
        """Write what is left, and the end of the dump."""
        self._end_stream()
        self._dump.write(bz2.compress(END + b"\n"))
        self._index.close()

    def _end_stream(self) -> None:
        if self._pages:
            packed = bz2.compress(b"".join(b"  %b\n" % element for element in self._pages))
            self._write(_with_titles("", self._pages, packed, 0))
            self._pages.clear()
            self.made += 1

    def _write(self, stream: Stream) -> None:
        for page, title in stream.titles.items():
            self._index.write(b"%d:%d:%b\n" % (self._position, page, title))
        self._position += self._dump.write(stream.packed)
