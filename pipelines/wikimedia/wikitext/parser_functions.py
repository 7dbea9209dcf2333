"""What parser functions and magic words show: those that need neither a database nor a clock.

https://www.mediawiki.org/wiki/Help:Extension:ParserFunctions and https://www.mediawiki.org/wiki/Help:Magic_words. The
arguments of a function are evaluated when they are asked for, because `{{#if:}}` shows one of its branches only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Protocol

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext.expressions import ExpressionError, evaluate
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, NAMED, protect

UNKNOWN = "\uffff"
"""Words that only the wiki's server knows: a Lua module, a date, a database. XML cannot contain this character."""

_UNSURE = re.compile(f"{GAP}{NAMED}*|{UNKNOWN}")
_ERROR = '<strong class="error">'
_NUMERIC = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_DATA = package_json("pipelines.wikimedia", "functions.json")
_OF_TAGS = package_json("pipelines.wikimedia", "tags.json")["function"]
_LONGEST_PADDING = package_json("pipelines.wikimedia", "limits.json")["padding"]


class Arguments(Protocol):
    """The arguments of a function; the first is what stands behind the colon."""

    def __len__(self) -> int: ...

    def text(self, position: int) -> str:
        """Return an argument as it stands, without white space around it; "" if it is not given."""

    def pair(self, position: int) -> tuple[str, Callable[[], str]] | None:
        """Return name and value of an argument with a "=", None for others."""

    def choose(self, title: str, shown: str, other: str) -> str:
        """Return one of two texts by whether a page exists, UNKNOWN if that is not known."""


def unsure(text: str) -> str:
    """Return the first placeholder in a text whose words are not known; "" if all are known."""
    match = _UNSURE.search(text)
    return match[0] if match else ""


def _if(given: Arguments) -> str:
    test = given.text(0)
    return unsure(test) or given.text(1 if test else 2)


def _ifeq(given: Arguments) -> str:
    left, right = given.text(0), given.text(1)
    return unsure(left + right) or given.text(2 if _equal(left, right) else 3)


def _equal(left: str, right: str) -> bool:
    """Compare as PHP does: numbers by their value."""
    if left == right:
        return True
    return bool(_NUMERIC.fullmatch(left) and _NUMERIC.fullmatch(right)) and float(left) == float(right)


def _switch(given: Arguments) -> str:
    subject = given.text(0)
    if mark := unsure(subject):
        return mark
    matched, last = False, ""
    default: Callable[[], str] | None = None
    waits_for_default = False
    for position in range(1, len(given)):
        if (pair := given.pair(position)) is None:
            last = given.text(position)
            if mark := unsure(last):
                return mark
            matched = matched or _equal(subject, last)
            waits_for_default = waits_for_default or last == _DATA["default"]
            continue
        name, value = pair
        if mark := unsure(name):
            return mark
        if matched or _equal(subject, name):
            return value()
        if waits_for_default or name == _DATA["default"]:
            default, waits_for_default = value, False
        last = ""
    # A last argument without a name is the default.
    if len(given) > 1 and given.pair(len(given) - 1) is None:
        return last
    return default() if default else ""


def _expr(given: Arguments) -> str:
    text = given.text(0)
    try:
        return unsure(text) or evaluate(text)
    except ExpressionError:
        return f"{_ERROR}Expression error</strong>"


def _ifexpr(given: Arguments) -> str:
    value = _expr(given)
    if value.startswith(_ERROR):
        return value
    return unsure(value) or given.text(1 if value not in ("", "0") else 2)


def _iferror(given: Arguments) -> str:
    test = given.text(0)
    if mark := unsure(test):
        return mark
    return given.text(1) if _ERROR in test else given.text(2) if len(given) > 2 else test


def _if_exists(given: Arguments) -> str:
    shown, other = given.text(1), given.text(2)
    return shown if shown == other else given.choose(given.text(0), shown, other)


def _tag(given: Arguments) -> str:
    kind, text = _OF_TAGS.get(given.text(0).lower()), given.text(1)
    return {"gap": GAP, "text": text, "nowiki": protect(text)}.get(kind, "")


