"""Noun spans of a parsed sentence, by five rules: tokens in, character spans out.

`nouns` and `nouns_names` need parts of speech alone. `chunks`, `bunsetu` and `released` need the tree. Spans come in
order and do not overlap.

spaCy's own noun chunks for Japanese never find a direct object: its list of relations has "doclike" where "obj" is
meant. `released` is what it finds, `chunks` the same with the objects.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from wikianchor.pipelines.japanese.noun_words import FORMAL, SOMETIMES_FORMAL

NOUNS = frozenset({"NOUN"})
NOUNS_AND_NAMES = frozenset({"NOUN", "PROPN"})
NOMINAL = frozenset({"NOUN", "PROPN", "PRON"})
# Relations of the head of a noun phrase: of those that spaCy lists, the ones that there are.
RELEASED_RELATIONS = frozenset({"nsubj", "nmod", "nsubjpass", "pcomp", "obl", "dative", "appos", "attr", "ROOT"})
RELATIONS = RELEASED_RELATIONS | {"obj", "iobj", "conj", "dislocated"}
# What is one word with its head.
COMPOUND = frozenset({"compound", "nummod"})
_TAKEN = "\0"
# What stands before a noun that it modifies, beside の.
_MODIFIES = frozenset({"VERB", "ADJ", "AUX", "DET"})

Spans = list[tuple[int, int]]


class Token(NamedTuple):
    """A token: offsets in the sentence, part of speech, relation to its head, the head's number, and whether it heads
    a bunsetu."""

    start: int
    end: int
    pos: str
    relation: str
    head: int
    heads_bunsetu: bool


def noun_spans(rule: str, text: str, tokens: Sequence[Token]) -> Spans:
    """Return the spans that a rule of `names.SPAN_RULES` finds in a sentence."""
    if rule == "nouns":
        return runs(tokens, NOUNS)
    if rule == "nouns_names":
        return runs(tokens, NOUNS_AND_NAMES)
    if rule == "chunks":
        return chunks(tokens, RELATIONS)
    if rule == "bunsetu":
        return bunsetu_heads(tokens)
    return first_places(text, chunks(tokens, RELEASED_RELATIONS))


def runs(tokens: Sequence[Token], kinds: frozenset[str]) -> Spans:
    """Return the longest stretches of neighbouring tokens of these parts of speech, as the paper says."""
    found: Spans = []
    last = -2
    for number, token in enumerate(tokens):
        if token.pos not in kinds:
            continue
        if last == number - 1:
            found[-1] = (found[-1][0], token.end)
        else:
            found.append((token.start, token.end))
        last = number
    return found


def chunks(tokens: Sequence[Token], relations: frozenset[str]) -> Spans:
    """Return the noun phrases whose heads have one of these relations: from the first word below the head that no
    earlier phrase covers, to the head itself. The order and the rules are those of spaCy's iterator for Japanese."""
    children: list[list[int]] = [[] for _ in tokens]
    for number, token in enumerate(tokens):
        if token.head != number:
            children[token.head].append(number)
    seen: set[int] = set()
    found: Spans = []
    for number, token in enumerate(tokens):
        if token.pos not in NOMINAL or token.relation not in relations or number in seen:
            continue
        below = _subtree(number, children)
        first = next((one for one in below if one not in seen), number)
        found.append((tokens[min(first, number)].start, token.end))
        seen.update(below)
        seen.update(range(number + 1))
        if tokens[token.head].pos == "VERB":
            seen.add(token.head)
            seen.update(one for one in children[token.head] if one > token.head)
    return found


def _subtree(top: int, children: Sequence[Sequence[int]]) -> list[int]:
    found, waiting = [], [top]
    while waiting:
        number = waiting.pop()
        found.append(number)
        waiting += children[number]
    return sorted(found)


def bunsetu_heads(tokens: Sequence[Token]) -> Spans:
    """Return, of each bunsetu whose head is a noun, the head with the words before it that are compounded to it."""
    found: Spans = []
    for number, token in enumerate(tokens):
        if not token.heads_bunsetu or token.pos not in NOMINAL:
            continue
        first = number
        while first and tokens[first - 1].relation in COMPOUND and first <= tokens[first - 1].head <= number:
            first -= 1
        found.append((tokens[first].start, token.end))
    return found


def first_places(text: str, spans: Spans) -> Spans:
    """Move each span to the first place where its text stands and no earlier one was put: what replacing the first
    match of a string does."""
    rest = text
    found: Spans = []
    for start, end in spans:
        place = rest.find(text[start:end])
        if place < 0:
            continue
        found.append((place, place + end - start))
        rest = rest[:place] + _TAKEN * (end - start) + rest[place + end - start :]
    return sorted(found)


def with_content(
    text: str, spans: Sequence[tuple[int, int]], words: Sequence[tuple[int, int, str]]
) -> list[tuple[int, int]]:
    """Return the noun spans that do not end with a formal noun: not こと, 入院した場合, その際. One that ends a
    compound, as in 麻酔時, is content.

    Args:
        words: start, end and part of speech of all tokens.
    """
    starts = [start for start, _, _ in words]
    found = []
    for start, end in spans:
        last = bisect_left(starts, end) - 1
        before = words[last - 1] if last > 0 else (-1, -1, "")
        modified = text[slice(*before[:2])] == "の" or before[2] in _MODIFIES
        noun = text[slice(*words[last][:2])]
        compound = before[0] >= start and not modified
        if compound or not (noun in FORMAL or (noun in SOMETIMES_FORMAL and modified)):
            found.append((start, end))
    return found
