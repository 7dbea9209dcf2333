"""Remove the dateline, the place and the day of the news, from the first sentence of an article.

Examples: "MADRID, May 3 — The king ...", "Berlin (Deutschland), 03.05.2006 – Der ...", "22 mai 2012. - Le ...",
"【東京】", "（東京）", "Warszawa: Minister ...". A dateline is short, consists of names, numbers, months and
weekdays, and ends with a dash, a colon or a bracket. The rest must look like the start of a sentence, because a name
before a dash may also be its subject, and two dashes a parenthesis. A text is a dateline if its place or its agency is
known (`data/places.json`), if it has a day, if it is bold, or if it is in capitals.

`data/datelines.json` has the rules, one a line. This module has the tests that need lists of words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple

from wikianchor.pipelines.mewsc16.editions import read_facts, rules_for, words_of
from wikianchor.pipelines.text.splitter import begins_sentences
from wikianchor.pipelines.text.writing import holds_no_spaces

# Without the article before a month: "d'abril".
_WORD = re.compile(r"(?:\b[dD]['’](?=\w))?([^\s,،.;:()（）\[\]/・、=＝]+)")
_AFTER_BOLD = re.compile(r"\s*(?P<sign>[–—―-]+|[:：])[-–—\s]*")
_DATE = re.compile(r"\d{1,2}[./]\s?\d{1,2}[./]\s?\d{2,4}|\d{4}[-/]\d\d[-/]\d\d|\d{1,2}\s?[月일日]|\d{4}\s?[年년]")
_FULL_DAY = re.compile(r"\d{4}\s?[年년]\s?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일]")
# A number with an ending: "3rd", "3-a", "2007年5月3日". In Japanese it may be the start of a clause instead.
_NUMBER = re.compile(r"\d[\d年月日년월일.:-]*[^\d\s]{0,3}")
_TIME = re.compile(r"\d{1,2}(?::|\s?h\s?)\d\d(?!\d)")
_FIRST_NAME = re.compile(r"\s*[,،/(（・、=＝.;]\s*")
# The shortest place in capitals. Shorter words are names of organisations.
_CAPITALS = 6
_BEFORE_FIRST_LETTER = "\"'“”„«»‘’‹›「『([（¿¡ \u00a0\u202f"
_SIGNS_OF_DAYS = frozenset(
    ("h", "de", "del", "d", "of", "den", "am", "le", "the", "o", "la", "utc", "gmt", "cet", "cest", "a.m", "p.m", "pm")
)


@dataclass
class Candidate:
    """A text that may be a dateline.

    Attributes:
        kind: name of the cut in `data/datelines.json`, "bold", or "alone" for a text without a sentence behind it.
        language: language of the text.
        line: the text.
        sign: the dash or colon behind it.
        rest: the sentence behind that.
        results: conditions that were tested.
    """

    kind: str
    language: str
    line: str
    sign: str = ""
    rest: str = ""
    results: dict[str, bool] = field(default_factory=dict)

    def holds(self, condition: str) -> bool:
        """Return whether a condition of a rule holds."""
        name = condition.removeprefix("!")
        if name not in self.results:
            self.results[name] = self._test(name)
        return self.results[name] is (name == condition)

    def _test(self, name: str) -> bool:
        if name in TESTS:
            return TESTS[name](self)
        if name in _patterns():
            part, pattern = _patterns()[name]
            return pattern.search(self.texts[part]) is not None
        return name == self.kind

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The texts that patterns are searched in."""
        rest = self.rest
        texts = {"line": self.line, "name": self.line.strip(), "sign": self.sign, "rest": rest}
        return texts | {"clause": rest[:40], "beginning": rest[:90]}

    @cached_property
    def words(self) -> list[str]:
        """The words of the line."""
        return _WORD.findall(self.line)

    @cached_property
    def next_word(self) -> str:
        """The first word of the rest, "" if that begins with something else."""
        match = _WORD.match(self.rest)
        return match[0] if match else ""

    @cached_property
    def beside_day(self) -> str:
        """What the line has beside a day with its year."""
        return _FULL_DAY.sub("", self.line, count=1).strip(" ,、()（）")


