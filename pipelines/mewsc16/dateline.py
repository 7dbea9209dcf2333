"""Remove the dateline, the place and the day of the news, from the first sentence of an article.

Examples: "MADRID, May 3 — The king ...", "Berlin (Deutschland), 03.05.2006 – Der ...", "22 mai 2012. - Le ...",
"【東京】". A dateline is short, consists of names, numbers, months and weekdays, and ends with a dash or a bracket.
The rest must look like the start of a sentence, because a name before a dash may also be its subject, and two
dashes a parenthesis.
"""

from __future__ import annotations

import re

from wikianchor.pipelines.mewsc16.editions import words_of
from wikianchor.pipelines.text.prose import holds_no_spaces
from wikianchor.pipelines.text.splitter import begins_sentences

LONGEST = 90
_WORD = re.compile(r"[^\s,.;:()\[\]/]+")
_DASH = re.compile(r"\s*(?:—|―|--+)\s*|(?:(?<=[.,)\d])\s*|\s+)[–-]\s+|(?<=\w)–\s+(?=[A-ZÀ-ÞА-ЯЁ])|\s+–")
_LATER_DASH = re.compile(r"\s[–—―-]+\s|\w—\w")
_BRACKETED = re.compile(r"(?:【[^【】]{1,60}】|\[[^\[\]]{1,60}[=/][^\[\]]{1,60}\])\s*")
_DAY_IN_BRACKETS = re.compile(r"[(（][^()（）]{0,40}\d[^()（）]{0,40}[)）]\s*[-–—:]\s*")
_CASELESS = frozenset({"ar", "fa", "ja", "ko"})
# Maximum words of a dateline without comma, bracket or day, which could also be the subject of the sentence.
_BARE_WORDS = 4
_CASELESS_WORDS = 3
_UNSPACED_PLACE = 8


def cut_dateline(sentence: str, language: str, marked: bool = False) -> str:
    """Return a sentence without its dateline; at most two are removed, as a place and a day may be separate.

    Args:
        sentence: the sentence.
        language: its language.
        marked: whether its first words are bold and a dash or a colon follows: then they are not part of the sentence.
    """
    return _cut(_cut(sentence, language, marked), language, marked)


def _cut(sentence: str, language: str, marked: bool) -> str:
    """Return a sentence without one dateline."""
    for bracket in (_BRACKETED, _DAY_IN_BRACKETS):
        match = bracket.match(sentence)
        if match and match.end() < len(sentence):
            return sentence[match.end() :]
    days = words_of(language)
    colon = sentence.find(":", 0, LONGEST)
    if colon > 0 and sentence[colon + 1 : colon + 2] == " ":
        line, rest = sentence[:colon], sentence[colon + 1 :].lstrip()
        if _is_day(line, days) or (
            marked and _begins(rest, language) and _is_dateline(line, ":", rest, language, days, True)
        ):
            return rest
    match = _DASH.search(sentence, 2, LONGEST)
    if match is None:
        return sentence
    line, rest = sentence[: match.start()], sentence[match.end() :]
    if not _begins(rest, language) or not _is_dateline(line, match[0], rest, language, days, marked):
        return sentence
    return rest


def is_day(text: str, language: str) -> bool:
    """Return whether a text consists only of a day: numbers, months and weekdays."""
    return _is_day(text, words_of(language))


def _is_day(text: str, days: frozenset[str]) -> bool:
    words = _WORD.findall(text.lower())
    return (
        any(word[0].isdigit() for word in words)
        and len(words) > 1
        and all(
            word[0].isdigit() or word in days or word in ("de", "del", "d", "of", "den", "am", "le", "the")
            for word in words
        )
    )


def _begins(rest: str, language: str) -> bool:
    """Return whether a text may begin a sentence: with a capital or a digit, where the script has capitals."""
    first = rest.lstrip("\"'“”„«»‘’‹›「『([¿¡")[:1]
    if language in _CASELESS:
        return first.isalnum()
    return first.isupper() or first.isdigit()


def _is_dateline(line: str, dash: str, rest: str, language: str, days: frozenset[str], marked: bool) -> bool:
    words = _WORD.findall(line)
    if not words:
        return False
    dated = any(word.lower() in days for word in words) or any(word.isdigit() for word in words)
    if language in _CASELESS:
        # Without capitals, only the length distinguishes a place from a clause.
        if len(words) > _CASELESS_WORDS + (3 if dated else 0) or (
            holds_no_spaces(language) and (len(line) > _UNSPACED_PLACE or any(map(str.isdigit, line)))
        ):
            return False
    elif not all(
        word[0].isupper() or word[0].isdigit() or word.lower() in days or word in words_of("joining") for word in words
    ):
        return False
    if dated or "," in line or line.endswith(")") or line.endswith("."):
        return True
    # In "Ligue 1 – Lyon – ..." the dashes enclose a parenthesis. "Lyon – Nantes ..." is a football match: after a short
    # dash, the next word must be one that begins sentences.
    if len(words) > _BARE_WORDS or _LATER_DASH.search(rest, 0, LONGEST) is not None:
        return False
    first = _WORD.match(rest)
    return (
        marked or "—" in dash or language in _CASELESS or (first is not None and begins_sentences(first[0], language))
    )
