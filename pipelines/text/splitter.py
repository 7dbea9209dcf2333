"""Find the ends of sentences, as offsets in code points.

A splitter is a function from the text of a page, one block per line, to the ascending ends of its sentences; the last
end is `len(text)`. A sentence is `text[previous_end:end]` with the white space around it. A line feed always ends a
sentence. The empty text has no sentences.

There are three splitters: `rules` (default; pure Python, with abbreviations, initials, ordinals and quotes of each
language), `icu` (BreakIterator of the locale) and `polyglot` (same results as polyglot's `Text(...).sentences`, for
data that must be comparable with EASE's).
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from wikianchor.io.errors import UsageError
from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.site import Writing

Splitter = Callable[[str], list[int]]

SPLITTERS: Final = ("rules", "icu", "polyglot")
_UNKNOWN: Final = Writing()


def make_splitter(name: str, language: str, writing: Writing = _UNKNOWN) -> Splitter:
    """Return a splitter for a language.

    Create one per process: splitters that use ICU contain a C++ object and cannot be pickled.

    Args:
        name: one of SPLITTERS.
        language: language code such as 'en' or 'be-tarask'; an unknown one gets general rules.
        writing: how the language is written, where a dump told; the splitter `rules` takes abbreviations from it.

    Returns:
        A function from a text to the ascending ends of its sentences, offsets in code points.

    Raises:
        UsageError: the name is unknown, or the package of the splitter is not installed.

    >>> make_splitter("rules", "en")("It was Dr. Who. He left at 3.14 p.m. and ran.")
    [16, 45]
    """
    if name == "rules":
        return _rules_splitter(language, writing)
    if name == "icu":
        return _icu_splitter(language)
    if name == "polyglot":
        return _polyglot_splitter()
    raise UsageError(f"--splitter={name}: there is no such splitter, choose one of {', '.join(SPLITTERS)}")


# --- rules -----------------------------------------------------------------------------------------------------------
#
# One regular expression searches the text for candidates: line feeds, runs of terminators, and bracketed or quoted
# text, which it matches as a whole, so that there are no candidates inside. The functions below decide about each
# candidate. Each reads a bounded window, so the time is linear for any text.

# Terminators that end a sentence only before white space, or before a closing quote and white space.
WEAK_TERMINATORS: Final = ".!?…‥‽‼⁇⁈⁉"
# Terminators that end a sentence anywhere: CJK, Indic, Armenian, Arabic and Urdu, Syriac, N'Ko, Ethiopic, Burmese,
# Khmer, Tibetan, Mongolian, Vai, Lisu, Javanese, Balinese, Ol Chiki, Sinhala, Cham, Saurashtra, Meetei, Bamum, Chakma.
# The Tibetan shad also ends clauses, so Tibetan is split into clauses.
STRONG_TERMINATORS: Final = "。．｡！？।॥։؟۔܀܁܂߹።፧፨။។៕།༎᠃᠉꘎꘏꓿꧉᭞᭟᱾᱿෴꩝꩞꩟꣎꣏꯫꫰꫱꛳꛷𑅁𑅂"
_TERMINATORS_BEYOND_BMP: Final = "𑅁𑅂"
# Language -> further terminators. The Greek question mark is a semicolon; the Armenian full stop is often typed as a
# colon, the Bengali one as the currency numerator that looks like it.
LANGUAGE_TERMINATORS: Final = {
    "el": ";\u037e",
    "pnt": ";\u037e",
    "hy": ":",
    "hyw": ":",
    "bn": "\u09f7",
    "as": "\u09f7",
    "bpy": "\u09f7",
}
# Thai and Lao end sentences with a space, but also write spaces inside sentences: a space ends a sentence only before
# these words.
_OPENERS_AFTER_SPACE: Final = {
    "th": "นอกจากนี้ นอกจากนั้น อย่างไรก็ตาม อย่างไรก็ดี ต่อมา ปัจจุบัน ในปัจจุบัน ทั้งนี้ จากนั้น หลังจากนั้น ในขณะเดียวกัน ด้วยเหตุนี้ ดังนั้น ในที่สุด",
    "lo": "ນອກຈາກນີ້ ນອກຈາກນັ້ນ ຢ່າງໃດກໍຕາມ ຕໍ່ມາ ປັດຈຸບັນ ໃນປັດຈຸບັນ ຈາກນັ້ນ ຫຼັງຈາກນັ້ນ ດັ່ງນັ້ນ ໃນທີ່ສຸດ",
}
# Languages whose full stop is the danda (।) or the Urdu full stop (۔). In them a "." is rarely the end of a sentence.
_OWN_FULL_STOP: Final = frozenset(
    {
        "anp",
        "as",
        "awa",
        "bh",
        "bho",
        "bn",
        "bpy",
        "dty",
        "hi",
        "ks",
        "mai",
        "ne",
        "new",
        "or",
        "pa",
        "pi",
        "pnb",
        "rkt",
        "sa",
        "sd",
        "skr",
        "ur",
    }
)
# Languages in which "." ends no sentence: the Armenian full stop is ։, and its dot is a kind of comma.
_DOT_IS_A_COMMA: Final = frozenset({"hy", "hyw"})

_IDEOGRAPHIC: Final = frozenset({"ja", "zh", "yue", "zh-yue", "wuu", "gan", "lzh", "zh-classical"})

_BRACKETS: Final = "() （） [] ［］ 【】 「」 『』 ｢｣ 《》 〈〉 〔〕 “” „“ „” «» »«"
_ROUND: Final = "(（[［"
_CLOSERS_AFTER_WEAK: Final = "\"'”’“»«›‹)\\]）」』】》〉｣］"
_CLOSERS_AFTER_STRONG: Final = "”’»)\\]）」』】》〉｣］〕"
_FOOTNOTE_ENDS: Final = "]¹²³⁴⁵⁶⁷⁸⁹⁰"
_SPACES: Final = r"[^\S\n]*"

# Characters that may precede the first letter of a sentence.
_BEFORE_FIRST_LETTER: Final = "\"'“”„«»‘‹›([¿¡「『（《—–-"
# Characters that cannot begin a sentence.
_GOES_ON: Final = frozenset(",;:)]}%/、，：；・）」』】》〉〕~～ー" + WEAK_TERMINATORS + STRONG_TERMINATORS)
_DASHES: Final = "-–—−"
_JAPANESE_GOES_ON: Final = "をのはがにともでやへなだかよねさっらりるれわ"
_CHINESE_GOES_ON: Final = "的地得之等與与和及而是為为"
# A Japanese ！ or ？ without a space usually belongs to a name. It ends a sentence before these words.
_JAPANESE_OPENERS: Final = "この これ ここ こう その それ そこ そし また しかし だが ただ なお 彼 私 僕 実は"

_NEVER, _NUMBERED, _RARELY, _CLOSING, _UNIT, _YEAR = range(6)
# Kinds of abbreviations, by the name of their list in the data. A word in several lists of a language has the last
# kind.
_KINDS: Final = (
    ("never", _NEVER),  # Dr. Prof. z.B.: something follows
    ("numbered", _NUMBERED),  # Nr. vol. pp.: not final before a number
    ("rarely", _RARELY),  # Inc. U.S.: final only before a word that begins sentences
    ("closing", _CLOSING),  # etc. н.э. v.Chr.: final before a capital
    ("units", _UNIT),  # км. hab.: final before a capital if a number stands before
    ("years", _YEAR),  # г. m.: as units, but not after a date with which the sentence begins
)

_MARKS: Final = "".join(chr(code) for code in range(0x0300, 0x1D00) if unicodedata.category(chr(code)).startswith("M"))
# Signs that join the next consonant to the one before (canonical combining class 9).
_VIRAMAS: Final = "".join(char for char in _MARKS if unicodedata.combining(char) == 9)
_MARK: Final = f"[{_MARKS}\u200c\u200d]"
# A letter with its marks. In Indic scripts: a syllable, that is consonants joined by viramas and a vowel sign. `\w`
# matches no mark.
_SYLLABLE: Final = rf"[^\W\d_]{_MARK}{{0,6}}(?:(?<=[{_VIRAMAS}\u200d])[^\W\d_]{_MARK}{{0,6}}){{0,4}}"
_ONE_SYLLABLE: Final = re.compile(rf"{_SYLLABLE}\Z")
_SYLLABLES: Final = re.compile(_SYLLABLE)

_FIRST_UNSPACED: Final = "\u0620"
_VOWEL_SIGNS: Final = ("Mc", "Mn")
# Arabic and the Indic scripts have no capitals, and their abbreviations are short.
_ARABIC_TO_SINHALA: Final = re.compile("[\u0620-\u06ff\u0900-\u0dff]")
_CASELESS_WORD: Final = re.compile(rf"(?:{_SYLLABLE})+\Z")
# The next word and the first character of the word after it.
_FOLLOWING: Final = re.compile(rf"((?:{_SYLLABLE}){{1,20}}),?[^\S\n]+\S")
# "com", "net" and "org" in the scripts of languages that put a full stop at the end of sentences.
_TOP_DOMAINS: Final = "कॉम नेट ऑर्ग કોમ નેટ કૉમ ಕಾಮ್ ಕಾಂ ನೆಟ್ కామ్ కాం నెట్ காம் நெட் കോം നെറ്റ് කොම් නෙට් كوم نت کام نێت"
# "5 p.m. EST": an abbreviation before one of these does not end the sentence.
_TIME_ZONES: Final = (
    "UTC GMT EST EDT ET CST CDT CT MST MDT MT PST PDT PT AKST HST NST NDT AST ADT BST WET CET CEST EET EEST IST JST "
    "KST AEST AEDT ACST AWST NZST NZDT SAST BRT ART MSK Eastern Central Pacific Mountain"
)

_NEXT_WORD: Final = re.compile(r"[^\w\n]{0,3}(\w{1,24}(?:['’]\w{0,3})?)")
_INITIAL: Final = re.compile(rf"{_SYLLABLE}\.")
_SPACED_LETTERS: Final = re.compile(r"(?:[^\W\d_]{1,4}\.\s?)+[^\W\d_]{1,4}\Z")
_NUMBER_BEFORE: Final = re.compile(r"(?:\d|\b[IVXLCDM]+|\b[ІХ]+)[^\S\n]*\Z")
_ROMAN: Final = re.compile(r"[IVXLCDM]+\Z")
_ACRONYM: Final = re.compile(rf"(?:(?:{_SYLLABLE}){{1,2}}\.)+(?:{_SYLLABLE}){{1,2}}\Z")
_DOTTED: Final = re.compile(r"(?:[^\W\d_]{1,4}\.)+[^\W\d_]{1,4}\Z")
_ROMAN_OR_DIGIT: Final = re.compile(r"[\W_]{0,2}(?:\d|[IVXLCDM]+\b)")
_WORD_PARTS: Final = re.compile(r"/|['’](?=\w\w)")
_HOUR: Final = re.compile(r"(?<!\d)\d{1,2}\Z")
_MINUTE: Final = re.compile(r"\d\d(?!\d)")
_LAST_DASH: Final = re.compile(r"[-–—](?=[^-–—]*\Z)")
_BEYOND_LATIN: Final = "\u0370"
_WINDOW: Final = 24
# Ending of a long word before a number: "Hauptstr. 5".
_STREET: Final = "str"
# Letters of a preposition before a date.
_PREPOSITION: Final = 4
# Kinds of "mln." and "тыс." before a unit, and their least length: "в" is a unit and a preposition.
_MULTIPLIERS: Final = (_RARELY, _UNIT)
_MULTIPLIER: Final = 3


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules of one language, from `data/abbreviations.json`.

    Attributes:
        language: language code.
        kinds: kind of each abbreviation, without its full stop.
        starters: words that often begin a sentence.
        ordinals: a number up to this before a full stop is an ordinal: "3." is "third".
        roman: whether Roman numerals are ordinals too: "Ludwig XIV."
        words: small letters that are words, and no initials.
    """

    language: str
    kinds: dict[str, int]
    starters: frozenset[str]
    ordinals: int
    roman: bool
    words: frozenset[str]


