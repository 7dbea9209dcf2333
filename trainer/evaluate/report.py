"""What an evaluation writes: tables laid out like the papers', and a JSON per task in the shape of mteb's results.

mteb's shape is results/MODEL/REVISION/TASK.json with model_meta.json beside it; its readers find `task_name`,
`scores` by split, `main_score`. We add `protocol`, with which scores can be compared, and `source`, of what.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from wikianchor.io.storage import writing
from wikianchor.trainer.evaluate.files import Source
from wikianchor.trainer.evaluate.task import Cell, Scores
from wikianchor.trainer.models.encoder import Encoder

# Files that make a model's vectors what they are.
MODEL_FILES = (".safetensors", ".bin", ".json", ".txt", ".model")
# Above so many columns a table is turned round.
WIDEST = 20


@dataclass(frozen=True)
class ModelFacts:
    """A model's name in the tables, its revision, and all that its vectors depend on."""

    name: str
    revision: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """The scores of one model in one task; `seconds` is what it took, `date` when, in ISO 8601."""

    model: ModelFacts
    task: str
    scores: Scores
    source: Source
    seconds: float
    date: str


def model_facts(path: str, encoder: Encoder, max_length: int | None, versions: Mapping[str, str]) -> ModelFacts:
    """Describe an encoder that was loaded from a path or by its name on the Hub."""
    revision = _sha256_of_model(path) if os.path.isdir(path) else getattr(encoder.backbone.config, "_commit_hash", None)
    facts = {
        "path": path,
        "pooler": encoder.pooler,
        "head": encoder.head is not None,
        "normalize": encoder.normalize,
        "max_length": max_length or encoder.max_length,
        "lower": encoder.lower,
        "dim": encoder.dim,
        "dtype": str(next(encoder.parameters()).dtype).removeprefix("torch."),
        "versions": dict(versions),
    }
    return ModelFacts(path.rstrip("/"), str(revision or "unknown"), facts)


def _sha256_of_model(path: str) -> str:
    """Return one hash of the files that a model's vectors depend on."""
    whole = hashlib.sha256()
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            if name.endswith(MODEL_FILES) and not name.startswith("."):
                place = os.path.join(folder, name)
                with open(place, "rb") as stream:
                    digest = (
                        hashlib.file_digest(stream, "sha256") if hasattr(hashlib, "file_digest") else _digest(stream)
                    )
                whole.update(f"{os.path.relpath(place, path)}\0{digest.hexdigest()}\n".encode())
    return whole.hexdigest()


def _digest(stream: Any) -> Any:
    """hashlib.file_digest of Python 3.11."""
    found = hashlib.sha256()
    while block := stream.read(1 << 20):
        found.update(block)
    return found


def dataset_revision(source: Source) -> str:
    """Return one hash for the contents of a set's files, whatever they are called."""
    return hashlib.sha256("\n".join(sorted(source.files.values())).encode()).hexdigest()


def to_json(result: Result) -> dict[str, Any]:
    """Return a result in mteb's shape."""
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
    """JSON knows no NaN: a score that is none becomes null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def write_results(results: Sequence[Result], output: str) -> None:
    """Write results/MODEL/REVISION/TASK.json, and model_meta.json beside them.

    Raises:
        InputError: the directory cannot be written.
    """
    with writing(output):
        for result in results:
            model = result.model
            place = os.path.join(output, "results", _folder(model.name), model.revision[:40])
            os.makedirs(place, exist_ok=True)
            _write(os.path.join(place, f"{result.task}.json"), to_json(result))
            _write(
                os.path.join(place, "model_meta.json"), {"name": model.name, "revision": model.revision, **model.facts}
            )


def write_report(markdown: str, output: str) -> None:
    """Write report.md.

    Raises:
        InputError: the directory cannot be written.
    """
    with writing(output), open(os.path.join(output, "report.md"), "w", encoding="utf-8") as stream:
        stream.write(markdown)


def _folder(name: str) -> str:
    """Return mteb's name of a model's folder: the organisation and the model; of a path, its last two parts."""
    return "__".join(part for part in name.split("/")[-2:] if part not in ("", ".", ".."))


def _write(path: str, value: object) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


# --------------------------------------------------------------------------------------------------------- markdown


def markdown(results: Sequence[Result], notes: Iterable[str]) -> str:
    """Return the report: one table for each kind of task with a row for each model, then what stands behind it."""
    names = short_names([result.model.name for result in results])
    titles = list(dict.fromkeys(cell.table for result in results for cell in result.scores.cells))
    parts = [f"### {title}\n\n{_table(title, results, names)}" for title in titles]
    lines = [f"- {note}" for note in dict.fromkeys(notes)]
    parts += [f"### Not scored\n\n{chr(10).join(lines)}"] if lines else []
    parts += [f"### Models\n\n{_models(results, names)}", f"### Data\n\n{_data(results)}"]
    return "\n\n".join(parts) + "\n"


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return the shortest ends of paths by which they can be told apart."""
    unique = list(dict.fromkeys(paths))
    found = {}
    for path in unique:
        parts = path.split("/")
        ends = ("/".join(parts[-count:]) for count in range(1, len(parts) + 1))
        found[path] = next((end for end in ends if sum(f"/{other}".endswith(f"/{end}") for other in unique) == 1), path)
    return found


def _table(title: str, results: Sequence[Result], names: Mapping[str, str]) -> str:
    """Return one table: fixed rows first, then the models; the last column is the mean of those that count."""
    cells: dict[str, dict[str, Cell]] = {}
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
    return _lines([list(line) for line in zip(*grid, strict=True)] if len(columns) > WIDEST else grid)


def _number(cell: Cell | None) -> str:
    if cell is None or not math.isfinite(cell.value):
        return "–"
    digits, scale = (2, 100) if cell.per_cent else (4, 1)
    spread = "" if cell.spread is None else f" ± {scale * cell.spread:.{digits}f}"
    return f"{scale * cell.value:.{digits}f}{spread}"


def _average(cells: Sequence[Cell], columns: int) -> str:
    """Return the mean over the columns; none where a column has no score, since means of other columns are no match.
    Of several trainings each has a mean, and these their deviation."""
    counted = [cell for cell in cells if cell.average]
    if len(cells) < columns or not all(math.isfinite(cell.value) for cell in counted):
        return "–"
    means = [fmean(values) for values in zip(*(cell.runs for cell in counted), strict=True)]
    spread = stdev(means) if len(means) > 1 else None
    value = fmean(cell.value for cell in counted)
    return _number(Cell("", "", value, spread, per_cent=counted[0].per_cent))


def _lines(grid: Sequence[Sequence[str]]) -> str:
    head, *rows = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in grid]
    return "\n".join([head, "| --- |" + " ---: |" * (len(grid[0]) - 1), *rows])


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
    return f"{_lines([['', 'revision', *shown], *rows])}\n\n{stated}"


def _data(results: Sequence[Result]) -> str:
    sources = {result.task: result.source for result in results}
    rows = [
        [task, *map(str, (len(source.files), source.kept, source.blank, source.broken)), dataset_revision(source)[:16]]
        for task, source in sources.items()
    ]
    return _lines([["", "files", "rows used", "without gold", "broken", "sha256"], *rows])
