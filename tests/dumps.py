"""Dumps made for tests: pages and items in, files as MediaWiki and Wikidata write them out."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Iterable, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

VERSIONS = ("0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.10", "0.11")
NAMESPACES = {-1: "Special", 0: "", 1: "Talk", 2: "User", 4: "Wikipedia", 6: "File", 10: "Template", 14: "Category"}
END = b"</mediawiki>\n"


def _since(version: str, first: str) -> bool:
    return VERSIONS.index(version) >= VERSIONS.index(first)


def _quoted(text: str) -> str:
    return escape(text, {'"': "&quot;"})


def revision(text: str | None, rev_id: int = 1, timestamp: str = "2025-01-01T00:00:00Z", version: str = "0.11") -> str:
    """One revision; `text` None for one that was deleted."""
    lines = [f"      <id>{rev_id}</id>"]
    if _since(version, "0.7"):
        lines.append(f"      <parentid>{rev_id - 1}</parentid>")
    lines.append(f"      <timestamp>{timestamp}</timestamp>")
    # The contributor's id must not be taken for that of the revision or the page.
    lines.append("      <contributor><username>A &amp; B</username><id>77</id></contributor>")
    lines.append("      <comment>&lt;text> and [[links]]</comment>")
    if _since(version, "0.11"):
        lines.append(f"      <origin>{rev_id}</origin>")
    if _since(version, "0.10"):
        lines += ["      <model>wikitext</model>", "      <format>text/x-wiki</format>"]
    size = f' bytes="{len((text or "").encode())}"' if _since(version, "0.6") else ""
    if text is None:
        lines.append(f'      <text{size} deleted="deleted" />')
    elif not text:
        lines.append(f'      <text{size} xml:space="preserve" />')
    else:
        lines.append(f'      <text{size} xml:space="preserve">{_quoted(text)}</text>')
    if _since(version, "0.6"):
        lines.append("      <sha1>phoiac9h4m842xq45sp7s6u21eteeq1</sha1>")
    if version in ("0.8", "0.9"):
        lines += ["      <model>wikitext</model>", "      <format>text/x-wiki</format>"]
    return "    <revision>\n" + "\n".join(lines) + "\n    </revision>\n"


def page(
    title: str,
    page_id: int,
    text: str | None = "",
    namespace: int = 0,
    redirect: str | None = None,
    revisions: Sequence[str] = (),
    version: str = "0.11",
) -> bytes:
    """One page; `revisions` instead of the one with `text`."""
    lines = [f"    <title>{escape(title)}</title>"]
    if _since(version, "0.5"):
        lines.append(f"    <ns>{namespace}</ns>")
    lines.append(f"    <id>{page_id}</id>")
    if redirect is not None and _since(version, "0.4"):
        lines.append(f'    <redirect title="{_quoted(redirect)}" />' if _since(version, "0.6") else "    <redirect />")
    if redirect is not None and not text:
        text = f"#REDIRECT [[{redirect}]]"
    body = "".join(revisions) or revision(text, 1000 + page_id, version=version)
    return ("  <page>\n" + "\n".join(lines) + "\n" + body + "  </page>\n").encode()


def head(wiki: str = "enwiki", version: str = "0.11") -> bytes:
    """The start of a dump of a Wikipedia, down to the first page."""
    language = wiki.removesuffix("wiki")
    case = ' case="first-letter"' if _since(version, "0.5") else ""
    names = "".join(
        f'      <namespace key="{key}"{case}' + (f">{name}</namespace>\n" if name else " />\n")
        for key, name in NAMESPACES.items()
    )
    database = f"    <dbname>{wiki}</dbname>\n" if _since(version, "0.9") else ""
    return (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-{version}/" version="{version}" '
        f'xml:lang="{language}">\n'
        "  <siteinfo>\n    <sitename>Wikipedia</sitename>\n"
        f"{database}    <base>http://{language}.wikipedia.org/wiki/Main_Page</base>\n"
        "    <generator>MediaWiki 1.44.0</generator>\n    <case>first-letter</case>\n"
        f"    <namespaces>\n{names}    </namespaces>\n  </siteinfo>\n"
    ).encode()


def export(pages: Iterable[bytes], wiki: str = "enwiki", version: str = "0.11") -> bytes:
    """A whole dump as plain XML."""
    return head(wiki, version) + b"".join(pages) + END


def multistream(pages: Sequence[bytes], per_stream: int = 2, wiki: str = "enwiki") -> bytes:
    """A multistream dump: the head, some pages at a time, and the end, each a bz2 stream of its own."""
    groups = [b"".join(pages[first : first + per_stream]) for first in range(0, len(pages), per_stream)]
    return b"".join(bz2.compress(part) for part in (head(wiki), *groups, END))


def streams(data: bytes, cuts: Iterable[int]) -> bytes:
    """What pbzip2 makes of data: bz2 streams one after the other, cut without regard to what is in them."""
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return b"".join(bz2.compress(data[first:last]) for first, last in pairwise(places))


PACKINGS = {
    "plain": lambda data: data,
    "bz2": bz2.compress,
    "gz": lambda data: gzip.compress(data, mtime=0),
    "xz": lzma.compress,
}


def item(
    qid: int, sitelinks: dict[str, str], types: Sequence[int] = (), labels: dict[str, str] | None = None
) -> dict[str, object]:
    """A Wikidata item as its JSON says it."""
    statements = [
        {
            "rank": "normal",
            "type": "statement",
            "mainsnak": {
                "snaktype": "value",
                "property": "P31",
                "datavalue": {
                    "type": "wikibase-entityid",
                    "value": {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"},
                },
            },
        }
        for number in types
    ]
    return {
        "type": "item",
        "id": f"Q{qid}",
        "labels": {language: {"language": language, "value": text} for language, text in (labels or {}).items()},
        "claims": {"P31": statements} if statements else {},
        "sitelinks": {wiki: {"site": wiki, "title": title, "badges": []} for wiki, title in sitelinks.items()},
        "lastrevid": qid,
    }


def json_dump(entities: Iterable[object]) -> bytes:
    """A Wikidata dump: an array with one entity per line."""
    return ("[\n" + ",\n".join(json.dumps(entity) for entity in entities) + "\n]\n").encode()
