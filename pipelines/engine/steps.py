"""Beam's view of a step: elements in, records out; finished work is found again, and counters are kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.typehints.decorators import no_annotations

from wikianchor.pipelines.dataset.arrow_memory import release_memory
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.resume import Kept, order_of

NAMESPACE = "wikianchor"


class Run(beam.DoFn):
    """Run a step for each element, once over all runs of one command, and yield its result.

    A result with a property `metrics` (a mapping of names to numbers) adds to Beam's counters of these names.

    Args:
        step: see `Kept`.
        work: where results are kept.
        name: of the step, unique in its stage.
        unit: what tells an element from the others; "" for one whose result is not worth keeping.
        result: type of the result, where the annotation of `step` does not say it.
    """

    def __init__(
        self,
        step: Callable[..., Any],
        work: Workspace,
        name: str,
        unit: Callable[[Any], str] = order_of,
        result: Any = None,
    ) -> None:
        self._kept = Kept(step, work, name, unit, result)

    @no_annotations
    def process(self, element: Any, *args: Any) -> Iterator[Any]:
        try:
            result = self._kept(element, *args)
        finally:
            release_memory()
        # A map step of a shuffle has its runs beside its result.
        count(getattr(result[0] if type(result) is tuple and result else result, "metrics", {}))
        if result is not None:
            yield result

    def finish_bundle(self) -> None:
        # Runners keep a DoFn for later bundles: what it holds open would add up over the steps of a graph.
        if close := getattr(self._kept.step, "close", None):
            close()


def count(numbers: Mapping[str, int]) -> None:
    """Add to the counters that a cluster shows."""
    for name, number in numbers.items():
        if number:
            Metrics.counter(NAMESPACE, name).inc(number)


class List(beam.PTransform):
    """List the elements of a stage on a worker, and spread them over all workers.

    What a graph carries does not grow with the number of elements: it names files and directories, and the worker
    looks into them.

    Args:
        function: gives the elements.
        args: of the function, small.
    """

    def __init__(self, function: Callable[..., Iterable[Any]], *args: Any) -> None:
        super().__init__()
        self._function, self._args = function, args

    def expand(self, begin: Any) -> Any:
        function, args = self._function, self._args
        return (
            begin
            | "Begin" >> beam.Create([None], reshuffle=False)
            | "List" >> beam.FlatMap(lambda _: function(*args))
            | "Spread" >> beam.Reshuffle()
        )
