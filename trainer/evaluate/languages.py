"""Codes of languages: the two letters of Wikipedia and papers, ISO 639-3, and mteb's tags."""

from __future__ import annotations

# Two letters: the code and script of mteb's tags.
TAGS = {
    "ar": "ara-Arab", "ca": "cat-Latn", "cs": "ces-Latn", "de": "deu-Latn", "en": "eng-Latn", "eo": "epo-Latn",
    "es": "spa-Latn", "fa": "fas-Arab", "fr": "fra-Latn", "it": "ita-Latn", "ja": "jpn-Jpan", "ko": "kor-Hang",
    "nl": "nld-Latn", "pl": "pol-Latn", "pt": "por-Latn", "ru": "rus-Cyrl", "sv": "swe-Latn", "tr": "tur-Latn",
    "zh": "zho-Hans",
}  # fmt: skip


def tag(code: str) -> str:
    """Return mteb's tag of a language, or the code itself where it is not known."""
    return TAGS.get(code, code)
