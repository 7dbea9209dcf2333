"""From scored pairs and their translations to versions of a translated set: pairs whose sentences come back when they
are translated back."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.pairs import ScoredPairs
from wikianchor.trainer.evaluate.task import EvaluationOptions
from wikianchor.trainer.evaluate.tasks.sts import file_task
from wikianchor.trainer.papers.construction.bleu import bleu1

_JAPANESE = re.compile("[\u3041-\u30fe\u4e00-\u9fff]")
Two = tuple[str, str]


class Translated(NamedTuple):
    """A pair: its gold score, its translation, the lower BLEU-1 of its two sentences, and whether both are in Japanese
    at all."""

    gold: float
    texts: Two
    bleu: float
    translated: bool


def read_source(path: str) -> ScoredPairs:
    """Return a file of scored pairs in any layout that wikianchor.trainer.evaluate reads.

    Raises:
        InputError: it is not there or not readable.
    """
    pairs: ScoredPairs = file_task(path).load(EvaluationFiles.of_file(path), EvaluationOptions())[0]
    return pairs


def read_translations(path: str, rows: int) -> list[Two]:
    """Return a file of two sentences a line, one line for each pair of the source that has two sentences and a score.

    Raises:
        InputError: it has another number of lines, or a line has not two columns.
    """
    data = EvaluationFiles.of_file(path)
    lines = data.lines(data.names[0], SetSource())
    if len(lines) != rows:
        raise InputError(f"{path}: {len(lines):,} lines, and the source has {rows:,} pairs with a score")
    found = []
    for number, line in enumerate(lines, 1):
        cells = (line or "").split("\t")
        if len(cells) != 2:
            raise InputError(f"{path}: line {number} has not two sentences with a tab between")
        found.append((cells[0].strip(), cells[1].strip()))
    return found


def translate(command: str, pairs: Sequence[Two], source: str, target: str) -> list[Two]:
    """Return pairs as a command translates them: a sentence a line in, a sentence a line out, each sentence once.

    Args:
        command: with {source} and {target} for the two languages.

    Raises:
        UsageError: there is no such command.
        InputError: it fails, or its lines are not as many as the sentences.
    """
    texts = list(dict.fromkeys(" ".join(text.split()) for pair in pairs for text in pair))
    line = command.replace("{source}", source).replace("{target}", target)
    try:
        ended = subprocess.run(
            shlex.split(line), input="\n".join(texts) + "\n", capture_output=True, encoding="utf-8", check=False
        )
    except (OSError, ValueError) as error:
        raise UsageError(f"--translator={command}: cannot be run ({error})") from error
    if ended.returncode:
        said = " ".join(ended.stderr.split())[-200:]
        raise InputError(f"{line}: ended with {ended.returncode}: {said}")
    # Only line feeds end a line here.
    lines = ended.stdout.split("\n")
    lines = lines[:-1] if lines and not lines[-1] else lines
    if len(lines) != len(texts):
        raise InputError(f"{line}: {len(texts):,} sentences in, {len(lines):,} lines out: it must keep the lines")
    known = dict(zip(texts, (found.strip() for found in lines), strict=True))
    return [(known[" ".join(first.split())], known[" ".join(second.split())]) for first, second in pairs]


def judge(pairs: ScoredPairs, translations: Sequence[Two], back: Sequence[Two]) -> list[Translated]:
    """Return each pair with what is known of its translation."""
    found = []
    source = zip(pairs.first, pairs.second, strict=True)
    for gold, original, texts, returned in zip(pairs.gold.tolist(), source, translations, back, strict=True):
        bleu = min(bleu1(*both) for both in zip(original, returned, strict=True))
        translated = all(_JAPANESE.search(text) for text in texts)
        found.append(Translated(gold, texts, bleu, translated))
    return found


def version(found: Sequence[Translated], threshold: float | None) -> list[Translated]:
    """Return the pairs that are translated and whose BLEU-1 lies above a threshold; all of them for None."""
    if threshold is None:
        return list(found)
    return [one for one in found if one.translated and one.bleu > threshold]


def to_lines(found: Sequence[Translated]) -> str:
    """Return pairs as a file: score, sentence, sentence, with tabs."""
    rows = [f"{one.gold:g}\t" + "\t".join(" ".join(text.split()) for text in one.texts) for one in found]
    return "".join(f"{row}\n" for row in rows)
