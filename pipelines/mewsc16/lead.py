"""Find the first sentence of an article in its wikitext.

Boxes, pictures and templates on lines of their own leave no text. What may still be before the first sentence is
skipped: headings, indented notes, days and places on lines of their own, captions. If the first sentence lost words to
an unknown template, the article has no row: the next sentence is not its first.
"""

from __future__ import annotations

import re

from wikianchor.pipelines.mewsc16.dateline import cut_dateline, is_dateline
from wikianchor.pipelines.mewsc16.editions import words_of
from wikianchor.pipelines.mewsc16.faults import FaultFinder, first_of_glued
from wikianchor.pipelines.mewsc16.lead_markup import LEAD_LOST, LeadMarkup, file_names, is_box
from wikianchor.pipelines.mewsc16.template_calls import TemplateCall
from wikianchor.pipelines.text.fragments import make_fragment_test
from wikianchor.pipelines.text.prose import holds_no_spaces, judged_sentences
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.wikimedia.compiled import fastest_extractor
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.definitions import Definitions, FindTemplate
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import UNKNOWN
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, LINE_MARKS

# Bold text or italics at the start of a line, before a dash or a colon, or with it.
_BOLD_CHARACTERS = range(2, 81)
_BOLD_BEFORE_DASH = re.compile(
    r"^\s{0,9}(?:'{2,5}|<b>)((?:[^'{}<>\n]|'(?!')){2,120}?)\s{0,3}"
    r"(?:(?:'{2,5}|</b>)(?:\s|&nbsp;){0,9}(?:[–—―:：-]|&[mn]dash;)|(?:[–—―:：-]|&[mn]dash;)\s{0,3}(?:'{2,5}|</b>))",
    re.MULTILINE,
)
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
# What is left of a dateline whose day ended with a full stop.
_LEADING_DASH = re.compile(r"[–—―-]+\s*(?=\S)")
# Shorter lines without a full stop are captions; longer ones are sentences whose full stop is missing.
_CAPTION_WORDS = 12
_CAPTION_CHARACTERS = 25
# The lead is the text up to the first empty line after this many characters, or up to the first heading.
_LEAD_CHARACTERS = 1200
_PAIRS = (("{{", "}}"), ("<!--", "-->"), ("\n{|", "\n|}"), ("[[", "]]"), ("<gallery", "</gallery"))
# Short lines with one of these reasons are skipped: captions, places, days, names of agencies.
_SKIPPED = frozenset(("fragment:short", "fragment:no_terminator", "fragment:no_letters"))


class LeadReader:
    """Find the first sentences of the articles of one wiki. Loading its rules is slow: make one for each worker.

    Args:
        site: the wiki.
        find_template: its own definitions of templates, if they are at hand.
        find_body: the same, with the whole bodies of templates that make blocks.
    """

    def __init__(
        self, site: Site, find_template: FindTemplate | None = None, find_body: FindTemplate | None = None
    ) -> None:
        self._language = site.language
        self._extractor = fastest_extractor(site, find_template)
        self._split = make_splitter("rules", site.language)
        self._faults = FaultFinder(site.language, captions=False)
        self._unfinished = make_fragment_test(site.language)
        self._spaced = not holds_no_spaces(site.language)
        self._definitions = Definitions(site, find_body) if find_body else None
        self._markup = LeadMarkup(
            site.language, file_names(site.namespaces.items()), self._lead_of_template, self._faults.is_note
        )

    def first_sentence(self, text: str, title: str) -> tuple[str, str]:
        """Return the first sentence and "", or "" and the reason why there is none."""
        text = self._markup.prepare(text)
        lead = _lead(text)
        result = self._first(lead, title) if lead is not None else ("", "no_sentence")
        return self._first(text, title) if result == ("", "no_sentence") else result

    def _first(self, text: str, title: str) -> tuple[str, str]:
        extract = self._extractor.extract(text, title)
        bold = frozenset(_LINK.sub(r"\1", words).strip() for words in _BOLD_BEFORE_DASH.findall(text))
        after_day = False
        has_notes = "<ref" in text or "{{" in text
        for sentence, reason in judged_sentences(extract, self._split, self._language):
            if reason == "back_matter":
                break
            if reason in ("heading", "preformatted") or sentence.region == "list":
                continue
            words = sentence.text
            if LEAD_LOST in words:
                return "", "lead_in_template"
            if after_day:
                words, after_day = _LEADING_DASH.sub("", words, count=1) if words[0] in "–—―-" else words, False
            if reason in _SKIPPED and self._is_aside(words):
                after_day = is_dateline(words, self._language)
                continue
            if reason == "gap":
                # A short line that would be no sentence without the gap either.
                if GAP in words and self._is_aside(words) and self._unfinished(words.replace(GAP, ""), False):
                    continue
                words = self._behind_gaps(words)
                if not words:
                    return "", "hole"
            marked = any(words[:size] in bold for size in _BOLD_CHARACTERS)
            words = " ".join(cut_dateline(words, self._language, marked).split())
            if has_notes:
                words = _stop_joined(words)
            words = first_of_glued(words, self._language)
            if self._faults.is_note(words) or is_dateline(words, self._language):
                after_day = True
                continue
            fault = self._faults.fault(words)
            if fault in ("fragment:short", "fragment:no_letters"):
                continue
            return (words, "") if fault is None else ("", fault)
        return "", "no_sentence"

    def _lead_of_template(self, call: TemplateCall) -> str | None:
        """Return the wikitext that a template shows as the lead: "" for a box beside it, None if that is not known."""
        if self._definitions is None:
            return None
        # Templates in the arguments stay as they are: the extractor knows what they show.
        shown = self._definitions.expand(call.arguments[0], call.by_name(), "")
        if shown is None or UNKNOWN in shown:
            return None
        return "" if is_box(shown) else shown

    def _behind_gaps(self, words: str) -> str:
        """Return the sentence after a dateline that is made by templates; "" if a gap is in the sentence itself."""
        # A gap in a dateline is a name or a number.
        rest = cut_dateline(words.replace(GAP, "X"), self._language, marked=True)
        return "" if GAP in words[len(words) - len(rest) :] else rest

    def _is_aside(self, words: str) -> bool:
        words = words.strip(LINE_MARKS + GAP + " ")
        if self._spaced:
            return words.count(" ") < _CAPTION_WORDS
        return len(words) < _CAPTION_CHARACTERS


def _stop_joined(sentence: str) -> str:
    """Remove the space that a footnote or an empty template leaves before the full stop.

    After an article or a preposition it stays, since words are missing there.
    """
    if not sentence.endswith(" ."):
        return sentence
    rest = sentence[:-2].rstrip()
    last = rest.rpartition(" ")[2].lower()
    return sentence if not last[-1:].isalnum() or last in words_of("never_last") else f"{rest}."


def _lead(text: str) -> str | None:
    """Return the first paragraphs of wikitext; None if markup continues after them.

    Nearly all first sentences are there, so that the rest of the page need not be parsed.
    """
    paragraph = text.find("\n\n", _LEAD_CHARACTERS)
    heading = text.find("\n==")
    for end in sorted({paragraph, heading} - {-1}):
        if _is_whole(lead := text[:end]):
            return lead
    return None


def _is_whole(text: str) -> bool:
    """Return whether all templates, comments, tables, links and tags of a text are closed, by counting brackets."""
    return (
        all(text.count(opening) == text.count(closing) for opening, closing in _PAIRS)
        and text.count("<") == text.count(">")
        and text.count("<ref") <= text.count("</ref") + text.count("/>")
    )
