"""Datelines: the first sentence of an article in, the sentence without the place and day in front of it out.

"MADRID, May 3 — The king ...", "Berlin (Deutschland), 03.05.2006 – Der ...", "22 mai 2012. - Le ...", "【東京】".
A dateline is short, made of names, numbers, months and weekdays, and a dash or a bracket ends it. What stands between
two dashes is a parenthesis, and a name before a dash may be the sentence's own: so what follows has to begin anew.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib import resources

from wikianchor.pipelines.text.prose import holds_no_spaces
from wikianchor.pipelines.text.splitter import begins_sentences

LONGEST = 90
_WORD = re.compile(r"[^\s,.;:()\[\]/]+")
_DASH = re.compile(r"\s*(?:—|―|--+)\s*|(?:(?<=[.,)\d])\s*|\s+)[–-]\s+|(?<=\w)–\s+(?=[A-ZÀ-ÞА-ЯЁ])|\s+–")
_LATER_DASH = re.compile(r"\s[–—―-]+\s|\w—\w")
_BRACKETED = re.compile(r"(?:【[^【】]{1,60}】|\[[^\[\]]{1,60}[=/][^\[\]]{1,60}\])\s*")
_DAY_IN_BRACKETS = re.compile(r"[(（][^()（）]{0,40}\d[^()（）]{0,40}[)）]\s*[-–—:]\s*")
_CASELESS = frozenset({"ar", "fa", "ja", "ko"})
# Names before a dash that no comma, bracket or day tells from the subject of a sentence.
_BARE_WORDS = 4
_CASELESS_WORDS = 3
_UNSPACED_PLACE = 8


@lru_cache(maxsize=64)
def date_words(language: str) -> frozenset[str]:
    """Return the months and weekdays of a language, lower-case."""
    return frozenset(_words(language).split())


@lru_cache(maxsize=1)
def _joining() -> frozenset[str]:
    """Words without a capital that join names of places, of all languages together."""
    return frozenset(_words("joining").split())


@lru_cache(maxsize=1)
def words_never_last() -> frozenset[str]:
    """Return articles and prepositions, of all languages together: none ends a sentence."""
    return frozenset(_words("never_last").split())


def _words(key: str) -> str:
    with (resources.files("wikianchor.pipelines.mewsc16") / "data" / "dates.json").open(encoding="utf-8") as file:
        words: dict[str, str] = json.load(file)
    return words.get(key, "")


def cut_dateline(sentence: str, language: str, marked: bool = False) -> str:
    """Return a sentence without its dateline, a day and a place apart at most; as it is where it has none.

    Args:
        sentence: to be cut.
        language: of it.
        marked: whether its first words are in bold, and a dash or a colon follows: then they are none of the
            sentence's.
    """
    return _cut(_cut(sentence, language, marked), language, marked)


def _cut(sentence: str, language: str, marked: bool) -> str:
    for bracket in (_BRACKETED, _DAY_IN_BRACKETS):
        match = bracket.match(sentence)
        if match and match.end() < len(sentence):
            return sentence[match.end() :]
    days = date_words(language)
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
    """Whether a text is nothing but a day: numbers, months, weekdays."""
    return _is_day(text, date_words(language))


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
        # Without blanks between words nothing but its length tells a place from a clause.
        if len(words) > _CASELESS_WORDS + (3 if dated else 0) or (
            holds_no_spaces(language) and (len(line) > _UNSPACED_PLACE or any(map(str.isdigit, line)))
        ):
            return False
    elif not all(
        word[0].isupper() or word[0].isdigit() or word.lower() in days or word in _joining() for word in words
    ):
        return False
    if dated or "," in line or line.endswith(")") or line.endswith("."):
        return True
    # "Ligue 1 – Lyon – ...": a second dash makes the first a parenthesis. "Lyon – Nantes ..." is a match: behind a
    # short dash there has to be a word that begins sentences.
    if len(words) > _BARE_WORDS or _LATER_DASH.search(rest, 0, LONGEST) is not None:
        return False
    first = _WORD.match(rest)
    return (
        marked or "—" in dash or language in _CASELESS or (first is not None and begins_sentences(first[0], language))
    )
