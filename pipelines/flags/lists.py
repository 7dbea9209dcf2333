"""Lists in one flag: values with commas between them, names of wikis."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.errors import UsageError
from pipelines.wikimedia.languages import is_language_edition


def split_list(value: str) -> tuple[str, ...]:
    """Return the parts of a comma-separated list, each once, in order."""
    return tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))


def check_wikis(wikis: Sequence[str]) -> None:
    """Check database names.

    Raises:
        UsageError: a name is not that of a wiki in a language.
    """
    for wiki in wikis:
        if not is_language_edition(wiki):
            raise UsageError(f"--wikis: {wiki} is not the database name of a wiki in a language: write it like enwiki")