def _ancestry(language: str) -> Iterator[dict[str, Any]]:
    """Yield the table of all languages, then those of the languages that this one is `like`, then its own."""
    data: dict[str, dict[str, Any]] = package_json("pipelines.text", "abbreviations.json")
    chain: list[dict[str, Any]] = []
    code = language if language in data else language.split("-")[0]
    while code and code in data:
        chain.append(data[code])
        code = data[code].get("like", "")
    yield data[""]
    yield from reversed(chain)


@cache
def _rules_of(language: str, writing: Writing = _UNKNOWN) -> _Rules:
    kinds: dict[str, int] = {}
    starters: set[str] = set()
    tables = list(_ancestry(language))
    for table in tables:
        for name, kind in _KINDS:
            for word in table.get(name, "").split():
                # A lower-case word stands for its capitalised forms too, but not a single letter: "P." is an initial,
                # and the "V." of "240 V." is not "v."
                forms = {word, word.capitalize(), word.upper()} if word.islower() and len(word) > 1 else {word}
                kinds.update(dict.fromkeys(forms, kind))
        starters.update(table.get("starters", "").split())
    # In a language without a table, "3." does not end a sentence: joining two sentences is better than cutting one.
    ordinals = max(table.get("ordinals", 0) for table in tables) if len(tables) > 1 else 31
    roman = any(table.get("roman") for table in tables)
    # The table knows more kinds than a dump tells.
    derived = dict.fromkeys(writing.never, _NEVER) | dict.fromkeys(writing.rarely, _RARELY)
    return _Rules(language, derived | kinds, frozenset(starters), ordinals, roman, frozenset(writing.words))


