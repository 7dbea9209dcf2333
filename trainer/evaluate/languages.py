"""Codes of languages: two letters (Wikipedia, papers), three letters (Tatoeba), and mteb's tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from wikianchor.io.errors import InputError

# mteb's tags by two-letter code.
TAGS = {
    "ar": "ara-Arab", "ca": "cat-Latn", "cs": "ces-Latn", "de": "deu-Latn", "en": "eng-Latn", "eo": "epo-Latn",
    "es": "spa-Latn", "fa": "fas-Arab", "fr": "fra-Latn", "it": "ita-Latn", "ja": "jpn-Jpan", "ko": "kor-Hang",
    "nl": "nld-Latn", "pl": "pol-Latn", "pt": "por-Latn", "ru": "rus-Cyrl", "sv": "swe-Latn", "tr": "tur-Latn",
    "zh": "zho-Hans",
}  # fmt: skip

# Tatoeba's codes by ISO 639 code. For the code of a macrolanguage, the member that Tatoeba has.
CODES = {
    "af": "afr", "am": "amh", "ar": "ara", "az": "aze", "be": "bel", "bg": "bul", "bn": "ben", "br": "bre",
    "bs": "bos", "ca": "cat", "cs": "ces", "cy": "cym", "da": "dan", "de": "deu", "el": "ell", "en": "eng",
    "eo": "epo", "es": "spa", "et": "est", "eu": "eus", "fa": "pes", "fi": "fin", "fo": "fao", "fr": "fra",
    "fy": "fry", "ga": "gle", "gd": "gla", "gl": "glg", "he": "heb", "hi": "hin", "hr": "hrv", "hu": "hun",
    "hy": "hye", "ia": "ina", "id": "ind", "ie": "ile", "io": "ido", "is": "isl", "it": "ita", "ja": "jpn",
    "jv": "jav", "ka": "kat", "kk": "kaz", "km": "khm", "ko": "kor", "ku": "kur", "kw": "cor", "la": "lat",
    "lt": "lit", "lv": "lvs", "mk": "mkd", "ml": "mal", "mn": "mon", "mr": "mar", "ms": "zsm", "nb": "nob",
    "nl": "nld", "nn": "nno", "no": "nob", "oc": "oci", "pl": "pol", "pt": "por", "ro": "ron", "ru": "rus",
    "sk": "slk", "sl": "slv", "sq": "sqi", "sr": "srp", "sv": "swe", "sw": "swh", "ta": "tam", "te": "tel",
    "th": "tha", "tk": "tuk", "tl": "tgl", "tr": "tur", "tt": "tat", "ug": "uig", "uk": "ukr", "ur": "urd",
    "uz": "uzb", "vi": "vie", "xh": "xho", "yi": "yid", "zh": "cmn",
    "ekk": "est", "fas": "pes", "lav": "lvs", "msa": "zsm", "nor": "nob", "swa": "swh", "zho": "cmn",
}  # fmt: skip

TWO = {three: two for two, three in reversed(list(CODES.items())) if len(two) == 2}

# Languages other than English that EASE's multilingual models are trained on.
EASE = ("ar", "ca", "cs", "de", "eo", "es", "fa", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "sv", "tr")


# Frequent words of languages in Latin letters, those that tell them apart from the others of the table.
WORDS = {
    "ca": "el els les amb per una dels és que la del i va aquest són als més seva també han",
    "cs": "a v se na je že s z do o jsou byl byla ve která který jako po za podle",
    "da": "og i at det er en til af på den med for ikke der et har som fra blev også",
    "de": "der die und das ist in den von mit zu ein eine nicht auf dem sich des im auch wird",
    "en": "the of and to is that in was for with on are it as by he this have from at",
    "eo": "la de kaj en estas al por ke mi ne li vi ĝi estis kun sur pri el da",
    "es": "el los las de en que y una con por del se un para es su está fue al más",
    "et": "ja on ei et see oli ma ta kui ning aga mis ka seda oma pole või",
    "fi": "ja on ei että se oli hän en ole mutta kun joka minä myös tai sen",
    "fr": "le les des et est une dans que pour qui du il pas au sur la un je ne ce",
    "hu": "a az és hogy nem egy is van volt meg ez azt csak de el még",
    "it": "il di che è una per non con del della sono gli le si un nel i ha anche al",
    "nl": "de het een van en is dat op te zijn met voor niet aan er die ik heeft ook wordt",
    "pl": "w i na się nie do że z jest to jak po o od przez dla są był która który",
    "pt": "o os as um uma não com para em do da que e é por se dos das mais foi",
    "ro": "și în de la cu nu este pe un o că din care sunt să mai am pentru",
    "sv": "och i att det är en på som för av med till inte den ett jag har om från var",
    "tr": "ve bir bu için da de ile çok olarak olan ne o daha var değil gibi",
}
_LISTED = {code: frozenset(words.split()) for code, words in WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+")
# Texts that are looked at; the different words and the share of words that another language needs, and how often the
# share of the expected one.
SAMPLE, LEAST_WORDS = 2000, 4
LEAST_SHARE, LEAST_RATIO = 0.15, 2.0


def check_language(file: str, codes: Iterable[str], texts: Sequence[str]) -> None:
    """Check that texts are not clearly in another language than a file's name says.

    Nothing is said about languages whose frequent words are unknown, and about texts with few of them, such as names.

    Args:
        file: the file, for the error.
        codes: the languages that the texts may be in.
        texts: the texts.

    Raises:
        InputError: they are in another language, or not in Latin letters where the language has them.

    >>> check_language("x", ["en"], ["the end of the day"])
    >>> check_language("x", ["en"], ["o fim do dia e da noite"])
    Traceback (most recent call last):
    wikianchor.io.errors.InputError: x: the texts look like pt, not en: name the file by its language
    """
    expected = sorted({short(code) for code in codes})
    if not set(expected) <= WORDS.keys() | TAGS.keys():
        return
    words = _WORD.findall(" ".join(texts[:SAMPLE]).lower())
    shares = {
        code: sum(word in listed for word in words) / len(words)
        for code, listed in _LISTED.items()
        if len(listed & set(words)) >= LEAST_WORDS
    }
    best = max(shares, key=lambda code: shares[code], default="")
    usual = max(shares.get(code, 0.0) for code in expected)
    is_latin = sum(word[0] < "\u0250" for word in words) * 2 >= len(words)
    likely = "" if is_latin or not set(expected) <= WORDS.keys() else "no language in Latin letters"
    if best not in expected and shares.get(best, 0.0) > max(LEAST_SHARE, LEAST_RATIO * usual):
        likely = best
    if likely:
        raise InputError(
            f"{file}: the texts look like {likely}, not {' or '.join(expected)}: name the file by its language"
        )


def tag(code: str) -> str:
    """Return mteb's tag of a language, or the code itself if there is none.

    >>> tag("de"), tag("jpn"), tag("xx")
    ('deu-Latn', 'jpn-Jpan', 'xx')
    """
    return TAGS.get(short(code), code)


def canonical(code: str) -> str:
    """Return the same code for all codes of a language.

    >>> canonical("fa"), canonical("fas"), canonical("PES")
    ('pes', 'pes', 'pes')
    """
    return CODES.get(code.lower(), code.lower())


def short(code: str) -> str:
    """Return the two-letter code of a language, or the code itself if there is none.

    >>> short("cmn"), short("kab")
    ('zh', 'kab')
    """
    return TWO.get(canonical(code), code)


def asked(code: str, languages: Iterable[str]) -> bool:
    """Return whether `languages` is empty or has the language.

    >>> asked("jpn", ["ja"]), asked("jpn", []), asked("jpn", ["de"])
    (True, True, False)
    """
    wanted = {canonical(language) for language in languages}
    return not wanted or canonical(code) in wanted
