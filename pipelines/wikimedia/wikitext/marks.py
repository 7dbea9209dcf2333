"""Characters that stand for something inside the engine. XML 1.0 cannot carry them, so no dump holds one."""

GAP = "\x01"
"""Words that a reader sees and we do not: an unexpanded template, a formula."""

HEADING = "\x02"
"""First character of a line that is a heading."""

LIST = "\x03"
"""First character of a line that is a list item or an indented line."""

PREFORMATTED = "\x04"
"""First character of a line shown as it stands (leading space, <pre>)."""

SEAM = "\x05"
"""Nothing to see, but a link ends or begins here and takes no letters from beyond."""

PIPE = "\x06"
"""A "|" that belongs to a link inside a template argument."""

LINE_MARKS = HEADING + LIST + PREFORMATTED

# Markup characters that nowiki or an entity made harmless, one code each, so that offsets hold when they are put back.
# The codes
# are those that Python does not take for white space.
_HARMLESS = "[]{}|'=*#:;<>&_-"
_CODES = "\x07\x08\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b"
PROTECTED = f"[{_CODES}]"
_PROTECT = str.maketrans(_HARMLESS, _CODES)
_RESTORE = str.maketrans(_CODES, _HARMLESS)


def protect(text: str) -> str:
    """Make the markup characters of a text harmless, one for one."""
    return text.translate(_PROTECT)


def restore(text: str) -> str:
    """Put the harmless characters back, one for one."""
    return text.translate(_RESTORE)