def begins_sentences(word: str, language: str) -> bool:
    """Return whether a word is in the list of words that often begin a sentence in a language.

    >>> begins_sentences("The", "en"), begins_sentences("Paris", "en")
    (True, False)
    """
    return re.split(r"['’]", word)[0] in _rules_of(language).starters


def sentence_opener(language: str) -> str:
    """Return a word that often begins a sentence in a language, "" if none is listed."""
    return min(_rules_of(language).starters, default="")


# The last group of each branch of the expression. The remaining branch is the space before a Thai or Lao opener.
_NEWLINE_GROUP, _WEAK_GROUP, _STRONG_GROUP, _BRACKET_GROUP = 1, 3, 5, 6


@cache
def _stops(language: str, beyond_bmp: bool) -> re.Pattern[str]:
    """Return the expression that finds all candidates. `Match.lastindex` tells the kind of a candidate.

    The expression begins with one character set, because `re` then searches for the next character of the set quickly;
    a set with characters beyond the BMP takes twice the time, so it is used only for texts that contain them. Every
    branch matches or fails within a bounded window, and the empty branch at the end always matches.
    """
    strong = STRONG_TERMINATORS if beyond_bmp else re.sub(f"[{_TERMINATORS_BEYOND_BMP}]", "", STRONG_TERMINATORS)
    weak = WEAK_TERMINATORS + LANGUAGE_TERMINATORS.get(language, "")
    openers = "".join(dict.fromkeys(_BRACKETS[::3]))
    space_openers = _OPENERS_AFTER_SPACE.get(language)
    bracketed = []
    for opening, closing in zip(_BRACKETS[::3], _BRACKETS[1::3], strict=True):
        inside = f"[^{re.escape(opening + closing)}\\n]{{0,300}}"
        nested = f"(?:{re.escape(opening)}{inside}{re.escape(closing)}{inside}){{0,3}}" if opening in _ROUND else ""
        # An opening quote follows white space or another bracket; otherwise it closes (»so« against «so»).
        edge = r"(?<![^\s(\[].)" if opening in "«»" else ""
        bracketed.append(f"(?<={re.escape(opening)}){edge}{inside}{nested}{re.escape(closing)}")
    branches = [
        r"(?<=\n)()",
        f"(?<=[{weak}])[{weak}]*"
        # A footnote number without its brackets.
        r"(?:(?<=[a-zà-ÿа-яё]{3}\.)\d{1,3}(?=[^\S\n]+[A-ZÀ-ÞА-ЯЁ]))?()"
        rf"(?:[{_CLOSERS_AFTER_WEAK}]|[ \u00a0\u202f]»(?=[\s.,;:]|\Z))*"
        rf"(?:\[\w{{1,12}}\])*[\u00b9\u00b2\u00b3\u2070-\u2079]*(){_SPACES}",
        rf"(?<=[{STRONG_TERMINATORS}])(?:[{STRONG_TERMINATORS}{weak}]|(?<=།)\s།)*()"
        rf"(?:[{_CLOSERS_AFTER_STRONG}]|[\"'](?=[\s,;।]|\Z)|\[\w{{1,12}}\])*(){_SPACES}",
        rf"(?:{'|'.join(bracketed)})(){_SPACES}",
    ]
    first = f"\\n{weak}{strong}{re.escape(openers)}"
    if space_openers:
        first += " "
        branches.append(f"(?<= )()(?={'|'.join(space_openers.split())})")
    return re.compile(f"[{first}](?:{'|'.join(branches)}|)")


