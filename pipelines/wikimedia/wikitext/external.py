"""External links: [http://... label] becomes its label.

https://www.mediawiki.org/wiki/Help:Links#External_links
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wikianchor.pipelines.wikimedia.wikitext.placeholders import protect

_PROTOCOLS = "bitcoin:|geo:|magnet:|mailto:|matrix:|news:|sips?:|sms:|tel:|urn:|xmpp:"
_SLASHED = "https?:|ftps?:|git:|gopher:|ircs?:|mms:|nntp:|redis:|sftp:|ssh:|svn:|telnet:|worldwind:"
# Two quotes end an address, because MediaWiki reads italics first. The brackets of the wiki's own links are passed over
# quickly; [[http://...]] is an external link all the same.
_OPENING = re.compile(
    rf"\[(?!\[)(?:(?<!\[\[)|(?=http))(?i:(?:{_SLASHED})?//|{_PROTOCOLS})(?:[^\s\[\]<>\"']+|'(?!'))+[ \t]*"
)


def strip_external_links(text: str, number: Callable[[str], str] | None) -> str:
    """Keep the labels of external links; a label may hold links of the wiki, which stay.

    Args:
        text: wikitext.
        number: writes a number; a link without a label is then shown as MediaWiki does, [1], [2]. Without it, such a
            link vanishes like a footnote.
    """
    match = _OPENING.search(text)
    if match is None:
        return text
    pieces, position, count = [], 0, 0
    # The next "]" and the next line feed at or after the label: looked for once each, so that a line full of links
    # without an end takes no longer than another.
    close = newline = -1
    while match is not None:
        label = match.end()
        if newline < label and (newline := text.find("\n", label)) < 0:
            newline = len(text)
        close = _label_end(text, label, newline) if close < label else close
        if close > newline:
            # No end in this line.
            pieces.append(text[position:newline])
            position = newline
        else:
            pieces.append(text[position : match.start()])
            if close > label:
                pieces.append(text[label:close])
            elif number is not None:
                count += 1
                pieces.append(protect(f"[{number(str(count))}]"))
            position = close + 1
        match = _OPENING.search(text, position)
    pieces.append(text[position:])
    return "".join(pieces)


def _label_end(text: str, position: int, newline: int) -> int:
    """Return where the "]" stands that is not one of a link's "]]", or a place beyond the line."""
    while True:
        close = text.find("]", position, newline)
        if close < 0:
            return newline + 1
        opening = text.find("[[", position, close)
        if opening < 0 or not text.startswith("]]", close):
            return close
        position = close + 2
