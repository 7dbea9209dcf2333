"""A parser of flags that answers a mistake in one line, and suggests the nearest valid name."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from wikianchor.io.errors import UsageError
from wikianchor.io.output import wrapped

# Similarity of two names from which one is suggested for the other (0 to 1, as difflib measures it).
NEAR = 0.7
_CHOICES = re.compile(r"invalid choice: (?P<quote>['\"]?)(?P<given>.*?)(?P=quote) \(choose from (?P<known>.*)\)")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suggestion to append to an error, "" where no known name is near.

    >>> did_you_mean("sentence", ["pairs", "sentences"])
    ': did you mean sentences?'
    >>> did_you_mean("--dump", ["--dumps"]), did_you_mean("xyz", ["pairs"])
    (': did you mean --dumps?', '')
    """
    folded = {name.lower(): name for name in known}
    nearest = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=NEAR)
    return f": did you mean {folded[nearest[0]]}?" if nearest else ""


def nearest_or_all(name: str, known: Sequence[str]) -> str:
    """Return the nearest name to append to an error, all where none is near.

    >>> nearest_or_all("pair", ["pairs", "titles"]), nearest_or_all("x", ["pairs", "titles"])
    (': did you mean pairs?', ': choose of pairs, titles')
    """
    return did_you_mean(name, known) or f": choose of {', '.join(known)}"


def unknown_flag(argument: str, known: Iterable[str]) -> str:
    """Return what is said of an argument that no command knows.

    >>> unknown_flag("--dump=a.xml", ["--dumps"])
    'unknown flag --dump=a.xml: did you mean --dumps?'
    """
    unknown = "unknown flag" if argument.startswith("-") else "unknown argument"
    return f"{unknown} {argument}{did_you_mean(argument.partition('=')[0], known) or ': see --help'}"


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Fills paragraphs to the width of the terminal; lines that are indented, such as examples, stay by themselves."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        # argparse names this method for subclasses, in spite of its underscore.
        paragraphs = []
        for paragraph in text.split("\n\n"):
            lines = paragraph.splitlines()
            if not any(line.startswith(" ") for line in lines):
                lines = [" ".join(lines)]
            filled = (part for line in lines for part in wrapped(line, width, hanging=line[:1] == " "))
            paragraphs.append("\n".join(filled))
        return "\n\n".join(paragraphs)


class FlagParser(argparse.ArgumentParser):
    """A parser whose errors are one line. A flag must be written out: an abbreviation is an unknown flag.

    Args:
        passes_on: return arguments that no flag takes from `parse_known_args`, for somebody else to read. Without it
            they are an error there too, in a subcommand before its caller sees them.
    """

    def __init__(self, *args: Any, passes_on: bool = False, **options: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **options})
        self._passes_on = passes_on
        self._typed: list[str] = []

    def flags(self) -> list[str]:
        """Return the names of the flags, dashes included."""
        return [name for name in self._option_string_actions if name.startswith("--")]

    def repeated(self) -> set[str]:
        """Return the names of the flags that are given once for each value."""
        # argparse has no public name for the actions of a parser, nor for their classes.
        return {
            name for name, action in self._option_string_actions.items() if isinstance(action, argparse._AppendAction)
        }

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments.

        Raises:
            UsageError: they are wrong.
        """
        self._typed = list(sys.argv[1:] if args is None else args)
        known, others = super().parse_known_args(args, namespace)
        if others and not self._passes_on:
            raise UsageError(unknown_flag(others[0], self.flags()))
        return known, others

    def check(self, arguments: Sequence[str]) -> list[str]:
        """Check arguments, whatever is missing beside them, and return those that are passed on.

        Raises:
            UsageError: they are wrong.
        """
        required = [action for action in self._actions if action.required]
        try:
            for action in required:
                action.required = False
            return list(self.parse_known_args(arguments)[1])
        finally:
            for action in required:
                action.required = True

    def error(self, message: str) -> NoReturn:
        """Raise what `argparse` would print under a page of usage.

        Raises:
            UsageError: always.
        """
        if message.startswith("the following arguments are required"):
            # A misspelt flag is the reason where one is near.
            for name in (word.partition("=")[0] for word in self._typed if word.startswith("--")):
                if name not in self._option_string_actions and did_you_mean(name, self.flags()):
                    raise UsageError(unknown_flag(name, self.flags()))
        suggestion = ""
        if match := _CHOICES.search(message):
            suggestion = did_you_mean(match["given"], re.findall(r"[\w.+-]+", match["known"]))
        raise UsageError(f"{message}{suggestion or ': see --help'}")
