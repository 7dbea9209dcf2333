"""Figures of matplotlib, which is in the extra `eval`."""

from __future__ import annotations

from typing import Any

from wikianchor.io.errors import InputError, UsageError


def new_figure(size: tuple[float, float]) -> Any:
    """Return an empty figure of a width and a height in inches.

    Raises:
        UsageError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(f"figures need the extra eval ({error}): pip install 'wikianchor[eval]'") from error
    return Figure(figsize=size, layout="constrained")


def save_figure(figure: Any, path: str) -> None:
    """Write a figure; the ending of the path says in which format.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: the figure cannot be written ({reason})") from error
