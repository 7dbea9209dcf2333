"""Keys that nearly equal texts have in common: bands of MinHash signatures.

Texts are compared as sets of SHINGLE characters in a row, which needs no words and so no language. Two texts with the
Jaccard similarity s have one of b bands of r values in common with the probability 1 - (1 - s**r)**b (Leskovec,
Rajaraman, Ullman: Mining of Massive Datasets, section 3.4.2): of 6 bands 5 % for 0.5, 76 % for 0.8, 98 % for 0.9; of 2
bands 2 % for 0.8, 21 % for 0.9, 88 % for 0.98.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from wikianchor.aliases.folding import LIMIT, CodePoints, Offsets, code_points
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
# The kinds of code points in `folded_points`, beside digits, which are 1.
_SPACE, _GAP = 2, 4
_DIGIT_OR_SPACE = np.uint8(3)


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
    values = np.zeros((len(scopes), VALUES), np.uint64)
    for first in range(0, len(texts), TEXTS_AT_ONCE):
        portion = slice(first, first + TEXTS_AT_ONCE)
        values[portion] = RMinHash.digest_matrix_from_flat_token_hashes(
            *shingle_hashes(texts[portion]), VALUES, SEED
        ).to_rows()
    keys = mix(0, np.arange(bands))[None, :] ^ scopes[:, None]
    for of_bands in np.moveaxis(values.reshape(len(scopes), bands, VALUES // bands), 2, 0):
        keys = mix_hashes(keys, of_bands)
    return keys


@cache
def code_point_sets(*patterns: str) -> npt.NDArray[np.uint8]:
    """Return for each code point the regular expressions that match it, one bit for each."""
    bits = np.zeros(LIMIT, np.uint8)
    every = np.arange(LIMIT, dtype=np.uint32).tobytes().decode("utf-32-le", "surrogatepass")
    for number, pattern in enumerate(patterns):
        for run in re.finditer(f"{pattern}+", every):
            bits[run.start() : run.end()] |= np.uint8(1 << number)
    return bits


def folded_points(texts: Iterable[str]) -> tuple[CodePoints, Offsets, Offsets]:
    """Return the code points of texts as `fold` returns them, with SHINGLE spaces after each: they, starts, lengths.

    >>> points, starts, lengths = folded_points([" In  1997 ", "", "A 1"])
    >>> points.astype(np.uint8).tobytes(), starts.tolist(), lengths.tolist()
    (b'in 0        a 0    ', [0, 8, 12], [4, 0, 3])
    """
    gap = "\0" * SHINGLE
    points = code_points("".join(text.casefold().replace("\0", " ") + gap for text in texts))
    kinds = code_point_sets(r"\d", r"\s", "\0")[points.astype(np.int64)]
    kept = kinds & _DIGIT_OR_SPACE == 0
    kept[1:] |= kinds[1:] != kinds[:-1]
    kept[:1] |= kinds[:1] == 1
    points, kinds = points[kept], kinds[kept]
    # A space at the edge of a text is beside a gap.
    kept = kinds != _SPACE
    kept[1:-1] |= (kinds[:-2] != _GAP) & (kinds[2:] != _GAP)
    points, kinds = points[kept], kinds[kept]
    points[kinds == 1] = ord("0")
    points[kinds >= _SPACE] = ord(" ")
    ends = np.flatnonzero(kinds == _GAP)[::SHINGLE]
    starts = np.append(0, ends + SHINGLE)[:-1]
    return points, starts, ends - starts


def shingle_hashes(texts: Iterable[str]) -> tuple[Hashes, Hashes]:
    """Return hashes of the shingles of all texts, one text after the other, and where each text begins and the last
    one ends. A text shorter than a shingle is one."""
    points, starts, lengths = folded_points(texts)
    counts = np.maximum(lengths - SHINGLE + 1, 1)
    ends = np.cumsum(counts)
    windows = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + counts, counts)
    packed = points[windows].astype(np.uint64)
    for column in range(1, SHINGLE):
        packed = packed * np.uint64(0x9E3779B97F4A7C15) + points[windows + column]
    return mix(0, packed.view(np.int64)), np.concatenate(([0], ends)).astype(np.uint64)
