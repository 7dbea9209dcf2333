"""Wikitext read with mwparserfromhell instead of our own engine: text, links and offsets by an independent way.

mwparserfromhell (MIT, the extra `mwparserfromhell`) makes a tree of nodes of a page; here the tree is walked into
pieces of text, and the pieces are joined into lines, when offsets are taken. Templates are rendered by the same rules
as in our engine, because a parser does not know what they show. It is for comparison and for those who want it: it is
slow, it knows neither the wiki nor its namespaces, link trails and tags, and hostile pages can hold it up for minutes.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.wikimedia.choices import PARSERS
from wikianchor.pipelines.wikimedia.languages import language_facts
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.titles import parse_target
from wikianchor.pipelines.wikimedia.wikitext import Extract, Extractor, Links
from wikianchor.pipelines.wikimedia.wikitext.gaps import take_names
from wikianchor.pipelines.wikimedia.wikitext.links import CATEGORY, FILE, MAIN, MEDIA, LinkReader
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LIST, NAMED, PIPE, PREFORMATTED, restore
from wikianchor.pipelines.wikimedia.wikitext.templates import Templates

# What is shown of a tag: its contents, in the line or on lines of their own, or else a gap, a line feed or nothing.
_KINDS = {
    "inline": "b i u s em strong small big span font sub sup code tt var kbd samp cite q abbr del ins strike mark dfn "
    "bdi bdo ruby rb rt rp rtc wbr data time a nowiki noinclude onlyinclude translate tvar",
    "block": "br hr p div ul ol dl blockquote center h1 h2 h3 h4 h5 h6 poem",
    "item": "li dd dt",
    "pre": "pre",
    "hole": "math chem ce hiero syntaxhighlight source phonos chart",
    "figure": "references gallery score timeline graph mapframe maplink imagemap categorytree table tr td th caption",
    "nothing": "ref includeonly templatestyles templatedata indicator section inputbox",
}
_KIND = {name: kind for kind, names in _KINDS.items() for name in names.split()}
_RAISED_NUMBER = re.compile(r"[\d−+-]")
_COMMENT = re.compile(r"<!--(?:[^-]|-(?!->))*-->")
_BLANKS = re.compile(r"[ \t\xa0]+")


def make_extractor(parser: str, site: Site, literal: bool = False) -> Extractor | MwparserExtractor:
    """Return what reads the wikitext of a wiki: `wikianchor`, our engine, or `mwparserfromhell`.

    Raises:
        UsageError: the package is not installed, or there is no such parser.
    """
    if parser == "wikianchor":
        return Extractor(site, literal)
    if parser != "mwparserfromhell":
        raise UsageError(f"--parser={parser}: there is no such parser, choose one of {', '.join(PARSERS)}")
    try:
        import mwparserfromhell
    except ImportError as error:
        raise UsageError(
            "--parser=mwparserfromhell needs the package: pip install 'wikianchor[mwparserfromhell]'"
        ) from error
    return MwparserExtractor(site, literal, mwparserfromhell)


@dataclass
class _Piece:
    """Text that a reader sees; a link if it has a target. Text that begins a line has the mark of that line."""

    text: str
    mark: str = ""
    target: str = ""
    fragment: str = ""
    article: bool = True


@dataclass
class _Walk:
    """What is found while the tree of a page is walked."""

    title: str
    counts: Counter[str]
    missing: dict[str, str] = field(default_factory=dict)
    pieces: list[_Piece] = field(default_factory=list)

    def put(self, text: str) -> None:
        self.pieces.append(_Piece(text))

    def last(self) -> str:
        """Return the last character so far, "" where a line begins or something vanished."""
        return self.pieces[-1].text[-1:] if self.pieces else ""


class MwparserExtractor:
    """Reads the pages of one wiki; see `wikitext.Extractor`, which it can stand for."""

    def __init__(self, site: Site, literal: bool, library: Any) -> None:
        self._site = site
        self._library = library
        self._literal = literal
        self._templates = Templates(site.language, literal)
        self._links = LinkReader(site)
        self._prefix = re.compile(f"[{site.link_prefix}]+$") if site.link_prefix else None
        switches = language_facts(site.language).switches
        self._switches = re.compile("|".join(map(re.escape, sorted(switches))) or "(?!)")

    def linked_titles(self, text: str, title: str) -> list[str]:
        """Return the articles that raw wikitext names as link targets anywhere, sorted; the page itself left out."""
        return self._links.linked_titles(text, title)

    def extract(self, text: str, title: str) -> Extract:
        """Return the visible text of a page and its links; a page that mwparserfromhell fails on has neither."""
        walk = _Walk(title, Counter())
        try:
            self._walk(self._library.parse(text).nodes, walk, expand=True)
        except self._library.parser.ParserError:
            walk = _Walk(title, Counter(not_parsed=text.count("[[")))
        shown, links, other_links = _joined(walk.pieces)
        shown, gaps = take_names(shown, tuple(walk.missing), (links, other_links))
        walk.counts["link"], walk.counts["namespace"] = len(links.starts), len(other_links.starts)
        return Extract(restore(shown), links, other_links, gaps, walk.counts)

    def _walk(self, nodes: Iterable[Any], walk: _Walk, expand: bool) -> None:
        """Add what a reader sees of some nodes; templates among them are rendered if `expand`, else they are text."""
        # Comments keep nothing apart.
        nodes = [node for node in nodes if type(node).__name__ != "Comment"]
        taken = 0  # of the next text, the letters that belong to the link before it
        for number, node in enumerate(nodes):
            kind = type(node).__name__
            if kind == "Text":
                walk.put(self._switches.sub("", str(node)[taken:]).replace(PIPE, NAMED))
                taken = 0
            elif kind == "Wikilink":
                following = nodes[number + 1] if number + 1 < len(nodes) else None
                is_text = type(following).__name__ == "Text"
                trail = self._site.link_trail.match(str(following)) if is_text else None
                taken = self._link(node, walk, trail[0] if trail else "", expand)
            elif kind in ("Template", "Argument"):
                self._template(str(node), walk, expand)
            elif kind == "HTMLEntity":
                char = html.unescape(str(node))
                walk.put(" " if len(char) == 1 and char < " " else char)
            elif kind == "ExternalLink":
                self._external(node, walk, expand)
            elif kind == "Heading":
                walk.pieces += (_Piece("\n"), _Piece("", HEADING * node.level))
                self._walk(node.title.nodes, walk, expand)
                walk.put("\n")
            elif kind == "Tag":
                self._tag(node, walk, expand)

    def _template(self, call: str, walk: _Walk, expand: bool) -> None:
        if not expand:
            walk.put(call)
            return
        call = _COMMENT.sub("", call)
        # mwparserfromhell takes no NAMED.
        shown = self._templates.expand(call, walk.title, walk.counts, walk.missing).replace(NAMED, PIPE)
        # What a rule makes of a call may hold links and italics, but no calls.
        self._walk(self._library.parse(shown).nodes if shown != call else [shown], walk, expand=False)
        if not shown or shown == call:
            walk.put(shown)

    def _external(self, node: Any, walk: _Walk, expand: bool) -> None:
        if node.title is not None:
            self._walk(node.title.nodes, walk, expand)
        else:
            walk.put("" if node.brackets else str(node.url))

    def _tag(self, node: Any, walk: _Walk, expand: bool) -> None:
        name = str(node.tag).strip().lower()
        kind = _KIND.get(name)
        inner = node.contents.nodes if node.contents else ()
        if kind == "item" and node.wiki_markup:
            walk.pieces.append(_Piece("", LIST))
        elif kind == "inline":
            raised = name in ("sup", "sub") and walk.last().isdigit() and _RAISED_NUMBER.match(str(node.contents))
            # Nothing to see, but it keeps what stands around it apart.
            walk.put(GAP if raised and not self._literal else "")
            self._walk(inner, walk, expand)
            walk.put("")
        elif kind in ("block", "item"):
            walk.put("\n")
            if kind == "item" or name[1:].isdigit():
                walk.pieces.append(_Piece("", LIST if kind == "item" else HEADING * int(name[1:])))
            self._walk(inner, walk, expand)
            walk.put("\n")
        elif kind == "pre":
            for line in html.unescape(str(node.contents)).strip("\n").split("\n"):
                walk.pieces += (_Piece("\n"), _Piece(line, PREFORMATTED))
            walk.put("\n")
        elif kind is None:
            # MediaWiki shows a tag that it does not know.
            walk.put(str(node))
        else:
            if count := str(node).count("[["):
                reason = "reference" if name.startswith("ref") else "table" if name == "table" else "extension_tag"
                walk.counts[reason] += count
            walk.put("\n" if kind == "figure" else GAP if kind == "hole" and not self._literal else "")

    def _link(self, node: Any, walk: _Walk, trail: str, expand: bool) -> int:
        """Add a link and return how many letters of the text after it belong to it."""
        raw = str(node.title)
        if "{{" in raw and expand:
            raw = self._templates.expand(raw, walk.title, walk.counts, walk.missing)
        target = parse_target(raw, self._site)
        if target is None or (node.text is not None and not node.text.nodes) or "<" in raw:
            walk.counts["not_a_link"] += 1
            walk.put("[[" + raw)
            if node.text is not None:
                walk.put("|")
                self._walk(node.text.nodes, walk, expand)
            walk.put("]]")
            return 0
        article = target.namespace == MAIN and not target.interwiki
        kind = "link" if article else "media" if target.namespace == MEDIA else "namespace"
        if target.interwiki:
            kind = "language" if target.interwiki in self._site.interlanguage and not target.colon else "interwiki"
        elif target.namespace in (FILE, CATEGORY) and not target.colon:
            kind = "file" if target.namespace == FILE else "category"
        elif article and target.title in ("", walk.title):
            kind = "self"
        if kind in ("language", "file", "category"):
            walk.counts[kind] += 1
            if kind == "file":
                walk.counts["caption"] += str(node).count("[[") - 1
            walk.put("")
            return 0
        shown = raw.lstrip(" ").removeprefix(":") if node.text is None else self._label(node.text, walk, expand)
        before = walk.pieces[-1] if walk.pieces else _Piece("")
        if self._prefix and not before.target and (prefix := self._prefix.search(before.text)):
            before.text, shown = before.text[: prefix.start()], prefix[0] + shown
        shown = _BLANKS.sub(" ", html.unescape(shown + trail).replace("\n", " "))
        anchor = shown.strip(" ")
        if not anchor.strip(GAP + NAMED + " "):
            walk.counts["empty_label"] += 1
            walk.put(shown)
        elif kind in ("link", "namespace"):
            lead = len(shown) - len(shown.lstrip(" "))
            walk.put(shown[:lead])
            walk.pieces.append(_Piece(anchor, "", target.title, target.fragment, article))
            walk.put(shown[lead + len(anchor) :])
        else:
            walk.counts[kind] += 1
            walk.put(shown)
        return len(trail)

    def _label(self, label: Any, walk: _Walk, expand: bool) -> str:
        inner = _Walk(walk.title, walk.counts, walk.missing)
        self._walk(label.nodes, inner, expand)
        return "".join(piece.text for piece in inner.pieces)


def _joined(pieces: Sequence[_Piece]) -> tuple[str, Links, Links]:
    """Join pieces into lines without needless blanks, each with the mark of its first piece, and take the offsets."""
    lines: list[list[_Piece]] = [[]]
    for piece in pieces:
        if piece.mark and any(one.text.strip(" ") for one in lines[-1]):
            lines.append([])
        if piece.target or "\n" not in piece.text:
            lines[-1].append(piece)
            continue
        for number, text in enumerate(piece.text.split("\n")):
            if number:
                lines.append([])
            lines[-1].append(_Piece(text, "" if number else piece.mark))
    links, other_links = Links(), Links()
    shown: list[str] = []
    position = 0
    for line in lines:
        # A template that stands alone on its line is a box or a note: no sentence misses it.
        if "".join(piece.text for piece in line).strip(GAP + NAMED + " \t"):
            mark = next((piece.mark for piece in line if piece.mark), "")
            mark = mark or (PREFORMATTED if line[0].text[:1] == " " else "")
            shown.append(mark)
            position += len(mark)
            last = " "
            for piece in line:
                text = _BLANKS.sub(" ", piece.text)
                text = text.lstrip(" ") if last == " " else text
                if text and piece.target:
                    found = links if piece.article else other_links
                    found.starts.append(position)
                    found.ends.append(position + len(text))
                    found.targets.append(piece.target)
                    found.fragments.append(piece.fragment)
                shown.append(text)
                position += len(text)
                last = text[-1:] or last
        shown.append("\n")
        position += 1
    return "".join(shown), links, other_links
