"""Find the first sentence of an article in its wikitext.

Boxes, pictures and templates on lines of their own leave no text. What may still be before the first sentence is
skipped: headings, indented notes, days and places on lines of their own, captions. If the first sentence lost words to
an unknown template, the article has no row: the next sentence is not its first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from wikianchor.pipelines.mewsc16.dateline import cut_dateline, is_dateline
from wikianchor.pipelines.mewsc16.editions import words_of
from wikianchor.pipelines.mewsc16.faults import FaultFinder
from wikianchor.pipelines.mewsc16.lead_markup import INVISIBLE, LEAD_LOST, LeadMarkup, is_box
from wikianchor.pipelines.mewsc16.template_calls import TemplateCall
from wikianchor.pipelines.text.fragments import make_fragment_test
from wikianchor.pipelines.text.prose import Sentence, judged_sentences
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.text.writing import holds_no_spaces
from wikianchor.pipelines.wikimedia.extractors import make_extractor
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.definitions import Definitions, FindTemplate
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import UNKNOWN
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, LINE_MARKS

# Bold text or italics before a dash or a colon, or with it.
_BOLD_CHARACTERS = range(2, 81)
_SIGN = r"(?:[–—―:：-]|&(?:[mn]dash|#821[12]|#x201[34]);)"
_BOLD_BEFORE_DASH = re.compile(
    r"(?:'{2,5}|<b>)((?:[^'{}<>\n]|'(?!')){2,120}?)\s{0,3}"
    rf"(?:(?:'{{2,5}}|</b>)(?:\s|&nbsp;|</?(?:big|small)>){{0,9}}{_SIGN}|{_SIGN}\s{{0,3}}(?:'{{2,5}}|</b>))"
)
_LINK = re.compile(r"\[\[(?:[^\[\]|]{0,200}\|)?([^\[\]|]{0,200})\]\]|\{\{[wW]\|(?:[^{}|]{0,200}\|)?([^{}|]{0,200})\}\}")
# What is left of a dateline whose day ended with a full stop.
_LEADING_DASH = re.compile(r"[–—―-]+\s*(?=\S)")
# A gap in a dateline is a name or a number. No text has this word.
_LOST_NAME = "Ǆǆ"
_LOST_DATELINE = re.compile(rf"(?=[^–—―:：-]*{_LOST_NAME})(.{{2,80}}?)\s*(?:\s-|[–—―:：])")
# Shorter lines without a full stop are captions; longer ones are sentences whose full stop is missing.
_CAPTION_WORDS = 12
_CAPTION_CHARACTERS = 25
# The lead is the text up to the first empty line after this many characters, or up to the first heading.
_LEAD_CHARACTERS = 1200
# Further sentences of a quotation, which are one sentence with the words around it.
_QUOTED_SENTENCES = 4
# Languages in which no small letter tells that "«...؟» he asked" goes on.
_QUOTED_FIRST = frozenset({"ar", "fa"})
_QUOTED = re.compile(r"[«“\"][^«»“”\"]{1,300}[»”\"]")
_PAIRS = (("{{", "}}"), ("<!--", "-->"), ("\n{|", "\n|}"), ("[[", "]]"), ("<gallery", "</gallery"))
# Short lines with one of these reasons are skipped: captions, places, days, names of agencies.
_SKIPPED = frozenset(("fragment:short", "fragment:no_terminator", "fragment:no_letters", "fragment:script"))


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
        self._extractor = make_extractor(site, find_template)
        self._split = make_splitter("rules", site.language)
        self._faults = FaultFinder(site.language)
        self._unfinished = make_fragment_test(site.language)
        self._spaced = not holds_no_spaces(site.language)
        self._definitions = Definitions(site, find_body) if find_body else None
        self._markup = LeadMarkup(site, self._lead_of_template, self._faults.is_note)

    def first_sentence(self, text: str, title: str) -> tuple[str, str]:
        """Return the first sentence and "", or "" and the reason why there is none."""
        text = self._markup.prepare(text)
        lead = _lead(text)
        result = self._first(lead, title) if lead is not None else ("", "no_sentence")
        return self._first(text, title) if result == ("", "no_sentence") else result

    def _first(self, text: str, title: str) -> tuple[str, str]:
        extract = self._extractor.extract(text, title)
        bold = _bold_datelines(text)

        def bold_start(words: str) -> str:
            return next((words[:size] for size in _BOLD_CHARACTERS if words[:size] in bold), "")

        after_day = False
        has_notes = "<ref" in text or "{{" in text
        sentences = judged_sentences(extract, self._split, self._language)
        for sentence, reason in sentences:
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
                if (
                    GAP in words
                    and self._is_aside(words)
                    and self._unfinished(words.replace(GAP, ""), has_markup_sign=False)
                ):
                    continue
                words = self._behind_gaps(words)
                if not words:
                    return "", "hole"
            words = " ".join(cut_dateline(words.strip(INVISIBLE), self._language, bold_start).split())
            if has_notes:
                words = _stop_joined(words)
            words = self._faults.first_of_glued(words)
            if _is_open(words) or (self._language in _QUOTED_FIRST and _QUOTED.fullmatch(words)):
                words += _rest_of_quotation(words, extract.text, sentence, islice(sentences, _QUOTED_SENTENCES))
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
        rest = cut_dateline(words.replace(GAP, _LOST_NAME), self._language, _lost_start)
        return "" if _LOST_NAME in rest else rest

    def _is_aside(self, words: str) -> bool:
        words = words.strip(LINE_MARKS + GAP + " ")
        return words.count(" ") < _CAPTION_WORDS if self._spaced else len(words) < _CAPTION_CHARACTERS


def _rest_of_quotation(
    words: str, text: str, sentence: Sentence, following: Iterator[tuple[Sentence, str | None]]
) -> str:
    """Return what follows a sentence up to the end of the quotation that it is in, "" if none ends soon.

    Args:
        words: the sentence, without what stands before it.
        text: the page's text.
        sentence: the sentence.
        following: the sentences after it.
    """
    end = sentence.start + len(sentence.text)
    for last, _ in following:
        rest = text[end : last.start + len(last.text)]
        if "\n" in rest or GAP in rest:
            break
        if not _is_open(words + rest) and not _QUOTED.fullmatch(words + rest):
            return " " + " ".join(rest.split())
    return ""


def _is_open(words: str) -> bool:
    """Return whether a text ends within a quotation."""
    return sum(map(words.count, '"„“”')) % 2 == 1


def _bold_datelines(text: str) -> frozenset[str]:
    """Return the words that are bold or in italics before a dash or a colon, and those after a dash among them."""
    marked = _BOLD_BEFORE_DASH.findall(_LINK.sub(lambda link: link[1] or link[2] or "", text))
    return frozenset(part.strip() for words in marked for part in (words, re.split(r"\s[–—-]+\s", words)[-1]))


def _lost_start(words: str) -> str:
    """Return the text before a dash or a colon if words of a template are missing in it, otherwise ""."""
    match = _LOST_DATELINE.match(words)
    return match[1] if match else ""


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
    leads = (text[:end] for end in sorted({paragraph, heading} - {-1}))
    return next(filter(_is_whole, leads), None)


def _is_whole(text: str) -> bool:
    """Return whether all templates, comments, tables, links and tags of a text are closed, by counting brackets."""
    return (
        all(text.count(opening) == text.count(closing) for opening, closing in _PAIRS)
        and text.count("<") == text.count(">")
        and text.count("<ref") <= text.count("</ref") + text.count("/>")
    )
