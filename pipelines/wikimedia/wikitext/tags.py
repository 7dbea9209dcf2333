"""Remove comments, extension tags and HTML tags.

Extension tags (https://www.mediawiki.org/wiki/Parser_extension_tags) are removed first, as by MediaWiki's preprocessor,
because their contents are not wikitext of the page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from io import StringIO

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext.blanks import removed
from wikianchor.pipelines.wikimedia.wikitext.breaks import Breaks, break_of, with_inserted
from wikianchor.pipelines.wikimedia.wikitext.characters import decode_entities
from wikianchor.pipelines.wikimedia.wikitext.link_counts import COMMENT, NOWIKI, links_in
from wikianchor.pipelines.wikimedia.wikitext.placeholders import BREAK, GAP, HEADING, LIST, PREFORMATTED, SEAM, protect
from wikianchor.pipelines.wikimedia.wikitext.stretches import pieces_between

_TAGS = package_json("pipelines.wikimedia", "tags.json")
_EXTENSIONS: Mapping[str, str] = _TAGS["extensions"]
# What replaces an extension tag of a kind; a formula leaves a gap in its sentence, a footnote or an image does not.
_REPLACEMENTS = {
    **{"gap": GAP, "break": BREAK, "gallery": BREAK, "references": BREAK},
    **dict.fromkeys(("nothing", "hidden", "reference"), ""),
}
_KEPT: Mapping[str, str] = _TAGS["kept"]
_BREAKS = tuple(name for name, kind in _KEPT.items() if kind == "break")
_OPENING = re.compile(r"<(?:!--|([a-zA-Z]+)(?=[\s/>]))")
_LIST_LINE = re.compile(r"\n(?=[*#:;])")
# An HTML tag over several lines; to MediaWiki the line goes on after it.
_LINES_OF_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]*)(?:[ \t/][^<>\n]*)?\n[^<>]*>")
# Within <pre> these tags are not shown.
_NOWIKI = re.compile(r"<nowiki>(.*?)</nowiki>", re.IGNORECASE | re.DOTALL)
_KEPT_TAGS = re.compile(rf"</?(?i:{'|'.join(_KEPT)})(?=[\s/>])[^<>]*>")

HTML_TAGS: Mapping[str, str] = _TAGS["html"]
"""The kind of each HTML tag, by its name in lower case."""
# Tags that end a line; what shows nothing elsewhere are inline tags, and parts of a table outside of a table.
_BLOCKS = frozenset(name for name, kind in HTML_TAGS.items() if kind in ("block", "break", "item", "heading"))
_HTML_TAG = re.compile(r"(/?)([a-zA-Z][a-zA-Z0-9]*)(?=[\s/>])[^<>]*>")
_RAISED_NUMBER = re.compile(r"[\d−+-]")
# By tag, raised and lowered digits and signs.
_RAISED_SIGNS = {name: str.maketrans(_TAGS["raised_signs"], signs) for name, signs in _TAGS["raised"].items()}
_ALL_RAISED = re.compile(f"[{re.escape(_TAGS['raised_signs'])}]+\\Z").match


@lru_cache(maxsize=64)
def _closing(name: str) -> re.Pattern[str]:
    return re.compile(rf"</(?i:{name})\s*>")


def strip_extension_tags(text: str, dropped: Counter[str], captions: list[str] | None = None) -> str:
    """Remove comments and extension tags; protect the contents of nowiki and pre.

    Args:
        text: wikitext.
        dropped: counts the removed links, as "reference", "caption" (in a gallery), "extension_tag", or what
            `link_counts` calls those in comments and in verbatim text.
        captions: if given, the captions in galleries that contain links are appended, with their options, and not
            counted.
    """
    if "<" not in text:
        return text
    pieces, position, unclosed = [], 0, set()
    tag_end = 0
    # The character before the tag.
    before = ""
    match = _OPENING.search(text)
    while match:
        start, end, shown = match.start(), match.end(), ""
        if match[1] is None:
            start, end = _comment(text, start)
            if links := text.count("[[", start, end):
                dropped[COMMENT] += links
        else:
            name = match[1].lower()
            if name not in _EXTENSIONS:
                match = _OPENING.search(text, end)
                continue
            # Many tags may share the next ">".
            if tag_end <= end and (tag_end := text.find(">", end) + 1) == 0:
                # No tag is closed from here on; an unclosed comment extends to the end.
                comment = text.find("<!--", end)
                pieces.append(text[position:] if comment < 0 else text[position:comment])
                if comment >= 0 and (links := text.count("[[", comment)):
                    dropped[COMMENT] += links
                position = len(text)
                break
            if text[tag_end - 2] == "/":
                content, end = "", tag_end
            elif name not in unclosed and (close := _closing(name).search(text, tag_end)):
                content, end = text[tag_end : close.start()], close.end()
            else:
                # MediaWiki shows an unclosed extension tag as text. Do not search for its end again.
                if _EXTENSIONS[name] == "pre" and name not in unclosed:
                    # From here on no line begins a list. The ">" may be at another offset now.
                    text, tag_end = text[:end] + _LIST_LINE.sub(f"\n{SEAM}", text[end:]), 0
                unclosed.add(name)
                match = _OPENING.search(text, end)
                continue
            kind = _EXTENSIONS[name]
            if kind == "gallery" and "[[" in content:
                content = _without_captions(content, dropped, captions)
            shown = _replacement(kind, content, dropped)
            if not shown and kind != "hidden":
                # A link has no trail or prefix across a footnote, and a heading and a list begin and end beside none.
                adjacent, after = text[start - 1 : start], text[end : end + 1]
                seam = adjacent in "]'\n=}" or after == "[" or (adjacent.isalpha() and after.isalpha())
                shown = SEAM if seam else ""
        # Of several tags in a row, the character before the first.
        before = text[start - 1 : start] if start > position else before
        if not shown or shown == SEAM:
            shown = removed(before, text, end) or shown
        pieces.append(text[position:start])
        pieces.append(shown)
        position = end
        match = _OPENING.search(text, end)
    pieces.append(text[position:])
    text = _LINES_OF_TAG.sub(_in_one_line, "".join(pieces))
    return _KEPT_TAGS.sub(_kept, text) if "<" in text else text


def _kept(tag: re.Match[str]) -> str:
    return "\n" if any(name in tag[0].lower() for name in _BREAKS) else ""


def _in_one_line(tag: re.Match[str]) -> str:
    return tag[0].replace("\n", " ") if tag[1].lower() in HTML_TAGS else tag[0]


def _comment(text: str, start: int) -> tuple[int, int]:
    """Return the start and end of a comment; of its whole line if nothing else is on it, as in MediaWiki."""
    end = text.find("-->", start + 4)
    end = len(text) if end < 0 else end + 3
    line_start, line_end = start, end
    while line_start > 0 and text[line_start - 1] in " \t":
        line_start -= 1
    while line_end < len(text) and text[line_end] in " \t":
        line_end += 1
    alone = line_start > 0 and text[line_start - 1] == "\n" and text[line_end : line_end + 1] == "\n"
    return (line_start, line_end + 1) if alone else (start, end)


def _replacement(kind: str, content: str, dropped: Counter[str]) -> str:
    """Return what replaces an extension tag of a kind; count the links in it."""
    if "[[" in content:
        is_reference = kind in ("reference", "references")
        bucket = NOWIKI if kind in ("nowiki", "pre") else "reference" if is_reference else "extension_tag"
        dropped[bucket] += links_in(content)
    if kind == "nowiki":
        shown = protect(decode_entities(content.replace("\n", BREAK)))
        # Parser functions do not trim blanks that are protected.
        return f"{SEAM}{shown}{SEAM}" if shown != shown.strip(" ") or not shown else shown
    if kind == "pre":
        lines = decode_entities(_NOWIKI.sub(r"\1", content)).strip("\n").split("\n")
        return BREAK + BREAK.join(PREFORMATTED + protect(line) for line in lines) + BREAK
    return _REPLACEMENTS[kind]


def _without_captions(gallery: str, dropped: Counter[str], captions: list[str] | None) -> str:
    """Return the lines of a gallery without links in a caption; count the links of the others."""
    others: list[str] = []
    for line in strip_extension_tags(gallery, dropped).split("\n"):
        caption = line.partition("|")[2]
        if "[[" in caption and "[[" not in line[: -len(caption)]:
            if captions is None:
                dropped["caption"] += links_in(caption)
            else:
                captions.append(caption)
        else:
            others.append(line)
    return "\n".join(others)


def _is_target(text: str) -> bool:
    """Return whether a text ends within the target of a link."""
    opening = text.rfind("[[")
    return text.find("]", opening) < 0 and text.find("|", opening) < 0


def _marked_heading(text: str, level: int) -> str:
    """Mark the first line with text as a heading; the opening tag may stand on a line before it."""
    start = text.rfind("\n", 0, len(text) - len(text.lstrip(" \t\n"))) + 1
    return text[:start] + HEADING * level + text[start:]


def strip_html_tags(text: str, breaks: Breaks | None = None) -> str:
    """Replace block tags by line feeds and remove inline tags; unknown tags stay, as in MediaWiki.

    Args:
        text: wikitext with lines that are marked.
        breaks: if given, those of the text, to which the line feeds that replace tags are added.

    >>> strip_html_tags("a <b>bold</b> 10<sup>6</sup>x<unknown>").replace(GAP, "?").replace(SEAM, "")
    'a bold 10⁶x<unknown>'
    """
    if "<" not in text:
        return text
    parts = pieces_between(text, "<")
    before = next(parts)
    output = StringIO()
    output.write(before)
    opened: Counter[str] = Counter()
    inserted: Breaks = []
    feeds = 0 if breaks is None else before.count("\n")
    for part in parts:
        match = _HTML_TAG.match(part)
        kind = HTML_TAGS.get(match[2].lower()) if match else None
        if match is None or kind is None:
            output.write("<")
            output.write(part)
            feeds += 0 if breaks is None else part.count("\n")
            before = part
            continue
        rest = part[match.end() :]
        name = match[2].lower()
        shown, raised = "\n" if name in _BLOCKS else "", ""
        if match[1]:
            # A browser breaks the line at </br> and </p> too; another tag shows nothing without its opening tag.
            if shown and kind != "break":
                shown = shown if opened[name] else ""
                opened[name] -= bool(shown)
        elif shown:
            opened[name] += 1
            if kind == "item":
                shown += LIST
        elif kind == "raised" and before[-1:].isdigit() and _RAISED_NUMBER.match(rest):
            # 10<sup>6</sup> would read 106.
            if _ALL_RAISED(rest):
                raised = rest.translate(_RAISED_SIGNS[name])
            else:
                shown = GAP
        if not shown and "[[" in before and _is_target(before):
            # No target of a link contains a tag.
            shown = SEAM
        elif not shown and (before[-1:].isalpha() or before[-1:] == "]") and (rest[:1].isalpha() or rest[:1] == "["):
            # A link has no trail or prefix across a tag.
            shown = SEAM
        output.write(shown)
        output.write(raised or (rest if kind != "heading" or match[1] else _marked_heading(rest, int(name[-1]))))
        if breaks is not None:
            if shown.startswith("\n"):
                inserted.append((feeds, break_of(name, is_closing=bool(match[1]))))
                feeds += 1
            feeds += rest.count("\n")
        before = rest or shown or before[-1:]
    if breaks is not None:
        breaks[:] = with_inserted(breaks, inserted)
    return output.getvalue()
