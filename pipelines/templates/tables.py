"""Put together what the ranges of a dump define: the table of all templates, and of those that show something else than
they did in an earlier dump, for `--previous`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wikianchor.pipelines.arrays.hashing import hash_string
from wikianchor.pipelines.arrays.tables import save_tables
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.templates.steps import TemplateReading
from wikianchor.pipelines.templates.store import COLUMNS, save_store
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import OF_DUMP
from wikianchor.pipelines.wikimedia.wikitext.served import NO_FACTS, DumpFacts
from wikianchor.pipelines.wikimedia.wikitext.template_pages import ANY


def shards_of_readings(readings: Iterable[TemplateReading]) -> list[str]:
    """Return the files of the ranges of a dump, in order."""
    return [part.path for reading in sorted(readings) for part in reading.parts]


def save_definitions(
    readings: Iterable[TemplateReading], language: str, work: Workspace, facts: DumpFacts = NO_FACTS
) -> WorkPath:
    """Write the table of `TemplateStore` from the files of all ranges of a wiki in a language; return its path.

    Args:
        readings: the files.
        language: the language.
        work: the workspace of the run.
        facts: as for `save_store`.
    """
    return save_store(work.scratch, shard_rows(shards_of_readings(readings)), language, facts)


def shard_rows(shards: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the COLUMNS of each template in shards of the dataset `templates`, of one wiki."""
    for shard in shards:
        for batch in read_batches(shard, list(COLUMNS)):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def save_changes(previous: str, readings: Iterable[TemplateReading], work: Workspace) -> WorkPath:
    """Write the hashes of the titles of changed templates, ascending; return the path of the table.

    Args:
        previous: directory of the earlier dataset, whose config `templates` is read.
        readings: the definitions of now.
        work: the workspace of the run.
    """
    changed = changed_templates(shards_of(previous, "templates"), shards_of_readings(readings))
    return save_tables(work.scratch, "changed", {"titles": changed})


def changed_templates(old: Sequence[str], new: Sequence[str]) -> npt.NDArray[np.uint64]:
    """Return the hashes (`hash_string`) of the titles of templates whose definition, or that of a template which they
    call, is not the same in both lists of shards; ascending."""
    callers: defaultdict[int, list[int]] = defaultdict(list)
    before, now = (_definitions(shards, callers) for shards in (old, new))
    changed = {title for title in before.keys() | now.keys() if before.get(title) != now.get(title)}
    # What may depend on any page, or on the date.
    changed.add(hash_string(ANY))
    waiting = list(changed)
    while waiting:
        for caller in callers.get(waiting.pop(), ()):
            if caller not in changed:
                changed.add(caller)
                waiting.append(caller)
    return np.array(sorted(changed - {hash_string(ANY)}), np.uint64)


def _definitions(shards: Sequence[str], callers: defaultdict[int, list[int]]) -> dict[int, int]:
    """Return a hash of each definition by the hash of its title; add who calls whom."""
    definitions: dict[int, int] = {}
    for shard in shards:
        for batch in read_batches(shard, ["title", "kind", "body", "calls", "disambiguation"]):
            for title, kind, body, calls, disambiguation in zip(
                *(column.to_pylist() for column in batch.columns), strict=True
            ):
                key = hash_string(title)
                definitions[key] = hash_string(f"{kind} {disambiguation}\n{body or ''}")
                # The date of the dump is another one now, and other pages exist.
                calls = [*calls, ANY] if any(name in (body or "") for name in OF_DUMP) else calls
                for called in (body,) if kind == "redirect" else calls:
                    callers[hash_string(called)].append(key)
    return definitions
