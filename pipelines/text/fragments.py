"""From sentence ends to sentences, and why a stretch of text is no usable sentence."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import compress
from types import MappingProxyType
from typing import Final, Protocol
from unicodedata import category

import numpy as np

from wikianchor.pipelines.text.splitter import OWN_TERMINATORS, STRONG_TERMINATORS, WEAK_TERMINATORS

# One line per reason, in the order in which they are tested: a sentence has the first that holds.
FRAGMENT_REASONS: Final = MappingProxyType(
    {
        "short": "fewer than 10 characters, or 5 in Chinese, Japanese and Korean",
        "long": "more than 1,000 characters: a boundary was missed, or it never was prose",
        "markup": "wikitext or HTML is left in it",
        "unbalanced": "a bracket is opened and not closed, or closed and not opened",
        "no_letters": "letters are less than half of what is not white space",
        "script": "less than half of the letters are of the scripts its wiki is written in",
        "no_terminator": "no closing punctuation, in a language that has any: a heading, a caption, a list item",
    }
)

_LONGEST: Final = 1000
_SHORTEST: Final = 10
_SHORTEST_IDEOGRAPHIC: Final = 5


def whole_sentences(
    text: str, ends: list[int], link_starts: Sequence[int], link_ends: Sequence[int]
) -> Iterator[tuple[int, str]]:
    """Yield the sentences that a splitter's ends make: where each begins, and it, without the white space around.

    A boundary that falls strictly inside one of the links (sorted, not overlapping) is dropped: no sentence cuts a
    link in two. Sentences of white space alone are left out.
    """
    start = link = 0
    beyond = len(text) + 1
    starts, closes = [*link_starts, beyond], [*link_ends, beyond]
    for end in ends:
        while closes[link] <= end:
            link += 1
        if starts[link] < end:
            continue
        piece = text[start:end]
        if sentence := piece.strip():
            yield start + len(piece) - len(piece.lstrip()), sentence
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

# The scripts a wiki's prose is written in. Languages that are not here are taken in any script.
_LANGUAGES_OF: Final = {
    "Latin": """
        aa ace af ak als an ang ast atj ay az ban bar bat-smg bbc bcl bi bjn bm br bs bug ca cbk-zam cdo ceb ch cho co
        crh cs csb cy da dag de de-formal diq din dsb ee eml en eo es et eu ext fat ff fi fiu-vro fj fo fon fr frp frr
        fur fy ga gag gcr gd gl gn gor gpe gsw guc gur guw gv ha hak haw hif hr hsb ht hu hz ia id ie ig igl ik ilo io
        is it jam jbo jv kaa kab kbp kcg kg ki kj kl kr ksh ku kus kw la lad lb lfn lg li lij lld lmo ln lt ltg lv mad
        map-bms mg mh mi min ms mt mus mwl na nah nan nap nb nds nds-nl ng nia nl nn no nov nr nrm nso nv ny oc olo om
        pag pam pap pcd pcm pdc pfl pih pl pms pt pwn qu rm rmy rn ro roa-rup roa-tara rw sc scn sco se sg sgs sh
        simple sk sl sm smn sn so sq sr srn ss st stq su sv sw szl szy tay tet tk tl tly tn to tpi tr trv ts tum tw ty
        uz ve vec vep vi vls vo vro wa war wo xh yo za zea zh-min-nan zu ann bew bdr kge knc mos nup
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
# These write sentences without closing punctuation.
_UNPUNCTUATED: Final = frozenset({"th", "lo", "km", "shn", "nod"})
_IDEOGRAPHIC: Final = frozenset({"Han", "Kana", "Hangul"})
# Where the scripts are unknown, everything but ASCII signs and general punctuation passes for a letter.
_SIGNS: Final = "!-@[-`{-~\u00a1-\u00bf\u2000-\u206f\u3000-\u303f"
_SPACES: Final = "\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_ALL_CHARACTERS: Final = 0x110000
_STRETCH: Final = 1 << 16

# No markup and no bracket is without one of these. Round brackets are frequent, the others are not.
_RARE_SIGNS: Final = "|{}[]=<&_（）「」『』"
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
_CLOSERS: Final = "\"'”’“»«›‹)\\]）」』】》〉｣］〕\u00b9\u00b2\u00b3\u2070-\u2079"
_LONGEST_CLOSE: Final = 12


class FragmentTest(Protocol):
    """See `make_fragment_test`."""

    def __call__(self, sentence: str, suspicious: bool, strange: int | None = None) -> str | None: ...