class Cut(NamedTuple):
    """A way to separate a dateline from its sentence, see `data/datelines.json`."""

    kind: str
    pattern: re.Pattern[str]
    within: int
    strip: str


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
    days = words_of(language)
    words = _WORD.findall(text.lower())
    return (
        any(word[0].isdigit() for word in words)
        and (any(word in days for word in words) or (_DATE.search(text) or _TIME.search(text)) is not None)
        and all(_NUMBER.fullmatch(word) or word in days or word in _SIGNS_OF_DAYS for word in words)
    )


def is_dateline(text: str, language: str) -> bool:
    """Return whether a text is only a dateline.

    A dateline is a day, a known place, an agency, or a place and a country, day or agency, as "Paris, France.".
    """
    return _decide(Candidate("alone", language, text))


def _cut(sentence: str, language: str, bold: str) -> str:
    """Return a sentence without one dateline."""
    return next((each.rest for each in _candidates(sentence, language, bold) if _decide(each)), sentence)


def _candidates(sentence: str, language: str, bold: str) -> Iterator[Candidate]:
    if bold and (sign := _AFTER_BOLD.match(sentence, len(bold))):
        yield Candidate("bold", language, bold, sign["sign"], sentence[sign.end() :])
    for cut in _cuts(language):
        if match := cut.pattern.match(sentence, 0, cut.within):
            groups = {"line": "", "sign": "", **match.groupdict()}
            line, rest = groups["line"].rstrip(cut.strip), sentence[match.end() :].lstrip(cut.strip)
            yield Candidate(cut.kind, language, line, groups["sign"], rest)


def _decide(candidate: Candidate) -> bool:
    """Return whether a candidate is a dateline, by the first rule whose conditions hold."""
    for conditions, dateline in _rules(candidate.language):
        if all(map(candidate.holds, conditions)):
            return dateline
    return False


@cache
def _patterns() -> Mapping[str, tuple[str, re.Pattern[str]]]:
    patterns = read_facts("datelines.json")["patterns"]
    return {name: (part, re.compile(pattern)) for name, (part, pattern) in patterns.items()}


@cache
def _cuts(language: str) -> list[Cut]:
    return [
        Cut(cut["name"], re.compile(cut["pattern"]), cut.get("within", 1 << 30), cut.get("strip", ""))
        for cut in rules_for(language, read_facts("datelines.json")["cuts"])
    ]


@cache
def _rules(language: str) -> list[tuple[list[str], bool]]:
    """Return the conditions of each rule, and whether a text is a dateline where they hold."""
    rules = read_facts("datelines.json")["rules"]
    return [
        (rule["when"].split(), rule["dateline"])
        for rule in rules_for(language, (*rules["all"], *rules["caseless" if _is_caseless(language) else "cased"]))
    ]


def _is_caseless(language: str) -> bool:
    return language in read_facts("datelines.json")["caseless_languages"].split()


@cache
def _places(language: str) -> frozenset[str]:
    return frozenset(_fold(name, language) for name in read_facts("places.json").get(language, "").split(", "))


@cache
def _agencies() -> frozenset[str]:
    return frozenset(name.casefold() for name in read_facts("places.json")["agencies"].split(", "))


@cache
def _opponents() -> frozenset[str]:
    facts = read_facts("places.json")
    return frozenset((*facts["clubs"].split(", "), *facts["countries"].split(", ")))


def _fold(name: str, language: str) -> str:
    """Return a name without capitals, and a Japanese one without the word for a city or a prefecture."""
    if language == "tr":
        name = name.replace("İ", "i").replace("I", "ı")
    if language == "ja" and len(name) > 2:
        name = name.rstrip("都府県市")
    return name.casefold()


def _is_opponent(text: str, language: str) -> bool:
    """Return whether a text begins with a place, a club or a country. "Lyon – Nantes ..." is a football match."""
    words = text.split(maxsplit=2)[:2]
    return _is_known(text, language) or any(" ".join(words[:size]) in _opponents() for size in range(1, len(words) + 1))


def _is_signed(candidate: Candidate) -> bool:
    """Return whether a line is an agency, ends with one in brackets, or is a known place with words in brackets."""
    bracket = candidate.line.replace("（", "(").rpartition("(")[2]
    return (
        candidate.holds("agency")
        or (candidate.holds("in_brackets") and bracket[:-1].casefold() in _agencies())
        or (
            candidate.holds("known")
            and candidate.line == candidate.line.strip()
            and candidate.holds("name_and_bracket")
        )
    )


