"""Reports of an evaluation: tables in the layout of the papers, and JSON files in the layout of mteb.

mteb's layout is results/MODEL/REVISION/TASK.json and model_meta.json in the same directory, with `task_name`, and
`scores` by split with `main_score`. Added are `protocol`, how the scores were computed, and `source`, the data.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.hub import model_revision
from wikianchor.io.markdown import markdown_table
from wikianchor.io.storage import filesystem, read_bytes, replacing, writing
from wikianchor.trainer.evaluate.files import SetSource
from wikianchor.trainer.evaluate.task import TableCell, TaskScores
from wikianchor.trainer.models.encoder import Encoder

# Tables with more columns are transposed.
WIDEST = 20


@dataclass(frozen=True)
class ModelFacts:
    """A model's name in the tables, its revision, and everything else that its vectors depend on."""

    name: str
    revision: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """The scores of one model in one task.

    Attributes:
        model: the model.
        task: name of the task.
        scores: the result.
        source: files and counts of the set.
        options: the options that the scores depend on.
        seconds: duration.
        date: time of the end, in ISO 8601.
    """

    model: ModelFacts
    task: str
    scores: TaskScores
    source: SetSource
    options: Mapping[str, Any]
    seconds: float = 0.0
    date: str = ""


def model_facts(path: str, encoder: Encoder, max_length: int | None, versions: Mapping[str, str]) -> ModelFacts:
    """Describe an encoder.

    Args:
        path: where it was loaded from: a directory or a name on the Hub.
        encoder: the encoder.
        max_length: tokens kept of a text, None for the model's limit.
        versions: versions of packages.
    """
    revision = model_revision(path) if os.path.isdir(path) else getattr(encoder.backbone.config, "_commit_hash", None)
    facts = {
        "path": path,
        "pooler": encoder.pooler,
        "head": encoder.head is not None,
        "normalize": encoder.normalize,
        "max_length": max_length or encoder.max_length,
        "lower": encoder.lower,
        "prompt": encoder.prompt,
        "dim": encoder.dim,
        "dtype": str(next(encoder.parameters()).dtype).removeprefix("torch."),
        "precision": encoder.precision,
        "versions": dict(versions),
    }
    return ModelFacts(path.rstrip("/"), str(revision or "unknown"), facts)


def dataset_revision(source: SetSource) -> str:
    """Return a hash of the contents of a set's files, which does not depend on their names."""
    return hashlib.sha256("\n".join(sorted(source.files.values())).encode()).hexdigest()


def to_json(result: Result) -> dict[str, Any]:
    """Return a result in mteb's layout."""
    source = result.source
    return _finite(
        {
            "dataset_revision": dataset_revision(source),
            "task_name": result.task,
            "mteb_version": None,
            "scores": result.scores.splits,
            "evaluation_time": round(result.seconds, 3),
            "kg_co2_emissions": None,
            "date": result.date,
            "model": {"name": result.model.name, "revision": result.model.revision, **result.model.facts},
            "protocol": result.scores.protocol,
            "options": result.options,
            "cells": [vars(cell) for cell in result.scores.cells],
            "source": {
                "files": source.files,
                "rows": source.rows,
                "used": source.kept,
                "without_gold": source.blank,
                "broken": source.broken,
            },
        }
    )


