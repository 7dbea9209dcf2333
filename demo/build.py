"""Pack the demo sources into the formats of the real dumps, the same bytes every time.

    python demo/build.py           write demo/dumps/
    python demo/build.py --check   say whether demo/dumps/ is what the sources give (exit status 1 if not)

Reads demo/source/<wiki>.txt (pages as wikitext, each under a header line
`=== page: Title | id=1 | rev=2 | time=2025-01-01T00:00:00Z`, with `| ns=` and `| redirect=` where they apply)
and demo/wikidata.jsonl (one entity per line).
"""

from __future__ import annotations

import argparse
import bz2
import hashlib
import re
import struct
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

import numpy as np

HERE = Path(__file__).resolve().parent
DUMPS = HERE / "dumps"
DATE = "20260101"
PAGES_PER_STREAM = 10  # 100 in the real dumps
LINES_PER_MEMBER = 40
HEADER_PREFIX = "=== page: "

# Local namespace names as each wiki's own <siteinfo> gives them; 0 has no name.
ENGLISH = (
    "-2 Media,-1 Special,1 Talk,2 User,3 User talk,4 Wikipedia,5 Wikipedia talk,6 File,7 File talk,8 MediaWiki,"
    "9 MediaWiki talk,10 Template,11 Template talk,12 Help,13 Help talk,14 Category,15 Category talk,100 Portal,"
    "101 Portal talk,118 Draft,119 Draft talk,710 TimedText,711 TimedText talk,828 Module,829 Module talk"
)
GERMAN = (
    "-2 Medium,-1 Spezial,1 Diskussion,2 Benutzer,3 Benutzer Diskussion,4 Wikipedia,5 Wikipedia Diskussion,6 Datei,"
    "7 Datei Diskussion,8 MediaWiki,9 MediaWiki Diskussion,10 Vorlage,11 Vorlage Diskussion,12 Hilfe,"
    "13 Hilfe Diskussion,14 Kategorie,15 Kategorie Diskussion,100 Portal,101 Portal Diskussion,828 Modul,"
    "829 Modul Diskussion"
)
JAPANESE = (
    "-2 メディア,-1 特別,1 ノート,2 利用者,3 利用者‐会話,4 Wikipedia,5 Wikipedia‐ノート,6 ファイル,"
    "7 ファイル‐ノート,8 MediaWiki,9 MediaWiki‐ノート,10 Template,11 Template‐ノート,12 Help,13 Help‐ノート,"
    "14 Category,15 Category‐ノート,100 Portal,101 Portal‐ノート,102 プロジェクト,103 プロジェクト‐ノート,"
    "828 モジュール,829 モジュール‐ノート"
)


@dataclass(frozen=True)
class Wiki:
    language: str
    main_page: str
    redirect_words: str
    namespaces: str

    @property
    def name(self) -> str:
        return f"{self.language}wiki"


WIKIS = (
    Wiki("en", "Main_Page", "REDIRECT", ENGLISH),
    Wiki("de", "Wikipedia:Hauptseite", "WEITERLEITUNG|REDIRECT", GERMAN),
    Wiki("ja", "メインページ", "転送|リダイレクト|REDIRECT", JAPANESE),
)


@dataclass(frozen=True)
class Page:
    title: str
    namespace: int
    page_id: int
    rev_id: int
    timestamp: str
    redirect: str | None
    text: str


