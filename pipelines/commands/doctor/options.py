"""The options of `wikianchor doctor`, which has none of its own."""

from __future__ import annotations

from dataclasses import dataclass

DESCRIPTION = """\
Print the state of this installation: versions, the engine that reads pages, the extras whose packages are installed,
graphics cards, cores, memory, free disk space, and the stores that can be read. Nothing is changed or sent.
"""


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """Options of the command `doctor`."""
