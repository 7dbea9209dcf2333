"""Which sources of the compiled core were compared with which rules of Python: `data/core_record.json`.

`python -m tests.both_engines --record` writes it where no row differs. A core of other sources, or one whose rules have
changed in Python since, is not used.
"""

from __future__ import annotations

import importlib
import json
import os
from functools import cache
from pathlib import Path
from types import ModuleType

from wikianchor.io.rules import digest_of

RECORD = Path(__file__).parent / "data" / "core_record.json"
# Python modules whose rows, bitmaps and counts the core makes too.
COMPARED = (
    "sentences.compiled_reader",
    "pairs.page_bitmaps",
    "mentions.core_counters",
    "export.core_texts",
    "entities.steps",
)
# Set by tests, which compare the engines.
ANY_CORE = "WIKIANCHOR_ANY_CORE"


@cache
def installed_core() -> ModuleType | None:
    """Return the core that is installed, or None."""
    try:
        return importlib.import_module("wikianchor_core")
    except ImportError:
        return None


def core_with(name: str) -> ModuleType | None:
    """Return the core that is installed if it can be used and has a function or class of this name, or None."""
    core = installed_core()
    return core if core is not None and hasattr(core, name) and not core_problem(core) else None


def engine_digest() -> str:
    """Return the digest of the Python modules COMPARED."""
    return digest_of(tuple(f"pipelines.{name}" for name in COMPARED))


@cache
def core_problem(core: ModuleType) -> str:
    """Return why a core is not used; "" where it is."""
    if os.environ.get(ANY_CORE):
        return ""
    record = json.loads(RECORD.read_bytes())
    if getattr(core, "sources", None) != record["core"]:
        return "the compiled core that is installed was built from other sources than this program's: run make core"
    if engine_digest() != record["python"]:
        return (
            "the compiled core has not been compared with the rules of this program since they changed: "
            "run python -m tests.both_engines --record in a checkout"
        )
    return ""
