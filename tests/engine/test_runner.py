"""The thread of a pipeline ends before its run does."""

from __future__ import annotations

import threading
import time

import pytest

from wikianchor.pipelines.engine import runner

kept_open = threading.local()
closed: list[str] = []


class Shard:
    """What a thread keeps open, and closes when it ends."""

    def __del__(self) -> None:
        time.sleep(0.2)
        closed.append("shard")


@pytest.mark.parametrize("error", [None, ValueError("of a step")])
def test_what_the_thread_kept_open_is_closed_when_a_run_ends(error: Exception | None) -> None:
    def work() -> None:
        kept_open.shard = Shard()
        if error is not None:
            raise error

    closed.clear()
    if error is None:
        runner._watched(work, lambda: None)
    else:
        with pytest.raises(ValueError, match="of a step"):
            runner._watched(work, lambda: None)
    assert closed == ["shard"]
