"""Links: the text is split at "[[" once, and each link becomes what its reader sees, with its place and its target.

https://www.mediawiki.org/wiki/Help:Links
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from pipelines.wikimedia.site import Site
from pipelines.wikimedia.titles import Target, parse_target
from pipelines.wikimedia.wikitext.marks import GAP, LINE_MARKS, SEAM

_RAW_TARGET = re.compile(r"\[\[([^\[\]{}|<>\n]+)")
_LABEL_BREAKS = str.maketrans(dict.fromkeys("\n" + LINE_MARKS, " ") | {ord(SEAM): None})
MEDIA, MAIN, FILE, CATEGORY = -2, 0, 6, 14


@dataclass
class Links:
    """The links to articles in a text, as columns: offsets in code points, end exclusive, ascending."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    fragments: list[str] = field(default_factory=list)


class LinkReader:
    """Reads the links of one wiki; remembers how it read the targets it has seen."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._trail = site.link_trail.match
        self._prefix = re.compile(f"[{site.link_prefix}]+$").search if site.link_prefix else None
        self._target: Callable[[str], Target | None] = lru_cache(maxsize=1 << 17)(lambda raw: parse_target(raw, site))

    def linked_titles(self, text: str, own_title: str) -> list[str]:
        """Return the articles that raw wikitext names as link targets anywhere, sorted; the page itself left out."""
        found = set()
        for raw in set(_RAW_TARGET.findall(text)):
            target = self._target(raw)
            if target is not None and target.namespace == MAIN and not target.interwiki and target.title:
                found.add(target.title)
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
        parts = text.split("[[")
        trail, prefix, links, other_links = self._trail, self._prefix, Links(), Links()
        pieces = [parts[0].replace(SEAM, "")]
        position = len(pieces[0])
        for part in parts[1:]:
            inner, closed, rest = part.partition("]]")
            raw, bar, label = inner.partition("|")
            target = self._target(raw) if closed else None
            if target is None:
                counts["not_a_link"] += 1
                piece = ("[[" + part).replace(SEAM, "")
                pieces.append(piece)
                position += len(piece)
                continue
            if "[" in label and rest[:1] == "]":
                label, rest = label + "]", rest[1:]
            kind = self._kind(target, own_title)
            if kind in ("category", "file", "language"):
                counts[kind] += 1
                rest = rest.replace(SEAM, "")
                pieces.append(rest)
                position += len(rest)
                continue
            shown = label if bar else raw.strip().removeprefix(":").strip()
            if rest[:1] not in ("", " ", "\n", SEAM) and (ending := trail(rest)):
                shown, rest = shown + ending[0], rest[ending.end() :]
            if prefix is not None and (beginning := prefix(pieces[-1])) and pieces[-1]:
                shown = beginning[0] + shown
                pieces[-1] = pieces[-1][: beginning.start()]
                position -= len(beginning[0])
            rest = rest.replace(SEAM, "")
            if "\n" in shown or SEAM in shown:
                shown = shown.translate(_LABEL_BREAKS)
            anchor = shown.strip()
            if not anchor.strip(GAP):
                # The label was a template that is not known here: words are missing.
                counts["empty_label"] += 1
                shown = GAP
            else:
                counts[kind] += 1
                if kind in ("link", "namespace"):
                    found = links if kind == "link" else other_links
                    start = position + len(shown) - len(shown.lstrip())
                    found.starts.append(start)
                    found.ends.append(start + len(anchor))
                    found.targets.append(target.title)
                    found.fragments.append(target.fragment)
            pieces.append(shown)
            pieces.append(rest)
            position += len(shown) + len(rest)
        return "".join(pieces), links, other_links

    def _kind(self, target: Target, own_title: str) -> str:
        """Return "link" for a link to another article, else the reason why it is none."""
        if target.interwiki:
            return "language" if target.interwiki in self._site.interlanguage and not target.colon else "interwiki"
        if target.namespace == MAIN:
            return "link" if target.title and target.title != own_title else "self"
        if target.namespace in (CATEGORY, FILE) and not target.colon:
            return "category" if target.namespace == CATEGORY else "file"
        return "namespace"