def _finite(value: Any) -> Any:
    """Replace numbers that JSON does not have, such as NaN, by None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def _directory(model: ModelFacts, output: str) -> str:
    # mteb's name of the folder: the organisation and the model; for a path, its last two components.
    folder = "__".join(part for part in model.name.split("/")[-2:] if part not in ("", ".", ".."))
    return os.path.abspath(os.path.join(output, "results", folder, model.revision[:40]))


def write_result(result: Result, output: str) -> None:
    """Write results/MODEL/REVISION/TASK.json, and model_meta.json beside it, each in one moment.

    Raises:
        InputError: the directory cannot be written.
    """
    meta = {"name": result.model.name, "revision": result.model.revision, **result.model.facts}
    for name, value in (("model_meta", meta), (result.task, to_json(result))):
        path = os.path.join(_directory(result.model, output), f"{name}.json")
        with writing(path), replacing(filesystem(path)[0], path, f"{path}.new") as stream:
            stream.write((json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace"))


def read_result(expected: Result, output: str) -> Result | None:
    """Return the result that `write_result` wrote for the same model, files and options; None where there is none.

    Args:
        expected: what is looked for; its scores are ignored.
        output: the output directory.
    """
    path = os.path.join(_directory(expected.model, output), f"{expected.task}.json")
    try:
        written = json.loads(read_bytes(path))
        wanted = json.loads(json.dumps(to_json(expected)))
        if any(written[name] != wanted[name] for name in ("dataset_revision", "model", "options", "source")):
            return None
        cells = [TableCell(**{**cell, "runs": tuple(cell["runs"])}) for cell in written["cells"]]
        cells = [replace(cell, value=math.nan if cell.value is None else cell.value) for cell in cells]
        scores = TaskScores(written["scores"], cells, written["protocol"])
        return replace(expected, scores=scores, seconds=written["evaluation_time"], date=written["date"])
    except (InputError, ValueError, KeyError, TypeError):
        return None


# --------------------------------------------------------------------------------------------------------- markdown


def markdown(results: Sequence[Result], notes: Iterable[str], paths: bool = True) -> str:
    """Return the report: tables of scores with a row for each model, and tables of the models and the data.

    Args:
        results: results of all models and tasks.
        notes: lines about what was not scored.
        paths: whether the models' names are paths, which are shortened.
    """
    models = [result.model.name for result in results]
    names = short_names(models) if paths else {name: name for name in models}
    titles = list(dict.fromkeys(cell.table for result in results for cell in result.scores.cells))
    parts = [f"### {title}\n\n{_table(title, results, names)}" for title in titles]
    lines = [f"- {note}" for note in dict.fromkeys(notes)]
    parts += [f"### Not scored\n\n{chr(10).join(lines)}"] if lines else []
    parts += [f"### Models\n\n{_models(results, names)}", f"### Data\n\n{_data(results)}"]
    return "\n\n".join(parts) + "\n"


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return for each path its shortest suffix that is not a suffix of another path.

    >>> short_names(["runs/a/model", "runs/b/model", "bert"])
    {'runs/a/model': 'a/model', 'runs/b/model': 'b/model', 'bert': 'bert'}
    """
    unique = list(dict.fromkeys(paths))
    names = {}
    for path in unique:
        parts = path.split("/")
        ends = ("/".join(parts[-count:]) for count in range(1, len(parts) + 1))
        names[path] = next((end for end in ends if sum(f"/{other}".endswith(f"/{end}") for other in unique) == 1), path)
    return names


def _table(title: str, results: Sequence[Result], names: Mapping[str, str]) -> str:
    """Return one table: rows that are no model first, then the models; the last column is the average."""
    cells: dict[str, dict[str, TableCell]] = {}
    for result in results:
        for cell in result.scores.cells:
            if cell.table == title:
                cells.setdefault(cell.row or names[result.model.name], {})[cell.column] = cell
    columns = list(dict.fromkeys(column for row in cells.values() for column in row))
    rows = sorted(cells, key=lambda row: not next(iter(cells[row].values())).row)
    grid = [["", *columns], *([row, *(_number(cells[row].get(column)) for column in columns)] for row in rows)]
    counted = sum(cell.average for cell in cells[rows[-1]].values())
    if counted > 1:
        grid[0].append(f"Avg. of {counted}")
        for line, row in zip(grid[1:], rows, strict=True):
            line.append(_average(list(cells[row].values()), len(columns)))
    head, *lines = zip(*grid, strict=True) if len(columns) > WIDEST else grid
    return markdown_table(head, lines)


def _number(cell: TableCell | None) -> str:
    if cell is None or not math.isfinite(cell.value):
        return "–"
    digits, scale = (2, 100) if cell.per_cent else (4, 1)
    spread = "" if cell.spread is None else f" ± {scale * cell.spread:.{digits}f}"
    return f"{scale * cell.value:.{digits}f}{spread}"


def _average(cells: Sequence[TableCell], columns: int) -> str:
    """Return the mean over the columns, with the standard deviation of the means of several trainings.

    There is no mean if a column has no score, because it could not be compared with the means of other rows.
    """
    counted = [cell for cell in cells if cell.average]
    if len(cells) < columns or not all(math.isfinite(cell.value) for cell in counted):
        return "–"
    means = [fmean(values) for values in zip(*(cell.runs for cell in counted), strict=True)]
    spread = stdev(means) if len(means) > 1 else None
    value = fmean(cell.value for cell in counted)
    return _number(TableCell("", "", value, spread, per_cent=counted[0].per_cent))


def _models(results: Sequence[Result], names: Mapping[str, str]) -> str:
    shown = ("pooler", "normalize", "max_length", "dim", "dtype")
    models = {result.model.name: result.model for result in results}
    rows = []
    for name, model in models.items():
        facts = {**model.facts, "pooler": f"{model.facts['pooler']}{' + layer' if model.facts['head'] else ''}"}
        revisions = ", ".join(revision[:16] for revision in model.revision.split(", "))
        rows.append([names[name], revisions, *(str(facts[fact]) for fact in shown)])
    versions = next(iter(models.values())).facts["versions"]
    stated = ", ".join(f"{name} {value}" for name, value in versions.items())
    return f"{markdown_table(['', 'revision', *shown], rows)}\n\n{stated}"


def _data(results: Sequence[Result]) -> str:
    sources = {result.task: result.source for result in results}
    rows = [
        [task, *map(str, (len(source.files), source.kept, source.blank, source.broken)), dataset_revision(source)[:16]]
        for task, source in sources.items()
    ]
    return markdown_table(["", "files", "rows used", "without gold", "broken", "sha256"], rows)