@cache
def has_capitals(language: str) -> bool:
    """Return whether a language's sentences begin with a capital, False where that is not known."""
    return any(language in _LANGUAGES_OF[script].split() for script in _CASED)


def suspicious_places(text: str) -> list[int]:
    """Where the signs of markup and of rare brackets stand: a sentence without one needs no closer look."""
    found: list[int] = []
    for sign in _RARE_SIGNS:
        at = text.find(sign)
        while at >= 0:
            found.append(at)
            at = text.find(sign, at + 1)
    found.sort()
    return found


@cache
def make_strange_finder(language: str) -> Callable[[str], bytes]:
    """What gives a byte for each character of a text: 1 for one that is neither white space nor a letter of the scripts
    of a language, 0 for the others."""
    scripts = _scripts(language)
    ranges = _SPACES + "".join(_SCRIPTS[script] for script in scripts) if scripts else _SIGNS
    strange = np.full(_ALL_CHARACTERS, bool(scripts), np.uint8)
    for first, last, single in re.findall("(.)-(.)|(.)", ranges):
        strange[ord(first or single) : ord(last or single) + 1] = not scripts

    def find_strange(text: str) -> bytes:
        # A stretch at a time: an index of NumPy's takes eight bytes for each character.
        stretches = (text[start : start + _STRETCH] for start in range(0, len(text), _STRETCH))
        codes = (np.frombuffer(stretch.encode("utf-32-le", "surrogatepass"), np.uint32) for stretch in stretches)
        return b"".join([strange.take(stretch).tobytes() for stretch in codes])

    return find_strange


def _scripts(language: str) -> list[str]:
    return [script for script, languages in _LANGUAGES_OF.items() if language in languages.split()]


@cache
def make_fragment_test(language: str) -> FragmentTest:
    """What tells the first of FRAGMENT_REASONS that holds for a sentence of a language, or None if it is a usable one.

    The test takes the sentence, stripped, whether one of the `suspicious_places` is in it, and, from who has counted
    them, how many of its characters are strange (`make_strange_finder`). 'no_terminator' is tested last, so that
    whoever takes list items or captions may pass over it.
    """
    shortest = _SHORTEST_IDEOGRAPHIC if _IDEOGRAPHIC.intersection(_scripts(language)) else _SHORTEST
    find_strange = make_strange_finder(language)
    punctuated = language not in _UNPUNCTUATED
    signs = WEAK_TERMINATORS + STRONG_TERMINATORS + OWN_TERMINATORS.get(language, "")
    terminated = re.compile(rf"[{signs}][\s{_CLOSERS}]*\Z").search

    def fragment_reason(sentence: str, suspicious: bool, strange: int | None = None) -> str | None:
        length = len(sentence)
        if length < shortest:
            return "short"
        if length > _LONGEST:
            return "long"
        if suspicious and _MARKUP.search(sentence):
            return "markup"
        if (suspicious or "(" in sentence or ")" in sentence) and _unbalanced(sentence):
            return "unbalanced"
        if strange is None:
            strange = find_strange(sentence).count(1)
        # Blanks are not counted yet: no sentence has more of them than of other characters.
        if 4 * strange > length and (reason := _foreign(sentence, strange, find_strange)):
            return reason
        if punctuated and sentence[-1] not in signs and not terminated(sentence, length - _LONGEST_CLOSE):
            return "no_terminator"
        return None

    return fragment_reason


def _foreign(sentence: str, strange: int, find_strange: Callable[[str], bytes]) -> str | None:
    visible = len(sentence) - sentence.count(" ")
    if 2 * strange > visible:
        letters = sum(map(_is_letter, sentence))
        if 2 * letters < visible:
            return "no_letters"
        if 2 * sum(map(_is_letter, compress(sentence, find_strange(sentence)))) > letters:
            return "script"
    return None


def _unbalanced(sentence: str) -> bool:
    # Full-width and ASCII brackets close each other in Japanese and Chinese.
    narrow = sentence.replace("（", "(").replace("）", ")") if "）" in sentence or "（" in sentence else sentence
    for opening, closing in _BRACKETS:
        if (opening in narrow or closing in narrow) and narrow.count(opening) != narrow.count(closing):
            # "a) one, b) two" is in order.
            rest = _ENUMERATOR.sub("", narrow) if closing == ")" else narrow
            if rest.count(opening) != rest.count(closing):
                return True
    return False


def _is_letter(char: str) -> bool:
    return char.isalpha() or category(char)[0] == "M"
