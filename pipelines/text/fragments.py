"""Cut text into sentences, and recognise those that are not complete sentences of prose."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import compress
from types import MappingProxyType
from typing import Final, Protocol
from unicodedata import category

from wikianchor.pipelines.text.splitter import LANGUAGE_TERMINATORS, STRONG_TERMINATORS, WEAK_TERMINATORS
from wikianchor.pipelines.wikimedia.site import Writing

# Reason -> its meaning, in the order of the tests. The first reason that applies is returned.
FRAGMENT_REASONS: Final = MappingProxyType(
    {
        "short": "fewer than 10 characters, or 5 in Chinese, Japanese and Korean",
        "long": "more than 1,000 characters: a missed boundary, or no prose",
        "markup": "contains wikitext or HTML",
        "unbalanced": "contains an unbalanced bracket",
        "no_letters": "letters are less than half of the characters that are not white space, or a quarter in Chinese, "
        "Japanese and Korean",
        "script": "less than a third of the letters belong to the scripts of the wiki's language; in Chinese, Japanese "
        "and Korean, more than three quarters of all characters are letters of other scripts, or less than a tenth are "
        "letters of these",
        "no_terminator": "does not end with punctuation, in a language that uses it: a heading, a caption, a list item",
    }
)

UNKNOWN: Final = Writing()

_LONGEST: Final = 1000
_SHORTEST: Final = 10
_SHORTEST_IDEOGRAPHIC: Final = 5


def whole_sentences(
    text: str, ends: list[int], link_starts: Sequence[int], link_ends: Sequence[int]
) -> Iterator[tuple[int, str]]:
    """Cut a text into sentences.

    Args:
        text: that of a page.
        ends: ascending ends of its sentences, from a splitter. An end inside a link is ignored, so that no link is cut.
        link_starts: offsets of the links in the text, ascending; links do not overlap.
        link_ends: offsets after the links.

    Yields:
        The offset of each sentence and the sentence, without white space around it. Empty sentences are skipped.

    >>> list(whole_sentences("A b. C d.", [5, 9], [], []))
    [(0, 'A b.'), (5, 'C d.')]
    """
    start = link = 0
    beyond = len(text) + 1
    starts, closes = [*link_starts, beyond], [*link_ends, beyond]
    for end in ends:
        while closes[link] <= end:
            link += 1
        if starts[link] < end:
            continue
        untrimmed = text[start:end]
        if sentence := untrimmed.strip():
            yield start + len(untrimmed) - len(untrimmed.lstrip()), sentence
        start = end


# Letters and the marks that belong to them, as ranges of a character class.
_SCRIPTS: Final = {
    "Latin": "A-Za-zªºÀ-ÖØ-öø-ʯ\u0300-\u036f\u1e00-\u1effⱠ-Ɀ꜠-ꟿʻʼ’'",
    "Greek": "Ͱ-ͽΆΈ-Ͽἀ-ῼ\u0300-\u036f",
    "Cyrillic": "Ѐ-ԯᲀ-ᲈꙀ-ꚟ\u0300-\u036f’'ʼ",
    "Armenian": "Ա-և",
    "Hebrew": "\u0591-\u05f4",
    "Arabic": "ؐ-ؚؠ-ٟٮ-ۓەۖ-ۜ۟-۪ۨ-ۯۺ-ۿݐ-ݿࢠ-ࣿﭐ-﷿ﹰ-ﻼ\u200c\u200d",
    "Syriac": "\u070f-\u074a",
    "Thaana": "\u0780-\u07b1",
    "Nko": "\u07c0-\u07fa",
    "Devanagari": "\u0900-\u0963\u0970-\u097f\u200c\u200d",
    "Bengali": "\u0980-\u09e3\u09f0-\u09fe\u200c\u200d",
    "Gurmukhi": "\u0a00-\u0a65\u0a70-\u0a76",
    "Gujarati": "\u0a80-\u0ae5\u0af9-\u0aff\u200c\u200d",
    "Oriya": "\u0b00-\u0b65\u0b71\u200c\u200d",
    "Tamil": "\u0b80-\u0bd7\u200c\u200d",
    "Telugu": "\u0c00-\u0c65\u200c\u200d",
    "Kannada": "\u0c80-\u0ce5\u0cf1-\u0cf3\u200c\u200d",
    "Malayalam": "\u0d00-\u0d65\u0d7a-\u0d7f\u200c\u200d",
    "Sinhala": "\u0d80-\u0df3\u200c\u200d",
    "Thai": "\u0e01-\u0e3a\u0e40-\u0e4e\u200b",
    "Lao": "\u0e80-\u0ecd\u0edc-\u0edf\u200b",
    "Tibetan": "\u0f00\u0f0b\u0f0c\u0f18\u0f19\u0f40-\u0fbc",
    "Myanmar": "\u1000-\u103f\u1050-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f\u200b-\u200d",
    "Georgian": "Ⴀ-ჿᲐ-Ჿⴀ-ⴭ",
    "Hangul": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3",
    "Ethiopic": "\u1200-\u135f\u1380-\u138f\u2d80-\u2dde\uab01-\uab2e",
    "Cherokee": "\u13a0-\u13fd\uab70-\uabbf",
    "Canadian": "\u1400-\u167f\u18b0-\u18f5",
    "Khmer": "\u1780-\u17d3\u17dd\u200b-\u200d",
    "Mongolian": "\u1820-\u18aa\u180b-\u180e\u202f",
    "OlChiki": "\u1c5a-\u1c7d",
    "Tifinagh": "\u2d30-\u2d7f",
    "Kana": "\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9f々ー",
    "Han": "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af",
    "Bopomofo": "\u3105-\u312f",
    "Javanese": "\ua980-\ua9c0",
    "Balinese": "\u1b00-\u1b4c",
    "Meetei": "\uaae0-\uaaef\uabc0-\uabed",
    "Gothic": "\U00010330-\U0001034a",
    "Adlam": "\U0001e900-\U0001e94b",
}

# Script -> languages written in it, to which the scripts are added that most letters of a dump are of. Languages that
# have neither are accepted in any script.
_LANGUAGES_OF: Final = {
    "Latin": """
        aa ace af ak als an ang ast atj ay az ban bar bat-smg bbc bcl bi bjn bm br bs bug ca cbk-zam cdo ceb ch cho co
        crh cs csb cy da dag de de-formal diq din dsb ee eml en eo es et eu ext fat ff fi fiu-vro fj fo fon fr frp frr
        fur fy ga gag gcr gd gl gn gor gpe gsw guc gur guw gv ha hak haw hif hr hsb ht hu hz ia id ie ig igl ik ilo io
        is it jam jbo jv kaa kab kbp kcg kg ki kj kl kr ksh ku kus kw la lad lb lfn lg li lij lld lmo ln lt ltg lv mad
        map-bms mg mh mi min ms mt mus mwl na nah nan nap nb nds nds-nl ng nia nl nn no nov nr nrm nso nv ny oc olo om
        pag pam pap pcd pcm pdc pfl pih pl pms pt pwn qu rm rmy rn ro roa-rup roa-tara rw sc scn sco se sg sgs sh
        simple sk sl sm smn sn so sq sr srn ss st stq su sv sw szl szy tay tet tk tl tly tn to tpi tr trv ts tum tw ty
        uz ve vec vep vi vls vo vro wa war wo xh yo za zea zh-min-nan zu ann bew bdr kge knc mos nup shi
    """,
    "Greek": "el pnt",
    "Cyrillic": """
        ab ady alt av ba be be-tarask be-x-old bg bxr ce crh cu cv inh kaa kbd kk koi krc kv ky lbe lez mdf mhr mk mn
        mrj myv os ru rue sah sh sr tg tk tt tyv udm uk uz xal
    """,
    "Armenian": "hy hyw",
    "Hebrew": "he yi lad",
    "Arabic": "ar ary arz azb bal ckb fa glk kk ks ku lrc luz mzn pnb ps sd skr tly ug ur ha",
    "Syriac": "arc",
    "Thaana": "dv",
    "Nko": "nqo",
    "Devanagari": "awa anp bh bho dty gom hi ks mai mr ne new pi sa sd hif",
    "Bengali": "as bn bpy mni rkt",
    "Gurmukhi": "pa",
    "Gujarati": "gu",
    "Oriya": "or",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn tcy",
    "Malayalam": "ml",
    "Sinhala": "si",
    "Thai": "th nod",
    "Lao": "lo",
    "Tibetan": "bo dz",
    "Myanmar": "my mnw shn blk rki",
    "Georgian": "ka xmf",
    "Hangul": "ko",
    "Ethiopic": "am ti tig",
    "Cherokee": "chr",
    "Canadian": "cr iu",
    "Khmer": "km",
    "Mongolian": "mn",
    "OlChiki": "sat",
    "Tifinagh": "zgh shi",
    "Kana": "ja",
    "Han": "zh yue zh-yue wuu gan lzh zh-classical ja ko hak cdo",
    "Bopomofo": "zh",
    "Javanese": "jv",
    "Balinese": "ban",
    "Meetei": "mni",
    "Gothic": "got",
    "Adlam": "ff",
}

_CASED: Final = ("Latin", "Greek", "Cyrillic", "Armenian")
# Languages that write sentences without closing punctuation.
_UNPUNCTUATED: Final = frozenset({"th", "lo", "km", "shn", "nod"})
_IDEOGRAPHIC: Final = frozenset({"Han", "Kana", "Hangul"})
# A sentence in one of these scripts has letters in this part of its characters, and foreign letters not in all of the
# rest: digits and brackets are text too.
_IDEOGRAPHIC_PART: Final = 4
# But letters of its own in this part of all characters: "Paris: Larousse, 2006."
_FEWEST_PART: Final = 10
# A sentence in another script has letters of its own in this part of its letters: names may be longer than the rest.
_SCRIPT_PART: Final = 3
# Non-letters of a language with unknown scripts: ASCII signs and general punctuation.
_SIGNS: Final = "!-@[-`{-~\u00a1-\u00bf\u2000-\u206f\u3000-\u303f"
_SPACES: Final = "\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_ALL_CHARACTERS: Final = 0x110000
_STRETCH: Final = 1 << 16

# Every piece of markup and every bracket contains one of these, except round brackets, which are too frequent.
_MARKUP_SIGNS: Final = "|{}[]=<&_（）「」『』"
_MARKUP: Final = re.compile(
    r"\|[|\w\s]"
    r"|\{[{|]|\}\}|\[\[|\]\]|\[https?:"
    r"|=="
    r"|</?[a-z]{1,12}[\s/>]"
    r"|&#?\w{2,8};"
    r"|__[A-Z]{3,20}__"
)
_BRACKETS: Final = ("()", "[]", "「」", "『』")
_ENUMERATOR: Final = re.compile(r"(?:(?<=\s)|^)\w{1,3}\)")
_CLOSERS: Final = "\"'”’“»«›‹)\\]）」』】》〉｣］〕\u00b9\u00b2\u00b3" + "".join(map(chr, range(0x2070, 0x207A)))
_LONGEST_CLOSE: Final = 12
# The mark of a footnote that was typed as text.
_FOOTNOTE: Final = r"\[[0-9]{1,3}\]"


class FragmentTest(Protocol):
    """The type of the function that `make_fragment_test` returns."""

    def __call__(self, sentence: str, has_markup_sign: bool, non_letters: int | None = None) -> str | None: ...


@cache
def has_capitals(language: str, writing: Writing = UNKNOWN) -> bool:
    """Return whether sentences of a language begin with a capital; False for unknown languages."""
    return not set(_CASED).isdisjoint(scripts_of(language, writing))


def share_of_scripts(text: str) -> tuple[dict[str, float], int]:
    """Return the part that each script has of the letters of a text, and the number of letters.

    >>> share_of_scripts("Αθήνα, a")
    ({'Latin': 0.16666666666666666, 'Greek': 0.8333333333333334}, 6)
    """
    numbers = sorted((ord(char), number) for char, number in Counter(text).items() if char.isalpha())
    codes = [code for code, _ in numbers]
    letters = sum(number for _, number in numbers)
    shares = {}
    for script in _SCRIPTS:
        # Ranges of a script may overlap.
        of_script = {
            index
            for first, last in _ranges([script])
            for index in range(bisect_left(codes, first), bisect_right(codes, last))
        }
        if of_script:
            shares[script] = sum(numbers[index][1] for index in of_script) / letters
    return shares, letters


def markup_offsets(text: str) -> list[int]:
    """Return the offsets, ascending, of all characters that markup and rare brackets contain.

    A sentence without such a character need not be searched for markup.

    >>> markup_offsets("a | b [c")
    [2, 6]
    """
    offsets: list[int] = []
    for sign in _MARKUP_SIGNS:
        offset = text.find(sign)
        while offset >= 0:
            offsets.append(offset)
            offset = text.find(sign, offset + 1)
    offsets.sort()
    return offsets


@cache
def make_non_letter_finder(language: str, writing: Writing = UNKNOWN) -> Callable[[str], bytes]:
    """Return a function that maps a text to one byte per character.

    The byte is 1 for a character that is neither white space nor a letter of the scripts of the language, otherwise 0.

    >>> make_non_letter_finder("el")("α b").hex()
    '000001'
    """
    scripts = scripts_of(language, writing)
    bits = bytearray([bool(scripts)]) * _ALL_CHARACTERS
    for first, last in _ranges(scripts):
        bits[first : last + 1] = bytes([not scripts]) * (last + 1 - first)
    # Deferred import, and optional: the rest of this module needs the standard library only.
    try:
        import numpy as np
    except ImportError:
        return lambda text: bytes(map(bits.__getitem__, map(ord, text)))
    non_letters = np.frombuffer(bits, np.uint8)

    def find_non_letters(text: str) -> bytes:
        if len(text) <= _STRETCH:
            return non_letters.take(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)).tobytes()
        # In stretches, because NumPy needs eight bytes of index per character.
        stretches = (text[start : start + _STRETCH] for start in range(0, len(text), _STRETCH))
        codes = (np.frombuffer(stretch.encode("utf-32-le", "surrogatepass"), np.uint32) for stretch in stretches)
        return b"".join([non_letters.take(stretch).tobytes() for stretch in codes])

    return find_non_letters


def scripts_of(language: str, writing: Writing = UNKNOWN) -> list[str]:
    """Return the scripts that the table has of a language, and those of its writing."""
    listed = (script for script, languages in _LANGUAGES_OF.items() if language in languages.split())
    return list(dict.fromkeys((*listed, *writing.scripts)))


def _ranges(scripts: list[str]) -> list[tuple[int, int]]:
    """Return ranges of code points, first and last: white space and letters of the scripts, signs without scripts."""
    ranges = _SPACES + "".join(_SCRIPTS[script] for script in scripts) if scripts else _SIGNS
    return [(ord(first or single), ord(last or single)) for first, last, single in re.findall("(.)-(.)|(.)", ranges)]


@cache
def make_fragment_test(language: str, writing: Writing = UNKNOWN) -> FragmentTest:
    """Return a function that tells why a text is not a complete sentence of a language.

    Its arguments are the sentence, stripped; whether the sentence contains one of the `markup_offsets`; and its number
    of non-letters (`make_non_letter_finder`) if the caller has counted them. It returns the first of FRAGMENT_REASONS
    that applies, None for a usable sentence. 'no_terminator' is tested last, so that callers who accept list items or
    captions can ignore it.

    >>> reason = make_fragment_test("en")
    >>> reason("The bus stops here.", False), reason("A list of stops", False), reason("1234 5678 901.", False)
    (None, 'no_terminator', 'no_letters')
    """
    ideographic = _is_ideographic(language, writing)
    shortest = _SHORTEST_IDEOGRAPHIC if ideographic else _SHORTEST
    find_non_letters = make_non_letter_finder(language, writing)
    punctuated = language not in _UNPUNCTUATED
    signs = _terminators(language)
    terminated = re.compile(rf"[{signs}](?:[\s{_CLOSERS}]|{_FOOTNOTE})*\Z").search

    def fragment_reason(sentence: str, has_markup_sign: bool, non_letters: int | None = None) -> str | None:
        length = len(sentence)
        if length < shortest:
            return "short"
        if length > _LONGEST:
            return "long"
        if has_markup_sign and _MARKUP.search(sentence):
            return "markup"
        if (has_markup_sign or "(" in sentence or ")" in sentence) and _unbalanced(sentence):
            return "unbalanced"
        if non_letters is None:
            non_letters = find_non_letters(sentence).count(1)
        # A quick test first: at most half of the characters of a sentence are blanks.
        if 4 * non_letters > length and (
            reason := _script_reason(sentence, non_letters, find_non_letters, ideographic=ideographic)
        ):
            return reason
        if punctuated and sentence[-1] not in signs and not terminated(sentence, length - _LONGEST_CLOSE):
            return "no_terminator"
        return None

    return fragment_reason


def _is_ideographic(language: str, writing: Writing) -> bool:
    return not _IDEOGRAPHIC.isdisjoint(scripts_of(language, writing))


def _terminators(language: str) -> str:
    return WEAK_TERMINATORS + STRONG_TERMINATORS + LANGUAGE_TERMINATORS.get(language, "")


def core_fragment_rules(language: str, writing: Writing) -> dict[str, object]:
    """Return what the compiled core has to know; the names are those of the struct `FragmentRules` in `core/engine`."""
    scripts = scripts_of(language, writing)
    ideographic = _is_ideographic(language, writing)
    return {
        "shortest": _SHORTEST_IDEOGRAPHIC if ideographic else _SHORTEST,
        "ideographic": ideographic,
        "longest": _LONGEST,
        "ranges": _ranges(scripts),
        "scripts": bool(scripts),
        "punctuated": language not in _UNPUNCTUATED,
        "terminators": _terminators(language),
        "closers": _CLOSERS.replace("\\", ""),
        "longest_close": _LONGEST_CLOSE,
        "markup_signs": _MARKUP_SIGNS,
    }


def _script_reason(
    sentence: str, non_letters: int, find_non_letters: Callable[[str], bytes], ideographic: bool
) -> str | None:
    """Return 'no_letters' or 'script' if one of them applies, otherwise None."""
    visible = len(sentence) - sentence.count(" ")
    if 2 * non_letters > visible:
        letters = sum(map(_is_letter, sentence))
        if (_IDEOGRAPHIC_PART if ideographic else 2) * letters < visible:
            return "no_letters"
        foreign = sum(map(_is_letter, compress(sentence, find_non_letters(sentence))))
        # A word has few ideographs and many letters: a name and its dates may be longer than the rest of a sentence.
        if ideographic:
            is_foreign = min(_IDEOGRAPHIC_PART * (visible - foreign), _FEWEST_PART * (letters - foreign)) < visible
        else:
            is_foreign = _SCRIPT_PART * (letters - foreign) < letters
        if is_foreign:
            return "script"
    return None


def _unbalanced(sentence: str) -> bool:
    # In Japanese and Chinese a full-width bracket may be closed by an ASCII one.
    narrow = sentence.replace("（", "(").replace("）", ")") if "）" in sentence or "（" in sentence else sentence
    for opening, closing in _BRACKETS:
        if (opening in narrow or closing in narrow) and narrow.count(opening) != narrow.count(closing):
            # "a) red, b) blue" is not unbalanced.
            rest = _ENUMERATOR.sub("", narrow) if closing == ")" else narrow
            if rest.count(opening) != rest.count(closing):
                return True
    return False


def _is_letter(char: str) -> bool:
    return char.isalpha() or category(char)[0] == "M"
