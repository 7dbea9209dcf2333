"""Prepare a model for publication: its files as training wrote them, and its card with what is known only now.

The card that training writes has objective, data, languages and backbone. Publication adds the scores of `wikianchor
evaluate`, the data's name on the Hub, a licence, and the model's own name in the example.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.hub import CARD, MODEL_CONFIG, head_keys, model_revision, with_head
from wikianchor.io.markdown import markdown_table
from wikianchor.io.parsing import malformed
from wikianchor.io.storage import duplicate, files_in, read_bytes, writing
from wikianchor.pipelines.commands.publish.options import PublishOptions

# What a card on the Hub should say.
CARD_KEYS = ("base_model", "datasets", "language", "library_name", "license", "pipeline_tag")
# Files that would be loaded although the model of today does not have them.
_STALE = re.compile(r"modules\.json|[\w.-]+\.safetensors(\.index\.json)?|\d+_[A-Z]\w+/[\w.-]+")
_LOADED_BY = re.compile(r'((?:SentenceTransformer|from_pretrained)\()"[^"]*"')
# Metrics of a correlation, in the results of `wikianchor evaluate`.
_CORRELATIONS = ("spearman", "pearson")


def is_model_file(name: str) -> bool:
    """Return whether a path in a repository is one that a model may remove, since it would be loaded with it."""
    return name in (MODEL_CONFIG, CARD) or _STALE.fullmatch(name) is not None


def make_model_release(options: PublishOptions) -> list[str]:
    """Make the release of a model, links to its files and its card, and return the names of its files.

    Raises:
        InputError: the model has no weights or no card, or the scores are of another model.
    """
    directory, release = options.directory, options.release
    paths = [path for path in files_in(directory) if not os.path.basename(path).startswith(".")]
    names = sorted(os.path.relpath(path, directory) for path in paths)
    if not any(name.endswith((".safetensors", ".bin")) for name in names):
        raise InputError(f"{directory}: holds no weights (*.safetensors): name the directory of a trained model")
    if CARD not in names:
        raise InputError(f"{directory}: has no {CARD}: write a card for the model")
    card = model_card(read_bytes(f"{directory}/{CARD}").decode("utf-8"), options)
    with writing(release, "--release"):
        for name in names:
            os.makedirs(os.path.dirname(f"{release}/{name}"), exist_ok=True)
            duplicate(f"{directory}/{name}", f"{release}/{name}")
        # The card of the model, to which there is a link, stays as it is.
        os.unlink(f"{release}/{CARD}")
        Path(release, CARD).write_text(card, "utf-8")
    if lacking := [key for key in CARD_KEYS if key not in head_keys(card)]:
        print(f"{release}/{CARD}: no {', '.join(lacking)}: add to the head of {directory}/{CARD}")
    return names


def model_card(card: str, options: PublishOptions) -> str:
    """Return the card that is published.

    Args:
        card: the README.md of the model.
        options: `target`, `license`, `datasets` and `scores` are used.

    Raises:
        InputError: the scores are of another model, or cannot be read.
    """
    results = read_results(options.scores, options.directory) if options.scores else []
    name = options.target.removeprefix("hf://").removeprefix("models/")
    if options.target.startswith("hf://"):
        card = _LOADED_BY.sub(lambda match: f'{match[1]}"{name}"', card)
    head = {"license": options.license, "datasets": list(options.datasets)}
    index = [{"name": name.rpartition("/")[2], "results": [entry for result in results for entry in _entries(result)]}]
    card = with_head(card, {**head, "model-index": index if results else []})
    return f"{card.rstrip()}\n\n{_scores_table(results)}" if results else card


def read_results(directory: str, model: str) -> list[Mapping[str, Any]]:
    """Return the results that `wikianchor evaluate --output` wrote for a model, sorted by task.

    Raises:
        InputError: there are none of this model, by the hash of its files.
    """
    revision, results = model_revision(model), {}
    for path in files_in(directory):
        if not path.endswith(".json") or path.endswith("model_meta.json"):
            continue
        with malformed(f"{path}: no result of wikianchor evaluate"):
            result = json.loads(read_bytes(path))
            if result["model"]["revision"] == revision:
                results[str(result["task_name"])] = result
    if not results:
        raise InputError(f"--scores={directory}: no result of {model}: wikianchor evaluate --output writes them")
    return [results[task] for task in sorted(results)]


def _entries(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the scores of a task as entries of the Hub's model-index."""
    for split, subset, metric, value in _main_scores(result):
        task = "sentence-similarity" if metric in _CORRELATIONS else "feature-extraction"
        dataset = {"name": result["task_name"], "type": result["task_name"], "split": split}
        if subset != "default":
            dataset["config"] = subset
        yield {
            "task": {"type": task},
            "dataset": dataset,
            "metrics": [{"type": metric, "name": metric, "value": round(value, 4)}],
        }


def _main_scores(result: Mapping[str, Any]) -> Iterator[tuple[str, str, str, float]]:
    """Yield split, subset, name and value of each main score that is a number."""
    for split, rows in result["scores"].items():
        for row in rows:
            value = row["main_score"]
            metrics = [name for name, other in row.items() if name != "main_score" and other == value]
            if value is not None:
                yield split, row["hf_subset"], (metrics or ["main_score"])[0], value


def _scores_table(results: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [result["task_name"], *names, f"{value:.4f}"] for result in results for *names, value in _main_scores(result)
    ]
    table = markdown_table(["task", "split", "subset", "metric", "score"], rows, numbers=False)
    return f"## Scores\n\nBy `wikianchor evaluate`.\n\n{table}\n"
