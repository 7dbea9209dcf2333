"""Find the noun spans of a parsed sentence, by one of five rules.

`nouns` and `nouns_names` need only parts of speech. `chunks`, `bunsetu` and `released` need the dependency tree. Spans
are character ranges, ascending, and do not overlap.

spaCy's noun chunks for Japanese never contain a direct object: its list of relations has "doclike" instead of "obj".
`released` is what spaCy finds, as in the released code of SDJC. `chunks` adds the objects, and leaves out what is no
noun phrase. `nouns` is the rule of SDJC's paper (section 3.2), "consecutive noun tokens". The other three leave out
spans that are parts of words or of numbers, or no words (`is_whole`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from wikianchor.pipelines.japanese.noun_words import FORMAL, NOT_NOUNS, OF_ONE_SIGN, SOMETIMES_FORMAL

# Without <, which is "less than" in the texts of studies, and without ‘, since ’ is an apostrophe too.
CLOSING = dict(zip("([{（［｛「『【〔〈《“", ")]}）］｝」』】〕〉》”", strict=True))
_CLOSE = frozenset(CLOSING.values())
NOUNS = frozenset({"NOUN"})
NOUNS_AND_NAMES = frozenset({"NOUN", "PROPN"})
NOMINAL = frozenset({"NOUN", "PROPN", "PRON"})
# Relations of the head of a noun phrase: those of spaCy's list that occur in trees.
RELEASED_RELATIONS = frozenset({"nsubj", "nmod", "nsubjpass", "pcomp", "obl", "dative", "appos", "attr", "ROOT"})
RELATIONS = RELEASED_RELATIONS | {"obj", "iobj", "conj", "dislocated"}
# Relations of a word that forms a compound with its head.
COMPOUND = frozenset({"compound", "nummod"})
_TAKEN = "\0"
# Parts of speech that no noun phrase of `chunks` holds. An adjective as in 強い痛み belongs to its phrase.
_CLAUSE = frozenset({"VERB", "AUX", "CCONJ", "SCONJ", "INTJ", "ADV"})
# Parts of speech at the end of a noun phrase.
_ENDS = NOMINAL | {"NUM"}
# Particles between nouns; others only before の, as in 皮膚への.
_JOINS = frozenset({"の", "と", "や", "か", "とか", "など"})
_BRACKETS = frozenset([*CLOSING, *CLOSING.values()])
# Signs between the words of a name.
_SIGNS = frozenset("・-‐–—~〜/+&=:%")
# Signs at the end of a measure.
_UNITS = frozenset("%％‰℃°′″")
# Signs within a number.
_IN_NUMBERS = frozenset(".,:/．，：／")
# Suffixes of one sign, without which a word is not whole: 熱力学|的, これ|ら.
_SUFFIXES = frozenset({"的", "ら"})
# The nouns among words that end with 的; others are adjectives.
_NOUNS_IN_TEKI = ("目的", "標的")
# Parts of speech of modifiers before a noun, besides の.
_MODIFIES = frozenset({"VERB", "ADJ", "AUX", "DET"})

Spans = list[tuple[int, int]]


def unmatched(text: str) -> list[int]:
    """Return the positions of the brackets in a text that have no counterpart.

    >>> unmatched("咳(「乾性」)と熱)")
    [9]
    >>> unmatched("(「)")
    [1]
    """
    positions: list[int] = []
    opened: list[int] = []
    awaited: Counter[str] = Counter()
    for position, character in enumerate(text):
        if character in CLOSING:
            opened.append(position)
            awaited[CLOSING[character]] += 1
        elif awaited[character]:
            # What was opened within and not closed has no counterpart.
            while CLOSING[text[opened[-1]]] != character:
                positions.append(opened[-1])
                awaited[CLOSING[text[opened.pop()]]] -= 1
            opened.pop()
            awaited[character] -= 1
        elif character in _CLOSE:
            positions.append(position)
    return sorted(positions + opened)


class Token(NamedTuple):
    """A token of a sentence.

    Attributes:
        start: first character in the sentence.
        end: character after its last.
        pos: part of speech of Universal Dependencies.
        relation: relation to its head; "" without a tree.
        head: number of its head; its own number for the root.
        heads_bunsetu: whether it is the head of a bunsetu.
    """

    start: int
    end: int
    pos: str
    relation: str
    head: int
    heads_bunsetu: bool


def noun_spans(rule: str, text: str, tokens: Sequence[Token]) -> Spans:
    """Return the spans that a rule, one of `choices.SPAN_RULES`, finds in a sentence."""
    rules: dict[str, Callable[[], Spans]] = {
        "nouns": lambda: runs(tokens, NOUNS),
        "nouns_names": lambda: whole_spans(text, runs(tokens, NOUNS_AND_NAMES)),
        "chunks": lambda: whole_spans(text, noun_phrases(text, tokens)),
        "bunsetu": lambda: whole_spans(text, bunsetu_heads(tokens)),
        "released": lambda: first_places(text, chunks(tokens, RELEASED_RELATIONS)),
    }
    return rules[rule]()


def whole_spans(text: str, spans: Spans) -> Spans:
    """Return the spans that are whole words; see `is_whole`."""
    return [span for span in spans if is_whole(text, *span)]


def is_whole(text: str, start: int, end: int) -> bool:
    """Return whether a noun span is one or more whole words, and not an adverb, a sign or a part of a number.

    >>> text = "2回の比較的高い熱力学的な値（3.5℃）"
    >>> [is_whole(text, *span) for span in ((0, 2), (1, 2), (3, 6), (8, 11), (8, 12), (13, 14), (15, 18), (17, 19))]
    [True, False, False, False, False, True, False, False]
    """
    span, before, after = text[start:end], text[:start], text[end:]
    if not any(map(str.isalpha, span)) and span[-1] not in _UNITS:
        return False
    if len(span) == 1 and span not in OF_ONE_SIGN:
        return False
    if span in NOT_NOUNS or after[:1] in _SUFFIXES or (span.endswith("的") and not span.endswith(_NOUNS_IN_TEKI)):
        return False
    begins = span[0].isalnum() or span[0] in CLOSING
    ends = span[-1].isalnum() or span[-1] in _CLOSE or span[-1] in _UNITS
    return begins and ends and not _continues(before[::-1], span[0]) and not _continues(after, span[-1])


def _continues(outside: str, edge: str) -> bool:
    """Return whether a number goes on outside of the character at the edge of a span."""
    inner = outside[1:] if outside[:1] in _IN_NUMBERS and edge.isdecimal() else outside
    return inner[:1].isdecimal()


def runs(tokens: Sequence[Token], kinds: frozenset[str]) -> Spans:
    """Return the longest sequences of adjacent tokens of these parts of speech, the rule of SDJC's paper."""
    groups = [list(group) for is_noun, group in groupby(tokens, key=lambda token: token.pos in kinds) if is_noun]
    return [(nouns[0].start, nouns[-1].end) for nouns in groups]


