"""Decide whether ranges of a Japanese sentence are noun spans, by its words alone: SudachiPy, no tree.

The spans of the corpus come from trees. Parsing each filled sentence would take fifty times as long and be too strict:
of noun spans that are put into other sentences, trees find four of five again. Words tell how a noun phrase begins and
ends and whether it is complete, and GiNZA uses the same dictionary.
`docs/explanation/studies/japanese-negatives.md` compares both.
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

# Particles between two nouns, or between a noun and its modifier.
_JOINS = frozenset({"の", "と", "や", "か", "も", "など", "とか", "やら", "なり"})
# Inflections of a predicate before a noun, and stems, which form a compound with it.
_BEFORE_NOUN = ("連体形", "終止形", "語幹")
# Words that end a phrase. Within a number a comma is no word.
COMMAS = ("、", ",", ";", ":")
_PREDICATES = frozenset({"VERB", "ADJ", "AUX"})
_COMPOUND = NOMINAL | {"NUM", "SYM"}
# Parts of speech of all words of a span, by rule.
_KINDS = {"nouns": NOUNS, "nouns_names": NOUNS_AND_NAMES}


class Morpheme(NamedTuple):
    """A word of a sentence, by Sudachi.

    Attributes:
        start: first character in the sentence.
        end: character after its last.
        text: its surface.
        part: Sudachi's six levels: four of the part of speech, the type of inflection, and the form.
        pos: part of speech of Universal Dependencies.
    """

    start: int
    end: int
    text: str
    part: Sequence[str]
    pos: str


Read = Callable[[str], list[Morpheme]]


def make_reader() -> Read:
    """Return a function that returns the words of a text without white space. It is not thread-safe.

    Raises:
        UsageError: SudachiPy or its dictionary is not installed.
    """
    try:
        from sudachipy import Dictionary, SplitMode

        tokenizer = Dictionary().create(SplitMode.C)
    except (ImportError, OSError) as error:
        raise UsageError(f"negatives are judged by SudachiPy ({error}): pip install 'wikianchor[t5]'") from error

    def read(text: str) -> list[Morpheme]:
        words = []
        for morpheme in tokenizer.tokenize(text):
            part, surface = morpheme.part_of_speech(), morpheme.surface()
            if not surface.isspace():
                words.append(Morpheme(morpheme.begin(), morpheme.end(), surface, part, part_of_speech(part)))
        return words

    return read


def are_noun_spans(rule: str, words: Sequence[Morpheme], spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether each span could be a noun span by a rule, one of `choices.SPAN_RULES`.

    Args:
        rule: name of the rule.
        words: the words of the sentence.
        spans: character ranges in the sentence.
    """
    numbers = {word.start: number for number, word in enumerate(words)}
    after = {word.end: number + 1 for number, word in enumerate(words)}
    return all(
        start in numbers and end in after and is_noun_span(rule, words[numbers[start] : after[end]])
        for start, end in spans
    )


def is_noun_span(rule: str, words: Sequence[Morpheme]) -> bool:
    """Return whether words, at least one, form a noun span by a rule."""
    if is_sound(words[-1].text) or says_nothing(words):
        return False
    if rule in _KINDS:
        return all(word.pos in _KINDS[rule] for word in words)
    if words[-1].pos not in NOMINAL or not may_begin(words[0]):
        return False
    is_compound = all(word.pos in _COMPOUND or word.part[0] == "形状詞" for word in words)
    return is_compound if rule == "bunsetu" else _is_whole(words)


def may_begin(word: Morpheme) -> bool:
    """Return whether a noun phrase may begin with a word: not with a suffix or an auxiliary such as する."""
    if word.pos == "PUNCT":
        return word.part[1] == "括弧開"
    is_suffix = word.part[0] == "接尾辞" or word.part[1] == "非自立可能"
    return word.pos not in ("ADP", "AUX", "CCONJ") and not is_suffix and not is_sound(word.text)


def is_sound(text: str) -> bool:
    """Return whether a text is a single hiragana: a particle, or a part of a word."""
    return len(text) == 1 and "ぁ" <= text <= "ゖ"


def says_nothing(words: Sequence[Morpheme]) -> bool:
    """Return whether words have no content: a formal noun alone, a prefix at the end, or a compound of bound kanji."""
    if words[-1].part[0] == "接頭辞" or (len(words) == 1 and words[0].text in FORMAL):
        return True
    stretches = groupby(words, key=lambda word: word.pos in _COMPOUND)
    return any(compound and all(map(is_bound, stretch)) for compound, stretch in stretches)


def is_bound(word: Morpheme) -> bool:
    """Return whether a word is a kanji that is only a part of words, which Sudachi has as a noun or a name."""
    is_sign = len(word.text) == 1 and unicodedata.name(word.text, "").startswith("CJK")
    return is_sign and word.pos in NOUNS_AND_NAMES and word.part[0] == "名詞" and word.text not in OF_ONE_SIGN


def may_end(word: Morpheme) -> bool:
    """Return whether a noun may end with a word that is analysed by itself, as a piece of a vocabulary is.

    The stem of a verb may, because it may be the end of another word.
    """
    sign = word.pos == "PUNCT" and not word.text[-1:].isalnum()
    return word.pos not in ("ADP", "AUX", "NUM", "CCONJ") and not sign


def _separated(word: Morpheme, following: Morpheme) -> bool:
    """Return whether adjacent words belong to different phrases: a number and its full stop, or の and a particle."""
    return (word.pos == "NUM" and following.text.startswith(".")) or (word.text == "の" and following.pos == "ADP")


def _is_whole(words: Sequence[Morpheme]) -> bool:
    """Return whether the words before the last noun all modify it.

    There must be no comma, each particle must join nouns or have a predicate after it, and each predicate must have a
    form that can precede a noun.
    """
    needs_predicate = False
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word.text in COMMAS or (following is not None and _separated(word, following)):
            return False
        if word.pos in _PREDICATES:
            needs_predicate = False
            bare = word.part[0] == "形状詞" or word.part[5].startswith(_BEFORE_NOUN)
            if following is not None and following.pos in _COMPOUND and not bare:
                return False
        elif word.pos == "ADP" and word.text not in _JOINS and not (following and following.text == "の"):
            needs_predicate = True
    return not needs_predicate
