"""Split Japanese texts into sentences and tokens, with trees by GiNZA, or without by its tokeniser, Sudachi.

GiNZA's named entities and compound splitter, which take more than half of its time, are not loaded. Neither is its
bunsetu recogniser: the parser already marks the head of a bunsetu by a suffix of the relation. The suffix is removed
here, because spaCy's noun chunks find next to nothing with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.japanese.noun_spans import Token

UNUSED = ("ner", "compound_splitter", "bunsetu_recognizer")
BUNSETU = "_bunsetu"
# Texts parsed together: more are no faster and need more memory.
BATCH = 32
# Characters within Latin words: "TSST-1", "and/or".
JOINS = "-/+&_"
_INSTALL = "pip install 'wikianchor[ja]'"


class Parsed(NamedTuple):
    """A sentence and its tokens, with offsets in the sentence."""

    text: str
    tokens: list[Token]


Parse = Callable[[Sequence[str]], Iterator[list[Parsed]]]


def make_parser(name: str) -> Parse:
    """Return a function that parses texts and yields the list of sentences of each.

    Args:
        name: "ginza" or "sudachi".

    Raises:
        UsageError: its packages are not installed.
    """
    try:
        return _ginza() if name == "ginza" else _sudachi()
    except (ImportError, OSError) as error:
        line = str(error).splitlines()[0]
        raise UsageError(f"--parser={name} needs its packages ({line}): {_INSTALL}") from error


def _ginza() -> Parse:
    import spacy

    nlp = spacy.load("ja_ginza", exclude=list(UNUSED))

    def parse(texts: Sequence[str]) -> Iterator[list[Parsed]]:
        for doc in nlp.pipe(texts, batch_size=BATCH):
            yield list(_sentences(doc))

    return parse


def _sentences(doc: Any) -> Iterator[Parsed]:
    """Yield the sentences of a spaCy document.

    A boundary within Latin text, as in "Toxic shock | syndrome" or "TSST- | 1", is removed.
    """
    ends = [sentence.end for sentence in doc.sents]
    begins = [0, *ends[:-1]]
    first = 0
    for end, after in zip(ends, [*begins[1:], None], strict=True):
        if after is not None and _latin(doc[after - 1].text[-1:], JOINS) and _latin(doc[after].text[:1]):
            continue
        sentence, begin = doc[first:end], doc[first].idx
        tokens = [
            Token(
                token.idx - begin,
                token.idx - begin + len(token),
                token.pos_,
                relation=token.dep_.removesuffix(BUNSETU),
                head=token.head.i - first,
                heads_bunsetu=token.dep_.endswith(BUNSETU) or token.dep_ == "ROOT",
            )
            for token in sentence
        ]
        yield trimmed(sentence.text, tokens)
        first = end


def _latin(character: str, others: str = "") -> bool:
    """Return whether a character is an ASCII letter or digit, or one of `others`."""
    return (character.isascii() and character.isalnum()) or character in others


# The part of speech of Universal Dependencies for Sudachi's first level, and below for its first two.
_POS = {
    "名詞": "NOUN",
    "接尾辞": "NOUN",
    "接頭辞": "NOUN",
    "代名詞": "PRON",
    "動詞": "VERB",
    "形容詞": "ADJ",
    "形状詞": "ADJ",
    "連体詞": "DET",
    "副詞": "ADV",
    "接続詞": "CCONJ",
    "感動詞": "INTJ",
    "助動詞": "AUX",
    "助詞": "ADP",
    "補助記号": "PUNCT",
    "記号": "SYM",
    "空白": "SPACE",
}
_SECOND = {
    ("名詞", "固有名詞"): "PROPN",
    ("名詞", "数詞"): "NUM",
    ("接尾辞", "動詞的"): "AUX",
    ("接尾辞", "形容詞的"): "AUX",
}


def _sudachi() -> Parse:
    from sudachipy import Dictionary, SplitMode

    from wikianchor.pipelines.text.splitter import make_splitter

    tokenizer = Dictionary().create(SplitMode.C)
    split = make_splitter("rules", "ja")

    def parse(texts: Sequence[str]) -> Iterator[list[Parsed]]:
        for text in texts:
            sentences, begin = [], 0
            for end in split(text):
                sentence, begin = text[begin:end], end
                tokens = [
                    Token(
                        morpheme.begin(),
                        morpheme.end(),
                        part_of_speech(morpheme.part_of_speech()),
                        relation="",
                        head=number,
                        heads_bunsetu=False,
                    )
                    for number, morpheme in enumerate(tokenizer.tokenize(sentence))
                ]
                sentences.append(trimmed(sentence, tokens))
            yield sentences

    return parse


def part_of_speech(levels: Sequence[str]) -> str:
    """Return the part of speech of Universal Dependencies.

    Args:
        levels: Sudachi's levels of a part of speech.
    """
    first, second = levels[:2]
    return _SECOND.get((first, second), _POS.get(first, "X"))


def trimmed(text: str, tokens: Iterable[Token]) -> Parsed:
    """Return a sentence without white space at its ends and without tokens of white space."""
    inner = text.strip()
    shift = len(text) - len(text.lstrip())
    listed = list(tokens)
    kept = [number for number, token in enumerate(listed) if text[token.start : token.end].strip()]
    renumbered = {old: new for new, old in enumerate(kept)}
    moved = [
        token._replace(start=token.start - shift, end=token.end - shift, head=renumbered.get(token.head, new))
        for new, token in enumerate(listed[number] for number in kept)
    ]
    return Parsed(inner, moved)
