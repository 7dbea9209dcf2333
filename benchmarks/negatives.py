"""`wikianchor negatives` against one span at a time, one sentence at a time, at the same width of the beam.

Needs the extra `t5`, a T5 (--model) and a corpus (--corpus) that are there already.
"""

from __future__ import annotations

import argparse
from typing import Any

import measure

from pipelines.dataset.reader import open_datasets, read_batches
from pipelines.text.filler import Filler, Holes, Search, load_filler
from schemas import corpus


def main() -> None:
    arguments = measure.parser(__doc__, rounds=3)
    arguments.add_argument("--model", required=True, help="directory of a T5")
    arguments.add_argument("--corpus", required=True, help="directory of a corpus")
    arguments.add_argument("--sentences", type=int, default=32, help="sentences, evenly spread (32)")
    arguments.add_argument("--beams", type=int, default=4, help="width of the beam (4)")
    arguments.add_argument("--spans", choices=corpus.SPAN_RULES, default="chunks", help="which spans (chunks)")
    flags = arguments.parse_args()
    items = read(flags)
    together = load_filler(flags.model, Search(flags.beams, flags.beams))
    # What the released code does: a beam for each span, of which one rank is taken, in batches of one.
    alone = load_filler(flags.model, Search(flags.beams, 1, each=True, batch_tokens=1))
    cases = {"one at a time": lambda: taken(alone, items), "ours": lambda: taken(together, items)}
    found = measure.rounds_of(flags.rounds, cases)
    rows: list[list[Any]] = [
        [name, len(items) / min(found[name]), candidates]
        for name, candidates in zip(cases, (1, flags.beams), strict=True)
    ]
    table = measure.table(["decoding", "sentences a CPU second", "candidates of each"], rows)
    spans = sum(len(item.spans) for item in items)
    text = f"{len(items)} sentences, {spans} spans, {flags.beams} beams."
    ratio = measure.ratio(found["one at a time"], found["ours"])
    measure.report("Hard negatives", f"{table}\n\n{text} Ours is {ratio:.1f} times as fast.")


def read(flags: argparse.Namespace) -> list[Holes]:
    """Return sentences of the corpus with their spans."""
    (dataset,) = open_datasets(flags.corpus, "corpus", corpus.VERSION, "corpus")
    found = []
    for shard in dataset.shards("corpus"):
        for batch in read_batches(shard, ["text", "spans"]):
            for row in batch.to_pylist():
                spans = tuple((span["start"], span["end"]) for span in row["spans"][flags.spans])
                if spans:
                    found.append(Holes(row["text"], spans))
    return found[:: max(1, len(found) // flags.sentences)][: flags.sentences]


def taken(filler: Filler, items: list[Holes]) -> float:
    """Return the CPU seconds of filling all."""
    return measure.seconds(lambda: filler.fill(items))


if __name__ == "__main__":
    main()
