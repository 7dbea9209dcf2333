"""The transforms that every graph is built of: list elements, run a step for each or for groups, call a function once.

A step is a plain function of an element and side inputs that returns a small record; these transforms keep records of
finished work, count for Beam, mark errors for the launcher and release memory, so that a step needs nothing of Beam.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from types import GenericAlias
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.typehints.decorators import no_annotations

from wikianchor.pipelines.dataset.arrow_memory import release_memory
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.resume import CachedStep, order_of, result_type
from wikianchor.pipelines.engine.step_errors import mark_errors

NAMESPACE = "wikianchor"
# The bytes of a group, about. Each member counts as so many more, which bounds their number, so that there are groups
# for several workers.
GROUP_BYTES = 1 << 20
MEMBER_BYTES = GROUP_BYTES >> 4


class RunStep(beam.PTransform):
    """Run a step for each element, unless an earlier run of the same command has finished it.

    A result with a property `metrics` (a mapping of names to numbers) adds to Beam's counters of these names, and one
    with `parts` the size of these to bytes:written, also where it was found again. A result None is left out.

    Args:
        step: a function of an element and `sides`; see `CachedStep`.
        work: where results are kept.
        name: the name of the step, unique in its stage.
        sides: side inputs and plain values; a PCollection is passed as the list of its elements.
        key: returns what identifies an element among those of the step; "" for one whose result is not worth keeping.
        result: type of the result, where the annotation of `step` does not say it.
        release: called with each element whose result is kept.
    """

    def __init__(
        self,
        step: Callable[..., Any],
        work: Workspace | None,
        name: str,
        *sides: Any,
        key: Callable[[Any], str] = order_of,
        result: Any = None,
        release: Callable[[Any], None] | None = None,
    ) -> None:
        super().__init__()
        self._step, self._sides = CachedStep(step, work, name, key, result, release), sides

    def expand(self, elements: beam.PCollection[Any]) -> beam.PCollection[Any]:
        return elements | "Run" >> beam.ParDo(_RunStep(self._step), *_side_inputs(self._sides))


class Group(NamedTuple):
    """Members of a sequence that follow each other.

    Attributes:
        order: the number of the first in the sequence.
        members: the members.
    """

    order: int
    members: tuple[Any, ...]

    @property
    def path(self) -> str:
        """The path of the first member, "" for members without one: where a worker that dies was at work."""
        return getattr(self.members[0], "path", "")


def groups_of(members: Sequence[Any], sizes: Sequence[int]) -> list[Group]:
    """Group members of these sizes in bytes: those that begin in the same GROUP_BYTES of all of them.

    >>> [(group.order, group.members) for group in groups_of("abc", [1, GROUP_BYTES, 1])]
    [(0, ('a', 'b')), (2, ('c',))]
    """
    starts = accumulate((size + MEMBER_BYTES for size in sizes), initial=0)
    numbered = groupby(zip(starts, enumerate(members), strict=False), lambda member: member[0] // GROUP_BYTES)
    groups = ([member for _, member in group] for _, group in numbered)
    return [Group(group[0][0], tuple(member for _, member in group)) for group in groups]


class RunGroups(RunStep):
    """Run a step for each member of groups, and return their results; those of a group are kept together.

    An element costs some milliseconds beside its rows, for Beam, for the record of its result and for its files. A
    build of hundreds of tiny wikis would spend most of its time on these.

    Args:
        step: a function of a member and `sides`.
        work: where results are kept.
        name: the name of the step, unique in its stage.
        sides: see `RunStep`.
        result: type of the result, where the annotation of `step` does not say it.
    """

    def __init__(
        self, step: Callable[..., Any], work: Workspace | None, name: str, *sides: Any, result: Any = None
    ) -> None:
        super().__init__(
            lambda group, *args: tuple(step(member, *args) for member in group.members),
            work,
            name,
            *sides,
            result=GenericAlias(tuple, (result or result_type(step), ...)),
        )

    def expand(self, groups: beam.PCollection[Any]) -> beam.PCollection[Any]:
        return super().expand(groups) | "Each" >> beam.FlatMap(lambda results: results)


class CallOnce(beam.PTransform):
    """Call a function once, on one worker: to put together what shards gave, or to commit the dataset.

    Args:
        function: returns the one element of the result, or None for no element.
        args: its arguments: side inputs and plain values; a PCollection is passed as the list of its elements.
        work: where the result is kept for later runs of the same command; None for a result not worth keeping.
        name: the name of the step, unique in its stage; needed with `work`.
    """

    def __init__(self, function: Callable[..., Any], *args: Any, work: Workspace | None = None, name: str = "") -> None:
        super().__init__()
        self._function, self._args, self._work, self._name = function, args, work, name

    def expand(self, begin: Any) -> beam.PCollection[Any]:
        function, unit = self._function, "all" if self._work else ""
        result = result_type(function) if self._work else None
        step = RunStep(
            lambda _, *args: function(*args), self._work, self._name, *self._args, key=lambda _: unit, result=result
        )
        return begin | "Start" >> beam.Impulse() | "Call" >> step


class ListElements(beam.PTransform):
    """List elements on one worker, and distribute them over all workers.

    The graph carries names of files and directories only, and the worker looks into them, so the size of a graph does
    not grow with the number of elements.

    Args:
        function: returns the elements.
        args: its arguments, as those of `CallOnce`.
    """

    def __init__(self, function: Callable[..., Iterable[Any]], *args: Any) -> None:
        super().__init__()
        self._function, self._args = function, args

    def expand(self, begin: Any) -> beam.PCollection[Any]:
        # Reshuffle would be four transforms more, and its keys are random.
        return (
            begin
            | "Start" >> beam.Impulse()
            | "List" >> beam.ParDo(_List(self._function), *_side_inputs(self._args)).with_output_types(tuple[int, Any])
            | "Distribute" >> beam.GroupByKey()
            | "Elements" >> beam.ParDo(_Elements())
        )


def as_dict(values: beam.PCollection[Any], label: str, key: Callable[[Any], Any]) -> beam.pvalue.AsDict:
    """Return elements as a side input: a dictionary by key."""
    return beam.pvalue.AsDict(values | label >> beam.Map(lambda value: (key(value), value)))


def count(result: Any) -> None:
    """Add the numbers of a result to Beam's counters, which a cluster shows; see `RunStep`."""
    written = sum(part.size for part in getattr(result, "parts", ()))
    for name, number in {**getattr(result, "metrics", {}), "bytes:written": written}.items():
        if number:
            Metrics.counter(NAMESPACE, name).inc(number)


