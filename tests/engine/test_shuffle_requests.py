"""Requests to an object store: so many for each shard that comes in and goes out, none for each pair of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine import store_requests
from wikianchor.io.storage import filesystem


@pytest.mark.slow
@pytest.mark.parametrize("shuffle", store_requests.SHUFFLES)
def test_requests_do_not_grow_with_input_shards_times_output_shards(tmp_path: Path, shuffle: str) -> None:
    with store_requests.bucket() as (uri, counted):
        # A process asks a bucket once whether it answers, before it is used.
        filesystem(uri)
        total = {
            (inputs, outputs): store_requests.count_requests(tmp_path, uri, counted, shuffle, inputs, outputs).total()
            for inputs in (1, 3)
            for outputs in (1, 3)
        }
    assert min(total.values()) > 0
    assert total[3, 3] - total[3, 1] == total[1, 3] - total[1, 1]
