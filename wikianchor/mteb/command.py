"""`wikianchor mteb`: descriptive statistics of the tasks, and the scores of models; see `options.py`."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mteb
from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper
from sentence_transformers import SentenceTransformer

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import nearest_or_all
from wikianchor.io.hub import model_revision
from wikianchor.io.markdown import markdown_table
from wikianchor.io.parsing import unreadable
from wikianchor.io.storage import writing
from wikianchor.mteb.options import MtebOptions, parse
from wikianchor.mteb.tasks import SPLIT, TASKS, MewsC16Clustering
from wikianchor.trainer.command import run_command
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.evaluate.report import short_names

# mteb's keys and their titles.
MEASURES = {"v_measure": "V-measure", "ami": "AMI"}


def main(argv: Sequence[str]) -> int:
    """Return the exit status."""
    return run_command("mteb", lambda: run(parse(argv)))


def run(flags: MtebOptions) -> str:
    """Write statistics and results, and return a table for each task.

    Raises:
        UsageError: there is no such task.
        InputError: the dataset or a model cannot be read, or --output cannot be written.
    """
    tasks = [task(flags.data, flags.languages) for task in choose_tasks(flags.tasks)]
    # mteb draws progress bars for it, which have no switch.
    with contextlib.redirect_stderr(io.StringIO()):
        statistics = {task.metadata.name: task.calculate_descriptive_statistics() for task in tasks}
    with writing(flags.output):
        for name, content in statistics.items():
            write_statistics(flags.output, name, content)
        cache = mteb.ResultCache(flags.output)
    scores: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in statistics}
    names = short_names(path.rstrip("/") for path in flags.model)
    for path in flags.model:
        model = load_model(path, choose_device(flags.device).type)
        for task in tasks:
            start = time.perf_counter()
            with writing(flags.output):
                rows = score(model, task, cache, flags.batch_size)
            scores[task.metadata.name][names[path.rstrip("/")]] = rows
            seconds = time.perf_counter() - start
            print(f"{task.metadata.name}: {len(rows)} languages, {seconds:.1f} s", file=sys.stderr, flush=True)
    return "\n\n".join(
        f"### {name}\n\n{task_table(content[SPLIT], scores[name])}" for name, content in statistics.items()
    )


def choose_tasks(names: Sequence[str]) -> list[type[MewsC16Clustering]]:
    """Return the tasks of these names; "all" is the name of all.

    Raises:
        UsageError: there is no such task.
    """
    names = list(TASKS) if "all" in names else names
    if unknown := [name for name in names if name not in TASKS]:
        raise UsageError(f"--tasks: no task {unknown[0]!r}{nearest_or_all(unknown[0], [*TASKS])}")
    return [TASKS[name] for name in names]


def load_model(path: str, device: str) -> Any:
    """Return a model for `mteb.evaluate`.

    Args:
        path: a directory of sentence-transformers or transformers, or a name on the Hub.
        device: such as "cpu".

    Raises:
        InputError: it cannot be loaded.
    """
    with unreadable(f"--model={path}: cannot be loaded", "name a directory, or a model that mteb knows"):
        if not os.path.isdir(path):
            return mteb.get_model(path, device=device)
        with warnings.catch_warnings():
            # mteb calls what sentence-transformers has renamed.
            warnings.simplefilter("ignore", FutureWarning)
            model = SentenceTransformerEncoderWrapper(SentenceTransformer(path, device=device))
    # A directory has no name that mteb takes: organisation and model are the last two components of its path.
    name = "/".join(os.path.abspath(path).split("/")[-2:])
    model.mteb_model_meta = model.mteb_model_meta.model_copy(
        update={"name": name, "revision": model_revision(path)[:40]}
    )
    return model


def score(model: Any, task: MewsC16Clustering, cache: mteb.ResultCache, batch_size: int) -> dict[str, dict[str, Any]]:
    """Return mteb's scores by language, and write them.

    Args:
        model: as `load_model` returns.
        task: the task to score.
        cache: the directory of the results.
        batch_size: texts encoded at once.
    """
    result = mteb.evaluate(
        model,
        task,
        cache=cache,
        # mteb takes an old result of the same languages, whatever the revision of the dataset.
        overwrite_strategy="always",
        encode_kwargs={"batch_size": batch_size, "show_progress_bar": False},
        show_progress_bar=False,
        co2_tracker=False,
    )
    return {row["hf_subset"]: row for row in result.task_results[0].scores[SPLIT]}


def write_statistics(output: str, name: str, content: Mapping[str, Any]) -> None:
    """Write the statistics of a task where mteb's repository has them, in its form."""
    path = Path(output, "descriptive_stats", "Clustering", f"{name}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=4), "utf-8")


def task_table(statistics: Mapping[str, Any], scores: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Return a table with a row for each language, and their mean.

    Args:
        statistics: the statistics of the task.
        scores: mteb's scores by model and language.
    """
    head = ["", "texts", "classes", "smallest", "largest"]
    head += [f"{model}, {measure}" for model in scores for measure in MEASURES.values()]
    lines: list[list[object]] = []
    subsets = statistics["hf_subset_descriptive_stats"]
    for language, content in subsets.items():
        labels = content["labels_statistics"]
        sizes = [label["count"] for label in labels["labels"].values()]
        line = [language, content["num_samples"], labels["unique_labels"], min(sizes), max(sizes)]
        lines.append([*line, *(f"{100 * rows[language][key]:.2f}" for rows in scores.values() for key in MEASURES)])
    if scores and len(subsets) > 1:
        means = [
            100 * sum(rows[language][key] for language in subsets) / len(subsets)
            for rows in scores.values()
            for key in MEASURES
        ]
        lines.append([f"mean of {len(subsets)}", statistics["num_samples"], "", "", "", *(f"{x:.2f}" for x in means)])
    return markdown_table(head, lines)