def _rules_splitter(language: str, writing: Writing) -> Splitter:
    rules = _rules_of(language, writing)

    def split(text: str) -> list[int]:
        ends: list[int] = []
        start, length = 0, len(text)
        stops = _stops(language, any(sign in text for sign in _TERMINATORS_BEYOND_BMP))
        for stop in stops.finditer(text):
            group, after = stop.lastindex, stop.end()
            if group == _NEWLINE_GROUP:
                ends.append(after)
                start = after
                continue
            if group is None or after == length or text[after] == "\n":
                continue
            if group == _WEAK_GROUP:
                dot = stop.start()
                if after == dot + 1 or (after == stop.end(3) and text[after - 1] not in _FOOTNOTE_ENDS):
                    # No white space: "3.14", "example.com", but also "असते.याचे".
                    if text[after] < _FIRST_UNSPACED or not _unspaced_ends(text, start, dot, rules):
                        continue
                    ends.append(after)
                    start = after
                    continue
                final = _weak_ends(text, start, dot, stop.end(2), after=after, rules=rules)
            elif group == _STRONG_GROUP:
                final = _strong_ends(text, start, stop.start(), after, rules)
            else:
                final = group != _BRACKET_GROUP or _bracket_ends(
                    text, start, stop.start(), stop.end(6), after=after, rules=rules
                )
            if final:
                ends.append(after)
                start = after
        if start < length:
            ends.append(length)
        return ends

    return split


