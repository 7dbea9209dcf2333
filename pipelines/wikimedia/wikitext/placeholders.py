"""Characters that stand for something inside the engine. XML 1.0 cannot carry them, so no dump holds one."""

GAP = "\x01"
"""Words that a reader sees and we do not: an unexpanded template, a formula."""

NAMED = "\x00"
"""Behind a GAP, tells the template that left it: there are as many of these as its number among the page's. Gone at
the end (`gaps.py`)."""

HEADING = "\x02"
"""First character of a line that is a heading."""

LIST = "\x03"
"""First character of a line that is a list item or an indented line."""

PREFORMATTED = "\x04"
"""First character of a line shown as it stands (leading space, <pre>)."""

SEAM = "\x05"
"""Nothing to see, but what vanished here keeps what stands around it apart: a link takes no letters from beyond it, a
blank after it does not begin the line."""

PIPE = "\x06"
"""A "|" that divides no template arguments; gone when templates are done."""

LINE_MARKS = HEADING + LIST + PREFORMATTED

# Markup characters that nowiki or an entity made harmless, one code each, so that offsets hold when they are put back.
# The codes are those that Python does not take for white space.
_HARMLESS = "[]{}|'=*#:;<>&_-"
_CODES = "\x07\x08\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b"
_PROTECT = str.maketrans(_HARMLESS, _CODES)


def protect(text: str) -> str:
    """Make the markup characters of a text harmless, one for one."""
    return text.translate(_PROTECT)


def restore(text: str) -> str:
    """Put the harmless characters back, one for one."""
    if text.isprintable():
        return text
    # Few texts hold any, and looking for one character is quick.
    for code, char in zip(_CODES, _HARMLESS, strict=True):
        if code in text:
            text = text.replace(code, char)
    return text
