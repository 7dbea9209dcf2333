"""Find faults in topic sentences.

The faults are those of the released MewsC-16: category links and options of pictures in the text, missing words,
captions and next sentences joined without a space, sentences cut at abbreviations. Our wikitext parser does not make
them, but typing errors of authors look the same.

A caption that ends without a full stop is told from its sentence by the capital letter inside of a word: "in
2008Obama", "obrázekPodle". Names such as WikiLeaks have one too; `data/capitals.json` lists them. A caption whose last
word is separated from the sentence by a blank is told by a word of grammar with a capital: "Otto Schily Die deutsche".
Captions in scripts without capitals cannot be seen in the text.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from wikianchor.pipelines.mewsc16.editions import CATEGORY, language_names, read_facts, words_of
from wikianchor.pipelines.text.fragments import make_fragment_test, markup_offsets
from wikianchor.pipelines.text.prose import holds_no_spaces
from wikianchor.pipelines.text.splitter import begins_sentences, make_splitter, sentence_opener
from wikianchor.pipelines.wikimedia.languages import language_facts

REASONS = (
    "category_marker",
    "image_residue",
    "markup",
    "hole",
    "note",
    "glued",
    "cut",
    "caption",
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
_SIZE = re.compile(r"(?<!\d)(?<!\d[.,])\d{2,4}\s?(?:x\s?\d{2,4}\s?)?(?i:px)|(?<!\w)x\d{2,4}px|\|\d{2,4}بك")
_FILE = re.compile(r"\w\.(?i:jpe?g|png|svg|gif|tiff?)(?![a-z])")
_MARKUP = re.compile(
    r"\[\[|\]\]|\{\{|\}\}|\{\||\|\}|'''?|==|</?\w[^<>]*>|<!--|-->|&[a-z]{2,8};|__[^\W\d_]{3,}__|\||\[https?:|"
    r"\b(?:cellpadding|cellspacing|valign|colspan|rowspan|style)\s?=|^=\s|^\s*[;*#<>]"
)
_HOLE = re.compile(
    r"\(\s*[,;:]?\s*\)|（\s*[、，]?\s*）|\[\s*\]|\(\s*,|^\s*[,;:)]|,\s*[,.](?!\.)|«\s*»|“\s*”|「」|『』|〈\s*〉|《\s*》|、、|、。|"
    r"（\u3000|(?<!\")\"\"(?!\")|(?<![\w'’])[dlDL]['’](?=\s?[,.;:])"
)
# Blanks where words were. Typists of Arabic and Persian set a blank before their commas and full stops.
_BLANK_HOLE = re.compile(r"(?<!\.)\s,(?=\s)|(?<=\w)\s{2,}(?=\w)|(?<!\.)\s\.(?=[\s\"”»]|$)")
_BLANKS_BEFORE_STOPS = frozenset(("ar", "fa"))
_LOWER = rf"[^\W\d_{_UPPER}]"
_GLUED = re.compile(
    r"(?:(?<=[^\W\d_A-ZÀ-Þ]{3})[.!?]|(?<=[A-ZÀ-Þ]{3})\.)(?=[A-ZÀ-ÞĀ-ŽЀ-Я](?:[^\W\d_A-ZÀ-ÞЀ-Я]|\s|['’]\w))(?!(?i:com|org|net|info|br)\b)"
)
# In scripts without capitals: a full stop inside of a word, and letters that only end words.
_GLUED_CASELESS = {
    "ar": re.compile(
        r"(?<=[ء-ي]{3})[.؟!](?=[ء-ي]{3})|(?<=[ء-ي]{2})[ةً](?=[ء-ي]{2})|(?<=[12]\d{3})(?=[ء-ي]{3})|(?<=[a-zà-ÿ]{3})(?=[ء-ي]{2})"
    ),
    "fa": re.compile(r"(?<=[آ-ی]{3})[.؟!](?=[آ-ی]{3})"),
    "ko": re.compile(r"(?<=[가-힣]{2})[.?!](?=[가-힣\dA-Z])|(?<!지난)(?<!오는)(?<=[가-힣])(?=(?:19|20)\d\d년\s)"),
}
# A capital after small letters, and the small letters after it or, of a word of one letter, a blank.
_INNER_CAPITAL = re.compile(rf"(?<=({_LOWER}{_LOWER}))(?=([{_UPPER}]{_LOWER}*)(?:[\s'’,-]|$))")
# A sentence right behind the closing sign or the year of a caption.
_BEHIND_CAPTION = re.compile(
    rf"(?<=\w{{3}})[)\]](?=[{_UPPER}]{_LOWER})|(?<=\d\d)\)(?=\d{{1,2}}\s)|(?<!\w)(?:19|20)\d\d(?=[{_UPPER}]{_LOWER}{{2}})"
    rf"|(?<={_LOWER}{{3}})(?=(?:19|20)\d\d\s)"
    rf"|(?<={_LOWER}{{3}})[\"„“«](?=[{_UPPER}](?:{_LOWER}|\s))|(?<=[\w.])[”»](?=[{_UPPER}]{_LOWER})"
)
_BEHIND_DIGIT = re.compile(rf"(?<=\w)(?<=\d)([{_UPPER}]{_LOWER}*)(?=[\s'’,])")
# Particles at the start of a sentence: the noun before them is missing.
_HEADLESS = {
    "ja": re.compile(r"[でにのはがをともやへ](?![ぁ-んー])|(?:から|まで|には|とは|での)(?![ぁ-ん])"),
}
# Sentences end with a verb: what ends with a noun is a caption. These are the last syllables of verbs.
_NOUN_AT_THE_END = {
    "ko": re.compile(r"(?<=[가-힣》〉])(?<![다요까죠네라자오지군음함임됨됐것듯중])(?<!예정)(?<!전망)\.$"),
}
_LONGEST_CAPTION = 150
_QUOTES = (("„", "“"), ("«", "»"), ("“", "”"))
# Words in which the end of a caption is looked for by its first words.
_HEAD_WORDS = 12
# Letters by which the word before or behind a boundary is compared with other words.
_STEM = 5
# Characters before the first word of a note.
_OPENING = "\"'“„«*: "
# Longer sentences are not tested for a cut.
_CUT_WORDS = 12
_SHORT_WORDS = 5
# A number that is no ordinal.
_NUMBERED = re.compile(r"\b(?:nr|no|n[°º]|č|núm|num|numer|nummer|číslo|número|№)\.?\s?\d+\.$", re.IGNORECASE)


class FaultFinder:
    """Find the faults of the sentences of one language.

    Args:
        language: its code.
        captions: whether to look for captions that are joined to their sentence. Where there is a page, its markup
            shows captions, and a capital inside of a word belongs to a name.
    """

    def __init__(self, language: str, captions: bool = True) -> None:
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
            rf"|^(?:{'|'.join(_PLAIN)})(?=\w)|^(?:left|right|center|thumb)(?=[^\x00-\x7f])"
            r"|upright\s?=|(?<!\w)(?:alt|link|lang|page)\s?=\s?\S{0,80}\|"
        )
        self._headless = _HEADLESS.get(language)
        self._noun_at_the_end = _NOUN_AT_THE_END.get(language)
        holes = read_facts("holes.json").get(language)
        self._own_holes = re.compile("|".join(f"(?:{hole})" for hole in holes)) if holes else None
        self._blank_holes = language not in _BLANKS_BEFORE_STOPS
        self._glues = not holds_no_spaces(language)
        self._captions = captions and self._glues
        facts_of_capitals = read_facts("capitals.json")
        openers = "|".join(facts_of_capitals["openers"].get(language, "(?!)").split())
        self._opener = re.compile(rf"(?<=[^\W\d_{_UPPER})“”»]) (?:{openers}) (?=[^\W\d_])")
        self._before_names = words_of("never_last") | set(
            facts_of_capitals["before_names"].get(language, "").lower().split()
        )
        days = "|".join(map(re.escape, sorted(words_of(language))))
        self._day = re.compile(rf"(?<={_LOWER}{{3}})(?=\d{{1,2}}\.?\s(?i:{days or '(?!)'})(?!\w))")
        self._language = language
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
        if self._has_hole(sentence):
            return "hole"
        if self.is_note(sentence):
            return "note"
        if self._glues and (_stop_inside(sentence, self._language) or (self._captions and self._has_caption(sentence))):
            return "glued"
        if self.is_cut(sentence):
            return "cut"
        if self._noun_at_the_end is not None and self._noun_at_the_end.search(sentence):
            return "caption"
        fragment = self._unfinished(sentence, bool(markup_offsets(sentence)))
        return f"fragment:{fragment}" if fragment else None

    def _has_hole(self, sentence: str) -> bool:
        return (
            _HOLE.search(sentence) is not None
            or (self._blank_holes and _BLANK_HOLE.search(sentence) is not None)
            or (self._headless is not None and self._headless.match(sentence) is not None)
            or (self._own_holes is not None and self._own_holes.search(sentence) is not None)
        )

    def _has_caption(self, sentence: str) -> bool:
        """Return whether a caption without a full stop is joined to the sentence."""
        if _BEHIND_CAPTION.search(sentence) or self._day.search(sentence) or _glued_name().search(sentence):
            return True
        if self._language in _GLUED_CASELESS and _begins_again(sentence):
            return True
        if any(
            self._opens_sentence(sentence[: match.start()])
            for match in self._opener.finditer(sentence, 0, _LONGEST_CAPTION)
        ):
            return True
        if any(begins_sentences(word, self._language) for word in _BEHIND_DIGIT.findall(sentence)):
            return True
        return any(self._is_boundary(sentence, match) for match in _INNER_CAPITAL.finditer(sentence))

    def _opens_sentence(self, before: str) -> bool:
        """Return whether a word of grammar with a capital begins a sentence, and no name, behind this text."""
        quoted = any(before.count(opening) > before.count(closing) for opening, closing in _QUOTES)
        return not quoted and re.split(r"[\s'’]", before)[-1].lower() not in self._before_names

    def _is_boundary(self, sentence: str, match: re.Match[str]) -> bool:
        """Return whether two words are joined at a capital inside of a word, and not one name is written so."""
        at = match.start()
        before, after = _LAST_WORD.search(sentence, max(0, at - 80), at), match[2]
        left = before[0] if before else match[1]
        if left in _beginnings() or after in _ends() or left + after in _names():
            return False
        if len(after) == 1 and after.lower() not in words_of("one_letter"):
            return False
        # Of names, both halves have capitals and are plain ASCII, but for the Cyrillic ones, which are short.
        if left[0].islower() and len(left) > 2:
            return True
        if left == after or len(after) == 1 or begins_sentences(after, self._language):
            return True
        if not left.isascii() or not after.isascii():
            return len(left) > 3
        rest = f" {sentence[: at - len(left)]} {sentence[at + len(after) :]}"
        return sentence.count(left + after) == 1 and any(
            len(word) >= _STEM - 1 and f" {word[:_STEM]}" in rest for word in (left, after)
        )

    def is_cut(self, sentence: str) -> bool:
        """Return whether a sentence was cut at an abbreviation, an initial or a number.

        The splitter decides: a sentence is cut if it would not end there with another word after it.
        """
        words = sentence.count(" ") + 1
        if words > _CUT_WORDS or not self._glues or not sentence.endswith(".") or _NUMBERED.search(sentence):
            return False
        # A short sentence, or one that ends with a number, is tested with a name after it; a longer one with a word
        # that begins sentences.
        after = "Xaver" if words <= _SHORT_WORDS or sentence[-2:-1].isdigit() else self._starter
        return len(self._split(f"{sentence} {after}")) == 1


def first_of_glued(sentence: str, language: str) -> str:
    """Return the text up to the first full stop without a space after it: authors forget the space."""
    match = None if holds_no_spaces(language) else _stop_inside(sentence, language)
    return sentence[: match.end()] if match and sentence[match.end() - 1] in ".!?؟" else sentence


def _stop_inside(sentence: str, language: str) -> re.Match[str] | None:
    """Return the first place where two sentences are joined without a space."""
    return _GLUED.search(sentence) or (
        _GLUED_CASELESS[language].search(sentence) if language in _GLUED_CASELESS else None
    )


def _begins_again(sentence: str) -> bool:
    """Return whether the first two words of a sentence come again, the first of them at the end of a longer word.

    A caption and the sentence after it often begin with the same name.
    """
    words = sentence.split(maxsplit=_HEAD_WORDS + 2)
    if len(words) < _HEAD_WORDS // 2:
        return False
    first, second = words[0], words[1].strip("،,٬")
    return any(
        len(word) > len(first) > 1 and word.endswith(first) and after.strip("،,٬") == second
        for word, after in pairwise(words[1:])
    )


# The letters before an offset.
_LAST_WORD = re.compile(r"[^\W\d_]+\Z")


@cache
def _names() -> frozenset[str]:
    """Return names with a capital inside."""
    facts = read_facts("capitals.json")
    return frozenset((*facts["names"].split(), *facts["cyrillic"].split()))


@cache
def _glued_name() -> re.Pattern[str]:
    """Return a pattern for such a name behind the last word of a caption."""
    return re.compile(rf"(?<={_LOWER}{{3}})(?:{'|'.join(sorted(_names()))})(?!\w)")


@cache
def _beginnings() -> frozenset[str]:
    """Return what such names begin with."""
    return frozenset(read_facts("capitals.json")["beginnings"].split())


@cache
def _ends() -> frozenset[str]:
    """Return what such names end with."""
    return frozenset(read_facts("capitals.json")["ends"].split())
