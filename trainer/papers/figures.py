"""`wikianchor papers figures words|cases`: figure 6 of SDJC and table 8 of EASE, for any models and pairs.

Relevant content words (SDJC, equation 2): the word of two similar sentences whose removal lowers their cosine most.

    w = argmax over w of  sim(a, b) - min(sim(a without w, b), sim(a, b without w))

A word is removed wherever it is a token of the sentence. The released code removes its characters within other words
too. A word that occurs in one of the sentences alone is removed from that one.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.markdown import markdown_table
from wikianchor.io.storage import write_text
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.metrics import pair_cosines
from wikianchor.trainer.evaluate.options import EncoderOptions
from wikianchor.trainer.evaluate.pairs import ScoredPairs, read_pairs
from wikianchor.trainer.evaluate.report import short_names
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.papers.options import CasesOptions, WordsOptions

# Pairs that are encoded together, each once for each of its words.
PORTION = 200


class TaggedToken(NamedTuple):
    """A token: its part of speech in Universal Dependencies, and its offsets in code points."""

    pos: str
    start: int
    end: int


Pair = tuple[str, str]
Parse = Callable[[Sequence[str]], Iterator[list[TaggedToken]]]


def encoders(options: EncoderOptions) -> dict[str, SentenceVectors]:
    """Return each model by its name in the figure."""
    names = short_names(path.rstrip("/") for path in options.model)
    device = choose_device(options.device)
    return {
        name: SentenceVectors(Encoder.load(path, options.pooler, device), options.batch_size, options.max_length)
        for path, name in names.items()
    }


# ------------------------------------------------------------------------------------------------------------- words


def words(options: WordsOptions) -> str:
    """Return figure 6 as a table: the share of each part of speech among the relevant words, by set and model.

    OUTPUT/words.json has the shares for a heat map.
    """
    sets = {name: similar_pairs(path, options.least) for name, path in map(_named, options.pairs)}
    parse, models = ginza(), encoders(options)
    shares_by_set = {
        name: {model: shares(relevant_words(pairs, parse, vectors)) for model, vectors in models.items()}
        for name, pairs in sets.items()
    }
    if options.output:
        write_text(os.path.join(options.output, "words.json"), json.dumps(shares_by_set, indent=2) + "\n")
    columns = list(dict.fromkeys(pos for models in shares_by_set.values() for row in models.values() for pos in row))
    lines = [
        [name, model, f"{len(sets[name]):,}", *(f"{100 * row.get(pos, 0.0):.1f}" for pos in columns)]
        for name, models in shares_by_set.items()
        for model, row in models.items()
    ]
    return markdown_table(["set", "model", "pairs", *columns], lines)


def _named(part: str) -> tuple[str, str]:
    """Return name and path of NAME=FILE; the name of FILE alone is that of the file."""
    name, _, path = part.partition("=")
    return (name, path) if path and "/" not in name else (part.rpartition("/")[2], part)


def ginza() -> Parse:
    """Return a function that tags the tokens of texts, by GiNZA without its parser.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import spacy

        nlp = spacy.load("ja_ginza", exclude=["parser", "ner", "compound_splitter", "bunsetu_recognizer"])
    except (ImportError, OSError) as error:
        line = str(error).splitlines()[0]
        raise UsageError(f"parts of speech need GiNZA ({line}): pip install 'wikianchor[ja]'") from error

    def parse(texts: Sequence[str]) -> Iterator[list[TaggedToken]]:
        for doc in nlp.pipe(texts):
            yield [TaggedToken(token.pos_, token.idx, token.idx + len(token)) for token in doc if not token.is_space]

    return parse


def similar_pairs(path: str, least: float) -> list[Pair]:
    """Return all pairs of a file of two columns; of other files the pairs with a gold score of `least` or more.

    Raises:
        InputError: the file is missing, has no known layout, or has no such pair.
    """
    data = EvaluationFiles.of_file(path)
    rows = [(line or "").split("\t") for line in data.lines(data.names[0], SetSource())]
    if rows and len(rows[0]) == 2:
        similar = [(row[0].strip(), row[1].strip()) for row in rows if len(row) == 2 and all(map(str.strip, row))]
    else:
        pairs = read_pairs(data, data.names[0], path)
        listed = zip(pairs.first, pairs.second, pairs.gold, strict=True)
        similar = [(first, second) for first, second, gold in listed if gold >= least]
    if not similar:
        raise InputError(f"{path}: no pair with a score of {least:g} or more")
    return similar


def without(text: str, tokens: Sequence[TaggedToken], word: str) -> str:
    """Return a text without the tokens that equal this word.

    >>> without("a cat, a dog", [TaggedToken("DET", 0, 1), TaggedToken("DET", 7, 8)], "a")
    'cat,  dog'
    """
    for token in reversed(tokens):
        if text[token.start : token.end] == word:
            text = text[: token.start] + text[token.end :]
    return text.strip()


