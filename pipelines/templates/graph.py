"""`wikianchor templates`: make the dataset `templates`, the wiki's own definitions of its templates, of a dump.

    ranges of the dump -> read_templates -> parts, counts -> commit_templates

Elements: `TemplateRange` -> `TemplateReading` -> the manifest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from wikianchor.io.storage import file_size
from wikianchor.pipelines.dataset.inputs import file_records
from wikianchor.pipelines.dataset.manifest import commit
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.machine import Load
from wikianchor.pipelines.engine.rates import template_seconds
from wikianchor.pipelines.engine.stage import Stage, run_stage
from wikianchor.pipelines.templates.options import TemplatesOptions
from wikianchor.pipelines.wikimedia.inventory import read_site
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.schemas import templates as schema


def run(config: TemplatesOptions, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest."""
    site, _ = read_site(config.dumps, config.wiki)
    stage = Stage(
        dataset="templates",
        schema_version=schema.VERSION,
        output=config.output,
        inputs=file_records(config.dumps),
        options=options_of(site, config.lua),
        build=partial(build, config=config, site=site),
        bytes_read=sum(map(file_size, config.dumps)),
        load=Load(template_seconds(config.dumps)),
    )
    return run_stage(stage, beam_args)


def options_of(site: Site, lua: str) -> dict[str, Any]:
    """Return the options that the manifest carries."""
    return {"wiki": site.wiki, "language": site.language, "site": site.digest(), "lua": lua}


def build(pipeline: Any, head: Mapping[str, Any], work: Workspace, config: TemplatesOptions, site: Site) -> None:
    """Add the graph to a pipeline."""
    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep
    from wikianchor.pipelines.templates.steps import list_ranges, read_templates

    readings = (
        pipeline
        | "List ranges" >> ListElements(list_ranges, config.dumps)  # TemplateRange
        | "Read templates" >> RunStep(read_templates, work, "read", work, site, "", config.lua)  # TemplateReading
    )
    _ = pipeline | "Commit" >> CallOnce(commit_templates, config.output, work, head, readings)


def commit_templates(output: str, work: Workspace, head: Mapping[str, Any], readings: Iterable[Any]) -> None:
    """Commit the dataset; the ledger has the number of templates of each kind."""
    ordered = sorted(readings, key=lambda reading: reading.order)
    counts: Counter[str] = Counter()
    for reading in ordered:
        counts.update(reading.counts)
    ledger = {"templates": {head["options"]["wiki"]: dict(sorted(counts.items()))}}
    # A dump may hold no template; then the dataset has no rows, and all templates have the rules by name.
    commit(output, work.parts, [part for reading in ordered for part in reading.parts], {**head, "ledger": ledger})
