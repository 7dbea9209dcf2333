"""The options of `wikianchor words`."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.options import at_least, option


def _svg(value: str) -> str:
    return "" if value.endswith(".svg") else "the picture is an .svg file"


@dataclass(frozen=True, kw_only=True)
class WordsOptions:
    """Options of the command `words`."""

    corpus: str = option(metavar="DIRS", help="one or more `corpus` datasets")
    output: str = option(metavar="FILE", help="an .svg file", check=_svg)
    pos: tuple[str, ...] = option(("NOUN", "PROPN"), metavar="TAGS", help="parts of speech to show")
    most: int = option(150, help="largest number of words", check=at_least(1))
