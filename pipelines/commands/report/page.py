"""The report as a page: the summary of each dataset, figures, examples, and what the dataset was made from.

Jinja2 escapes every value (autoescape), and a policy in the head of the page forbids scripts and requests, so a title
that holds HTML is shown as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from wikianchor.io.units import size
from wikianchor.pipelines.commands.report import charts
from wikianchor.pipelines.commands.report.figures import Figures, figures_of
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.reasons import reason
from wikianchor.pipelines.dataset.text_report import Counts, Summary, summarize

# (reason, title of the page, text) of a sentence that was dropped.
Dropped = Sequence[tuple[str, str, str]]
# Characters that HTML does not allow, or that a browser would take for a line break.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
# Longer values of a sampled row are cut.
LONGEST_VALUE = 300


@dataclass(frozen=True)
class Section:
    """What the page shows of one dataset."""

    summary: Summary
    configs: list[tuple[str, int, int, str]]
    figures: Figures
    dropped: Dropped
    ledger: str
    provenance: list[tuple[str, str]]


def report_page(datasets: Sequence[Dataset], dropped: Mapping[str, Dropped], seed: int) -> bytes:
    """Return the page of some datasets, UTF-8.

    Args:
        datasets: in the order of a build.
        dropped: by directory of a dataset of sentences, sentences that are not in it.
        seed: decides which rows are shown.
    """
    entities = next((dataset for dataset in datasets if dataset.manifest["dataset"] == "entities"), None)
    sections = [_section(dataset, entities, dropped.get(dataset.directory, ()), seed) for dataset in datasets]
    names = dict.fromkeys(str(dataset.manifest["dataset"]) for dataset in datasets)
    return render(f"wikianchor: {', '.join(names)}", sections)


def render(title: str, sections: Sequence[Section]) -> bytes:
    """Return the page of some sections, UTF-8."""
    environment = Environment(
        loader=PackageLoader("wikianchor.pipelines.commands.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "reason": reason, "longest": lambda value: f"{value}"[:LONGEST_VALUE]}
    environment.tests["counts"] = lambda block: isinstance(block, Counts)
    page = environment.get_template("page.html").render(title=title, sections=sections, geometry=charts)
    return _CONTROLS.sub("\ufffd", page).encode()


def percent(number: int, total: int) -> float:
    """Return a share in per cent, 0 of nothing."""
    return 100 * number / total if total else 0.0


def _section(dataset: Dataset, entities: Dataset | None, dropped: Dropped, seed: int) -> Section:
    summary, manifest = summarize(dataset), dataset.manifest
    figures = figures_of(dataset, entities, seed)
    configs = [
        (name, config["rows"], len(config["shards"]), size(sum(shard["bytes"] for shard in config["shards"])))
        for name, config in manifest["configs"].items()
    ]
    ledger = json.dumps(manifest["ledger"], ensure_ascii=False, indent=1) if figures.samples else ""
    return Section(summary, configs, figures, dropped, ledger, _provenance(dataset))


def _provenance(dataset: Dataset) -> list[tuple[str, str]]:
    manifest = dataset.manifest
    made_with = sorted(manifest.get("made_with", {}).items())
    return [
        ("directory", dataset.directory),
        ("schema", manifest["schema_version"]),
        ("made with", ", ".join(f"{name} {version}" for name, version in made_with)),
        *((f"input {number}", _input(source)) for number, source in enumerate(manifest["inputs"], 1)),
        *((f"--{name}", json.dumps(value, ensure_ascii=False)) for name, value in sorted(manifest["options"].items())),
    ]


def _input(source: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {size(value) if name == 'bytes' else value}" for name, value in source.items() if value is not None
    )
