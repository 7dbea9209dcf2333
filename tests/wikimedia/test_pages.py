"""Pages out of an XML export: cut at any place, of every version, and broken in every way."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, pairwise
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dumps import END, VERSIONS, export, head, page, revision
from wikianchor.io.errors import InputError, Truncated
from wikianchor.pipelines.wikimedia.dumps import Chunk
from wikianchor.pipelines.wikimedia.pages import cut_pages, page_namespace, parse_page, unescape

PAGES = [page("A", 1, "one"), page("B", 2, "x" * 50), page("C", 3, None), page("D", 4, "")]
DUMP = export(PAGES)
INNER = [raw.strip() for raw in PAGES]


def chunked(data: bytes, cuts: list[int], owned_from: int, owned_to: int) -> Iterator[Chunk]:
    """Chunks of data from `owned_from` on; those that begin before `owned_to` are owned."""
    places = sorted({owned_from, owned_to, len(data), *(cut for cut in cuts if owned_from < cut < len(data))})
    for first, last in pairwise(places):
        yield Chunk(data[first:last], first, first < owned_to, True)


@settings(max_examples=settings().max_examples * 3 // 2)
@given(
    cuts=st.lists(st.integers(0, len(DUMP)), max_size=30),
    bounds=st.lists(st.integers(0, len(DUMP)), max_size=6),
)
def test_each_page_comes_once_whatever_the_chunks_and_the_owners(cuts: list[int], bounds: list[int]) -> None:
    bounds = sorted({0, *bounds, len(DUMP)})
    pages_read = []
    for first, last in pairwise(bounds):
        for raw, offset in cut_pages(chunked(DUMP, cuts, first, last), "dump"):
            assert DUMP[offset : offset + len(raw)] == raw
            assert first <= offset < last
            pages_read.append(raw)
    assert pages_read == INNER


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_page_that_does_not_end_is_named(size: int) -> None:
    cut = DUMP[: DUMP.index(b"x" * 50) + 20]
    chunks = [Chunk(cut[at : at + size], 0, True) for at in range(0, len(cut), size)]
    pages_read = []
    with pytest.raises(Truncated, match="dump: cut off inside the page 'B' near byte 0: fetch it again"):
        pages_read.extend(cut_pages(chunks, "dump"))
    assert len(pages_read) <= 1


@pytest.mark.parametrize("size", [1, 7, 1000, 10_000])
def test_a_lost_tag_is_an_error_and_not_a_lost_page(size: int) -> None:
    for tag, number in ((b"<page>", 2), (b"</page>", 2), (b"<page>", 0), (b"</page>", 3), (b"<page>", 3)):
        parts = DUMP.split(tag)
        broken = tag.join(parts[: number + 1]) + b"<pagf>" + tag.join(parts[number + 1 :])
        chunks = [Chunk(broken[at : at + size], at, True, True) for at in range(0, len(broken), size)]
        with pytest.raises(InputError, match=r"dump.* byte \d+"):
            list(cut_pages(chunks, "dump"))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_lost_tag_is_an_error_wherever_a_range_ends(size: int) -> None:
    broken = DUMP.replace(b"<page>", b"<pagf>", 3).replace(b"<pagf>", b"<page>", 2)
    cuts = [*range(0, len(broken), size)]
    for bound in range(1, len(broken), max(1, 16 // size)):
        ranges = [chunked(broken, cuts, 0, bound), chunked(broken, cuts, bound, len(broken))]
        with pytest.raises(InputError, match=r"dump: a </page> near byte \d+ has no <page>"):
            list(chain.from_iterable(cut_pages(chunks, "dump") for chunks in ranges))


# --- one page ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_of_the_format(version: str) -> None:
    text = 'Café & <b>[[Mond|moon]]</b> "q" &nbsp; {{x}}\nline'
    raw = page("AT&T <x>", 12, text, version=version).strip()
    pages_read = parse_page(raw, "dump")
    assert pages_read == (
        "AT&T <x>", None if version in ("0.3", "0.4") else 0, 12, 1012, "2025-01-01T00:00:00Z", None, "wikitext", text
    )  # fmt: skip
    redirect = parse_page(page("R", 13, redirect='Q "1" & 2', version=version).strip(), "dump")
    expected = {"0.3": None, "0.4": "", "0.5": ""}.get(version, 'Q "1" & 2')
    assert redirect.redirect == expected
    assert redirect.text == '#REDIRECT [[Q "1" & 2]]'


def test_of_several_revisions_the_newest_counts_wherever_it_stands() -> None:
    old, new, same = (
        revision("old", 9, "2004-01-01T00:00:00Z"),
        revision("new", 5, "2020-01-01T00:00:00Z"),
        revision("newest", 6, "2020-01-01T00:00:00Z"),
    )
    for order in ((old, new, same), (same, new, old), (new, same, old)):
        pages_read = parse_page(page("A", 1, revisions=order), "dump")
        assert (pages_read.text, pages_read.rev_id) == ("newest", 6)


def test_empty_and_deleted_texts_and_pages_without_a_revision_are_empty() -> None:
    assert parse_page(page("A", 1, ""), "dump").text == ""
    assert parse_page(page("A", 1, None), "dump").text == ""
    assert parse_page(b"<page><title>A</title><ns>0</ns><id>1</id></page>", "dump").text == ""
    assert parse_page(page("A", 1, revisions=["<revision><id>2</id></revision>"]), "dump").text == ""
    assert parse_page(page("A", 1, "x").replace(b">x</text>", b"></text>"), "dump").text == ""


def test_control_characters_cannot_come_in() -> None:
    raw = page("A\x01", 1, "a\x02b\x0cc\r\nd\te&#1;&#xD800;&#x110000;&#x41;".replace("&", "\x00"))
    pages_read = parse_page(raw.replace(b"\x00", b"&"), "dump")
    assert pages_read.title == "A"
    assert pages_read.text == "abc\nd\te���A"


BROKEN = {
    "no title": (page("A", 1).replace(b"<title>A</title>", b""), "without a title or a numeric id"),
    "no <revision>": (page("A", 1, "x").replace(b"<revision>", b"<revision*"), "a </revision> without a <revision>"),
    "no <text>": (page("A", 1, "x").replace(b"<text", b"<tex*"), "'A' has a </text> without a <text>"),
    "empty title": (page("A", 1).replace(b">A<", b"><"), "without a title or a numeric id"),
    "no id": (page("A", 1).replace(b"<id>1</id>", b""), "without a title or a numeric id"),
    "id": (page("A", 1).replace(b"<id>1</id>", b"<id>one</id>"), "without a title or a numeric id"),
    "long id": (page("A", 1).replace(b"<id>1</id>", b"<id>" + b"9" * 30 + b"</id>"), "without a title or a numeric id"),
    "ns": (page("A", 1).replace(b"<ns>0</ns>", b"<ns>main</ns>"), "<ns> is no number"),
    "text": (page("A", 1, "x").replace(b"</text>", b""), "page 'A' has a <text> without an end"),
    "utf-8": (page("A", 1, "xy").replace(b"xy", b"x\xff"), r"page 'A' is not UTF-8 \(byte 0xff at 1\)"),
    "utf-8 title": (page("A", 1).replace(b"A", b"\xe4"), r"is not UTF-8 \(byte 0xe4 at 0\)"),
    "latin-1": (page("A", 1, "xy").replace(b"xy", "grün".encode("latin-1")), "page 'A' is not UTF-8"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_page_is_named(name: str) -> None:
    raw, said = BROKEN[name]
    with pytest.raises(InputError, match=f"^dump near byte 7:? .*{said}"):
        parse_page(raw.strip(), "dump near byte 7")


def test_a_namespace_is_read_without_the_page() -> None:
    assert page_namespace(page("Talk:A", 1, namespace=1), "dump") == 1
    assert page_namespace(page("Media:A", 1, namespace=-2), "dump") == -2
    assert page_namespace(page("A", 1, version="0.3"), "dump") is None


@given(st.text())
def test_unescape_undoes_escape(text: str) -> None:
    assert unescape(escape(text, {'"': "&quot;", "'": "&apos;"})) == text


@settings(max_examples=settings().max_examples * 3 // 2)
@given(st.data())
def test_damage_anywhere_gives_pages_or_an_input_error(data: st.DataObject) -> None:
    broken = bytearray(DUMP)
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(broken) - 1))
        broken[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=6))
    with suppress(InputError):
        for raw, _ in cut_pages([Chunk(bytes(broken), 0, True)], "dump"):
            parse_page(raw, "dump")


def test_the_head_and_the_end_hold_no_page() -> None:
    assert list(cut_pages([Chunk(head() + END, 0, True)], "dump")) == []
