"""Find faults in topic sentences.

The faults are those of the released MewsC-16: category links and options of pictures in the text, missing words,
captions and next sentences joined without a space, sentences cut at abbreviations. Our wikitext parser does not make
them, but typing errors of authors look the same.
"""

from __future__ import annotations

import re

from wikianchor.pipelines.mewsc16.editions import CATEGORY, language_names, read_facts
from wikianchor.pipelines.text.fragments import make_fragment_test, markup_offsets
from wikianchor.pipelines.text.prose import holds_no_spaces
from wikianchor.pipelines.text.splitter import make_splitter, sentence_opener
from wikianchor.pipelines.wikimedia.languages import language_facts

REASONS = (
    "category_marker",
    "image_residue",
    "markup",
    "hole",
    "note",
    "glued",
    "cut",
)
# Misspelled picture options, which MediaWiki shows as a caption.
_MISSPELLED = (
    "thumbs", "tumb", "thump", "thumbnails", "thumbail", "miniaturadaimagem", "maldekstre", "maldekstro", "dekstre",
    "vpravo", "vlevo", "náhled", "semmoldura", "esquerda", "direita", "rechts", "links", "mini", "miniatur", "vignette",
)  # fmt: skip
_IMAGE_OPTIONS = (
    "img_thumbnail", "img_manualthumb", "img_framed", "img_frameless", "img_border", "img_upright", "img_left",
    "img_right", "img_center", "img_none", "img_baseline", "img_middle",
)  # fmt: skip
# Picture options in scripts without capitals that are no words of their language.
_PLAIN = ("섬네일", "تصغير", "بندانگشتی", "بندانگشتي")
_UPPER = "A-ZÀ-ÖØ-Þ" + "".join(filter(str.isupper, map(chr, range(0x100, 0x180)))) + "Ѐ-Я"
_SIZE = re.compile(r"(?<!\d)(?<!\d[.,])\d{2,4}\s?(?:x\s?\d{2,4}\s?)?(?i:px)|(?<!\w)x\d{2,4}px")
_FILE = re.compile(r"\w\.(?i:jpe?g|png|svg|gif|tiff?)(?![a-z])")
_MARKUP = re.compile(
    r"\[\[|\]\]|\{\{|\}\}|\{\||\|\}|'''?|==|</?\w[^<>]*>|<!--|-->|&[a-z]{2,8};|__[A-Z]{3,}__|\||\[https?:|"
    r"\b(?:cellpadding|cellspacing|valign|colspan|rowspan|style)\s?=|^=\s"
)
_HOLE = re.compile(
    r"\(\s*[,;:]?\s*\)|（\s*[、，]?\s*）|\[\s*\]|(?<!\.)\s,(?=\s)|^\s*[,;:)]|,\s*[,.](?!\.)|«\s*»|“\s*”|「」|『』|、、|、。|"
    r"(?<=\w)\s{2,}(?=\w)|(?<!\.)\s\.(?=[\s\"”»]|$)|（\u3000|(?<!\")\"\"(?!\")|(?<![\w'’])[dlDL]['’](?=\s?[,.;:])"
)
_GLUED = re.compile(
    r"(?<=[^\W\d_A-ZÀ-Þ]{3})[.!?](?=[A-ZÀ-ÞĀ-ŽЀ-Я](?:[^\W\d_A-ZÀ-ÞЀ-Я]|\s|['’]\w))(?!(?i:com|org|net|info)\b)"
)
# Particles at the start of a sentence: the noun before them is missing.
_HEADLESS = {
    "ja": re.compile(r"[でにのはがをともやへ](?![ぁ-んー])|(?:から|まで|には|とは|での)(?![ぁ-ん])"),
    "ko": re.compile(r"(?:은|는|가|을|를|에|에서|의|로|으로|와|과|에게|까지|부터)\s"),
}
# Characters before the first word of a note.
_OPENING = "\"'“„«*: "
# Longer sentences are not tested for a cut.
_CUT_WORDS = 12
_SHORT_WORDS = 5