def _begins(rest: str, language: str) -> bool:
    """Return whether a text may begin a sentence: with a capital or a digit, where the script has capitals."""
    first = rest.lstrip(_BEFORE_FIRST_LETTER)[:1]
    return first.isalnum() if _is_caseless(language) else first.isupper() or first.isdigit()


def _is_known(line: str, language: str) -> bool:
    """Return whether a text begins with a known place, alone or before a comma, a bracket or a day, or after a day."""
    places = _places(language)
    for name in _FIRST_NAME.split(line.strip())[:3]:
        words = _fold(name, language).split()
        if any(" ".join(words[:size]) in places for size in range(1, min(len(words), 3) + 1)):
            return True
        if not is_day(name, language):
            return False
    return False


def _names_source(text: str, language: str) -> bool:
    """Return whether a text in brackets is a place, a place with a day, or an agency."""
    text = unicodedata.normalize("NFKC", text).strip()
    names = [name.casefold() for name in _FIRST_NAME.split(text)]
    places = {_fold(names[0], language)}
    if holds_no_spaces(language):
        places.update(_fold(word, language) for word in text.split()[:1])
    names += text.casefold().split()
    return not names[0].isdigit() and (
        not places.isdisjoint(_places(language)) or any(name in _agencies() for name in names)
    )


def _are_names(text: str, language: str) -> bool:
    """Return whether all words have capitals or belong to a day or to the name of a place."""
    days, joining = words_of(language), words_of("joining")
    words: list[str] = _WORD.findall(text)
    return all(word[0].isupper() or word[0].isdigit() or word.lower() in days or word in joining for word in words)


# The tests that no pattern can do.
TESTS: Mapping[str, Callable[[Candidate], bool]] = {
    # The line.
    "a_word": lambda text: bool(text.words),
    "two_words": lambda text: len(text.words) >= 2,
    "four_words": lambda text: len(text.words) >= 4,
    "five_words": lambda text: len(text.words) >= 5,
    "seven_words": lambda text: len(text.words) >= 7,
    "final_number": lambda text: text.words[-1].isdigit(),
    "closed": lambda text: sum(map(text.line.count, "(（")) == sum(map(text.line.count, ")）")),
    "capitals": lambda text: text.line.isupper() and len(text.words[0]) >= _CAPITALS,
    "day": lambda text: is_day(text.line, text.language),
    "dated": lambda text: (
        any(word.lower() in words_of(text.language) for word in text.words) or _DATE.search(text.line) is not None
    ),
    "only_full_day": lambda text: not text.beside_day,
    "only_weekday": lambda text: text.beside_day in words_of(text.language),
    "known": lambda text: _is_known(text.line, text.language),
    # Also behind one word, as in "Agencja PAP".
    "agency": lambda text: not _agencies().isdisjoint((text.line.casefold(), text.line.casefold().partition(" ")[2])),
    "signed": _is_signed,
    "source": lambda text: _names_source(text.line, text.language),
    "listed": lambda text: (
        (name := text.line.strip(" .:–—-")).casefold() in _agencies()
        or _fold(name, text.language) in _places(text.language)
    ),
    "names": lambda text: _are_names(text.line, text.language),
    "names_before_comma": lambda text: _are_names(text.line.partition(",")[0], text.language),
    "names_before_bracket": lambda text: _are_names(
        text.line.replace("（", "(").rpartition("(")[0], text.language
    ),
    "opener": lambda text: begins_sentences(text.words[0], text.language),
    "opponent": lambda text: _is_opponent(text.line, text.language),
    # The rest.
    "begins": lambda text: _begins(text.rest, text.language),
    "then_day": lambda text: is_day(" ".join(_WORD.findall(text.rest)[:2]), text.language),
    "then_month": lambda text: text.next_word.lower() in words_of(text.language),
    "then_opener": lambda text: begins_sentences(text.next_word, text.language),
    "then_opponent": lambda text: _is_opponent(text.rest, text.language),
}  # fmt: skip
