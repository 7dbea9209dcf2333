"""Render template calls that have a rule (`template_rules`), and remove the others.

A removed call inside a line of prose leaves a `GAP`, because words may be missing there.
https://www.mediawiki.org/wiki/Help:Templates
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.languages import language_facts
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.blanks import removed
from wikianchor.pipelines.wikimedia.wikitext.definitions import Definitions, FindTemplate
from wikianchor.pipelines.wikimedia.wikitext.inline import (
    frames_text,
    inline,
    join_lines,
    makes_block,
    prose_of,
    shows_prose,
)
from wikianchor.pipelines.wikimedia.wikitext.link_counts import FROM_CALLS, IN_CALLS, links_in
from wikianchor.pipelines.wikimedia.wikitext.numbers import number_writer
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import UNFORMATTED, UNKNOWN, VARIABLES
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LIST, NAMED, PIPE, SEAM, protect, restore
from wikianchor.pipelines.wikimedia.wikitext.stretches import pieces_between
from wikianchor.pipelines.wikimedia.wikitext.template_rules import fill, template_rules

_LINK = re.compile(r"\[\[[^\[\]]*\]\]")
_LIMITS = package_json("pipelines.wikimedia", "limits.json")
# Deeper nesting than any page has. Deeper calls are removed, so that hostile nesting takes linear time.
MAX_DEPTH: int = _LIMITS["templates_depth"]
MAX_ARGUMENTS: int = _LIMITS["templates_arguments"]
# Number of templates per page whose gaps are counted by name; the others are counted as OTHERS. A gap of the n-th
# template takes n characters, so the limit bounds the size of hostile pages.
MAX_NAMES: int = _LIMITS["templates_names"]
OTHERS: str = package_json("pipelines.wikimedia", "names.json")["others"]
# MediaWiki's limit for page titles.
_LONGEST_NAME: int = _LIMITS["name_bytes"]
# Characters. Longer names are not cached: hostile ones would fill the memory.
_CACHED_LENGTH = 200


@dataclass
class _Page:
    """A page while its calls are replaced.

    Attributes:
        title, dropped, missing: as for `Templates.expand`.
        pieces: text that was read, with an empty piece for each run of opening braces that is not closed yet.
        opened: indices of these pieces.
        widths: lengths of these runs.
        by_rule: whether the last call that was rendered shows what its rule says.
        reason: why the last call that was rendered is removed with its arguments, "" if it is not.
        hidden: number of characters in the arguments of calls inside of the one that is open, which show nothing.
        line_is_empty: whether the line has shown nothing yet, outside of the call that is open.
    """

    title: str
    dropped: Counter[str]
    missing: dict[str, str]
    pieces: list[str] = field(default_factory=list)
    opened: array[int] = field(default_factory=lambda: array("q"))
    widths: array[int] = field(default_factory=lambda: array("q"))
    by_rule: bool = False
    reason: str = ""
    hidden: int = 0
    line_is_empty: bool = True

    def add(self, text: str) -> None:
        """Add text that is no call."""
        self.pieces.append(text)
        if not self.opened:
            self.shows(text)

    def shows(self, text: str) -> None:
        """Note what the line shows."""
        feed = text.rfind("\n")
        self.line_is_empty = (feed >= 0 or self.line_is_empty) and not text[feed + 1 :].strip(_INVISIBLE)

    def open(self, part: str) -> str:
        """Add two opening braces, and one that follows them; return the text after them."""
        if self.opened and self.opened[-1] == len(self.pieces) - 1:
            # The run of opening braces continues.
            self.widths[-1] += 2
        else:
            self.opened.append(len(self.pieces))
            self.widths.append(2)
            self.pieces.append("")
        if part[:1] == "{":
            self.widths[-1] += 1
            return part[1:]
        return part

    def begins_line(self) -> bool:
        """Return whether the last run of opening braces begins a line."""
        index = self.opened[-1]
        return index == 0 or self.pieces[index - 1][-1:] == "\n"

    def replace(self, width: int, shown: str) -> None:
        """Put what is shown in the place of a call or parameter, with so many of the last opening braces."""
        index = self.opened[-1]
        self.widths[-1] -= width
        if self.widths[-1] >= 2:
            self.pieces[index + 1 :] = [shown]
            return
        self.pieces[index:] = ["{", shown] if self.widths[-1] else [shown]
        self.opened.pop()
        self.widths.pop()

    def go_on(self, after: str) -> None:
        """Add the text after a run of closing braces."""
        if not self.opened and not self.pieces[-1]:
            before = next((piece[-1] for piece in reversed(self.pieces) if piece), "\n")
            if mark := removed(before, after):
                self.pieces.append(mark)
            elif after[:1] == " " or (self.by_rule and before == after[:1] == "'"):
                # The blank after a removed call does not make the line preformatted; and rules show nothing for signs
                # such as flags, so the marks of bold around one are two.
                self.pieces.append(SEAM)
        self.add(after)

    def text(self) -> str:
        """Return the text that was read."""
        for index, width in zip(self.opened, self.widths, strict=True):
            # MediaWiki shows an unclosed call as text.
            self.pieces[index] = "{{" if width == 2 else "{" * width
        return "".join(self.pieces)


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
        self._rules: Mapping[str, str] = {} if blank else template_rules(site.wiki, site.language)
        self._blank = blank
        self._number = number_writer(site.language)
        self._words = language_facts(site.language).words
        self._definitions = Definitions(site, find or _unknown, self._number, self._by_rule)
        self._has_definitions = find is not None and not blank
        self._cached = lru_cache(maxsize=1 << 14)(self._read_name)

    def read_revision(self, timestamp: str) -> None:
        """Do as `Definitions.read_revision`."""
        self._definitions.read_revision(timestamp)

    def expand(self, text: str, title: str, dropped: Counter[str], missing: dict[str, str]) -> str:
        """Replace all template calls, innermost first, in one pass over the braces.

        Args:
            text: wikitext without comments and extension tags.
            title: title of the page, for {{PAGENAME}}.
            dropped: counts the links that calls are given and show (`link_counts`), and the characters of their
                arguments where they show nothing: "text:alone", "text:several_lines", "text:block" and "text:in_line";
                and what `inline.join_lines` removes.
            missing: filled with the names of the templates that leave gaps, in order, and the placeholder of their
                gaps.

        Returns:
            The text without template calls.
        """
        if "{{" not in text:
            return text
        page = _Page(title, dropped, missing)
        self._definitions.begin(len(text))
        for number, part in enumerate(pieces_between(text, "{{")):
            if number:
                part = page.open(part)
            width = 0
            first, *closed = part.split("}}")
            if first:
                page.add(first)
            for closing, after in enumerate(closed, 1):
                width += 2
                if not after and closing < len(closed):
                    # The run of closing braces continues.
                    continue
                if after[:1] == "}":
                    width, after = width + 1, after[1:]
                self._close(width, page, after)
                width = 0
                if after:
                    page.go_on(after)
        text = page.text()
        if self._has_definitions:
            text = join_lines(text, dropped)
        return text.replace(PIPE, "|") if PIPE in text else text

    def _close(self, width: int, page: _Page, after: str) -> None:
        """Replace the calls that a run of `width` closing braces ends by their visible text; `after` follows them."""
        rounds = 0
        while width >= 2 and page.opened:
            rounds += 1
            taken = min(page.widths[-1], width, 3)
            call = "".join(page.pieces[page.opened[-1] + 1 :])
            page.reason = ""
            is_inside = len(page.opened) > 1 or width > 2 or page.widths[-1] > 2
            if len(page.opened) > MAX_DEPTH or rounds > MAX_DEPTH:
                shown = ""
            elif taken == 3:
                shown = _parameter(call)
            else:
                is_alone = after[:1] == "\n" and page.begins_line()
                is_box = page.line_is_empty and not after.lstrip(" '")[:1].islower()
                position = _INSIDE if is_inside else _ALONE if is_alone else _BOX if is_box else _IN_LINE
                shown = self._render(call, page, position)
                if position == _ALONE and not shown.strip(_INVISIBLE):
                    page.reason = page.reason or "alone"
                elif not shown:
                    page.reason = page.reason or "in_line"
            if "[[" in call:
                page.dropped[IN_CALLS] += links_in(call)
            if "[[" in shown:
                page.dropped[FROM_CALLS] += links_in(shown)
            if is_inside:
                page.hidden += 0 if shown.strip(_INVISIBLE) else _arguments_length(call)
            else:
                if page.reason and (characters := _arguments_length(call) + page.hidden):
                    page.dropped[f"text:{page.reason}"] += characters
                page.hidden = 0
                page.shows(shown)
            width -= taken
            page.replace(taken, shown)
        if width:
            page.add("}" * width)

    def _render(self, call: str, page: _Page, position: int) -> str:
        """Return the visible text of a call, given without its braces."""
        name, bar, rest = call.partition("|")
        kind, text = self._cached(name) if len(name) < _CACHED_LENGTH else self._read_name(name)
        page.by_rule = False
        if text == "#invoke" and kind == _UNKNOWN and not self._definitions.runs_modules:
            return ""
        if kind == _UNKNOWN and text[:1] == "#" and not self._blank:
            shown = self._definitions.evaluate(call, page.title)
            return shown.replace(UNKNOWN, self._gap(text, page.missing)) if UNKNOWN in shown else shown
        if self._has_definitions and kind in (_RULE, _UNKNOWN):
            defined = self._defined(call, page, position, has_rule=kind == _RULE)
            if defined is not None:
                return defined
        page.by_rule = kind == _RULE
        if page.by_rule:
            shown = fill(text, _arguments(rest) if bar else {}, self._number) if text else ""
            return self._gap(_normalised(name), page.missing) if shown == GAP else shown
        if kind == _UNKNOWN:
            if "\n" in call and position in (_ALONE, _BOX):
                # An infobox or a similar call over several lines is not part of a sentence.
                page.reason = "several_lines"
                return ""
            return self._gap(text, page.missing)
        if kind == _NUMBER:
            return text if rest.strip().upper() in UNFORMATTED else self._number(text)
        return "{{" + call + "}}" if kind == _NO_CALL else page.title if kind == _TITLE else text

    def _defined(self, call: str, page: _Page, position: int, *, has_rule: bool) -> str | None:
        """Return what a call shows by the wiki's own definition; None if that is not known, or the rule is taken."""
        name, bar, rest = call.partition("|")
        is_alone = position == _ALONE
        body = self._definitions.body(name)
        if body is None:
            return None
        arguments = _arguments(rest, exact=True) if bar else {}
        prose = prose_of(arguments.values()) if is_alone and frames_text(body) else []
        shown = self._definitions.expand(name, arguments, page.title) or "" if prose or not is_alone else ""
        if is_alone and not shows_prose(shown, prose):
            # Not in running text: a notice, a box, navigation. Rules know others that hold text, such as quotations.
            return None if has_rule else ""
        block = not is_alone and makes_block(shown)
        if block and has_rule:
            return None
        gap = self._gap(_normalised(name), page.missing) if block or UNKNOWN in shown else ""
        shown = shown.replace(UNKNOWN, gap)
        if is_alone:
            return shown
        if position == _INSIDE:
            return shown.replace("|", PIPE).replace("=", protect("="))
        page.reason = "block" if block else ""
        return inline(shown, gap)

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
        if name in _WORDS:
            shown = _WORDS[name]
            return (_TITLE, "") if shown is None else (_TEXT, shown.replace("|", PIPE))
        if name in VARIABLES:
            return _UNKNOWN, "#time"
        key = name.lower()
        if ":" in name:
            head, value = (part.strip() for part in name.split(":", 1))
            function = _FUNCTIONS.get(head.lower())
            if function == "number":
                return _NUMBER, value
            if function == "prefix":
                key = value.lower()
            elif function == "server":
                # As the functions with a "#" are: by `Definitions`.
                return _UNKNOWN, f"#{head.lower().lstrip('#')}"
            elif function is not None:
                return _TEXT, _SHOWN.get(function, lambda text: "")(value)
        for known in (key, *(key.partition(mark)[0] + mark + "*" for mark in "- " if mark in key)):
            if known in self._rules:
                return _RULE, self._rules[known]
        return (_UNKNOWN, _normalised(name)) if _is_name(name) else (_NO_CALL, "")


