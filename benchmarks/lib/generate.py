"""Write dumps of any size from real ones, and stand-ins for Wikidata that know their titles.

`write_dump` takes pages as they are, and copies of them under new titles and ids: a link of a copy leads to the copy of
its target or to the original, by a hash of page and target. `write_items` gives each article an item with a sitelink
and a type; few types have most items. The same inputs and options give the same bytes.
"""

import bz2
import gzip
import hashlib
import itertools
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from wikianchor.io.errors import Truncated
from wikianchor.pipelines.wikimedia.dumps import read_head, read_range, whole_file
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
_WEIGHTS = list(itertools.accumulate(1 / rank for rank in range(1, TYPES + 1)))
# Shares of the first types together.
_BOUNDS = [weight / _WEIGHTS[-1] for weight in _WEIGHTS]
# Languages of the labels of a well-known item.
LABELS = ("en", "de", "fr", "es", "ru", "ja", "zh", "ar", "uk", "el", "bn", "hi", "ko", "pl", "pt", "tr", "vi", "fa")


def kept(path: Path, write: Callable[[Path], object]) -> Path:
    """Return a file, which is written under another name unless it exists."""
    if not path.exists():
        unfinished = path.with_name(f"unfinished-{path.name}")
        write(unfinished)
        unfinished.rename(path)
    return path


def key_of(*parts: object) -> int:
    """Return a hash of 64 bits of the parts, in place of random numbers."""
    return int.from_bytes(hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest(), "big")


@dataclass(frozen=True)
class Source:
    """Real pages of one wiki: the head of its dump down to </siteinfo>, and its pages, each title and each id once."""

    head: str
    site: Site
    pages: list[Page]


def read_pages(path: str) -> Iterator[Page]:
    """Yield the pages of a dump; of a truncated one its complete pages."""
    with suppress(Truncated):
        for raw, _ in cut_pages(read_range(whole_file(path)), path):
            yield parse_page(raw, path)


def read_source(paths: Sequence[str]) -> Source:
    """Read dumps of one wiki."""
    head = read_head(paths[0]).decode("utf-8", "replace").partition("</siteinfo>")[0]
    site = site_from_header(head + "</siteinfo>", None, paths[0])
    pages: dict[str, Page] = {}
    for page in itertools.chain.from_iterable(map(read_pages, paths)):
        if page.namespace is None:
            page = page._replace(namespace=getattr(parse_target(page.title, site), "namespace", 0))
        # Dumps of several years hold a page more than once, some under another title.
        pages.setdefault(page.title, page)
    by_id = {page.page_id: page for page in pages.values()}
    return Source(f"{head}</siteinfo>\n", site, [page for _, page in sorted(by_id.items())])


