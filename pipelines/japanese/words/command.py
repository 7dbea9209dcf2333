"""`wikianchor words`: draw the most frequent words of a corpus, as in figures 2 and 3 of SDJC's paper."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import writing
from wikianchor.io.units import size
from wikianchor.pipelines.dataset.reader import open_datasets, read_batches
from wikianchor.pipelines.dataset.summary import spent
from wikianchor.pipelines.japanese.words.cloud import svg
from wikianchor.pipelines.japanese.words.options import WordsOptions
from wikianchor.schemas import corpus

# Nouns that are frequent in every domain. Nouns of one character are mostly parts of words.
EMPTY = frozenset(["こと", "もの", "ため", "よう", "場合", "とき", "ところ", "それ", "これ"])
SHORTEST = 2


def run(config: WordsOptions, beam_args: Sequence[str]) -> None:
    """Write the picture.

    Raises:
        UsageError: no word of the corpora has one of the parts of speech.
        InputError: there is no corpus, or the picture cannot be written.
    """
    start = time.monotonic()
    counts: Counter[str] = Counter()
    for dataset in open_datasets(config.corpus, "corpus", corpus.VERSION, "corpus"):
        for path in dataset.shards("words"):
            for batch in read_batches(path, ["word", "pos", "count"]):
                for row in batch.to_pylist():
                    word = row["word"]
                    if row["pos"] in config.pos and word not in EMPTY and len(word) >= SHORTEST and word.isalnum():
                        counts[word] += row["count"]
    if not counts:
        raise UsageError(f"--pos={','.join(config.pos)}: no word of the corpus is one of these")
    words = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[: config.most]
    with writing(config.output), open(config.output, "w", encoding="utf-8") as stream:
        stream.write(svg(words, f"Words of {config.corpus}"))
    about = f"{len(words):,} words, {size(os.path.getsize(config.output))}: {config.output}"
    print(f"{about}\n{spent(start)}\nnext: open it in a browser")
