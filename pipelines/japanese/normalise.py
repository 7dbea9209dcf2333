"""Normalise Japanese text: remove markup and unify the spelling of characters that exist in several widths.

The rules are those that mecab-ipadic-NEologd recommends for its input, with one exception: all tildes become the same
character instead of being removed, because they have a meaning in "20〜30mm". All expressions take linear time.
"""

from __future__ import annotations

import html
import re
import unicodedata

_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>|<!--.{0,500}?-->|<!\[CDATA\[|\]\]>")
_ADDRESS = re.compile(r"(?:https?|ftp)://[\x21-\x3b\x3d\x3f-\x7e]+|\bwww\.[\x21-\x3b\x3d\x3f-\x7e]+")
_MAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")
# Emoji and other pictographs, with joiners and modifiers; symbols that are part of text, such as ℃ and ①, are not here.
_PICTURES = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe00-\ufe0f\u200d\u20e3\U000e0000-\U000e007f]+"
)
_CONTROL = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufffd]+"
)
_LINES = re.compile(r"[\n\r\x0b\x0c\x85\u2028\u2029]+")

_NARROW_OR_WIDE = re.compile("[０-９Ａ-Ｚａ-ｚ｡-ﾟ]+")
_HYPHENS = re.compile("[˗֊‐‑‒–⁃⁻₋−]+")
_LONG_VOWELS = re.compile("[﹣－—―─━ー]+")
_TILDES = re.compile("[~∼∾〜〰～]+")
_BLANKS = "\u3000\xa0\t\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"
_SIGNS = str.maketrans(
    "！”＃＄％＆’（）＊＋，．／：；＜＝＞？＠［￥］＾＿｀｛｜｝" + _BLANKS,
    "!\"#$%&'()*+,./:;<=>?@[¥]^_`{|}" + " " * len(_BLANKS),
)
_SPACES = re.compile(" {2,}")
_WIDE = "\u3000-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_NO_SPACE = re.compile(f"(?<=[{_WIDE}]) | (?=[{_WIDE}])")
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa\u31f0-\u31ff]")
_JAPANESE = re.compile("[\u3041-\u3096\u30a1-\u30fa\u31f0-\u31ff\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")

# Minimum share of Japanese letters in a sentence: tables of values and names of drugs have less.
MIN_JAPANESE = 0.2
# Longer texts without kana are not Japanese; headings and lists of diseases are shorter. Letters.
MAX_WITHOUT_KANA = 40


def paragraphs(text: str) -> list[str]:
    """Return the lines of a text that are not blank, normalised and without markup."""
    clean = _without_markup(text)
    return [line for part in _LINES.split(clean) if (line := normalise(part))]


def _without_markup(text: str) -> str:
    """Return text without entities, tags, addresses, emoji and control characters."""
    # Entities first, because they may encode a tag. A tag separates words.
    if "&" in text:
        text = html.unescape(text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    text = _ADDRESS.sub(" ", text)
    if "@" in text:
        text = _MAIL.sub(" ", text)
    return _CONTROL.sub("", _PICTURES.sub(" ", text))


def normalise(text: str) -> str:
    """Return a line with narrow letters, digits and symbols, wide kana, one hyphen, long vowel mark and tilde.

    Spaces remain only between Latin words.
    """
    text = _NARROW_OR_WIDE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    text = _HYPHENS.sub("-", text)
    text = _LONG_VOWELS.sub("ー", text)
    text = _TILDES.sub("~", text)
    text = _SPACES.sub(" ", text.translate(_SIGNS))
    return _NO_SPACE.sub("", text).strip()


def is_japanese(text: str) -> bool:
    """Return whether a sentence is Japanese: enough of its letters are kana or kanji, and a long one has kana."""
    letters = sum(map(str.isalpha, text))
    if letters == 0 or len(_JAPANESE.findall(text)) < MIN_JAPANESE * letters:
        return False
    return letters < MAX_WITHOUT_KANA or _KANA.search(text) is not None


_STOPS = re.compile("[。!?]+[」』)]*|\\.(?=[^0-9A-Za-z])")


def cut_paragraph(paragraph: str, max_length: int) -> list[str]:
    """Cut a paragraph after full stops into pieces of at most `max_length` characters, as long as possible.

    A sentence that is longer stays whole.
    """
    if len(paragraph) <= max_length:
        return [paragraph]
    pieces: list[str] = []
    begin = end = 0
    stops = [match.end() for match in _STOPS.finditer(paragraph)]
    for stop in dict.fromkeys([*stops, len(paragraph)]):
        if stop - begin > max_length and end > begin:
            pieces.append(paragraph[begin:end])
            begin = end
        end = stop
    return [*pieces, paragraph[begin:]]