def _pad(given: Arguments, left: bool) -> str:
    text, width, filler = given.text(0), given.text(1), given.text(2) or "0"
    if mark := unsure(width):
        return mark
    missing = min(int(width) if width.isdecimal() and len(width) < 5 else 0, _LONGEST_PADDING) - len(text)
    padding = (filler * (missing // len(filler) + 1))[: max(0, missing)]
    return padding + text if left else text + padding


def _plural(given: Arguments) -> str:
    number, forms = given.text(0), len(given) - 1
    if number in ("1", "-1") or forms == 1:
        return given.text(1)
    # Languages with more forms choose among them by rules of their own.
    return unsure(number) or (given.text(2) if forms == 2 else UNKNOWN)


def _slice(given: Arguments) -> str:
    text, start, length = given.text(0), _whole(given.text(1)), _whole(given.text(2))
    if mark := unsure(text):
        # A part of it would be no gap.
        return mark
    text = text[start:]
    return text[:length] if length else text


def _whole(text: str) -> int:
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else 0


def _replace(given: Arguments) -> str:
    text, old, new = given.text(0), given.text(1) or " ", given.text(2)
    if mark := unsure(old):
        return mark
    return text.replace(old, new) if len(new) <= len(old) + 20 else UNKNOWN


def _title_parts(given: Arguments) -> str:
    parts = given.text(0).split("/")
    number, first = _whole(given.text(1)), _whole(given.text(2))
    parts = parts[first - 1 if first > 0 else first :] if first else parts
    return "/".join(parts[:number] if number else parts)


def _explode(given: Arguments) -> str:
    separator, position = given.text(1) or " ", _whole(given.text(2))
    if mark := unsure(separator):
        return mark
    parts = given.text(0).split(separator)
    return parts[position] if -len(parts) <= position < len(parts) else ""


# By the names of the data.
_SHOWN: dict[str, Callable[[Arguments], str]] = {
    "if": _if,
    "if_equal": _ifeq,
    "switch": _switch,
    "expression": _expr,
    "if_expression": _ifexpr,
    "if_error": _iferror,
    "if_exists": _if_exists,
    "tag": _tag,
    "lower": lambda given: given.text(0).lower(),
    "upper": lambda given: given.text(0).upper(),
    "lower_first": lambda given: given.text(0)[:1].lower() + given.text(0)[1:],
    "upper_first": lambda given: given.text(0)[:1].upper() + given.text(0)[1:],
    "pad_left": lambda given: _pad(given, left=True),
    "pad_right": lambda given: _pad(given, left=False),
    "plural": _plural,
    "length": lambda given: str(len(given.text(0))),
    "position": lambda given: str(offset) if (offset := given.text(0).find(given.text(1) or " ")) >= 0 else "",
    "slice": _slice,
    "replace": _replace,
    "explode": _explode,
    "title_parts": _title_parts,
    "encode": lambda given: given.text(0).replace(" ", "_"),
    # Stands for the address of a link, of which only the label is seen.
    "address": lambda given: str(_DATA["address"]),
    "nothing": lambda given: "",
}
FUNCTIONS = {name: _SHOWN[kind] for name, kind in _DATA["functions"].items() if kind in _SHOWN}
"""What a function shows, by its lower-case name. A function that is not here is not known."""
PREFIXES = frozenset(name for name, kind in _DATA["functions"].items() if kind == "prefix")
"""Names before that of a template, as in `{{subst:name}}`."""
NUMBERS = frozenset(name for name, kind in _DATA["functions"].items() if kind == "number")
"""Functions that format a number in the language of the wiki."""
SERVED = {
    name: kind
    for name, kind in _DATA["functions"].items()
    if kind in ("namespace", "namespace_encoded", "language", "message", "time")
}
"""Functions that need facts of the wiki or its dump (`served.Served`), with what they show."""
VARIABLES: Mapping[str, str] = _DATA["variables"]
"""Magic words for the time, which is that of the dump, with their forms for `{{#time:}}`; after a space, for that of
the page's revision."""
OF_DUMP = ("#time", "CURRENT", "LOCAL", "#ifexist", "int:{{")
"""Parts of what depends on the dump, by its date or by pages that it does not name."""
INVOKE = frozenset(name for name, kind in _DATA["functions"].items() if kind == "invoke")
"""Functions that run a Lua module."""
UNFORMATTED = frozenset(_DATA["unformatted"])
"""Arguments of these functions that leave a number as it is."""


def magic_word(name: str, title: str) -> str | None:
    """Return what a magic word shows on an article; None if `name` is none, or only the server knows its value.

    >>> magic_word("PAGENAME", "A/b"), magic_word("NAMESPACE", "A"), magic_word("CURRENTYEAR", "A")
    ('A/b', '', None)
    """
    shown: str | None = _DATA["words"].get(name, UNKNOWN)
    return title if shown is None else None if shown == UNKNOWN else shown
