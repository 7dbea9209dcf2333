"""Hand elements to the worker processes of this machine as they ask for them.

Beam's direct runner deals the elements of a step to its workers in turns, and the step takes as long as the worker with
the longest elements. Here each step is cut into more bundles than there are workers, and a worker that has finished a
bundle takes the next.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from apache_beam.metrics import monitoring_infos
from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.portability.fn_api_runner.fn_runner import BundleManager

# A bundle costs about 10 ms. With fewer the last ranges of a large dump would be two to a bundle.
BUNDLES_PER_WORKER = 128


class OnDemandBundles(BundleManager):
    """Executes a step of the graph on all workers."""

    def process_bundle(
        self,
        inputs: Mapping[str, Any],
        expected_outputs: Any,
        fired_timers: Mapping[Any, Any],
        expected_output_timers: Any,
        dry_run: bool = False,
    ) -> tuple[Any, list[Any]]:
        """Execute the step; see `BundleManager.process_bundle`.

        Raises:
            Exception: the first error of a bundle. No bundle is begun after it.
        """
        handlers = self.bundle_context_manager.worker_handlers
        bundles = iter(_cut(inputs, BUNDLES_PER_WORKER * len(handlers)))
        results: list[tuple[Any, list[Any]]] = []
        lock, failed = threading.Lock(), threading.Event()

        def serve(handler: Any) -> None:
            worker = _OneWorker(self.bundle_context_manager, handler)
            while not failed.is_set():
                with lock:
                    # Graphs of ours have no timers.
                    bundle = next(bundles, None)
                if bundle is None:
                    return
                manager = BundleManager(worker, self._progress_frequency, self._cache_token_generator)
                try:
                    result = manager.process_bundle(bundle, expected_outputs, {}, expected_output_timers, dry_run)
                except BaseException:
                    failed.set()
                    raise
                results.append(result)

        with ThreadPoolExecutor(len(handlers)) as executor:
            for served in [executor.submit(serve, handler) for handler in handlers]:
                served.result()
        return _merged([result for result, _ in results]), [split for _, splits in results for split in splits]


def _cut(inputs: Mapping[str, Any], count: int) -> list[dict[str, list[bytes]]]:
    """Return the inputs of at most `count` bundles, and of one at least."""
    parts = {name: buffer.partition(count) for name, buffer in inputs.items()}
    bundles = [{name: parts[name][number] for name in parts} for number in range(count)]
    # A part without elements is an empty list, or one of empty bytes.
    filled = [bundle for bundle in bundles if any(map(any, bundle.values()))]
    return filled or bundles[:1]


def _merged(results: Sequence[Any]) -> Any:
    """Return one response of a worker with the counters of all."""
    infos = (result.process_bundle.monitoring_infos for result in results)
    return beam_fn_api_pb2.InstructionResponse(
        process_bundle=beam_fn_api_pb2.ProcessBundleResponse(
            monitoring_infos=monitoring_infos.consolidate(itertools.chain.from_iterable(infos))
        )
    )


class _OneWorker:
    """A step of which Beam sees a single worker."""

    def __init__(self, step: Any, handler: Any) -> None:
        self._step, self.worker_handlers = step, [handler]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)
