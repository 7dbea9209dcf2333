"""Render template calls that have a rule (`template_rules`), and remove the others.

A removed call inside a line of prose leaves a `GAP`, because words may be missing there.
https://www.mediawiki.org/wiki/Help:Templates
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache

from wikianchor.pipelines.wikimedia.languages import language_facts
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.blanks import removed
from wikianchor.pipelines.wikimedia.wikitext.definitions import Definitions, FindTemplate
from wikianchor.pipelines.wikimedia.wikitext.inline import inline, join_lines, makes_block
from wikianchor.pipelines.wikimedia.wikitext.link_counts import FROM_CALLS, IN_CALLS, links_in
from wikianchor.pipelines.wikimedia.wikitext.numbers import number_writer
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import UNKNOWN
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, NAMED, PIPE, SEAM, protect, restore
from wikianchor.pipelines.wikimedia.wikitext.stretches import pieces_between
from wikianchor.pipelines.wikimedia.wikitext.template_rules import fill, template_rules

_LINK = re.compile(r"\[\[[^\[\]]*\]\]")
# Deeper nesting than any page has. Deeper calls are removed, so that hostile nesting takes linear time.
MAX_DEPTH = 40
MAX_ARGUMENTS = 200
# Number of templates per page whose gaps are counted by name; the others are counted as OTHERS. A gap of the n-th
# template takes n characters, so the limit bounds the size of hostile pages.
MAX_NAMES = 30
OTHERS = "(others)"
# MediaWiki's limit for page titles.
_LONGEST_NAME = 255
# Characters. Longer names are not cached: hostile ones would fill the memory.
_CACHED_LENGTH = 200


class Templates:
    """Renders the templates of one wiki.

    Args:
        site: the wiki.
        blank: remove all templates without leaving gaps.
        find: the wiki's own definitions (see `Definitions`), which come before the rules; None if they are not at hand.

    >>> from wikianchor.pipelines.wikimedia.site import site_for
    >>> missing = {}
    >>> templates = Templates(site_for("enwiki"), blank=False)
    >>> templates.expand("In {{lang|uk|Київ}} and {{unknown}}.", "A", Counter(), missing)
    'In Київ and \\x01\\x00.'
    >>> missing
    {'unknown': '\\x01\\x00'}
    """

    def __init__(self, site: Site, blank: bool, find: FindTemplate | None = None) -> None:
        self._rules: Mapping[str, str] = {} if blank else template_rules(site.language)
        self._blank = blank
        self._number = number_writer(site.language)
        self._words = language_facts(site.language).words
        self._definitions = Definitions(site, find or _unknown, self._number, self._by_rule)
        self._has_definitions = find is not None and not blank
        self._cached = lru_cache(maxsize=1 << 14)(self._read_name)

    def expand(self, text: str, title: str, dropped: Counter[str], missing: dict[str, str]) -> str:
        """Replace all template calls, innermost first, in one pass over the braces.

        Args:
            text: wikitext without comments and extension tags.
            title: of the page, for {{PAGENAME}}.
            dropped: counts the links that calls are given and show (`link_counts`), and the characters of their
                arguments where they show nothing: "text:several_lines", "text:alone" and "text:block"; and what
                `inline.join_lines` removes.
            missing: filled with the names of the templates that leave gaps, in order, and the placeholder of their
                gaps.

        Returns:
            The text without template calls.
        """
        if "{{" not in text:
            return text
        # Text that was read; and for each run of opening braces that is not closed yet, its index there and its length.
        pieces: list[str] = []
        opened, widths = array("q"), array("q")
        for number, part in enumerate(pieces_between(text, "{{")):
            if number:
                if opened and opened[-1] == len(pieces) - 1:
                    # The run of opening braces continues.
                    widths[-1] += 2
                else:
                    opened.append(len(pieces))
                    widths.append(2)
                    pieces.append("")
                if part[:1] == "{":
                    widths[-1] += 1
                    part = part[1:]
            width = 0
            first, *closed = part.split("}}")
            if first:
                pieces.append(first)
            for closing, after in enumerate(closed, 1):
                width += 2
                if not after and closing < len(closed):
                    # The run of closing braces continues.
                    continue
                if after[:1] == "}":
                    width, after = width + 1, after[1:]
                self._close(width, opened, widths, pieces, title, dropped, missing, after[:1] == "\n")
                width = 0
                if after and not opened and not pieces[-1]:
                    before = next((piece[-1] for piece in reversed(pieces) if piece), "\n")
                    if mark := removed(before, after):
                        pieces.append(mark)
                    elif after[:1] == " ":
                        # The blank after a removed call does not make the line preformatted.
                        pieces.append(SEAM)
                if after:
                    pieces.append(after)
        for index, width in zip(opened, widths, strict=True):
            # MediaWiki shows an unclosed call as text.
            pieces[index] = "{{" if width == 2 else "{" * width
        text = "".join(pieces)
        if self._has_definitions:
            text = join_lines(text, dropped)
        return text.replace(PIPE, "|") if PIPE in text else text

    def _close(
        self,
        width: int,
        opened: array[int],
        widths: array[int],
        pieces: list[str],
        title: str,
        dropped: Counter[str],
        missing: dict[str, str],
        ends_line: bool,
    ) -> None:
        """Replace the calls that a run of `width` closing braces ends by their visible text."""
        rounds = 0
        while width >= 2 and opened:
            rounds += 1
            index = opened[-1]
            taken = min(widths[-1], width, 3)
            call = "".join(pieces[index + 1 :])
            if len(opened) > MAX_DEPTH or rounds > MAX_DEPTH:
                shown = ""
            elif taken == 3:
                shown = _parameter(call)
            else:
                place = _INSIDE if len(opened) > 1 or width > 2 or widths[-1] > 2 else _IN_LINE
                if place == _IN_LINE and ends_line and (index == 0 or pieces[index - 1][-1:] == "\n"):
                    place = _ALONE
                shown = self._render(call, title, missing, place, dropped)
            if "[[" in call:
                dropped[IN_CALLS] += links_in(call)
            if "[[" in shown:
                dropped[FROM_CALLS] += links_in(shown)
            width -= taken
            widths[-1] -= taken
            if widths[-1] >= 2:
                pieces[index + 1 :] = [shown]
                continue
            pieces[index:] = ["{", shown] if widths[-1] else [shown]
            opened.pop()
            widths.pop()
        if width:
            pieces.append("}" * width)

    def _render(self, call: str, title: str, missing: dict[str, str], place: int, dropped: Counter[str]) -> str:
        """Return the visible text of a call, given without its braces."""
        name, bar, rest = call.partition("|")
        kind, text = self._cached(name) if len(name) < _CACHED_LENGTH else self._read_name(name)
        if kind == _UNKNOWN and text[:1] == "#" and not self._blank:
            shown = self._definitions.evaluate(call, title)
            return shown.replace(UNKNOWN, self._gap(text, missing)) if UNKNOWN in shown else shown
        if self._has_definitions and kind in (_RULE, _UNKNOWN):
            defined = self._defined(call, title, missing, place, kind == _RULE, dropped)
            if defined is not None:
                return defined
        if kind == _RULE:
            shown = fill(text, _arguments(rest) if bar else {}, self._number) if text else ""
            return self._gap(_normalised(name), missing) if shown == GAP else shown
        if kind == _UNKNOWN:
            # An infobox or a similar call over several lines is not part of a sentence.
            return _nothing(call, "several_lines", dropped) if "\n" in call else self._gap(text, missing)
        if kind == _NUMBER:
            return text if rest.strip().upper() in ("R", "NOSEP") else self._number(text)
        if kind == _NO_CALL:
            return "{{" + call + "}}"
        return title if kind == _TITLE else text

    def _defined(
        self, call: str, title: str, missing: dict[str, str], place: int, has_rule: bool, dropped: Counter[str]
    ) -> str | None:
        """Return what a call shows by the wiki's own definition; None if that is not known, or the rule is taken."""
        name, bar, rest = call.partition("|")
        if place == _ALONE:
            # Not in running text: a notice, a box, navigation. Rules know those that hold text, such as quotations.
            return None if has_rule or not self._definitions.has(name) else _nothing(call, "alone", dropped)
        shown = self._definitions.expand(name, _exact_arguments(rest) if bar else {}, title)
        if shown is None:
            return None
        block = makes_block(shown)
        if block and has_rule:
            return None
        gap = self._gap(_normalised(name), missing) if block or UNKNOWN in shown else ""
        shown = shown.replace(UNKNOWN, gap)
        if place == _INSIDE:
            return shown.replace("|", PIPE).replace("=", protect("="))
        return _nothing(call, "block", dropped) if block and "\n" in call else inline(shown, gap)

    def _by_rule(self, name: str, arguments: Mapping[str, str]) -> str | None:
        """Return what a template shows by its rule; None if it has none, or the rule does not fit."""
        kind, rule = self._cached(name)
        if kind != _RULE:
            return None
        shown = (
            fill(rule, {key.lower(): value.strip() for key, value in arguments.items()}, self._number) if rule else ""
        )
        return None if shown == GAP else shown

    def _gap(self, name: str, missing: dict[str, str]) -> str:
        """Return the placeholder for the gap that a template leaves, by its normalised name."""
        if self._blank:
            return ""
        if name not in missing and len(missing) >= MAX_NAMES - 1:
            name = OTHERS
        # One string for all gaps of a name.
        return missing.setdefault(name, GAP + NAMED * (len(missing) + 1))

    def _read_name(self, name: str) -> tuple[int, str]:
        """Return the kind of a call by its name, and its rule, its text, its number or its normalised name."""
        name = name.strip()
        if name:
            head, colon, value = name.partition(":")
            name = self._words.get(head.strip().lower(), head) + colon + value if colon else self._words.get(name, name)
        name = name.replace("_", " ")
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
        return (_UNKNOWN, _normalised(name)) if _is_name(name) else (_NO_CALL, "")


