"""Japanese text as it comes: markup and non-text out, one spelling for what is written in several widths.

The rules of spelling are those that mecab-ipadic-NEologd asks of its input, but for one: tildes are made one, and not
removed, since in "20〜30mm" they mean something. Everything is linear in the text.
"""

from __future__ import annotations

import html
import re
import unicodedata

_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>|<!--.{0,500}?-->|<!\[CDATA\[|\]\]>")
_ADDRESS = re.compile(r"(?:https?|ftp)://[\x21-\x3b\x3d\x3f-\x7e]+|\bwww\.[\x21-\x3b\x3d\x3f-\x7e]+")
_MAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")
# Pictures among the letters, with what joins and colours them; signs that belong to text, as ℃ and ①, are not here.
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

# Of the letters of a sentence; tables of values and names of drugs have few.
LEAST_JAPANESE = 0.2
# A sentence without kana and as many letters as this is hardly Japanese; headings and lists of diseases are shorter.
MOST_WITHOUT_KANA = 40


def paragraphs(text: str) -> list[str]:
    """Return the lines of a text that are not blank, without markup, normalised."""
    clean = _without_markup(text)
    return [line for part in _LINES.split(clean) if (line := normalise(part))]


def _without_markup(text: str) -> str:
    # Entities first: what they hide may be a tag. A tag stands for a break between words.
    if "&" in text:
        text = html.unescape(text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    text = _ADDRESS.sub(" ", text)
    if "@" in text:
        text = _MAIL.sub(" ", text)
    return _CONTROL.sub("", _PICTURES.sub(" ", text))


def normalise(text: str) -> str:
    """Return a line in one spelling: letters, digits and signs narrow, kana wide, one kind of hyphen, long vowel and
    tilde, no space but between Latin words."""
    text = _NARROW_OR_WIDE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    text = _HYPHENS.sub("-", text)
    text = _LONG_VOWELS.sub("ー", text)
    text = _TILDES.sub("~", text)
    text = _SPACES.sub(" ", text.translate(_SIGNS))
    return _NO_SPACE.sub("", text).strip()


def is_japanese(text: str) -> bool:
    """Whether a sentence is Japanese, by its letters: kana, and kanji where there are not too many without any."""
    letters = sum(map(str.isalpha, text))
    if letters == 0 or len(_JAPANESE.findall(text)) < LEAST_JAPANESE * letters:
        return False
    return letters < MOST_WITHOUT_KANA or _KANA.search(text) is not None


_STOPS = re.compile("[。!?]+[」』)]*|\\.(?=[^0-9A-Za-z])")


def pieces(paragraph: str, most: int) -> list[str]:
    """Cut a paragraph after full stops into pieces of at most `most` characters where it is longer; a piece that has
    no stop stays as long as it is."""
    if len(paragraph) <= most:
        return [paragraph]
    found: list[str] = []
    begin = end = 0
    for match in _STOPS.finditer(paragraph):
        if match.end() - begin > most and end > begin:
            found.append(paragraph[begin:end])
            begin = end
        end = match.end()
    if len(paragraph) - begin > most and begin < end < len(paragraph):
        found.append(paragraph[begin:end])
        begin = end
    return [*found, paragraph[begin:]]