def core_splitter_rules(language: str, writing: Writing) -> dict[str, object]:
    """Return what the compiled core has to know; the names are those of the struct `SplitterRules` in `core/engine`."""
    rules = _rules_of(language, writing)
    return {
        "weak": WEAK_TERMINATORS,
        "strong": STRONG_TERMINATORS,
        "language_terminators": LANGUAGE_TERMINATORS.get(language, ""),
        "openers_after_space": _OPENERS_AFTER_SPACE.get(language, "").split(),
        "brackets": list(zip(_BRACKETS[::3], _BRACKETS[1::3], strict=True)),
        "round": _ROUND,
        "closers_after_weak": _CLOSERS_AFTER_WEAK.replace("\\", ""),
        "closers_after_strong": _CLOSERS_AFTER_STRONG.replace("\\", ""),
        "footnote_ends": _FOOTNOTE_ENDS,
        "before_first_letter": _BEFORE_FIRST_LETTER,
        "goes_on": "".join(sorted(_GOES_ON)),
        "dashes": _DASHES,
        "particles": _particles(language),
        "openers": _JAPANESE_OPENERS.split(),
        "top_domains": _TOP_DOMAINS.split(),
        "time_zones": _TIME_ZONES.split(),
        "viramas": _VIRAMAS,
        "vowel_signs": _vowel_signs(),
        "japanese": language == "ja",
        "ideographic": language in _IDEOGRAPHIC,
        "own_full_stop": language in _OWN_FULL_STOP,
        "dot_is_a_comma": language in _DOT_IS_A_COMMA,
        "kinds": rules.kinds,
        "starters": sorted(rules.starters),
        "street": _STREET,
        "ordinals": rules.ordinals,
        "roman": rules.roman,
        "words": "".join(sorted(rules.words)),
    }


def _particles(language: str) -> str:
    """Return the characters with which a Japanese or Chinese sentence goes on."""
    return _JAPANESE_GOES_ON if language == "ja" else _CHINESE_GOES_ON


@cache
def _vowel_signs() -> str:
    """Return the vowel signs among the marks, which are the same in all languages."""
    return "".join(char for char in _MARKS if unicodedata.category(char) in _VOWEL_SIGNS)


def _goes_on(text: str, after: int) -> bool:
    """Return whether the text at `after` cannot begin a sentence: a lower-case letter, a comma, a closing bracket."""
    char = text[after]
    if char == "," and text.startswith(",,", after) and text[after + 2 : after + 3].isalnum():
        char = text[after + 2]  # ",,word,,": commas for quotes
    if char in _GOES_ON:
        return True
    if char in _DASHES and text[after + 1 : after + 2].isspace():
        return True  # "a remark. – the source", "58 BC. – 14 AD."
    if char in _BEFORE_FIRST_LETTER:
        letters = text[after : after + 4].lstrip(_BEFORE_FIRST_LETTER + " \u00a0\u202f")
        if not letters:
            return False
        char = letters[0]
    # All Georgian letters are lower-case in Unicode.
    return char.islower() and not "\u10d0" <= char <= "\u10ff"


def _next_is_starter(text: str, after: int, rules: _Rules) -> bool:
    match = _NEXT_WORD.match(text, after)
    if not match:
        return False
    word = match[1]
    if len(word) == 1 and text.startswith(".", match.end()):
        return False  # an initial
    return word in rules.starters or re.split(r"['’]", word)[0] in rules.starters