def _nothing(call: str, reason: str, dropped: Counter[str]) -> str:
    """Return what a call shows that is removed with its arguments; count their characters."""
    if characters := len(call.partition("|")[2]):
        dropped[f"text:{reason}"] += characters
    return ""


def _normalised(name: str) -> str:
    """Return the lower-case name of a template as in the rules; of a parser function the part before the colon."""
    name = name[:_LONGEST_NAME].translate(_PLACEHOLDERS)
    return restore(name.partition(":")[0] if "#" in name else name).replace("_", " ").strip().lower()


# Placeholders that a template name may contain after inner templates were expanded.
_PLACEHOLDERS = dict.fromkeys(map(ord, GAP + NAMED + SEAM + PIPE))


def _is_name(name: str) -> bool:
    """Return whether a template may have a name; MediaWiki shows the braces around another text."""
    return not _NO_NAME.search(name) and (len(name) <= _LONGEST_NAME // 4 or len(name.encode()) <= _LONGEST_NAME)


def _unknown(title: str) -> None:
    """Find no template: the definitions of the wiki are not at hand."""


# Kinds of calls: template with a rule, template without one, text, number to format, title of the page, no call.
_RULE, _UNKNOWN, _TEXT, _NUMBER, _TITLE, _NO_CALL = range(6)
# Places of calls: the only one of its line, with other text in its line, in another call.
_ALONE, _IN_LINE, _INSIDE = range(3)
# Characters that no page name contains: MediaWiki shows the braces of such a call.
_NO_NAME = re.compile(r"[{}\[\]<>\n]|%[0-9A-Fa-f]{2}|~~~|(?:^|/)\.\.?(?:/|$)|^:*$")
# Magic words and parser functions used in articles: https://www.mediawiki.org/wiki/Help:Magic_words
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
    """Return what a parameter, {{{name|default}}}, shows outside of a template."""
    name, bar, default = call.partition("|")
    return default if bar else "{{{" + name + "}}}"


def _exact_arguments(rest: str) -> dict[str, str]:
    """Return the arguments of a call as MediaWiki reads them: only named ones lose the white space around them."""
    if "[[" in rest:
        rest = _LINK.sub(lambda link: link[0].replace("|", PIPE), rest)
    arguments: dict[str, str] = {}
    number = 0
    for argument in rest.split("|", MAX_ARGUMENTS):
        argument = argument.replace(PIPE, "|")
        name, equals, value = argument.partition("=")
        if equals and "[[" not in name and "<" not in name:
            arguments[name.strip()] = value.strip()
        else:
            number += 1
            arguments[str(number)] = argument
    return arguments


def _arguments(rest: str) -> dict[str, str]:
    """Return the arguments of a call by name; unnamed ones by their number, from "1"."""
    if "[[" in rest:
        rest = _LINK.sub(lambda link: link[0].replace("|", PIPE), rest)
    arguments: dict[str, str] = {}
    number = 0
    for argument in rest.split("|", MAX_ARGUMENTS):
        name, equals, value = argument.partition("=")
        if equals and "[[" not in name and "<" not in name:
            arguments[name.strip().lower()] = value.strip()
        else:
            number += 1
            arguments.setdefault(str(number), argument.strip())
    return arguments
