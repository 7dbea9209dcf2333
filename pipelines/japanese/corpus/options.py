"""The options of `wikianchor corpus`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import Output, Sample
from wikianchor.io.options import at_least, option, split_list
from wikianchor.io.storage import expand, matching
from wikianchor.pipelines.japanese.choices import PARSERS


class CorpusInput(NamedTuple):
    """What a corpus is made from: text files, or directories of `sentences` datasets; one of them is empty."""

    files: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()


def corpus_input(value: str, flag: str) -> CorpusInput:
    """Return the files or datasets that a comma-separated list of paths and globs names.

    Raises:
        UsageError: it names both or neither.
        InputError: a path or glob matches nothing.
    """
    patterns = [path.rstrip("/") for path in split_list(value)]
    datasets = tuple(path for path in patterns if matching(path, directories=True))
    files = tuple(expand(",".join(path for path in patterns if path not in datasets), flag))
    if bool(files) == bool(datasets):
        raise UsageError(f"--{flag}={value}: name files, or datasets of sentences, and not both or neither")
    return CorpusInput(files, datasets)


def _near(value: float) -> str:
    return "" if value == 0 or 0.5 <= value <= 1 else "0, or between 0.5 and 1"


@dataclass(frozen=True, kw_only=True)
class CorpusOptions(Sample, Output):
    """Options of the stage `corpus`."""

    input: CorpusInput = option(
        metavar="FILES",
        help="text (.txt, a record a line), .csv, .jsonl, or a `sentences` dataset: one, a glob, several with commas",
        parse=corpus_input,
        recorded=False,
    )
    column: str = option("text", help="column of a CSV, key of JSON lines")
    parser: str = option(
        PARSERS[0],
        choices=PARSERS,
        help="ginza: sentences, tokens and trees; sudachi: a hundred times faster, without trees, so with noun spans "
        "of the rules nouns and nouns_names alone",
    )
    min_tokens: int = option(5, help="shorter sentences are dropped", check=at_least(0))
    near: float = option(
        0.9,
        help="drop a sentence whose character trigrams overlap with those of an earlier one by this share; 0: only "
        "equal sentences",
        check=_near,
    )
