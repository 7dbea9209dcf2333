"""Leave out the elements that style sheets hide in what modules show, such as other forms of coordinates.

https://www.mediawiki.org/wiki/Extension:TemplateStyles
"""

from __future__ import annotations

import re
from collections.abc import Set

from wikianchor.io.package_data import package_json

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_BRACE = re.compile(r"([{}])")
_CLASS = re.compile(r"\.([\w-]+)")
_DISPLAY = re.compile(r"(?:^|;)\s*display\s*:\s*([\w-]+)")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s[^<>]*)?)>")
_NONE = re.compile(r"""\sstyle\s*=\s*["'][^"']*display\s*:\s*none""", re.IGNORECASE)
_CLASSES = re.compile(r"""\sclass\s*=\s*["']([^"']*)""", re.IGNORECASE)
# Others hold signs for those who copy the text: the "^" of a power.
_HIDES = frozenset(package_json("pipelines.wikimedia", "tags.json")["hides"])


def hidden_classes(css: str) -> set[str]:
    """Return the classes that a style sheet hides.

    >>> sorted(hidden_classes("/* .a */ .b, .c {display: none} .c {display:inline} @media print {.d {display: none}}"))
    ['b']
    """
    displays: dict[str, str] = {}
    parts = _BRACE.split(_COMMENT.sub("", css))
    selectors, depth = "", 0
    for text, brace in zip(parts[::2], parts[1::2], strict=False):
        if brace == "{":
            depth += 1
            selectors = text.rpartition(";")[2] if depth == 1 else selectors
            continue
        # Rules for other media than a screen are in a block of their own, which "@" begins.
        if depth == 1 and "@" not in selectors and (display := _DISPLAY.search(text)):
            names = (_CLASS.fullmatch(selector.strip()) for selector in selectors.split(","))
            displays |= {name[1]: display[1] for name in names if name}
        depth = max(0, depth - 1)
    return {name for name, display in displays.items() if display == "none"}


def without_hidden(text: str, classes: Set[str]) -> str:
    """Return wikitext without the elements that its readers do not see.

    Args:
        text: wikitext of a module.
        classes: those that a style sheet hides.

    >>> without_hidden('<b>a<sup class="x y">b<sup>c</sup></sup></b><span style="display:none">d</span>', {"x"})
    '<b>a</b>'
    """
    if not classes and "display" not in text:
        return text
    pieces: list[str] = []
    position, depth, hidden = 0, 0, ""
    for tag in _TAG.finditer(text):
        closes, name, attributes = tag.groups()
        if name.lower() not in _HIDES or attributes.endswith("/"):
            continue
        if depth:
            depth += (-1 if closes else 1) * (name == hidden)
            position = tag.end() if not depth else position
        elif not closes and (_NONE.search(attributes) or classes & set(_classes_of(attributes))):
            pieces.append(text[position : tag.start()])
            position, depth, hidden = tag.start(), 1, name
    return "".join([*pieces, text[position:]])


def _classes_of(attributes: str) -> list[str]:
    match = _CLASSES.search(attributes)
    return match[1].split() if match else []
