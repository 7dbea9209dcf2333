"""Write dumps of any size from real ones, and stand-ins for Wikidata that know their titles.

`write_dump` takes pages as they are, and copies of them under new titles and ids: a link of a copy leads to the copy of
its target or to the original, by a hash of page and target. `write_items` gives each article an item with a sitelink
and a type; few types have most items. The same inputs and options give the same bytes.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import itertools
import json
import re
import shutil
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import escape, quoteattr

from wikianchor.io.errors import Truncated
from wikianchor.io.storage import file_size
from wikianchor.pipelines.dataset.manifest import commit
from wikianchor.pipelines.dataset.part_writer import Part
from wikianchor.pipelines.dataset.workspace import UNFINISHED
from wikianchor.pipelines.wikimedia.dumps import Range, read_head, read_range
from wikianchor.pipelines.wikimedia.pages import Page, cut_pages, parse_page
from wikianchor.pipelines.wikimedia.site import Site, site_from_header
from wikianchor.pipelines.wikimedia.titles import parse_target

PAGES_PER_STREAM = 100
MEMBER_BYTES = 8 << 20
_TARGET = re.compile(r"(?<=\[\[)([^\[\]{}|<>\n#]+)(?=(\||#|\]\])?)")
_MIX = 0x9E3779B97F4A7C15
_QUARTER = 1 << 62
FIRST_ITEM, FIRST_TYPE = 1_000_000, 900_000
HUMAN, OCCUPATIONS, TYPES = 5, 40, 400
# Letters of the languages that a well-known item has labels in.
LABELS = ("en", "de", "fr", "es", "ru", "ja", "zh", "ar", "uk", "el", "bn", "hi", "ko", "pl", "pt", "tr", "vi", "fa")


def parts_of(output: Path) -> str:
    """Return where the parts of a dataset are written that `finish` is to commit."""
    return f"{output}/{UNFINISHED}/made"


def finish(output: Path, parts: Iterable[Part | None], head: Mapping[str, object]) -> None:
    """Commit a dataset that was made without a stage."""
    commit(str(output), parts_of(output), [part for part in parts if part is not None], head)
    shutil.rmtree(f"{output}/{UNFINISHED}")


def key_of(*parts: object) -> int:
    """Return a hash of 64 bits of the parts: what stands where other programs draw random numbers."""
    return int.from_bytes(hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest(), "big")


@dataclass(frozen=True)
class Source:
    """Real pages of one wiki: the head of its dump down to </siteinfo>, and its pages, each title and each id once."""

    head: str
    site: Site
    pages: list[Page]


def read_pages(path: str) -> Iterator[Page]:
    """Yield the pages of a dump, of a cut-off one as far as it goes."""
    chunks = read_range(Range(path, 0, file_size(path), True))
    try:
        for raw, _ in cut_pages(chunks, path):
            yield parse_page(raw, path)
    except Truncated:
        return


def read_source(paths: Sequence[str], wiki: str | None = None) -> Source:
    """Read dumps of one wiki."""
    head = read_head(paths[0]).decode("utf-8", "replace").partition("</siteinfo>")[0]
    site = site_from_header(head + "</siteinfo>", wiki, paths[0])
    pages: dict[str, Page] = {}
    for page in itertools.chain.from_iterable(map(read_pages, paths)):
        if page.namespace is None:
            target = parse_target(page.title, site)
            page = page._replace(namespace=target.namespace if target else 0)
        if page.redirect == "":
            # Older exports mark a redirect and do not say where it leads.
            match = _TARGET.search(page.text)
            page = page._replace(redirect=match[1].strip() if match else None)
        # Dumps of several years hold a page more than once, some under another title.
        pages.setdefault(page.title, page)
    by_id = {page.page_id: page for page in pages.values()}
    return Source(f"{head}</siteinfo>\n", site, [page for _, page in sorted(by_id.items())])


class Copier:
    """Makes pages under new titles and ids out of real ones. A link is cut out of its page once, not for each copy.

    Args:
        source: the real pages.
        stubs: a page for every link target that has none.
        seed: of what links lead to.
        closed: every link leads to one of the pages instead, those with one target to the same, so that no link is red
            and some pages have many, as in a whole wiki.
    """

    def __init__(self, source: Source, stubs: bool = False, seed: str = "", closed: bool = False) -> None:
        self._source, self._stubs = source, stubs
        self._ends = [page.title for page in source.pages if not page.namespace and page.redirect is None]
        self._closed = closed
        last = max(page.page_id for page in source.pages)
        self._span = 10 ** len(str(2 * last + len(source.pages) * 1000))
        self._article = lru_cache(maxsize=None)(self._article_of)
        self._seed = seed
        self._cut = [self._pieces(page) for page in source.pages]

    def _article_of(self, target: str) -> str | None:
        """Return the title of the article that a link leads to, None where it leads to none."""
        found = parse_target(target, self._source.site)
        return found.title if found and found.title and not found.namespace and not found.interwiki else None

    def _pieces(self, page: Page) -> tuple[list[str], list[tuple[str, int, str]]]:
        """Return the text between link targets, and for each the target, a hash, and what the link has to show where it
        has no label, else ""."""
        pieces, links, position = [], [], 0
        for match in _TARGET.finditer(page.text):
            title = self._article(match[1])
            if title is None:
                continue
            pieces.append(escape(page.text[position : match.start()]))
            target = match[1].strip()
            shown = target if match[2] == "]]" else ""
            if self._closed:
                target = self._ends[key_of(self._seed, title) % len(self._ends)]
            links.append((target, key_of(self._seed, page.page_id, title), shown))
            position = match.end()
        pieces.append(escape(page.text[position:]))
        return pieces, links

    def copy(self, number: int) -> Iterator[tuple[int, str, str]]:
        """Yield (page id, title, XML) of each page of a copy; 0 are the pages as they are."""
        suffix = f" ({number})" if number else ""
        linked: dict[str, None] = {}
        for page, (pieces, links) in zip(self._source.pages, self._cut, strict=True):
            parts = [pieces[0]]
            for (target, key, shown), piece in zip(links, pieces[1:], strict=True):
                own = number and ((key ^ number) * _MIX & 0xFFFFFFFFFFFFFFFF) < _QUARTER
                end = target + suffix if own else target
                parts.append(escape(f"{end}|{shown}" if shown not in ("", end) else end))
                if self._stubs and (own or not number):
                    linked[self._article(target) or ""] = None
                parts.append(piece)
            yield self._page(page, number, suffix, "".join(parts))
        if self._stubs:
            for place, title in enumerate(title for title in linked if title not in self._titles()):
                name = title + suffix
                stub = Page(name, 0, self._span // 2 + place, self._span // 2 + place, "", None, "wikitext", "")
                yield self._page(stub, number, "", escape(f"'''{name}''' is an article that others link to."))

    @lru_cache(maxsize=1)  # noqa: B019 one Copier a process
    def _titles(self) -> frozenset[str]:
        return frozenset(page.title for page in self._source.pages)

    def _page(self, page: Page, number: int, suffix: str, text: str) -> tuple[int, str, str]:
        page_id, title = page.page_id + number * self._span, page.title + suffix
        redirect = ""
        if page.redirect is not None:
            name, hash_sign, fragment = page.redirect.partition("#")
            redirect = f"    <redirect title={quoteattr(name + suffix + hash_sign + fragment)} />\n"
        return (
            page_id,
            title,
            f"  <page>\n    <title>{escape(title)}</title>\n    <ns>{page.namespace}</ns>\n    <id>{page_id}</id>\n"
            f"{redirect}    <revision>\n      <id>{page.rev_id + number * self._span}</id>\n"
            f"      <timestamp>{page.timestamp or '2025-01-01T00:00:00Z'}</timestamp>\n"
            f"      <contributor>\n        <username>Someone</username>\n        <id>1</id>\n      </contributor>\n"
            f"      <model>{page.model or 'wikitext'}</model>\n      <format>text/x-wiki</format>\n"
            f'      <text bytes="{len(text)}" xml:space="preserve">{text}</text>\n    </revision>\n  </page>\n',
        )


def write_dump(
    source: Source,
    output: Path,
    times: int = 1,
    pages: int = 0,
    megabytes: float = 0,
    stubs: bool = False,
    closed: bool = False,
) -> int:
    """Write pages and copies of them as a dump.

    Args:
        source: real pages.
        output: .xml.bz2 (multistream, with an index beside it), .xml.gz or .xml.
        times: copies, the originals among them.
        pages, megabytes: where given, as many copies as it takes for so many pages or MB of XML.
        stubs: add a page of a sentence for every link target that has none, so that no link is red.
        closed: lead every link to one of the pages.

    Returns:
        The number of pages.
    """
    copier = Copier(source, stubs, closed=closed)
    written, size = 0, 0
    output.parent.mkdir(parents=True, exist_ok=True)
    with closing(_Pages(output)) as file:
        file.add(source.head.encode(), None)
        for number in itertools.count():
            if not (pages or megabytes) and number == times:
                break
            if (pages and written >= pages) or (megabytes and size >= megabytes * 1e6):
                break
            for page_id, title, text in copier.copy(number):
                if pages and written == pages:
                    break
                data = text.encode()
                file.add(data, f"{page_id}:{title}")
                written, size = written + 1, size + len(data)
        file.finish()
    return written


class _Pages:
    """A dump that is being written: in a .bz2, the head, every hundred pages and the foot are streams of their own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO = _open(path) if path.suffix != ".bz2" else path.open("wb")
        self._waiting: list[bytes] = []
        self._names: list[str] = []
        self._index: list[str] = []

    def add(self, data: bytes, name: str | None) -> None:
        """Add a page under its name in the index, or the head without one."""
        self._waiting.append(data)
        if name is not None:
            self._names.append(name)
        if name is None or len(self._names) == PAGES_PER_STREAM:
            self._flush()

    def _flush(self) -> None:
        data = b"".join(self._waiting)
        if data and self._path.suffix == ".bz2":
            self._index += [f"{self._file.tell()}:{name}\n" for name in self._names]
            data = bz2.compress(data)
        self._file.write(data)
        self._waiting, self._names = [], []

    def finish(self) -> None:
        """Write what waits, the foot and the index."""
        self._flush()
        self.add(b"</mediawiki>\n", None)
        if self._path.suffix == ".bz2":
            name = self._path.name.removesuffix(".bz2").removesuffix(".xml")
            self._path.with_name(f"{name}-index.txt.bz2").write_bytes(bz2.compress("".join(self._index).encode()))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return gzip.GzipFile(path, "wb", compresslevel=6, mtime=0)  # type: ignore[return-value]
    if path.suffix == ".bz2":
        return bz2.BZ2File(path, "wb")  # type: ignore[return-value]
    return path.open("wb")


