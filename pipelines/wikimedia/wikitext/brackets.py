"""Round brackets from which a template vanished: "Agassi ( ; born 1970)" becomes "Agassi (born 1970)".

Articles open with a pronunciation, a native name or a coordinate in brackets, nearly always by template. Without it the
sentence is whole as long as no empty place is left, and it is the sentence that says what the page is about.
"""

from __future__ import annotations

import re

from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, NAMED

# A bracket and what stands in it; a link within is taken as one piece, since its target may have brackets of its own.
_PLAIN = r"[^()（）\n\[\]]*"
_WITHIN = rf"{_PLAIN}(?:\[\[[^\[\]\n]*\]\]{_PLAIN})*"
_NARROW = re.compile(rf"\({_WITHIN}\)")
_WIDE = re.compile(rf"（{_WITHIN}）")
_SEPARATOR = re.compile(r"([,;、，；])")
# What stands at the edge of a bracket that may have lost something.
_OPEN_EDGE = " ,;、，；)）"
_CLOSED_EDGE = " ,;、，；"
_EMPTY = f" \t{GAP}{NAMED}"
_VANISHED = "\x06"
_BEFORE_VANISHED = re.compile(rf" ?{_VANISHED}+")


def mend_brackets(text: str) -> str:
    """Remove empty places between brackets and separators, and brackets that hold nothing else."""
    text = _mend(text, _NARROW)
    if "（" in text:
        text = _mend(text, _WIDE)
    return _BEFORE_VANISHED.sub("", text) if _VANISHED in text else text


def _mend(text: str, brackets: re.Pattern[str]) -> str:
    pieces: list[str] = []
    position = 0
    for match in brackets.finditer(text):
        whole = match[0]
        # Nearly all are whole, so this has to be quick.
        if whole[1] in _OPEN_EDGE or whole[-2] in _CLOSED_EDGE or GAP in whole:
            pieces += (text[position : match.start()], _mended(match))
            position = match.end()
    return "".join((*pieces, text[position:])) if pieces else text


def _mended(match: re.Match[str]) -> str:
    whole = match[0]
    inside = whole[1:-1]
    if not inside:
        # "f()" is a call; "f ()" had something in it.
        before = match.string[match.start() - 1 : match.start()]
        return whole if before.isalnum() or before == "_" else _VANISHED
    # Places and separators by turns; a place goes with the separator after it.
    parts = _SEPARATOR.split(inside)
    places, separators = parts[::2], [*parts[1::2], ""]
    kept = [(place, separator) for place, separator in zip(places, separators, strict=True) if place.strip(_EMPTY)]
    if len(kept) == len(places):
        return whole[0] + inside.strip(" ") + whole[-1]
    if not kept:
        return _VANISHED
    shown = "".join(place + separator for place, separator in kept[:-1]) + kept[-1][0]
    return whole[0] + shown.strip() + whole[-1]
