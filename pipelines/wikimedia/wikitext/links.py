"""Internal links: replace each [[target|label]] by its visible text, and record its offsets and target.

https://www.mediawiki.org/wiki/Help:Links
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from io import StringIO
from urllib.parse import unquote_to_bytes

from wikianchor.pipelines.wikimedia.interwiki import WikipediaLinks
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.titles import parse_not_plain, plain_title
from wikianchor.pipelines.wikimedia.wikitext.breaks import Breaks, without_removed
from wikianchor.pipelines.wikimedia.wikitext.characters import decode_entities
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, LINE_MARKS, NAMED, SEAM, protect, restore
from wikianchor.pipelines.wikimedia.wikitext.stretches import pieces_between

_RAW_TARGET = re.compile(r"\[\[([^\[\]{}|<>\n]+)")
_CONTROL = re.compile(r"[\x00-\x1f]")
_LABEL_BREAKS = str.maketrans(dict.fromkeys("\n" + LINE_MARKS, " ") | {ord(SEAM): None})
_AMPERSAND = protect("&")
MEDIA, MAIN, FILE, CATEGORY = -2, 0, 6, 14
# Kinds of links that show nothing.
_HIDDEN = frozenset(("not_a_link", "category", "file", "language"))
# Those that MediaWiki removes together with the blanks before them.
_WITHOUT_PLACE = frozenset(("category", "language"))
# Longer targets are not cached: hostile ones would fill the memory.
_CACHED_LENGTH = 300
_CACHE_SIZE = 1 << 13


@dataclass
class Links:
    """The links in a text, as columns.

    Attributes:
        starts: offset of the first code point of each link, ascending.
        ends: offset after its last code point.
        targets: title of the page linked to, normalised; redirects are not followed.
        fragments: section after "#", or "".
    """

    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))
    targets: list[str] = field(default_factory=list)
    fragments: list[str] = field(default_factory=list)

    def add(self, start: int, end: int, target: str, fragment: str) -> None:
        """Append a link."""
        self.starts.append(start)
        self.ends.append(end)
        self.targets.append(target)
        self.fragments.append(fragment)


@dataclass
class Structure:
    """What `documents` has of a page besides its text and links.

    Attributes:
        breaks: the line feeds that replace tags.
        categories: its categories without the name of the namespace, in order.
        wikipedia_links: links to articles of other Wikipedias in the text.
        wikis: database names of their wikis.
    """

    breaks: Breaks = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    wikipedia_links: Links = field(default_factory=Links)
    wikis: list[str] = field(default_factory=list)


class _TargetCache(dict[str, tuple[str, str, str]]):
    """Parsed targets. A page is read twice, for its links and for its text, and many targets occur often."""

    def __init__(self, site: Site, read: Callable[[str], tuple[str, str, str]]) -> None:
        super().__init__()
        self._site, self._read = site, read

    def __missing__(self, raw: str) -> tuple[str, str, str]:
        if len(self) >= _CACHE_SIZE:
            self.clear()
        plain = plain_title(raw, self._site)
        target = self._read(raw) if plain is None else ("link", plain, "")
        if len(raw) < _CACHED_LENGTH:
            self[raw] = target
        return target


@lru_cache(maxsize=256)
def letters_of(pattern: str) -> str:
    """Return the characters of the first plane that a pattern matches alone."""
    return "".join(filter(re.compile(pattern).match, map(chr, range(0xD800))))


class LinkReader:
    """Reads the links of one wiki."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._trail = site.link_trail.match
        # Most links have no trail, which a look at the next character shows faster than the pattern.
        self._trail_letters = frozenset(letters_of(site.link_trail.pattern))
        self._prefix_letters = letters_of(f"[{site.link_prefix}]") if site.link_prefix else ""
        self._targets = _TargetCache(site, self._read)
        self._read_wikipedia = WikipediaLinks(site).read

    def linked_titles(self, text: str, page_title: str) -> list[str]:
        """Return the titles of all articles that the wikitext links to, sorted, without the page itself.

        Args:
            text: raw wikitext; links in tables, captions, references and template arguments count too.
            page_title: title of the page.
        """
        targets = map(self._targets.__getitem__, set(_RAW_TARGET.findall(text)))
        linked = {title for kind, title, _ in targets if kind == "link"}
        linked.discard(page_title)
        return sorted(linked)

    def read_target(self, raw: str) -> tuple[str, str, str]:
        """Return (kind, title, fragment) of a link target.

        The kind is "link" for a link to an article, otherwise "namespace", "self", "category", "file", "media",
        "language", "interwiki" or "not_a_link".
        """
        return self._targets[raw]

    def split_links(
        self, text: str, page_title: str, counts: Counter[str], structure: Structure | None = None
    ) -> tuple[str, Links, Links]:
        """Replace each link by its visible text.

        Args:
            text: wikitext without other markup.
            page_title: title of the page; a link to it is bold text to a reader.
            counts: counts each "[[" by its kind (`read_target`), or as "empty_label".
            structure: if given, gets the categories and the links to Wikipedias, and loses the breaks in labels.

        Returns:
            The visible text, the links to articles in it, and the links to other namespaces.
        """
        links, other_links = Links(), Links()
        targets, trail_letters, prefix_letters = self._targets, self._trail_letters, self._prefix_letters
        output = StringIO()
        write = output.write
        parts = pieces_between(text, "[[")
        # The text before the next link is written late, because a link prefix may be taken from its end.
        before = next(parts)
        position = 0
        # Offsets of links over several lines, and the line feeds that they lose.
        joined: list[tuple[int, int]] = []
        for part in parts:
            inner, closed, rest = part.partition("]]")
            raw, bar, label = inner.partition("|")
            kind, title, fragment = targets[raw]
            if not closed or (bar and not label):
                kind = "not_a_link"
            if kind in _HIDDEN:
                counts[kind] += 1
                if kind in _WITHOUT_PLACE:
                    before = before.rstrip(" ")
                position += write(before.replace(SEAM, ""))
                before = rest
                if kind == "not_a_link":
                    position += write("[[")
                    before = part
                elif structure is not None:
                    if "\n" in inner:
                        joined.append((position, inner.count("\n")))
                    if kind == "category":
                        structure.categories.append(title.partition(":")[2])
                continue
            if "[" in label and rest[:1] == "]":
                label, rest = label + "]", rest[1:]
            shown = label if bar else _shown_target(raw) if "%" in raw else raw.lstrip(" ").removeprefix(":")
            if rest[:1] in trail_letters or prefix_letters:
                before, shown, rest = self._extend(before, shown, rest)
            if "\n" in shown or SEAM in shown:
                shown = shown.translate(_LABEL_BREAKS)
            anchor = shown.strip()
            if anchor != shown:
                shown = _single_blanks(before or "\n"[position:], shown, rest)
            position += write(before.replace(SEAM, ""))
            before = rest
            if "\n" in label:
                joined.append((position, label.count("\n")))
            if not anchor or (anchor[0] == GAP and not anchor.strip(GAP + NAMED + " ")):
                # The label was a template without a rule: words are missing.
                counts["empty_label"] += 1
                position += write(anchor or shown[:1])
                continue
            start = position if anchor == shown else position + len(shown) - len(shown.lstrip())
            if kind == "link" and title != page_title:
                links.add(start, start + len(anchor), title, fragment)
            elif kind == "namespace":
                other_links.add(start, start + len(anchor), title, fragment)
            else:
                counts["self" if kind == "link" else kind] += 1
                if (
                    structure is not None
                    and kind == "interwiki"
                    and (target := self._read_wikipedia(_unprotected(raw)))
                ):
                    wiki, title, fragment = target
                    structure.wikipedia_links.add(start, start + len(anchor), title, fragment)
                    structure.wikis.append(wiki)
            position += write(shown)
        write(before.replace(SEAM, ""))
        if structure is not None:
            structure.breaks = without_removed(structure.breaks, joined, output.getvalue())
        counts["link"] = len(links.starts)
        counts["namespace"] = len(other_links.starts)
        return output.getvalue(), links, other_links

    def _extend(self, before: str, label: str, rest: str) -> tuple[str, str, str]:
        """Move the letters of the link prefix and the link trail from the text around a link to its label."""
        if rest[:1] in self._trail_letters and (trail := self._trail(rest)):
            label, rest = label + trail[0], rest[trail.end() :]
        if self._prefix_letters and before and before[-1] in self._prefix_letters:
            remaining = before.rstrip(self._prefix_letters)
            before, label = remaining, before[len(remaining) :] + label
        return before, label, rest

    def _read(self, raw: str) -> tuple[str, str, str]:
        """Return what `read_target` does for a target that is not a `plain_title`."""
        target = parse_not_plain(_unprotected(raw), self._site) if "\n" not in raw else None
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


def _unprotected(raw: str) -> str:
    # An "&" that was written as "&amp;" is a letter of the title too, and begins no character reference.
    return restore(raw.replace(_AMPERSAND, "&amp;"))


def _shown_target(raw: str) -> str:
    """Return what a link without a label shows; it is not percent-encoded."""
    try:
        shown = unquote_to_bytes(raw).decode()
    except UnicodeError:
        return raw
    # Only a section can contain a control character; it would be taken for a placeholder.
    return raw if _CONTROL.search(shown) else decode_entities(shown).lstrip(" ").removeprefix(":")


def _single_blanks(before: str, shown: str, rest: str) -> str:
    """Remove blanks at the edges of a link that would be doubled by the text around it."""
    if shown[-1:] == " " and rest[:1] == " ":
        shown = shown.rstrip(" ")
    if shown[:1] == " " and before[-1:] in (" ", "\n"):
        shown = shown.lstrip(" ")
    return shown
