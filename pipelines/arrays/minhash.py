"""Keys that nearly equal texts have in common: bands of MinHash signatures.

Texts are compared as sets of SHINGLE characters in a row, which needs no words and so no language. Two texts with the
Jaccard similarity s have one of b bands of r values in common with the probability 1 - (1 - s**r)**b (Leskovec,
Rajaraman, Ullman: Mining of Massive Datasets, section 3.4.2): of 6 bands 5 % for 0.5, 76 % for 0.8, 98 % for 0.9; of 2
bands 2 % for 0.8, 21 % for 0.9, 88 % for 0.98.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.arrays.hashing import Hashes, mix, mix_hashes

SHINGLE = 4
# Values of a signature. The number of bands divides it.
VALUES = 42
# Bands of texts about one thing, and of texts about any: stubs of two things differ in little but names.
OF_ONE, OF_ANY = 6, 2
# Texts whose shingles are hashed together: more do not fit into the cache of a core.
TEXTS_AT_ONCE = 256
# Of the permutations of rensa. Another seed gives other near duplicates.
SEED = 1
_DIGITS = re.compile(r"\d+")


def fold(text: str) -> str:
    """Return a text as it is compared: digits, case and white space do not count.

    >>> fold("In 1997  it had 12,345 Inhabitants.")
    'in 0 it had 0,0 inhabitants.'
    """
    return _DIGITS.sub("0", " ".join(text.casefold().split()))


def band_keys(texts: Sequence[str], scopes: Hashes, bands: int) -> Hashes:
    """Return (texts, bands) keys. Nearly equal texts of one scope have at least one in common.

    Args:
        texts: the texts.
        scopes: (texts,) what has to be the same besides, such as the entity.
        bands: OF_ONE or OF_ANY.

    Raises:
        UsageError: rensa is not installed.

    >>> texts = ["It had 12 houses and 5 farms in 1997.", "It had 3 houses and 17 farms in 1998.", "It is a hill."]
    >>> first, second, other = band_keys(texts, np.zeros(3, np.uint64), OF_ONE)
    >>> bool((first == second).all()), bool((first == other).any())
    (True, False)
    """
    try:
        from rensa import RMinHash
    except ImportError as error:
        raise UsageError("near duplicates are found by rensa, which is not installed: pip install rensa") from error
    values = np.zeros((len(texts), VALUES), np.uint64)
    for first in range(0, len(texts), TEXTS_AT_ONCE):
        shingles, offsets = shingle_hashes(map(fold, texts[first : first + TEXTS_AT_ONCE]))
        signatures = RMinHash.digest_matrix_from_flat_token_hashes(shingles, offsets, VALUES, SEED).to_rows()
        values[first : first + len(signatures)] = signatures
    by_band = values.reshape(len(texts), bands, VALUES // bands)
    keys = mix(0, np.arange(bands))[None, :] ^ scopes[:, None]
    for number in range(by_band.shape[2]):
        keys = mix_hashes(keys, by_band[:, :, number])
    return keys


def shingle_hashes(texts: Iterable[str]) -> tuple[Hashes, Hashes]:
    """Return hashes of the shingles of all texts, one text after the other, and where each text begins and the last
    one ends. A text shorter than a shingle is one."""
    padded = [text.ljust(SHINGLE) for text in texts]
    lengths = np.fromiter(map(len, padded), np.int64, len(padded))
    points = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), np.uint32)
    windows = np.lib.stride_tricks.sliding_window_view(points, SHINGLE) if len(points) else points.reshape(0, SHINGLE)
    ends = np.cumsum(lengths)
    # Windows that reach into the next text are left out.
    crosses = np.zeros(len(points), np.bool_)
    for before in range(1, SHINGLE):
        crosses[ends - before] = True
    starts = np.flatnonzero(~crosses)
    packed = windows[:, 0].astype(np.uint64)
    for column in range(1, SHINGLE):
        packed = packed * np.uint64(0x9E3779B97F4A7C15) + windows[:, column]
    counts = lengths - SHINGLE + 1
    return mix(0, packed[starts].view(np.int64)), np.concatenate(([0], np.cumsum(counts))).astype(np.uint64)
