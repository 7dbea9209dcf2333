"""Entity vectors from the pairs themselves: skip-gram over words and links, as Wikipedia2Vec's (section 3.3 of EASE).

Wikipedia2Vec (https://aclanthology.org/2020.emnlp-demos.4/) trains words on their neighbours, entities on the words
around their links, and entities on those that link to them. Here a sentence with its link before the name gives the
first two, and the entities of a page, one after another, stand for the third. gensim does the training.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from wikianchor.trainer.data.shards import PairDataset, read_batches
from wikianchor.trainer.models.vector_files import NamedVector

# 768 dimensions: section 3.3 of EASE. The others are Wikipedia2Vec's defaults, but for twice its window: links are
# rarer than words.
DIMENSIONS, WINDOW, NEGATIVE, EPOCHS, MIN_WORDS = 768, 10, 5, 5, 5
# Rows that all epochs read together, about 40 minutes on one core. Of larger datasets there are fewer epochs, and of
# still larger ones a sample.
VISITS = 5_000_000
SEED = 20_220_705
# Entities of a page that are one sequence; gensim cuts longer ones.
MOST = 10_000
# Begins the token of an entity, and no word.
ENTITY = "\x00"
_COLUMNS = ("text", "mention_start", "entity_id", "wiki", "page_id", "sentence_id")
_HASHES = 1 << 32
# Words, and single characters of scripts without spaces.
_UNSPACED = r"\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


class Sequences:
    """The sequences of tokens that vectors are trained on, as often as they are asked for.

    Args:
        pairs: the dataset. Its texts are read anew each time; in memory are 16 bytes for each row.
    """

    def __init__(self, pairs: PairDataset) -> None:
        self._pairs = pairs
        # The id of a sentence is a hash.
        self._sampled = min(1.0, VISITS / pairs.rows) * _HASHES

    def __iter__(self) -> Iterator[list[str]]:
        pages, entities = [], []
        for batch in read_batches(self._pairs, _COLUMNS):
            rows = zip(*(batch[name].to_pylist() for name in _COLUMNS), strict=True)
            for text, start, entity, wiki, page, sentence in rows:
                if sentence % _HASHES >= self._sampled:
                    continue
                before, after = (_WORD.findall(part.lower()) for part in (text[:start], text[start:]))
                pages.append(zlib.crc32(wiki.encode()) << 32 ^ page)
                entities.append(entity)
                yield [*before, f"{ENTITY}{entity}", *after]
        order = np.argsort(pages, kind="stable")
        of_page = np.array(pages)[order]
        for same in np.split(np.array(entities)[order], np.flatnonzero(of_page[1:] != of_page[:-1]) + 1):
            for first in range(0, len(same) if len(same) > 1 else 0, MOST):
                yield [f"{ENTITY}{entity}" for entity in same[first : first + MOST]]


def train_vectors(pairs: PairDataset, qids: Any) -> Iterator[NamedVector]:
    """Train, and yield the vector of each entity of a row by its item. The same pairs give the same vectors.

    Args:
        pairs: the dataset.
        qids: (entities,) the item of each entity.
    """
    # Deferred: gensim is an extra.
    from gensim.models import Word2Vec
    from gensim.utils import RULE_DEFAULT, RULE_KEEP

    model = Word2Vec(
        Sequences(pairs),
        vector_size=DIMENSIONS,
        window=WINDOW,
        negative=NEGATIVE,
        epochs=max(1, min(EPOCHS, VISITS // pairs.rows)),
        min_count=MIN_WORDS,
        trim_rule=lambda token, count, least: RULE_KEEP if token.startswith(ENTITY) else RULE_DEFAULT,
        sg=1,
        seed=SEED,
        # With several threads their order would decide; Python's own hash differs between processes.
        workers=1,
        hashfxn=lambda token: zlib.crc32(token.encode()),
    )
    for token in model.wv.index_to_key:
        if token.startswith(ENTITY):
            yield int(qids[int(token[1:])]), model.wv[token]