def _side_inputs(values: Iterable[Any]) -> list[Any]:
    return [beam.pvalue.AsList(value) if isinstance(value, beam.PCollection) else value for value in values]


class _Stateless(beam.DoFn):
    """A DoFn without states and timers.

    Beam looks for them in the parameters of each method that `dir` names, several times for each transform of a graph
    and again for each bundle: a third of the CPU time of a stage of a tiny wiki.
    """

    def __dir__(self) -> list[str]:
        return ["process", "finish_bundle"]


class _Elements(_Stateless):
    """Yield the elements that `GroupByKey` has put together."""

    @no_annotations
    def process(self, group: tuple[int, Iterable[Any]]) -> Iterable[Any]:
        return group[1]


class _List(_Stateless):
    """Yield the elements that a function returns, numbered."""

    def __init__(self, function: Callable[..., Iterable[Any]]) -> None:
        self._function = function

    @no_annotations
    def process(self, _: bytes, *args: Any) -> Iterator[tuple[int, Any]]:
        with mark_errors():
            yield from enumerate(self._function(*args))


class _RunStep(_Stateless):
    def __init__(self, step: CachedStep) -> None:
        self._step = step

    @no_annotations
    def process(self, element: Any, *sides: Any) -> Iterator[Any]:
        try:
            with mark_errors():
                result = self._step(element, *sides)
        finally:
            release_memory()
        # A map step of a shuffle returns its sorted runs beside its result.
        count(result[0] if type(result) is tuple and result else result)
        if result is not None:
            yield result

    def finish_bundle(self) -> None:
        # Runners keep a DoFn for later bundles: the files that it holds open would add up over the steps of a graph.
        if close := getattr(self._step.step, "close", None):
            close()
