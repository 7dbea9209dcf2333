"""Comments, extension tags and HTML tags.

Extension tags (https://www.mediawiki.org/wiki/Parser_extension_tags) are cut out before anything else is read, as
MediaWiki's
preprocessor does: what stands in them is no wikitext of the page.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from pipelines.wikimedia.wikitext.marks import GAP, PREFORMATTED, SEAM, protect

# Tag -> what stands in its place. A formula in a sentence is a hole; a footnote or a picture is not.
_DROPPED = {
    **dict.fromkeys(("math", "chem", "ce", "hiero", "syntaxhighlight", "source", "phonos", "chart"), GAP),
    **dict.fromkeys(
        (
            "references",
            "gallery",
            "score",
            "timeline",
            "graph",
            "mapframe",
            "maplink",
            "imagemap",
            "inputbox",
            "categorytree",
        ),
        "\n",
    ),
    **dict.fromkeys(("ref", "templatestyles", "templatedata", "indicator", "includeonly", "section", "ext"), ""),
}
_KEPT = ("noinclude", "onlyinclude", "poem", "translate", "tvar")
_VERBATIM = ("nowiki", "pre")
_NAMES = "|".join((*_DROPPED, *_KEPT, *_VERBATIM))
_OPENING = re.compile(rf"<(?:!--|(?i:({_NAMES}))(?=[\s/>]))")
_KEPT_TAGS = re.compile(rf"</?(?i:{'|'.join(_KEPT)})(?=[\s/>])[^<>]*>")

_BLOCK = "br|p|div|li|ul|ol|dl|dd|dt|h[1-6]|blockquote|center|hr|tr|td|th|caption|section|table|tbody|thead|pre"
_BLOCK_TAGS = re.compile(rf"</?(?i:{_BLOCK})(?=[\s/>])[^<>]*>")
_INLINE = (
    "b|i|u|s|em|strong|small|big|span|font|sub|sup|code|tt|var|kbd|samp|cite|q|abbr|del|ins|strike|mark|dfn|bdi|bdo|ruby|rb|rt|rp|rtc"
    "|wbr|data|time|a|link|meta|img|nowiki|noinclude|onlyinclude|includeonly|ref|references"
)
_INLINE_TAGS = re.compile(rf"</?(?i:{_INLINE})(?=[\s/>])[^<>]*>")
# 10<sup>6</sup> would read 106.
_POWER = re.compile(r"(?<=\d)<su[pb](?=[\s>])[^<>]*>(?=[\d−+-])")


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
    while match := _OPENING.search(text, position):
        start, name = match.start(), match[1]
        if name is None:
            start, end = _comment(text, start)
            pieces.append(text[position:start])
            position = end
            continue
        name = name.lower()
        tag_end = text.find(">", match.end()) + 1
        if name in _KEPT or name in unclosed or tag_end == 0:
            pieces.append(text[position : match.end()])
            position = match.end()
            continue
        pieces.append(text[position:start])
        if text[tag_end - 2] == "/":
            pieces.append(_replacement(name, "", dropped))
            position = tag_end
            continue
        close = _closing(name).search(text, tag_end)
        if close is None:
            # MediaWiki shows an unclosed extension tag as it stands; looking for its end once is enough.
            unclosed.add(name)
            pieces.append(text[start : match.end()])
            position = match.end()
            continue
        pieces.append(_replacement(name, text[tag_end : close.start()], dropped))
        position = close.end()
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
    if "<su" in text:
        text = _POWER.sub(GAP, text)
    text = _BLOCK_TAGS.sub("\n", text)
    return _INLINE_TAGS.sub("", text)