def read_pages(wiki: Wiki) -> list[Page]:
    """The pages of one source file, checked: ascending ids, no title twice, redirects that look like redirects."""
    path = HERE / "source" / f"{wiki.name}.txt"
    pages: list[Page] = []
    for part in re.split(rf"^(?={re.escape(HEADER_PREFIX)})", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        header, _, body = part.partition("\n")
        title, *rest = header.removeprefix(HEADER_PREFIX).split(" | ")
        fields = dict(field.split("=", 1) for field in rest)
        page = Page(
            title=title,
            namespace=int(fields.get("ns", "0")),
            page_id=int(fields["id"]),
            rev_id=int(fields["rev"]),
            timestamp=fields["time"],
            redirect=fields.get("redirect"),
            text=body.strip("\n"),
        )
        looks_like_redirect = re.match(rf"#({wiki.redirect_words})\s*\[\[", page.text, flags=re.IGNORECASE) is not None
        if looks_like_redirect != (page.redirect is not None):
            raise SystemExit(f"{path}: {title}: the header and the text disagree about a redirect")
        if pages and page.page_id <= pages[-1].page_id:
            raise SystemExit(f"{path}: {title}: page ids must ascend")
        pages.append(page)
    if len({page.title for page in pages}) != len(pages):
        raise SystemExit(f"{path}: a title occurs twice")
    return pages


def siteinfo(wiki: Wiki) -> str:
    """The head of the file, down to the first page."""
    names = {0: ""} | {int(key): name for key, name in (item.split(" ", 1) for item in wiki.namespaces.split(","))}
    namespaces = "".join(
        f'      <namespace key="{key}" case="first-letter"' + (f">{name}</namespace>\n" if name else " />\n")
        for key, name in sorted(names.items())
    )
    export = "http://www.mediawiki.org/xml/export-0.11"
    return (
        f'<mediawiki xmlns="{export}/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="{export}/ {export}.xsd" version="0.11" xml:lang="{wiki.language}">\n'
        "  <siteinfo>\n"
        "    <sitename>Wikipedia</sitename>\n"
        f"    <dbname>{wiki.name}</dbname>\n"
        f"    <base>https://{wiki.language}.wikipedia.org/wiki/{quote(wiki.main_page, safe=':/')}</base>\n"
        "    <generator>MediaWiki 1.46.0-wmf.7</generator>\n"
        "    <case>first-letter</case>\n"
        f"    <namespaces>\n{namespaces}    </namespaces>\n"
        "  </siteinfo>\n"
    )


def base36_sha1(data: bytes) -> str:
    """SHA-1 as MediaWiki writes it: base 36, 31 digits."""
    return np.base_repr(int.from_bytes(hashlib.sha1(data).digest(), "big"), 36).lower().rjust(31, "0")


def page_xml(page: Page) -> str:
    redirect = f"    <redirect title={quoteattr(page.redirect)} />\n" if page.redirect else ""
    raw = page.text.encode()
    sha1 = base36_sha1(raw)
    return (
        "  <page>\n"
        f"    <title>{escape(page.title)}</title>\n"
        f"    <ns>{page.namespace}</ns>\n"
        f"    <id>{page.page_id}</id>\n"
        f"{redirect}"
        "    <revision>\n"
        f"      <id>{page.rev_id}</id>\n"
        f"      <parentid>{page.rev_id - 1}</parentid>\n"
        f"      <timestamp>{page.timestamp}</timestamp>\n"
        "      <contributor>\n"
        "        <username>Demo &amp; Co</username>\n"
        "        <id>1</id>\n"
        "      </contributor>\n"
        "      <comment>written for the demo</comment>\n"
        f"      <origin>{page.rev_id}</origin>\n"
        "      <model>wikitext</model>\n"
        "      <format>text/x-wiki</format>\n"
        f'      <text bytes="{len(raw)}" sha1="{sha1}" xml:space="preserve">'
        f"{escape(page.text, {chr(34): '&quot;'})}</text>\n"
        f"      <sha1>{sha1}</sha1>\n"
        "    </revision>\n"
        "  </page>\n"
    )


def batches(items: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def multistream(wiki: Wiki) -> Iterator[tuple[str, bytes]]:
    """The multistream dump of one wiki and its index: the head, the pages by tens, the foot, each a bz2 stream."""
    pages = read_pages(wiki)
    dump = bytearray(bz2.compress(siteinfo(wiki).encode()))
    index: list[str] = []
    for start in range(0, len(pages), PAGES_PER_STREAM):
        batch = pages[start : start + PAGES_PER_STREAM]
        index.extend(f"{len(dump)}:{page.page_id}:{page.title}\n" for page in batch)
        dump += bz2.compress("".join(map(page_xml, batch)).encode())
    dump += bz2.compress(b"</mediawiki>\n")
    stem = f"{wiki.name}-{DATE}-pages-articles-multistream"
    yield f"{stem}.xml.bz2", bytes(dump)
    yield f"{stem}-index.txt.bz2", bz2.compress("".join(index).encode())


def gzip_member(data: bytes) -> bytes:
    """One gzip member with a header of fixed bytes (what `gzip` writes there changes between Python versions)."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(data) + deflate.flush()
    header = b"\x1f\x8b\x08\x00" + struct.pack("<L", 0) + b"\x02\xff"
    return header + body + struct.pack("<LL", zlib.crc32(data), len(data))


def wikidata() -> Iterator[tuple[str, bytes]]:
    """The entities as one JSON array in several gzip members: the bracket, lines by forties, the bracket."""
    lines = (HERE / "wikidata.jsonl").read_text(encoding="utf-8").splitlines()
    entities = [line + ",\n" for line in lines[:-1]] + [lines[-1] + "\n"]
    members = ["[\n", *("".join(batch) for batch in batches(entities, LINES_PER_MEMBER)), "]\n"]
    data = b"".join(gzip_member(member.encode()) for member in members)
    yield f"wikidata-{DATE}-all.json.gz", data


def build() -> Iterable[tuple[str, bytes]]:
    for wiki in WIKIS:
        yield from multistream(wiki)
    yield from wikidata()


def main() -> int:
    parser = argparse.ArgumentParser(description="Pack the demo sources into dumps.")
    parser.add_argument("--check", action="store_true", help="compare with demo/dumps/ instead of writing it")
    check: bool = parser.parse_args().check
    wrong: list[str] = []
    total = 0
    for name, data in build():
        path = DUMPS / name
        total += len(data)
        if not check:
            DUMPS.mkdir(exist_ok=True)
            path.write_bytes(data)
        elif not path.is_file() or path.read_bytes() != data:
            wrong.append(name)
    for name in wrong:
        print(f"demo/dumps/{name} is not what the sources give; run python demo/build.py", file=sys.stderr)
    if not wrong:
        print(f"demo/dumps/: {total:,} bytes, {'as the sources give it' if check else 'written'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