def _weak_ends(text: str, start: int, dot: int, run_end: int, after: int, rules: _Rules) -> bool:
    """Return whether a sentence ends at the terminators text[dot:run_end], which white space or a closing quote
    follows."""
    if not text[after].isupper() and _goes_on(text, after):
        return False
    sign = text[dot]
    if sign != "." or (run_end - dot > 1 and not text[run_end - 1].isdigit()):
        if dot - start < 4 and not text[start:dot].strip():
            return False  # "... And Justice for All"
        if sign in ".…‥" and rules.language in _IDEOGRAPHIC:
            return False  # a pause, whatever follows
        if sign in ":;\u037e":
            return text[after].isupper() or text[after] in _BEFORE_FIRST_LETTER
        if sign in "!?":
            word = text[max(start, dot - _WINDOW) : dot].rsplit(None, 1)[-1:]
            if word and rules.kinds.get(word[0] + sign) == _RARELY:
                return _next_is_starter(text, after, rules)
        return True
    return _period_ends(text, start, dot, after, rules)


def _period_ends(text: str, start: int, dot: int, after: int, rules: _Rules) -> bool:
    """Return whether the full stop at `dot` ends a sentence, if the text after it could begin one."""
    if rules.language in _DOT_IS_A_COMMA:
        return False
    words = text[max(start, dot - _WINDOW) : dot].rsplit(None, 1)
    if not words:
        return False
    word = words[-1]
    kind = rules.kinds.get(word)
    if kind is None:
        if word.isalpha():
            if len(word) > 4:
                return not (word.endswith(_STREET) and text[after].isdigit())  # "Hauptstr. 5"
        elif not word.isdigit():
            # "(Dr", "l'art", "Jean-P", "12–14": the last part decides, unless it is an ending, as in "NATO-s".
            word = _WORD_PARTS.split(word.lstrip(_BEFORE_FIRST_LETTER))[-1]
            kind = rules.kinds.get(word)
            if kind is None:
                head, *last = _LAST_DASH.split(word)
                word = last[0] if last else head
                if len(word) == 1 and last and head[-1:].isupper():
                    return True  # "DEAP-I", "Type-C" is no initial, "J.-P." is
                if not word or (word.islower() and len(word) < len(words[-1]) and "." not in word):
                    return True
    if len(word) <= 2 and not word.isdigit() and "." in text[max(start, dot - len(word) - 2) : dot]:
        # "z. B.", "т. е.", "n. l.": look the letters up without the spaces.
        spaced = _SPACED_LETTERS.search(text, max(start, dot - 12), dot)
        if spaced:
            joined = re.sub(r"\s", "", spaced[0])
            kind = rules.kinds.get(joined, rules.kinds.get(joined.lower(), kind))
    if kind is not None and kind != _NUMBERED:
        return _abbreviation_ends(kind, text, start, dot - len(word), after=after, rules=rules)
    if kind == _NUMBERED and _ROMAN_OR_DIGIT.match(text, after):
        return False
    return _word_ends(word, text, start, dot, after=after, rules=rules)


def _unspaced_ends(text: str, start: int, dot: int, rules: _Rules) -> bool:
    """Return whether a sentence ends at a full stop between two words that no space separates: "असते.याचे".

    Abbreviations and names of web sites are written like that too. The word before must be longer than they are, and a
    third word must follow.
    """
    if text[dot] != "." or rules.language in _OWN_FULL_STOP or not _ARABIC_TO_SINHALA.match(text, dot - 1):
        return False
    following = _FOLLOWING.match(text, dot + 1)
    words = text[max(start, dot - 2 * _WINDOW) : dot].rsplit(None, 1)
    if following is None or following[1] in _TOP_DOMAINS.split() or len(words) < 2:
        return False
    word = words[1].lstrip(_BEFORE_FIRST_LETTER)
    if word in rules.kinds or not _CASELESS_WORD.match(word):
        return False
    syllables = len(_SYLLABLES.findall(word))
    # Verbs of two syllables end in a vowel sign (आहे), spelled letters often do not (एस).
    return syllables > 2 or (
        syllables == 2 and unicodedata.category(word[-1]) in _VOWEL_SIGNS and word[-1] not in _VIRAMAS
    )


