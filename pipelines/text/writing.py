"""How languages are written, and how missing words are."""

from __future__ import annotations

_UNSPACED = frozenset({"bo", "dz", "gan", "hak", "ja", "km", "lo", "lzh", "my", "nan", "shn", "th", "wuu", "yue", "zh"})
# OBJECT REPLACEMENT CHARACTER: stands in fragments where words are missing.
MISSING = "\ufffc"


def holds_no_spaces(language: str) -> bool:
    """Return whether a language is written without spaces between words.

    >>> holds_no_spaces("zh-hans"), holds_no_spaces("ko")
    (True, False)
    """
    return language.split("-")[0] in _UNSPACED
