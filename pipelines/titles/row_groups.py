"""Find the range of page ids in each row group of a config, such as `titles`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from wikianchor.pipelines.arrays.spill import Rows
from wikianchor.pipelines.dataset.reader import opened_shard

# Index of the shard, number of the row group in it, lowest and highest page id.
GROUP = np.dtype([(name, np.int64) for name in ("shard", "number", "first", "last")])
# Row groups that a reader of pages keeps. All configs are in the order of the dump, so the next pages are nearly always
# in the current row group or in the one after it.
GROUPS_HELD = 4


def row_groups(shards: Sequence[str]) -> Rows:
    """Return the row groups of shards, as rows of GROUP.

    Page ids are from Parquet's statistics; without statistics, the column is read.
    """
    rows: list[tuple[int, int, int, int]] = []
    for index, shard in enumerate(shards):
        with opened_shard(shard) as file:
            rows += [(index, number, *_pages(file, number)) for number in range(file.num_row_groups)]
    return np.array(rows, GROUP)


def _pages(file: pq.ParquetFile, number: int) -> tuple[int, int]:
    """Return the lowest and the highest page id of a row group."""
    group = file.metadata.row_group(number)
    columns = (group.column(index) for index in range(group.num_columns))
    statistics = next(column for column in columns if column.path_in_schema == "page_id").statistics
    if statistics is not None and statistics.has_min_max:
        return int(statistics.min), int(statistics.max)
    bounds = pc.min_max(file.read_row_group(number, columns=["page_id"], use_threads=False)["page_id"])
    return bounds["min"].as_py(), bounds["max"].as_py()
