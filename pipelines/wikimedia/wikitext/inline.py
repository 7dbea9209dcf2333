"""Put what a template shows into the line of its call.

A template that makes a block of its own (a table, a box, a list) is no part of a sentence. It shows nothing at the
beginning and at the end of a line, and leaves its gap inside of one. A line of nothing but templates shows nothing
either: these are notices, navigation and signs for editors.
"""

from __future__ import annotations

import re
from collections import Counter

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext.link_counts import NOTICES, links_in
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LIST, NAMED, SEAM

# Around what a template shows, up to `join_lines`; line marks come into the text later than templates.
_OPEN, _CLOSE = HEADING, LIST
_BLOCK = f"{_OPEN}{_CLOSE}{GAP}"
_MARKED = re.compile(f"({_BLOCK}{NAMED}*|{_OPEN}[^{_OPEN}{_CLOSE}]*{_CLOSE})")
_TAGS = package_json("pipelines.wikimedia", "tags.json")
_MAKES_BLOCK = re.compile(
    rf"(?:^|\n)[ \t]*(?:\{{\||[:;*#=|!]|----)|\n[ \t]*\n|<(?:{'|'.join(_TAGS['makes_block'])})\b", re.IGNORECASE
)
_HIDDEN = re.compile(rf"<({'|'.join(_TAGS['hides'])})\b[^<>]*display\s*:\s*none[^<>]*>[^<>]*</\1\s*>", re.IGNORECASE)
# "[citation needed]", raised: a remark of an editor.
_AROUND = "|".join(_TAGS["around_remark"])
_NOTE = re.compile(
    rf"\s*(?:<(?:{_AROUND})\b[^<>]*>\s*)*<sup\b[^<>]*>.*</sup\s*>(?:\s*</(?:{_AROUND})\s*>)*\s*", re.I | re.S
)
_BRACKET = re.compile(r"\[(?!\[)|&#(?:91|x5b);|\(|&#(?:40|x28);", re.IGNORECASE)
# Such a remark behind words that the template shows, or before a category.
_RAISED = re.compile(r"<sup\b[^<>]*>((?:(?!</?sup\b).)*)</sup\s*>", re.IGNORECASE | re.DOTALL)
_REMARK = re.compile(r"(?:<[^<>]*>|\s|'')*(?:\[(?!\[)|&#(?:91|x5b);).*?[^\W\d_]{2}", re.IGNORECASE | re.DOTALL)
_LINK_OR_TAG = re.compile(r"\[\[[^\[\]]*\]\]|<[^<>]*>|&\w+;")


def makes_block(shown: str) -> bool:
    """Return whether wikitext that a template shows is more than a part of a line."""
    return _MAKES_BLOCK.search(shown) is not None


def inline(shown: str, gap: str) -> str:
    """Return what a call leaves in the text until `join_lines`.

    Args:
        shown: wikitext that the template shows.
        gap: the placeholder of the template.
    """
    if "display" in shown:
        shown = _HIDDEN.sub("", shown)
    if "<sup" in shown.lower():
        shown = _RAISED.sub(lambda raised: "" if _REMARK.match(raised[1]) else raised[0], shown)
    shown = shown.strip("\n")
    if not shown.strip():
        return ""
    if "<sup" in shown.lower() and _NOTE.fullmatch(shown) and _BRACKET.search(_LINK_OR_TAG.sub(" ", shown)):
        return ""
    if makes_block(shown):
        return f"{_OPEN}{_CLOSE}{gap}"
    return f"{_OPEN}{shown.replace(chr(10), ' ')}{_CLOSE}"


def join_lines(text: str, dropped: Counter[str]) -> str:
    """Resolve what `inline` left, line by line.

    Args:
        text: wikitext with what `inline` left.
        dropped: counts the links in lines of nothing but templates (`link_counts`), and as "text:notices" the
            characters that these show.

    >>> dropped = Counter()
    >>> notice, box = inline("A notice.", GAP), inline("{|" + chr(10) + "|}", GAP)
    >>> [join_lines(line, dropped) for line in (f"{notice} {box}", f"{box}It is {notice}", f"a {box} b")]
    ['', 'It is A notice.', 'a \\x01 b']
    >>> dropped
    Counter({'text:notices': 9})
    """
    if _OPEN not in text:
        return text
    return "\n".join([_line(line, dropped) if _OPEN in line else line for line in text.split("\n")])


def _line(line: str, dropped: Counter[str]) -> str:
    # Text and what templates show, alternately; text first and last.
    pieces = _MARKED.split(line)
    if not "".join(pieces[::2]).strip(f" \t{SEAM}{GAP}{NAMED}"):
        if characters := sum(len(piece) - 2 for piece in pieces[1::2] if not piece.startswith(_BLOCK)):
            dropped["text:notices"] += characters
        if links := links_in(line):
            dropped[NOTICES] += links
        return ""
    first, last = 0, len(pieces) - 1
    while first < last and not pieces[first].strip() and pieces[first + 1].startswith(_BLOCK):
        first += 2
    while last > first and not pieces[last].strip() and pieces[last - 1].startswith(_BLOCK):
        last -= 2
    return "".join(pieces[first : last + 1]).replace(_OPEN, "").replace(_CLOSE, "")