class Copier:
    """Makes pages under new titles and ids out of real ones. A page is cut at its links once, not for each copy.

    Args:
        source: the real pages.
        stubs: make a page for every link target that has none.
        closed: lead every link to one of the pages instead, those with one target to the same page, so that no link is
            red and some pages have many, as in a whole wiki.
        distinct: put a word of the copy before every link, so that no two copies have a sentence with a link in common.
    """

    def __init__(self, source: Source, *, stubs: bool = False, closed: bool = False, distinct: bool = False) -> None:
        self._source, self._stubs, self._closed, self._distinct = source, stubs, closed, distinct
        self._articles = [page.title for page in source.pages if not page.namespace and page.redirect is None]
        self._titles = {page.title for page in source.pages}
        last = max(page.page_id for page in source.pages)
        self._span = 10 ** len(str(2 * last + len(source.pages) * 1000))
        self._article = lru_cache(maxsize=None)(self._article_of)
        self._cut = [self._pieces(page) for page in source.pages]

    def _article_of(self, target: str) -> str | None:
        """Return the title of the article that a link leads to, or None."""
        title = parse_target(target, self._source.site)
        return title.title if title and title.title and not title.namespace and not title.interwiki else None

    def _pieces(self, page: Page) -> tuple[list[str], list[tuple[str, int, str]]]:
        """Return the text between link targets, and of each link its target, a hash, and its label where that is the
        target, else ""."""
        pieces, links, position = [], [], 0
        for match in _TARGET.finditer(page.text):
            if (title := self._article(match[1])) is not None:
                pieces.append(escape(page.text[position : match.start()]))
                target = match[1].strip()
                end = self._articles[key_of("", title) % len(self._articles)] if self._closed else target
                links.append((end, key_of("", page.page_id, title), target if match[2] == "]]" else ""))
                position = match.end()
        pieces.append(escape(page.text[position:]))
        return pieces, links

    def copy(self, number: int) -> Iterator[bytes]:
        """Yield the XML of each page of a copy; 0 are the pages as they are."""
        suffix = f" ({number})" if number else ""
        # In letters: `pairs` takes sentences that differ in digits for duplicates.
        word = "".join("abcdefghij"[int(digit)] for digit in str(number)) if self._distinct and number else ""
        linked: dict[str, None] = {}
        for page, (pieces, links) in zip(self._source.pages, self._cut, strict=True):
            if word:
                pieces = [*(f"{piece.removesuffix('[[')}{word} [[" for piece in pieces[:-1]), pieces[-1]]
            parts = [pieces[0]]
            for (target, key, label), piece in zip(links, pieces[1:], strict=True):
                # A quarter of the links of a copy lead to the copy of their target.
                within = number and ((key ^ number) * _MIX & 0xFFFFFFFFFFFFFFFF) < _QUARTER
                end = target + suffix if within else target
                parts += [escape(f"{end}|{label}" if label not in ("", end) else end), piece]
                if self._stubs and (within or not number):
                    linked[self._article(target) or ""] = None
            yield self._page(page, number, suffix, "".join(parts))
        for order, title in enumerate(title for title in linked if title not in self._titles):
            page_id = self._span // 2 + order
            ids = {"page_id": page_id, "rev_id": page_id, "timestamp": ""}
            stub = Page(title=title + suffix, namespace=0, redirect=None, model="wikitext", text="", **ids)
            yield self._page(stub, number, "", escape(f"'''{stub.title}''' is an article that others link to."))

    def _page(self, page: Page, number: int, suffix: str, text: str) -> bytes:
        redirect = ""
        if page.redirect is not None:
            name, hash_sign, fragment = page.redirect.partition("#")
            redirect = f"    <redirect title={quoteattr(name + suffix + hash_sign + fragment)} />\n"
        return (
            f"  <page>\n    <title>{escape(page.title + suffix)}</title>\n    <ns>{page.namespace}</ns>\n"
            f"    <id>{page.page_id + number * self._span}</id>\n"
            f"{redirect}    <revision>\n      <id>{page.rev_id + number * self._span}</id>\n"
            f"      <timestamp>{page.timestamp or '2025-01-01T00:00:00Z'}</timestamp>\n"
            f"      <contributor>\n        <username>Someone</username>\n        <id>1</id>\n      </contributor>\n"
            f"      <model>{page.model or 'wikitext'}</model>\n      <format>text/x-wiki</format>\n"
            f'      <text bytes="{len(text)}" xml:space="preserve">{text}</text>\n    </revision>\n  </page>\n'
        ).encode()


def write_dump(source: Source, output: Path, *, pages: int = 0, megabytes: float = 0, **copies_are: bool) -> None:
    """Write pages and copies of them as a dump.

    Args:
        source: real pages.
        output: .xml.bz2 (multistream) or .xml.
        pages, megabytes: so many pages, or whole copies up to so many MB of XML; without either the pages alone.
        copies_are: options of `Copier`.
    """
    copier = Copier(source, **copies_are)

    def chunks() -> Iterator[bytes]:
        yield source.head.encode()
        count = size = 0
        for number in itertools.count():
            copy = itertools.islice(copier.copy(number), pages - count if pages else None)
            while chunk := list(itertools.islice(copy, PAGES_PER_STREAM)):
                count, size = count + len(chunk), size + sum(map(len, chunk))
                yield b"".join(chunk)
            if count >= pages if pages else size >= megabytes * 1e6:
                break
        yield b"</mediawiki>\n"

    write_packed(output, chunks())


