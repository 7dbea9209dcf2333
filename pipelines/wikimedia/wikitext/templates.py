"""Templates: the inline ones that carry words are rendered by rule, everything else is blanked.

A rule says what a reader sees of a template call: nothing, or a text made of its arguments. The rules are data
(`data/templates.json`). A blanked template that stands in a line of prose and has no rule leaves a `GAP`: words may be
missing there.
https://www.mediawiki.org/wiki/Help:Templates
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

from pipelines.wikimedia.wikitext.marks import GAP, PIPE

_BRACES = re.compile(r"\{\{+|\}\}+")
_LINK = re.compile(r"\[\[[^\[\]]*\]\]")
_SLOT = re.compile(r"\{([^{}]*)\}")
# Deeper nesting than any page has; below it nothing is rendered, so that hostile nesting stays linear.
MAX_DEPTH = 40


@lru_cache(maxsize=512)
def template_rules(language: str) -> Mapping[str, str]:
    """Return template name, lower-case -> rule, for a language; the rules for all languages included.

    A rule is "" for a template that shows nothing in the sentence, or a text with slots: {1} is the first argument,
    {name} a named
    one, {2|1} the second or else the first; what stands in brackets, [ ({2})], is shown only where its slots are
    filled. The name
    "lang-*" covers all that begin so.
    """
    path = resources.files("pipelines.wikimedia") / "data" / "templates.json"
    with path.open(encoding="utf-8") as file:
        tables: dict[str, dict[str, list[str]]] = json.load(file)
    merged: dict[str, str] = {}
    for key in ("*", language.split("-")[0], language):
        for rule, names in tables.get(key, {}).items():
            merged.update(dict.fromkeys(names, rule))
    return merged


class Templates:
    """Renders the templates of one language; with `blank` all of them vanish and leave no gap."""

    def __init__(self, language: str, blank: bool) -> None:
        self._rules = template_rules(language)
        self._blank = blank

    def expand(self, text: str, title: str, dropped: Counter[str]) -> str:
        """Replace every template call, innermost first, in one pass over the braces.

        Args:
            text: wikitext without comments and extension tags.
            title: of the page, for {{PAGENAME}}.
            dropped: counts the links that went with a blanked template.
        """
        if "{{" not in text:
            return text
        # One frame per open run of braces: its width, and the pieces that stand after it.
        frames: list[tuple[int, list[str]]] = [(0, [])]
        position = 0
        for match in _BRACES.finditer(text):
            frames[-1][1].append(text[position : match.start()])
            position = match.end()
            width = match.end() - match.start()
            if match[0][0] == "{":
                frames.append((width, []))
                continue
            while width >= 2 and len(frames) > 1:
                opened, pieces = frames.pop()
                taken = min(opened, width, 3)
                call = "".join(pieces)
                if taken == 3:
                    shown = call.partition("|")[2]
                elif len(frames) > MAX_DEPTH:
                    shown = ""
                else:
                    shown = self._render(call, title)
                if "[[" in call:
                    dropped["template"] += call.count("[[") - shown.count("[[")
                width -= taken
                opened -= taken
                if opened >= 2:
                    frames.append((opened, [shown]))
                else:
                    frames[-1][1].append("{" * opened + shown)
            if width:
                frames[-1][1].append("}" * width)
        frames[-1][1].append(text[position:])
        while len(frames) > 1:
            opened, pieces = frames.pop()
            # An unclosed call is shown as it stands.
            frames[-1][1].append("{" * opened)
            frames[-1][1].extend(pieces)
        return "".join(frames[0][1])

    def _render(self, call: str, title: str) -> str:
        name, bar, rest = call.partition("|")
        name = name.strip().replace("_", " ")
        if name[:6].lower() in ("subst:", "safesu"):
            name = name.partition(":")[2].strip()
        key = name.lower()
        rule = "" if self._blank else self._rules.get(key)
        if rule is None:
            rule = next((self._rules[family] for family in _families(key) if family in self._rules), None)
        if rule is None:
            return _function(name, call, title)
        if not rule:
            return ""
        return _fill(rule, _arguments(rest) if bar else {})


def _families(key: str) -> list[str]:
    """Return the rule names that cover a family of templates: "lang-*" for lang-de, "cite *" for cite web."""
    return [key.partition(mark)[0] + mark + "*" for mark in "- " if mark in key]


def _function(name: str, call: str, title: str) -> str:
    """Variables and parser functions that stand in prose; a template without a rule is a gap where a line goes on
    around it."""
    if name in ("PAGENAME", "FULLPAGENAME", "SUBPAGENAME", "BASEPAGENAME"):
        return title
    head, colon, value = name.partition(":")
    if colon:
        head = head.lower()
        if head in ("formatnum", "lc", "uc", "ucfirst", "lcfirst", "nowrap"):
            return {"lc": value.lower(), "uc": value.upper()}.get(head, value)
        if head in ("defaultsort", "displaytitle", "#tag", "#invoke", "anchorencode"):
            return ""
    return "" if "\n" in call else GAP


def _arguments(rest: str) -> dict[str, str]:
    if "[[" in rest:
        rest = _LINK.sub(lambda link: link[0].replace("|", PIPE), rest)
    found: dict[str, str] = {}
    number = 0
    for argument in rest.split("|"):
        name, equals, value = argument.partition("=")
        if equals and "[[" not in name and "<" not in name:
            found[name.strip().lower()] = value.strip().replace(PIPE, "|")
        else:
            number += 1
            found.setdefault(str(number), argument.strip().replace(PIPE, "|"))
    return found


_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")


def _fill(rule: str, arguments: Mapping[str, str]) -> str:
    def slot(match: re.Match[str]) -> str:
        return next((arguments[key] for key in match[1].split("|") if arguments.get(key)), "")

    def optional(match: re.Match[str]) -> str:
        slots = _SLOT.findall(match[1])
        filled = all(any(arguments.get(key) for key in keys.split("|")) for keys in slots)
        return match[1] if filled else ""

    shown = _SLOT.sub(slot, _OPTIONAL.sub(optional, rule))
    # Nothing to show where words were meant to stand: a hole all the same.
    return shown if shown.strip() else GAP
