"""Whether stretches of a Japanese sentence are noun spans there, told by its words alone: SudachiPy, no tree.

The corpus has its spans from trees. A tree of each filled sentence would take fifty times as long, and be stricter
than the rule means: of noun spans that are put into other sentences it finds four of five again. The words say what a
noun phrase begins and ends with, and whether what stands within it is whole. They are those of the corpus, since GiNZA
cuts by the same dictionary. `docs/explanation/studies/japanese-negatives.md` compares the two.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.japanese.noun_spans import NOMINAL, NOUNS, NOUNS_AND_NAMES
from wikianchor.pipelines.japanese.noun_words import FORMAL, OF_ONE_SIGN
from wikianchor.pipelines.japanese.parsing import part_of_speech

# What joins two nouns, or a noun to what it says more of.
_JOINS = frozenset({"の", "と", "や", "か", "も", "など", "とか", "やら", "なり"})
# Forms in which a predicate stands before its noun, and stems, which are compounded to it.
_BEFORE_NOUN = ("連体形", "終止形", "語幹")
# What ends a phrase. Within a number it is no word of its own.
COMMAS = ("、", ",", ";", ":")
_PREDICATES = frozenset({"VERB", "ADJ", "AUX"})
_COMPOUND = NOMINAL | {"NUM", "SYM"}


class Word(NamedTuple):
    """A word of a sentence.

    Attributes:
        start: offset, code points.
        end: offset after it.
        text: as it stands.
        part: Sudachi's six levels: four of kind, the type of inflection, the form.
        pos: as Universal Dependencies call it.
    """

    start: int
    end: int
    text: str
    part: Sequence[str]
    pos: str


Read = Callable[[str], list[Word]]


def make_reader() -> Read:
    """Return a function from a text to its words, white space left out. It is for one thread.

    Raises:
        UsageError: SudachiPy or its dictionary is not installed.
    """
    try:
        from sudachipy import Dictionary, SplitMode

        tokenizer = Dictionary().create(SplitMode.C)
    except (ImportError, OSError) as error:
        raise UsageError(f"negatives are judged by SudachiPy ({error}): pip install 'wikianchor[t5]'") from error

    def read(text: str) -> list[Word]:
        found = []
        for one in tokenizer.tokenize(text):
            part = one.part_of_speech()
            if not one.surface().isspace():
                found.append(Word(one.begin(), one.end(), one.surface(), part, part_of_speech(part)))
        return found

    return read


def are_noun_spans(rule: str, words: Sequence[Word], spans: Sequence[tuple[int, int]]) -> bool:
    """Whether each span of a sentence could be one that a rule of `names.SPAN_RULES` finds there."""
    numbers = {word.start: number for number, word in enumerate(words)}
    after = {word.end: number + 1 for number, word in enumerate(words)}
    return all(
        start in numbers and end in after and is_noun_span(rule, words[numbers[start] : after[end]])
        for start, end in spans
    )


def is_noun_span(rule: str, words: Sequence[Word]) -> bool:
    """Whether words, one at least, are of the kind that a rule finds."""
    if is_sound(words[-1].text) or says_nothing(words):
        return False
    if rule == "nouns":
        return all(word.pos in NOUNS for word in words)
    if rule == "nouns_names":
        return all(word.pos in NOUNS_AND_NAMES for word in words)
    if words[-1].pos not in NOMINAL or not may_begin(words[0]):
        return False
    if rule == "bunsetu":
        return all(word.pos in _COMPOUND or word.part[0] == "形状詞" for word in words)
    return _is_whole(words)


def may_begin(word: Word) -> bool:
    """Whether a noun phrase may begin with a word: not with what leans on a word before it, as する does."""
    if word.pos == "PUNCT":
        return word.part[1] == "括弧開"
    leans = word.part[0] == "接尾辞" or word.part[1] == "非自立可能"
    return word.pos not in ("ADP", "AUX", "CCONJ") and not leans and not is_sound(word.text)


def is_sound(text: str) -> bool:
    """Whether a text is one hiragana, which is a particle, or a part of something."""
    return len(text) == 1 and "ぁ" <= text <= "ゖ"


def says_nothing(words: Sequence[Word]) -> bool:
    """Whether words are a formal noun that nothing modifies, end with a prefix, or hold a compound of bound signs."""
    if words[-1].part[0] == "接頭辞" or (len(words) == 1 and words[0].text in FORMAL):
        return True
    stretches = groupby(words, key=lambda word: word.pos in _COMPOUND)
    return any(compound and all(map(is_bound, stretch)) for compound, stretch in stretches)


def is_bound(word: Word) -> bool:
    """Whether a word is one sign that is part of others and none by itself, which Sudachi calls a noun or a name."""
    is_sign = len(word.text) == 1 and unicodedata.name(word.text, "").startswith("CJK")
    return is_sign and word.pos in NOUNS_AND_NAMES and word.part[0] == "名詞" and word.text not in OF_ONE_SIGN


def may_end(word: Word) -> bool:
    """Whether a noun may end with a word that is read by itself, as a piece of a vocabulary is: a stem of a verb may be
    the end of another word."""
    sign = word.pos == "PUNCT" and not word.text[-1:].isalnum()
    return word.pos not in ("ADP", "AUX", "NUM", "CCONJ") and not sign


def _parted(word: Word, following: Word) -> bool:
    """Whether two neighbours do not belong to one phrase: a number and its dot, as in a list, の and の."""
    return (word.pos == "NUM" and following.text.startswith(".")) or (word.text == "の" and following.pos == "ADP")


def _is_whole(words: Sequence[Word]) -> bool:
    """Whether what stands before the last noun is bound to it: no comma parts it, each particle joins nouns or has its
    predicate, each predicate is in a form that goes before a noun."""
    waiting = False
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word.text in COMMAS or (following is not None and _parted(word, following)):
            return False
        if word.pos in _PREDICATES:
            waiting = False
            bare = word.part[0] == "形状詞" or word.part[5].startswith(_BEFORE_NOUN)
            if following is not None and following.pos in _COMPOUND and not bare:
                return False
        elif word.pos == "ADP" and word.text not in _JOINS and not (following and following.text == "の"):
            waiting = True
    return not waiting
