"""Codes of languages: two letters (Wikipedia, papers), three letters (Tatoeba), and mteb's tags."""

from __future__ import annotations

from collections.abc import Iterable

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
