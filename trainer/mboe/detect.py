"""`python -m wikianchor.trainer.mboe.detect`: entities that documents may speak of, by the names in them.

    python -m wikianchor.trainer.mboe.detect --mentions=out/mentions --language=en < documents.jsonl > candidates.jsonl

A line in is {"text": ...}, with "language" where the lines differ; a line out is {"candidates": [...]}, each with the
item, the name as it stands there, its offsets in code points, link probability, commonness and count.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.flags import FlagParser
from wikianchor.io.output import clean_output, printable_json
from wikianchor.trainer.command import fail

if TYPE_CHECKING:
    from wikianchor.trainer.mboe.detector import EntityCandidates
    from wikianchor.trainer.mboe.dictionary import Dictionary

CACHE = "~/.cache/wikianchor"


def candidate_rows(text: str, candidates: EntityCandidates) -> list[dict[str, Any]]:
    """Return candidates as JSON objects."""
    columns = (column.tolist() for column in candidates)
    names = ("start", "end", "qid", "link_probability", "commonness", "links", "count")
    return [
        {"surface": text[values[0] : values[1]], **dict(zip(names, values, strict=True))}
        for values in zip(*columns, strict=True)
    ]


def run(options: argparse.Namespace, lines: Iterable[bytes]) -> Iterator[str]:
    """Yield the line of candidates of each input line.

    Raises:
        InputError: a line is malformed, or its language has no dictionary.
    """
    # Deferred: NumPy and pyarrow would slow --help down.
    from wikianchor.trainer.mboe.detector import detect
    from wikianchor.trainer.mboe.dictionary import open_dictionary, open_mentions

    mentions = open_mentions(options.mentions)
    dictionaries: dict[str, Dictionary] = {}
    for number, line in enumerate(lines, 1):
        try:
            document = json.loads(line)
            text, language = document["text"], str(document.get("language") or options.language)
            if not isinstance(text, str):
                raise TypeError("text is no string")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"line {number} of the input: not a JSON object with text ({error})") from error
        if language not in dictionaries:
            if not language:
                raise InputError(f"line {number} of the input: has no language: give --language")
            thresholds = options.link_probability, options.commonness
            dictionaries[language] = open_dictionary(mentions, language, options.cache, *thresholds)
        yield json.dumps({"candidates": candidate_rows(text, detect(text, dictionaries[language], options.all_spans))})


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status: 1 for inputs that are broken."""
    parser = FlagParser(
        prog="python -m wikianchor.trainer.mboe.detect",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--mentions", required=True, help="directory of a `mentions` dataset")
    parser.add_argument("--language", default="", help="of lines that do not say it")
    parser.add_argument("--link_probability", type=float, default=0.01, help="of a name, at least (0.01)")
    parser.add_argument("--commonness", type=float, default=0.05, help="of a candidate, at least (0.05)")
    parser.add_argument("--all_spans", action="store_true", help="names inside and across others too")
    parser.add_argument("--cache", default=os.path.expanduser(CACHE), help=f"directory of dictionaries ({CACHE})")
    with clean_output():
        try:
            for line in run(parser.parse_args(argv), sys.stdin.buffer):
                print(printable_json(line))
        except (UsageError, InputError) as error:
            return fail("trainer", error)
        except BrokenPipeError:
            # The reader of stdout has closed it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
