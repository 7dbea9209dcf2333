"""Pages of an XML export: decompressed chunks in, `Page` records out. Versions 0.3 to 0.11 of the format.

https://www.mediawiki.org/wiki/Help:Export. No XML parser runs: `<page>` cannot stand in a text, where it is written
`&lt;page>`, so pages are cut out of the bytes by search, and pages that nobody wants are never decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from wikianchor.io.errors import InputError, Truncated
from wikianchor.pipelines.wikimedia.dumps import Chunk

OPEN, CLOSE = b"<page>", b"</page>"
# MediaWiki refuses texts above 2 MB; a page with its history in one element can be far larger.
PAGE_LIMIT = 256 << 20
# XML 1.0 cannot carry these; the wikitext engine uses them as marks of its own.
CONTROLS = bytes(code for code in range(32) if code not in b"\t\n")


class Page(NamedTuple):
    """One page at its newest revision; `redirect` is the target as the export gives it, "" where it names none, None
    for no redirect."""

    title: str
    namespace: int | None
    page_id: int
    rev_id: int
    timestamp: str
    redirect: str | None
    model: str
    text: str


def cut_pages(chunks: Iterable[Chunk], source: str) -> Iterator[tuple[bytes, int]]:
    """Yield (bytes from <page> to </page>, offset) for each page that begins in owned bytes; the offset is that of the
    page, or in compressed files that of the data around it.

    Raises:
        Truncated: the data end inside a page.
        InputError: a page lacks its <page> or its </page>, or is longer than any page can be.
    """
    buffer, owned_to, searched, offset = b"", 0, 0, 0
    # A range within a file may begin inside a page, whose end is then the first thing to be met.
    ends_allowed: int | None = None
    for chunk in chunks:
        if not chunk.owned and not _may_open(buffer, owned_to):
            return
        if chunk.owned:
            owned_to = len(buffer) + len(chunk.data)
        buffer += chunk.data
        offset, position = chunk.offset, 0
        before = len(buffer) - len(chunk.data)
        if ends_allowed is None:
            ends_allowed = 1 if offset else 0
        while True:
            start = buffer.find(OPEN, position, owned_to + len(OPEN) - 1)
            gap_end = start if start >= 0 else min(len(buffer), owned_to)
            ends = buffer.count(CLOSE, position, gap_end)
            if ends > ends_allowed:
                raise InputError(f"{source}: a </page> near byte {offset} has no <page>: the XML is malformed")
            ends_allowed -= ends
            if start < 0:
                break
            ends_allowed = 0
            if chunk.exact:
                offset = chunk.offset + start - before
            end = buffer.find(CLOSE, max(start, searched))
            inner = buffer.find(OPEN, max(start + len(OPEN), searched), end if end >= 0 else len(buffer))
            if inner >= 0:
                raise InputError(f"{source}: a <page> near byte {offset} has no </page>: the XML is malformed")
            if end < 0:
                break
            yield buffer[start : end + len(CLOSE)], offset
            position = end + len(CLOSE)
        if start < 0:
            # The tail may hold the first bytes of a tag.
            start = max(position, min(len(buffer), owned_to) - len(CLOSE) + 1)
        buffer = buffer[start:]
        owned_to = max(0, owned_to - start)
        searched = max(0, len(buffer) - len(CLOSE) + 1)
        if len(buffer) > PAGE_LIMIT:
            raise InputError(
                f"{source}: a page near byte {offset} has no </page> within {PAGE_LIMIT >> 20} MB: the XML is malformed"
            )
    if buffer.find(OPEN, 0, owned_to + len(OPEN) - 1) >= 0:
        title = _between(buffer, b"<title>", b"</title>", 0, len(buffer))
        named = f" {unescape(title.decode('utf-8', 'replace'))!r}" if title else ""
        raise Truncated(f"{source}: cut off inside the page{named} near byte {offset}: fetch it again")


def _may_open(buffer: bytes, owned_to: int) -> bool:
    """Whether owned bytes hold an unfinished page, or end within the word "<page>"."""
    if buffer.find(OPEN, 0, owned_to + len(OPEN) - 1) >= 0:
        return True
    tail = buffer[max(0, owned_to - len(OPEN) + 1) : owned_to]
    return any(OPEN.startswith(tail[-size:]) for size in range(1, len(tail) + 1))


# The first id of a page is its own; those of its revision and author come after.
_ID = re.compile(rb"<id>\s*(\d+)")
# The database keeps ids in 32 bits; what does not fit 63 is damage.
_NUMBER = re.compile(rb"-?[0-9]{1,18}")
_NUMERIC = re.compile("#(?:x([0-9A-Fa-f]{1,6})|([0-9]{1,7}))")
_NAMED = {"lt": "<", "gt": ">", "quot": '"', "apos": "'", "amp": "&"}


def unescape(text: str) -> str:
    """Undo XML escaping. Wikitext keeps its own entities, which stand as `&amp;nbsp;` in the export."""
    before, *parts = text.split("&")
    pieces = [before]
    for part in parts:
        name, _, rest = part.partition(";")
        if name in _NAMED:
            pieces += (_NAMED[name], rest)
        elif len(name) < len(part) and (number := _NUMERIC.fullmatch(name)):
            pieces += (_character(number), rest)
        else:
            pieces += ("&", part)
    return "".join(pieces)


def _character(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else int(match[2])
    return chr(code) if (32 <= code < 0x110000 and not 0xD800 <= code < 0xE000) or code in (9, 10) else "�"


def _between(raw: bytes, opening: bytes, closing: bytes, start: int, end: int) -> bytes | None:
    begin = raw.find(opening, start, end)
    if begin < 0:
        return None
    begin += len(opening)
    stop = raw.find(closing, begin, end)
    return raw[begin:stop] if stop >= 0 else None


def page_namespace(raw: bytes, where: str) -> int | None:
    """Return the number in <ns>, or None in exports before 0.5, without decoding the page.

    Raises:
        InputError: it is no number.
    """
    value = _between(raw, b"<ns>", b"</ns>", 0, 2000)
    if value is None:
        return None
    if not _NUMBER.fullmatch(value):
        raise InputError(f"{where}: a page whose <ns> is no number: the XML is malformed")
    return int(value)


def page_id(raw: bytes) -> int | None:
    """Return the id of a page, None where it has none; that of its revision comes after it.

    >>> page_id(b"<page><title>A</title><id>7</id><revision><id>8</id>")
    7
    """
    match = _ID.search(raw)
    return int(match[1]) if match else None


def parse_page(raw: bytes, where: str) -> Page:
    """Read one page; of several revisions the newest counts (latest timestamp, then highest id).

    Args:
        raw: the bytes from <page> to </page>.
        where: the file and place, for the error.

    Raises:
        InputError: the page has no title or id, its text has no end, or it is not UTF-8.
    """
    revision = raw.find(b"<revision>")
    head_end = revision if revision >= 0 else len(raw)
    title = _between(raw, b"<title>", b"</title>", 0, head_end)
    page_id = _between(raw, b"<id>", b"</id>", 0, head_end)
    if not title or page_id is None or not _NUMBER.fullmatch(page_id):
        raise InputError(f"{where}: a page without a title or a numeric id: the XML is malformed")
    redirect = _redirect(raw, head_end)
    start, end = _newest_revision(raw, revision)
    name = _decode(title, where)
    place = f"{where}: page {name!r}"
    rev_id = _between(raw, b"<id>", b"</id>", start, end) or b"0"
    return Page(
        title=unescape(name),
        namespace=page_namespace(raw, where),
        page_id=int(page_id),
        rev_id=int(rev_id) if _NUMBER.fullmatch(rev_id) else 0,
        timestamp=(_between(raw, b"<timestamp>", b"</timestamp>", start, end) or b"").decode("ascii", "replace"),
        redirect=None if redirect is None else unescape(_decode(redirect, where)),
        model=(_between(raw, b"<model>", b"</model>", start, end) or b"wikitext").decode("ascii", "replace"),
        text=unescape(_decode(_text(raw, start, end, place), place)),
    )


def _decode(raw: bytes, where: str) -> str:
    try:
        return raw.translate(None, CONTROLS).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8 (byte {raw[error.start]:#x} at {error.start}): mend the file") from None


def _redirect(raw: bytes, head_end: int) -> bytes | None:
    begin = raw.find(b"<redirect", 0, head_end)
    if begin < 0:
        return None
    tag = raw[begin : raw.find(b">", begin)]
    return _between(tag, b'title="', b'"', 0, len(tag)) or b""


def _newest_revision(raw: bytes, first: int) -> tuple[int, int]:
    if first < 0:
        return len(raw), len(raw)
    best, chosen, start = (b"", -1), (first, len(raw)), first
    while start >= 0:
        end = raw.find(b"</revision>", start)
        end = len(raw) if end < 0 else end
        following = raw.find(b"<revision>", end)
        if following < 0 and start == first:
            return start, end
        rev_id = _between(raw, b"<id>", b"</id>", start, end) or b""
        rank = (
            _between(raw, b"<timestamp>", b"</timestamp>", start, end) or b"",
            int(rev_id) if _NUMBER.fullmatch(rev_id) else 0,
        )
        if rank >= best:
            best, chosen = rank, (start, end)
        start = following
    return chosen


def _text(raw: bytes, start: int, end: int, where: str) -> bytes:
    begin = raw.find(b"<text", start, end)
    if begin < 0:
        return b""
    content = raw.find(b">", begin, end) + 1
    if content and raw[content - 2 : content] == b"/>":
        return b""
    stop = raw.find(b"</text>", content, end)
    if not content or stop < 0:
        raise InputError(f"{where} has a <text> without an end: the XML is malformed")
    return raw[content:stop]
