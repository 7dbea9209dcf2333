"""Prepare the wikitext before the first sentence of an article: captions outside of picture links, text in templates.

Authors put a picture and its caption into a <div> or a <center>, and some wikis have templates that show the whole
lead. Such a template is expanded if its definition is known. Otherwise the place is marked, because the next paragraph
is not the lead.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wikianchor.pipelines.mewsc16.template_calls import TemplateCall, outermost_calls
from wikianchor.pipelines.text.writing import holds_no_spaces
from wikianchor.pipelines.wikimedia.site import Site

# A line of its own, in the place of a template around the lead whose definition is not known.
LEAD_LOST = "\ue000"
# Marks of direction and joiners, which editors paste with the text.
INVISIBLE = "\ufeff\u200b\u200e\u200f\u202a\u202b\u202c\u2060"
_FILE = 6
# Characters of a caption; more is the text of the page in a layout.
_LONGEST_CAPTION = 400
_LONGEST_BOX = 1200
# Characters of a page that are prepared, which bounds the time of hostile ones.
_WINDOW = 20_000
# Characters before and after a call that are searched for the ends of its line.
_MARGIN = 80
_BOX = re.compile(r"<(/?)(div|center|figure|gallery|table|blockquote)\b([^<>]*)>", re.IGNORECASE)
_FLOATING_STYLE = re.compile(r"float\s*[:=]|thumb|\bt(?:right|left)\b|float(?:right|left)", re.IGNORECASE)
_FLOATS = re.compile(rf"{_FLOATING_STYLE.pattern}|align\s*=\s*[\"']?(?:right|left)", re.IGNORECASE)
_TABLE = re.compile(r"\{\||<(?:table|gallery|blockquote)\b", re.IGNORECASE)
_CREDIT = re.compile(r"^[ \t]*<small>[^\n]*</small>[ \t]*(?:<br[ /]*>[ \t]*)?$", re.MULTILINE | re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_INVISIBLE_START = re.compile(f"^[{INVISIBLE}]+", re.MULTILINE)
_NAMED = re.compile(r"\s*[\w \-]{0,30}=")
# Names of templates for quotations, which stand beside the text.
_QUOTATION = re.compile(r"quot|cit[aeá]|zitat|cyta|цитат|引用|اقتباس|نقل|인용|alıntı", re.IGNORECASE)
_PICTURE = re.compile(r"\.(?:jpe?g|png|svg|gif|tiff?|webm|og[gv])\b", re.IGNORECASE)
_PROSE_END = re.compile(r"[.!?؟。！？…][\"'”»」)\]]*\s*(?:<ref[^<>]*>.*?</ref>|<ref[^<>]*/>)?\s*$", re.DOTALL)
# A number, a full stop and a footnote: the number is no ordinal.
_NOTED_NUMBER = re.compile(r"(?<=\d)\.(?:<ref[^<>]{0,200}(?:/>|>[^<]{0,500}</ref>)){1,9}[ \t]+(?=[^\W\d_])")
# The dash before what somebody says, at the start of a paragraph, unless a list goes on in the next line.
_SPOKEN = re.compile(r"(?:\A|(?<=\n\n))[-–—][ \t]+(?=[^\W\d_][^\n]*[.!?])(?![^\n]*\n[-–—*])")
# Words, or characters in scripts without spaces, of the shortest argument that may be a lead.
_PROSE_WORDS = 6
_PROSE_CHARACTERS = 20
_WORDS = re.compile(r"\w+")


class LeadMarkup:
    """Prepare the leads of one wiki.

    Args:
        site: the wiki.
        expand: returns what a call shows: "" for a box beside the text, None if that is not known.
        is_note: whether a text is a note about the page.
    """

    def __init__(
        self,
        site: Site,
        expand: Callable[[TemplateCall], str | None] = lambda call: None,
        is_note: Callable[[str], bool] = lambda text: False,
    ) -> None:
        names = "|".join(sorted(map(re.escape, file_names(site)), key=len, reverse=True)) or "(?!)"
        self._file = re.compile(rf"\[\[\s*(?i:{names})\s*:")
        self._file_link = re.compile(rf"\[\[\s*(?i:{names})\s*:[^\[\]]*(?:\[\[[^\[\]]*\]\][^\[\]]*){{0,9}}\]\]")
        self._spaced = not holds_no_spaces(site.language)
        self._expand, self._is_note = expand, is_note

    def prepare(self, text: str) -> str:
        """Return wikitext without captions in boxes, and with leads in templates shown or marked with LEAD_LOST."""
        head, rest = text[:_WINDOW], text[_WINDOW:]
        head = _SPOKEN.sub("", self._without_captions(_INVISIBLE_START.sub("", head)))
        if "<ref" in head:
            head = _NOTED_NUMBER.sub(".\n\n", head)
        return (self._show_leads(head) if "{{" in head else head) + rest

    def without_captions(self, text: str) -> str:
        """Return wikitext without boxes that hold a picture and its caption, and without credits in small print."""
        return self._without_captions(text[:_WINDOW]) + text[_WINDOW:]

    def _without_captions(self, text: str) -> str:
        if "<" not in text:
            return text
        boxes: list[tuple[int, int]] = []
        opened: list[tuple[str, int, str]] = []
        for tag in _BOX.finditer(text):
            name = tag[2].lower()
            if not tag[1]:
                opened.append((name, tag.start(), tag[3]))
            elif opened and opened[-1][0] == name:
                _, start, attributes = opened.pop()
                if self._is_caption(text[start : tag.end()], attributes):
                    while boxes and boxes[-1][0] >= start:
                        boxes.pop()
                    boxes.append((start, tag.end()))
        ends = [0, *(end for _, end in boxes)]
        text = "".join(
            text[end:start] for end, start in zip(ends, [*(start for start, _ in boxes), len(text)], strict=True)
        )
        return _CREDIT.sub("", text) if "<small" in text else text

    def _is_caption(self, box: str, attributes: str) -> bool:
        if len(box) > _LONGEST_BOX:
            return False
        # `align` makes a table float; in a <div> it only aligns the text, which may be the lead.
        floats = (_FLOATS if box[1:6].lower() == "table" else _FLOATING_STYLE).search(attributes)
        words = _TAG.sub("", self._file_link.sub("", box)).strip()
        if box[1:6].lower() == "block":
            return True
        return len(words) <= _LONGEST_CAPTION and (floats is not None or self._file.search(box) is not None)

    def _show_leads(self, text: str) -> str:
        """Return wikitext with each template that stands alone and holds prose shown or marked."""
        shown: list[str] = []
        position = 0
        for call in outermost_calls(text):
            if len(call.arguments) < 2 or not _stands_alone(text, call):
                continue
            lead = ""
            if not _QUOTATION.search(call.arguments[0]):
                prose = [argument for argument in call.arguments[1:] if self._is_prose(argument)]
                if all(self._is_note(argument.strip()) for argument in prose) or any(
                    _PICTURE.search(argument) for argument in call.arguments
                ):
                    continue
                expanded = self._expand(call)
                lead = f"\n\n{LEAD_LOST if expanded is None else expanded}\n\n"
            shown += (text[position : call.start], lead)
            position = call.end
        return "".join((*shown, text[position:]))

    def _is_prose(self, argument: str) -> bool:
        """Return whether an argument without a name, or the first one by its number, holds a whole sentence."""
        if _NAMED.match(argument) and not re.match(r"\s*1\s*=", argument):
            return False
        if not _PROSE_END.search(argument):
            return False
        words = _WORDS.findall(_TAG.sub(" ", argument))
        return len(words) >= _PROSE_WORDS if self._spaced else sum(map(len, words)) >= _PROSE_CHARACTERS


def _stands_alone(text: str, call: TemplateCall) -> bool:
    """Return whether a call begins and ends a line."""
    before = text[max(0, call.start - _MARGIN) : call.start].rpartition("\n")[2]
    after = text[call.end : call.end + _MARGIN].partition("\n")[0]
    return not before.strip() and not after.strip()


def is_box(shown: str) -> bool:
    """Return whether wikitext that a template shows stands beside the text: a table, a quotation, a floating box."""
    return _TABLE.search(shown) is not None or any(_FLOATS.search(tag[0]) for tag in _TAG.finditer(shown))


def file_names(site: Site) -> list[str]:
    """Return the names of the namespace for files, sorted."""
    return sorted(name for name, number in site.namespaces.items() if number == _FILE)
