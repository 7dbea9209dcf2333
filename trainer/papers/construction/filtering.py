"""Filtered versions of a translated set: pairs whose back-translations are close to the original sentences."""

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
TextPair = tuple[str, str]


class Translated(NamedTuple):
    """A translated pair.

    Attributes:
        gold: the gold score.
        texts: the translations.
        bleu: the lower BLEU-1 of the two back-translations.
        translated: whether both translations have Japanese characters.
    """

    gold: float
    texts: TextPair
    bleu: float
    translated: bool


def read_source(path: str) -> ScoredPairs:
    """Return a file of scored pairs in any layout that wikianchor.trainer.evaluate reads.

    Raises:
        InputError: the file is missing or malformed.
    """
    pairs: ScoredPairs = file_task(path).load(EvaluationFiles.of_file(path), EvaluationOptions())[0]
    return pairs


def read_translations(path: str, rows: int) -> list[TextPair]:
    """Return the sentence pairs of a tab-separated file of two columns.

    Args:
        path: of the file.
        rows: number of pairs of the source, which have two sentences and a score.

    Raises:
        InputError: the file has another number of lines, or a line has not two columns.
    """
    data = EvaluationFiles.of_file(path)
    lines = data.lines(data.names[0], SetSource())
    if len(lines) != rows:
        raise InputError(f"{path}: {len(lines):,} lines, and the source has {rows:,} pairs with a score")
    pairs = []
    for number, line in enumerate(lines, 1):
        cells = (line or "").split("\t")
        if len(cells) != 2:
            raise InputError(f"{path}: line {number} has not two sentences with a tab between")
        pairs.append((cells[0].strip(), cells[1].strip()))
    return pairs


def translate(command: str, pairs: Sequence[TextPair], source: str, target: str) -> list[TextPair]:
    """Return the translations of pairs by a command, which reads and writes one sentence per line.

    Args:
        command: with {source} and {target} in place of the languages; equal sentences are translated once.
        pairs: to translate.
        source, target: codes of languages.

    Raises:
        UsageError: the command cannot be started.
        InputError: the command fails, or writes another number of lines.
    """
    texts = list(dict.fromkeys(" ".join(text.split()) for pair in pairs for text in pair))
    line = command.replace("{source}", source).replace("{target}", target)
    try:
        process = subprocess.run(
            shlex.split(line), input="\n".join(texts) + "\n", capture_output=True, encoding="utf-8", check=False
        )
    except (OSError, ValueError) as error:
        raise UsageError(f"--translator={command}: cannot be run ({error})") from error
    if process.returncode:
        reason = " ".join(process.stderr.split())[-200:]
        raise InputError(f"{line}: ended with {process.returncode}: {reason}")
    # Not splitlines, which also splits at characters that are text here.
    lines = process.stdout.split("\n")
    lines = lines[:-1] if lines and not lines[-1] else lines
    if len(lines) != len(texts):
        raise InputError(f"{line}: {len(texts):,} sentences in, {len(lines):,} lines out: it must keep the lines")
    known = dict(zip(texts, (translation.strip() for translation in lines), strict=True))
    return [(known[" ".join(first.split())], known[" ".join(second.split())]) for first, second in pairs]


def judge(pairs: ScoredPairs, translations: Sequence[TextPair], back: Sequence[TextPair]) -> list[Translated]:
    """Return each pair with its translation and the BLEU-1 of its back-translation."""
    judged = []
    source = zip(pairs.first, pairs.second, strict=True)
    for gold, original, texts, returned in zip(pairs.gold.tolist(), source, translations, back, strict=True):
        bleu = min(bleu1(*both) for both in zip(original, returned, strict=True))
        translated = all(_JAPANESE.search(text) for text in texts)
        judged.append(Translated(gold, texts, bleu, translated))
    return judged


def version(pairs: Sequence[Translated], threshold: float | None) -> list[Translated]:
    """Return the pairs in Japanese with a BLEU-1 above a threshold; all pairs for None."""
    return [pair for pair in pairs if threshold is None or (pair.translated and pair.bleu > threshold)]


def to_lines(pairs: Sequence[Translated]) -> str:
    """Return pairs as tab-separated lines of score, sentence, sentence."""
    rows = [f"{pair.gold:g}\t" + "\t".join(" ".join(text.split()) for text in pair.texts) for pair in pairs]
    return "".join(f"{row}\n" for row in rows)