def _word_ends(word: str, text: str, start: int, dot: int, after: int, rules: _Rules) -> bool:
    """Return whether a sentence ends after a word that is no known abbreviation: a number, an initial, an acronym."""
    is_first = dot - len(word) <= start
    if word[-1].isdigit():
        return not is_first and _number_ends(word, text, start, dot, after=after, rules=rules)
    if not word[-1].isalnum() and _ONE_SYLLABLE.match(word):
        # A syllable of an Indic script is an initial, but "है." is a verb.
        return not is_first and rules.language in _OWN_FULL_STOP and not _INITIAL.match(text, after)
    if len(word) == 1:
        if not word.isalpha():
            return True
        if _INITIAL.match(text, after):
            return False  # "44 a. C.", "J. R. R."
        if word in "IVX" and text[max(start, dot - 3) : dot - 1] > _BEYOND_LATIN and text[dot - 2] == " ":
            return not rules.roman or _next_is_starter(text, after, rules)  # "Карл I."
        if word.islower() and _NUMBER_BEFORE.search(text, max(start, dot - 8), dot - 1):
            return True  # "600 m."
        return not is_first and (word in rules.words or _next_is_starter(text, after, rules))
    if _ROMAN.match(word):
        return not is_first and (not rules.roman or _next_is_starter(text, after, rules))
    if text[after].isdigit() and _DOTTED.match(word):
        return False  # "R.D.Lgs. 15"
    # An acronym in capitals (U.S., С.С.С.Р.) is usually part of a name, one in lower case is not.
    return not _ACRONYM.match(word) or word[-1].islower() or _next_is_starter(text, after, rules)


def _abbreviation_ends(kind: int, text: str, start: int, word_start: int, after: int, rules: _Rules) -> bool:
    """Return whether the full stop of an abbreviation also ends the sentence."""
    if kind == _NEVER or not (text[after].isalpha() or text[after] in _BEFORE_FIRST_LETTER):
        return False
    if rules.language in _IDEOGRAPHIC and text[after] in _particles(rules.language):
        return False  # "&c. と書く"
    if kind == _RARELY:
        return not rules.starters or _next_is_starter(text, after, rules)
    if kind == _YEAR and word_start - start <= 2 * _WINDOW and _is_date(text[start:word_start].split(), rules):
        return False  # "У липні 2012 р. Київ"
    if kind >= _UNIT and not _is_counted(text, start, word_start, rules):
        return _next_is_starter(text, after, rules)
    following = _NEXT_WORD.match(text, after) if kind == _CLOSING else None
    return following is None or following[1] not in _TIME_ZONES.split()


def _is_date(words: list[str], rules: _Rules) -> bool:
    """Return whether words are nothing but a date, with a preposition before it or not."""
    first = words[0] if words else ""
    dated = words[1:] if first.isalpha() and len(first) <= _PREPOSITION else words
    others = [word for word in dated if not word[0].isdigit() and rules.kinds.get(word.removesuffix(".")) != _YEAR]
    # "Він помер 1912 р." is a sentence; before a month there is a day or a word such as "у".
    has_month = not others or (others[0] != dated[0] or len(first) <= 2)
    return bool(dated) and dated[-1][0].isdigit() and len(others) <= 1 and has_month


def _is_counted(text: str, start: int, unit: int, rules: _Rules) -> bool:
    """Return whether a number stands before the unit at `unit`, also with a multiplier: "40 km", "750 mln zł"."""
    if _NUMBER_BEFORE.search(text, max(start, unit - 8), unit):
        return True
    window = text[max(start, unit - _WINDOW) : unit].rstrip()
    words = window.rsplit(None, 1)
    if len(words) < 2 or len(words[1]) < _MULTIPLIER or rules.kinds.get(words[1].removesuffix(".")) not in _MULTIPLIERS:
        return False
    at = max(start, unit - _WINDOW) + len(window) - len(words[1])
    return _NUMBER_BEFORE.search(text, max(start, at - 8), at) is not None


def _number_ends(word: str, text: str, start: int, dot: int, after: int, rules: _Rules) -> bool:
    """Return whether a full stop after a number ends the sentence, which it does unless the number is an ordinal."""
    if not word.isdecimal() or int(word) > rules.ordinals:
        return True  # a year, "3:1.", "2.5."
    if len(word) == 3 and _NUMBER_BEFORE.search(text, max(start, dot - 8), dot - 3):
        return True  # "2 831 741."
    end = dot - len(word)
    words = text[max(start, end - _WINDOW) : end].rsplit(None, 1)
    if not rules.starters and len(words) > 1 and len(words[1]) > 1 and words[1].isalpha() and words[1][0].isupper():
        return True  # "and Apollo 17."
    return not text[after].isdigit() and _next_is_starter(text, after, rules)


