"""Spans and links in a sentence, validated when made. Offsets are code points, end exclusive."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Span:
    """A stretch of text.

    Attributes:
        start: offset of the first code point.
        end: offset after the last code point.
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"not a span: start {self.start}, end {self.end}")

    def of(self, text: str) -> str:
        """Return the stretch of `text`.

        Raises:
            ValueError: the span ends outside the text.
        """
        if self.end > len(text):
            raise ValueError(f"span {self.start}..{self.end} ends outside a text of {len(text)} code points")
        return text[self.start : self.end]


@dataclass(frozen=True, order=True)
class Link(Span):
    """A link as the reader sees it, link trail included.

    Attributes:
        target: title of the page linked to, as MediaWiki normalises it, without its fragment; redirects are not
            followed.
        fragment: the section named after "#", or "".
    """

    target: str
    fragment: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.target:
            raise ValueError(f"link {self.start}..{self.end} has no target")


def check_links(text: str, links: list[Link]) -> None:
    """Check that the links of one sentence lie in it, in order, without overlap, and show something.

    Raises:
        ValueError: they do not.
    """
    end = 0
    for link in links:
        if link.start < end:
            raise ValueError(f"link {link.start}..{link.end} overlaps the one before, which ends at {end}")
        anchor = link.of(text)
        if anchor != anchor.strip():
            raise ValueError(f"link {link.start}..{link.end} has white space at its edge: {anchor!r}")
        end = link.end