class Types:
    """Types and occupations for items by a skewed draw: the n-th type has a share in proportion to 1/n.

    Args:
        dominant: share of the items that one type holds, 0 for none beyond its turn.
    """

    def __init__(self, dominant: float = 0) -> None:
        weights = list(itertools.accumulate(1 / rank for rank in range(1, TYPES + 1)))
        self._bounds = [weight / weights[-1] for weight in weights]
        self._dominant = dominant

    def of(self, title: str) -> tuple[int, int | None]:
        """Return the type of an item and, for a human, an occupation."""
        key = key_of("type", title)
        share = (key >> 11) / (1 << 53)
        if share < self._dominant:
            return FIRST_TYPE, None
        if self._dominant:
            share = (share - self._dominant) / (1 - self._dominant)
        rank = bisect_right(self._bounds, share)
        # The most frequent type of Wikipedia's items is "human".
        if rank == 0 and not self._dominant:
            return HUMAN, FIRST_TYPE + TYPES + key % OCCUPATIONS
        return FIRST_TYPE + rank, None


def articles(paths: Sequence[str], wiki: str | None = None) -> Iterator[tuple[str, str, int]]:
    """Yield (wiki, title, page id) for each article of the dumps that is no redirect."""
    for path in paths:
        head = read_head(path).decode("utf-8", "replace")
        site = site_from_header(head, wiki, path)
        for page in read_pages(path):
            if not page.namespace and page.redirect is None:
                yield site.wiki, page.title, page.page_id


