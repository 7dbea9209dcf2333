"""Remove superfluous blanks: in runs, and beside punctuation where something was removed.

A blank before a comma that an editor wrote stays, as in MediaWiki. So the passes that remove something put a
placeholder (REMOVED) where it leaves a blank beside punctuation.
"""

from __future__ import annotations

import re

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, REMOVED, SEAM

_TAB_IN_TARGET = re.compile(r"(\[\[[^\[\]|\t\n]*)\t")
# A Japanese particle before a link or another kind of character; a word such as もの goes on in hiragana.
_PARTICLES: list[str] = package_json("pipelines.wikimedia", "characters.json")["particles"]
_PARTICLE = rf"(?:{'|'.join(_PARTICLES)})(?:\[\[|[^\u3041-\u3096\s])"
_FOLLOWING = frozenset((" ", ".", ",", ")", "）", SEAM, *(particle[0] for particle in _PARTICLES)))
_OPENING = frozenset("(（")
# "word <ref/> .NET" and "word <ref/> ..." keep their blank.
_SIGN = re.compile(rf"[ {SEAM}{REMOVED}]*(?:[.,](?![\w.,])|[)）]|{_PARTICLE})")
_LOOSE_SIGN = re.compile(rf" ?{REMOVED}[ {SEAM}{REMOVED}]*([.,)）]?)")
_SHORT_WORD: int = package_json("pipelines.wikimedia", "limits.json")["short_word"]
_ENDS = frozenset(".!?…")
_JAPANESE = re.compile("[\u30a1-\u30ff\u3005\u4e00-\u9fff」』）(（]")
_HIRAGANA = re.compile("[\u3041-\u3096]")


def removed(before: str, text: str, end: int = 0) -> str:
    """Return what stands for something that is removed and shows nothing: REMOVED if it leaves a blank before a full
    stop, a comma, a closing bracket or a Japanese particle, or after an opening bracket.

    Args:
        before: the character before it.
        text: that follows it, from `end` on.
        end: offset in `text`.

    >>> removed(" ", ", too") == REMOVED, removed("a", " , too") == REMOVED, removed("a", ", too"), removed(" ", "too")
    (True, True, '', '')
    """
    following = text[end : end + 1]
    if following not in _FOLLOWING:
        return ""
    if before in _OPENING:
        return REMOVED if following == " " else ""
    loose = before == " " or (following == " " and before != "\n")
    return REMOVED if loose and _SIGN.match(text, end) else ""


def fold_spaces(text: str) -> str:
    """Replace tabs and runs of blanks by one blank."""
    if "\t" in text:
        # No target of a link contains a tab.
        text = _TAB_IN_TARGET.sub(rf"\1{SEAM} ", text).replace("\t", " ")
    first, *parts = text.split("  ")
    return first + "".join([" " + rest for part in parts if (rest := part.lstrip(" "))]) if parts else text


def close_up(text: str) -> str:
    """Remove the blanks that something removed, such as a footnote, left beside punctuation.

    After a short lower-case word there is a gap, because words are missing in "an area of .".

    >>> close_up(f"in a battle {REMOVED}. It ended , too")
    'in a battle. It ended , too'
    >>> close_up(f"an area of {REMOVED}.") == f"an area of {GAP}."
    True
    >>> close_up(f"この研究所{REMOVED} では人が")
    'この研究所では人が'
    """
    return _LOOSE_SIGN.sub(_close_up, text) if REMOVED in text else text


def _close_up(match: re.Match[str]) -> str:
    if not match[1] and _HIRAGANA.match(match.string, match.end()):
        # A particle. After a link, what counts is its last character.
        end = match.string[max(0, match.start() - 8) : match.start()].rstrip(f"]{SEAM}")[-1:]
        return "" if _JAPANESE.match(end) else " "
    before = match.string[max(0, match.start() - _SHORT_WORD - 1) : match.start()]
    word = before.rpartition(" ")[2].rpartition("\n")[2]
    if match[1] in (".", ",") and len(word) <= _SHORT_WORD and word.isalpha() and word.islower():
        return f" {GAP}{match[1]}"
    return "" if match[1] == "." and before[-1:] in _ENDS else match[1]
