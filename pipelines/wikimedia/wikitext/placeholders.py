"""Control characters with a meaning inside the wikitext engine. XML 1.0 does not allow them, so no dump contains
them."""

GAP = "\x01"
"""Words are missing here: an unexpanded template, a formula."""

NAMED = "\x00"
"""After a GAP: the n-th template of the page is written as n of these. `gaps.take_names` removes them."""

HEADING = "\x02"
"""First character of a heading, once for each level."""

LIST = "\x03"
"""First character of a list item or an indented line."""

PREFORMATTED = "\x04"
"""First character of a preformatted line (leading space, <pre>)."""

SEAM = "\x05"
"""Something invisible was removed here. A link has no trail or prefix across it, and a blank after it does not make a
line preformatted."""

PIPE = "\x06"
"""A "|" that does not separate template arguments. `Templates.expand` removes it."""

REMOVED = "\x1f"
"""Something was removed here, and a blank is left beside punctuation. `blanks.close_up` removes it and the blank.
Python treats it as white space."""

BREAK = "\x1c"
"""The text goes on in a new line, but the line of wikitext does not end. `lines.read_lines` makes it a line feed.
Python treats it as white space."""

LINE_MARKS = HEADING + LIST + PREFORMATTED

# Markup characters in nowiki or from character references are replaced by one control character each, so that offsets
# stay the same when they are restored. Control characters that Python treats as white space are not used.
_MARKUP = "[]{}|'=*#:;<>&_-"
_CODES = "\x07\x08\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b"
_PROTECT = str.maketrans(_MARKUP, _CODES)


def protect(text: str) -> str:
    """Replace markup characters by control characters, so that they are not read as markup.

    >>> restore(protect("[[a]]"))
    '[[a]]'
    """
    return text.translate(_PROTECT)


def restore(text: str) -> str:
    """Undo `protect`."""
    if text.isprintable():
        return text
    # Few texts contain such a character, and the search for one character is fast.
    for code, char in zip(_CODES, _MARKUP, strict=True):
        if code in text:
            text = text.replace(code, char)
    return text
