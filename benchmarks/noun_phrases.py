"""Whether the words of a filled sentence say what a noun span is, as well as its tree does, and what both cost.

Into one noun span of each sentence of a corpus goes a noun span of another sentence, and a stretch of one to four words
of another sentence. Of the first most should pass, of the second few: some are noun phrases too. What the tree says is
whether the same rule finds a span there. Needs the extra `ja` and a corpus made with --parser=ginza.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import measure

from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.dataset.reader import open_datasets, read_batches
from wikianchor.pipelines.japanese.choices import SPAN_RULES
from wikianchor.pipelines.japanese.negatives.fills import fill_spans, filled
from wikianchor.pipelines.japanese.noun_phrases import are_noun_spans, make_reader
from wikianchor.pipelines.japanese.noun_spans import noun_spans
from wikianchor.pipelines.japanese.parsing import Parsed, make_parser
from wikianchor.schemas import corpus

# Words of a random stretch at most.
WORDS = 4
SEED = 1


class Filled(NamedTuple):
    """A sentence with something else in one noun span, and where."""

    text: str
    place: tuple[int, int]


def main() -> None:
    arguments = measure.parser(__doc__, rounds=3)
    arguments.add_argument("--corpus", required=True, help="directory of a corpus")
    arguments.add_argument("--sentences", type=int, default=300, help="sentences, evenly spread (300)")
    arguments.add_argument("--spans", choices=SPAN_RULES, default="chunks", help="which spans (chunks)")
    flags = arguments.parse_args()
    rows = list(read(flags.corpus, flags.spans))
    rows = rows[:: max(1, len(rows) // flags.sentences)][: flags.sentences]
    kinds = {"a noun span of another sentence": spans_of, "one to four words of another sentence": words_of}
    made = {kind: list(exchanged(rows, flags.spans, pick)) for kind, pick in kinds.items()}
    parse, words = make_parser("ginza"), make_reader()

    def by_tree(items: list[Filled]) -> list[bool]:
        found = parse([item.text for item in items])
        return [has_span(flags.spans, item, parsed) for item, parsed in zip(items, found, strict=True)]

    def by_words(items: list[Filled]) -> list[bool]:
        return [are_noun_spans(flags.spans, words(item.text), [item.place]) for item in items]

    table = []
    for kind, items in made.items():
        tree, ours = by_tree(items), by_words(items)
        both = sum(one and other for one, other in zip(tree, ours, strict=True))
        table.append([kind, len(items), sum(tree), sum(ours), both])
    everything = [item for items in made.values() for item in items]
    cases = {
        "tree": lambda: measure.seconds(lambda: by_tree(everything)),
        "words": lambda: measure.seconds(lambda: by_words(everything)),
    }
    taken = measure.rounds_of(flags.rounds, cases)
    each = {name: 1000 * min(times) / len(everything) for name, times in taken.items()}
    text = f"A tree takes {each['tree']:.1f} ms of CPU a sentence, the words {each['words']:.2f} ms"
    heads = ["what is put in", "sentences", "a noun span by the tree", "by the words", "by both"]
    ratio = measure.ratio(taken["tree"], taken["words"])
    measure.report("Noun spans by words", f"{measure.table(heads, table)}\n\n{text}: {ratio:.0f} times less.")


def read(directory: str, rule: str) -> Iterator[dict[str, Any]]:
    """Yield the sentences of a corpus that have spans."""
    (dataset,) = open_datasets(directory, "corpus", corpus.VERSION, "corpus")
    for shard in dataset.shards("corpus"):
        for batch in read_batches(shard, ["text", "sentence_id", "tokens", "spans"]):
            yield from (row for row in batch.to_pylist() if row["spans"][rule])


def spans_of(row: dict[str, Any], rule: str, lot: int) -> str:
    """Return one of a sentence's spans."""
    span = row["spans"][rule][lot % len(row["spans"][rule])]
    return str(row["text"][span["start"] : span["end"]])


def words_of(row: dict[str, Any], rule: str, lot: int) -> str:
    """Return one to four words of a sentence."""
    tokens = row["tokens"]
    count = min(len(tokens), 1 + lot % WORDS)
    first = lot // WORDS % (len(tokens) - count + 1)
    return str(row["text"][tokens[first]["start"] : tokens[first + count - 1]["end"]])


def exchanged(rows: list[dict[str, Any]], rule: str, pick: Any) -> Iterator[Filled]:
    """Yield each sentence with what is picked of another in one of its spans."""
    for number, row in enumerate(rows):
        which, other, lot = (mix(SEED, row["sentence_id"], key).item() for key in (1, 2, 3))
        span = row["spans"][rule][which % len(row["spans"][rule])]
        spans = [(span["start"], span["end"])]
        word = pick(rows[(number + 1 + other % (len(rows) - 1)) % len(rows)], rule, lot)
        yield Filled(filled(row["text"], spans, [word]), fill_spans(spans, [word])[0])


def has_span(rule: str, item: Filled, sentences: list[Parsed]) -> bool:
    """Whether a rule finds a span in that place of a text that was parsed."""
    begin = 0
    for one in sentences:
        begin = item.text.index(one.text, begin)
        if item.place in [(start + begin, end + begin) for start, end in noun_spans(rule, one.text, one.tokens)]:
            return True
        begin += len(one.text)
    return False


if __name__ == "__main__":
    main()
