"""Remove comments, extension tags and HTML tags.

Extension tags (https://www.mediawiki.org/wiki/Parser_extension_tags) are removed first, as by MediaWiki's preprocessor,
because their contents are not wikitext of the page.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from io import StringIO

from wikianchor.pipelines.wikimedia.wikitext.blanks import removed
from wikianchor.pipelines.wikimedia.wikitext.characters import decode_entities
from wikianchor.pipelines.wikimedia.wikitext.link_counts import COMMENT, NOWIKI, links_in
from wikianchor.pipelines.wikimedia.wikitext.placeholders import BREAK, GAP, HEADING, LIST, PREFORMATTED, SEAM, protect
from wikianchor.pipelines.wikimedia.wikitext.stretches import pieces_between

# Extension tag -> its replacement. A formula leaves a gap in its sentence; a footnote or an image does not.
_HOLES = ("math", "chem", "ce", "hiero", "syntaxhighlight", "source", "phonos", "chart")
_FIGURES = ("references", "gallery", "score", "timeline", "graph", "mapframe", "maplink", "imagemap", "categorytree")
_MACHINERY = (
    "ref",
    "templatestyles",
    "templatedata",
    "indicator",
    "section",
    "inputbox",
    "categorytree",
    "includeonly",
)
_DROPPED = {**dict.fromkeys(_HOLES, GAP), **dict.fromkeys(_FIGURES, BREAK), **dict.fromkeys(_MACHINERY, "")}
_KEPT = ("noinclude", "onlyinclude", "poem", "translate", "tvar", "langconvert")
_VERBATIM = ("nowiki", "pre")
_EXTENSIONS = frozenset((*_DROPPED, *_VERBATIM))
_OPENING = re.compile(r"<(?:!--|([a-zA-Z]+)(?=[\s/>]))")
_LIST_LINE = re.compile(r"\n(?=[*#:;])")
# An HTML tag over several lines; to MediaWiki the line goes on after it.
_LINES_OF_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]*)(?:[ \t/][^<>\n]*)?\n[^<>]*>")
# Within <pre> these tags are not shown.
_NOWIKI = re.compile(r"<nowiki>(.*?)</nowiki>", re.IGNORECASE | re.DOTALL)
_KEPT_TAGS = re.compile(rf"</?(?i:{'|'.join(_KEPT)})(?=[\s/>])[^<>]*>")

_BLOCK_TAGS = "br p div ul ol dl li dd dt h1 h2 h3 h4 h5 h6 blockquote center hr section pre"
# Parts of a table outside of a table show nothing.
_TABLE_TAGS = "table caption tr td th tbody thead tfoot"
_INLINE_TAGS = (
    "b i u s em strong small big span font sub sup code tt var kbd samp cite q abbr del ins strike mark dfn bdi bdo "
    "ruby rb rt rp rtc wbr data time link meta"
)
# HTML tag -> its replacement: a block ends the line, an opening item or heading begins a line of its kind.
HTML_TAGS = {
    **dict.fromkeys(_INLINE_TAGS.split(), ""),
    **dict.fromkeys(_BLOCK_TAGS.split(), "\n"),
    **dict.fromkeys(_TABLE_TAGS.split(), ""),
}
_HTML_OPENING = {
    **dict.fromkeys(("li", "dd", "dt"), "\n" + LIST),
    **{f"h{level}": "\n" + HEADING * level for level in range(1, 7)},
}
_HTML_TAG = re.compile(r"(/?)([a-zA-Z][a-zA-Z0-9]*)(?=[\s/>])[^<>]*>")
# A browser breaks the line at </br> and </p> too.
_ALWAYS_BREAKS = frozenset(("br", "p"))
# 10<sup>6</sup> would read 106.
_RAISED = frozenset(("sup", "sub"))
_RAISED_NUMBER = re.compile(r"[\d−+-]")


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
                if name == "pre" and name not in unclosed:
                    # From here on no line begins a list. The ">" may be at another offset now.
                    text, tag_end = text[:end] + _LIST_LINE.sub(f"\n{SEAM}", text[end:]), 0
                unclosed.add(name)
                match = _OPENING.search(text, end)
                continue
            if name == "gallery" and "[[" in content:
                content = _without_captions(content, dropped, captions)
            shown = _replacement(name, content, dropped)
            if not shown and name != "includeonly":
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
    return _KEPT_TAGS.sub(lambda tag: "\n" if "poem" in tag[0].lower() else "", text) if "<" in text else text


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


def _replacement(name: str, content: str, dropped: Counter[str]) -> str:
    """Return what replaces an extension tag; count the links in it."""
    if name in _VERBATIM and (links := links_in(content)):
        dropped[NOWIKI] += links
    if name == "nowiki":
        return protect(decode_entities(content.replace("\n", BREAK))) or SEAM
    if name == "pre":
        lines = decode_entities(_NOWIKI.sub(r"\1", content)).strip("\n").split("\n")
        return BREAK + BREAK.join(PREFORMATTED + protect(line) for line in lines) + BREAK
    if "[[" in content:
        dropped["reference" if name.startswith("ref") else "extension_tag"] += content.count("[[")
    return _DROPPED[name]


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


def strip_html_tags(text: str) -> str:
    """Replace block tags by line feeds and remove inline tags; unknown tags stay, as in MediaWiki.

    >>> strip_html_tags("a <b>bold</b> 10<sup>6</sup>x<unknown>").replace(GAP, "?").replace(SEAM, "")
    'a bold 10?6x<unknown>'
    """
    if "<" not in text:
        return text
    parts = pieces_between(text, "<")
    before = next(parts)
    output = StringIO()
    output.write(before)
    opened: Counter[str] = Counter()
    for part in parts:
        match = _HTML_TAG.match(part)
        shown = HTML_TAGS.get(match[2].lower()) if match else None
        if match is None or shown is None:
            output.write("<")
            output.write(part)
            before = part
            continue
        rest = part[match.end() :]
        name = match[2].lower()
        if match[1]:
            if shown and name not in _ALWAYS_BREAKS:
                # Without its opening tag, it shows nothing.
                shown = shown if opened[name] else ""
                opened[name] -= bool(shown)
        else:
            shown = _HTML_OPENING.get(name, shown)
            if shown:
                opened[name] += 1
            if name in _RAISED and before[-1:].isdigit() and _RAISED_NUMBER.match(rest):
                shown = GAP
        if not shown and "[[" in before and _is_target(before):
            # No target of a link contains a tag.
            shown = SEAM
        elif not shown and (before[-1:].isalpha() or before[-1:] == "]") and (rest[:1].isalpha() or rest[:1] == "["):
            # A link has no trail or prefix across a tag.
            shown = SEAM
        output.write(shown)
        output.write(rest)
        before = rest or shown or before[-1:]
    return output.getvalue()
