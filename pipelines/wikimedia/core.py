"""The compiled core, `wikianchor_core`, where it is installed (see `core/`)."""

from __future__ import annotations

import logging
from functools import cache
from types import ModuleType

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.wikimedia.core_record import core_problem, installed_core
from wikianchor.pipelines.wikimedia.core_rules import shared_rules
from wikianchor.pipelines.wikimedia.core_tables import character_tables
from wikianchor.pipelines.wikimedia.wikitext.expressions import evaluate

_REMEDY = "run make core in a checkout, or pip install 'wikianchor[core]'"


def core_of(engine: str | None) -> ModuleType | None:
    """Return the core if this engine is it; None for Python.

    Args:
        engine: one of `choices.ENGINES`, or None for the core where there is one that can be used.

    Raises:
        UsageError: the core is asked for, and not installed or of other rules.
    """
    if engine == "python":
        return None
    core = installed_core()
    if core is None:
        if engine == "core":
            raise UsageError(f"--engine=core needs the package wikianchor-core: {_REMEDY}")
        return None
    if problem := core_problem(core):
        if engine == "core":
            raise UsageError(f"--engine=core: {problem}")
        _warn(problem)
        return None
    _set_up(core)
    return core


def engine_line() -> str:
    """Return which engine reads pages where no option says so, and why, for `--version`."""
    core = installed_core()
    if core is None:
        return f"engine: python; no core is installed: {_REMEDY}"
    if problem := core_problem(core):
        return f"engine: python; {problem}"
    return f"engine: core {core.__version__}, of sources {core.sources}, which were compared with the rules of Python"


@cache
def _set_up(core: ModuleType) -> None:
    core.set_up(character_tables(), evaluate, shared_rules())


@cache
def _warn(problem: str) -> None:
    logging.getLogger("wikianchor.core").warning("engine: python, because %s", problem)
