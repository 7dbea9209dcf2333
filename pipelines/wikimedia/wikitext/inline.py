"""Put what a template shows into the line of its call.

A template that makes a block of its own (a table, a box, a list) is no part of a sentence. It shows nothing at the
beginning and at the end of a line, and leaves its gap inside of one. A line of nothing but templates shows nothing
either: these are notices, navigation and signs for editors. But elements such as <div>, alone on their line, around
prose that the page itself gives them are text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

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
_FRAME = re.compile(rf"<(?:{'|'.join(_TAGS['frames'])})\b", re.IGNORECASE)
_TABLE = re.compile(r"(?:^|\n)[ \t]*\{\|")
_TAG, _BESIDE = re.compile(r"<[^<>]*>"), re.compile("|".join(_TAGS["beside_text"]))
# Characters of an argument that may be prose; shorter ones are names, dates and labels.
_PROSE: int = package_json("pipelines.wikimedia", "limits.json")["prose"]


def makes_block(shown: str) -> bool:
    """Return whether wikitext that a template shows is more than a part of a line."""
    return _MAKES_BLOCK.search(shown) is not None


def frames_text(body: str) -> bool:
    """Return whether a template has elements such as <div>, which may stand around text, and no table.

    >>> [frames_text(body) for body in ("<div>{{{1}}}</div>", "<span>{{{1}}}</span>", "{| <div>{{{1}}}</div> |}")]
    [True, False, False]
    """
    return _FRAME.search(body) is not None and not _TABLE.search(body)


def prose_of(arguments: Iterable[str]) -> list[str]:
    """Return those arguments of a call that may be prose, without links and tags."""
    return [prose for text in arguments if len(prose := _LINK_OR_TAG.sub("", text).strip()) >= _PROSE]


def shows_prose(shown: str, prose: Iterable[str]) -> bool:
    """Return whether a template shows one of these texts (`prose_of`) outside of links, and in the text: not floating
    beside it, nor in an element of a class that is left out of it on many wikis.

    >>> prose = prose_of(["A list of the [[town]]s of the country."])
    >>> [shows_prose(f'<div class="{name}">{prose[0]}</div>', prose) for name in ("note", "hatnote")]
    [True, False]
    """
    text = "" if any(map(_BESIDE.search, _TAG.findall(shown))) else _LINK_OR_TAG.sub("", shown)
    return any(part in text for part in prose)


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
    is_note = "<sup" in shown.lower() and _NOTE.fullmatch(shown) and _BRACKET.search(_LINK_OR_TAG.sub(" ", shown))
    if not shown.strip() or is_note:
        return ""
    return f"{_OPEN}{_CLOSE}{gap}" if makes_block(shown) else f"{_OPEN}{shown.replace(chr(10), ' ')}{_CLOSE}"


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