def chunks(tokens: Sequence[Token], relations: frozenset[str]) -> Spans:
    """Return the noun phrases whose heads have one of these relations.

    A phrase extends from the first word of the subtree of its head that no earlier phrase covers, to the head. The
    order and the rules are those of spaCy's `noun_chunks` for Japanese.
    """
    children: list[list[int]] = [[] for _ in tokens]
    for number, token in enumerate(tokens):
        if token.head != number:
            children[token.head].append(number)
    seen: set[int] = set()
    spans: Spans = []
    for number, token in enumerate(tokens):
        if token.pos not in NOMINAL or token.relation not in relations or number in seen:
            continue
        subtree = _subtree(number, children)
        first = next((node for node in subtree if node not in seen), number)
        spans.append((tokens[min(first, number)].start, token.end))
        seen.update(subtree)
        seen.update(range(number + 1))
        if tokens[token.head].pos == "VERB":
            seen.add(token.head)
            seen.update(child for child in children[token.head] if child > token.head)
    return spans


def noun_phrases(text: str, tokens: Sequence[Token]) -> Spans:
    """Return the noun phrases in the chunks of a sentence, direct objects too.

    A subtree can hold a clause or an open bracket: いれば、バージョン9, 「腰痛. So each chunk is split at predicates,
    conjunctions, commas and brackets without a counterpart.
    """
    numbers = {token.start: number for number, token in enumerate(tokens)}
    after = {token.end: number + 1 for number, token in enumerate(tokens)}
    spans: Spans = []
    ranges = [(numbers[start], after[end]) for start, end in chunks(tokens, RELATIONS)]
    while ranges:
        first, last = _trimmed(text, tokens, *ranges.pop())
        if breaks := _breaks(text, tokens, first, last):
            # They are looked at again: what is trimmed then can leave a bracket alone.
            ranges += [(left + 1, right) for left, right in pairwise([first - 1, *breaks, last])]
        elif any(token.pos in NOMINAL for token in tokens[first:last]):
            spans.append((tokens[first].start, tokens[last - 1].end))
    return sorted(spans)


