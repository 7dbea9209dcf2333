"""Repair round brackets that lost a template: "Agassi ( ; born 1970)" becomes "Agassi (born 1970)".

The first sentence of an article says what the page is about. It often has a pronunciation, a native name or a
coordinate in brackets, nearly always from a template. Without these words the sentence is complete once the empty part
is removed.
"""

from __future__ import annotations

import re

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, NAMED, REMOVED

# A bracket and its contents. A link inside is matched as a whole, because its target may contain brackets.
_PLAIN = r"[^()（）\n\[\]]*"
_WITHIN = rf"{_PLAIN}(?:\[\[[^\[\]\n]*\]\]{_PLAIN})*"
_NARROW = re.compile(rf"\({_WITHIN}\)")
_WIDE = re.compile(rf"（{_WITHIN}）")
_SEPARATORS: str = package_json("pipelines.wikimedia", "characters.json")["separators"]
_SEPARATOR = re.compile(f"([{_SEPARATORS}])")
# Characters at the edges of a bracket that may have lost words.
_OPEN_EDGE = f" {_SEPARATORS})）{REMOVED}"
_CLOSED_EDGE = f" {_SEPARATORS}{REMOVED}"
_EMPTY = f" \t{GAP}{NAMED}{REMOVED}"
_VANISHED = "\x06"
_BEFORE_VANISHED = re.compile(rf" ?{_VANISHED}+(?: (?=[.,](?![\w.,])))?")


def mend_brackets(text: str) -> str:
    """Remove empty parts between brackets and separators, and brackets without any words.

    >>> mend_brackets("Agassi ( ; born 1970) plays. Kyiv () is a city.")
    'Agassi (born 1970) plays. Kyiv is a city.'
    """
    text = _mend(text, _NARROW)
    if "（" in text:
        text = _mend(text, _WIDE)
    return _BEFORE_VANISHED.sub("", text) if _VANISHED in text else text


def _mend(text: str, brackets: re.Pattern[str]) -> str:
    pieces: list[str] = []
    position = 0
    for match in brackets.finditer(text):
        whole = match[0]
        # A quick test first, because nearly all brackets are intact.
        if whole[1] in _OPEN_EDGE or whole[-2] in _CLOSED_EDGE or GAP in whole:
            pieces += (text[position : match.start()], _mended(match))
            position = match.end()
    return "".join((*pieces, text[position:])) if pieces else text


def _mended(match: re.Match[str]) -> str:
    whole = match[0]
    inside = whole[1:-1]
    if not inside:
        # "f()" is a call; "f ()" lost its contents.
        before = match.string[match.start() - 1 : match.start()]
        return whole if before.isalnum() or before == "_" else _VANISHED
    # Parts and separators alternate. An empty part is removed with the separator after it.
    pieces = _SEPARATOR.split(inside)
    parts, separators = pieces[::2], [*pieces[1::2], ""]
    kept = [(part, separator) for part, separator in zip(parts, separators, strict=True) if part.strip(_EMPTY)]
    if len(kept) == len(parts):
        return whole
    if not kept:
        return _VANISHED
    shown = "".join(part + separator for part, separator in kept[:-1]) + kept[-1][0]
    return whole[0] + shown.strip() + whole[-1]
