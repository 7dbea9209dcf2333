"""Character references, blanks, and behaviour switches: what is left to tidy when the structure is gone."""

from __future__ import annotations

import html
import re
from functools import lru_cache

from pipelines.wikimedia.wikitext.marks import protect

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")


def decode_entities(text: str) -> str:
    """Decode character references; markup characters among them stay harmless, no-break spaces become spaces."""
    if "&" in text:
        text = _ENTITY.sub(lambda match: _entity(match[0]), text)
    return text.replace("\xa0", " ") if "\xa0" in text else text


@lru_cache(maxsize=4096)
def _entity(reference: str) -> str:
    char = html.unescape(reference)
    if char == reference:
        return char
    if len(char) == 1 and char < " ":
        return " "
    return protect(char)


def fold_spaces(text: str) -> str:
    """Make runs of blanks one blank."""
    if "\t" in text:
        text = text.replace("\t", " ")
    first, *parts = text.split("  ")
    return first + "".join([" " + rest for part in parts if (rest := part.lstrip(" "))]) if parts else text


def strip_switches(text: str, switches: re.Pattern[str]) -> str:
    """Remove behaviour switches such as __NOTOC__ (https://www.mediawiki.org/wiki/Help:Magic_words)."""
    return switches.sub("", text) if "__" in text else text