def _strong_ends(text: str, start: int, sign_at: int, after: int, rules: _Rules) -> bool:
    """Return whether a sentence ends at a terminator that needs no white space after it."""
    char = text[after]
    if text[after - 1].isspace():
        return char not in _GOES_ON
    if char in _GOES_ON:
        return False
    sign = text[sign_at]
    if sign == "։" and _HOUR.search(text, max(0, sign_at - 3), sign_at) and _MINUTE.match(text, after):
        return False  # "9։07"
    if sign == "．" and (char.isdigit() or char.isascii() or text[sign_at - 1 : sign_at].isupper()):
        return False  # "３．１４", "Ｊ．Ｆ．ケネディ"
    if rules.language == "ja":
        if sign in "！？" and text[after - 1] in "！？!?":
            return text.startswith(tuple(_JAPANESE_OPENERS.split()), after)
        if text[after - 1] in "。．｡":
            # を after 。 continues the sentence around a quotation; モーニング娘。 is a name with a full stop.
            return char != "を" and not text.endswith("モーニング娘", start, sign_at)
        return char not in _JAPANESE_GOES_ON
    return True


def _bracket_ends(text: str, start: int, opening: int, closed: int, after: int, rules: _Rules) -> bool:
    """Return whether the sentence ends after text[opening:closed], which is bracketed or quoted and ends in a
    terminator."""
    inner = closed - 2
    if text[inner] in " \u00a0\u202f":
        inner -= 1
    sign = text[inner]
    if sign not in WEAK_TERMINATORS and sign not in STRONG_TERMINATORS:
        return False
    if text[opening] in _ROUND and opening - start > 1:
        # After "(sic!)" and "(b. 1950 in St. Louis.)" the sentence continues, after "(and many of the others.)" it
        # ends.
        words = text[opening + 1 : inner].split() if sign == "." else []
        return len(words) > 4 and len(words[-1]) > 4 and words[-1].isalpha() and text[after].isupper()
    if _goes_on(text, after):
        return False
    if sign in STRONG_TERMINATORS:
        # 「…。」「…。」 is an enumeration; a particle continues the sentence around the quotation.
        particles = _particles(rules.language)
        return text[after] not in "「『（(" and text[after] not in particles
    return after > closed


# --- ICU and polyglot ------------------------------------------------------------------------------------------------


def _import_icu(splitter: str) -> Any:
    try:
        import icu
    except ImportError as error:
        raise UsageError(
            f"--splitter={splitter} needs PyICU: pip install 'wikianchor[{splitter}]' "
            "(needs a C++ compiler and libicu-dev)"
        ) from error
    return icu


_BEYOND_BMP: Final = re.compile("[\U00010000-\U0010ffff]")


def _icu_splitter(language: str) -> Splitter:
    """Return a splitter that uses ICU's BreakIterator. ICU counts UTF-16 units; its offsets are converted."""
    icu = _import_icu("icu")
    breaker = icu.BreakIterator.createSentenceInstance(icu.Locale(language))

    def split(text: str) -> list[int]:
        units = icu.UnicodeString(text)
        breaker.setText(units)
        ends: list[int] = list(breaker)
        if len(units) == len(text):
            return ends
        # The offset of the k-th character beyond the BMP is k units larger than its offset in code points.
        beyond = [match.start() + k for k, match in enumerate(_BEYOND_BMP.finditer(text))]
        return [end - bisect_left(beyond, end) for end in ends]

    return split


def _polyglot_splitter() -> Splitter:
    """Return polyglot's sentence tokenizer.

    It uses ICU's root rules for all languages, and takes offsets in UTF-16 units for offsets in code points, so every
    boundary after a character beyond the BMP is one character late. This published behaviour is kept. Ends beyond the
    text are removed, as polyglot's slices do.
    """
    _import_icu("polyglot")
    try:
        from polyglot.base import Sequence
        from polyglot.tokenize import SentenceTokenizer
    except ImportError as error:
        raise UsageError(f"--splitter=polyglot needs polyglot: pip install 'wikianchor[polyglot]' ({error})") from error
    tokenizer = SentenceTokenizer()

    def split(text: str) -> list[int]:
        if not text:
            return []
        length = len(text)
        ends: list[int] = [end for end in tokenizer.transform(Sequence(text)).idx[1:] if end < length]
        return [*ends, length]

    return split
