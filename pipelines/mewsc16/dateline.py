"""Remove the dateline, the place and the day of the news, from the first sentence of an article.

Examples: "MADRID, May 3 — The king ...", "Berlin (Deutschland), 03.05.2006 – Der ...", "22 mai 2012. - Le ...",
"【東京】", "（東京）", "Warszawa: Minister ...". A dateline is short, consists of names, numbers, months and
weekdays, and ends with a dash, a colon or a bracket. The rest must look like the start of a sentence, because a name
before a dash may also be its subject, and two dashes a parenthesis. A text is a dateline if its place or its agency is
known (`data/places.json`), if it has a day, if it is bold, or if it is in capitals.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from wikianchor.pipelines.mewsc16.editions import read_facts, words_of
from wikianchor.pipelines.text.prose import holds_no_spaces
from wikianchor.pipelines.text.splitter import begins_sentences

LONGEST = 90
# Without the article before a month: "d'abril".
_WORD = re.compile(r"(?:\b[dD]['’](?=\w))?([^\s,،.;:()（）\[\]/・、=＝]+)")
_DASH = re.compile(
    r"\s*(?:—|―|--+)\s*|(?:(?<=[.,)\d])\s*|\s+)[–-]\s+|(?<=\w)–\s+(?=[A-ZÀ-ÞА-ЯЁ])|\s+–|(?<=\s)-(?=[ء-ي])"
    r"|\s+[•|]\s+"
)
_AFTER_BOLD = re.compile(r"\s*([–—―-]+|[:：])[-–—\s]*")
_LATER_DASH = re.compile(r"(?<!\d)\s[–—―-]+\s|\w—\w")
_CLAUSE = 40
_BRACKETED = re.compile(r"(?:【[^【】]{1,60}】|\[[^\[\]]{1,60}[=/][^\[\]]{1,60}\]|\([^()]{1,30}=[^()]{1,60}\))\s*")
# A label: "[속보]", "［東京 3日 ロイター］".
_LABEL = re.compile(r"[\[［][^\[\]［］]{1,30}[\]］]\s*")
_ROUND = re.compile(r"[(（]([^()（）]{2,40})[)）]\s*(?:[-–—:：]\s*)?")
# The name of a reporter, as agencies of Korea write it.
_REPORTER = re.compile(r"(?:\S{2,8}\s){1,3}(?:기자|특파원)\s?[=-]\s*")
_DAY_IN_BRACKETS = re.compile(r"[(（][^()（）]{0,40}\d[^()（）]{0,40}[)）]\s*[-–—:]\s*")
_DATE = re.compile(r"\d{1,2}[./]\s?\d{1,2}[./]\s?\d{2,4}|\d{4}[-/]\d\d[-/]\d\d|\d{1,2}\s?[月일日]|\d{4}\s?[年년]")
_FULL_DATE = re.compile(r"(?<!\d)\d{1,2}[./]\s?\d{1,2}[./]\s?(?:\d\d|\d{4})$")
_FULL_DAY = re.compile(r"\d{4}\s?[年년]\s?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일]")
# A number with an ending: "3rd", "3-a", "2007年5月3日". In Japanese it may be the start of a clause instead.
_NUMBER = re.compile(r"\d[\d年月日년월일.:-]*[^\d\s]{0,3}")
_TIME = re.compile(r"\d{1,2}(?::|\s?h\s?)\d\d(?!\d)")
_ISSUED = re.compile(r"[(（]([^()（）]{2,30})[)）]$")
# What stands in brackets behind a place is a country or an agency.
_SIGNED = re.compile(r"[\w ./·-]{2,60}\s?[(（][^()（）\d]{2,40}[)）]")
# A place and its country. Parties are in capitals.
_FOREIGN = re.compile(r"[^\W\d_][\w .·-]{1,40}\s?\([^\W\d_](?=[^()\d]{0,30}[a-zà-ÿа-я]{3})[^()\d]{3,40}\)")
_FIRST_NAME = re.compile(r"\s*[,،/(（・、=＝.;]\s*")
_CASELESS = frozenset({"ar", "fa", "ja", "ko"})
_LABELLED = frozenset({"ja", "ko"})
# Maximum words of a dateline without comma, bracket or day, which could also be the subject of the sentence.
_BARE_WORDS = 4
_CASELESS_WORDS = 6
_CASELESS_LINE = 3
_UNSPACED_PLACE = 8
# Letters of a place in capitals. Shorter words are names of organisations.
_CAPITALS = 6
_QUOTES = "\"'“”„«»‘’‹›「『"
_BEFORE_FIRST_LETTER = _QUOTES + "([（¿¡ \u00a0\u202f"
_SIGNS_OF_DAYS = frozenset(
    ("h", "de", "del", "d", "of", "den", "am", "le", "the", "o", "la", "utc", "gmt", "cet", "cest", "a.m", "p.m", "pm")
)


def cut_dateline(sentence: str, language: str, bold_start: Callable[[str], str] = lambda sentence: "") -> str:
    """Return a sentence without its dateline; at most two are removed, as a place and a day may be separate.

    Args:
        sentence: the sentence.
        language: its language.
        bold_start: returns the first words of a text if they are bold and a dash or a colon follows, otherwise "":
            such words are not part of the sentence.
    """
    rest = _cut(sentence, language, bold_start(sentence))
    return rest if rest == sentence else _cut(rest, language, bold_start(rest))


def is_day(text: str, language: str) -> bool:
    """Return whether a text consists only of a day: numbers, months and weekdays."""
    return _is_day(text, words_of(language))


def is_dateline(text: str, language: str) -> bool:
    """Return whether a text is only a dateline.

    A dateline is a day, a known place, an agency, or a place and a country, day or agency, as "Paris, France.".
    """
    name = text.strip(" .:–—-")
    if is_day(text, language) or name.casefold() in _agencies() or _fold(name, language) in _places(language):
        return True
    words = _WORD.findall(text)
    # "On Wednesday, the 25." was cut at its ordinal.
    if not 1 < len(words) <= _CASELESS_WORDS or not re.search("[,،、]", text) or re.search(r"\D\d\d?\.$", text):
        return False
    if language in _CASELESS:
        return len(words) <= _CASELESS_LINE and _is_known(text, language)
    days, joining = words_of(language), words_of("joining")
    return all(word[0].isupper() or word[0].isdigit() or word.lower() in days or word in joining for word in words)


@cache
def _places(language: str) -> frozenset[str]:
    return frozenset(_fold(name, language) for name in read_facts("places.json").get(language, "").split(", "))


def _fold(name: str, language: str) -> str:
    """Return a name without capitals, and a Japanese one without the word for a city or a prefecture."""
    if language == "tr":
        name = name.replace("İ", "i").replace("I", "ı")
    if language == "ja" and len(name) > 2:
        name = name.rstrip("都府県市")
    return name.casefold()


@cache
def _agencies() -> frozenset[str]:
    return frozenset(name.casefold() for name in read_facts("places.json")["agencies"].split(", "))


@cache
def _opponents() -> frozenset[str]:
    facts = read_facts("places.json")
    return frozenset((*facts["clubs"].split(", "), *facts["countries"].split(", ")))


def _is_opponent(text: str, language: str) -> bool:
    """Return whether a text begins with a place, a club or a country. "Lyon – Nantes ..." is a football match."""
    words = text.split(maxsplit=2)[:2]
    return _is_known(text, language) or any(" ".join(words[:size]) in _opponents() for size in range(1, len(words) + 1))


def _cut(sentence: str, language: str, bold: str) -> str:
    """Return a sentence without one dateline."""
    days = words_of(language)
    if bold and (sign := _AFTER_BOLD.match(sentence, len(bold))):
        rest, dash = sentence[sign.end() :], ":" if sign[1] in ":：" else sign[0]
        if _begins(rest, language) and _is_dateline(bold, dash, rest, language, days, True):
            return rest
    for bracket in (_BRACKETED, _DAY_IN_BRACKETS):
        match = bracket.match(sentence)
        if match and match.end() < len(sentence):
            return sentence[match.end() :]
    if language in _LABELLED and (match := _LABEL.match(sentence)) and match.end() < len(sentence):
        return sentence[match.end() :]
    if language == "ko" and (match := _REPORTER.match(sentence)):
        return sentence[match.end() :]
    match = _ROUND.match(sentence)
    if match and match.end() < len(sentence) and (_names_source(match[1], language) or _is_day(match[1], days)):
        return sentence[match.end() :]
    colon = re.search(r"[:：]", sentence[:LONGEST])
    if colon and colon.start() and (colon[0] == "：" or sentence[colon.end() : colon.end() + 1] == " "):
        line, rest = sentence[: colon.start()], sentence[colon.end() :].lstrip()
        signed = _SIGNED.fullmatch(line.strip()) is not None and _is_known(line, language)
        if _is_day(line, days) or ((signed or _begins(rest, language)) and _before_colon(line, rest, language, days)):
            return rest
    match = _DASH.search(sentence, 2, LONGEST)
    if match is None:
        return sentence
    line, rest = sentence[: match.start()].rstrip(" -–"), sentence[match.end() :].lstrip("-–— ")
    if not _begins(rest, language) or not _is_dateline(line, match[0], rest, language, days, False):
        return sentence
    return rest


def _before_colon(line: str, rest: str, language: str, days: frozenset[str]) -> bool:
    """Return whether a text before a colon is a dateline: known places with a day or an agency."""
    if _is_agency(line):
        return True
    if language not in _CASELESS and _FOREIGN.fullmatch(line.strip()) and rest[:1].isalpha():
        return _is_dateline(line, ":", rest, language, days, False)
    return _is_known(line, language) and _is_dateline(line, ":", rest, language, days, False)


def _is_agency(line: str) -> bool:
    """Return whether a text is the name of an agency, also behind one word as in "Agencja PAP"."""
    return line.casefold() in _agencies() or line.casefold().partition(" ")[2] in _agencies()


def _is_day(text: str, days: frozenset[str]) -> bool:
    words = _WORD.findall(text.lower())
    return (
        any(word[0].isdigit() for word in words)
        and (any(word in days for word in words) or (_DATE.search(text) or _TIME.search(text)) is not None)
        and all(_NUMBER.fullmatch(word) or word in days or word in _SIGNS_OF_DAYS for word in words)
    )


def _begins(rest: str, language: str) -> bool:
    """Return whether a text may begin a sentence: with a capital or a digit, where the script has capitals."""
    first = rest.lstrip(_BEFORE_FIRST_LETTER)[:1]
    if language in _CASELESS:
        return first.isalnum()
    return first.isupper() or first.isdigit()


def _is_known(line: str, language: str) -> bool:
    """Return whether a text begins with a known place, alone or before a comma, a bracket or a day, or after a day."""
    days, places = words_of(language), _places(language)
    for name in _FIRST_NAME.split(line.strip())[:3]:
        words = _fold(name, language).split()
        if any(" ".join(words[:size]) in places for size in range(1, min(len(words), 3) + 1)):
            return True
        if not _is_day(name, days):
            return False
    return False


def _names_source(text: str, language: str) -> bool:
    """Return whether a text in brackets is a place, a place with a day, or an agency."""
    text = unicodedata.normalize("NFKC", text).strip()
    names = [name.casefold() for name in _FIRST_NAME.split(text)]
    places = {_fold(names[0], language)}
    if holds_no_spaces(language):
        places.add(_fold(text.split()[0], language))
    names += text.casefold().split()
    return not names[0].isdigit() and (
        not places.isdisjoint(_places(language)) or any(name in _agencies() for name in names)
    )


def _is_range(line: str, rest: str, days: frozenset[str]) -> bool:
    """Return whether a dash stands between two numbers or two days."""
    if not rest[:1].isdigit() or not line:
        return False
    if line[-1].isdigit() and not _is_day(line, days) and not _FULL_DATE.search(line):
        return True
    # "3 May – 5 May", "12:30 – 13:00"
    return _TIME.match(rest) is not None or (_is_day(line, days) and _is_day(" ".join(_WORD.findall(rest)[:2]), days))


def _is_dateline(line: str, dash: str, rest: str, language: str, days: frozenset[str], marked: bool) -> bool:
    words = _WORD.findall(line)
    if (
        not words
        or (not marked and _is_range(line, rest, days))
        or line.count("(") + line.count("（") != line.count(")") + line.count("）")
    ):
        return False
    known = _is_known(line, language)
    issued = _ISSUED.search(line)
    signed = (
        _is_agency(line)
        or (issued is not None and issued[1].casefold() in _agencies())
        or (known and _SIGNED.fullmatch(line) is not None)
    )
    dated = any(word.lower() in days for word in words) or _DATE.search(line) is not None
    if language in _CASELESS:
        if day := _FULL_DAY.search(line):
            place = (line[: day.start()] + line[day.end() :]).strip(" ,、()（）")
            if not place or place in days or known or marked:
                # "2007年5月3日 – 5日" are two days.
                return bool(place) or marked or "—" in dash or not rest[:1].isdigit()
        # Without capitals, only the length distinguishes a place from a clause.
        if len(words) > _CASELESS_WORDS or (
            holds_no_spaces(language) and (len(line) > _UNSPACED_PLACE or any(map(str.isdigit, line)))
        ):
            return False
        return (
            signed
            or _is_day(line, days)
            or (marked and dash != ":")
            or (len(words) <= 4 and (marked or known))
            or (known and dated)
        )
    joining = words_of("joining")
    if _is_agency(line):
        return True
    if signed and issued is not None:
        words = _WORD.findall(line[: issued.start()])
    if marked and "," in line:
        # "Praha, Česká republika": the name of a country may have small letters.
        words = _WORD.findall(line.partition(",")[0])
    if not all(word[0].isupper() or word[0].isdigit() or word.lower() in days or word in joining for word in words):
        return False
    # Neither a match nor a parenthesis goes on with a quotation.
    if marked or signed or _is_day(line, days) or (known and (dated or "," in line or rest[0] in _QUOTES)):
        return True
    if known:
        first = _WORD.match(rest)
        if first is not None and begins_sentences(first[0], language):
            return True
        # Two places are a match or a road; a clause between dashes is short.
        return _LATER_DASH.search(rest, 0, _CLAUSE) is None and not _is_opponent(rest, language)
    # "Title: Part II – The ...", "(May 14, 1948 – March 18, 2007)"
    following = _WORD.match(rest)
    if re.search(r":\s", line) or (following is not None and following[0].lower() in days):
        return False
    # A year in brackets is that of a work or an event.
    if dated or "," in line or line.endswith(".") or (line.endswith(")") and not words[-1].isdigit()):
        return True
    # In "Ligue 1 – Lyon – ..." the dashes enclose a parenthesis.
    if len(words) > _BARE_WORDS or _LATER_DASH.search(rest, 0, LONGEST) is not None or any(map(str.isdigit, line)):
        return False
    if line.isupper() and len(words[0]) >= _CAPITALS:
        return True
    first = _WORD.match(rest)
    if "—" in dash or (first is not None and begins_sentences(first[0], language)):
        return True
    if begins_sentences(words[0], language) or _is_opponent(line, language):
        return False
    return not _is_opponent(rest, language)
