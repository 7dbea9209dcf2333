"""Comments, extension tags and HTML tags.

Extension tags (https://www.mediawiki.org/wiki/Parser_extension_tags) are cut out before anything else is read, as
MediaWiki's preprocessor does: what stands in them is no wikitext of the page.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LIST, PREFORMATTED, SEAM, protect

# Tag -> what stands in its place. A formula in a sentence is a hole; a footnote or a picture is not.
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
_DROPPED = {**dict.fromkeys(_HOLES, GAP), **dict.fromkeys(_FIGURES, "\n"), **dict.fromkeys(_MACHINERY, "")}
_KEPT = ("noinclude", "onlyinclude", "poem", "translate", "tvar")
_VERBATIM = ("nowiki", "pre")
_EXTENSIONS = frozenset((*_DROPPED, *_VERBATIM))
_OPENING = re.compile(r"<(?:!--|([a-zA-Z]+)(?=[\s/>]))")
_KEPT_TAGS = re.compile(rf"</?(?i:{'|'.join(_KEPT)})(?=[\s/>])[^<>]*>")

_BLOCK_TAGS = (
    "br p div ul ol dl li dd dt h1 h2 h3 h4 h5 h6 blockquote center hr tr td th caption section table tbody thead pre"
)
_INLINE_TAGS = (
    "b i u s em strong small big span font sub sup code tt var kbd samp cite q abbr del ins strike mark dfn bdi bdo "
    "ruby rb rt rp rtc wbr data time a link meta img nowiki noinclude onlyinclude includeonly ref references"
)
# HTML tag -> what stands in its place: a block ends the line, an opening item or heading begins one of its kind.
_HTML = {
    **dict.fromkeys(_INLINE_TAGS.split(), ""),
    **dict.fromkeys(_BLOCK_TAGS.split(), "\n"),
}
_HTML_OPENING = {
    **dict.fromkeys(("li", "dd", "dt"), "\n" + LIST),
    **{f"h{level}": "\n" + HEADING * level for level in range(1, 7)},
}
_HTML_TAG = re.compile(r"(/?)([a-zA-Z][a-zA-Z0-9]*)(?=[\s/>])[^<>]*>")
# 10<sup>6</sup> would read 106.
_RAISED = frozenset(("sup", "sub"))
_RAISED_NUMBER = re.compile(r"[\d−+-]")


@lru_cache(maxsize=64)
def _closing(name: str) -> re.Pattern[str]:
    return re.compile(rf"</(?i:{name})\s*>")


def strip_extension_tags(text: str, dropped: Counter[str]) -> str:
    """Remove comments and extension tags; protect what nowiki and pre hold.

    Args:
        text: wikitext.
        dropped: counts the links that went with a reference or another extension tag, by kind.
    """
    if "<" not in text:
        return text
    pieces, position, unclosed = [], 0, set()
    match = _OPENING.search(text)
    while match:
        start, end, shown = match.start(), match.end(), ""
        if match[1] is None:
            start, end = _comment(text, start)
        else:
            name = match[1].lower()
            if name not in _EXTENSIONS or name in unclosed:
                match = _OPENING.search(text, end)
                continue
            tag_end = text.find(">", end) + 1
            if tag_end == 0:
                # No tag ends from here on; a comment that begins reaches to the end.
                comment = text.find("<!--", end)
                pieces.append(text[position:] if comment < 0 else text[position:comment])
                position = len(text)
                break
            if text[tag_end - 2] == "/":
                content, end = "", tag_end
            elif close := _closing(name).search(text, tag_end):
                content, end = text[tag_end : close.start()], close.end()
            else:
                # MediaWiki shows an unclosed extension tag as it stands; looking for its end once is enough.
                unclosed.add(name)
                match = _OPENING.search(text, end)
                continue
            shown = _replacement(name, content, dropped)
            if not shown and name != "includeonly":
                # No letters join a link through a footnote.
                before, after = text[start - 1 : start], text[end : end + 1]
                shown = SEAM if before in "]'\n" or (before.isalpha() and after.isalpha()) else ""
        pieces.append(text[position:start])
        pieces.append(shown)
        position = end
        match = _OPENING.search(text, end)
    pieces.append(text[position:])
    text = "".join(pieces)
    return _KEPT_TAGS.sub("", text) if "<" in text else text


def _comment(text: str, start: int) -> tuple[int, int]:
    """Return what to cut for a comment: with its whole line where it stands alone on it, as MediaWiki does."""
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
    if name == "nowiki":
        return protect(content.replace("\n", " ")) or SEAM
    if name == "pre":
        lines = content.strip("\n").split("\n")
        return "\n" + "\n".join(PREFORMATTED + protect(line) for line in lines) + "\n"
    if "[[" in content:
        dropped["reference" if name.startswith("ref") else "extension_tag"] += content.count("[[")
    return _DROPPED[name]


def strip_html_tags(text: str) -> str:
    """End the line at block tags, remove inline ones; what is no HTML tag stays, as MediaWiki shows it."""
    if "<" not in text:
        return text
    parts = text.split("<")
    # Taken from the end, each is freed when it is read.
    parts.reverse()
    before = parts.pop()
    pieces = [before]
    while parts:
        part = parts.pop()
        match = _HTML_TAG.match(part)
        shown = _HTML.get(match[2].lower()) if match else None
        if match is None or shown is None:
            pieces += ("<", part) if part else ("<",)
            before = part
            continue
        rest = part[match.end() :]
        if not match[1]:
            name = match[2].lower()
            shown = _HTML_OPENING.get(name, shown)
            if name in _RAISED and before[-1:].isdigit() and _RAISED_NUMBER.match(rest):
                shown = GAP
        if not shown and (before[-1:].isalpha() or before[-1:] == "]") and (rest[:1].isalpha() or rest[:1] == "["):
            # No letters join a link through a tag.
            shown = SEAM
        pieces += (shown, rest)
        before = rest
    return "".join(pieces)