class FaultFinder:
    """Find the faults of the sentences of one language.

    Args:
        language: its code.
    """

    def __init__(self, language: str) -> None:
        facts = language_facts(language)
        names = {name for name, key in facts.namespace_aliases.items() if key == CATEGORY}
        names |= {facts.namespaces[CATEGORY], "Category", *language_names("category_aliases", language)}
        marks = "|".join(sorted((re.escape(name) for name in names if len(name) > 1), key=len, reverse=True))
        self._category = re.compile(rf"(?:{marks})\s?:(?=\s?\S)|(?<!\w)(?i:{marks}):(?=\S)")
        options = {word.removesuffix("=$1") for option in _IMAGE_OPTIONS for word in facts.image_words.get(option, ())}
        words = sorted(
            (re.escape(word) for word in {*options, *_MISSPELLED} if len(word) > 1 and "$" not in word),
            key=len,
            reverse=True,
        )
        # Shorter words may be the beginning of another word.
        long = "|".join(word for word in words if len(word) > 3 or not word.isascii())
        either = "|".join(words)
        self._option = re.compile(
            # Before a bar.
            rf"(?:^|(?<=[|\s\]]))(?:{either})\s?\|"
            # Before the sentence, or joined to its first word.
            rf"|^(?:{long})\s?(?=[{_UPPER}\d„“\"«])|(?<=[|\s.])(?:{long})(?=[{_UPPER}])"
            rf"|(?:thumbs?|miniatur)(?=[{_UPPER}|])|^(?:thumb)+s?(?=\w|\s)"
            rf"|^(?:{'|'.join(_PLAIN)})(?=\w)"
            r"|upright\s?=|(?<!\w)(?:alt|link|lang|page)\s?=\s?\S{0,80}\|"
        )
        self._headless = _HEADLESS.get(language)
        self._glues = not holds_no_spaces(language)
        self._split = make_splitter("rules", language)
        self._starter = sentence_opener(language) or "Xaver"
        self._unfinished = make_fragment_test(language)
        notes = read_facts("notes.json")
        patterns = (*notes["*"], *notes.get(language, ()))
        self._notes = re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)")

    def is_note(self, sentence: str) -> bool:
        """Return whether a sentence is a note about the page, such as "This article is a stub"."""
        return self._notes.match(sentence.lstrip(_OPENING)) is not None

    def fault(self, sentence: str) -> str | None:
        """Return the first fault of a sentence: one of `REASONS` or "fragment:<reason>"; None if it has none."""
        if self._category.search(sentence):
            return "category_marker"
        if _SIZE.search(sentence) or _FILE.search(sentence) or self._option.search(sentence):
            return "image_residue"
        if _MARKUP.search(sentence):
            return "markup"
        if _HOLE.search(sentence) or (self._headless is not None and self._headless.match(sentence)):
            return "hole"
        if self.is_note(sentence):
            return "note"
        if self._glues and _GLUED.search(sentence):
            return "glued"
        if self.is_cut(sentence):
            return "cut"
        fragment = self._unfinished(sentence, bool(markup_offsets(sentence)))
        return f"fragment:{fragment}" if fragment else None

    def is_cut(self, sentence: str) -> bool:
        """Return whether a sentence was cut at an abbreviation, an initial or a number.

        The splitter decides: a sentence is cut if it would not end there with another word after it.
        """
        words = sentence.count(" ") + 1
        if words > _CUT_WORDS or not self._glues or not sentence.endswith("."):
            return False
        # A short sentence, or one that ends with a number, is tested with a name after it; a longer one with a word
        # that begins sentences.
        after = "Xaver" if words <= _SHORT_WORDS or sentence[-2:-1].isdigit() else self._starter
        return len(self._split(f"{sentence} {after}")) == 1


def first_of_glued(sentence: str, language: str) -> str:
    """Return the text up to the first full stop without a space after it: authors forget the space."""
    match = None if holds_no_spaces(language) else _GLUED.search(sentence)
    return sentence[: match.end()] if match else sentence