def _arguments_length(call: str) -> int:
    """Return the number of characters of the arguments of a call."""
    bar = call.find("|")
    return len(call) - bar - 1 if bar >= 0 else 0


def definitions_of(site: Site, find: FindTemplate | None) -> Definitions:
    """Return what shows for the core the functions that only Python knows (`Definitions.serve`, `Definitions.invoke`).

    Args:
        site: the wiki.
        find: as for `Templates`.
    """
    return Templates(site, blank=False, find=find)._definitions


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
# Positions of calls: the only one of its line, before what begins a sentence, with other text in its line, in another
# call.
_ALONE, _BOX, _IN_LINE, _INSIDE = range(4)
# What shows nothing.
_INVISIBLE = f" {GAP}{NAMED}{SEAM}{HEADING}{LIST}"
# Characters that no page name contains: MediaWiki shows the braces of such a call.
_NO_NAME = re.compile(r"[{}\[\]<>\n]|%[0-9A-Fa-f]{2}|~~~|(?:^|/)\.\.?(?:/|$)|^:*$")
# Magic words and parser functions used in articles: https://www.mediawiki.org/wiki/Help:Magic_words
_DATA = package_json("pipelines.wikimedia", "functions.json")
_WORDS: Mapping[str, str | None] = _DATA["words_of_pages"]
_FUNCTIONS: Mapping[str, str] = _DATA["functions_of_pages"]
# By the names of the data; other functions show nothing.
_SHOWN: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "lower_first": lambda text: text[:1].lower() + text[1:],
    "upper_first": lambda text: text[:1].upper() + text[1:],
}


def _parameter(call: str) -> str:
    """Return what a parameter, {{{name|default}}}, shows outside of a template."""
    name, bar, default = call.partition("|")
    return default if bar else "{{{" + name + "}}}"


def _arguments(rest: str, *, exact: bool = False) -> dict[str, str]:
    """Return the arguments of a call by name; unnamed ones by their number, from "1".

    Args:
        rest: what the call has after its name.
        exact: read them as MediaWiki does: only named ones lose the white space around them, and the last of a name
            counts. The rules read names without regard to case.
    """
    if "[[" in rest:
        rest = _LINK.sub(lambda link: link[0].replace("|", PIPE), rest)
    arguments: dict[str, str] = {}
    number = 0
    for argument in rest.split("|", MAX_ARGUMENTS):
        argument = argument.replace(PIPE, "|") if exact else argument
        name, equals, value = argument.partition("=")
        if equals and "[[" not in name and "<" not in name:
            arguments[name.strip() if exact else name.strip().lower()] = value.strip()
            continue
        number += 1
        if exact:
            arguments[str(number)] = argument
        else:
            arguments.setdefault(str(number), argument.strip())
    return arguments
