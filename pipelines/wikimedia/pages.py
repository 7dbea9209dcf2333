"""Read pages from XML exports, versions 0.3 to 0.11 of the format: https://www.mediawiki.org/wiki/Help:Export

No XML parser is used. `<page>` cannot occur in a text, where it is escaped as `&lt;page>`; so pages are found by byte
search, and pages that are not needed are never decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from wikianchor.io.errors import InputError, Truncated
from wikianchor.pipelines.wikimedia.dumps import Chunk

OPEN, CLOSE = b"<page>", b"</page>"
_TAG = re.compile(rb"</?page>")
# MediaWiki refuses texts above 2 MB; a page with its history in one element can be far larger.
PAGE_LIMIT = 256 << 20
# XML 1.0 does not allow these characters; the wikitext engine uses them as placeholders.
CONTROLS = bytes(code for code in range(32) if code not in b"\t\n")


class Page(NamedTuple):
    """One page at its newest revision.

    Attributes:
        title: as in the export, with the name of its namespace.
        namespace: namespace number; None in exports before 0.5.
        page_id: page id.
        rev_id: revision id, 0 if missing.
        timestamp: time of the revision, ISO 8601, UTC.
        redirect: target of a redirect as the export gives it, "" if the export does not name it; None for other pages.
        model: content model, such as "wikitext".
        text: wikitext.
    """

    title: str
    namespace: int | None
    page_id: int
    rev_id: int
    timestamp: str
    redirect: str | None
    model: str
    text: str


def cut_pages(chunks: Iterable[Chunk], source: str) -> Iterator[tuple[bytes, int]]:
    """Cut the pages of a range out of its bytes.

    Args:
        chunks: those of `dumps.read_range`.
        source: name of the file, for messages.

    Yields:
        The bytes from <page> to </page> of each page that begins in owned bytes, and its offset in the file: exact for
        plain files, approximate for compressed ones.

    Raises:
        Truncated: the data end inside a page.
        InputError: a page has no <page> or no </page>, or is longer than PAGE_LIMIT bytes.

    >>> from wikianchor.pipelines.wikimedia.dumps import Chunk
    >>> list(cut_pages([Chunk(b"<page>A</pa", 0, True, True), Chunk(b"ge>\\n", 11, True, True)], "a.xml"))
    [(b'<page>A</page>', 0)]
    """
    # A bytearray grows and loses its front in place: time is linear in a page that comes in many chunks.
    buffer, owned_to, searched, offset = bytearray(), 0, 0, 0
    # Where the page begins that has no end yet; -1 for none.
    start = -1
    # A range that is not the first may begin inside a page, so it may have one </page> without a <page>.
    ends_allowed: int | None = None
    for chunk in chunks:
        # The reader of the next range would take a page without <page> for the end of a page of this one. So this one
        # reads on to the next tag of a plain file, which is near.
        looks_on = chunk.exact and ends_allowed == 0
        if not chunk.owned and start < 0 and not looks_on and not _may_open(buffer, owned_to):
            return
        before = len(buffer)
        buffer += chunk.data
        if chunk.owned:
            owned_to = len(buffer)
        offset = chunk.offset + start - before if chunk.exact and start >= 0 else chunk.offset
        if ends_allowed is None:
            ends_allowed = 1 if chunk.offset else 0
        for tag in _TAG.finditer(buffer, searched):
            begin, searched = tag.span()
            if tag[0] == OPEN:
                if start >= 0:
                    raise InputError(f"{source}: a <page> near byte {offset} has no </page>: the XML is malformed")
                if begin >= owned_to:
                    return
                start, ends_allowed = begin, 0
                if chunk.exact:
                    offset = chunk.offset + start - before
            elif start >= 0:
                yield bytes(buffer[start:searched]), offset
                start = -1
            elif searched <= owned_to or not ends_allowed:
                if not ends_allowed:
                    raise InputError(f"{source}: a </page> near byte {offset} has no <page>: the XML is malformed")
                ends_allowed -= 1
        # The tail may contain the first bytes of a tag.
        searched = max(searched, len(buffer) - len(CLOSE) + 1)
        unused = start if start >= 0 else searched
        del buffer[:unused]
        start, searched, owned_to = min(start, 0), searched - unused, max(0, owned_to - unused)
        if len(buffer) > PAGE_LIMIT:
            raise InputError(
                f"{source}: a page near byte {offset} has no </page> within {PAGE_LIMIT >> 20} MB: the XML is malformed"
            )
    if start >= 0:
        if b"</mediawiki>" in buffer:
            raise InputError(f"{source}: a <page> near byte {offset} has no </page>: the XML is malformed")
        raise _cut_off(bytes(buffer), offset, source)


def _cut_off(page: bytes, offset: int, source: str) -> Truncated:
    """Return the error for data that end inside a page."""
    title = _between(page, b"<title>", b"</title>", 0, len(page))
    name = f" {unescape(title.decode('utf-8', 'replace'))!r}" if title else ""
    return Truncated(f"{source}: cut off inside the page{name} near byte {offset}: fetch it again")


def _may_open(buffer: bytearray, owned_to: int) -> bool:
    """Return whether owned bytes contain an unfinished page, or end inside the tag "<page>"."""
    if buffer.find(OPEN, 0, owned_to + len(OPEN) - 1) >= 0:
        return True
    tail = bytes(buffer[max(0, owned_to - len(OPEN) + 1) : owned_to])
    return any(OPEN.startswith(tail[-size:]) for size in range(1, len(tail) + 1))


# The first id in a page is the page id; those of its revision and author follow.
_ID = re.compile(rb"<id>\s*(\d+)")
# The database stores ids in 32 bits; a number that does not fit into 63 bits is damaged.
_NUMBER = re.compile(rb"-?[0-9]{1,18}")
_NUMERIC = re.compile("#(?:x([0-9A-Fa-f]{1,6})|([0-9]{1,7}))")
_NAMED = {"lt": "<", "gt": ">", "quot": '"', "apos": "'", "amp": "&"}


def unescape(text: str) -> str:
    """Undo XML escaping once; entities of the wikitext itself, which an export escapes as `&amp;nbsp;`, stay.

    >>> unescape("a &lt;br> b&amp;nbsp;c &#233;")
    'a <br> b&nbsp;c é'
    """
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
    """Return the namespace number of a page without decoding the page; None in exports before 0.5.

    Raises:
        InputError: <ns> is not a number.
    """
    value = _between(raw, b"<ns>", b"</ns>", 0, 2000)
    if value is None:
        return None
    if not _NUMBER.fullmatch(value):
        raise InputError(f"{where}: a page whose <ns> is no number: the XML is malformed")
    return int(value)


def page_id(raw: bytes) -> int | None:
    """Return the page id without decoding the page, None if it has none.

    >>> page_id(b"<page><title>A</title><id>7</id><revision><id>8</id>")
    7
    """
    match = _ID.search(raw)
    return int(match[1]) if match else None


def parse_page(raw: bytes, where: str) -> Page:
    """Parse one page; of several revisions take the newest (latest timestamp, then highest id).

    Args:
        raw: the bytes from <page> to </page>, as `cut_pages` yields them.
        where: file and offset, for messages.

    Raises:
        InputError: the page has no title or no id, a revision or a text lacks one of its tags, or it is not UTF-8.
    """
    revision = raw.find(b"<revision>")
    head_end = revision if revision >= 0 else len(raw)
    title = _between(raw, b"<title>", b"</title>", 0, head_end)
    number = _between(raw, b"<id>", b"</id>", 0, head_end)
    if not title or number is None or not _NUMBER.fullmatch(number):
        raise InputError(f"{where}: a page without a title or a numeric id: the XML is malformed")
    redirect = _redirect(raw, head_end)
    if revision < 0 and b"</revision>" in raw:
        raise InputError(f"{where}: a </revision> without a <revision>: the XML is malformed")
    start, end = _newest_revision(raw, revision)
    name = _decode(title, where)
    where_page = f"{where}: page {name!r}"
    rev_id = _between(raw, b"<id>", b"</id>", start, end) or b"0"
    return Page(
        title=unescape(name),
        namespace=page_namespace(raw, where),
        page_id=int(number),
        rev_id=int(rev_id) if _NUMBER.fullmatch(rev_id) else 0,
        timestamp=(_between(raw, b"<timestamp>", b"</timestamp>", start, end) or b"").decode("ascii", "replace"),
        redirect=None if redirect is None else unescape(_decode(redirect, where)),
        model=(_between(raw, b"<model>", b"</model>", start, end) or b"wikitext").decode("ascii", "replace"),
        text=unescape(_decode(_text(raw, start, end, where_page), where_page)),
    )


def page_element(page: Page) -> bytes:
    """Return the <page> element of a page, of which `parse_page` makes the page again.

    Characters that XML cannot carry are left out; half of a surrogate pair becomes a question mark.

    >>> page = Page("A & B", 0, 7, 8, "2026-01-01T00:00:00Z", 'C "c"', "wikitext", "x < &lt; y")
    >>> parse_page(page_element(page), "here") == page
    True
    """
    redirect = "" if page.redirect is None else f'<redirect title="{_escape(page.redirect)}" />'
    namespace = "" if page.namespace is None else f"<ns>{page.namespace}</ns>"
    element = (
        f"<page><title>{_escape(page.title)}</title>{namespace}<id>{page.page_id}</id>{redirect}<revision>"
        f"<id>{page.rev_id}</id><timestamp>{_escape(page.timestamp)}</timestamp><model>{_escape(page.model)}</model>"
        f"<text>{_escape(page.text)}</text></revision></page>"
    )
    return element.encode("utf-8", "replace").translate(None, CONTROLS)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _decode(raw: bytes, where: str) -> str:
    try:
        return raw.translate(None, CONTROLS).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8 (byte {raw[error.start]:#x} at {error.start}): mend the file") from None


def _redirect(raw: bytes, head_end: int) -> bytes | None:
    """Return the target of a redirect, b"" if the export does not name it, None for other pages."""
    begin = raw.find(b"<redirect", 0, head_end)
    if begin < 0:
        return None
    tag = raw[begin : raw.find(b">", begin)]
    return _between(tag, b'title="', b'"', 0, len(tag)) or b""


def _newest_revision(raw: bytes, first: int) -> tuple[int, int]:
    """Return where the newest revision begins and ends in the bytes of a page; the first begins at `first`."""
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
        if raw.find(b"</text>", start, end) >= 0:
            raise InputError(f"{where} has a </text> without a <text>: the XML is malformed")
        return b""
    content = raw.find(b">", begin, end) + 1
    if content and raw[content - 2 : content] == b"/>":
        return b""
    stop = raw.find(b"</text>", content, end)
    if not content or stop < 0:
        raise InputError(f"{where} has a <text> without an end: the XML is malformed")
    return raw[content:stop]
