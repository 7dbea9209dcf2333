"""Format sizes and durations for people."""

from __future__ import annotations


def size(number: float) -> str:
    """Return a number of bytes with its unit.

    >>> size(1_300_000)
    '1.3 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.5:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 99.5 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def duration(seconds: float) -> str:
    """Return a number of seconds with its unit.

    >>> duration(600)
    '10 min'
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h" if seconds < 100 * 3600 else f"{seconds / 86400:.0f} days"
