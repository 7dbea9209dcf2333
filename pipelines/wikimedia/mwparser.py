"""Extract text and links with mwparserfromhell instead of `wikitext.Extractor` (`--parser=mwparserfromhell`).

mwparserfromhell (MIT, the extra `mwparserfromhell`) parses a page into a tree of nodes. The tree is flattened into
pieces of text; then the pieces are joined into lines, and the offsets of links are computed. Templates are rendered by
the same rules as in `wikitext.Extractor`, because a parser does not know what they show.

Use it to compare results. It is slow, it does not know the wiki's namespaces, link trails and tags, and a hostile page
can take minutes.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from wikianchor.io.errors import UsageError
from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.languages import language_facts
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext import Extract, Links
from wikianchor.pipelines.wikimedia.wikitext.gaps import take_names
from wikianchor.pipelines.wikimedia.wikitext.link_counts import SEEN
from wikianchor.pipelines.wikimedia.wikitext.links import LinkReader
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LIST, NAMED, PIPE, PREFORMATTED, restore
from wikianchor.pipelines.wikimedia.wikitext.templates import Templates

# What is shown of a tag, by its kind in the data: its contents, inline or on separate lines; otherwise a gap, a line
# feed or nothing. Those of extension tags come after those of HTML tags of the same name.
_SHOWN = {
    "html": {
        **dict.fromkeys(("inline", "raised"), "inline"),
        **dict.fromkeys(("block", "break", "heading"), "block"),
        **dict.fromkeys(("table", "row", "cell", "caption"), "figure"),
        "item": "item",
    },
    "kept": {"nothing": "inline", "break": "block"},
    "extensions": {
        **dict.fromkeys(("break", "gallery", "references"), "figure"),
        **dict.fromkeys(("nothing", "hidden", "reference"), "nothing"),
        **{"gap": "hole", "nowiki": "inline", "pre": "pre"},
    },
}
_KIND = {
    name: kinds[kind]
    for part, kinds in _SHOWN.items()
    for name, kind in package_json("pipelines.wikimedia", "tags.json")[part].items()
    if kind in kinds
}
_RAISED_NUMBER = re.compile(r"[\d−+-]")
_COMMENT = re.compile(r"<!--(?:[^-]|-(?!->))*-->")
_BLANKS = re.compile(r"[ \t\xa0]+")


@dataclass
class _Piece:
    """Visible text.

    Attributes:
        text: the text.
        mark: that of the line that it begins, one of `placeholders.LINE_MARKS`; "" otherwise.
        target: title of the page that it links to; "" if it is no link.
        fragment: section that it links to, or "".
        article: whether the target is an article.
    """

    text: str
    mark: str = ""
    target: str = ""
    fragment: str = ""
    article: bool = True


@dataclass
class _Walk:
    """State while the tree of a page is traversed.

    Attributes:
        title: title of the page.
        counts: see `Extract.counts`.
        missing: names of the templates that leave a gap, with the placeholder of their gaps.
        pieces: visible text so far.
    """

    title: str
    counts: Counter[str]
    missing: dict[str, str] = field(default_factory=dict)
    pieces: list[_Piece] = field(default_factory=list)

    def put(self, text: str) -> None:
        self.pieces.append(_Piece(text))

    def last(self) -> str:
        """Return the last visible character; "" if there is none or the last node shows nothing."""
        return self.pieces[-1].text[-1:] if self.pieces else ""


class MwparserExtractor:
    """Extracts the pages of one wiki, with the same methods as `wikitext.Extractor`.

    Raises:
        UsageError: the package is not installed.
    """

    def __init__(self, site: Site, *, literal: bool = False) -> None:
        try:
            import mwparserfromhell
        except ImportError as error:
            raise UsageError(
                "--parser=mwparserfromhell needs the package: pip install 'wikianchor[mwparserfromhell]'"
            ) from error
        self._site = site
        self._library: Any = mwparserfromhell
        self._literal = literal
        self._templates = Templates(site, literal)
        self._links = LinkReader(site)
        self._prefix = re.compile(f"[{site.link_prefix}]+$") if site.link_prefix else None
        switches = language_facts(site.language).switches
        self._switches = re.compile("|".join(map(re.escape, sorted(switches))) or "(?!)")

    def linked_titles(self, text: str, title: str) -> list[str]:
        """Return the titles of all articles that the wikitext links to, sorted, without the page itself."""
        return self._links.linked_titles(text, title)

    def extract(self, text: str, title: str, timestamp: str = "") -> Extract:
        """Return the visible text of a page and its links; both are empty if mwparserfromhell cannot parse the page."""
        walk = _Walk(title, Counter())
        try:
            self._walk(self._library.parse(text).nodes, walk, expand=True)
        except self._library.parser.ParserError:
            walk = _Walk(title, Counter(not_parsed=text.count("[[")))
        shown, links, other_links = _joined(walk.pieces)
        shown, gaps = take_names(shown, tuple(walk.missing), (links, other_links))
        walk.counts["link"], walk.counts["namespace"] = len(links.starts), len(other_links.starts)
        # This parser reads a tree, in which nothing else can be counted.
        counts = Counter({name: number for name, number in walk.counts.items() if ":" not in name})
        counts[SEEN] = counts.total()
        return Extract(restore(shown), links, other_links, gaps, counts)

    def _walk(self, nodes: Iterable[Any], walk: _Walk, expand: bool) -> None:
        """Add the visible text of nodes. Templates are rendered if `expand`, otherwise kept as text."""
        nodes = [node for node in nodes if type(node).__name__ != "Comment"]
        taken = 0  # length of the link trail at the start of the next text
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
        # mwparserfromhell fails on the null character NAMED.
        shown = self._templates.expand(call, walk.title, walk.counts, walk.missing).replace(NAMED, PIPE)
        # A rendered template may contain links and italics, but no templates.
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
            # An empty piece: a link has no trail or prefix across a tag.
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
            # MediaWiki shows an unknown tag as text.
            walk.put(str(node))
        else:
            if count := str(node).count("[["):
                reason = "reference" if name.startswith("ref") else "table" if name == "table" else "extension_tag"
                walk.counts[reason] += count
            walk.put("\n" if kind == "figure" else GAP if kind == "hole" and not self._literal else "")

    def _link(self, node: Any, walk: _Walk, trail: str, expand: bool) -> int:
        """Add a link; return how many letters of the following text are its link trail."""
        raw = str(node.title)
        if "{{" in raw and expand:
            raw = self._templates.expand(raw, walk.title, walk.counts, walk.missing)
        kind, title, fragment = self._links.read_target(raw)
        if kind == "not_a_link" or (node.text is not None and not node.text.nodes) or "<" in raw:
            walk.counts["not_a_link"] += 1
            walk.put("[[" + raw)
            if node.text is not None:
                walk.put("|")
                self._walk(node.text.nodes, walk, expand)
            walk.put("]]")
            return 0
        if kind == "link" and title == walk.title:
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
            walk.pieces.append(_Piece(anchor, "", title, fragment, kind == "link"))
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
    """Join pieces into text; return it with its links to articles and to other namespaces."""
    links, other_links = Links(), Links()
    shown: list[str] = []
    position = 0
    for line in _lines(pieces):
        # A template alone on its line is a box or a hatnote: no sentence lacks it.
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
                    (links if piece.article else other_links).add(
                        position, position + len(text), piece.target, piece.fragment
                    )
                shown.append(text)
                position += len(text)
                last = text[-1:] or last
        shown.append("\n")
        position += 1
    return "".join(shown), links, other_links


def _lines(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    """Split pieces into lines; a piece with a mark begins a line."""
    lines: list[list[_Piece]] = [[]]
    for piece in pieces:
        if piece.mark and any(other.text.strip(" ") for other in lines[-1]):
            lines.append([])
        if piece.target or "\n" not in piece.text:
            lines[-1].append(piece)
            continue
        for number, text in enumerate(piece.text.split("\n")):
            if number:
                lines.append([])
            lines[-1].append(_Piece(text, "" if number else piece.mark))
    return lines
