"""`wikianchor evaluate --model=... --data=... --tasks=...`: the scores of models, as tables and as JSON.

    wikianchor evaluate --model=models/ease/model --model=bert-base-uncased --data=eval/ --tasks=sts

A model is a directory of transformers or of sentence-transformers, ours included, or a name on the Hub. The sets are
found by their released file names anywhere under --data; what is not there is named, with where to get it.
"""

from __future__ import annotations

import datetime
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.output import printable_json
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
    short_names,
    to_json,
    write_report,
    write_results,
)
from wikianchor.trainer.evaluate.task import EvaluationOptions, EvaluationTask, SentenceVectors
from wikianchor.trainer.evaluate.tasks import clustering, sphere, sts
from wikianchor.trainer.evaluate.whitening import Whitened, sentences
from wikianchor.trainer.models.encoder import Encoder

# Vectors kept between tasks: 600 MB if they are 768 wide. Small sets share sentences, large sets do not.
MOST_VECTORS = 200_000

LoadedTasks = list[tuple[EvaluationTask, Sequence[Any]]]


def load_tasks(
    data: EvaluationFiles, tasks: Sequence[EvaluationTask], named: str, options: EvaluationOptions
) -> tuple[LoadedTasks, list[str]]:
    """Read the sets.

    Args:
        data: files under `--data`.
        tasks: to be scored.
        named: the value of `--tasks`.
        options: of the protocols.

    Returns:
        the tasks whose sets exist with their subsets, and a line for each missing set.

    Raises:
        InputError: a set that `named` names alone, not as one of a group, is missing.
    """
    loaded: LoadedTasks = []
    missing: list[str] = []
    by_name = {name.strip().lower() for name in named.split(",")}
    for task in tasks:
        parts = task.load(data, options)
        if parts:
            loaded.append((task, parts))
            continue
        line = f"{task.name}: no {options.split} part in {data.root}: looked for {task.layout}; get it from {task.home}"
        if task.name.lower() in by_name:
            raise InputError(line)
        missing.append(line)
    return loaded, missing


def load_all(flags: EvaluateOptions, options: EvaluationOptions) -> tuple[LoadedTasks, list[str]]:
    """Read all sets that the flags ask for.

    Raises:
        UsageError: they ask for no set, or for a language that no set has.
        InputError: no set exists.
    """
    loaded: LoadedTasks = []
    missing: list[str] = []
    if flags.data:
        loaded, missing = load_tasks(EvaluationFiles(flags.data), choose(flags.tasks), flags.tasks, options)
    elif not flags.sts:
        raise UsageError("--data is missing: the directory with evaluation sets; or --sts, a file")
    for path in flags.sts:
        task = sts.file_task(path)
        loaded.append((task, task.load(EvaluationFiles.of_file(path), options)))
    if not loaded:
        raise InputError(missing[0])
    check_languages(loaded, options.languages)
    return loaded, missing


def evaluate(
    encoder: Encoder,
    facts: ModelFacts,
    tasks: LoadedTasks,
    options: EvaluationOptions,
    batch_size: int,
    whiten: int = 0,
) -> list[Result]:
    """Score one encoder in all tasks, with a line on stderr for each.

    Args:
        encoder: the model.
        facts: its description.
        tasks: with their subsets.
        options: of the protocols.
        batch_size: texts encoded at once.
        whiten: directions kept by whitening, 0 for vectors as they are.
    """
    length = facts.facts["max_length"]
    vectors = (
        Whitened(encoder, batch_size, length, dim=whiten) if whiten else SentenceVectors(encoder, batch_size, length)
    )
    results = []
    for task, parts in tasks:
        start = time.perf_counter()
        if isinstance(vectors, Whitened):
            vectors.fit(sentences(parts))
        scores = task.score(parts, vectors, options)
        scores.protocol.update({"whitening": whiten} if whiten else {})
        seconds = time.perf_counter() - start
        source = sum((part.source for part in parts), SetSource())
        date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        results.append(Result(facts, task.name, scores, source, seconds, date))
        print(f"{task.name}: {source.kept:,} rows, {seconds:.1f} s", file=sys.stderr, flush=True)
        if len(vectors) > MOST_VECTORS:
            vectors.forget()
    return results


def run(flags: EvaluateOptions) -> tuple[list[Result], list[str]]:
    """Return the results of all models, and a line for each missing set."""
    options = EvaluationOptions(flags.split, flags.seeds, flags.normalize, flags.languages, flags.clusters)
    loaded, missing = load_all(flags, options)
    if flags.clusters:
        check_clusters(loaded, flags.model)
    results: list[Result] = []
    device = choose_device(flags.device)
    for path in flags.model:
        encoder = Encoder.load(path, flags.pooler, device)
        if flags.max_length and flags.max_length > encoder.max_length:
            raise UsageError(f"--max_length={flags.max_length}: {path} takes {encoder.max_length} tokens")
        facts = model_facts(path, encoder, flags.max_length, versions())
        results += evaluate(encoder, facts, loaded, options, flags.batch_size, flags.whiten)
    return results, missing


def check_clusters(loaded: LoadedTasks, models: Sequence[str]) -> None:
    """Raise UsageError unless `--clusters` applies to one language of MewsC-16 and one model."""
    languages = [len(parts) for task, parts in loaded if task.name == clustering.MEWSC16_TASK]
    if languages != [1] or len(models) > 1:
        raise UsageError("--clusters shows one model in one language of MewsC-16: --tasks=mewsc16 --languages=ja")


def check_languages(loaded: LoadedTasks, languages: Sequence[str]) -> None:
    """Raise UsageError for a language that is in none of the sets."""
    known = {"eng"} | {canonical(code) for _, parts in loaded for part in parts for code in part.name.split("-")}
    missing = [code for code in languages if canonical(code) not in known]
    if missing:
        raise UsageError(f"--languages: {', '.join(missing)} is in none of the sets that were found")


def draw(results: Sequence[Result], path: str) -> None:
    """Write the plot of alignment and uniformity."""
    names = short_names(result.model.name for result in results)
    models = {names[result.model.name]: result.scores.splits for result in results if result.task == sphere.NAME}
    if not models:
        raise UsageError(f"--plot shows {sphere.NAME}: put it among --tasks, and its sets under --data")
    sphere.plot(models, path)


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    return run_command("evaluate", lambda: report(parse(argv)))


def report(flags: EvaluateOptions) -> str:
    """Score the models, write the files that the flags ask for, and return the text to print."""
    results, missing = run(flags)
    text = markdown(results, missing)
    if flags.output:
        write_results(results, flags.output)
        write_report(text, flags.output)
    if flags.plot:
        draw(results, flags.plot)
    if flags.json:
        return printable_json(json.dumps([to_json(result) for result in results], indent=2, ensure_ascii=False))
    return text