def deletions(pair: Pair, tokens: Sequence[list[TaggedToken]]) -> dict[str, tuple[str, list[Pair]]]:
    """Return for each word of a pair its part of speech and the pairs without it, in the order of the words.

    A word that is a whole sentence is left out, because an empty sentence cannot be compared.
    """
    deleted: dict[str, tuple[str, list[Pair]]] = {}
    for side, text in enumerate(pair):
        for token in tokens[side]:
            word = text[token.start : token.end]
            first, second = (without(pair[number], tokens[number], word) for number in (0, 1))
            # A sentence without the word does not change, and that pair is not counted.
            shorter = [(first, pair[1])] if first and first != pair[0] else []
            shorter += [(pair[0], second)] if second and second != pair[1] else []
            if shorter:
                deleted.setdefault(word, (token.pos, shorter))
    return deleted


def relevant_words(pairs: Sequence[Pair], parse: Parse, vectors: SentenceVectors) -> list[tuple[str, str] | None]:
    """Return for each pair its most relevant word with the word's part of speech, or None if there is no such word."""
    relevant: list[tuple[str, str] | None] = []
    for start in range(0, len(pairs), PORTION):
        portion = pairs[start : start + PORTION]
        tokens = list(parse([text for pair in portion for text in pair]))
        choices = [deletions(pair, tokens[2 * row : 2 * row + 2]) for row, pair in enumerate(portion)]
        shorter = [pair for choice in choices for _, listed in choice.values() for pair in listed]
        cosines = iter(pair_cosines(*(vectors([pair[side] for pair in shorter]) for side in (0, 1))).tolist())
        for choice in choices:
            # sim(a, b) is equal for all words of a pair, so the word with the lowest other cosine is the most relevant.
            lowest = [(min(next(cosines) for _ in listed), word, pos) for word, (pos, listed) in choice.items()]
            best = min(lowest, key=lambda candidate: candidate[0], default=None)
            relevant.append(None if best is None else best[1:])
        vectors.forget()
    return relevant


def shares(relevant: Sequence[tuple[str, str] | None]) -> dict[str, float]:
    """Return the share of each part of speech among the relevant words, 0 to 1, the largest first.

    >>> shares([("cat", "NOUN"), None, ("dog", "NOUN"), ("runs", "VERB")])
    {'NOUN': 0.6666666666666666, 'VERB': 0.3333333333333333}
    """
    counts = Counter(word[1] for word in relevant if word is not None)
    total = max(1, counts.total())
    return {pos: count / total for pos, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))}


# ------------------------------------------------------------------------------------------------------------- cases


def cases(options: CasesOptions) -> str:
    """Return the pairs that the first model scores better, and worse, than the second, as Markdown."""
    pairs = [
        read_pairs(EvaluationFiles.of_file(path), path.rpartition("/")[2], name)
        for name, path in map(_named, options.pairs)
    ]
    models = encoders(options)
    parts = []
    for dataset in pairs:
        cosines, others = (pair_cosines(vectors(dataset.first), vectors(dataset.second)) for vectors in models.values())
        better, worse = largest_gains(dataset, cosines, others, options.most)
        for title, listed in (("Improvement cases", better), ("Deterioration cases", worse)):
            rows = [
                [*(" ".join(text.split()) for text in case[:2]), *(f"{x:.2f}" for x in case[2:])] for case in listed
            ]
            parts.append(f"{title}\n\n{markdown_table(['sentence 1', 'sentence 2', 'gold', *models], rows)}\n")
    return "\n".join(parts)


class Case(NamedTuple):
    """A pair: its sentences, its gold score, and the score of each model on the same scale."""

    first: str
    second: str
    gold: float
    score: float
    other: float


def largest_gains(
    pairs: ScoredPairs, cosines: NDArray[np.float64], others: NDArray[np.float64], most: int
) -> tuple[list[Case], list[Case]]:
    """Return the pairs with the largest gains and those with the largest losses, in this order.

    A cosine is shown on the scale of the gold scores: it is multiplied by the largest of them, and a negative one is 0.
    The paper does not state how its table does it. A pair's gain is the error of the second model less that of the
    first.

    Args:
        pairs: the pairs.
        cosines: the first model's cosines, (pairs,).
        others: the second model's, (pairs,).
        most: number of pairs in each list. A pair without a gain is in neither.
    """
    scores, other_scores = (np.clip(values, 0, None) * pairs.gold.max() for values in (cosines, others))
    gains = np.abs(other_scores - pairs.gold) - np.abs(scores - pairs.gold)
    listed = [
        Case(*row)
        for row in zip(
            pairs.first, pairs.second, *(x.tolist() for x in (pairs.gold, scores, other_scores)), strict=True
        )
    ]
    better, worse = (
        [listed[row] for row in np.argsort(-signed, kind="stable")[:most] if signed[row] > 0]
        for signed in (gains, -gains)
    )
    return better, worse
