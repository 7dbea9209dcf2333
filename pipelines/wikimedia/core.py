"""The compiled core, `wikianchor_core`, where it is installed (see `core/`)."""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.wikimedia.core_tables import character_tables
from wikianchor.pipelines.wikimedia.wikitext.expressions import evaluate

VERSION = "0.1.0"
"""The version of the core whose output is that of this engine."""
_REMEDY = "run make core in a checkout, or pip install 'wikianchor[core]'"


@cache
def installed_core() -> ModuleType | None:
    """Return the core; None if none is installed, or one of another version."""
    try:
        core = importlib.import_module("wikianchor_core")
    except ImportError:
        return None
    if core.__version__ != VERSION:
        return None
    core.set_up(character_tables(), evaluate)
    return core


def core_of(engine: str | None) -> ModuleType | None:
    """Return the core if this engine is it; None for Python.

    Args:
        engine: one of `choices.ENGINES`, or None for the core where it is installed.

    Raises:
        UsageError: the core is asked for, and not installed.
    """
    if engine == "python":
        return None
    core = installed_core()
    if core is None and engine == "core":
        raise UsageError(f"--engine=core needs the package wikianchor-core {VERSION}: {_REMEDY}")
    return core
