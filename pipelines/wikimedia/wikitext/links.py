"""Links: the text is split at "[[" once, and each link becomes what its reader sees, with its place and its target.

https://www.mediawiki.org/wiki/Help:Links
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.titles import parse_not_plain, plain_title
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, LINE_MARKS, NAMED, SEAM, restore
from wikianchor.pipelines.wikimedia.wikitext.stretches import pieces_between

_RAW_TARGET = re.compile(r"\[\[([^\[\]{}|<>\n]+)")
_LABEL_BREAKS = str.maketrans(dict.fromkeys("\n" + LINE_MARKS, " ") | {ord(SEAM): None})
MEDIA, MAIN, FILE, CATEGORY = -2, 0, 6, 14
# Kinds of links that are not shown as links, and those that lead to a page of this wiki.
_UNSEEN = frozenset(("not_a_link", "category", "file", "language"))
_LINKED = frozenset(("link", "namespace"))
# Longer targets are read each time: remembering hostile ones would fill the memory.
_REMEMBERED_LENGTH = 300
_MOST_REMEMBERED = 1 << 13
# Pieces of the text that are held before they are joined.
_PIECES = 1 << 16


@dataclass
class Links:
    """The links in a text, as columns: offsets in code points, end exclusive, ascending."""

    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))
    targets: list[str] = field(default_factory=list)
    fragments: list[str] = field(default_factory=list)


class _Remembered(dict[str, tuple[str, str, str]]):
    """What targets were read as. A page is read twice, for its links and for its text, and names many pages often."""

    def __init__(self, site: Site, read: Callable[[str], tuple[str, str, str]]) -> None:
        super().__init__()
        self._site, self._read = site, read

    def __missing__(self, raw: str) -> tuple[str, str, str]:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        plain = plain_title(raw, self._site)
        found = self._read(raw) if plain is None else ("link", plain, "")
        if len(raw) < _REMEMBERED_LENGTH:
            self[raw] = found
        return found


class LinkReader:
    """Reads the links of one wiki; remembers how it read the targets it has seen."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._trail = site.link_trail.match
        # Most links have no trail: one look at the next character tells. A prefix is looked for backwards.
        letters = [chr(code) for code in range(0xD800)]
        self._trail_letters = frozenset(filter(self._trail, letters))
        in_prefix = re.compile(f"[{site.link_prefix}]").match if site.link_prefix else None
        self._prefix_letters = "".join(filter(in_prefix, letters)) if in_prefix else ""
        self._targets = _Remembered(site, self._read)

    def linked_titles(self, text: str, own_title: str) -> list[str]:
        """Return the articles that raw wikitext names as link targets anywhere, sorted; the page itself left out."""
        read = map(self._targets.__getitem__, set(_RAW_TARGET.findall(text)))
        found = {title for kind, title, _ in read if kind == "link"}
        found.discard(own_title)
        return sorted(found)

    def split_links(self, text: str, own_title: str, counts: Counter[str]) -> tuple[str, Links, Links]:
        """Replace each link by what is shown of it.

        Args:
            text: wikitext of which only links are left.
            own_title: of the page; a link to itself is bold text.
            counts: counts every "[[" under what became of it: "link" for those returned, or why it is none.

        Returns:
            The text without link markup, the links to articles in it, and those to other namespaces.
        """
        links, other_links = Links(), Links()
        add_start, add_end = links.starts.append, links.ends.append
        add_target, add_fragment = links.targets.append, links.fragments.append
        targets, trail, trail_letters, prefix_letters = (
            self._targets,
            self._trail,
            self._trail_letters,
            self._prefix_letters,
        )
        parts = pieces_between(text, "[[")
        # What stands before the next link is held back, because a prefix may have to be taken from its end.
        before = next(parts)
        pieces: list[str] = []
        joined: list[str] = []
        position = 0
        for part in parts:
            if len(pieces) > _PIECES:
                joined.append("".join(pieces))
                pieces.clear()
            inner, closed, rest = part.partition("]]")
            raw, bar, label = inner.partition("|")
            kind, title, fragment = targets[raw]
            if not closed or (bar and not label):
                kind = "not_a_link"
            if kind in _UNSEEN:
                counts[kind] += 1
                position += _put(before, pieces)
                before = rest
                if kind == "not_a_link":
                    position += _put("[[", pieces)
                    before = part
                continue
            if "[" in label and rest[:1] == "]":
                label, rest = label + "]", rest[1:]
            shown = label if bar else raw.lstrip(" ").removeprefix(":")
            if rest[:1] in trail_letters and (ending := trail(rest)):
                shown, rest = shown + ending[0], rest[ending.end() :]
            if prefix_letters and before and before[-1] in prefix_letters:
                kept = before.rstrip(prefix_letters)
                before, shown = kept, before[len(kept) :] + shown
            if "\n" in shown or SEAM in shown:
                shown = shown.translate(_LABEL_BREAKS)
            anchor = shown.strip()
            if anchor != shown:
                if shown[-1:] == " " and rest[:1] == " ":
                    shown = shown.rstrip(" ")
                if shown[:1] == " " and before[-1:] in ("", " ", "\n"):
                    shown = shown.lstrip(" ")
            position += _put(before, pieces)
            if not anchor or (anchor[0] == GAP and not anchor.strip(GAP + NAMED + " ")):
                # The label was a template that is not known here: words are missing.
                counts["empty_label"] += 1
                shown = anchor or shown[:1]
            else:
                start = position if anchor == shown else position + len(shown) - len(shown.lstrip())
                if kind == "link" and title != own_title:
                    add_start(start)
                    add_end(start + len(anchor))
                    add_target(title)
                    add_fragment(fragment)
                elif kind == "namespace":
                    other_links.starts.append(start)
                    other_links.ends.append(start + len(anchor))
                    other_links.targets.append(title)
                    other_links.fragments.append(fragment)
                else:
                    counts["self" if kind == "link" else kind] += 1
            pieces.append(shown)
            position += len(shown)
            before = rest
        _put(before, pieces)
        counts["link"] = len(links.starts)
        counts["namespace"] = len(other_links.starts)
        return "".join((*joined, *pieces)), links, other_links

    def _read(self, raw: str) -> tuple[str, str, str]:
        """Return what a link with this target, which is no plain title, is, "link" for one to an article; its title and
        fragment."""
        # An "&" that was written "&amp;" is one in the title too.
        target = parse_not_plain(restore(raw), self._site)
        if target is None:
            kind = "not_a_link"
        elif target.interwiki:
            kind = "language" if target.interwiki in self._site.interlanguage and not target.colon else "interwiki"
        elif target.namespace == MAIN:
            kind = "link" if target.title else "self"
        elif target.namespace in (CATEGORY, FILE) and not target.colon:
            kind = "category" if target.namespace == CATEGORY else "file"
        else:
            kind = "media" if target.namespace == MEDIA else "namespace"
        return (kind, "", "") if target is None else (kind, target.title, target.fragment)


def _put(text: str, pieces: list[str]) -> int:
    """Add a piece of the text, without seams, and return its length."""
    if SEAM in text:
        text = text.replace(SEAM, "")
    pieces.append(text)
    return len(text)
