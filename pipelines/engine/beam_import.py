"""Import Beam and Arrow without optional packages that the pipelines do not use, so that commands and workers start
sooner. Let a worker end its bundles at once, and spend less time on its side inputs and steps.

Only where the process is ours: another program may want Beam's data frames or its other connectors.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import MethodType, ModuleType

# Of Beam's data frames, its own S3 client (files here are read by Arrow), its MongoDB connector, its pickling of absl's
# flags and its connector to BigQuery, which would import an HTTP client.
UNUSED = frozenset(("pandas", "boto3", "bson", "pymongo", "absl", "apache_beam.io.gcp.bigquery"))
# Beam's sampler of states, a thread for each bundle, looks every 200 ms, and a bundle ends when its thread has looked
# for the last time.
SAMPLING_MS = 3
_is_ours = False


def own_process() -> None:
    """Say that this process is a command or a worker of ours: whichever module imports Beam, it is without what is
    unused."""
    global _is_ours
    if not _is_ours:
        _is_ours = True
        sys.meta_path.insert(0, _BeamFinder)


def import_arrow() -> None:
    """Import Arrow, and let it conclude that pandas is not installed.

    Arrow looks for pandas once, at the first call with a plain Python value, and imports it if it is installed.
    `to_pandas` still works afterwards: it imports pandas itself.
    """
    if _is_ours:
        with _without_unused():
            import pyarrow as pa
            import pyarrow.compute as pc

            pc.equal(pa.array([0]), 0)


def tune_beam() -> None:
    """Let bundles of this process end at once, and let Beam weigh side inputs and look at steps in less time."""
    from apache_beam.runners.worker import statecache, statesampler
    from apache_beam.transforms import core

    # The default of its period. No option of Beam sets it.
    statesampler.StateSampler.__init__.__defaults__ = (SAMPLING_MS,)
    # Those of all loaded modules, thousands of dictionaries, are put into a set for each side input.
    statecache.objsize.traverse._iter_modules_globals = lambda: ()
    # A graph and each of its bundles ask for the parameters of all methods of a step again and again, which was a fifth
    # of the CPU of a small stage. They are those of the function, whatever it is bound to.
    inspect = core.get_function_args_defaults
    of_method = cache(lambda function: inspect(MethodType(function, core)))
    core.get_function_args_defaults = lambda function: (
        tuple(map(list, of_method(function.__func__))) if isinstance(function, MethodType) else inspect(function)
    )


@contextmanager
def _without_unused() -> Iterator[None]:
    # The pipelines multiply no matrices, and each thread that OpenBLAS starts when NumPy is imported spins for a while.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.meta_path.insert(0, _NotInstalled)
    try:
        yield
    finally:
        sys.meta_path.remove(_NotInstalled)


class _BeamFinder:
    """Find Beam, to be imported by `_BeamLoader`."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if name != "apache_beam" or (spec := PathFinder.find_spec(name)) is None or spec.origin is None:
            return None
        sys.meta_path.remove(_BeamFinder)
        spec.loader = _BeamLoader(name, spec.origin)
        return spec


class _BeamLoader(SourceFileLoader):
    """Import Beam without the unused packages, and tune it."""

    def exec_module(self, module: ModuleType) -> None:
        # The 136,000 objects that Beam makes stay: looking for cycles in them again and again takes .1 s.
        gc.disable()
        try:
            with _without_unused():
                super().exec_module(module)
        finally:
            gc.enable()
        gc.freeze()
        tune_beam()


@contextmanager
def without_warning() -> Iterator[None]:
    """Leave out what Beam's connector to BigQuery logs where it is not installed: that is no news to whoever reads a
    dump. The first warning without a handler would also give one to the root logger."""
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    root.addFilter(_is_news)
    try:
        yield
    finally:
        root.removeFilter(_is_news)
        root.removeHandler(handler)


def _is_news(record: logging.LogRecord) -> bool:
    return "apitools not found" not in record.getMessage()


class _NotInstalled:
    """A finder for which the unused packages are not installed."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        if name in UNUSED:
            raise ModuleNotFoundError(f"{name} is left out", name=name)
