"""What random negatives are worth, as a person has read them: grammatical, of another meaning, in the same frame.

`negatives.json` has the verdicts by sentence and rank, and no text. `--sample=200` prints the rows to read: those of
the lowest hashes, so they are the same for the same dataset. Without it the table is printed, and how many of
the verdicts are on rows of the dataset at hand.

    grammatical          a reader takes it for Japanese, whatever it says; a letter is taken for a name, what is no word
                         by itself is a fault, and so is what is broken in the sentence that it is made of
    differs in meaning   it does not say what the sentence says
    same frame           the words around the nouns mean what they meant: no noun that serves as a conjunction (as ため,
                         こと, 場合) has gone, no two fills grow together, nothing of a cut word is left standing
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import measure

from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.dataset.reader import open_datasets, read_batches
from wikianchor.schemas import negatives

VERDICTS = Path(__file__).with_name("negatives.json")
SEED = 7


class Row(NamedTuple):
    """A negative, by sentence and rank."""

    sentence_id: int
    rank: int
    text: str
    negative: str


def main() -> None:
    arguments = measure.parser(__doc__, rounds=1)
    arguments.add_argument("--negatives", required=True, help="directory of a dataset")
    arguments.add_argument("--sample", type=int, default=0, help="print so many rows to read")
    flags = arguments.parse_args()
    rows = list(read(flags.negatives))
    if flags.sample:
        rows.sort(key=lambda row: mix(SEED, row.sentence_id, row.rank).item())
        for row in rows[: flags.sample]:
            print(row.sentence_id, row.rank, row.text, row.negative, sep="\t")
        return
    known = {(row.sentence_id, row.rank) for row in rows}
    stored = json.loads(VERDICTS.read_text())
    questions = stored["columns"][2:]
    judged = stored["rows"]
    here = sum((sentence, rank) in known for sentence, rank, *_ in judged)
    counts = [[name.replace("_", " "), sum(row[2 + place] for row in judged)] for place, name in enumerate(questions)]
    counts.append(["all three", sum(all(row[2:]) for row in judged)])
    text = f"{here} of {len(judged)} verdicts are on rows of this dataset, which has {len(rows):,} negatives."
    measure.report("What negatives are worth", f"{measure.table(['', f'of {len(judged)}'], counts)}\n\n{text}")


def read(directory: str) -> Iterator[Row]:
    """Yield the negatives of a dataset."""
    (dataset,) = open_datasets(directory, "negatives", negatives.VERSION, "negatives")
    for shard in dataset.shards("negatives"):
        for batch in read_batches(shard, ["text", "sentence_id", "negatives", "ranks"]):
            for row in batch.to_pylist():
                for text, rank in zip(row["negatives"], row["ranks"], strict=True):
                    yield Row(row["sentence_id"], rank, row["text"], text)


if __name__ == "__main__":
    main()
