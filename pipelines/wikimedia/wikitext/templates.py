"""Templates: the inline ones that carry words are rendered by rule, everything else is blanked.

A rule says what a reader sees of a template call: nothing, or a text made of its arguments. The rules are data
(`data/templates.json`). A blanked template that stands in a line of prose and has no rule leaves a `GAP`: words may be
missing there.
https://www.mediawiki.org/wiki/Help:Templates
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache

from wikianchor.pipelines.wikimedia.wikitext.numbers import number_writer
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, NAMED, PIPE, SEAM, restore
from wikianchor.pipelines.wikimedia.wikitext.stretches import pieces_between
from wikianchor.pipelines.wikimedia.wikitext.template_rules import fill, template_rules

_LINK = re.compile(r"\[\[[^\[\]]*\]\]")
# Deeper nesting than any page has; below it nothing is rendered, so that hostile nesting stays linear.
MAX_DEPTH = 40
MAX_ARGUMENTS = 200
# Of a page's templates that leave a gap so many are told apart by name, the rest have one together: a name is written
# as often as its number says, which must not make much of a hostile page.
MAX_NAMES = 30
OTHERS = "(others)"
# Names of pages are no longer.
_LONGEST_NAME = 255
_REMEMBERED_LENGTH = 200


class Templates:
    """Renders the templates of one language; with `blank` all of them vanish and leave no gap."""

    def __init__(self, language: str, blank: bool) -> None:
        self._rules: Mapping[str, str] = {} if blank else template_rules(language)
        self._blank = blank
        self._number = number_writer(language)
        self._remembered = lru_cache(maxsize=1 << 14)(self._read_name)

    def expand(self, text: str, title: str, dropped: Counter[str], missing: dict[str, str]) -> str:
        """Replace every template call, innermost first, in one pass over the braces.

        Args:
            text: wikitext without comments and extension tags.
            title: of the page, for {{PAGENAME}}.
            dropped: counts the links that went with a blanked template.
            missing: is given the names of the templates that leave gaps, in order, each with the mark of its gaps.
        """
        if "{{" not in text:
            return text
        # What is read so far; of each run of opening braces that is not closed yet, its place in there and its width.
        pieces: list[str] = []
        places, widths = array("q"), array("q")
        for number, part in enumerate(pieces_between(text, "{{")):
            if number:
                if places and places[-1] == len(pieces) - 1:
                    # The run of braces goes on.
                    widths[-1] += 2
                else:
                    places.append(len(pieces))
                    widths.append(2)
                    pieces.append("")
                if part[:1] == "{":
                    widths[-1] += 1
                    part = part[1:]
            width = 0
            closed = part.split("}}")
            for place, after in enumerate(closed):
                if place == 0:
                    if after:
                        pieces.append(after)
                    continue
                width += 2
                if not after and place + 1 < len(closed):
                    continue
                if after[:1] == "}":
                    width, after = width + 1, after[1:]
                self._close(width, places, widths, pieces, title, dropped, missing)
                width = 0
                if after[:1] == " " and not places and not pieces[-1]:
                    # The blank after what vanished must not begin the line.
                    pieces.append(SEAM)
                if after:
                    pieces.append(after)
        for place, width in zip(places, widths, strict=True):
            # An unclosed call is shown as it stands.
            pieces[place] = "{{" if width == 2 else "{" * width
        text = "".join(pieces)
        return text.replace(PIPE, "|") if PIPE in text else text

    def _close(
        self,
        width: int,
        places: array[int],
        widths: array[int],
        pieces: list[str],
        title: str,
        dropped: Counter[str],
        missing: dict[str, str],
    ) -> None:
        """Put what is shown in the place of the calls that a run of closing braces ends."""
        rounds = 0
        while width >= 2 and places:
            rounds += 1
            place = places[-1]
            taken = min(widths[-1], width, 3)
            call = "".join(pieces[place + 1 :])
            if len(places) > MAX_DEPTH or rounds > MAX_DEPTH:
                shown = ""
            elif taken == 3:
                shown = _parameter(call)
            else:
                shown = self._render(call, title, missing)
            if "[[" in call:
                dropped["template"] += call.count("[[") - shown.count("[[")
            width -= taken
            widths[-1] -= taken
            if widths[-1] >= 2:
                pieces[place + 1 :] = [shown]
                continue
            pieces[place:] = ["{", shown] if widths[-1] else [shown]
            places.pop()
            widths.pop()
        if width:
            pieces.append("}" * width)

    def _render(self, call: str, title: str, missing: dict[str, str]) -> str:
        name, bar, rest = call.partition("|")
        kind, text = self._remembered(name) if len(name) < _REMEMBERED_LENGTH else self._read_name(name)
        if kind == _RULE:
            shown = fill(text, _arguments(rest) if bar else {}, self._number) if text else ""
            return self._gap(_clear(name), missing) if shown == GAP else shown
        if kind == _UNKNOWN:
            # Words are missing where the line goes on around the call; a box stands on lines of its own.
            return "" if "\n" in call else self._gap(text, missing)
        if kind == _NUMBER:
            return text if rest.strip().upper() in ("R", "NOSEP") else self._number(text)
        if kind == _NO_CALL:
            return "{{" + call + "}}"
        return title if kind == _TITLE else text

    def _gap(self, name: str, missing: dict[str, str]) -> str:
        """Return the mark of a template, by its clear name, whose words are missing."""
        if self._blank:
            return ""
        if name not in missing and len(missing) >= MAX_NAMES - 1:
            name = OTHERS
        # One string for all gaps of a name.
        return missing.setdefault(name, GAP + NAMED * (len(missing) + 1))

    def _read_name(self, name: str) -> tuple[int, str]:
        """Return what kind of call a name makes, and the rule, the text or the number it stands for, or the name to
        call it by."""
        name = name.strip().replace("_", " ")
        key = name.lower()
        if key in _MAGIC:
            return _TEXT, _MAGIC[key]
        if name in _PAGE_NAMES:
            return _TITLE, ""
        if ":" in name:
            head, value = (part.strip() for part in name.split(":", 1))
            head = head.lower()
            if head == "formatnum":
                return _NUMBER, value
            if head in _FUNCTIONS:
                return _TEXT, _FUNCTIONS[head](value)
            if head in _PREFIXES:
                key = value.lower()
        for known in (key, *(key.partition(mark)[0] + mark + "*" for mark in "- " if mark in key)):
            if known in self._rules:
                return _RULE, self._rules[known]
        return (_UNKNOWN, _clear(name)) if name and not _NO_NAME.search(name) else (_NO_CALL, "")


def _clear(name: str) -> str:
    """Return the name of a template as rules have it; of a parser function what stands before its argument."""
    name = name[:_LONGEST_NAME].translate(_MARKS)
    return restore(name.partition(":")[0] if "#" in name else name).replace("_", " ").strip().lower()


# The marks of other gaps and seams that may stand in the name of a template.
_MARKS = dict.fromkeys(map(ord, GAP + NAMED + SEAM + PIPE))
# What a call is: a template with a rule, one without, a text, a number to be written, the title of the page, none.
_RULE, _UNKNOWN, _TEXT, _NUMBER, _TITLE, _NO_CALL = range(6)
# No page has such a name: MediaWiki shows the braces.
_NO_NAME = re.compile(r"[{}\[\]<>]")
# Magic words and parser functions that stand in articles: https://www.mediawiki.org/wiki/Help:Magic_words
_MAGIC = {"!": PIPE, "=": "="}
_PAGE_NAMES = frozenset(("PAGENAME", "FULLPAGENAME", "SUBPAGENAME", "BASEPAGENAME", "ROOTPAGENAME"))
_FUNCTIONS: dict[str, Callable[[str], str]] = {
    "lc": str.lower,
    "uc": str.upper,
    "lcfirst": lambda text: text[:1].lower() + text[1:],
    "ucfirst": lambda text: text[:1].upper() + text[1:],
    **dict.fromkeys(("defaultsort", "displaytitle", "#tag", "#invoke", "#related", "#coordinates"), lambda text: ""),
}
_PREFIXES = frozenset(("template", "msg", "subst", "safesubst"))


def _parameter(call: str) -> str:
    """Return what a parameter, {{{name|default}}}, shows outside of templates."""
    name, bar, default = call.partition("|")
    return default if bar else "{{{" + name + "}}}"


def _arguments(rest: str) -> dict[str, str]:
    """Return the arguments of a call by name, the others by number."""
    if "[[" in rest:
        rest = _LINK.sub(lambda link: link[0].replace("|", PIPE), rest)
    found: dict[str, str] = {}
    number = 0
    for argument in rest.split("|", MAX_ARGUMENTS):
        name, equals, value = argument.partition("=")
        if equals and "[[" not in name and "<" not in name:
            found[name.strip().lower()] = value.strip()
        else:
            number += 1
            found.setdefault(str(number), argument.strip())
    return found
