"""Replace external links, [http://... label], by their labels.

https://www.mediawiki.org/wiki/Help:Links#External_links
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext.blanks import removed
from wikianchor.pipelines.wikimedia.wikitext.placeholders import SEAM, protect

_DATA = package_json("pipelines.wikimedia", "characters.json")
_PROTOCOLS, _SLASHED = "|".join(_DATA["schemes"]), "|".join(_DATA["slashed_schemes"])
# Two apostrophes end an address, because MediaWiki reads italics first. The lookaheads skip the brackets of internal
# links quickly; [[http://...]] and [[//...]] are external links nevertheless. An address of IPv6 is in brackets.
_REST = r"(?:[^\s\[\]<>\"']+|'(?!'))"
_OPENING = re.compile(
    rf"\[(?!\[)(?:(?<!\[\[)|(?=http|//))(?i:(?:{_SLASHED})?//|{_PROTOCOLS})"
    rf"(?:\[[0-9a-fA-F:.]+\]{_REST}*|{_REST}+)[ \t]*"
)


_TERM = re.compile(r"[*#:]*;")
_COLON = protect(":")
# What may stand between the beginning of an internal link and an external link in its label.
_IN_LABEL = re.compile(r"\[\[[^\[\]{}<>|\n]+\|[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\Z")
_IN_LABEL_LENGTH: int = package_json("pipelines.wikimedia", "limits.json")["external_label"]


def strip_external_links(text: str, number: Callable[[str], str] | None) -> str:
    """Replace external links by their labels; internal links inside a label stay.

    Args:
        text: wikitext.
        number: formats a number. With it, a link without a label becomes [1], [2] as in MediaWiki; with None, it is
            removed like a footnote.

    >>> strip_external_links("See [https://a.org the page] [https://b.org] there.", None)
    'See the page  there.'
    """
    match = _OPENING.search(text)
    if match is None:
        return text
    pieces, position, count = [], 0, 0
    # The next "]" and the next line feed after the label. Each is searched once, so that a line of many unclosed links
    # takes linear time.
    close = newline = -1
    is_term = False
    while match is not None:
        label = match.end()
        if newline < label:
            is_term = _TERM.match(text, text.rfind("\n", max(newline, 0), label) + 1) is not None
            if (newline := text.find("\n", label)) < 0:
                newline = len(text)
        close = _label_end(text, label, newline) if close < label else close
        if _is_in_label(text, match.start(), newline):
            pieces.append(text[position:label])
            position = label
        elif close > newline:
            # Not closed in this line.
            pieces.append(text[position:newline])
            position = newline
        else:
            pieces.append(text[position : match.start()])
            if close > label:
                if text[match.start() - 1 : match.start()] not in " \n":
                    # A link has no trail or prefix across the brackets.
                    pieces.append(SEAM)
                # The colon that ends a term is outside of links.
                pieces.append(text[label:close].replace(":", _COLON) if is_term else text[label:close])
                if text[close - 1] == "]" or text[close + 1 : close + 2] == "[":
                    pieces.append(SEAM)
            elif number is not None:
                count += 1
                pieces.append(protect(f"[{number(str(count))}]"))
            else:
                pieces.append(removed(text[match.start() - 1 : match.start()], text, close + 1))
            position = close + 1
        match = _OPENING.search(text, position)
    pieces.append(text[position:])
    return "".join(pieces)


def _is_in_label(text: str, start: int, newline: int) -> bool:
    """Return whether an external link is in the label of an internal link, where MediaWiki shows it as text."""
    before = text[max(0, start - _IN_LABEL_LENGTH) : start]
    opening = before.rfind("[[")
    if opening < 0 or not _IN_LABEL.match(before, opening):
        return False
    close = text.find("]]", start + 1, start + _IN_LABEL_LENGTH)
    return close >= 0 and text.find("[[", start + 1, close) < 0


def _label_end(text: str, position: int, newline: int) -> int:
    """Return the offset of the first "]" that does not close an internal link; an offset after the line if there is
    none."""
    while True:
        close = text.find("]", position, newline)
        if close < 0:
            return newline + 1
        opening = text.find("[[", position, close)
        if opening < 0 or not text.startswith("]]", close):
            return close
        position = close + 2
