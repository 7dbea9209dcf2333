"""The flags of the engine, and the parser of all flags that Beam reads."""

from __future__ import annotations

import argparse
import copy
from functools import cache
from typing import Any, TypeVar

from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions

from wikianchor.io.flags import FlagParser
from wikianchor.io.options import add_options, declared
from wikianchor.pipelines.engine.flags import EngineFlags
from wikianchor.pipelines.engine.worker_status import Limits

_BY_FILES = frozenset(("directrunner", "fnapirunner", "prismrunner"))
_BY_BEAM = frozenset(("dataflowrunner", "flinkrunner", "sparkrunner"))


class EngineOptions(PipelineOptions):
    """Our flags, which Beam parses beside its own."""

    # Beam documents this method for subclasses, in spite of its name.
    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        add_options(parser, EngineFlags)
        # Beam looks for a value of each.
        parser.set_defaults(**{flag.name: flag.default for flag in declared(EngineFlags)})


View = TypeVar("View", bound=PipelineOptions)


class ParsedOptions(PipelineOptions):
    """Beam's options, of which each view is made once, and its flags are parsed once in a process.

    Beam asks for four views for each transform of a graph, and for a dozen for each pipeline, and would parse all flags
    again for each of them, which takes a sixth of the time of a small stage. Views share their values, so an old one
    says the same as a new one.
    """

    def view_as(self, cls: type[View]) -> View:
        # `setattr` takes only names of options.
        views: dict[type[PipelineOptions], Any] = self.__dict__.setdefault("_views", {})
        if cls not in views:
            # `copy.copy` asks for a view.
            view = views[cls] = object.__new__(cls)
            view.__dict__.update(_parsed(cls, tuple(self._flags)).__dict__)  # type: ignore[arg-type]
            for name in view._visible_option_list():
                if name not in self._all_options:
                    # A list of values may be added to.
                    self._all_options[name] = copy.copy(getattr(view._visible_options, name))
            view._all_options = self._all_options
        return views[cls]

    def __getstate__(self) -> Any:
        return {name: value for name, value in super().__getstate__().items() if name != "_views"}


@cache
def _parsed(cls: Any, flags: tuple[str, ...]) -> Any:
    """Return a view of flags, whose values are those of the flags."""
    return cls(list(flags))


@cache
def flag_parser() -> FlagParser:
    """Return a parser of the flags of Beam and of the engine, whose errors are one line."""
    parents: list[argparse.ArgumentParser] = []
    # Beam passes its parser, which knows every flag, to this callback.
    PipelineOptions([]).get_all_options(add_extra_args_fn=parents.append)
    return FlagParser(parents=parents, add_help=False, passes_on=True)


def limits_of(options: PipelineOptions) -> Limits:
    """Return what ends a worker process."""
    engine, limits = options.view_as(EngineOptions), Limits()
    return Limits(
        engine.stall_limit or limits.stall_seconds,
        engine.worker_memory * 1e6 if engine.worker_memory else limits.memory,
    )


# Flags about worker processes, which only the direct runner has here.
OF_PROCESSES = ("worker_memory", "stall_limit", "skip_bad_pages")


def processes_of(workers: int, options: PipelineOptions) -> int:
    """Return how many processes are started for some workers: a single one works in the process of the command, unless
    a flag asks that it is watched."""
    engine = options.view_as(EngineOptions)
    return workers if workers > 1 or any(getattr(engine, name) for name in OF_PROCESSES) else 0


def shuffle_of(options: PipelineOptions) -> str:
    """Return how rows are shuffled: "files" or "beam"; "" where the flags do not say whether the workers share a disk.

    >>> shuffle_of(PipelineOptions(["--runner=FlinkRunner"]))
    'beam'
    """
    chosen = options.view_as(EngineOptions).shuffle
    if chosen != "auto":
        return str(chosen)
    runner = str(options.view_as(StandardOptions).runner or "DirectRunner").rpartition(".")[2].lower()
    return "files" if runner in _BY_FILES else "beam" if runner in _BY_BEAM else ""
