"""Titles to Wikidata items: redirects followed, in one sorted table for each wiki, which `title_build` makes.

The table has three columns: the hash of a title, the item of the page that a link to it opens, and a code that says
why such a link is no link to that item. It takes 17 bytes a title, 290 MB for the 17 million of English Wikipedia, and
is shared by all workers of a machine. A title is looked up once: from then on its place in the table stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.linking.hashing import Hashes, hash_strings
from pipelines.linking.tables import find

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
Places = npt.NDArray[np.int32]
# FINE: the title stands for its item. BROKEN: a redirect that leads to no page of the wiki's articles.
FINE, NO_ITEM, SECTION, DISAMBIGUATION, LIST, RED, BROKEN, LOOP = range(8)


class TitleIndex:
    """The table of a wiki, opened.

    Attributes:
        keys: hashes of titles, ascending.
        items: by place, the item of the page that a link to the title opens, 0 where there is none.
        codes: by place, FINE, or the code of why a link to the title is no link to that item.

    The last two end with a row for titles that are not in the table, so the place -1 reads right.
    """

    def __init__(self, tables: Mapping[str, npt.NDArray[Any]]) -> None:
        self.keys: Hashes = tables["keys"]
        self.items: Ints = tables["items"]
        self.codes: Codes = tables["codes"]

    def places(self, titles: pa.Array) -> Places:
        """Return the place of each title in the table, -1 where it is not there."""
        hashes = hash_strings(titles)
        places = np.full(len(hashes), -1, np.int32)
        if len(self.keys):
            # Sorted look-ups walk the table once instead of jumping about in it.
            order = np.argsort(hashes)
            places[order] = find(self.keys, hashes[order])
        return places
