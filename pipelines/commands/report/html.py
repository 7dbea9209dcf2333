"""HTML as a tree: text and attributes are escaped when the tree is written, so what a page is called cannot break out.

There is no other way from a string to the page, but for the style sheet, which is ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, tostring

Child = Element | str | None
# What a browser would take for the end of a line or for nothing at all.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

# Nothing is fetched and nothing runs, even if a mistake of ours let a script in.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def tag(name: str, *children: Child | Iterable[Child], **attributes: object) -> Element:
    """Return an element. Underscores stand for hyphens in names of attributes, and one at the end for none."""
    element = Element(
        name,
        {
            key.rstrip("_").replace("_", "-"): _clean(str(value))
            for key, value in attributes.items()
            if value is not None
        },
    )
    for child in children:
        for one in [child] if child is None or isinstance(child, (str, Element)) else child:
            add(element, one)
    return element


def add(element: Element, child: Child) -> None:
    """Add a text or an element behind what an element holds."""
    if isinstance(child, Element):
        element.append(child)
    elif child is not None and len(element):
        element[-1].tail = (element[-1].tail or "") + _clean(child)
    elif child is not None:
        element.text = (element.text or "") + _clean(child)


def _clean(text: str) -> str:
    return _CONTROLS.sub("\ufffd", text)


def page(title: str, style: str, body: Iterable[Child]) -> bytes:
    """Return a whole page, UTF-8."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("meta", name_="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", style),
    )
    root = tag("html", head, tag("body", tag("main", body)), lang="en")
    return b"<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html").encode()
