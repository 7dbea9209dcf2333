"""`wikianchor evaluate --model=... --data=... --tasks=...`: the scores of models, as tables and as JSON.

    wikianchor evaluate --model=models/ease/model --model=bert-base-uncased --data=eval/ --tasks=sts

A model is a directory of transformers or of sentence-transformers, ours included, or a name on the Hub. The sets are
found by their released file names anywhere under --data; what is not there is named, with where to get it.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wikianchor.io.buckets import first_line
from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.output import fail, printable_json
from wikianchor.io.storage import check_writable, write_text, writing
from wikianchor.trainer.card import versions
from wikianchor.trainer.command import run_command
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.languages import canonical
from wikianchor.trainer.evaluate.options import EvaluateOptions, parse
from wikianchor.trainer.evaluate.registry import choose
from wikianchor.trainer.evaluate.report import (
    ModelFacts,
    Result,
    markdown,
    model_facts,
    read_result,
    to_json,
    write_result,
)
from wikianchor.trainer.evaluate.task import EvaluationTask, SentenceVectors, TaskScores
from wikianchor.trainer.evaluate.tasks import sts
from wikianchor.trainer.evaluate.whitening import Whitened, sentences
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.gpu import default_precision

# Vectors kept between tasks: 600 MB if they are 768 wide. Small sets share sentences, large sets do not.
MOST_VECTORS = 200_000

LoadedTasks = list[tuple[EvaluationTask, Sequence[Any]]]


@dataclass(frozen=True)
class LoadedSets:
    """The sets that were looked for.

    Attributes:
        tasks: those that can be scored, with their subsets.
        missing: a line for each set of a group that is not there.
        failed: a line for each archive, set or subset that cannot be read, and for each set that was asked for by its
            own name and is missing.
    """

    tasks: LoadedTasks = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def check(self, complete: bool) -> None:
        """Check that there is something to score.

        Args:
            complete: whether no set may have failed.

        Raises:
            InputError: there is nothing, or a set has failed.
        """
        if self.failed and (complete or not self.tasks):
            raise InputError(self.failed[0])
        if not self.tasks:
            raise InputError(self.missing[0])


def load_tasks(directory: str, names: Sequence[str], options: EvaluateOptions) -> LoadedSets:
    """Read the sets. A set that cannot be read does not stop the others.

    Args:
        directory: directory with evaluation sets.
        names: names of tasks and groups.
        options: options of the protocols.

    Raises:
        UsageError: there is no such task.
        InputError: there is no such directory.
    """
    data = EvaluationFiles(directory)
    sets = LoadedSets(failed=data.failed)
    by_name = {name.lower() for name in names}
    for task in choose(names):
        try:
            parts = task.load(data, options) if options.split in task.splits else ()
        except InputError as error:
            sets.failed.append(f"{task.name}: {error}")
            continue
        if parts:
            sets.tasks.append((task, parts))
            continue
        line = f"{task.name}: no {options.split} part in {data.root}: looked for {task.layout}; get it from {task.home}"
        (sets.failed if task.name.lower() in by_name else sets.missing).append(line)
    return sets


def load_all(options: EvaluateOptions) -> LoadedSets:
    """Read all sets that the options ask for.

    Raises:
        UsageError: they ask for no set, or for a language that no set has.
    """
    sets = load_tasks(options.data, options.tasks, options) if options.data else LoadedSets()
    for path in options.sts:
        task = sts.file_task(path)
        try:
            sets.tasks.append((task, task.load(EvaluationFiles.of_file(path), options)))
        except InputError as error:
            sets.failed.append(str(error))
    if sets.tasks:
        check_languages(sets.tasks, options.languages)
    return sets


def evaluate(
    encoder: Encoder,
    facts: ModelFacts,
    sets: LoadedSets,
    options: EvaluateOptions,
    fitted_on: Sequence[str] = (),
) -> list[Result]:
    """Score one encoder in all tasks, with a line on stderr for each. A task that fails does not stop the others.

    With `--output` each result is written as soon as it is there; with `--resume` one that is there is not computed
    again, if its model, files and options are the same.

    Args:
        encoder: the model.
        facts: its description.
        sets: the tasks with their subsets; `failed` gets a line for each task that cannot be scored.
        options: options of the protocols, of whitening and of the encoder.
        fitted_on: sentences that the whitening is fitted on; none for those of each set.
    """
    vectors = Whitened(encoder, options) if options.whiten else SentenceVectors(encoder, options)
    if isinstance(vectors, Whitened) and fitted_on:
        vectors.fit(fitted_on)
        vectors.forget()
    results = []
    for task, parts in sets.tasks:
        start = time.perf_counter()
        source = sum((part.source for part in parts), SetSource())
        blank = Result(facts, task.name, TaskScores({}, [], {}), source, options.decisive())
        if options.resume and (before := read_result(blank, options.output)):
            print(f"{task.name}: scored before", file=sys.stderr, flush=True)
            results.append(before)
            continue
        try:
            if isinstance(vectors, Whitened) and not fitted_on:
                vectors.fit(sentences(parts))
            scores = task.score(parts, vectors, options)
        except (InputError, MemoryError, RuntimeError, ValueError) as error:
            sets.failed.append(f"{task.name}: {facts.name} cannot be scored: {first_line(error)}")
            continue
        if options.whiten:
            fitted = f"{len(fitted_on):,} training sentences" if fitted_on else "the set's sentences"
            whitened = {"whitening": options.whiten, "whitening fitted on": fitted}
            scores = replace(scores, protocol={**scores.protocol, **whitened})
        seconds = time.perf_counter() - start
        date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        results.append(replace(blank, scores=scores, seconds=seconds, date=date))
        if options.output:
            write_result(results[-1], options.output)
        print(f"{task.name}: {source.kept:,} rows, {seconds:.1f} s", file=sys.stderr, flush=True)
        if len(vectors) > MOST_VECTORS:
            vectors.forget()
    return results


def load_model(path: str, options: EvaluateOptions) -> tuple[Encoder, ModelFacts]:
    """Return a model and its description.

    Raises:
        InputError: there is no such model.
        UsageError: an option does not fit it.
    """
    device = choose_device(options.device)
    encoder = Encoder.load(path, options.pooler, device, prompt=options.prompt)
    encoder.precision = options.precision or default_precision(device)
    if options.max_length and options.max_length > encoder.max_length:
        raise UsageError(f"--max_length={options.max_length}: {path} takes {encoder.max_length} tokens")
    return encoder, model_facts(path, encoder, options.max_length, versions())


def run(options: EvaluateOptions, complete: bool = False) -> tuple[list[Result], LoadedSets]:
    """Return the results of all models, and the sets that were looked for.

    Args:
        options: the command line.
        complete: score nothing if a set cannot be read.

    Raises:
        UsageError: the options do not go together.
        InputError: there is nothing to score, or an output directory cannot be written.
    """
    sets = load_all(options)
    sets.check(complete)
    if options.output:
        # Found out before hours of scoring.
        with writing(options.output):
            os.makedirs(options.output, exist_ok=True)
        check_writable(options.output)
    for path in options.model[1:]:
        # A model that does not exist must not end a run after hours.
        load_model(path, options)
    results = [result for path in options.model for result in evaluate(*load_model(path, options), sets, options)]
    if not results or (complete and sets.failed):
        raise InputError(sets.failed[0])
    return results, sets


def check_languages(loaded: LoadedTasks, languages: Sequence[str]) -> None:
    """Raise UsageError for a language that is in none of the sets."""
    known = {"eng"} | {canonical(code) for _, parts in loaded for part in parts for code in part.name.split("-")}
    missing = [code for code in languages if canonical(code) not in known]
    if missing:
        raise UsageError(f"--languages: {', '.join(missing)} is in none of the sets that were found")


def main(argv: Sequence[str]) -> int:
    """Return the exit status, 1 if a set could not be scored."""
    failed: list[str] = []
    status = run_command("evaluate", lambda: report(parse(argv), failed))
    for line in failed if status == 0 else ():
        status = fail("evaluate", InputError(line))
    return status


def report(flags: EvaluateOptions, failed: list[str]) -> str:
    """Score the models, write the files that the flags ask for, and return the text to print.

    Args:
        flags: the command line.
        failed: gets a line for each set that could not be scored.
    """
    results, sets = run(flags)
    failed += sets.failed
    text = markdown(results, [*sets.failed, *sets.missing])
    if flags.output:
        write_text(os.path.join(flags.output, "report.md"), text)
    if flags.json:
        return printable_json(json.dumps([to_json(result) for result in results], indent=2, ensure_ascii=False))
    return text