def items_of(found: Iterable[tuple[str, str, int]]) -> Iterator[tuple[int, list[tuple[str, str, int]]]]:
    """Yield (number of an item, its pages): articles of one title in several wikis are one item."""
    by_title: dict[str, list[tuple[str, str, int]]] = {}
    for one in found:
        by_title.setdefault(one[1], []).append(one)
    return ((FIRST_ITEM + place, pages) for place, pages in enumerate(by_title.values()))


def item_line(qid: int, title: str, sitelinks: Sequence[tuple[str, str]], types: Types, line_bytes: int = 0) -> bytes:
    """Return the line of an item.

    Args:
        qid: its number.
        title: its label.
        sitelinks: (wiki, title) of its pages.
        types: what type it gets.
        line_bytes: filled with labels, claims and references of other properties up to this size, as real ones are.
    """
    kind, occupation = types.of(title)
    claims = {"P31": [_claim(qid, 31, kind)]}
    if occupation:
        claims["P106"] = [_claim(qid, 106, occupation)]
    labels = {language: {"language": language, "value": title} for language in (LABELS if line_bytes else ("en",))}
    links = {wiki: {"site": wiki, "title": name, "badges": []} for wiki, name in sitelinks}
    if line_bytes:
        hashes = hashlib.shake_128(str(qid).encode()).hexdigest(line_bytes // 8)
        size = 400 + 120 * len(labels) + sum(len(name) for _, name in sitelinks)
        for number in range(max(0, line_bytes - size) // 860):
            claims[f"P{1000 + number}"] = [_claim(qid, 1000 + number, qid + number, hashes[number * 100 :])]
    entity = {
        "type": "item",
        "id": f"Q{qid}",
        "labels": labels,
        "descriptions": {name: {"language": name, "value": f"about {title}"} for name in labels} if line_bytes else {},
        "aliases": {},
        "claims": claims,
        "sitelinks": links,
        "lastrevid": qid,
    }
    return json.dumps(entity, ensure_ascii=line_bytes > 0, separators=(",", ":")).encode()


def _claim(qid: int, number: int, value: int, hashes: str = "") -> dict[str, object]:
    statement: dict[str, object] = {
        "mainsnak": _snak(number, value, hashes[:40]),
        "type": "statement",
        "id": f"Q{qid}${hashes[:8] or 'f00d'}-{number}",
        "rank": "normal",
    }
    if hashes:
        snaks = {f"P{place}": [_snak(place, value + place, hashes[40:80])] for place in (248, 813)}
        statement["references"] = [{"hash": hashes[80:120], "snaks": snaks, "snaks-order": list(snaks)}]
    return statement


def _snak(number: int, value: int, digest: str) -> dict[str, object]:
    return {
        "snaktype": "value",
        "property": f"P{number}",
        **({"hash": digest} if digest else {}),
        "datavalue": {
            "value": {"entity-type": "item", "numeric-id": value, "id": f"Q{value}"},
            "type": "wikibase-entityid",
        },
        "datatype": "wikibase-item",
    }


def type_lines() -> Iterator[bytes]:
    """Yield the items that are types themselves: subclasses of a hundred others."""
    for place in range(TYPES + OCCUPATIONS):
        qid = FIRST_TYPE + place
        entity = {
            "type": "item",
            "id": f"Q{qid}",
            "labels": {"en": {"language": "en", "value": f"type {place}"}},
            "claims": {"P279": [_claim(qid, 279, FIRST_TYPE + 10_000 + place % 100)]},
            "sitelinks": {"enwiki": {"site": "enwiki", "title": f"Type {place} (benchmark)", "badges": []}},
        }
        yield json.dumps(entity, separators=(",", ":")).encode()


def write_items(
    items: Iterable[tuple[int, list[tuple[str, str, int]]]],
    output: Path,
    dominant: float = 0,
    line_bytes: int = 0,
    others: float = 0,
) -> int:
    """Write a stand-in of Wikidata's JSON dump.

    Args:
        items: what `items_of` gives.
        output: .json.gz (members of 8 MB, as the real file), .json.bz2 or .json.
        dominant: share of the items that one type holds.
        line_bytes: size of a line, about; 0 for the shortest.
        others: items without a page in these wikis for each with one; most of Wikidata is such.

    Returns:
        The number of lines.
    """
    types = Types(dominant)

    def lines() -> Iterator[bytes]:
        yield from type_lines()
        owed = 0.0
        for qid, pages in items:
            title = pages[0][1]
            yield item_line(qid, title, [(wiki, name) for wiki, name, _ in pages], types, line_bytes)
            owed += others
            while owed >= 1:
                owed -= 1
                number = qid * 10 + int(owed) + 50_000_000
                yield item_line(number, f"{title} {number}", [], types, line_bytes)

    output.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with closing(_Members(output)) as file:
        file.write(b"[\n")
        for line in lines():
            file.write(b",\n" + line if written else line)
            written += 1
        file.write(b"\n]\n")
    return written


class _Members:
    """A file that is being written; a .gz in members, each of which is a gzip file of its own."""

    def __init__(self, path: Path) -> None:
        self._members = path.suffix == ".gz"
        self._file: BinaryIO = path.open("wb") if self._members else _open(path)
        self._waiting: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Add bytes."""
        self._waiting.append(data)
        self._size += len(data)
        if self._size >= MEMBER_BYTES:
            self._flush()

    def _flush(self) -> None:
        data = b"".join(self._waiting)
        if self._members:
            packer = zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
            data = packer.compress(data) + packer.flush()
        self._file.write(data)
        self._waiting, self._size = [], 0

    def close(self) -> None:
        """Write what waits and close the file."""
        self._flush()
        self._file.close()
