"""`wikianchor detect`: entities that documents may speak of, by the names in them.

    wikianchor detect --mentions=out/mentions --language=en < documents.jsonl > candidates.jsonl

A line in is {"text": ...}, with "language" where the lines differ; a line out is {"candidates": [...]}, each with the
item, the name as it stands there, its offsets in code points, link probability, commonness and count.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wikianchor.io.cache import cache_directory
from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.options import program, read_options
from wikianchor.io.output import printable_json
from wikianchor.io.parsing import malformed
from wikianchor.trainer.command import run_command
from wikianchor.trainer.mboe.config import Detection

if TYPE_CHECKING:
    from wikianchor.trainer.mboe.detector import EntityCandidates


@dataclass(frozen=True, kw_only=True)
class DetectOptions(Detection):
    """Options of the command."""

    language: str = ""

    def completed(self) -> DetectOptions:
        """Return the options with those that follow from others.

        Raises:
            UsageError: `mentions` is missing.
        """
        if not self.mentions:
            raise UsageError("--mentions is missing")
        return replace(self, cache=self.cache or cache_directory())


def parse(argv: Sequence[str]) -> DetectOptions:
    """Return the options of a command line."""
    parser = program("wikianchor detect", __doc__ or "", DetectOptions)
    return read_options(DetectOptions, parser.parse_args(argv))


def candidate_rows(text: str, candidates: EntityCandidates) -> list[dict[str, Any]]:
    """Return candidates as JSON objects."""
    columns = (column.tolist() for column in candidates)
    names = ("start", "end", "qid", "link_probability", "commonness", "links", "count")
    return [
        {"surface": text[values[0] : values[1]], **dict(zip(names, values, strict=True))}
        for values in zip(*columns, strict=True)
    ]


def run(options: DetectOptions, lines: Iterable[bytes]) -> Iterator[str]:
    """Yield the line of candidates of each input line.

    Raises:
        InputError: a line is malformed, or its language has no dictionary.
    """
    # Deferred: NumPy and pyarrow would slow --help down.
    from wikianchor.trainer.mboe.detector import make_detector

    detect = make_detector(options)
    for number, line in enumerate(lines, 1):
        with malformed(f"line {number} of the input: not a JSON object with text"):
            document = json.loads(line)
            text, language = document["text"], str(document.get("language") or options.language)
            if not isinstance(text, str):
                raise TypeError("text is no string")
        if not language:
            raise InputError(f"line {number} of the input: has no language: give --language")
        yield json.dumps({"candidates": candidate_rows(text, detect(text, language))})


def main(argv: Sequence[str]) -> int:
    """Return the exit status: 1 for inputs that are broken."""

    def work() -> str:
        for line in run(parse(argv), sys.stdin.buffer):
            print(printable_json(line))
        return ""

    return run_command("trainer", work)