def _trimmed(text: str, tokens: Sequence[Token], first: int, last: int) -> tuple[int, int]:
    """Return a range of tokens, [first, last), without those with which no noun phrase begins or ends."""
    while first < last and not _may_begin(text, tokens, first):
        first += 1
    while first < last and tokens[last - 1].pos not in _ENDS:
        last -= 1
    return first, last


def _breaks(text: str, tokens: Sequence[Token], first: int, last: int) -> list[int]:
    """Return the tokens of a range that are part of no noun phrase: words, and brackets without a counterpart."""
    if first == last:
        return []
    start = tokens[first].start
    alone = {start + position for position in unmatched(text[start : tokens[last - 1].end])}
    return [
        number
        for number, token in enumerate(tokens[first:last], first)
        if _separates(text[token.start : token.end], token.pos, text[token.end : token.end + 1])
        or not alone.isdisjoint(range(token.start, token.end))
    ]


def _may_begin(text: str, tokens: Sequence[Token], number: int) -> bool:
    """Return whether a noun phrase may begin with a token. An adjective after が belongs to the noun before: 梅雨がない
    土地."""
    token = tokens[number]
    if token.pos == "ADJ" and number and text[tokens[number - 1].start : tokens[number - 1].end] == "が":
        return False
    return token.pos not in ("ADP", "PUNCT", "SYM", "PART") or text[token.start] in CLOSING


def _separates(word: str, pos: str, following: str) -> bool:
    """Return whether a word is part of no noun phrase.

    Args:
        word: its text.
        pos: its part of speech.
        following: the character after it.
    """
    if pos == "ADP":
        return word not in _JOINS and following != "の"
    if pos in ("PUNCT", "SYM"):
        return not _BRACKETS.issuperset(word) and not _SIGNS.issuperset(word)
    # 大きく modifies no noun.
    return pos in _CLAUSE or (pos == "ADJ" and word.endswith("く"))


def _subtree(root: int, children: Sequence[Sequence[int]]) -> list[int]:
    """Return the numbers of the tokens below and including `root`, ascending."""
    nodes = [root]
    for number in nodes:
        nodes += children[number]
    return sorted(nodes)


def bunsetu_heads(tokens: Sequence[Token]) -> Spans:
    """Return the noun heads of bunsetu, each with the words before it that form a compound with it."""
    spans: Spans = []
    for number, token in enumerate(tokens):
        if not token.heads_bunsetu or token.pos not in NOMINAL:
            continue
        first = number
        while first and _is_compound(tokens[first - 1]) and first <= tokens[first - 1].head <= number:
            first -= 1
        spans.append((tokens[first].start, token.end))
    return spans


def _is_compound(token: Token) -> bool:
    """Return whether a token forms a compound with its head."""
    return token.relation in COMPOUND and token.pos not in _CLAUSE


def first_places(text: str, spans: Spans) -> Spans:
    """Move each span to the first occurrence of its text that is not taken by an earlier span.

    The released code of SDJC does this, because it replaces the first match of a string.
    """
    rest = text
    moved: Spans = []
    for start, end in spans:
        first = rest.find(text[start:end])
        if first < 0:
            continue
        moved.append((first, first + end - start))
        rest = rest[:first] + _TAKEN * (end - start) + rest[first + end - start :]
    return sorted(moved)


def spans_with_content(
    text: str, spans: Sequence[tuple[int, int]], words: Sequence[tuple[int, int, str]]
) -> list[tuple[int, int]]:
    """Return the noun spans that do not end with a formal noun, as こと, 入院した場合 and その際 do.

    A formal noun at the end of a compound, as in 麻酔時, has content.

    Args:
        text: the sentence.
        spans: character ranges.
        words: start, end and part of speech of all tokens.
    """
    starts = [start for start, _, _ in words]
    with_content = []
    for start, end in spans:
        last = bisect_left(starts, end) - 1
        before = words[last - 1] if last > 0 else (-1, -1, "")
        modified = text[slice(*before[:2])] == "の" or before[2] in _MODIFIES
        noun = text[slice(*words[last][:2])]
        compound = before[0] >= start and not modified
        if compound or not (noun in FORMAL or (noun in SOMETIMES_FORMAL and modified)):
            with_content.append((start, end))
    return with_content
