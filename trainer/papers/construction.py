"""`wikianchor papers construction filter|compare`: SDJC's Japanese STS benchmark (section 4.1, table 2).

`filter` writes OUTPUT/all.csv and OUTPUT/bleu-T.csv for each threshold T: the pairs of which both sentences, translated
back, have a BLEU-1 above T. `compare` trains a BERT with a linear layer on the scores of each version, and tests it on
pairs written and scored by people.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.markdown import markdown_table
from wikianchor.io.storage import write_text
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.pairs import ScoredPairs
from wikianchor.trainer.evaluate.task import EvaluationOptions
from wikianchor.trainer.evaluate.tasks.sts import file_task
from wikianchor.trainer.models.hub import check_model, no_model
from wikianchor.trainer.papers.options import CompareOptions, FilterOptions

_JAPANESE = re.compile("[\u3041-\u30fe\u4e00-\u9fff]")
_WORD = re.compile(r"\w+")
TextPair = tuple[str, str]


def read_source(path: str) -> ScoredPairs:
    """Return a file of scored pairs in any layout that `wikianchor evaluate` reads.

    Raises:
        InputError: the file is missing or malformed.
    """
    pairs: ScoredPairs = file_task(path).load(EvaluationFiles.of_file(path), EvaluationOptions())[0]
    return pairs


# ------------------------------------------------------------------------------------------------------------ filter


class Translated(NamedTuple):
    """A translated pair.

    Attributes:
        gold: the gold score.
        texts: the translations.
        bleu: the lower BLEU-1 of the two back-translations; -1 unless both translations have Japanese characters.
    """

    gold: float
    texts: TextPair
    bleu: float


def filter_pairs(options: FilterOptions) -> str:
    """Write the filtered versions; return a table of their sizes."""
    pairs = read_source(options.pairs[0])
    original = list(zip(pairs.first, pairs.second, strict=True))
    if options.translator:
        translations = translate(options.translator, original, "en", "ja")
        back = translate(options.translator, translations, "ja", "en")
    else:
        translations, back = (read_translations(path, len(pairs)) for path in (options.translations, options.back))
    judged = [
        Translated(gold, texts, min(map(bleu1, source, returned)) if all(map(_JAPANESE.search, texts)) else -1.0)
        for gold, texts, source, returned in zip(pairs.gold.tolist(), translations, original, back, strict=True)
    ]
    versions = {"all": judged}
    versions |= {f"bleu-{limit:g}": [pair for pair in judged if pair.bleu > limit] for limit in options.thresholds}
    files: dict[str, Sequence[tuple[str, ...]]] = {
        f"{name}.csv": [(f"{pair.gold:g}", *pair.texts) for pair in kept] for name, kept in versions.items()
    }
    files |= {"translations.tsv": translations, "back.tsv": back}
    for name, rows in files.items():
        lines = ("\t".join(" ".join(cell.split()) for cell in row) + "\n" for row in rows)
        write_text(os.path.join(options.output, name), "".join(lines))
    table = markdown_table(["version", "pairs"], [[name, f"{len(kept):,}"] for name, kept in versions.items()])
    foreign, lost = (sum(pair.bleu == value for pair in judged) for value in (-1.0, 0.0))
    return f"{table}\n\n{foreign:,} pairs are not in Japanese; {lost:,} more have a sentence of BLEU-1 0."


def bleu1(reference: str, candidate: str) -> float:
    """Return BLEU-1 of a candidate, 0 to 1: unigram precision with a brevity penalty
    (https://aclanthology.org/P02-1040, N = 1); words are lower-cased and without punctuation.

    >>> bleu1("a man is eating", "A man is eating."), bleu1("a man is eating", "the dog")
    (1.0, 0.0)
    """
    expected, actual = (Counter(_WORD.findall(text.lower())) for text in (reference, candidate))
    matches = (expected & actual).total()
    brevity = min(1.0, math.exp(1 - expected.total() / actual.total())) if matches else 0.0
    return brevity * matches / max(1, actual.total())


def read_translations(path: str, rows: int) -> list[TextPair]:
    """Return the sentence pairs of a tab-separated file of two columns.

    Args:
        path: path of the file.
        rows: number of pairs of the source, which have two sentences and a score.

    Raises:
        InputError: the file has another number of lines, or a line has not two columns.
    """
    data = EvaluationFiles.of_file(path)
    lines = [(line or "").split("\t") for line in data.lines(data.names[0], SetSource())]
    if len(lines) != rows:
        raise InputError(f"{path}: {len(lines):,} lines, and the source has {rows:,} pairs with a score")
    for number in (number for number, cells in enumerate(lines, 1) if len(cells) != 2):
        raise InputError(f"{path}: line {number} has not two sentences with a tab between")
    return [(first.strip(), second.strip()) for first, second in lines]


def translate(command: str, pairs: Sequence[TextPair], source: str, target: str) -> list[TextPair]:
    """Return the translations of pairs by a command, which reads and writes one sentence per line.

    Args:
        command: the command, with {source} and {target} in place of the languages; it gets equal sentences once.
        pairs: the pairs to translate.
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
        raise InputError(f"{line}: ended with {process.returncode}: {' '.join(process.stderr.split())[-200:]}")
    # Not splitlines, which also splits at characters that are text here.
    lines = process.stdout.removesuffix("\n").split("\n") if process.stdout else []
    if len(lines) != len(texts):
        raise InputError(f"{line}: {len(texts):,} sentences in, {len(lines):,} lines out: it must keep the lines")
    known = dict(zip(texts, (translation.strip() for translation in lines), strict=True))
    return [(known[" ".join(first.split())], known[" ".join(second.split())]) for first, second in pairs]


# ----------------------------------------------------------------------------------------------------------- compare


def compare(options: CompareOptions) -> str:
    """Train a regression on each version; return a table of their errors."""
    test = read_source(options.test)
    rows = []
    for path, pairs in {path: read_source(path) for path in options.pairs}.items():
        predicted = Regression(options).learn(pairs).predict(test)
        rows.append([path, f"{len(pairs):,}", *(f"{value:.4f}" for value in errors(test.gold, predicted).values())])
        print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    return markdown_table(["version", "pairs", "MAE", "MSE", "R2"], rows)


class Regression:
    """A BERT with a linear layer over the first token, which predicts the score of two sentences.

    Args:
        options: model and training. Equal seeds give equal weights.

    Raises:
        InputError: there is no such model.
    """

    def __init__(self, options: CompareOptions) -> None:
        self.options, self.device, path = options, choose_device(options.device), options.model[0]
        check_model(path)
        torch.manual_seed(options.seed)
        try:
            self.tokenizer: Any = AutoTokenizer.from_pretrained(path)
            backbone = AutoModel.from_pretrained(path, dtype=torch.float32)
        except Exception as error:
            # transformers raises exceptions of many types for a model that cannot be read.
            raise no_model(path, error) from error
        layers = {"backbone": backbone, "linear": nn.Linear(int(backbone.config.hidden_size), 1)}
        self.model = nn.ModuleDict(layers).to(self.device)

    def learn(self, pairs: ScoredPairs) -> Regression:
        """Train on the scores of pairs."""
        options = self.options
        optimizer = torch.optim.AdamW(self.model.parameters(), options.learning_rate)
        total = options.epochs * -(-len(pairs) // options.batch_size)
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, max(1, total))
        gold = torch.tensor(pairs.gold, dtype=torch.float32)
        self.model.train()
        for epoch in range(options.epochs):
            order = np.random.default_rng([options.seed, epoch]).permutation(len(pairs))
            for rows, scores in self._scores(pairs, order, options.batch_size):
                nn.functional.mse_loss(scores, gold[rows].to(self.device)).backward()
                optimizer.step()
                optimizer.zero_grad()
                schedule.step()
        return self

    @torch.no_grad()
    def predict(self, pairs: ScoredPairs) -> NDArray[np.float64]:
        """Return the predicted scores, (pairs,)."""
        self.model.eval()
        batches = self._scores(pairs, np.arange(len(pairs)), 4 * self.options.batch_size)
        return torch.cat([scores.cpu() for _, scores in batches]).numpy().astype(np.float64)

    def _scores(
        self, pairs: ScoredPairs, order: NDArray[np.int64], size: int
    ) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            texts = ([side[row] for row in rows] for side in (pairs.first, pairs.second))
            encoded = self.tokenizer(
                *texts, padding=True, truncation=True, max_length=self.options.max_length, return_tensors="pt"
            ).to(self.device)
            yield rows, self.model["linear"](self.model["backbone"](**encoded).last_hidden_state[:, 0])[:, 0]


def errors(gold: NDArray[np.float64], predicted: NDArray[np.float64]) -> dict[str, float]:
    """Return mean absolute error, mean squared error, and R2 = 1 - MSE / variance of gold; R2 is NaN for variance 0.

    Args:
        gold, predicted: (pairs,).

    >>> errors(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    {'MAE': 0.5, 'MSE': 0.5, 'R2': 0.5}
    """
    r2 = float(r2_score(gold, predicted)) if gold.std() else float("nan")
    return {
        "MAE": float(mean_absolute_error(gold, predicted)),
        "MSE": float(mean_squared_error(gold, predicted)),
        "R2": r2,
    }