def write_packed(path: Path, chunks: Iterable[bytes]) -> None:
    """Write chunks of bytes; in a .bz2 each is a stream, in a .gz a member of its own, as in Wikimedia's files."""
    packers: dict[str, Callable[[bytes], bytes]] = {
        ".bz2": bz2.compress,
        ".gz": lambda data: gzip.compress(data, 6, mtime=0),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.writelines(map(packers.get(path.suffix, bytes), chunks))


def type_of(title: str, dominant: float) -> tuple[int, int | None]:
    """Return the type of an item and, for a human, an occupation, by Zipf's law: the n-th type has a share like 1/n.

    Args:
        title: a page of the item.
        dominant: share of the items that one type holds, 0 for the skewed distribution alone.
    """
    key = key_of("type", title)
    share = (key >> 11) / (1 << 53)
    if share < dominant:
        return FIRST_TYPE, None
    rank = bisect_right(_BOUNDS, (share - dominant) / (1 - dominant))
    # The most frequent type of Wikipedia's items is "human".
    if rank == 0 and not dominant:
        return HUMAN, FIRST_TYPE + TYPES + key % OCCUPATIONS
    return FIRST_TYPE + rank, None


def article_titles(path: str) -> Iterator[str]:
    """Yield the titles of the articles of a dump, without redirects."""
    return (page.title for page in read_pages(path) if not page.namespace and page.redirect is None)


def item_line(qid: int, wiki: str, title: str, dominant: float, line_bytes: int) -> bytes:
    """Return the line of an item.

    Args:
        qid: its number.
        wiki: the wiki of its page.
        title: its label, and the title of its page.
        dominant: share of the items that one type holds.
        line_bytes: size of the line, which is filled with labels, claims and references of other properties.
    """
    kind, occupation = type_of(title, dominant)
    claims = {"P31": [_claim(qid, 31, kind)]}
    if occupation:
        claims["P106"] = [_claim(qid, 106, occupation)]
    labels = {language: {"language": language, "value": title} for language in (LABELS if line_bytes else ("en",))}
    if line_bytes:
        size = 400 + 120 * len(labels) + len(title)
        for number in range(1000, 1000 + max(0, line_bytes - size) // 990):
            hashes = hashlib.shake_128(f"{qid} {number}".encode()).hexdigest(120)
            claims[f"P{number}"] = [_claim(qid, number, int(hashes[-6:], 16), hashes)]
    about = {name: hashlib.shake_128(f"{qid} {name}".encode()).hexdigest(12) for name in (labels if line_bytes else ())}
    entity = {
        "type": "item",
        "id": f"Q{qid}",
        "labels": labels,
        "descriptions": {name: {"language": name, "value": value} for name, value in about.items()},
        "aliases": {},
        "claims": claims,
        "sitelinks": {wiki: {"site": wiki, "title": title, "badges": []}},
        "lastrevid": qid,
    }
    return json.dumps(entity, ensure_ascii=line_bytes > 0, separators=(",", ":")).encode()


def _claim(qid: int, number: int, value: int, hashes: str = "") -> dict[str, object]:
    """Return a statement. Hashes, as long as Wikidata's, are what does not compress."""
    unique = "-".join(hashes[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
    snaks = {f"P{other}": [_snak(other, 5, hashes[start : start + 40])] for other, start in ((248, 72), (813, 112))}
    references = [{"hash": hashes[152:192], "snaks": snaks, "snaks-order": list(snaks)}]
    return {
        "mainsnak": _snak(number, value, hashes[32:72]),
        "type": "statement",
        "id": f"Q{qid}${unique if hashes else f'f00d-{number}'}",
        "rank": "normal",
        **({"references": references} if hashes else {}),
    }


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
    for number in range(TYPES + OCCUPATIONS):
        qid = FIRST_TYPE + number
        entity = {
            "type": "item",
            "id": f"Q{qid}",
            "labels": {"en": {"language": "en", "value": f"type {number}"}},
            "claims": {"P279": [_claim(qid, 279, FIRST_TYPE + 10_000 + number % 100)]},
            "sitelinks": {"enwiki": {"site": "enwiki", "title": f"Type {number} (benchmark)", "badges": []}},
        }
        yield json.dumps(entity, separators=(",", ":")).encode()


def write_items(wiki: str, titles: Iterable[str], output: Path, dominant: float = 0, line_bytes: int = 0) -> None:
    """Write a stand-in for Wikidata's JSON dump.

    Args:
        wiki: the wiki of the articles.
        titles: the articles, each of which has an item.
        output: .json.gz, in members of 8 MB, or .json.
        dominant: share of the items that one type has.
        line_bytes: size of a line, about; 0 for the shortest.
    """
    items = enumerate(titles, FIRST_ITEM)
    lines = (item_line(qid, wiki, title, dominant, line_bytes) for qid, title in items)

    def chunks() -> Iterator[bytes]:
        held = bytearray(b"[")
        for order, line in enumerate(itertools.chain(type_lines(), lines)):
            held += (b",\n" if order else b"\n") + line
            if len(held) >= MEMBER_BYTES:
                yield bytes(held)
                held.clear()
        yield bytes(held) + b"\n]\n"

    write_packed(output, chunks())
